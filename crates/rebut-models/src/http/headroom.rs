//! What a provider says is left of its limits, in the headers of every answer.

use crate::status;
use rebut_engine::model::Headroom;
use reqwest::header::HeaderMap;
use std::time::Duration;

/// The names one family of providers uses.
struct Family {
    requests: &'static [&'static str],
    tokens: &'static [&'static str],
    resets: &'static [&'static str],
}

const FAMILIES: &[Family] = &[
    Family {
        requests: &[
            "x-ratelimit-remaining-requests",
            "x-ratelimit-remaining-req-minute",
            "x-ratelimit-remaining",
        ],
        tokens: &[
            "x-ratelimit-remaining-tokens",
            "x-ratelimit-remaining-tokens-minute",
        ],
        resets: &[
            "x-ratelimit-reset-requests",
            "x-ratelimit-reset-tokens",
            "x-ratelimit-reset",
        ],
    },
    Family {
        requests: &["anthropic-ratelimit-requests-remaining"],
        tokens: &[
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-input-tokens-remaining",
        ],
        resets: &[
            "anthropic-ratelimit-requests-reset",
            "anthropic-ratelimit-tokens-reset",
            "anthropic-ratelimit-input-tokens-reset",
        ],
    },
];

/// What is left; `None` when nothing is said.
pub(super) fn headroom(headers: &HeaderMap) -> Option<Headroom> {
    // Many endpoints say nothing of it, and a dozen names to look up in every answer are not
    // nothing.
    if !headers
        .keys()
        .any(|name| name.as_str().contains("ratelimit"))
    {
        return None;
    }
    FAMILIES
        .iter()
        .map(|family| family.read(headers))
        .find(|headroom| *headroom != Headroom::default())
}

impl Family {
    fn read(&self, headers: &HeaderMap) -> Headroom {
        let text = |name: &&str| {
            headers
                .get(*name)
                .and_then(|value| value.to_str().ok())
                .map(str::trim)
        };
        let count = |names: &[&str]| {
            names
                .iter()
                .filter_map(text)
                .find_map(|value| value.parse().ok())
        };
        // Several windows: the one that begins anew last is the one to wait for.
        let resets_in = self
            .resets
            .iter()
            .filter_map(text)
            .filter_map(|value| wait(value, headers))
            .max();
        Headroom {
            requests: count(self.requests),
            tokens: count(self.tokens),
            resets_in,
        }
    }
}

/// A wait given as a duration, or as an instant.
fn wait(value: &str, headers: &HeaderMap) -> Option<Duration> {
    if let Some(wait) = status::duration(value) {
        return Some(wait);
    }
    let until: jiff::Timestamp = value.parse().ok()?;
    Some(Duration::from_millis(status::wait_ms(
        until
            .duration_since(status::instant_of(headers))
            .as_secs_f64(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn every_vendors_headers_are_read() {
        type Row = (
            &'static [(&'static str, &'static str)],
            Option<(Option<u64>, Option<u64>, Option<u64>)>,
        );
        let rows: [Row; 7] = [
            (&[], None),
            (
                &[
                    ("x-ratelimit-remaining-requests", "59"),
                    ("x-ratelimit-remaining-tokens", "149984"),
                ],
                Some((Some(59), Some(149_984), None)),
            ),
            (
                &[
                    ("x-ratelimit-reset-requests", "1s"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                ],
                Some((None, None, Some(360_000))),
            ),
            (
                &[("x-ratelimit-reset-tokens", "1m2.5s")],
                Some((None, None, Some(62_500))),
            ),
            (
                &[
                    ("x-ratelimit-remaining", "3"),
                    ("x-ratelimit-reset", "20ms"),
                ],
                Some((Some(3), None, Some(20))),
            ),
            (
                &[
                    ("date", "Sun, 15 Nov 2026 10:00:00 GMT"),
                    ("anthropic-ratelimit-requests-remaining", "7"),
                    ("anthropic-ratelimit-tokens-remaining", "80000"),
                    ("anthropic-ratelimit-tokens-reset", "2026-11-15T10:00:09Z"),
                ],
                Some((Some(7), Some(80_000), Some(9000))),
            ),
            (
                &[
                    ("x-ratelimit-remaining-requests", "many"),
                    ("x-ratelimit-reset-requests", "soon"),
                ],
                None,
            ),
        ];
        for (given, expected) in rows {
            let name = |name: &str| HeaderName::from_bytes(name.as_bytes()).expect("a name");
            let headers = given
                .iter()
                .map(|(known, value)| (name(known), HeaderValue::from_static(value)))
                .collect();
            let expected = expected.map(|(requests, tokens, ms)| Headroom {
                requests,
                tokens,
                resets_in: ms.map(Duration::from_millis),
            });
            assert_eq!(headroom(&headers), expected, "{given:?}");
        }
    }
}
