//! Where a solve debate stands: candidates, what was clarified, how phases went, what was chosen.
//! Runs of code enter here.

use super::{
    candidates::{Candidate, labels},
    config::Phase,
    evidence::Evidence,
    input::Input,
    lints::Linter,
    prompts::Setup,
    replies::Rated,
};
use crate::{
    debate::{Debate, Step},
    error::Stop,
    event::Event,
    moves::{clarify::Clarification, contrast::Difference},
    record::Hash,
    sandbox::{Command, Job, Style, Tests, Work},
    tools::Toolbox,
    voting::Count,
};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

#[derive(Default)]
pub struct Ledger {
    labels: Vec<(Arc<str>, String)>,
    /// The candidates there are, by their neutral names.
    pub candidates: Vec<Candidate>,
    pub clarified: Vec<Clarification>,
    pub phases: Vec<PhaseHeld>,
    pub lessons: Vec<Drawn>,
    pub hooks: Vec<HookRun>,
    pub differences: Vec<Difference>,
    pub refusals: Vec<String>,
    pub rubric: Vec<Rated>,
    pub choice: Option<Choice>,
    /// Why nothing could run, where that is so.
    pub refused: Option<String>,
    versions: u32,
    /// What a linter found, by the hash of the code: the same code is looked at once.
    linted: BTreeMap<[u8; 32], Option<u32>>,
    /// Whether there turned out to be no linter here.
    unlinted: bool,
    pub attacks: u32,
}

/// How a phase went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseHeld {
    /// Which.
    pub phase: String,
    /// Whether it was held.
    pub held: bool,
    /// What was expected of it; why it was not held.
    pub expected: String,
    /// What happened.
    pub happened: String,
    /// Whether that is what was expected.
    pub as_expected: bool,
}

/// What a phase says of itself at its end.
pub struct Happened {
    pub words: String,
    /// Whether that is what was expected.
    pub as_expected: bool,
}

/// A lesson that was drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drawn {
    /// By whom.
    pub by: Arc<str>,
    /// The lesson.
    pub lesson: String,
    /// When it applies.
    pub applies_to: String,
    /// Whether the run that showed it shared the process of the code it judged: then its pass could
    /// be forged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
}

impl Drawn {
    /// What has to be said beside it; mostly nothing.
    pub fn shared_note(&self) -> &'static str {
        crate::lessons::shared_note(self.shared_process)
    }
}

/// What a hook said of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookRun {
    /// After which phase.
    pub after: String,
    /// Whose candidate.
    pub candidate: Arc<str>,
    /// Whether it ended well; `None` when nothing ran.
    pub passed: Option<bool>,
    /// What it said.
    pub said: String,
}

/// Which candidate was chosen, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub owner: Arc<str>,
    pub by: String,
    /// The count, where there was one.
    pub count: Option<Count>,
}

/// What is to be run on whose code.
pub struct Trial {
    pub owner: Arc<str>,
    pub code: String,
    pub tests: String,
    pub style: Option<Style>,
}

impl Ledger {
    pub fn new(debate: &Debate, setup: &Setup) -> Self {
        let makers: Vec<Arc<str>> = setup
            .roles
            .makers
            .iter()
            .map(|agent| agent.name.clone())
            .collect();
        Self {
            labels: labels(debate.started().seed, &makers),
            ..Self::default()
        }
    }

    pub fn of(&self, owner: &str) -> Option<&Candidate> {
        self.candidates
            .iter()
            .find(|candidate| &*candidate.owner == owner)
    }

    pub fn of_mut(&mut self, owner: &str) -> Option<&mut Candidate> {
        self.candidates
            .iter_mut()
            .find(|candidate| &*candidate.owner == owner)
    }

    /// The candidate of a neutral name, to change.
    pub fn labelled(&mut self, label: &str) -> Option<&mut Candidate> {
        self.candidates
            .iter_mut()
            .find(|candidate| candidate.label == label)
    }

    /// Somebody's candidate; a new one if there is none.
    pub fn entered(&mut self, owner: &Arc<str>) -> &mut Candidate {
        if self.of(owner).is_none() {
            let label = self
                .labels
                .iter()
                .find(|(known, _)| known == owner)
                .map(|(_, label)| label.clone())
                .unwrap_or_default();
            self.candidates.push(Candidate::new(owner, label));
            self.candidates.sort_by_key(|candidate| {
                candidate
                    .label
                    .trim_start_matches('C')
                    .parse::<u32>()
                    .unwrap_or(u32::MAX)
            });
        }
        self.of_mut(owner).expect("it was entered above")
    }

