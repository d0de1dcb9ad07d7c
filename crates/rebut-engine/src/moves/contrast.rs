//! Where candidates differ: tests that some of them hold and others do not. Pure.

use crate::sandbox::{Ran, TestVerdict, shared_note};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A test on which candidates differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The test.
    pub test: String,
    /// Those for which it held.
    pub holds_for: Vec<String>,
    /// Those for which it did not, or did not run.
    pub fails_for: Vec<String>,
    /// Those of the first whose code ran in the process that judged it: their pass could be forged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_process: Vec<String>,
}

impl Difference {
    /// For whom it holds and for whom not.
    pub fn words(&self) -> String {
        let holds = |label: &String| {
            format!(
                "{label}{}",
                shared_note(1, self.shared_process.contains(label))
            )
        };
        let holds: Vec<String> = self.holds_for.iter().map(holds).collect();
        format!(
            "holds for {}; not for {}",
            holds.join(", "),
            self.fails_for.join(", ")
        )
    }
}

/// The tests that tell the candidates apart, in the order in which they are first met. A run that
/// cannot be believed shows nothing and is left out; fewer than two runs tell nobody apart.
pub fn differences(runs: &[(&str, &Ran)]) -> Vec<Difference> {
    let runs: Vec<&(&str, &Ran)> = runs
        .iter()
        .filter(|(_, ran)| ran.distrust.is_none())
        .collect();
    if runs.len() < 2 {
        return Vec::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for test in runs.iter().flat_map(|(_, ran)| &ran.tests) {
        if !names.contains(&test.name.as_str()) {
            names.push(&test.name);
        }
    }
    let held = |ran: &Ran, name: &str| {
        ran.tests
            .iter()
            .any(|test| test.name == name && test.verdict == TestVerdict::Pass)
    };
    let differs = names.into_iter().filter_map(|name| {
        let labels = |wanted: &dyn Fn(&Ran) -> bool| {
            runs.iter()
                .filter(|(_, ran)| wanted(ran))
                .map(|(label, _)| (*label).to_owned())
                .collect::<Vec<_>>()
        };
        let (holds_for, fails_for) = (
            labels(&|ran| held(ran, name)),
            labels(&|ran| !held(ran, name)),
        );
        let shared_process = labels(&|ran| held(ran, name) && ran.shared_process);
        let tells = !holds_for.is_empty() && !fails_for.is_empty();
        tells.then(|| Difference {
            test: name.to_owned(),
            holds_for,
            fails_for,
            shared_process,
        })
    });
    differs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{End, TestRun};

    fn ran(tests: &[(&str, TestVerdict)], distrust: Option<&str>) -> Ran {
        let tests = tests
            .iter()
            .map(|(name, verdict)| TestRun::new(*name, *verdict));
        Ran {
            distrust: distrust.map(str::to_owned),
            ..Ran::plain(End::Exited(0), tests)
        }
    }

    #[test]
    fn only_what_tells_candidates_apart_is_shown() {
        use TestVerdict::{Error, Fail, Pass};
        let one = ran(
            &[
                ("same", Pass),
                ("differs", Pass),
                ("both fail", Fail),
                ("only here", Pass),
            ],
            None,
        );
        let other = ran(
            &[("same", Pass), ("differs", Fail), ("both fail", Error)],
            None,
        );
        let found = differences(&[("C1", &one), ("C2", &other)]);
        let names: Vec<&str> = found
            .iter()
            .map(|difference| difference.test.as_str())
            .collect();
        assert_eq!(
            names,
            ["differs", "only here"],
            "what did not run for one holds for the other only"
        );
        assert_eq!(
            (found[0].holds_for.as_slice(), found[0].fails_for.as_slice()),
            (&["C1".to_owned()][..], &["C2".to_owned()][..])
        );
        assert_eq!(found[0].words(), "holds for C1; not for C2");
        let shared = Ran {
            shared_process: true,
            ..one.clone()
        };
        let found = differences(&[("C1", &shared), ("C2", &other)]);
        assert_eq!(
            found[0].words(),
            "holds for C1 (same process: could be forged); not for C2"
        );
        let forged = ran(&[("differs", Pass)], Some("the runner ended early"));
        assert_eq!(
            differences(&[("C1", &one), ("C2", &forged)]),
            Vec::new(),
            "one believed run tells nobody apart"
        );
        assert_eq!(differences(&[("C1", &one)]), Vec::new());
    }
}
