//! Where requests go: an address is parsed once, checked once, and the very value that was checked
//! is what is dialled.

mod network;

pub use network::{KnownNames, OnlyPublic, is_local, is_public};

use reqwest::Url;
use std::{fmt, net::IpAddr};

/// An address of an HTTP server: scheme, host, port and path, and nothing that two parsers could
/// read in two ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Url);

/// Who is spoken to: what a key or a secret header is bound to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

/// Why a text is no address that requests go to; the words follow its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// It cannot be read.
    #[error("is no URL ({0})")]
    Unreadable(String),
    /// It is written in a way that is read differently by different programs.
    #[error("must be written https://HOST/PATH, without {0}")]
    Odd(&'static str),
    /// It is no address of HTTP at all.
    #[error("must begin with https:// or http://")]
    OtherScheme(String),
    /// It has a part that it must not have.
    #[error("may hold no {0}")]
    Holds(&'static str),
    /// Whoever is on the way could read and change what is sent.
    #[error("must begin with https://, since {0} is not on this machine")]
    InClear(String),
}

impl Address {
    /// Reads an address. What stands before an `@`, and a fragment, is refused: it may be a secret,
    /// or hide the host.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        let lower = text.to_ascii_lowercase();
        let url = Url::parse(text).map_err(|error| BadAddress::Unreadable(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadAddress::OtherScheme(url.scheme().to_owned()));
        }
        // Parsers mend `https:/host` and `https:\\\\host`; we do not.
        let rest = lower
            .strip_prefix("https://")
            .or_else(|| lower.strip_prefix("http://"))
            .filter(|rest| !rest.starts_with('/'));
        let rest = rest.ok_or(BadAddress::Odd("anything but two slashes after the scheme"))?;
        if text.contains('\\') {
            return Err(BadAddress::Odd("backslashes"));
        }
        if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(BadAddress::Odd("blanks and control characters"));
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') || !url.username().is_empty() || url.password().is_some() {
            return Err(BadAddress::Holds("user or password"));
        }
        if url.fragment().is_some() {
            return Err(BadAddress::Holds("fragment"));
        }
        Ok(Self(url))
    }

    /// The same without a query, for what paths are added to.
    pub fn parse_base(text: &str) -> Result<Self, BadAddress> {
        let address = Self::parse(text)?;
        if address.0.query().is_some() {
            Err(BadAddress::Holds("query"))
        } else {
            Ok(address)
        }
    }

    /// The same, unless what is sent there could be read on the way. `in_clear` is the user's word
    /// that it may.
    pub fn secure(self, in_clear: bool) -> Result<Self, BadAddress> {
        if in_clear || self.0.scheme() == "https" || self.is_loopback() {
            Ok(self)
        } else {
            Err(BadAddress::InClear(self.place()))
        }
    }

    /// Whether it is on this machine, whichever way its host is written.
    pub fn is_loopback(&self) -> bool {
        match self.ip() {
            Some(ip) => ip.is_loopback(),
            None => network::is_localhost(self.host()),
        }
    }

    /// The host, if it is an address and no name.
    pub fn ip(&self) -> Option<IpAddr> {
        // In its usual form an address is one that can be read; every other host is a name.
        self.host().trim_matches(['[', ']']).parse().ok()
    }

    /// The host, in its usual form.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Host and port: all of an address that is told, where its path may hold a secret.
    pub fn place(&self) -> String {
        format!("{}:{}", self.host(), self.port())
    }

    /// The same without a port that goes without saying, for people.
    pub fn authority(&self) -> &str {
        let rest = self
            .0
            .as_str()
            .split_once("://")
            .map_or("", |(_, rest)| rest);
        rest.split(['/', '?']).next().unwrap_or_default()
    }

    fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    pub fn origin(&self) -> Origin {
        Origin {
            scheme: self.0.scheme().to_owned(),
            host: self.host().trim_end_matches('.').to_owned(),
            port: self.port(),
        }
    }

    pub fn scheme(&self) -> &str {
        self.0.scheme()
    }

    /// What is dialled: the address itself.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// What is dialled for a path and a query below it.
    pub fn below(&self, path: &[&str], query: Option<&str>) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url.set_query(query);
        url
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_one_way_or_not_at_all() {
        let good = [
            ("https://api.openai.com/v1", "https://api.openai.com:443"),
            ("HTTPS://API.OpenAI.com./v1/", "https://api.openai.com:443"),
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
            ("http://0x7f.1:8080", "http://127.0.0.1:8080"),
            ("https://[::1]/x", "https://[::1]:443"),
            (
                "https://bücher.example/",
                "https://xn--bcher-kva.example:443",
            ),
        ];
        for (text, origin) in good {
            assert_eq!(
                Address::parse(text)
                    .map(|address| address.origin().to_string())
                    .as_deref(),
                Ok(origin),
                "{text}"
            );
        }
        let bad = [
            r"https://evil.example\@api.openai.com/v1",
            r"https:\\evil.example\x",
            "https:/evil.example/x://api.openai.com/v1",
            "https:evil.example",
            "https:///evil.example/v1",
            "https://api.openai.com@evil.example/v1",
            "https://@evil.example/v1",
            "https://user:pw@127.0.0.1/v1",
            "https://evil.example/#@api.openai.com",
            "https://evil.example/?x=api.openai.com",
            "https://evil.exa\tmple/",
            "https://evil.example /v1",
            " https://evil.example/v1",
            "https://api.openai.com\n.evil.example/",
            "https://",
            "https://%2f%40evil.example/",
            "ftp://evil.example/",
            "javascript:alert(1)",
            "//evil.example/",
            "evil.example",
            "",
        ];
        for text in bad {
            assert!(
                Address::parse_base(text).is_err(),
                "{text:?}: {:?}",
                Address::parse(text)
            );
        }
    }

    #[test]
    fn what_is_sent_off_this_machine_is_secret() {
        let secure = |text: &str| Address::parse(text).expect(text).secure(false).is_ok();
        for fine in [
            "https://example.org/",
            "http://localhost:1/",
            "http://127.9.9.9/",
            "http://[::1]:1/",
            "http://a.localhost/",
            "http://LOCALHOST./",
        ] {
            assert!(secure(fine), "{fine}");
        }
        for clear in [
            "http://example.org/",
            "http://10.0.0.1/",
            "http://localhost.evil.example/",
            "http://0.0.0.0/",
            "http://127.0.0.1.evil.example/",
        ] {
            assert!(!secure(clear), "{clear}");
            assert!(
                Address::parse(clear).expect(clear).secure(true).is_ok(),
                "{clear}: the user's word"
            );
        }
    }

    #[test]
    fn a_path_is_added_to_what_was_checked() {
        let address = Address::parse("https://example.org/v1/").expect("an address");
        assert_eq!(
            address.below(&["a b", "../c"], Some("x=1")).as_str(),
            "https://example.org/v1/a%20b/..%2Fc?x=1"
        );
        assert_eq!(address.to_string(), "https://example.org/v1");
    }
}
