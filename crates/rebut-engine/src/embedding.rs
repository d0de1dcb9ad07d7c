//! The seam to embedding models, which turn texts into vectors: near vectors mean alike. Also what
//! makes vectors believable, and how near two are.

use crate::{
    model::{Fault, Usage},
    record::Hash,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// Turns texts into vectors. One call is one request: no retries.
#[async_trait::async_trait]
pub trait Embedder: Send + Sync {
    /// The model's full name, e.g. `openai:text-embedding-3-small`.
    fn name(&self) -> &str;

    /// One vector for each text, in their order.
    async fn embed(&self, texts: &[String], time_left: Duration) -> Result<Embedded, Fault>;

    /// Exactly what `embed` would send, for `--dry-run`, with secrets blanked.
    fn wire(&self, texts: &[String]) -> String;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// The vectors, as the provider gave them.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens used; `None` when unknown, which is not zero.
    pub usage: Option<Usage>,
}

/// Vectors that were asked for before, by the model and the text they belong to. The text itself is
/// not in here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeptVectors {
    by_text: BTreeMap<String, Packed>,
}

impl KeptVectors {
    /// What is known of a text.
    pub fn of(&self, model: &str, text: &str) -> Option<&[f32]> {
        self.by_text
            .get(&key(model, text))
            .map(|packed| packed.0.as_slice())
    }

    /// Keeps the vector of a text.
    pub fn keep(&mut self, model: &str, text: &str, vector: Vec<f32>) {
        self.by_text.insert(key(model, text), Packed(vector));
    }

    /// Forgets everything but these texts by this model: what is gone elsewhere goes here too.
    pub fn only<'a>(&mut self, model: &str, texts: impl IntoIterator<Item = &'a String>) {
        let mut before = std::mem::take(&mut self.by_text);
        self.by_text = texts
            .into_iter()
            .map(|text| key(model, text))
            .filter_map(|key| before.remove_entry(&key))
            .collect();
    }

    pub fn clear(&mut self) {
        self.by_text.clear();
    }

    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }
}

fn key(model: &str, text: &str) -> String {
    Hash::of(format!("{model}\n{text}").as_bytes()).to_string()
}

/// A vector in a file: its bytes as Base64, which is a third of its digits.
#[derive(Clone, Debug, PartialEq)]
struct Packed(Vec<f32>);

impl Serialize for Packed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self
            .0
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unpacked(&text).map(Self).ok_or_else(|| {
            serde::de::Error::custom("expected numbers of four bytes each, in Base64")
        })
    }
}

/// The numbers behind Base64 of their little-endian bytes, as endpoints write them too.
pub fn unpacked(text: &str) -> Option<Vec<f32>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| {
        numbers
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect()
    })
}

/// Why these cannot be the vectors of so many texts; `None` when they can.
pub fn problem(vectors: &[Vec<f32>], texts: usize) -> Option<String> {
    if vectors.len() != texts {
        return Some(format!("{} vectors came for {texts} texts", vectors.len()));
    }
    let length = vectors.first().map_or(0, Vec::len);
    if vectors.iter().any(|vector| vector.len() != length) {
        return Some("the vectors have different lengths".to_owned());
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Some("a vector holds something that is no number".to_owned());
    }
    vectors
        .iter()
        .any(|vector| vector.iter().all(|number| *number == 0.0))
        .then(|| "a vector is zero, which points nowhere".to_owned())
}

/// How near two vectors are: 1 is the same direction, 0 is none in common. Vectors that cannot be
/// compared are not near at all.
pub fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    let size = (dot(one, one) * dot(other, other)).sqrt();
    if one.len() != other.len() || !size.is_normal() {
        0.0
    } else {
        dot(one, other) / size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_compared_by_direction_and_nonsense_is_named() {
        let rows: [(&[f32], &[f32], f64); 5] = [
            (&[1.0, 0.0], &[5.0, 0.0], 1.0),
            (&[1.0, 0.0], &[0.0, 2.0], 0.0),
            (&[1.0, 1.0], &[-1.0, -1.0], -1.0),
            (&[1.0], &[1.0, 0.0], 0.0),
            (&[0.0, 0.0], &[1.0, 0.0], 0.0),
        ];
        for (one, other, near) in rows {
            assert!(
                (cosine(one, other) - near).abs() < 1e-9,
                "{one:?} {other:?}"
            );
        }
        type Row<'a> = (&'a [&'a [f32]], usize, Option<&'a str>);
        let rows: [Row<'_>; 7] = [
            (&[&[1.0], &[2.0]], 2, None),
            (&[&[1.0]], 2, Some("1 vectors came for 2 texts")),
            (&[&[1.0], &[1.0, 2.0]], 2, Some("different lengths")),
            (&[&[1.0], &[f32::NAN]], 2, Some("no number")),
            (&[&[1.0], &[f32::INFINITY]], 2, Some("no number")),
            (&[&[0.0, 0.0]], 1, Some("zero")),
            (&[&[]], 1, Some("zero")),
        ];
        for (vectors, texts, why) in rows {
            let vectors: Vec<Vec<f32>> = vectors.iter().map(|vector| vector.to_vec()).collect();
            let found = problem(&vectors, texts);
            assert!(
                found
                    .as_deref()
                    .is_some_and(|found| why.is_some_and(|why| found.contains(why)))
                    || found.is_none() && why.is_none(),
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_is_kept_survives_a_file_and_what_is_gone_elsewhere_goes() {
        let mut kept = KeptVectors::default();
        kept.keep("m", "one", vec![0.1, -2.5]);
        kept.keep("m", "two", vec![3.0, 4.0]);
        kept.keep("other", "one", vec![9.0]);
        let file = serde_json::to_string(&kept).expect("JSON");
        assert!(!file.contains("one"), "the text is not in there: {file}");
        let mut read: KeptVectors = serde_json::from_str(&file).expect("what was written");
        assert_eq!(read, kept);
        assert_eq!(
            (read.of("m", "one"), read.of("m", "three")),
            (Some(&[0.1, -2.5][..]), None)
        );
        read.only("m", [&"one".to_owned(), &"three".to_owned()]);
        assert_eq!(
            (read.len(), read.of("other", "one"), read.of("m", "two")),
            (1, None, None)
        );
        for broken in [r#"{"a": "AAA"}"#, r#"{"a": "AAAA"}"#, r#"{"a": 1}"#] {
            assert!(
                serde_json::from_str::<KeptVectors>(broken).is_err(),
                "{broken}"
            );
        }
    }
}
