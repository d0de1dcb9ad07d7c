//! Measuring debates: votes of the first, last and all rounds, stopping between rounds, and asking
//! one after the other.

use super::{RecordedAnswer, RecordedDebate, Row, Table};
use crate::{
    learning::chance::{mcnemar, paired, wilson},
    stopping::{same_winner, stable, unassailable},
};
use std::collections::{BTreeMap, BTreeSet};

/// What one way of deciding makes of one debate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Decided {
    /// 1 if the right answer won, 1/k if it tied with others, else 0.
    right: f64,
    calls: u64,
    tokens: u64,
}

type Arm = fn(&RecordedDebate) -> Decided;

/// Every way of deciding that is measured. The second is what the others are compared with.
const ARMS: &[(&str, Arm)] = &[
    ("one agent (mean)", one_agent),
    (FIRST, |debate| after(debate, 1)),
    ("last round's vote", |debate| {
        after(debate, debate.rounds.len())
    }),
    ("all rounds pooled", pooled),
    ("stop when unanimous", |debate| stop(debate, |_| false)),
    ("stop when unanimous or nobody moves", |debate| {
        stop(debate, |rounds| settled(rounds, nobody_moves))
    }),
    ("stop when unanimous or same winner twice", |debate| {
        stop(debate, |rounds| settled(rounds, won_again))
    }),
    ("first round in turn, until none can catch up", |debate| {
        in_turn(debate, |votes, left| {
            unassailable(votes, &vec![1; left]).is_some()
        })
    }),
    (
        "first round in turn, first to half (2 at least)",
        first_to_half,
    ),
];

const FIRST: &str = "first round's vote";

pub fn measure_debates(title: &str, debates: &[RecordedDebate]) -> Table {
    let first: Vec<Decided> = debates.iter().map(|debate| after(debate, 1)).collect();
    let recorded: u64 = debates
        .iter()
        .map(|debate| {
            debate
                .rounds
                .iter()
                .flatten()
                .filter(|answer| answer.called)
                .count() as u64
        })
        .sum();
    let several = debates.iter().any(|debate| debate.rounds.len() > 1);
    // Without a second round, these are all the first round's vote.
    let later = ["last", "all rounds", "stop"];
    let arms = ARMS
        .iter()
        .filter(|(name, _)| several || !later.iter().any(|word| name.starts_with(word)));
    let rows = arms
        .map(|(name, arm)| {
            row(
                name,
                &debates.iter().map(arm).collect::<Vec<_>>(),
                &first,
                recorded,
            )
        })
        .collect();
    let agents: Vec<usize> = debates
        .iter()
        .map(|debate| debate.rounds.iter().map(Vec::len).max().unwrap_or(0))
        .collect();
    let (few, many) = (
        agents.iter().min().unwrap_or(&0),
        agents.iter().max().unwrap_or(&0),
    );
    let agents = if few == many {
        few.to_string()
    } else {
        format!("{few} to {many}")
    };
    let mut notes = vec![format!(
        "{} debates of {agents} agents; difference, lost and gained: to the {FIRST}",
        debates.len()
    )];
    let questions = debates
        .iter()
        .map(|debate| debate.question.as_str())
        .collect::<BTreeSet<_>>()
        .len();
    if questions < debates.len() {
        notes.push(format!(
            "they are about {questions} different questions: intervals count \
            debates, and are too narrow"
        ));
    }
    notes.extend(persuasion(debates));
    Table {
        title: title.to_owned(),
        notes,
        rows,
    }
}

