//! The debate between reviewers who contradict each other: each pair argues, answers, and is judged
//! in both orders. What comes out is only logged: by now the merge is finished, and what is
//! returned here has no way back to it.

use super::{
    audit::{DebatedPair, FailedPair, JudgeFeedback, TIE},
    operations::Operation,
    pairs,
    prompts::{Setup, Spoken},
    replies::{Argument, Marks, Rebuttal, Verdict},
    result::{Debated, Reviewed},
    roles::{JUDGE, only},
};
use crate::{
    agent::Agent,
    clean::on_one_line,
    debate::{Debate, Step},
    error::Stop,
    event::Event,
    facts::{Conflict, Ruling},
    moves::{
        exchange::{Exchange, Steps, exchange},
        judge::{Judged, in_both_orders, judged_own_family},
    },
    outcome::{Absence, LimitMet},
};
use futures_util::future::join_all;
use std::{collections::BTreeMap, sync::Arc};

#[derive(Default)]
pub struct Debating {
    /// What is logged; nothing if nobody debated.
    pub debated: Option<Debated>,
    pub why_not: String,
    /// The limit that was met on the way.
    pub stopped: Option<LimitMet>,
}

/// Two reviewers and what they cannot agree on.
struct Pair<'a> {
    conflict: &'a Conflict,
    sides: [&'a Agent; 2],
    /// What they are called in the log.
    names: [String; 2],
}

/// How one pair ended: judged, or failed for a reason.
type Heard = Result<(DebatedPair, [JudgeFeedback; 2]), String>;

/// Runs the debate if it is wanted and there is something to debate. A pair that fails is listed;
/// the others go on.
pub async fn run(debate: &Debate, setup: &Setup, reviewed: &Reviewed) -> Result<Debating, Stop> {
    let settings = &setup.config.debate;
    let not = |why: String| {
        Ok(Debating {
            why_not: why,
            ..Debating::default()
        })
    };
    if !settings.enabled {
        return not("the debate is off".to_owned());
    }
    let found = reviewed.conflicts.len();
    if found < settings.min_conflicts_to_trigger {
        return not(format!(
            "{found} conflicts, {} needed",
            settings.min_conflicts_to_trigger
        ));
    }
    let chosen = pairs::select(&reviewed.conflicts, settings.max_pairs);
    let pairs: Vec<Pair<'_>> = chosen
        .into_iter()
        .filter_map(|conflict| Pair::of(conflict, debate.agents()))
        .collect();
    if pairs.is_empty() {
        return not("no two reviewers contradict each other directly".to_owned());
    }
    let heard = join_all(pairs.iter().map(|pair| hear(debate, setup, reviewed, pair))).await;
    let (mut debated, mut stopped) = (Debated::default(), None);
    for (pair, heard) in pairs.iter().zip(heard) {
        let why = match heard {
            Ok(Ok((judged, feedback))) => {
                debated.pairs.push(judged);
                debated.judge_feedback.extend(feedback);
                continue;
            }
            Ok(Err(why)) => why,
            Err(Stop::Stopped(stop)) => stopped.insert(stop).why.clone(),
            Err(halt) => return Err(halt),
        };
        debated.failed_pairs.push(pair.failed(why));
    }
    Ok(Debating {
        debated: Some(debated),
        why_not: String::new(),
        stopped,
    })
}

impl<'a> Pair<'a> {
    fn of(conflict: &'a Conflict, agents: &'a [Agent]) -> Option<Self> {
        let side = |name: &Arc<str>| agents.iter().find(|agent| agent.name == *name);
        let sides = [side(&conflict.agents[0])?, side(&conflict.agents[1])?];
        // Roles are what is learned about; two players of one role are told apart by their names.
        let by_role = sides[0].role != sides[1].role;
        let names = sides.map(|side| {
            if by_role {
                side.role.to_string()
            } else {
                side.name.to_string()
            }
        });
        Some(Self {
            conflict,
            sides,
            names,
        })
    }

    fn failed(&self, why: String) -> FailedPair {
        let [role_a, role_b] = self.names.clone();
        FailedPair {
            role_a,
            role_b,
            conflict: self.conflict.description.clone(),
            id: self.conflict.id.clone(),
            why,
        }
    }

    /// A step of this pair alone, so that pairs can run side by side.
    fn step(&self, phase: &str, round: u32) -> Step {
        Step::once(&format!("{phase} {}", self.conflict.id), round)
    }
}

