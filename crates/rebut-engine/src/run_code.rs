//! The verb `run`: untrusted code runs once, in the sandbox, and what came of it is on record
//! before anything builds on it.

use crate::{
    debate::{Debate, Step},
    error::Stop,
    event::Event,
    journal::{Commit, Entry},
    outcome::{Limit, LimitMet},
    record::Hash,
    sandbox::{Job, Ran, Refused, Work},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::time::Instant;

/// Code is about to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// The run's name, unique in the debate, e.g. `self-test 1/ada`.
    pub run: Arc<str>,
    /// The language of the code.
    pub language: String,
    /// What is done with it: `program`, `tests` or `command`.
    pub work: String,
    /// The hash of the whole job.
    pub job: Hash,
}

/// Code ran, or was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCompleted {
    /// The run's name.
    pub run: Arc<str>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<Ran>,
    /// Why nothing ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

impl RunCompleted {
    /// What came of it, or why nothing ran.
    pub fn result(&self) -> Result<&Ran, Refused> {
        match (&self.ran, &self.refused) {
            (Some(ran), _) => Ok(ran),
            (None, Some(refused)) => Err(refused.clone()),
            (None, None) => Err(Refused {
                reason: "the record does not say what came of it".to_owned(),
                fix: "run it again".to_owned(),
            }),
        }
    }
}

impl Debate {
    /// Runs a job in the sandbox under a name of its own: `step/name`. What is on record is
    /// returned. A refusal is an answer, not an end: the format goes on without that evidence, and
    /// says so.
    pub async fn run(&self, step: &Step, name: &str, job: &Job) -> Result<Arc<RunCompleted>, Stop> {
        let run: Arc<str> = step.turn(name);
        self.enter_run(&run)?;
        let agent: Arc<str> = name.into();
        let place = || step.place(Some(&agent));
        let hash = hash_of(job);
        if let Some((asked, completed)) = self.journal.memory().take_run(&run) {
            if asked != hash {
                return Err(Stop::Broken(format!(
                    "run `{run}` was recorded with another job; this run of the debate went \
                     another way"
                )));
            }
            if let Some(completed) = completed {
                return Ok(completed);
            }
        } else {
            let work = match job.work {
                Work::Program { .. } => "program",
                Work::Tests(_) => "tests",
                Work::Command(_) => "command",
            };
            self.check_steering()?;
            let started = RunStarted {
                run: run.clone(),
                language: job.language.clone(),
                work: work.to_owned(),
                job: hash,
            };
            let entry = Entry::new(place(), Event::RunStarted(Box::new(started)));
            self.journal
                .append(vec![entry], self.journal.commit_before_call().await)
                .await?;
        }
        let completed = Arc::new(self.scrubbed(run.clone(), self.run_now(&run, job).await?));
        self.journal
            .append(
                vec![Entry::new(place(), Event::RunCompleted(completed.clone()))],
                Commit::default(),
            )
            .await?;
        Ok(completed)
    }

    /// The run itself: of the record in a replay, else in the sandbox, until it ends, the debate's
    /// time is over or a person ends it.
    async fn run_now(&self, run: &str, job: &Job) -> Result<Result<Ran, Refused>, Stop> {
        if let Some(recording) = &self.recording {
            let recorded = recording.run(run).ok_or_else(|| {
                Stop::Broken(format!(
                    "run `{run}` was never recorded; a replay runs nothing"
                ))
            })?;
            return Ok(recorded.result().cloned());
        }
        self.check_cancelled()?;
        let left = self
            .ends_at
            .map(|ends_at| ends_at.saturating_duration_since(Instant::now()));
        tokio::select! {
            biased;
            result = self.sandbox.run(job) => Ok(result),
            () = self.until_cancelled() => Err(self.cancelled()),
            () = self.clock.sleep(left.unwrap_or_default()), if left.is_some() => {
                Err(Stop::Stopped(LimitMet { limit: Limit::Time, why: "the debate's time is \
                    over".to_owned() }))
            }
        }
    }

    /// Code can print what it was given: no secret reaches the record by it.
    fn scrubbed(&self, run: Arc<str>, result: Result<Ran, Refused>) -> RunCompleted {
        let scrub = |text: String| self.scrubber.scrub(text);
        match result {
            Err(refused) => RunCompleted {
                run,
                ran: None,
                refused: Some(refused),
            },
            Ok(mut ran) => {
                for test in &mut ran.tests {
                    test.output = scrub(std::mem::take(&mut test.output));
                    test.name = scrub(std::mem::take(&mut test.name));
                }
                let (stdout, stderr) = (scrub(ran.stdout), scrub(ran.stderr));
                RunCompleted {
                    run,
                    ran: Some(Ran {
                        stdout,
                        stderr,
                        ..ran
                    }),
                    refused: None,
                }
            }
        }
    }
}

fn hash_of(job: &Job) -> Hash {
    // A job is made of strings and numbers only.
    Hash::of(&serde_json::to_vec(job).expect("a job is always JSON"))
}