fn row(name: &str, decided: &[Decided], first: &[Decided], recorded: u64) -> Row {
    let count = decided.len().max(1) as f64;
    let calls: u64 = decided.iter().map(|one| one.calls).sum();
    let tokens: u64 = decided.iter().map(|one| one.tokens).sum();
    let row = Row {
        arm: name.to_owned(),
        questions: decided.len(),
        accuracy: wilson(
            decided.iter().map(|one| one.right).sum(),
            decided.len() as f64,
        ),
        calls: Some(calls as f64 / count),
        calls_share: (recorded > 0).then(|| calls as f64 / recorded as f64),
        tokens: (tokens > 0).then(|| tokens as f64 / count),
        ..Row::default()
    };
    if name == FIRST {
        return row;
    }
    let differences: Vec<f64> = decided
        .iter()
        .zip(first)
        .map(|(one, first)| one.right - first.right)
        .collect();
    let difference = Some(paired(&differences));
    if name.starts_with("one agent") {
        return Row { difference, ..row };
    }
    // A tie is neither right nor wrong, so it is in neither number; the difference above has it in
    // parts.
    let changed = |from: f64, to: f64| {
        decided
            .iter()
            .zip(first)
            .filter(|(one, first)| first.right == from && one.right == to)
            .count() as u64
    };
    let (lost, gained) = (changed(1.0, 0.0), changed(0.0, 1.0));
    Row {
        difference,
        lost: Some(lost),
        gained: Some(gained),
        p: Some(mcnemar(gained, lost)),
        ..row
    }
}

/// Answers by how many gave them.
fn count<'a>(answers: impl IntoIterator<Item = &'a RecordedAnswer>) -> BTreeMap<&'a str, u64> {
    let mut votes = BTreeMap::new();
    for answer in answers
        .into_iter()
        .filter_map(|answer| answer.answer.as_deref())
    {
        *votes.entry(answer).or_default() += 1;
    }
    votes
}

/// Who leads, all of them where it is a tie.
fn leaders<'a>(votes: &BTreeMap<&'a str, u64>) -> Vec<&'a str> {
    let most = votes.values().max().copied().unwrap_or(0);
    votes
        .iter()
        .filter(|(_, votes)| **votes == most)
        .map(|(answer, _)| *answer)
        .collect()
}

/// The one answer that leads, if it is one.
fn winner(round: &[RecordedAnswer]) -> Option<&str> {
    let leaders = leaders(&count(round));
    leaders.first().copied().filter(|_| leaders.len() == 1)
}

fn decided<'a>(
    debate: &RecordedDebate,
    counted: impl IntoIterator<Item = &'a RecordedAnswer>,
    rounds: usize,
) -> Decided {
    let leaders = leaders(&count(counted));
    let right = if leaders.contains(&debate.gold.as_str()) {
        1.0 / leaders.len() as f64
    } else {
        0.0
    };
    let used = || {
        debate
            .rounds
            .iter()
            .take(rounds)
            .flatten()
            .filter(|answer| answer.called)
    };
    Decided {
        right,
        calls: used().count() as u64,
        tokens: used().map(|answer| answer.tokens).sum(),
    }
}

/// The vote of a round, from 1.
fn after(debate: &RecordedDebate, round: usize) -> Decided {
    decided(debate, &debate.rounds[round - 1], round)
}

fn pooled(debate: &RecordedDebate) -> Decided {
    decided(debate, debate.rounds.iter().flatten(), debate.rounds.len())
}

/// What an agent taken at random would have said alone. One that was not asked is not among them.
fn one_agent(debate: &RecordedDebate) -> Decided {
    let asked: Vec<&RecordedAnswer> = debate.rounds[0]
        .iter()
        .filter(|answer| answer.called)
        .collect();
    let right = asked
        .iter()
        .filter(|answer| answer.answer.as_ref() == Some(&debate.gold))
        .count();
    let tokens: u64 = asked.iter().map(|answer| answer.tokens).sum();
    let count = asked.len().max(1);
    Decided {
        right: right as f64 / count as f64,
        calls: 1,
        tokens: tokens / count as u64,
    }
}

/// The vote of the first round after which everybody agrees or `enough` says so, or of the last.
fn stop(debate: &RecordedDebate, enough: impl Fn(&[Vec<RecordedAnswer>]) -> bool) -> Decided {
    let ends =
        |round: &usize| unanimous(&debate.rounds[round - 1]) || enough(&debate.rounds[..*round]);
    after(
        debate,
        (1..debate.rounds.len())
            .find(ends)
            .unwrap_or(debate.rounds.len()),
    )
}