/// One pair from its first argument to its verdict.
async fn hear(
    debate: &Debate,
    setup: &Setup,
    reviewed: &Reviewed,
    pair: &Pair<'_>,
) -> Result<Heard, Stop> {
    let proposed = pair
        .conflict
        .operations
        .each_ref()
        .map(|id| reviewed.operation(id));
    let [Some(first), Some(second)] = proposed else {
        return Err(Stop::Broken(format!(
            "{} is about nothing",
            pair.conflict.id
        )));
    };
    let operations = [first, second];
    let Some(judge) = only(debate.agents(), JUDGE) else {
        return Ok(Err("there is no judge on the panel".to_owned()));
    };
    let steps = Steps {
        argue: pair.step("argue", 3),
        answer: pair.step("rebut", 4),
    };
    let spoken = exchange(
        debate,
        &steps,
        pair.sides,
        |side, notes| {
            setup.argue(
                debate,
                pair.sides[side],
                pair.conflict,
                [operations[side], operations[1 - side]],
                notes,
            )
        },
        |side, notes, own: &Argument, other: &Argument| {
            let own = Spoken {
                operation: operations[side],
                argument: Some(own),
                rebuttal: None,
            };
            let other = Spoken {
                operation: operations[1 - side],
                argument: Some(other),
                rebuttal: None,
            };
            setup.rebut(
                debate,
                pair.sides[side],
                pair.conflict,
                [&own, &other],
                notes,
            )
        },
    )
    .await?;
    if !spoken.is_complete() {
        return Ok(Err(said_missing("", spoken.absent())));
    }
    let said = [0, 1].map(|side| spoken_by(&spoken, side, operations[side]));
    let step = pair.step("judge", 5);
    let judged = in_both_orders(debate, &step, judge, |order| {
        setup.judge(debate, judge, pair.conflict, [&said[0], &said[1]], order)
    })
    .await?;
    if !judged.is_complete() {
        return Ok(Err(said_missing(
            "no verdict in both orders: ",
            judged.absent(),
        )));
    }
    let (heard, ruling) = verdict(pair, &judged, judged_own_family(debate, &judged, &spoken));
    debate
        .note(step.place(None), Event::VerdictRecorded(Arc::new(ruling)))
        .await?;
    Ok(Ok(heard))
}

fn spoken_by<'a>(
    spoken: &'a Exchange<Argument, Rebuttal>,
    side: usize,
    operation: &'a Operation,
) -> Spoken<'a> {
    let side = &spoken.sides[side];
    let (argument, rebuttal) = (side.argued.as_ref(), side.answered.as_ref());
    Spoken {
        operation,
        argument: argument.map(|said| &said.reply),
        rebuttal: rebuttal.map(|said| &said.reply),
    }
}

fn said_missing<'a>(before: &str, absent: impl Iterator<Item = &'a Absence>) -> String {
    let missing: Vec<String> = absent
        .map(|absence| format!("{} {} at {}", absence.agent, absence.reason, absence.turn))
        .collect();
    format!("{before}{}", missing.join("; "))
}

/// What two complete verdicts say of a pair, for the log and for the journal.
fn verdict(
    pair: &Pair<'_>,
    judged: &Judged<Verdict>,
    own_family: bool,
) -> ((DebatedPair, [JudgeFeedback; 2]), Ruling) {
    let winner = judged.winner().map(|side| pair.names[side].clone());
    let feedback = [0, 1].map(|side| feedback(&pair.names[side], &marks_of(judged, side)));
    let scores: BTreeMap<String, f64> = feedback
        .iter()
        .map(|side| (side.role.clone(), side.argument_quality_score))
        .collect();
    let [role_a, role_b] = pair.names.clone();
    let conflict = pair.conflict.description.clone();
    let debated = DebatedPair {
        role_a,
        role_b,
        conflict: conflict.clone(),
        winner: winner.clone().unwrap_or_else(|| TIE.to_owned()),
        judge_scores: scores.clone(),
    };
    let said: Vec<&Verdict> = judged.said().map(|(_, said)| &said.reply).collect();
    let ruling = Ruling {
        about: format!("{} {conflict}", pair.conflict.id),
        sides: pair.names.clone(),
        winner,
        reasoning: said
            .first()
            .map(|verdict| on_one_line(&verdict.reasoning))
            .unwrap_or_default(),
        key_points: Vec::new(),
        confidence: mean(
            &said
                .iter()
                .map(|verdict| verdict.confidence)
                .collect::<Vec<_>>(),
        ),
        scores,
        flipped: judged.flipped(),
        own_family,
    };
    ((debated, feedback), ruling)
}

/// The marks of one side in both orders, the forward one first.
fn marks_of(judged: &Judged<Verdict>, side: usize) -> Vec<&Marks> {
    judged
        .said()
        .map(|(order, said)| {
            if order.at(side) == 0 {
                &said.reply.first
            } else {
                &said.reply.second
            }
        })
        .collect()
}

fn feedback(role: &str, marks: &[&Marks]) -> JudgeFeedback {
    let mut labels: Vec<String> = Vec::new();
    for label in marks.iter().flat_map(|marks| &marks.labels) {
        if !labels.iter().any(|known| known.eq_ignore_ascii_case(label)) {
            labels.push(label.clone());
        }
    }
    let signal = marks
        .iter()
        .map(|marks| &marks.policy_signal)
        .find(|signal| !signal.is_empty());
    JudgeFeedback {
        role: role.to_owned(),
        argument_quality_score: mean(&marks.iter().map(|marks| marks.score()).collect::<Vec<_>>()),
        argument_labels: labels,
        policy_signal: signal.cloned().unwrap_or_default(),
    }
}

/// The mean to two digits; more would pretend to know.
fn mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    (sum / values.len().max(1) as f64 * 100.0).round() / 100.0
}
