//! Who may speak to the server from where: names it answers to, pages that may make it act, what is
//! shown to be let in. Pure.

use crate::problem::Problem;
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

pub const COOKIE: &str = "rebut";

/// A name with its port, as requests and browsers write them. Names are compared without case and
/// without the dot that may end them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host {
    name: String,
    /// Left out where it is the usual one.
    port: Option<u16>,
}

/// What is not the name of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a server's name is written NAME:PORT, such as `debates.example.org:443`; without its port it \
     stands for 80 and 443"
)]
pub struct NotAHost;

impl FromStr for Host {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, NotAHost> {
        // A colon inside of brackets belongs to an address.
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (text, None),
        };
        let is_number = |port: &&str| port.bytes().all(|byte| byte.is_ascii_digit());
        let port = match port {
            Some(port) => Some(
                Some(port)
                    .filter(is_number)
                    .and_then(|port| port.parse().ok())
                    .ok_or(NotAHost)?,
            ),
            None => None,
        };
        Ok(Self {
            name: plain_name(name).ok_or(NotAHost)?,
            port,
        })
    }
}

impl From<SocketAddr> for Host {
    fn from(address: SocketAddr) -> Self {
        let name = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Self {
            name,
            port: Some(address.port()),
        }
    }
}

/// A name in the one spelling that is compared.
fn plain_name(name: &str) -> Option<String> {
    if let Some(address) = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return address
            .parse::<Ipv6Addr>()
            .ok()
            .map(|address| format!("[{address}]"));
    }
    let whole = name
        .strip_suffix('.')
        .filter(|name| name.parse::<Ipv4Addr>().is_err())
        .unwrap_or(name);
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    (whole.len() <= 253 && whole.split('.').all(is_label)).then(|| whole.to_ascii_lowercase())
}

/// The names that a server answers to.
#[derive(Clone, Debug)]
pub struct Hosts(BTreeSet<Host>);

/// The ports that are left out of what is sent, each with the scheme that has it.
const USUAL: [(&str, u16); 2] = [("http://", 80), ("https://", 443)];

impl Hosts {
    /// The names of a server that listens on this port.
    pub fn new(port: u16, more: &BTreeSet<Host>) -> Self {
        let own = ["127.0.0.1", "localhost", "[::1]"].map(|name| Host {
            name: name.to_owned(),
            port: Some(port),
        });
        let with_ports = more.iter().flat_map(|host| match host.port {
            Some(_) => vec![host.clone()],
            None => USUAL
                .map(|(_, port)| Host {
                    port: Some(port),
                    ..host.clone()
                })
                .to_vec(),
        });
        Self(with_ports.chain(own).collect())
    }

    /// Whether a request for that name is for this server. Without a port it means a usual one;
    /// which, only the proxy in front knows.
    fn has(&self, name: &str) -> bool {
        let Ok(host) = name.parse::<Host>() else {
            return false;
        };
        match host.port {
            Some(_) => self.0.contains(&host),
            None => USUAL.iter().any(|(_, port)| {
                self.0.contains(&Host {
                    port: Some(*port),
                    ..host.clone()
                })
            }),
        }
    }

    /// Whether a page of that origin is a page of this server.
    fn has_origin(&self, origin: &str) -> bool {
        let of_scheme = USUAL
            .iter()
            .find_map(|(scheme, usual)| Some((origin.strip_prefix(scheme)?, *usual)));
        let Some((Ok(host), usual)) = of_scheme.map(|(name, usual)| (name.parse::<Host>(), usual))
        else {
            return false;
        };
        self.0.contains(&Host {
            port: host.port.or(Some(usual)),
            ..host
        })
    }
}

/// A request must be meant for this server: a page of another name that resolves to this machine is
/// not.
pub fn check_host(hosts: &Hosts, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let host = only(headers, &header::HOST)
        .ok_or_else(|| Problem::bad_request("a request has exactly one `Host`"))?;
    if hosts.has(host)
        && uri
            .authority()
            .is_none_or(|authority| hosts.has(authority.as_str()))
    {
        return Ok(());
    }
    let detail =
        "this server does not answer to that `Host`; the names it answers to are in its settings";
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "misdirected",
        detail,
    ))
}

/// What changes something may be asked for by a page of this server, or by no page at all.
pub fn check_origin(hosts: &Hosts, headers: &HeaderMap) -> Result<(), Problem> {
    let origin_fits = !headers.contains_key(header::ORIGIN)
        || only(headers, &header::ORIGIN).is_some_and(|origin| hosts.has_origin(origin));
    let site = HeaderName::from_static("sec-fetch-site");
    let site_fits = !headers.contains_key(&site)
        || only(headers, &site).is_some_and(|site| matches!(site, "same-origin" | "none"));
    if origin_fits && site_fits {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "foreign-origin",
        "a page of another origin may not do this",
    ))
}

/// What a request shows to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'a> {
    Token(&'a str),
    Cookie(&'a str),
}

/// What a request shows: in `Authorization`, else in the cookie. One that is wrong is not made up
/// for by another.
pub fn shown(headers: &HeaderMap) -> Option<Shown<'_>> {
    if headers.contains_key(header::AUTHORIZATION) {
        let (scheme, token) = only(headers, &header::AUTHORIZATION)?.split_once(' ')?;
        return scheme
            .eq_ignore_ascii_case("bearer")
            .then(|| Shown::Token(token.trim()));
    }
    cookie(headers).map(Shown::Cookie)
}

/// The value of our cookie, if it is there exactly once.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut ours = cookies
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter(|(name, _)| *name == COOKIE);
    let (_, value) = ours.next()?;
    ours.next().is_none().then_some(value)
}

/// The value of a header that is there exactly once.
pub fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
