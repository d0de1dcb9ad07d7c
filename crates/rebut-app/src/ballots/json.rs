//! Ballots as JSON: `candidates` and `ballots`; other keys beside them are passed over, unknown
//! keys inside a ballot are an error.

use super::Reading;
use rebut_engine::voting::{Ballot, Weight};
use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, fmt};

pub fn read(text: &str, reading: &mut Reading) -> Result<(), String> {
    let mut json = serde_json::Deserializer::from_str(text);
    File(reading)
        .deserialize(&mut json)
        .and_then(|()| json.end())
        .map_err(|error| error.to_string())
}

struct File<'r>(&'r mut Reading);

impl<'de> DeserializeSeed<'de> for File<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for File<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `candidates` and `ballots`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut has_candidates, mut has_ballots) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "candidates" if !has_candidates => {
                    has_candidates = true;
                    self.0.candidates(map.next_value()?);
                }
                "ballots" if !has_ballots => {
                    has_ballots = true;
                    map.next_value_seed(Ballots(&mut *self.0))?;
                }
                "candidates" | "ballots" => {
                    return Err(A::Error::custom(format!("`{key}` stands there twice")));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if has_ballots {
            Ok(())
        } else {
            Err(A::Error::custom("there is no `ballots`"))
        }
    }
}

/// The list of ballots: each goes on at once, so that a large file is not held twice.
struct Ballots<'r>(&'r mut Reading);

impl<'de> DeserializeSeed<'de> for Ballots<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Ballots<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of ballots")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        loop {
            let number = self.0.next();
            match seq.next_element::<Written<'_>>() {
                Ok(Some(written)) => {
                    let ballot = written.into_ballot(self.0);
                    self.0.add(ballot);
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(A::Error::custom(format!("ballot {number}: {error}"))),
            }
        }
    }
}

/// A ballot as it is written. Numbers stay text, so that no digit is lost and a wrong one can be
/// told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    voter: Option<String>,
    #[serde(borrow)]
    weight: Option<&'a RawValue>,
    #[serde(borrow)]
    confidence: Option<&'a RawValue>,
    ranking: Option<Vec<Tier>>,
    approves: Option<Vec<String>>,
    #[serde(borrow)]
    scores: Option<BTreeMap<String, &'a RawValue>>,
}

/// One candidate, or a list of equals.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a candidate's name or a list of equals")]
enum Tier {
    Equals(Vec<String>),
    One(String),
}

impl Written<'_> {
    fn into_ballot(self, reading: &mut Reading) -> Ballot {
        let voter = self.voter.unwrap_or_else(|| format!("#{}", reading.next()));
        let weight = self.weight.map(plain).map(|text| text.parse::<Weight>());
        let weight = weight.transpose().unwrap_or_else(|wrong| {
            reading.problem(&voter, wrong, "counted with weight 1");
            None
        });
        let mut number = |what: &str, raw: &RawValue| {
            let text = plain(raw);
            let read = text.parse::<f64>();
            if read.is_err() {
                reading.problem(
                    &voter,
                    format!("{what} `{text}` is not a number"),
                    "counted as if none was stated",
                );
            }
            read.ok()
        };
        let confidence = self
            .confidence
            .and_then(|raw| number("the confidence", raw));
        let scores = self.scores.map(|scores| {
            let read = scores.into_iter().filter_map(|(name, raw)| {
                number(&format!("the score for `{name}`"), raw).map(|score| (name, score))
            });
            read.collect()
        });
        let tier = |tier| match tier {
            Tier::Equals(names) => names,
            Tier::One(name) => vec![name],
        };
        let ranking = self
            .ranking
            .unwrap_or_default()
            .into_iter()
            .map(tier)
            .collect();
        Ballot {
            weight: weight.unwrap_or_default(),
            confidence,
            ranking,
            approves: self.approves,
            scores,
            voter,
        }
    }
}

/// The text of a number, whether it is written as a number or as a text.
fn plain(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}
