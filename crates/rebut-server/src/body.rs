//! Reading what a request carries: not too much, not too slowly, not too deep, and JSON only.

pub use rebut_app::request::reading::{number, object, objects};

use crate::problem::Problem;
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header},
};
use futures_util::StreamExt;
use rebut_app::request::reading::Object;
use serde::{
    Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use std::{
    collections::HashSet,
    fmt::{self, Write},
    time::Duration,
};

pub const DEEPEST: usize = 64;

/// The bytes of a body that may be JSON; empty where there is none.
pub async fn read(
    headers: &HeaderMap,
    body: Body,
    most: usize,
    within: Duration,
) -> Result<Bytes, Problem> {
    check_kind(headers)?;
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|announced| announced > most as u64) {
        return Err(too_large(most));
    }
    let bytes = match tokio::time::timeout(within, collect(body, most)).await {
        Ok(bytes) => bytes?,
        Err(_) => {
            let detail = format!("the body did not come within {} s", within.as_secs());
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail));
        }
    };
    if !bytes.is_empty() && !headers.contains_key(header::CONTENT_TYPE) {
        return Err(not_json());
    }
    match depth(&bytes) {
        deep if deep > DEEPEST => Err(Problem::bad_request(format!(
            "the JSON is nested more than {DEEPEST} levels deep"
        ))),
        _ => Ok(bytes),
    }
}

/// What JSON text means. What is not JSON is a bad request; what is JSON of another form, or says
/// something twice, cannot be processed.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let once =
        Once(&mut String::new()).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    let read = once.and_then(|()| serde_json::from_slice::<Object<T>>(bytes));
    read.map(|Object(meant)| meant)
        .map_err(|error| match error.classify() {
            serde_json::error::Category::Data => {
                Problem::unprocessable(format!("the body does not fit: {error}"))
            }
            _ => Problem::bad_request(format!("the body is not JSON: {error}")),
        })
}

/// Looks through JSON for an object that has a field twice: which one counts, every reader decides
/// otherwise. Holds where it looks.
struct Once<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Once<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut seen, here) = (HashSet::new(), self.0.len());
        while let Some(field) = map.next_key::<String>()? {
            let dot = if here == 0 { "" } else { "." };
            let _ = write!(self.0, "{dot}{field}");
            if !seen.insert(field) {
                return Err(A::Error::custom(format!("`{}` is there twice", self.0)));
            }
            map.next_value_seed(Once(self.0))?;
            self.0.truncate(here);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let here = self.0.len();
        for place in 0_usize.. {
            let _ = write!(self.0, "[{place}]");
            let was_there = list.next_element_seed(Once(self.0))?.is_some();
            self.0.truncate(here);
            if !was_there {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

async fn collect(body: Body, most: usize) -> Result<Bytes, Problem> {
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece =
            piece.map_err(|error| Problem::bad_request(format!("the body broke off: {error}")))?;
        if bytes.len() + piece.len() > most {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}

/// A form that a foreign page can send without being asked first is not taken.
fn check_kind(headers: &HeaderMap) -> Result<(), Problem> {
    let encoded = headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|value| value != "identity");
    let kinds: Vec<_> = headers.get_all(header::CONTENT_TYPE).iter().collect();
    match kinds[..] {
        [] if !encoded => Ok(()),
        [kind] if !encoded && is_json(kind.to_str().unwrap_or_default()) => Ok(()),
        _ => Err(not_json()),
    }
}

fn is_json(kind: &str) -> bool {
    kind.split(';')
        .next()
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn not_json() -> Problem {
    let detail = "a body is `application/json`, not encoded otherwise";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail)
}

fn too_large(most: usize) -> Problem {
    Problem::too_large(format!("a body has at most {most} bytes here"))
}

/// How deep lists and objects are nested, whatever else is wrong with the text.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_app::request::reading::whole;
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Said {
        #[serde(deserialize_with = "whole")]
        number: Option<u64>,
        #[serde(deserialize_with = "object")]
        inner: Box<Inner>,
        #[serde(deserialize_with = "objects")]
        list: Vec<Inner>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct Inner {
        word: String,
    }

    #[test]
    fn what_is_meant_as_an_object_or_a_whole_number_is_one() {
        let numbers = [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("7e2", Some(700)),
            ("18446744073709551615", Some(u64::MAX)),
            ("null", None),
        ];
        for (said, meant) in numbers {
            let read =
                parse::<Said>(format!("{{\"number\": {said}}}").as_bytes()).map(|said| said.number);
            assert_eq!(read.ok(), Some(meant), "{said}");
        }
        let good = parse::<Said>(br#"{"inner": {"word": "a"}, "list": [{"word": "b"}]}"#)
            .expect("objects");
        assert_eq!((good.inner.word.as_str(), good.list.len()), ("a", 1));
        let refused = [
            r#"{"number": 7.5}"#,
            r#"{"number": -1}"#,
            r#"{"number": -1.0}"#,
            r#"{"number": 18446744073709551616}"#,
            r#"{"number": 1e300}"#,
            r#"{"number": "7"}"#,
            r#"{"inner": ["a"]}"#,
            r#"{"inner": null}"#,
            r#"{"list": [["a"]]}"#,
            r#"{"list": {"word": "a"}}"#,
            "[7]",
            "[]",
            "null",
            "7",
        ];
        for said in refused {
            assert_eq!(
                parse::<Said>(said.as_bytes()).map_err(|problem| problem.status),
                Err(422),
                "{said}"
            );
        }
    }

    #[test]
    fn nothing_is_said_twice_at_any_depth() {
        let rows = [
            (r#"{"number": 1, "number": 2}"#, "`number`"),
            (
                r#"{"inner": {"word": "a", "more": {"x": 1, "x": 1}}}"#,
                "`inner.more.x`",
            ),
            (
                r#"{"list": [{"word": "a"}, {"word": "a", "w\u006frd": "b"}]}"#,
                "`list[1].word`",
            ),
            (
                r#"{"list": [[[{"word": "a", "b": 1, "word": "a"}]]]}"#,
                "`list[0][0][0].word`",
            ),
        ];
        for (said, place) in rows {
            let problem = parse::<Said>(said.as_bytes()).expect_err(said);
            assert_eq!(problem.status, 422, "{said}");
            assert!(
                problem.detail.contains(&format!("{place} is there twice")),
                "{said}: {}",
                problem.detail
            );
        }
        assert!(
            parse::<Said>(br#"{"inner": {"word": "a"}, "list": [{"word": "a"}, {"word": "a"}]}"#)
                .is_ok(),
            "each object has its own"
        );
    }

    #[test]
    fn depth_counts_brackets_outside_of_text() {
        let rows: &[(&str, usize)] = &[
            ("", 0),
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[{}]}"#, 3),
            (r#"["[[[", "\"[[", "\\"]"#, 1),
            ("]]][[", 2),
            (r#"{"[":{"]":[]}}"#, 3),
        ];
        for (json, expected) in rows {
            assert_eq!(depth(json.as_bytes()), *expected, "{json}");
        }
    }
}
