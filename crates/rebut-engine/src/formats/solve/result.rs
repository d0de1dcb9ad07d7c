//! The result of a solve debate: the winner's code with its evidence, and everything that led to
//! it. Nothing that did not run is called passed.

use super::{
    candidates::{Attack, Candidate, Claimed},
    evidence::{self, Evidence},
    phases::quality,
    prompts::Setup,
    replies::Rated,
    state::{Drawn, HookRun, Ledger, PhaseHeld, many},
};
use crate::{
    clean::on_one_line,
    facts::TestCount,
    lessons::{Given, Search},
    moves::{
        clarify::Clarification, contrast::Difference, red_blue::AttackState, reflect::Reflected,
    },
    voting::Count,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SolveResult {
    /// The task.
    pub task: String,
    /// The language.
    pub language: String,
    /// The owner of the code that won; `None` when nobody wrote any.
    pub winner: Option<String>,
    /// How it was chosen.
    pub chosen: String,
    /// The code.
    pub code: String,
    /// The given tests on it; `None` when nothing ran.
    pub tests: Option<TestCount>,
    /// The same in words.
    pub tests_words: String,
    /// The hidden tests on it; `None` when nothing ran.
    pub hidden: Option<TestCount>,
    /// The same in words.
    pub hidden_words: String,
    /// Why nothing could be run, where that is so: then nothing here is shown by a run.
    pub without_evidence: Option<String>,
    /// Every candidate.
    pub candidates: Vec<CandidateResult>,
    /// The count, where there was a vote.
    pub vote: Option<Count>,
    /// Tests on which candidates differ.
    pub differences: Vec<Difference>,
    /// The judge's rubric, 0 to 1 for each criterion.
    pub rubric: Vec<Rated>,
    /// Why new versions were refused.
    pub refusals: Vec<String>,
    /// What was asked and answered before the work.
    pub clarified: Vec<Clarification>,
    /// Lessons of earlier debates that were given.
    pub lessons_given: Vec<Given>,
    /// How they were looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lessons_search: Option<Search>,
    /// Lessons that were drawn.
    pub lessons_drawn: Vec<Drawn>,
    /// What hooks said.
    pub hooks: Vec<HookRun>,
    /// How the phases went.
    pub phases: Vec<PhaseHeld>,
}

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateResult {
    /// Its neutral name.
    pub label: String,
    /// Whose it is.
    pub owner: String,
    /// How it works.
    pub approach: String,
    /// The number of its last version.
    pub version: u32,
    /// The code.
    pub code: String,
    /// The given tests; `None` when nothing ran.
    pub tests: Option<TestCount>,
    /// The same in words.
    pub tests_words: String,
    /// Its author's own tests in words.
    pub own_tests_words: String,
    /// What a linter found in it; missing where none looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lints: Option<u32>,
    /// Attempts against the given tests.
    pub attempts: u32,
    /// Why there was no further one.
    pub attempts_ended: String,
    /// What its author made of failures.
    pub reflections: Vec<Reflected>,
    /// Claims against it.
    pub claims: Vec<Claimed>,
    /// The names of claims that kept it from winning.
    pub blocked_by: Vec<String>,
    /// Attacks on it.
    pub attacks: Vec<Attack>,
    /// The mean of the judge's points.
    pub quality: Option<f64>,
}

pub(super) fn of(setup: &Setup, ledger: &Ledger, hidden: &Evidence) -> SolveResult {
    let winner = ledger
        .choice
        .as_ref()
        .and_then(|choice| ledger.of(&choice.owner));
    SolveResult {
        task: setup.input.task.clone(),
        language: setup.input.language.clone(),
        winner: winner.map(|one| one.owner.to_string()),
        chosen: ledger.choice.as_ref().map_or_else(
            || "nobody wrote any code".to_owned(),
            |choice| choice.by.clone(),
        ),
        code: winner.map(|one| one.code.clone()).unwrap_or_default(),
        tests: winner.and_then(|one| one.given.count()),
        tests_words: winner
            .map_or_else(|| Evidence::NoTests.words(), |one| given_words(setup, one)),
        hidden: hidden.count(),
        hidden_words: hidden.words(),
        without_evidence: ledger.refused.clone(),
        candidates: ledger
            .candidates
            .iter()
            .map(|one| candidate(setup, one, ledger))
            .collect(),
        vote: ledger
            .choice
            .as_ref()
            .and_then(|choice| choice.count.clone()),
        differences: ledger.differences.clone(),
        rubric: ledger.rubric.clone(),
        refusals: ledger.refusals.clone(),
        clarified: ledger.clarified.clone(),
        lessons_given: setup.input.lessons.clone(),
        lessons_search: setup.input.lessons_search.clone(),
        lessons_drawn: ledger.lessons.clone(),
        hooks: ledger.hooks.clone(),
        phases: ledger.phases.clone(),
    }
}

/// What the given tests showed; tests that nobody ran are no missing tests.
pub(super) fn given_words(setup: &Setup, one: &Candidate) -> String {
    one.given.clone().unless_given(&setup.input.tests).words()
}

fn candidate(setup: &Setup, one: &Candidate, ledger: &Ledger) -> CandidateResult {
    CandidateResult {
        label: one.label.clone(),
        owner: one.owner.to_string(),
        approach: one.approach.clone(),
        version: one.version,
        code: one.code.clone(),
        tests: one.given.count(),
        tests_words: given_words(setup, one),
        own_tests_words: one.own.words(),
        lints: one.lints,
        attempts: one.attempts,
        attempts_ended: one.attempts_ended.clone(),
        reflections: one.reflections.clone(),
        claims: one.claims.clone(),
        blocked_by: one
            .blocked_by(setup.owners_answer())
            .into_iter()
            .map(|id| id.0.clone())
            .collect(),
        attacks: one.attacks.clone(),
        quality: quality(&ledger.rubric, &one.label),
    }
}

/// What tests show of code. Nothing that did not run shows anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    NoTests,
    Held,
    /// There are some, but they did not run.
    NotRun,
    /// They ran, and not all hold, or they cannot be believed.
    TestsFail,
}

