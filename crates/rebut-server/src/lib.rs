//! Debates over HTTP. A server is given a desk and a front; it reads journals and knows no store,
//! no model and no configuration.

mod body;
mod changes;
mod docs;
mod door;
pub mod front;
mod guard;
pub mod keys;
mod limits;
mod metrics;
mod openapi;
mod problem;
mod ready;
mod routes;
mod server;
mod sse;
mod tail;
mod visits;
pub mod webhooks;
mod ws;

pub use guard::{Host, NotAHost};
pub use metrics::Metrics;
pub use problem::Problem;
pub use routes::{changing, listed};
pub use server::{Answered, Server, Settings, Shared, Told, serve};
