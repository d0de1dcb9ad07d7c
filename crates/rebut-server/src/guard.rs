//! Who may speak to the server from where: names it answers to, pages that may make it act, keys. Pure.

use crate::{
    keys::{Key, Keys},
    problem::Problem,
};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use std::collections::BTreeSet;

/// The cookie that stands for a key in a browser.
pub const COOKIE: &str = "rebut";

/// The names a server that listens on this port answers to.
pub fn hosts(port: u16, more: &BTreeSet<String>) -> BTreeSet<String> {
    let own = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    more.iter().cloned().chain(own).collect()
}

/// A request must be meant for this server: a page of another name that resolves to this machine is not.
pub fn check_host(hosts: &BTreeSet<String>, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let host = only(headers, &header::HOST).ok_or_else(|| Problem::bad_request("a request has exactly one `Host`"))?;
    let is_ours = |name: &str| hosts.contains(name);
    if is_ours(host) && uri.authority().is_none_or(|authority| is_ours(authority.as_str())) {
        return Ok(());
    }
    let detail = "this server does not answer to that `Host`; the names it answers to are in its settings";
    Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "misdirected", detail))
}

/// What changes something may be asked for by a page of this server, or by no page at all.
pub fn check_origin(hosts: &BTreeSet<String>, headers: &HeaderMap) -> Result<(), Problem> {
    let of_ours = |origin: &str| {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| hosts.contains(host))
    };
    let origin_fits = !headers.contains_key(header::ORIGIN) || only(headers, &header::ORIGIN).is_some_and(of_ours);
    let site = HeaderName::from_static("sec-fetch-site");
    let site_fits = !headers.contains_key(&site) || only(headers, &site).is_some_and(|site| matches!(site, "same-origin" | "none"));
    if origin_fits && site_fits {
        return Ok(());
    }
    Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", "a page of another origin may not do this"))
}

/// The key that a request shows: in `Authorization`, else in the cookie. One that is wrong is not made up for by another.
pub fn key_of(keys: &Keys, headers: &HeaderMap) -> Option<Key> {
    if headers.contains_key(header::AUTHORIZATION) {
        let (scheme, token) = only(headers, &header::AUTHORIZATION)?.split_once(' ')?;
        return keys.of_token(token.trim()).filter(|_| scheme.eq_ignore_ascii_case("bearer"));
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|line| line.split(';'));
    let mut shown = cookies.filter_map(|cookie| cookie.trim().split_once('=')).filter(|(name, _)| *name == COOKIE);
    let (_, token) = shown.next()?;
    keys.of_token(token).filter(|_| shown.next().is_none())
}

/// The value of a header that is there exactly once.
pub fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
