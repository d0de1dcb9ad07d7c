//! Objections to a position: each has a name, is answered by that name, and stays open until
//! whoever raised it lets it go. Pure.

use crate::{
    clean,
    event::{Claim, ClaimId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub struct Objection {
    pub id: ClaimId,
    pub by: Arc<str>,
    /// The aspect it is filed under.
    pub aspect: String,
    pub text: String,
    pub is_open: bool,
    pub answer: Option<Answer>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its own name among the claims of whoever answers.
    pub claim: ClaimId,
    pub round: u32,
    pub verdict: Reception,
    pub why: String,
}

/// What is made of an objection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Reception {
    /// It holds, and the position changes.
    #[serde(alias = "accept")]
    Accept,
    /// Part of it holds, and the position changes by that part.
    #[serde(alias = "partial")]
    Partial,
    /// It does not hold.
    #[serde(alias = "reject")]
    Reject,
}

impl Reception {
    /// Whether the position has to change.
    pub fn changes(self) -> bool {
        self != Self::Reject
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "ACCEPT",
            Self::Partial => "PARTIAL",
            Self::Reject => "REJECT",
        }
    }
}

/// Everything objected so far, in the order in which it was raised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objections {
    all: Vec<Objection>,
}

impl Objections {
    /// Adds what somebody objects in a round, `(aspect, text)` each. Returns them as claims.
    pub fn raise(
        &mut self,
        by: &Arc<str>,
        round: u32,
        objections: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<Claim> {
        let mut claims = Vec::new();
        for (at, (aspect, text)) in objections.into_iter().enumerate() {
            let id = ClaimId::new(by, round, at + 1);
            claims.push(Claim {
                id: id.clone(),
                text: text.clone(),
            });
            self.all.push(Objection {
                id,
                by: by.clone(),
                aspect,
                text,
                is_open: true,
                answer: None,
            });
        }
        claims
    }

    pub fn open(&self) -> impl Iterator<Item = &Objection> {
        self.all.iter().filter(|objection| objection.is_open)
    }

    /// Those of one agent that stand.
    pub fn open_by<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a Objection> {
        self.open().filter(move |objection| &*objection.by == agent)
    }

    pub fn all(&self) -> &[Objection] {
        &self.all
    }

    pub fn answer(&mut self, id: &ClaimId, answer: Answer) {
        if let Some(objection) = self.all.iter_mut().find(|objection| objection.id == *id) {
            objection.answer = Some(answer);
        }
    }

    /// Whoever raised them lets go of all but those `kept`.
    pub fn settle(&mut self, by: &str, kept: &[ClaimId]) {
        for objection in self
            .all
            .iter_mut()
            .filter(|objection| &*objection.by == by && !kept.contains(&objection.id))
        {
            objection.is_open = false;
        }
    }
}

/// The name among `known` that is meant. Agents write `architect·1·#2` in a few ways:
/// `architect-1-#2`, `Architect 1 #2`.
pub fn named<'a>(said: &str, known: &'a [ClaimId]) -> Option<&'a ClaimId> {
    let wanted = bare(said);
    known.iter().find(|id| bare(&id.0) == wanted)
}

/// The letters and numbers of a name, with one mark between them.
fn bare(name: &str) -> String {
    let parts = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// The names among `said` that are known, each once; an error names one that is not, and lists
/// those that are.
pub fn all_named(field: &str, said: &[String], known: &[ClaimId]) -> Result<Vec<ClaimId>, String> {
    let mut found: Vec<ClaimId> = Vec::new();
    for name in said {
        let id = named(name, known).ok_or_else(|| {
            let listed = known
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            format!(
                "\"{field}\": there is no open objection `{}`; there are: {listed}",
                clean::shortened(&clean::on_one_line(name), 40)
            )
        })?;
        if !found.contains(id) {
            found.push(id.clone());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objections_stay_open_until_their_author_lets_go() {
        let mut all = Objections::default();
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let raise = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| ("a".to_owned(), (*text).to_owned()))
                .collect::<Vec<_>>()
        };
        let claims = all.raise(&one, 1, raise(&["first", "second"]));
        all.raise(&other, 1, raise(&["third"]));
        assert_eq!(claims[1].id.0, "one·1·#2");
        all.answer(
            &claims[0].id,
            Answer {
                claim: ClaimId::new("p", 2, 1),
                round: 1,
                verdict: Reception::Accept,
                why: "true".to_owned(),
            },
        );
        assert_eq!(all.open().count(), 3, "an answer settles nothing by itself");
        all.settle("one", &[claims[1].id.clone()]);
        assert_eq!(
            all.open()
                .map(|objection| objection.text.as_str())
                .collect::<Vec<_>>(),
            ["second", "third"]
        );
        all.settle("one", &[]);
        assert_eq!(all.open_by("other").count(), 1);
        assert_eq!(all.open_by("one").count(), 0);
    }

    #[test]
    fn names_are_found_as_people_write_them_and_never_guessed() {
        let known = [
            ClaimId::new("architect", 1, 2),
            ClaimId::new("second-risk", 10, 1),
        ];
        for said in [
            "architect·1·#2",
            "Architect-1-#2",
            "`architect 1 #2`",
            " architect.1.2 ",
        ] {
            assert_eq!(named(said, &known), Some(&known[0]), "{said}");
        }
        assert_eq!(named("second-risk·10·#1", &known), Some(&known[1]));
        for said in [
            "architect·1·#3",
            "architect",
            "",
            "architect·12",
            "risk·10·#1",
        ] {
            assert_eq!(named(said, &known), None, "{said}");
        }
        let complaint =
            all_named("maintained", &["nobody·1·#1".to_owned()], &known).expect_err("unknown");
        assert!(
            complaint.contains("architect·1·#2, second-risk·10·#1"),
            "{complaint}"
        );
    }
}
