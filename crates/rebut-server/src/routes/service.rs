//! The server itself: who asks, whether it works, what it counts, what it offers.

use super::{
    exports::{HTML, PAGE_POLICY, plain},
    json,
    steering::Nothing,
};
use crate::{
    docs,
    keys::Role,
    metrics::Now,
    middleware::Call,
    origin::{COOKIE, cookie, only},
    problem::Problem,
    routes::debates::header_value,
    web_session::{self, Caller},
};
use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

/// A key, without its token.
#[derive(Serialize, JsonSchema)]
pub struct Who {
    /// Its name: who decided, in a journal.
    name: String,
    /// Whose debates it sees.
    owner: String,
    /// What it may do with them.
    role: Role,
}

pub async fn who(call: Call) -> Result<Response, Problem> {
    let key = call.key()?;
    json(&Who {
        name: key.name.clone(),
        owner: key.owner.clone(),
        role: key.role,
    })
}

/// Begins a session. The key must be shown itself: a cookie is not made from a cookie, and none lasts
/// longer than its time.
pub async fn open(call: Call) -> Result<Response, Problem> {
    let Nothing {} = call.json()?;
    let Caller {
        key,
        web_session: None,
    } = call.guest()?
    else {
        return Err(Problem::unauthorized());
    };
    // The browser forgets the cookie that it had, and so nobody could leave with that any more.
    leave(&call).await?;
    let value = web_session::open(&call.server, key).await?;
    let secure = if is_over_tls(&call) { "; Secure" } else { "" };
    set_cookie(&format!(
        "{COOKIE}={value}; {ATTRIBUTES}; Max-Age={}{secure}",
        web_session::LASTS.as_secs()
    ))
}

/// Ends the session. Where a key was shown in place of the cookie, that stays as it is.
pub async fn close(call: Call) -> Result<Response, Problem> {
    leave(&call).await?;
    set_cookie(&format!("{COOKIE}=; {ATTRIBUTES}; Max-Age=0"))
}

/// Who a cookie is sent to: this server only, for pages of this server only, and never to a script.
const ATTRIBUTES: &str = "Path=/; HttpOnly; SameSite=Strict";

async fn leave(call: &Call) -> Result<(), Problem> {
    match cookie(&call.headers) {
        Some(cookie) => web_session::close(&call.server, cookie).await,
        None => Ok(()),
    }
}

/// Whether a page asks that came over TLS, by a proxy in front: its cookie must never go without.
fn is_over_tls(call: &Call) -> bool {
    only(&call.headers, &header::ORIGIN).is_some_and(|origin| origin.starts_with("https://"))
}

fn set_cookie(cookie: &str) -> Result<Response, Problem> {
    Ok((
        StatusCode::NO_CONTENT,
        [(header::SET_COOKIE, header_value(cookie)?)],
    )
        .into_response())
}

pub async fn openapi(call: Call) -> Result<Response, Problem> {
    json(&call.server.document)
}

pub async fn docs(call: Call) -> Result<Response, Problem> {
    let mut response = plain(HTML, docs::page(&call.server.document));
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    Ok(response)
}

pub async fn health(_: Call) -> Result<Response, Problem> {
    Ok(plain("text/plain; charset=utf-8", "ok\n".to_owned()))
}

/// Whether the server can work. Whoever asks needs no key, and is told no more than that, and why
/// not in a few words.
pub async fn ready(call: Call) -> Result<Response, Problem> {
    if *call.server.stopping.borrow() {
        return Err(Problem::stopping());
    }
    // Whatever is wrong with the database, requests do not belong here now.
    let look = async {
        call.server
            .desk
            .check_usable()
            .await
            .map_err(|error| match Problem::from(error) {
                problem if problem.status == StatusCode::SERVICE_UNAVAILABLE.as_u16() => {
                    problem.detail
                }
                _ => "the database cannot be used".to_owned(),
            })
    };
    if let Err(why) = call.server.ready.known_or(look).await {
        return Err(Problem::unavailable(format!("not ready: {why}"), 10));
    }
    Ok(plain("text/plain; charset=utf-8", "ready\n".to_owned()))
}

/// What is counted, over all owners: for whoever runs the server.
pub async fn metrics(call: Call) -> Result<Response, Problem> {
    let owner = &call.key()?.owner;
    if call
        .server
        .settings
        .operator
        .as_ref()
        .is_some_and(|operator| operator != owner)
    {
        let detail = "this counts debates of all owners; it takes a key of the owner who runs the \
            server, of any role";
        return Err(Problem::new(StatusCode::FORBIDDEN, "operator", detail));
    }
    // A database that is away does not take the other counts with it.
    let undelivered = match call.server.front.webhooks() {
        Some(webhooks) => webhooks.waiting().await.ok(),
        None => None,
    };
    let now = Now {
        live: call.server.desk.live(),
        watchers: call.server.watchers.count(),
        undelivered,
    };
    Ok(plain(
        "text/plain; version=0.0.4; charset=utf-8",
        call.server.metrics.text(&now),
    ))
}
