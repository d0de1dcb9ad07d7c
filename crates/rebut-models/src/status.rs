//! What an HTTP status means for a turn, and how long a provider asks us to wait.

use jiff::Timestamp;
use rebut_engine::model::FaultKind;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::Duration;

/// The class of a failed request with that status.
pub fn kind_of(status: u16) -> FaultKind {
    match status {
        429 | 529 => FaultKind::RateLimited,
        402 => FaultKind::Quota,
        401 | 403 => FaultKind::Auth,
        // A redirect is never followed (the key would go with it): nobody answers at this address.
        300..=399 => FaultKind::Unavailable,
        404 | 405 | 410 => FaultKind::NotFound,
        // The server gave up waiting, was busy with the same, or was not ready: it may do better
        // next time.
        408 | 409 | 425 => FaultKind::Server,
        400..=499 => FaultKind::BadRequest,
        _ => FaultKind::Server,
    }
}

/// Nobody is waited for longer than this.
const LONGEST_WAIT_MS: u64 = 3_600_000;

/// Milliseconds from seconds somebody else wrote: never negative, never absurd.
pub fn wait_ms(seconds: f64) -> u64 {
    // The cast loses nothing: `max` turns NaN into 0, `min` keeps it small.
    (seconds * 1000.0).max(0.0).min(LONGEST_WAIT_MS as f64) as u64
}

/// A duration as providers write it: `6m0s`, `20ms`, `34.5s`, or bare seconds. One of more than an
/// hour is taken for something else.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let seconds = text.parse().ok().or_else(|| with_units(text))?;
    (0.0..=LONGEST_WAIT_MS as f64 / 1000.0)
        .contains(&seconds)
        .then(|| Duration::from_millis(wait_ms(seconds)))
}

fn with_units(text: &str) -> Option<f64> {
    const UNITS: &[(&str, f64)] = &[("ms", 0.001), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let (unit, factor) = UNITS
            .iter()
            .find(|(unit, _)| rest[end..].starts_with(unit))?;
        seconds += number * factor;
        rest = &rest[end + unit.len()..];
    }
    (!text.is_empty()).then_some(seconds)
}

/// How long the provider asked us to wait: `retry-after-ms`, or `retry-after` in seconds or as a
/// date.
pub fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    retry_after_ms_at(headers, instant_of(headers))
}

/// The instant of an answer by the server's own `date`, so that a wrong clock on either side does
/// no harm to what is compared with it; by our clock where the server has none.
pub fn instant_of(headers: &HeaderMap) -> Timestamp {
    let said = headers.get(DATE).and_then(|value| value.to_str().ok());
    said.and_then(date).unwrap_or_else(Timestamp::now)
}

fn date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text.trim())
        .ok()
        .map(|zoned| zoned.timestamp())
}

fn retry_after_ms_at(headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    if let Some(ms) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Some(wait_ms(ms / 1000.0));
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Some(wait_ms(seconds));
    }
    Some(wait_ms(date(value)?.duration_since(now).as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn waits_are_read_and_clamped() {
        let now: Timestamp = "2026-11-15T10:00:00Z".parse().expect("an instant");
        type Row = (&'static [(&'static str, &'static str)], Option<u64>);
        let rows: [Row; 10] = [
            (&[], None),
            (&[("retry-after", "2")], Some(2000)),
            (&[("retry-after", "0.25")], Some(250)),
            (&[("retry-after-ms", "40"), ("retry-after", "9")], Some(40)),
            (&[("retry-after", "-5")], Some(0)),
            (&[("retry-after", "1e300")], Some(3_600_000)),
            (&[("retry-after", "NaN")], Some(0)),
            (&[("retry-after", "soon")], None),
            (
                &[("retry-after", "Sun, 15 Nov 2026 10:00:07 GMT")],
                Some(7000),
            ),
            (&[("retry-after", "Sun, 15 Nov 2026 09:00:00 GMT")], Some(0)),
        ];
        for (given, expected) in rows {
            let headers = given
                .iter()
                .map(|(name, value)| {
                    (
                        HeaderName::from_bytes(name.as_bytes()).expect("a name"),
                        HeaderValue::from_static(value),
                    )
                })
                .collect();
            assert_eq!(retry_after_ms_at(&headers, now), expected, "{given:?}");
        }
    }
}
