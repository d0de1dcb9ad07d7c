//! Re-deciding for free: the same votes by another method, at another threshold, without somebody.

use super::{Vote, Votes};
use crate::{
    formats::consensus::Bar,
    view::View,
    voting::{
        Count, Ended, MOST_WORK, Method, Problem, Profile, Rules, Threshold, TieBreak, Weight,
        method,
    },
};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Clone, Debug, Default)]
pub struct Retally {
    /// Count by this method instead of the debate's own rule.
    pub method: Option<&'static Method>,
    /// The share a winner needs; 0 is none.
    pub threshold: Option<f64>,
    /// Whose votes are left out, as if they had never been on the panel.
    pub without: Vec<String>,
    /// Count the votes of this round instead of the last.
    pub round: Option<u32>,
    /// Whether weights count in every method.
    pub weigh: bool,
    /// How ties are broken; not at all by default.
    pub tie_break: TieBreak,
}

/// The count done again.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Retallied {
    /// Who had won.
    pub before: Option<String>,
    /// Who wins now.
    pub winner: Option<String>,
    /// Whether that is another end than before.
    pub flips: bool,
    /// The method that counted; `rule` is the debate's own.
    pub method: String,
    /// The share that was needed, if one was.
    pub threshold: Option<f64>,
    /// Whose votes were left out.
    pub without: Vec<String>,
    /// Who was missing and counted for nobody.
    pub missing: Vec<String>,
    /// The count with its working.
    pub count: Count,
    /// The result in one sentence.
    pub summary: String,
}

/// Counts again. Says in words what cannot be done.
pub fn retally(view: &View, asked: &Retally) -> Result<Retallied, String> {
    let all = Votes::of(view, asked.round).ok_or_else(|| match asked.round {
        Some(round) => format!("nothing was counted in round {round}"),
        None => "nothing was counted in this debate, so there is nothing to count again".to_owned(),
    })?;
    let before = Votes::of(view, None).and_then(|votes| votes.winner().map(str::to_owned));
    check_names(&all, &asked.without)?;
    let mut votes = all.without(|vote| {
        asked
            .without
            .iter()
            .any(|name| *name == vote.voter || *name == vote.agent)
    });
    if let Some(share) = asked.threshold {
        votes.bar = Bar::new(share)?;
    }
    let count = counted(&votes, asked)?;
    let winner = count.winner.clone();
    Ok(Retallied {
        summary: summary(before.as_deref(), &count),
        flips: winner != before,
        threshold: needed(&votes, asked).map(|threshold| threshold.value),
        without: asked.without.clone(),
        missing: votes.missing().map(|vote| vote.voter.clone()).collect(),
        before,
        winner,
        method: asked.method.map_or("rule", |method| method.name).to_owned(),
        count,
    })
}

fn check_names(votes: &Votes, without: &[String]) -> Result<(), String> {
    let known = |name: &String| {
        votes
            .votes
            .iter()
            .any(|vote| vote.voter == *name || vote.agent == *name)
    };
    let Some(stranger) = without.iter().find(|name| !known(name)) else {
        return Ok(());
    };
    let names: Vec<&str> = votes.votes.iter().map(|vote| vote.voter.as_str()).collect();
    Err(format!(
        "`{stranger}` did not vote in this count; those who did: {}",
        names.join(", ")
    ))
}

/// The share a winner needs: the debate's own for its own rule; another method has its own rule,
/// unless a share is asked for.
fn needed(votes: &Votes, asked: &Retally) -> Option<Threshold> {
    match votes.bar {
        Bar::Share(threshold) if asked.method.is_none() || asked.threshold.is_some() => {
            Some(threshold)
        }
        _ => None,
    }
}

