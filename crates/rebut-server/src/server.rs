//! A server: what it is made of, and how it runs until it is told to stop.

use crate::{
    changes::Changes,
    keys::Keys,
    limits::{Buckets, Counts, Watchers},
    metrics::Metrics,
    middleware, openapi,
    origin::{Host, Hosts},
    readiness::Readiness,
    resolver::DebateResolver,
    routes::table::ROUTES,
};
use axum::{Router, extract::Request, middleware::from_fn_with_state, routing::on};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use rebut_engine::{DebateId, Desk, web_session::WebSessions};
use serde_json::Value;
use std::{
    collections::BTreeSet, fmt, future::Future, io, ops::Deref, pin::pin, sync::Arc, time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tower::ServiceExt;

pub struct Server {
    pub desk: Desk,
    pub front: Arc<dyn DebateResolver>,
    pub keys: Keys,
    /// Who is let in for a while, by a cookie.
    pub web_sessions: Arc<dyn WebSessions>,
    /// What is counted: also what the desk tells its observer.
    pub metrics: Arc<Metrics>,
    /// How much of what is allowed.
    pub settings: Settings,
}

/// How much of what a server allows.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names that are answered to, besides the loopback names of the port that is listened on.
    pub hosts: BTreeSet<Host>,
    /// Bytes of a body at most.
    pub body_bytes: usize,
    /// Requests of one key per minute at most.
    pub requests_per_minute: u32,
    /// Watchers of one key at a time at most.
    pub watchers: usize,
    /// Connections at a time at most; whoever comes then waits.
    pub connections: usize,
    /// Counts of ballots at a time at most; a few more wait.
    pub counts: usize,
    /// The most work of one count: see [`rebut_engine::voting::Method::work`].
    pub count_work: u64,
    /// How long a body may take to come.
    pub body_within: Duration,
    /// How long the head of a request may take to come.
    pub head_within: Duration,
    /// How often a watcher hears that the connection still stands.
    pub heartbeat: Duration,
    /// How long what is under way may take to end when the server stops.
    pub grace: Duration,
    /// The owner whose keys may read what is counted over the debates of all owners; every key may
    /// where nobody is named.
    pub operator: Option<String>,
    /// The public keys whose seals an audit believes.
    pub trusted: Vec<String>,
    /// Who is told of each request once it is answered.
    pub told: Option<Told>,
}

#[derive(Clone)]
pub struct Told(pub Arc<dyn Fn(&Answered<'_>) + Send + Sync>);

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Told")
    }
}

/// A request that was answered. Nothing in it was chosen by whoever asked, and no token is in it.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// Its row in the table of routes.
    pub route: &'static str,
    /// That row's path, with the names of its parts.
    pub path: &'static str,
    pub status: u16,
    /// How long it took until the answer began.
    pub within: Duration,
    /// The name of the key it came with, if that is known here.
    pub key: Option<&'a str>,
    /// The debate it was about, if that is the asker's own.
    pub debate: Option<DebateId>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hosts: BTreeSet::new(),
            body_bytes: 1 << 20,
            requests_per_minute: 6_000,
            watchers: 2_000,
            connections: 10_000,
            counts: 2,
            count_work: 100_000_000,
            body_within: Duration::from_secs(30),
            head_within: Duration::from_secs(15),
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(10),
            operator: None,
            trusted: Vec::new(),
            told: None,
        }
    }
}

pub struct Shared {
    server: Arc<Server>,
    pub hosts: Hosts,
    /// What keys have left of their requests.
    pub buckets: Buckets,
    pub watchers: Arc<Watchers>,
    pub counts: Counts,
    /// Requests under way that change something, which a stop waits for.
    pub changes: Arc<Changes>,
    /// Told when somebody ends a session here.
    pub left: watch::Sender<()>,
    /// Whether its database can be read and written.
    pub ready: Readiness,
    pub stopping: watch::Receiver<bool>,
    /// What the interface is, for programs.
    pub document: Value,
}

impl Deref for Shared {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Shared {
    pub async fn stops(&self) {
        // Whoever could say so and is gone has stopped it too.
        let _ = self.stopping.clone().wait_for(|stops| *stops).await;
    }
}

impl Server {
    /// The routes of a server that listens on this port, and what makes it stop when it is set to
    /// true.
    pub fn router(self: Arc<Self>, port: u16) -> (Router, Arc<Shared>, watch::Sender<bool>) {
        let (stop, stopping) = watch::channel(false);
        let hosts = Hosts::new(port, &self.settings.hosts);
        let document = openapi::document(&*self.front);
        let (buckets, watchers, changes, left, ready) = Default::default();
        let counts = Counts::new(self.settings.counts);
        let shared = Arc::new(Shared {
            server: self,
            hosts,
            buckets,
            watchers,
            counts,
            changes,
            left,
            ready,
            stopping,
            document,
        });
        let mut router = Router::new();
        for route in ROUTES {
            let server = shared.clone();
            let handler = move |request: Request| middleware::enter(server.clone(), route, request);
            router = router.route(route.path, on(route.method.filter(), handler));
        }
        let router = router
            .fallback(middleware::no_such_path)
            .method_not_allowed_fallback(middleware::no_such_method);
        (
            router.layer(from_fn_with_state(shared.clone(), middleware::outside)),
            shared,
            stop,
        )
    }
}

/// Answers requests until `stop` is ready; then does nothing more that is asked, tells watchers,
/// and ends what is under way. Until `drained` is ready too, whoever comes is told that the server
/// stops.
pub async fn serve(
    listener: TcpListener,
    server: Arc<Server>,
    stop: impl Future<Output = ()> + Send + 'static,
    drained: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    let (router, shared, stopping) = server.router(port);
    let mut connections = JoinSet::new();
    accept(&listener, &mut connections, &router, &shared, stop).await;
    stopping.send_replace(true);
    accept(&listener, &mut connections, &router, &shared, drained).await;
    drop(listener);
    let all_ended = async {
        while connections.join_next().await.is_some() {}
        // Some of those who asked may have left.
        shared.changes.all_done().await;
        shared.watchers.all_left().await;
    };
    // Whoever does not take what is sent does not keep the server.
    let _ = tokio::time::timeout(shared.settings.grace, all_ended).await;
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    connections: &mut JoinSet<()>,
    router: &Router,
    shared: &Arc<Shared>,
    until: impl Future<Output = ()>,
) {
    let mut until = pin!(until);
    loop {
        tokio::select! {
            () = &mut until => return,
            accepted = listener.accept(), if connections.len() < shared.settings.connections => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(answer(stream, router.clone(), shared.clone()));
                }
                // A connection that broke off at once, or no room for one more: the others go on,
                // and so does this.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Answers one connection until it is closed, or the server stops and its request is answered.
async fn answer(stream: TcpStream, router: Router, shared: Arc<Shared>) {
    // Events are small and must not wait for each other.
    let _ = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(shared.settings.head_within)
        .max_headers(64)
        .max_buf_size(64 << 10);
    let service = TowerToHyperService::new(router.map_request(
        |request: hyper::Request<hyper::body::Incoming>| request.map(axum::body::Body::new),
    ));
    // Whoever comes when it stops asks once.
    let is_late = *shared.stopping.borrow();
    http.keep_alive(!is_late);
    let mut connection = pin!(
        http.serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    tokio::select! {
        // What goes wrong on the way concerns this client only, and it knows.
        _ = connection.as_mut() => {}
        () = shared.stops(), if !is_late => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