/// Whether everybody who was asked said the same. No answer is no agreement.
fn unanimous(round: &[RecordedAnswer]) -> bool {
    let mut asked = round
        .iter()
        .filter(|answer| answer.called)
        .map(|answer| answer.answer.as_deref());
    let first = asked.next().flatten();
    first.is_some() && asked.all(|answer| answer == first)
}

/// Whether the last two rounds are alike.
fn settled(
    rounds: &[Vec<RecordedAnswer>],
    alike: fn(&[RecordedAnswer], &[RecordedAnswer]) -> bool,
) -> bool {
    let [.., before, last] = rounds else {
        return false;
    };
    alike(before, last)
}

fn nobody_moves(before: &[RecordedAnswer], last: &[RecordedAnswer]) -> bool {
    let positions = |round: &[RecordedAnswer]| -> BTreeMap<usize, String> {
        round
            .iter()
            .enumerate()
            .filter_map(|(agent, answer)| Some((agent, answer.answer.clone()?)))
            .collect()
    };
    stable(&positions(before), &positions(last))
}

fn won_again(before: &[RecordedAnswer], last: &[RecordedAnswer]) -> bool {
    same_winner(winner(before), winner(last))
}

/// The first round asked one after the other, until `enough` says so of the votes and the number
/// still to come.
fn in_turn(debate: &RecordedDebate, enough: impl Fn(&[u64], usize) -> bool) -> Decided {
    let asked: Vec<&RecordedAnswer> = debate.rounds[0]
        .iter()
        .filter(|answer| answer.called)
        .collect();
    let votes = |used: usize| {
        count(asked[..used].iter().copied())
            .into_values()
            .collect::<Vec<u64>>()
    };
    let used = (1..asked.len())
        .find(|used| enough(&votes(*used), asked.len() - used))
        .unwrap_or(asked.len());
    let heard = &asked[..used];
    let tokens = heard.iter().map(|answer| answer.tokens).sum();
    Decided {
        calls: used as u64,
        tokens,
        ..decided(debate, heard.iter().copied(), 0)
    }
}

/// Whoever first has half of the agents' votes, two at least; the vote of all where nobody gets
/// there.
fn first_to_half(debate: &RecordedDebate) -> Decided {
    let enough = (debate.rounds[0].len() as u64 / 2).max(2);
    in_turn(debate, |votes, _| {
        votes.iter().any(|votes| *votes >= enough)
    })
}

/// How the others' majority moves an agent, when it is right and when it is wrong: only where the
/// first is the larger can debate pay.
fn persuasion(debates: &[RecordedDebate]) -> Option<String> {
    // Moved, and could have been: to what is right, and away from it.
    let (mut mended, mut spoiled) = ((0u64, 0u64), (0u64, 0u64));
    for debate in debates {
        let right = |answer: Option<&str>| answer == Some(debate.gold.as_str());
        for rounds in debate.rounds.windows(2) {
            for (agent, (before, now)) in rounds[0]
                .iter()
                .zip(&rounds[1])
                .enumerate()
                .filter(|(_, (_, now))| now.called)
            {
                let (Some(own), Some(now)) = (before.answer.as_deref(), now.answer.as_deref())
                else {
                    continue;
                };
                let others: Vec<RecordedAnswer> = rounds[0]
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != agent)
                    .map(|(_, answer)| answer.clone())
                    .collect();
                let Some(most) = winner(&others) else {
                    continue;
                };
                match (right(Some(own)), right(Some(most))) {
                    (false, true) => {
                        mended = (mended.0 + u64::from(right(Some(now))), mended.1 + 1)
                    }
                    (true, false) => {
                        spoiled = (spoiled.0 + u64::from(!right(Some(now))), spoiled.1 + 1)
                    }
                    _ => {}
                }
            }
        }
    }
    let share = |(moved, of): (u64, u64)| format!("{:.3} of {of}", moved as f64 / of as f64);
    (mended.1 > 0 && spoiled.1 > 0).then(|| {
        let (good, bad) = (share(mended), share(spoiled));
        format!(
            "persuasion: wrong to right when the others are right {good}, right to wrong when \
            they are wrong {bad}"
        )
    })
}
