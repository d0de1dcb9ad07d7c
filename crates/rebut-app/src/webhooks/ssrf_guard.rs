//! Where webhooks may be posted to: public addresses over https, and the places that whoever runs
//! the server listed. Whoever asks for a webhook must not be able to reach into the network of the
//! server with it, whichever way an address is written and whatever a name leads to.

use crate::config::ServerSection;
use rebut_models::address::{Address, BadAddress, is_local, is_public};
use std::collections::BTreeSet;

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
    pub address: Address,
    /// Whether it was listed; otherwise the name must lead to a public address, every time it is
    /// asked.
    pub is_listed: bool,
}

/// Why a place may not be posted to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// It is none.
    #[error("this address {0}")]
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
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotSecret | Self::NotPublic(_) | Self::NotListed(_) => Some(
                "whoever runs the server can list the place, as host:port, under [server] \
                 webhook_hosts",
            ),
            Self::Holds(FRAGMENT) => Some("leave it out: what stands behind `#` is never sent"),
            Self::Holds(_) => {
                Some("messages are signed: a receiver knows by the signature who sends")
            }
            Self::NoAddress(_) | Self::TooLong | Self::OtherScheme(_) => None,
        }
    }
}

/// A part of an address that stays with whoever has it.
const FRAGMENT: &str = "fragment";

/// The most characters of an address.
const LONGEST: usize = 2000;

impl Places {
    pub fn of(server: &ServerSection) -> Self {
        let listed = server
            .webhook_hosts
            .iter()
            .map(|place| place.trim().to_ascii_lowercase())
            .collect();
        Self {
            listed,
            public: server.webhook_public,
        }
    }

    /// Whether a place may be posted to. Looks no name up: what that leads to is looked at when
    /// something is sent.
    pub fn check(&self, text: &str) -> Result<Target, Closed> {
        if text.len() > LONGEST {
            return Err(Closed::TooLong);
        }
        let address = Address::parse(text).map_err(|error| match error {
            BadAddress::OtherScheme(scheme) => Closed::OtherScheme(scheme),
            BadAddress::Holds(part) => Closed::Holds(part),
            other => Closed::NoAddress(other.to_string()),
        })?;
        let place = address.place();
        if self.listed.contains(&place) {
            return Ok(Target {
                address,
                is_listed: true,
            });
        }
        let is_outside = address
            .ip()
            .map_or_else(|| !is_local(address.host()), is_public);
        match () {
            () if !self.public => Err(Closed::NotListed(place)),
            () if address.scheme() != "https" => Err(Closed::NotSecret),
            () if !is_outside => Err(Closed::NotPublic(place)),
            () => Ok(Target {
                address,
                is_listed: false,
            }),
        }
    }
}

/// Whether a place is written as the configuration must write it.
pub fn is_place(place: &str) -> bool {
    let place = place.trim().to_ascii_lowercase();
    let address = Address::parse(&format!("http://{place}/"));
    let has_port = place
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    address.is_ok_and(|address| has_port && address.place() == place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(public: bool, hosts: &[&str]) -> Places {
        let webhook_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Places::of(&ServerSection {
            webhook_public: public,
            webhook_hosts,
            ..ServerSection::default()
        })
    }

    #[test]
    fn what_is_not_public_is_closed_however_it_is_written() {
        let open = places(true, &[]);
        for good in [
            "https://example.org",
            "https://example.org:8443/a?b=c",
            "https://8.8.8.8/x",
            "https://[2606:4700::1111]/",
            "https://1.1/",
        ] {
            assert!(
                open.check(good).is_ok_and(|target| !target.is_listed),
                "{good}"
            );
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
            assert!(
                matches!(found, Err(Closed::NotPublic(_))),
                "{host}: {found:?}"
            );
        }
        let near = [
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "[2001:200::1]",
            "[2003::1]",
        ];
        for host in near {
            assert!(
                open.check(&format!("https://{host}/")).is_ok(),
                "{host} is public"
            );
        }
    }

    #[test]
    fn other_parts_of_an_address_can_be_wrong_too() {
        let open = places(true, &[]);
        let rows = [
            ("http://example.org/", Closed::NotSecret, "webhook_hosts"),
            (
                "ftp://example.org/",
                Closed::OtherScheme("ftp".to_owned()),
                "",
            ),
            (
                "file:///etc/passwd",
                Closed::OtherScheme("file".to_owned()),
                "",
            ),
            (
                "https://u:p@example.org/",
                Closed::Holds("user or password"),
                "messages are signed",
            ),
            (
                "https://u@example.org/",
                Closed::Holds("user or password"),
                "messages are signed",
            ),
            (
                "https://example.org/#here",
                Closed::Holds("fragment"),
                "leave it out",
            ),
        ];
        for (text, expected, hint) in rows {
            let told = expected.hint().unwrap_or_default();
            assert!(
                told.contains(hint) && told.is_empty() == hint.is_empty(),
                "{text}: {told}"
            );
            assert_eq!(open.check(text), Err(expected), "{text}");
        }
        for text in [
            "",
            "example.org",
            "https://",
            "https://exa mple.org/",
            "https://[::1/",
            "https://256.1.1.1/",
            "https://a:99999/",
        ] {
            assert!(
                matches!(open.check(text), Err(Closed::NoAddress(_))),
                "{text}: {:?}",
                open.check(text)
            );
        }
        assert_eq!(
            open.check(&format!("https://example.org/{}", "a".repeat(2000))),
            Err(Closed::TooLong)
        );
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
                assert!(
                    some.check(good).is_ok_and(|target| target.is_listed),
                    "{good}"
                );
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
        for bad in [
            "127.0.0.1",
            "http://a:1",
            "a:b",
            "a:1/x",
            "u@a:1",
            ":1",
            "a:99999",
            "::1:80",
            "0x7f.1:80",
        ] {
            assert!(!is_place(bad), "{bad}");
        }
    }
}
