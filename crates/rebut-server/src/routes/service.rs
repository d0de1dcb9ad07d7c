//! The server itself: who asks, whether it works, what it counts, what it offers.

use super::{exports::PAGE_POLICY, exports::plain, json, steering::Nothing};
use crate::{
    docs,
    door::Call,
    guard::{COOKIE, only},
    keys::Role,
    metrics::Now,
    problem::Problem,
    routes::debates::header_value,
};
use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use rebut_engine::store::Filter;
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

/// Says who asks.
pub async fn who(call: Call) -> Result<Response, Problem> {
    let key = call.key()?;
    json(&Who { name: key.name.clone(), owner: key.owner.clone(), role: key.role })
}

/// Keeps the key in a cookie. It must be shown in the open: a cookie is not made from a cookie.
pub async fn open(call: Call) -> Result<Response, Problem> {
    let Nothing {} = call.json()?;
    let shown = only(&call.headers, &header::AUTHORIZATION).and_then(|value| value.split_once(' '));
    let (_, token) = shown.ok_or_else(Problem::unauthorized)?;
    // A token that could end the cookie's value could say more than a token.
    if !token.trim().bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"' | b'\\')) {
        return Err(Problem::bad_request("this token cannot be kept in a cookie"));
    }
    set_cookie(&format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", token.trim()))
}

/// Forgets the cookie.
pub async fn close(_: Call) -> Result<Response, Problem> {
    set_cookie(&format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"))
}

fn set_cookie(cookie: &str) -> Result<Response, Problem> {
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, header_value(cookie)?)]).into_response())
}

/// This interface, for programs.
pub async fn openapi(call: Call) -> Result<Response, Problem> {
    json(&call.server.document)
}

/// This interface, for people.
pub async fn docs(call: Call) -> Result<Response, Problem> {
    let mut response = plain("text/html; charset=utf-8", docs::page(&call.server.document));
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    Ok(response)
}

/// Whether the server runs.
pub async fn health(_: Call) -> Result<Response, Problem> {
    Ok(plain("text/plain; charset=utf-8", "ok\n".to_owned()))
}

/// Whether the server can work.
pub async fn ready(call: Call) -> Result<Response, Problem> {
    if *call.server.stopping.borrow() {
        return Err(Problem::stopping());
    }
    // Whatever is wrong with the database, requests do not belong here now.
    let answers = call.server.desk.sessions(&Filter { limit: 1, ..Filter::default() }).await;
    answers.map_err(|_| Problem::unavailable("the database does not answer", 10))?;
    Ok(plain("text/plain; charset=utf-8", "ready\n".to_owned()))
}

/// What is counted.
pub async fn metrics(call: Call) -> Result<Response, Problem> {
    // A database that is away does not take the other counts with it.
    let undelivered = match call.server.front.webhooks() {
        Some(webhooks) => webhooks.waiting().await.ok(),
        None => None,
    };
    let now = Now { live: call.server.desk.live(), watchers: call.server.watchers.count(), undelivered };
    Ok(plain("text/plain; version=0.0.4; charset=utf-8", call.server.metrics.text(&now)))
}