/// The count with its winner, which the share that is needed may have cost the win.
fn counted(votes: &Votes, asked: &Retally) -> Result<Count, String> {
    // By the debate's own rule, votes count what they counted in it.
    let own = asked.method.is_none() && votes.votes.iter().any(|vote| vote.weight != Weight::ONE);
    let rules = Rules {
        weigh: asked.weigh || own,
        tie_break: asked.tie_break.clone(),
        ..Rules::default()
    };
    let method = asked
        .method
        .unwrap_or_else(|| method("plurality").expect("the table has it"));
    let mut count = counted_by(method, votes, &rules)?;
    if let (Some(threshold), Some(winner)) = (needed(votes, asked), &count.winner)
        && !threshold.reached(
            votes.sums().get(winner.as_str()).copied().unwrap_or(0),
            votes.total(),
        )
    {
        take_win(
            &mut count,
            votes,
            &format!("less than {} of all first choices", threshold.value),
        );
    }
    Ok(count)
}

/// Counts by a method. To it, whoever is missing has abstained; where a method asks for a part of
/// everybody, that would make winners of absences, so there they are counted in.
pub(super) fn counted_by(method: &Method, votes: &Votes, rules: &Rules) -> Result<Count, String> {
    let problems = |problems: Vec<Problem>| {
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    method
        .work(votes.candidates.len(), votes.votes.len(), rules)
        .within(MOST_WORK)?;
    let profile = Profile::new(votes.candidates.clone(), votes.ballots()).map_err(problems)?;
    let mut count = method.count(&profile, rules);
    let Some(winner) = count
        .winner
        .clone()
        .filter(|_| votes.missing().next().is_some())
    else {
        return Ok(count);
    };
    let weigh = |vote: &Vote| if rules.weigh { vote.weight.units() } else { 1 };
    let all: u128 = votes.votes.iter().map(weigh).sum();
    let won: u128 = votes
        .votes
        .iter()
        .filter(|vote| vote.choice.as_ref() == Some(&winner))
        .map(weigh)
        .sum();
    match method.name {
        "unanimous" => take_win(&mut count, votes, "not everybody behind it"),
        "majority" if 2 * won <= all => {
            take_win(&mut count, votes, "not more than half of everybody")
        }
        _ => {}
    }
    Ok(count)
}

fn take_win(count: &mut Count, votes: &Votes, why: &str) {
    let Some(winner) = count.winner.take() else {
        return;
    };
    count
        .working
        .retain(|line| *line != format!("{winner} wins."));
    let missing = votes
        .missing()
        .map(|vote| vote.voter.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    let also = if missing.is_empty() {
        String::new()
    } else {
        format!(" ({missing} missing, which counts for nobody)")
    };
    count
        .working
        .push(format!("{winner} leads, but has {why}{also}: nobody wins."));
    (count.ending, count.tie_break) = (Ended::None, None);
    count.winners.clear();
}

fn summary(before: Option<&str>, count: &Count) -> String {
    match (before, count.winner.as_deref()) {
        (Some(before), Some(now)) if before == now => {
            format!("{now} stays the winner{}", broken(count))
        }
        (Some(before), Some(now)) => format!(
            "the outcome flips: {now} wins instead of {before}{}",
            broken(count)
        ),
        (None, Some(now)) => format!(
            "the outcome flips: {now} wins, and nobody had won{}",
            broken(count)
        ),
        (Some(before), None) => format!(
            "the outcome flips: nobody wins any more, and {before} had won{}",
            why(count)
        ),
        (None, None) => format!("nobody wins, as before{}", why(count)),
    }
}

/// The rule that broke a tie, if one did: without it there would be no winner.
fn broken(count: &Count) -> String {
    let rule = count
        .tie_break
        .as_ref()
        .map(|rule| format!(", by tie-break `{rule}` among {}", count.winners.join(", ")));
    rule.unwrap_or_default()
}

fn why(count: &Count) -> String {
    match count.ending {
        Ended::Tie => format!(" (tied: {})", count.winners.join(", ")),
        Ended::NoQuorum => " (no ballot is left)".to_owned(),
        Ended::None | Ended::Decided => String::new(),
    }
}
