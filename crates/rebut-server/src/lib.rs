//! Debates over HTTP. A server is given a desk and a front; it reads journals and knows no store, no model and no configuration.

pub mod front;
pub mod keys;
mod server;

pub use server::{Server, Settings, serve};
