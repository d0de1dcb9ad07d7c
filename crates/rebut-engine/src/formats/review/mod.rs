//! Review: reviewers propose operations blind, contradictions are found, priority merges them, an
//! editor applies what stands. Reviewers who contradict each other may debate it before a judge:
//! that is logged, and never changes what was merged.

pub mod audit;
mod config;
pub mod conflicts;
mod debating;
mod input;
pub mod locate;
pub mod merge;
pub mod operations;
pub mod pairs;
mod prompts;
pub mod render;
pub mod replies;
pub mod result;
mod roles;

pub use audit::{AuditEntry, DebateLog, audit_entry, exact_log};
pub use config::{Config, DebateConfig};
pub use input::{Input, TextKind};
pub use operations::{Operation, OperationKind, Severity};
pub use prompts::Setup;
pub use result::ReviewResult;
pub use roles::{EDITOR, JUDGE, is_reviewer};

use crate::{
    agent::Agent,
    debate::{Debate, Step},
    error::Stop,
    event::Event,
    facts::{ConflictsFound, MergeRecorded},
    formats::{Foreseen, Format, Reading, offer::Offer, rules::Rules},
    outcome::{Ending, LimitMet, Outcome},
    prompt::PromptFile,
    reply::Schema,
};
use debating::Debating;
use replies::{Argument, Critique, NotApplied, Rebuttal, Revision, Verdict};
use result::{EditState, Editing, Reviewed};
use roles::only;
use serde_json::Value;
use std::sync::Arc;

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<prompts::Review>(),
        PromptFile::of::<prompts::Edit>(),
        PromptFile::of::<prompts::Argue>(),
        PromptFile::of::<prompts::Rebut>(),
        PromptFile::of::<prompts::Judge>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || {
        vec![
            Schema::of::<Critique>(),
            Schema::of::<Revision>(),
            Schema::of::<Argument>(),
            Schema::of::<Rebuttal>(),
            Schema::of::<Verdict>(),
        ]
    },
    // What matters most, the merge, takes no call: keeping room for the editor would only cost a
    // reviewer.
    reading: Some(Reading {
        has_findings: true,
        ..Reading::of(render::heading, render::lines, render::transcript)
    }),
    casting: roles::CASTING,
    offer: Some(Offer::of::<Input, Config>()),
    ..Format::by::<Review>(
        "review",
        "Reviewers propose operations on a text; contradictions are merged by priority, and an \
        editor applies what stands.",
        include_str!("../../../presets/review.toml"),
    )
};

/// The rules in the table's terms.
pub struct Review;

impl Rules for Review {
    type Input = Input;
    type Config = Config;

    const TURN_SECONDS: &'static str = "timeout_per_agent";

    fn config(config: &Value) -> Result<Config, String> {
        Config::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Config), String> {
        Ok((Input::parse(input)?, Config::parse(config)?))
    }

    fn check(input: Self::Input, config: &Config, agents: &[Agent]) -> Result<String, String> {
        let reviewers = agents.iter().filter(|agent| is_reviewer(agent)).count();
        if reviewers == 0 {
            return Err("review needs at least one reviewer besides editor and judge".to_owned());
        }
        for role in [EDITOR, JUDGE] {
            if agents.iter().filter(|agent| &*agent.role == role).count() > 1 {
                return Err(format!("a review has one {role}, not several"));
            }
        }
        if config.min_reviewers > reviewers {
            return Err(format!(
                "min_reviewers is {}, but there are only {reviewers} reviewers",
                config.min_reviewers
            ));
        }
        if config.debate.enabled && only(agents, JUDGE).is_none() {
            return Err(
                "the debate needs a judge: add an agent with the role `judge`, or leave \
                debate.enabled false"
                    .to_owned(),
            );
        }
        Ok(input.title)
    }

    async fn run(debate: &Debate, input: Self::Input, config: Config) -> Result<Outcome, Stop> {
        run(debate, input, config).await
    }

    fn foresee(
        input: Self::Input,
        config: &Config,
        agents: &[Agent],
    ) -> Result<Vec<Foreseen>, String> {
        let place = |role: &str| agents.iter().position(|agent| &*agent.role == role);
        let reviewers: Vec<usize> = (0..agents.len())
            .filter(|at| is_reviewer(&agents[*at]))
            .collect();
        let mut calls: Vec<Foreseen> = reviewers
            .iter()
            .map(|agent| Foreseen {
                agent: *agent,
                hears: 0,
                is_sure: true,
            })
            .collect();
        if let Some(agent) = place(EDITOR).filter(|_| config.edit && input.kind == TextKind::Text) {
            calls.push(Foreseen {
                agent,
                hears: reviewers.len(),
                is_sure: false,
            });
        }
        let (Some(judge), true, [first, second, ..]) =
            (place(JUDGE), config.debate.enabled, &*reviewers)
        else {
            return Ok(calls);
        };
        // Who will contradict whom nobody knows; any two stand for them.
        for _ in 0..config.debate.max_pairs {
            let spoken = [
                (*first, 2),
                (*second, 2),
                (*first, 4),
                (*second, 4),
                (judge, 6),
                (judge, 6),
            ];
            calls.extend(spoken.map(|(agent, hears)| Foreseen {
                agent,
                hears,
                is_sure: false,
            }));
        }
        Ok(calls)
    }

