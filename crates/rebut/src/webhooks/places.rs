//! Where webhooks may be posted to: public addresses over https, and the places that whoever runs the server listed. Whoever asks for a webhook must
//! not be able to reach into the network of the server with it, whichever way an address is written and whatever a name leads to.

use crate::config::ServerSection;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// Places that may be posted to.
#[derive(Clone, Debug)]
pub struct Places {
    /// Each as `host:port`. Nothing else is asked of them.
    listed: BTreeSet<String>,
    /// Whether public addresses are open besides.
    public: bool,
}

/// A place that may be posted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The address, in its usual form.
    pub url: Url,
    /// Whether it was listed; otherwise the name must lead to a public address, every time it is asked.
    pub is_listed: bool,
}

/// Why a place may not be posted to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// It is none.
    #[error("this is no address: {0}")]
    NoAddress(String),
    /// It is too long to be kept.
    #[error("the address is longer than {LONGEST} characters")]
    TooLong,
    /// It has parts that it must not have.
    #[error("an address of a webhook has no {0} in it")]
    Holds(&'static str),
    /// Anybody on the way could read and change what is sent.
    #[error("only https is posted to")]
    NotSecret,
    /// It is no address of HTTP at all.
    #[error("only https is posted to, and this is {0}")]
    OtherScheme(String),
    /// It is inside a network.
    #[error("{0} is no public address")]
    NotPublic(String),
    /// Only what is listed is open.
    #[error("{0} is not among the places that this server posts to")]
    NotListed(String),
}

impl Closed {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotSecret | Self::NotPublic(_) | Self::NotListed(_) => {
                Some("whoever runs the server can list the place, as host:port, under [server] webhook_hosts")
            }
            Self::Holds(FRAGMENT) => Some("leave it out: what stands behind `#` is never sent"),
            Self::Holds(_) => Some("messages are signed: a receiver knows by the signature who sends"),
            Self::NoAddress(_) | Self::TooLong | Self::OtherScheme(_) => None,
        }
    }
}

/// A part of an address that stays with whoever has it.
const FRAGMENT: &str = "fragment";

/// The most characters of an address.
const LONGEST: usize = 2000;

impl Places {
    /// Those of a configuration.
    pub fn of(server: &ServerSection) -> Self {
        let listed = server.webhook_hosts.iter().map(|place| place.trim().to_ascii_lowercase()).collect();
        Self { listed, public: server.webhook_public }
    }

    /// Whether a place may be posted to. Looks no name up: what that leads to is looked at when something is sent.
    pub fn check(&self, text: &str) -> Result<Target, Closed> {
        if text.len() > LONGEST {
            return Err(Closed::TooLong);
        }
        let url = Url::parse(text).map_err(|error| Closed::NoAddress(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Closed::OtherScheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Closed::Holds("user and password"));
        }
        if url.fragment().is_some() {
            return Err(Closed::Holds(FRAGMENT));
        }
        let place = shown(&url);
        if self.listed.contains(&place) {
            return Ok(Target { url, is_listed: true });
        }
        // In its usual form an address is one that can be read; every other host is a name.
        let host = url.host_str().unwrap_or_default();
        let is_outside = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(ip) => is_public(ip),
            Err(_) => !is_local(host),
        };
        match () {
            () if !self.public => Err(Closed::NotListed(place)),
            () if url.scheme() != "https" => Err(Closed::NotSecret),
            () if !is_outside => Err(Closed::NotPublic(place)),
            () => Ok(Target { url, is_listed: false }),
        }
    }
}

/// Host and port: all of an address that is told, since its path may hold a secret.
pub fn shown(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

/// Whether a place is written as the configuration must write it.
pub fn is_place(place: &str) -> bool {
    let place = place.trim().to_ascii_lowercase();
    let url = Url::parse(&format!("http://{place}/"));
    url.is_ok_and(|url| place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) && shown(&url) == place)
}

/// Names that never lead outside.
fn is_local(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    !name.contains('.') || ["localhost", "local", "internal", "home.arpa"].iter().any(|end| name.ends_with(&format!(".{end}")))
}

/// Networks of IPv4 that are not public, each with the bits that count.
const NOT_PUBLIC_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, what is reserved, and everybody at once.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// The network of IPv6 that is public, and what of it is not: protocols of their own (tunnels among them), documentation, IPv4 inside.
const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const NOT_PUBLIC_V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address is one that anybody could reach.
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !NOT_PUBLIC_V4.iter().any(|(network, bits)| u32::from(ip) >> (32 - bits) == u32::from(*network) >> (32 - bits)),
        IpAddr::V6(ip) => {
            let is_in = |(network, bits): &(Ipv6Addr, u32)| u128::from(ip) >> (128 - bits) == u128::from(*network) >> (128 - bits);
            is_in(&PUBLIC_V6) && !NOT_PUBLIC_V6.iter().any(is_in)
        }
    }
}

