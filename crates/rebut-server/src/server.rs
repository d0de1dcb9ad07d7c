//! A server: what it is made of, and how it runs until it is told to stop.

use crate::{front::Front, keys::Keys};
use axum::{Router, routing::get};
use rebut_engine::Desk;
use std::{collections::BTreeSet, future::Future, io, sync::Arc};
use tokio::net::TcpListener;

/// What answers requests.
pub struct Server {
    /// Runs and reads debates.
    pub desk: Desk,
    /// Turns requests into debates.
    pub front: Arc<dyn Front>,
    /// Who is let in.
    pub keys: Keys,
    /// How much of what is allowed.
    pub settings: Settings,
}

/// How much of what a server allows.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Values of `Host` that are answered, each with its port, besides the loopback names of the port that is listened on.
    pub hosts: BTreeSet<String>,
    /// Bytes of a body at most.
    pub body_bytes: usize,
    /// Requests of one key per minute at most.
    pub requests_per_minute: u32,
    /// Watchers of one key at a time at most.
    pub watchers: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { hosts: BTreeSet::new(), body_bytes: 1 << 20, requests_per_minute: 6_000, watchers: 2_000 }
    }
}

/// Answers requests until `stop` is ready; then takes no more, tells watchers, and ends what is under way.
pub async fn serve(listener: TcpListener, server: Arc<Server>, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let router = Router::new().route("/healthz", get(async || "ok")).with_state(server);
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}