    fn suffices(config: &Config, agents: &[Agent], can_answer: &[bool]) -> bool {
        let reviewers: Vec<bool> = agents
            .iter()
            .zip(can_answer)
            .filter(|(agent, _)| is_reviewer(agent))
            .map(|(_, can)| *can)
            .collect();
        let needed = config.quorum(reviewers.len());
        reviewers.iter().filter(|can| **can).count() >= needed
    }
}

pub async fn run(debate: &Debate, input: Input, config: Config) -> Result<Outcome, Stop> {
    let setup = Setup { input, config };
    let reviewers: Vec<&Agent> = debate
        .agents()
        .iter()
        .filter(|agent| is_reviewer(agent))
        .collect();
    let step = Step::once("review", 1);
    let reviews = debate
        .round(&step, reviewers.iter().copied(), |reviewer, notes| {
            setup.critique(debate, reviewer, notes)
        })
        .await?;
    let reviews = reviews.quorum(setup.quorum(reviewers.len()))?;
    // From here on what stands is fixed: the editor reads it, the debate cannot reach it.
    let reviewed = Reviewed::of(&setup, debate.agents(), &reviews);
    record(debate, &reviewed, &step).await?;
    let (edited, stopped) = edit(debate, &setup, &reviewed).await?;
    let debating = match stopped {
        Some(stop) => Debating {
            why_not: stop.why.clone(),
            stopped: Some(stop),
            ..Debating::default()
        },
        None => debating::run(debate, &setup, &reviewed).await?,
    };
    outcome(debate, setup, reviewed, edited, debating)
}

/// Records what cannot be followed together, and what stands.
async fn record(debate: &Debate, reviewed: &Reviewed, step: &Step) -> Result<(), Stop> {
    let found = ConflictsFound {
        conflicts: reviewed.conflicts.clone(),
    };
    debate
        .note(step.place(None), Event::ConflictsFound(Arc::new(found)))
        .await?;
    let merge = MergeRecorded {
        merged: reviewed
            .merge
            .merged
            .iter()
            .map(|merged| merged.operation.id.clone())
            .collect(),
        dropped: reviewed
            .merge
            .dropped
            .iter()
            .map(|dropped| dropped.operation.clone())
            .collect(),
    };
    debate
        .note(step.place(None), Event::MergeRecorded(Arc::new(merge)))
        .await
}

/// The revised text and what the editor did.
type Edited = (Option<String>, Editing);

/// Lets the editor apply what stands. Whatever happens to it, what stands stays.
async fn edit(
    debate: &Debate,
    setup: &Setup,
    reviewed: &Reviewed,
) -> Result<(Edited, Option<LimitMet>), Stop> {
    let merged = &reviewed.merge.merged;
    let none = |state, detail: &str| Ok(((None, Editing::none(state, detail)), None));
    if setup.input.kind == TextKind::Diff {
        return none(
            EditState::Diff,
            "a diff is not edited; the merged operations are the review",
        );
    }
    if !setup.config.edit {
        return none(EditState::Off, "editing is off");
    }
    if merged.is_empty() {
        return none(EditState::NothingToApply, "no operation stands");
    }
    let Some(editor) = only(debate.agents(), EDITOR) else {
        return none(EditState::NoEditor, "there is no editor on the panel");
    };
    match debate
        .turn(
            &Step::once("edit", 2),
            editor,
            setup.edit(debate, editor, merged),
        )
        .await
    {
        Ok(Ok(said)) => Ok((applied(said.reply, reviewed), None)),
        Ok(Err(absence)) => {
            let detail = format!(
                "the editor {}: {}",
                absence.reason,
                crate::clean::on_one_line(&absence.detail)
            );
            none(EditState::Missing, &detail)
        }
        Err(Stop::Stopped(stop)) => Ok((
            (None, Editing::none(EditState::Stopped, stop.why.clone())),
            Some(stop),
        )),
        Err(halt) => Err(halt),
    }
}

/// What an editor's reply means: it knows the operations as `O1`, `O2`, …
fn applied(revision: Revision, reviewed: &Reviewed) -> Edited {
    let named = |label: &str| {
        let number: Option<usize> = label
            .strip_prefix('O')
            .and_then(|number| number.parse().ok());
        let merged = number.and_then(|number| reviewed.merge.merged.get(number.checked_sub(1)?));
        merged.map_or_else(|| label.to_owned(), |merged| merged.operation.id.clone())
    };
    let editing = Editing {
        state: EditState::Done,
        applied: revision.applied.iter().map(|label| named(label)).collect(),
        not_applied: revision
            .not_applied
            .into_iter()
            .map(|left| NotApplied {
                operation: named(&left.operation),
                reason: left.reason,
            })
            .collect(),
        detail: String::new(),
    };
    (Some(revision.revised), editing)
}

/// The outcome; a limit that was met leaves what stands.
fn outcome(
    debate: &Debate,
    setup: Setup,
    reviewed: Reviewed,
    (edited, editing): Edited,
    debating: Debating,
) -> Result<Outcome, Stop> {
    let result = ReviewResult {
        title: setup.input.title,
        kind: setup.input.kind,
        base: setup.input.base,
        reviewers: reviewed.reviewers,
        operations: reviewed.operations,
        conflicts: reviewed.conflicts,
        order: reviewed.order,
        merged: reviewed.merge.merged,
        dropped: reviewed.merge.dropped,
        edited,
        editing,
        debate: debating.debated,
        no_debate: debating.why_not,
    };
    Outcome::with_result(
        Ending::Completed,
        &result.summary(),
        &result,
        debating.stopped,
        debate.absences(),
    )
}
