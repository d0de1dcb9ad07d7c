//! What names and numbers of hosts lead to: this machine, a private network, or the public one.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whether a name means this machine.
pub(super) fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Looks names up; those that mean this machine lead to it whatever a name server says.
pub struct KnownNames;

impl Resolve for KnownNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            if is_localhost(name.as_str()) {
                let here: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                return Ok(Box::new(here.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs);
            }
            Ok(Box::new(
                tokio::net::lookup_host((name.as_str(), 0))
                    .await?
                    .collect::<Vec<_>>()
                    .into_iter(),
            ) as Addrs)
        })
    }
}

pub fn is_local(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    !name.contains('.')
        || ["localhost", "local", "internal", "home.arpa"]
            .iter()
            .any(|end| name.ends_with(&format!(".{end}")))
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

/// The network of IPv6 that is public, and what of it is not: protocols of their own (tunnels among
/// them), documentation, IPv4 inside.
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
        IpAddr::V4(ip) => !NOT_PUBLIC_V4.iter().any(|(network, bits)| {
            u32::from(ip) >> (32 - bits) == u32::from(*network) >> (32 - bits)
        }),
        IpAddr::V6(ip) => {
            let is_in = |(network, bits): &(Ipv6Addr, u32)| {
                u128::from(ip) >> (128 - bits) == u128::from(*network) >> (128 - bits)
            };
            is_in(&PUBLIC_V6) && !NOT_PUBLIC_V6.iter().any(is_in)
        }
    }
}

/// Looks names up, and knows public addresses only. What it answers is what is connected to, so a
/// name cannot change in between.
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
