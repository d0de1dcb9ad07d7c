//! Debates over HTTP. A server is given a desk and a front; it reads journals and knows no store,
//! no model and no configuration.

mod body;
mod changes;
mod docs;
mod event_stream;
pub mod keys;
mod limits;
mod metrics;
mod middleware;
mod openapi;
mod origin;
mod problem;
mod readiness;
pub mod resolver;
mod routes;
mod server;
mod sse;
mod web_session;
pub mod webhooks;
mod ws;

pub use metrics::Metrics;
pub use origin::{Host, NotAHost};
pub use problem::Problem;
pub use routes::{changing, listed};
pub use server::{Answered, Server, Settings, Shared, Told, serve};