impl Proof {
    /// What a count and its words say. The words tell tests that are not there from tests that did
    /// not run, and distrusted ones from good ones.
    fn of(count: Option<TestCount>, words: &str) -> Self {
        match count {
            Some(count)
                if count.total > 0
                    && words == evidence::held_words(count)
                    && count.passed == count.total =>
            {
                Self::Held
            }
            Some(_) => Self::TestsFail,
            None if words == Evidence::NoTests.words() => Self::NoTests,
            None => Self::NotRun,
        }
    }

    fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

impl SolveResult {
    pub fn winning(&self) -> Option<&CandidateResult> {
        let winner = self.winner.as_ref()?;
        self.candidates.iter().find(|one| one.owner == *winner)
    }

    /// What tests show of the code that won: the given ones and the hidden ones together.
    pub fn proof(&self) -> Proof {
        let given = Proof::of(self.tests, &self.tests_words);
        given.and(Proof::of(self.hidden, &self.hidden_words))
    }

    pub fn summary(&self) -> String {
        let Some(winner) = self.winning() else {
            return "nobody wrote any code".to_owned();
        };
        let among = match self.candidates.len() {
            1 => ", the only candidate".to_owned(),
            all => format!(" of {}", many(all, "candidate")),
        };
        let mut parts = vec![format!(
            "{} ({}){among}, {}",
            winner.label,
            on_one_line(&winner.owner),
            self.chosen
        )];
        // Why nothing could run is said once, below.
        let words = |words: &str| match &self.without_evidence {
            Some(why) if words == Evidence::NotRun(why.clone()).words() => {
                Evidence::NotRun(String::new()).words()
            }
            _ => words.to_owned(),
        };
        parts.push(format!("given tests: {}", words(&self.tests_words)));
        if self.hidden_words != Evidence::NoTests.words() {
            parts.push(format!("hidden tests: {}", words(&self.hidden_words)));
        }
        if let Some(why) = &self.without_evidence {
            parts.push(format!(
                "without test evidence where nothing could run: {}",
                on_one_line(why)
            ));
        }
        let open = winner
            .attacks
            .iter()
            .filter(|attack| attack.state == AttackState::Confirmed)
            .count();
        if open > 0 {
            parts.push(format!(
                "{} on it not patched",
                many(open, "confirmed attack")
            ));
        }
        if !winner.blocked_by.is_empty() {
            parts.push("severe claims against it were not settled".to_owned());
        }
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{End, Ran, TestRun, TestVerdict};

    #[test]
    fn only_tests_that_ran_and_all_held_are_a_proof() {
        use TestVerdict::{Fail, Pass};
        let ran = |verdicts: &[TestVerdict], distrust: Option<&str>| {
            let tests = verdicts.iter().map(|verdict| TestRun::new("t", *verdict));
            Evidence::Ran(Box::new(Ran {
                distrust: distrust.map(str::to_owned),
                ..Ran::plain(End::Exited(0), tests)
            }))
        };
        let rows = [
            (Evidence::NoTests, Proof::NoTests),
            (Evidence::NotRun("no sandbox".to_owned()), Proof::NotRun),
            (Evidence::NotRun(String::new()), Proof::NotRun),
            (ran(&[Pass, Pass], None), Proof::Held),
            (ran(&[Pass, Fail], None), Proof::TestsFail),
            (ran(&[], None), Proof::TestsFail),
            (ran(&[Pass], Some("forged")), Proof::TestsFail),
        ];
        for (evidence, expected) in &rows {
            assert_eq!(
                Proof::of(evidence.count(), &evidence.words()),
                *expected,
                "{evidence:?}"
            );
        }
        // Of given and hidden tests the worse counts; tests that are not there take nothing away.
        assert_eq!(Proof::Held.and(Proof::NoTests), Proof::Held);
        assert_eq!(Proof::Held.and(Proof::NotRun), Proof::NotRun);
        assert_eq!(Proof::NotRun.and(Proof::TestsFail), Proof::TestsFail);
    }
}