    /// Records somebody's code as it stands, under the step it came with.
    pub async fn record(
        &mut self,
        debate: &Debate,
        step: &Step,
        setup: &Setup,
        owner: &str,
        quality: Option<f64>,
    ) -> Result<(), Stop> {
        let version = self.versions + 1;
        let Some(code) = self.of(owner).map(|candidate| candidate.code.clone()) else {
            return Ok(());
        };
        let linting = Step {
            name: format!("lint {version}"),
            ..step.clone()
        };
        let lints = self.lint(debate, setup, &linting, owner, code).await?;
        let Some(candidate) = self.of_mut(owner) else {
            return Ok(());
        };
        candidate.lints = lints;
        let recorded = candidate.recorded(version, &setup.input.language, quality);
        let place = step.place(Some(&candidate.owner));
        self.versions = version;
        debate
            .note(place, Event::CodeRecorded(Arc::new(recorded)))
            .await
    }

    /// What a linter finds in a code; `None` when there is none, or it could not be had. Nothing
    /// else depends on it.
    async fn lint(
        &mut self,
        debate: &Debate,
        setup: &Setup,
        step: &Step,
        owner: &str,
        code: String,
    ) -> Result<Option<u32>, Stop> {
        let hash = Hash::of(code.as_bytes()).0;
        let linter = Linter::of(&setup.input.language, &setup.config).filter(|_| !self.unlinted);
        let Some(linter) = linter else {
            return Ok(None);
        };
        if let Some(known) = self.linted.get(&hash) {
            return Ok(*known);
        }
        let job = setup.job(
            code,
            Work::Command(Command {
                argv: linter.argv.clone(),
                files: Vec::new(),
            }),
        );
        let completed = debate.run(step, owner, &job).await?;
        // A machine without it will not have it for the next version either.
        self.unlinted = completed.result().is_err();
        let found = completed.result().ok().and_then(|ran| linter.count(ran));
        self.linted.insert(hash, found);
        Ok(found)
    }

    /// Runs tests at one step, each owner's at the same time; in the order in which they were
    /// given. Blank tests are none, and nothing runs.
    pub async fn run(
        &mut self,
        debate: &Debate,
        setup: &Setup,
        step: &Step,
        trials: Vec<Trial>,
    ) -> Result<Vec<Evidence>, Stop> {
        let run = async |trial: Trial| {
            if trial.tests.trim().is_empty() {
                return Ok(Evidence::NoTests);
            }
            let job = setup.job(
                trial.code,
                Work::Tests(Tests {
                    text: trial.tests,
                    style: trial.style,
                }),
            );
            Ok(Evidence::of(&*debate.run(step, &trial.owner, &job).await?))
        };
        let results = join_all(trials.into_iter().map(run)).await;
        let evidence: Vec<Evidence> = results.into_iter().collect::<Result<_, Stop>>()?;
        for found in &evidence {
            if let Evidence::NotRun(why) = found {
                self.refused.get_or_insert_with(|| why.clone());
            }
        }
        Ok(evidence)
    }

    pub fn close(&mut self, phase: Phase, expected: String, happened: Happened) {
        let Happened { words, as_expected } = happened;
        self.phases.push(PhaseHeld {
            phase: phase.name().to_owned(),
            held: true,
            expected,
            happened: words,
            as_expected,
        });
    }

    /// Notes that a phase was not held.
    pub fn skip(&mut self, phase: Phase, why: &str) {
        let (phase, expected) = (phase.name().to_owned(), why.to_owned());
        self.phases.push(PhaseHeld {
            phase,
            held: false,
            expected,
            happened: "skipped".to_owned(),
            as_expected: true,
        });
    }
}

impl Setup {
    /// What the tools of whoever writes or criticises work with.
    pub fn toolbox(&self) -> Toolbox {
        let Input {
            language,
            tests,
            style,
            context,
            ..
        } = &self.input;
        let given = !tests.trim().is_empty();
        Toolbox {
            language: language.clone(),
            tests: given.then(|| Tests {
                text: tests.clone(),
                style: *style,
            }),
            commands: self.config.tools.named(),
            files: if context.trim().is_empty() {
                Vec::new()
            } else {
                vec![("context".to_owned(), context.clone())]
            },
            seconds: self.config.seconds_per_run,
            calls: self.config.tool_calls,
        }
    }

    /// Something to run, within the settings.
    pub fn job(&self, code: String, work: Work) -> Job {
        Job {
            language: self.input.language.clone(),
            code,
            work,
            seconds: self.config.seconds_per_run,
        }
    }
}

/// So many of something, in words.
pub fn many(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word}")
    } else {
        format!("{count} {word}s")
    }
}

/// A step of a phase, with a name of its own. Steps at which several speak need a round of their
/// own in their phase: what is derived is recorded by phase and round.
pub fn step(name: impl Into<String>, phase: Phase, round: u32) -> Step {
    Step {
        name: name.into(),
        phase: phase.name().into(),
        round,
        is_closing: false,
    }
}
