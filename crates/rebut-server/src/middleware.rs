//! The door: what every request goes through, in this order, before its handler sees it. No handler
//! checks a key or an owner itself.

use crate::{
    body, changes,
    keys::{Key, Role},
    origin::{Shown, check_host, check_origin, shown},
    problem::Problem,
    routes::{Debate, Route},
    server::{Answered, Shared, Told},
    web_session::{self, Caller},
};
use axum::{
    body::Bytes,
    extract::{
        FromRequestParts, RawPathParams, Request, State, WebSocketUpgrade,
        rejection::QueryRejection,
    },
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use rebut_engine::{
    DebateId,
    store::{Filter, Session},
};
use serde::de::DeserializeOwned;
use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Instant};
use tokio::sync::watch;

/// A request that was let in.
pub struct Call {
    pub server: Arc<Shared>,
    pub headers: HeaderMap,
    /// The body; empty where there is none.
    pub body: Bytes,
    /// A change of protocol that it asks for.
    pub upgrade: Option<WebSocketUpgrade>,
    uri: Uri,
    parameters: HashMap<String, String>,
    guest: Option<Caller>,
    debate: Option<Session>,
    /// Its other end is gone when nobody waits for the answer any more.
    waiting: watch::Receiver<()>,
}

impl Call {
    /// Who asks, and how they came in.
    pub fn guest(&self) -> Result<&Caller, Problem> {
        self.guest.as_ref().ok_or_else(Problem::unauthorized)
    }

    pub fn key(&self) -> Result<&Key, Problem> {
        Ok(&self.guest()?.key)
    }

    /// Waits until nobody waits for the answer any more. What was asked for is done all the same;
    /// only waiting for something else ends.
    pub async fn client_left(&self) {
        // Nothing is ever sent.
        let _ = self.waiting.clone().changed().await;
    }

    /// What comes of something that is of no use once nobody waits for the answer: it is dropped
    /// then.
    pub async fn while_waited_for<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        changes::while_waited_for(self.client_left(), work)
            .await
            .ok_or_else(|| Problem::unavailable("nobody waits for this any more", 1))
    }

    /// The debate it is about, which is the asker's own.
    pub fn debate(&self) -> Result<&Session, Problem> {
        self.debate.as_ref().ok_or_else(Problem::not_found)
    }

    pub fn id(&self) -> Result<DebateId, Problem> {
        Ok(self.debate()?.id)
    }

    pub fn parameter(&self, name: &str) -> Result<&str, Problem> {
        self.parameters
            .get(name)
            .map(String::as_str)
            .ok_or_else(Problem::not_found)
    }

    /// What stands behind the question mark.
    pub fn query<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let read = axum::extract::Query::<T>::try_from_uri(&self.uri);
        let unread = |error: QueryRejection| match std::error::Error::source(&error) {
            Some(cause) => {
                Problem::bad_request(format!("what stands behind `?` does not fit: {cause}"))
            }
            None => Problem::bad_request("what stands behind `?` does not fit"),
        };
        read.map(|query| query.0).map_err(unread)
    }

    /// What the body says; where there is none, what is usual.
    pub fn json<T: DeserializeOwned + Default>(&self) -> Result<T, Problem> {
        if self.body.is_empty() {
            Ok(T::default())
        } else {
            body::parse(&self.body)
        }
    }
}

/// Answers a request by its row in the table. One that changes something is seen through, whatever
/// becomes of its connection.
pub async fn enter(server: Arc<Shared>, route: &'static Route, request: Request) -> Response {
    let begun = Instant::now();
    let mut about = About::default();
    // Dropped with the connection.
    let (_waits, waiting) = watch::channel(());
    let admitted = AssertUnwindSafe(admit(&server, route, request, waiting, &mut about))
        .catch_unwind()
        .await;
    let changes = server.changes.clone();
    let answering = async move {
        let answered = match admitted {
            Ok(Ok(call)) => AssertUnwindSafe((route.handler)(call)).catch_unwind().await,
            Ok(Err(problem)) => Ok(Err(problem)),
            Err(panic) => Err(panic),
        };
        let response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(problem)) => problem.into_response(),
            Err(_) => {
                Problem::internal("this is a mistake of the server; nothing is known to be lost")
                    .into_response()
            }
        };
        about.tell(&server, route, begun, response.status().as_u16());
        response
    };
    if route.changes() {
        changes
            .see_through(answering)
            .await
            .unwrap_or_else(|| Problem::stopping().into_response())
    } else {
        answering.await
    }
}

/// What is known of a request once it was let in so far.
#[derive(Default)]
struct About {
    key: Option<String>,
    /// The debate it is about, if that is the asker's own.
    debate: Option<DebateId>,
}

impl About {
    /// Counts a request that was answered, and tells of it.
    fn tell(&self, server: &Shared, route: &Route, begun: Instant, status: u16) {
        server.metrics.answered(route.id, status);
        if let Some(Told(told)) = &server.settings.told {
            let Self { key, debate } = self;
            told(&Answered {
                route: route.id,
                path: route.path,
                status,
                within: begun.elapsed(),
                key: key.as_deref(),
                debate: *debate,
            });
        }
    }
}

