//! What runs have shown about code: tests by name, or why there is nothing to show. Nothing is
//! never a pass. Pure.

use crate::{
    clean::{on_one_line, shortened},
    facts::TestCount,
    run_code::RunCompleted,
    sandbox::{End, Ran, TestVerdict},
};
use std::{collections::BTreeSet, fmt::Write};

/// What is known of a piece of code by one file of tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Evidence {
    #[default]
    NoTests,
    /// There are tests, but nothing ran.
    NotRun(String),
    Ran(Box<Ran>),
}

impl Evidence {
    pub fn of(completed: &RunCompleted) -> Self {
        match completed.result() {
            Ok(ran) => Self::Ran(Box::new(ran.clone())),
            Err(refused) => Self::NotRun(refused.to_string()),
        }
    }

    /// Whether tests ran and all held; `None` when nothing ran. Zero tests are not passed.
    pub fn passed(&self) -> Option<bool> {
        match self {
            Self::Ran(ran) => Some(ran.all_passed()),
            Self::NoTests | Self::NotRun(_) => None,
        }
    }

    /// Whether tests ran and all held.
    pub fn all_passed(&self) -> bool {
        self.passed() == Some(true)
    }

    /// How many held; `None` when nothing ran.
    pub fn count(&self) -> Option<TestCount> {
        let Self::Ran(ran) = self else { return None };
        Some(TestCount::of(ran))
    }

    /// How many held; 0 when nothing ran.
    pub fn held(&self) -> u32 {
        self.count().map_or(0, |count| count.passed)
    }

    /// Whether it has passes that the code could have forged, since it ran in the process that
    /// judged it.
    pub fn is_shared(&self) -> bool {
        self.count().is_some_and(|count| count.is_shared())
    }

    /// For an order in which more is better: how many held, and of as many whether they were held
    /// apart from the code.
    pub fn strength(&self) -> (u32, bool) {
        self.count().map_or((0, true), |count| count.strength())
    }

    /// The names of the tests that held.
    fn names_held(&self) -> BTreeSet<&str> {
        let Self::Ran(ran) = self else {
            return BTreeSet::new();
        };
        if ran.distrust.is_some() {
            return BTreeSet::new();
        }
        ran.tests
            .iter()
            .filter(|test| test.verdict == TestVerdict::Pass)
            .map(|test| test.name.as_str())
            .collect()
    }

    /// The tests that held before and do not hold in `after`, a run that was refused or cannot be
    /// believed included; what went wrong there outside of every test, which is a result that was
    /// not there before; and that its passes could be forged where these could not.
    pub fn broken_in(&self, after: &Self) -> Vec<String> {
        let (Self::Ran(before), held) = (self, after.names_held()) else {
            return Vec::new();
        };
        let lost = self
            .names_held()
            .into_iter()
            .filter(|name| !held.contains(name));
        let Self::Ran(later) = after else {
            return lost.map(str::to_owned).collect();
        };
        // What could be forged does not replace what could not.
        let forgeable =
            (self.held() > 0 && !self.is_shared() && after.is_shared()).then_some(NO_LONGER_APART);
        let is_new = |name: &str| !before.tests.iter().any(|test| test.name == name);
        let failing = later
            .tests
            .iter()
            .filter(|test| test.verdict != TestVerdict::Pass)
            .map(|test| test.name.as_str());
        lost.chain(failing.filter(|name| is_new(name)))
            .chain(forgeable)
            .map(str::to_owned)
            .collect()
    }

    /// The same, but where there are tests and none ran, that they did not run.
    pub fn unless_given(self, tests: &str) -> Self {
        if self == Self::NoTests && !tests.trim().is_empty() {
            Self::NotRun(String::new())
        } else {
            self
        }
    }

    pub fn words(&self) -> String {
        match self {
            Self::NoTests => "no tests".to_owned(),
            Self::NotRun(why) if why.is_empty() => "not run".to_owned(),
            Self::NotRun(why) => format!("not run: {}", shortened(&on_one_line(why), 160)),
            Self::Ran(ran) => match (&ran.distrust, ran.tests.len()) {
                (Some(why), _) => {
                    format!("not to be believed: {}", shortened(&on_one_line(why), 160))
                }
                (None, 0) => format!("no test ran ({})", end_words(&ran.end)),
                (None, _) => held_words(TestCount::of(ran)),
            },
        }
    }

    /// What failed, with the end of what was said, for whoever has to mend it.
    pub fn failures(&self) -> String {
        let Self::Ran(ran) = self else {
            return self.words();
        };
        let mut text = self.words();
        for test in ran
            .tests
            .iter()
            .filter(|test| test.verdict != TestVerdict::Pass)
            .take(MOST_FAILURES)
        {
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "\n- {} ({})",
                on_one_line(&test.name),
                verdict_word(test.verdict)
            );
            if !test.output.trim().is_empty() {
                let _ = write!(text, ": {}", tail(&test.output));
            }
        }
        if ran.tests.is_empty() || ran.distrust.is_some() {
            let _ = write!(
                text,
                "\nIt ended: {}\n{}",
                end_words(&ran.end),
                tail(if ran.stderr.trim().is_empty() {
                    &ran.stdout
                } else {
                    &ran.stderr
                })
            );
        }
        text
    }
}