/// Looks names up, and knows public addresses only. What it answers is what is connected to, so a name cannot change in between.
pub struct OnlyPublic;

impl Resolve for OnlyPublic {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            match public.is_empty() {
                true => Err("the name leads to no public address".into()),
                false => Ok(Box::new(public.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(public: bool, hosts: &[&str]) -> Places {
        let webhook_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Places::of(&ServerSection { webhook_public: public, webhook_hosts, ..ServerSection::default() })
    }

    #[test]
    fn what_is_not_public_is_closed_however_it_is_written() {
        let open = places(true, &[]);
        for good in
            ["https://example.org", "https://example.org:8443/a?b=c", "https://8.8.8.8/x", "https://[2606:4700::1111]/", "https://1.1/"]
        {
            assert!(open.check(good).is_ok_and(|target| !target.is_listed), "{good}");
        }
        let not_public = [
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "017700000001",
            "127.0.0.1.",
            "①②⑦.0.0.1",
            "0",
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[::ffff:8.8.8.8]",
            "[::7f00:1]",
            "[64:ff9b::a00:1]",
            "[100::1]",
            "[2001::1]",
            "[2001:db8::1]",
            "[2002:7f00:1::]",
            "[3fff::1]",
            "[5f00::1]",
            "[fc00::1]",
            "[fd12::1]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "router",
            "router.home.arpa",
        ];
        for host in not_public {
            let found = open.check(&format!("https://{host}/x"));
            assert!(matches!(found, Err(Closed::NotPublic(_))), "{host}: {found:?}");
        }
        let near = ["100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "198.17.0.1", "198.20.0.1", "[2001:200::1]", "[2003::1]"];
        for host in near {
            assert!(open.check(&format!("https://{host}/")).is_ok(), "{host} is public");
        }
    }

    #[test]
    fn other_parts_of_an_address_can_be_wrong_too() {
        let open = places(true, &[]);
        let rows = [
            ("http://example.org/", Closed::NotSecret, "webhook_hosts"),
            ("ftp://example.org/", Closed::OtherScheme("ftp".to_owned()), ""),
            ("file:///etc/passwd", Closed::OtherScheme("file".to_owned()), ""),
            ("https://u:p@example.org/", Closed::Holds("user and password"), "messages are signed"),
            ("https://u@example.org/", Closed::Holds("user and password"), "messages are signed"),
            ("https://example.org/#here", Closed::Holds("fragment"), "leave it out"),
        ];
        for (text, expected, hint) in rows {
            let told = expected.hint().unwrap_or_default();
            assert!(told.contains(hint) && told.is_empty() == hint.is_empty(), "{text}: {told}");
            assert_eq!(open.check(text), Err(expected), "{text}");
        }
        for text in ["", "example.org", "https://", "https://exa mple.org/", "https://[::1/", "https://256.1.1.1/", "https://a:99999/"] {
            assert!(matches!(open.check(text), Err(Closed::NoAddress(_))), "{text}: {:?}", open.check(text));
        }
        assert_eq!(open.check(&format!("https://example.org/{}", "a".repeat(2000))), Err(Closed::TooLong));
    }

    #[test]
    fn what_is_listed_is_open_and_nothing_beside_it() {
        let hosts = ["127.0.0.1:9000", "Hooks.Internal:8443", "[::1]:9000"];
        for public in [true, false] {
            let some = places(public, &hosts);
            for good in [
                "http://127.0.0.1:9000/a",
                "https://hooks.internal:8443",
                "http://HOOKS.internal:8443",
                "http://[0:0::1]:9000/",
                "http://0x7f.1:9000",
            ] {
                assert!(some.check(good).is_ok_and(|target| target.is_listed), "{good}");
            }
            for bad in [
                "http://127.0.0.1:9001/",
                "http://127.0.0.1/",
                "https://hooks.internal/",
                "http://a@127.0.0.1:9000/",
                "http://127.0.0.2:9000",
            ] {
                assert!(some.check(bad).is_err(), "{bad}");
            }
            assert_eq!(some.check("https://example.org").is_ok(), public);
        }
        for good in hosts {
            assert!(is_place(good), "{good}");
        }
        for bad in ["127.0.0.1", "http://a:1", "a:b", "a:1/x", "u@a:1", ":1", "a:99999", "::1:80", "0x7f.1:80"] {
            assert!(!is_place(bad), "{bad}");
        }
    }
}