/// What a request asks for, once it was let in and has come whole.
async fn admit(
    server: &Arc<Shared>,
    route: &'static Route,
    request: Request,
    waiting: watch::Receiver<()>,
    about: &mut About,
) -> Result<Call, Problem> {
    let (mut parts, request_body) = request.into_parts();
    let guest = match route.min_role {
        Some(min_role) => Some(let_in(server, min_role, &parts, about).await?),
        None => None,
    };
    let parameters = parameters(&mut parts).await?;
    let debate = match (route.debate, &guest) {
        (Debate::Own, Some(guest)) => Some(own_debate(server, &guest.key, &parameters).await?),
        _ => None,
    };
    about.debate = debate.as_ref().map(|session| session.id);
    let settings = &server.settings;
    let body = match &route.body {
        Some(_) => {
            body::read(
                &parts.headers,
                request_body,
                settings.body_bytes,
                settings.body_within,
            )
            .await?
        }
        None => Bytes::new(),
    };
    if route.body.is_some_and(|expected| expected.required) && body.is_empty() {
        return Err(Problem::bad_request(
            "a body is missing; the document of this interface says which",
        ));
    }
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &())
        .await
        .ok();
    let Parts { headers, uri, .. } = parts;
    Ok(Call {
        server: server.clone(),
        headers,
        body,
        upgrade,
        uri,
        parameters,
        guest,
        debate,
        waiting,
    })
}

/// Whoever sent a request, if they may do this.
async fn let_in(
    server: &Shared,
    min_role: Role,
    parts: &Parts,
    about: &mut About,
) -> Result<Caller, Problem> {
    let per_minute = server.settings.requests_per_minute;
    let guest = match shown(&parts.headers) {
        Some(Shown::Token(token)) => server.keys.of_token(token).map(|key| Caller {
            key,
            web_session: None,
        }),
        Some(Shown::Cookie(cookie)) => web_session::guest(server, cookie).await?,
        None => None,
    };
    let Some(guest) = guest else {
        // Guesses share one bucket, so that nobody can make very many.
        server.buckets.take("", false, per_minute)?;
        return Err(Problem::unauthorized());
    };
    let key = &guest.key;
    about.key = Some(key.name.clone());
    let is_decision = min_role == Role::Approver;
    server.buckets.take(&key.name, is_decision, per_minute)?;
    if key.role < min_role {
        let detail = format!(
            "this takes a key of role `{}`; this one is `{}`",
            min_role.as_str(),
            key.role.as_str()
        );
        return Err(Problem::new(StatusCode::FORBIDDEN, "role", detail));
    }
    // A WebSocket is opened by a GET, which a foreign page can send.
    if !parts.method.is_safe() || parts.headers.contains_key(header::UPGRADE) {
        check_origin(&server.hosts, &parts.headers)?;
    }
    Ok(guest)
}

async fn parameters(parts: &mut Parts) -> Result<HashMap<String, String>, Problem> {
    let raw = RawPathParams::from_request_parts(parts, &())
        .await
        .map_err(|_| Problem::not_found())?;
    Ok(raw
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// The debate of that id, if it is this owner's. Another's is looked for in the same way and not
/// found in the same words.
async fn own_debate(
    server: &Shared,
    key: &Key,
    parameters: &HashMap<String, String>,
) -> Result<Session, Problem> {
    let text = parameters.get("id").ok_or_else(Problem::not_found)?;
    let id: DebateId = text.parse().map_err(|_| Problem::not_found())?;
    if id.to_string() != *text {
        return Err(Problem::not_found());
    }
    let filter = Filter {
        prefix: Some(text.clone()),
        by: Some(key.owner.clone()),
        limit: 1,
        ..Filter::default()
    };
    let found = server.desk.sessions(&filter).await?;
    found
        .into_iter()
        .find(|session| session.id == id && session.initiated_by == key.owner)
        .ok_or_else(Problem::not_found)
}

/// What holds for every request and every answer, also where there is no such route.
pub async fn outside(State(server): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let checked = check_host(&server.hosts, request.uri(), request.headers());
    let mut response = match checked {
        _ if matches!(*request.method(), Method::TRACE | Method::CONNECT) => {
            no_such_method().await.into_response()
        }
        Ok(())
            if *server.stopping.borrow()
                && !ANSWERED_TO_THE_END.contains(&request.uri().path()) =>
        {
            server
                .metrics
                .answered("(stopping)", StatusCode::SERVICE_UNAVAILABLE.as_u16());
            Problem::stopping().into_response()
        }
        Ok(()) => next.run(request).await,
        Err(problem) => {
            server.metrics.answered("(refused)", problem.status);
            problem.into_response()
        }
    };
    for (name, value) in SECURITY {
        response
            .headers_mut()
            .entry(HeaderName::from_static(name))
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// What a server that stops still answers, for whoever looks after it.
const ANSWERED_TO_THE_END: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// What every answer says unless it says something else itself.
const SECURITY: [(&str, &str); 5] = [
    ("x-content-type-options", "nosniff"),
    ("cache-control", "no-store"),
    (
        "content-security-policy",
        "default-src 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// There is nothing under that path.
pub async fn no_such_path() -> Problem {
    Problem::not_found()
}

/// There is something, and this cannot be done with it.
pub async fn no_such_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "this cannot be done with that path; `Allow` says what can",
    )
}