/// So many tests hold of so many.
pub fn held_words(count: TestCount) -> String {
    format!(
        "{} of {} hold{}",
        count.passed,
        count.total,
        count.shared_note()
    )
}

/// What a new version breaks whose tests hold only in the process of the code.
const NO_LONGER_APART: &str =
    "the separation of tests and code (same process: its passes could be forged)";

/// More failures than these say nothing new.
const MOST_FAILURES: usize = 8;
/// So much of what a test said is quoted, from its end.
const QUOTED_CHARS: usize = 600;

/// The end of a text, where errors stand.
pub fn tail(text: &str) -> String {
    let text = text.trim();
    let skip = text.chars().count().saturating_sub(QUOTED_CHARS);
    let kept: String = text.chars().skip(skip).collect();
    if skip > 0 { format!("…{kept}") } else { kept }
}

fn verdict_word(verdict: TestVerdict) -> &'static str {
    match verdict {
        TestVerdict::Pass => "holds",
        TestVerdict::Fail => "fails",
        TestVerdict::Error => "broke",
        TestVerdict::Timeout => "did not end in time",
    }
}

/// How a run ended, and the end of what it said, if it said anything.
pub fn ended_saying(end: &End, said: &str) -> String {
    match tail(said) {
        said if said.is_empty() => end_words(end),
        said => format!("{}: {said}", end_words(end)),
    }
}

/// How a run ended, in words.
pub fn end_words(end: &End) -> String {
    match end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(signal) => format!("signal {signal}"),
        End::TimedOut => "its time was over".to_owned(),
        End::TooMuchOutput => "it wrote too much".to_owned(),
        End::Resource(what) => format!("it met a limit: {}", on_one_line(what)),
        End::NotBuilt => "it could not be built".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::TestRun;

    fn ran(tests: &[(&str, TestVerdict)], distrust: Option<&str>) -> Evidence {
        let tests = tests
            .iter()
            .map(|(name, verdict)| TestRun::new(*name, *verdict));
        Evidence::Ran(Box::new(Ran {
            distrust: distrust.map(str::to_owned),
            ..Ran::plain(End::Exited(0), tests)
        }))
    }

    #[test]
    fn nothing_is_no_pass_and_a_test_that_vanished_broke() {
        use TestVerdict::{Fail, Pass};
        let both = ran(&[("a", Pass), ("b", Pass)], None);
        let rows = [
            (Evidence::NoTests, None, vec!["a", "b"]),
            (
                Evidence::NotRun("no sandbox".to_owned()),
                None,
                vec!["a", "b"],
            ),
            (ran(&[], None), Some(false), vec!["a", "b"]),
            (
                ran(&[("a", Pass), ("b", Pass)], Some("forged")),
                Some(false),
                vec!["a", "b"],
            ),
            (
                ran(&[("a", Pass), ("b", Fail)], None),
                Some(false),
                vec!["b"],
            ),
            (ran(&[("b", Pass)], None), Some(true), vec!["a"]),
            (
                ran(&[("a", Pass), ("b", Pass), ("c", Fail)], None),
                Some(false),
                vec!["c"],
            ),
            (
                ran(&[("a", Pass), ("b", Pass), ("c", Pass)], None),
                Some(true),
                vec![],
            ),
        ];
        for (after, passed, broken) in rows {
            assert_eq!(after.passed(), passed, "{after:?}");
            assert_eq!(both.broken_in(&after), broken, "{after:?}");
        }
        let shared = |tests: &[(&str, TestVerdict)]| match ran(tests, None) {
            Evidence::Ran(ran) => Evidence::Ran(Box::new(Ran {
                shared_process: true,
                ..*ran
            })),
            other => other,
        };
        let forgeable = shared(&[("a", Pass), ("b", Pass)]);
        assert_eq!(
            forgeable.words(),
            "2 of 2 hold (same process: could be forged)"
        );
        assert_eq!(
            shared(&[("a", Fail)]).words(),
            "0 of 1 hold",
            "nothing passed, so there is nothing to forge"
        );
        assert_eq!(both.broken_in(&forgeable), [NO_LONGER_APART]);
        assert_eq!(forgeable.broken_in(&both), Vec::<String>::new());
        assert_eq!(
            forgeable.broken_in(&forgeable),
            Vec::<String>::new(),
            "a language whose tests always share has nothing to lose"
        );
        assert!(
            both.strength() > forgeable.strength()
                && forgeable.strength() > ran(&[("a", Pass)], None).strength()
        );
        assert_eq!(
            Evidence::NoTests.unless_given("assert x").words(),
            "not run"
        );
        assert_eq!(Evidence::NoTests.unless_given(" \n").words(), "no tests");
        assert_eq!(both.clone().unless_given("assert x"), both);
        assert_eq!(
            Evidence::NoTests.broken_in(&both),
            Vec::<String>::new(),
            "nothing held before, nothing can break"
        );
    }
}
