//! Red attacks with tests that run, blue patches: when an attack counts, and when it is patched.
//! Pure.

use crate::sandbox::{Ran, TestVerdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttackState {
    /// The run did not show it: every test of it held, or nothing that can be believed ran.
    NotReproduced,
    /// The run showed it, but what it demands contradicts the task or the given tests.
    Void,
    /// The run showed it, and nothing speaks against it.
    Confirmed,
    /// Confirmed, and mended: its test holds now and no other test broke.
    Patched,
}

impl AttackState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotReproduced => "not reproduced",
            Self::Void => "void",
            Self::Confirmed => "confirmed",
            Self::Patched => "patched",
        }
    }
}

/// Whether a run shows what an attack claims. A failing assertion, an error that the code raised
/// and code that hangs do. A test that breaks shows nothing, whatever stands beside it: it may be
/// the test that is broken.
pub fn is_shown(ran: &Ran) -> bool {
    if ran.distrust.is_some() {
        return false;
    }
    let any = |verdict: TestVerdict| ran.tests.iter().any(|test| test.verdict == verdict);
    any(TestVerdict::Fail) || any(TestVerdict::Timeout)
}

/// Whether a contested attack falls: blue quoted words that really stand in the task or the given
/// tests, and a judge said that the attack contradicts them. Without a judge, or without its word,
/// it stands.
pub fn falls(quote_stands: bool, judged: Option<bool>) -> bool {
    quote_stands && judged == Some(true)
}

/// Whether red attacks again: it found something new that counts, and there are rounds left.
pub fn goes_on(round: u32, most: u32, newly_confirmed: usize) -> bool {
    newly_confirmed > 0 && round < most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{End, TestRun};

    #[test]
    fn an_attack_counts_only_when_its_run_shows_it() {
        use TestVerdict::{Error, Fail, Pass, Timeout};
        let rows: [(&[TestVerdict], Option<&str>, bool); 9] = [
            (&[], None, false),
            (&[Pass], None, false),
            (&[Fail], None, true),
            (&[Pass, Fail], None, true),
            (&[Timeout], None, true),
            (&[Error], None, false),
            (&[Error, Error], None, false),
            (&[Pass, Error], None, false),
            (&[Fail], Some("the runner ended early"), false),
        ];
        for (verdicts, distrust, expected) in rows {
            let tests = verdicts.iter().map(|verdict| TestRun::new("t", *verdict));
            let ran = Ran {
                distrust: distrust.map(str::to_owned),
                ..Ran::plain(End::Exited(1), tests)
            };
            assert_eq!(is_shown(&ran), expected, "{verdicts:?} {distrust:?}");
        }
    }

    #[test]
    fn an_attack_falls_by_a_quotation_and_a_judge_together() {
        let rows = [
            (true, Some(true), true),
            (true, Some(false), false),
            (true, None, false),
            (false, Some(true), false),
            (false, None, false),
        ];
        for (quote, judged, expected) in rows {
            assert_eq!(falls(quote, judged), expected, "{quote} {judged:?}");
        }
        assert_eq!(
            [goes_on(1, 3, 1), goes_on(3, 3, 1), goes_on(1, 3, 0)],
            [true, false, false]
        );
    }
}
