//! How an evaluation is read: a table of scores for the terminal, and everything that was said as
//! Markdown.

use super::{
    card,
    config::Config,
    evidence::Quoted,
    input::Input,
    result::{self, EvaluateResult, TopicRound, TopicVerdict},
    roles::SIDES,
    state::Totals,
};
use crate::{
    clean::{for_markdown, on_one_line, shortened},
    event::{Started, Verdict},
    formats::Reading,
    outcome::Ending,
    report::{shown, signed, write_panel},
    view::{TurnState, View},
};
use serde::Deserialize;
use std::fmt::Write;

pub const READING: Reading = Reading {
    card: card::of,
    held_back: result::held_back,
    ..Reading::of(heading, lines, transcript)
};

/// The result in one sentence; `topics` is how many there are.
pub fn summary(result: &EvaluateResult, topics: usize) -> String {
    let judged = result
        .rounds
        .iter()
        .filter(|round| !round.arbiter_verdict.skipped)
        .count();
    let skipped = result
        .rounds
        .iter()
        .filter(|round| round.arbiter_verdict.skipped);
    let skipped: Vec<String> = skipped
        .map(|round| {
            format!(
                "{} {}",
                on_one_line(&round.topic),
                on_one_line(&round.arbiter_verdict.reasoning)
            )
        })
        .collect();
    let skipped = if skipped.is_empty() {
        String::new()
    } else {
        format!("; {}", skipped.join("; "))
    };
    let total = match result.totals {
        None => "there are no scores to change".to_owned(),
        Some(Totals { pre, .. }) if judged == 0 => {
            format!("no topic was judged, the total stays {}", shown(pre))
        }
        Some(Totals { pre, post, delta }) => {
            format!("total {} → {} ({})", shown(pre), shown(post), signed(delta))
        }
    };
    format!("{total}, {judged} of {topics} topics judged{skipped}")
}

fn heading(started: &Started) -> String {
    let Ok(config) = Config::parse(&started.config) else {
        return String::new();
    };
    let topics = Input::parse(&started.input, &config)
        .map_or(config.topics.len(), |(_, topics)| topics.len());
    let word = if topics == 1 { "topic" } else { "topics" };
    format!(
        "{topics} {word} · ±{} a verdict, ±{} in all",
        config.max_score_change, config.max_total_change
    )
}

/// The result, where there is one.
fn result_of(view: &View) -> Option<EvaluateResult> {
    EvaluateResult::deserialize(&view.outcome.as_ref()?.result).ok()
}

fn lines(view: &View) -> Vec<String> {
    let Some(result) = result_of(view) else {
        return lines_so_far(view);
    };
    let width = result
        .rounds
        .iter()
        .map(|round| name_of(round).chars().count())
        .max()
        .unwrap_or(0)
        .max("TOTAL".len());
    let row = |name: &str, [pre, advocate, challenger, arbiter, post, delta]: [&str; 6]| {
        let line = format!(
            "{name:<width$}  {pre:>5}  {advocate:<9} {challenger:<11} {arbiter:<15} {post:>5}  \
             {delta:>5}"
        );
        line.trim_end().to_owned()
    };
    let mut lines = vec![row("", ["pre", SIDES[0], SIDES[1], "arbiter", "post", "Δ"])];
    for round in &result.rounds {
        let number = |score: Option<f64>| score.map_or_else(|| "–".to_owned(), shown);
        let delta = round.score_before.zip(round.score_after).map_or_else(
            || "–".to_owned(),
            |(before, after)| signed(hundredths(after - before)),
        );
        let said = [0, 1].map(|side| count(round.side(side).0.len()));
        let (pre, post) = (number(round.score_before), number(round.score_after));
        lines.push(row(
            &name_of(round),
            [
                &pre,
                &said[0],
                &said[1],
                &verdict_words(&round.arbiter_verdict),
                &post,
                &delta,
            ],
        ));
    }
    if let Some(Totals { pre, post, delta }) = result.totals {
        lines.push(row(
            "TOTAL",
            [&shown(pre), "", "", "", &shown(post), &signed(delta)],
        ));
    }
    lines.extend(remarks(&result));
    lines
}

/// What a reader should know besides the numbers.
pub fn remarks(result: &EvaluateResult) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(strongest) = &result.strongest {
        lines.push(format!(
            "strongest: {} “{}”",
            strongest.id,
            shortened(&on_one_line(&strongest.claim), 110)
        ));
    }
    for round in &result.rounds {
        let verdict = &round.arbiter_verdict;
        let invented = [0, 1].map(|side| unverified(round, side));
        for (name, count) in SIDES.iter().zip(invented).filter(|(_, count)| *count > 0) {
            let word = if count == 1 {
                "quotation"
            } else {
                "quotations"
            };
            lines.push(format!(
                "unverified: {count} {word} of the {name} on {} not found in the idea",
                on_one_line(&round.topic)
            ));
        }
        if verdict.flipped {
            lines.push(format!(
                "flipped: the verdict on {} changed with the order of the sides, so it is a draw",
                on_one_line(&round.topic)
            ));
        }
        if verdict.skipped {
            lines.push(format!(
                "{}: {}",
                on_one_line(&round.topic),
                shortened(&on_one_line(&verdict.reasoning), 160)
            ));
        }
    }
    if result.own_family {
        lines.push("the arbiter's model is of the family of a side's: it may favour it".to_owned());
    }
    lines
}

/// A debate that has no result: verdicts and scores as they came.
fn lines_so_far(view: &View) -> Vec<String> {
    let verdicts = view.verdicts.iter().map(|ruling| {
        let winner = ruling.winner.as_deref().unwrap_or("draw");
        format!(
            "{}: {} {:.2}",
            on_one_line(&ruling.about),
            on_one_line(winner),
            ruling.confidence
        )
    });
    let scores = view.scores.iter().map(|score| {
        format!(
            "{} {} → {} ({})",
            on_one_line(&score.category),
            shown(score.before),
            shown(score.after),
            on_one_line(&score.why)
        )
    });
    verdicts.chain(scores).collect()
}

fn name_of(round: &TopicRound) -> String {
    shortened(&on_one_line(&round.topic), 32).into_owned()
}

fn count(arguments: usize) -> String {
    match arguments {
        0 => "–".to_owned(),
        1 => "1 arg".to_owned(),
        many => format!("{many} args"),
    }
}

/// Who was better, and how sure the arbiter is.
pub fn verdict_words(verdict: &TopicVerdict) -> String {
    match verdict.winner {
        None => "skipped".to_owned(),
        Some(winner) => format!(
            "{} {}",
            winner.as_str(),
            format!("{:.2}", verdict.confidence).trim_start_matches('0')
        ),
    }
}

fn unverified(round: &TopicRound, side: usize) -> usize {
    let (arguments, answers) = round.side(side);
    let evidence = arguments
        .iter()
        .flat_map(|argued| &argued.evidence)
        .chain(answers.iter().flat_map(|answered| &answered.evidence));
    evidence.filter(|quoted| !quoted.verified).count()
}

/// Differences of two decimals have two decimals.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn transcript(view: &View) -> String {
    let mut text = String::new();
    let Some(started) = &view.started else {
        return text;
    };
    write_panel(&mut text, &started.agents, |agent| {
        for_markdown(&agent.stance)
    });
    let Some(result) = result_of(view) else {
        write_so_far(&mut text, view);
        return text;
    };
    write_scores(&mut text, &result);
    for round in &result.rounds {
        write_round(&mut text, round);
    }
    let Some(outcome) = &view.outcome else {
        return text;
    };
    let _ = writeln!(
        text,
        "\n## {}\n\n{}",
        ending_word(outcome.outcome),
        for_markdown(&outcome.summary)
    );
    if let Some(strongest) = &result.strongest {
        let _ = writeln!(
            text,
            "\nStrongest argument: `{}` on {}: {}",
            strongest.id,
            for_markdown(&strongest.topic),
            for_markdown(&strongest.claim)
        );
    }
    if result.own_family {
        text.push_str("\nThe arbiter's model is of the family of a side's: it may favour it.\n");
    }
    text
}

fn ending_word(ending: Ending) -> String {
    ending.as_str().to_uppercase().replace('_', " ")
}

/// What was said in a debate that has no result.
fn write_so_far(text: &mut String, view: &View) {
    for turn in view
        .turns
        .iter()
        .filter(|turn| turn.state == TurnState::Done)
    {
        let _ = writeln!(
            text,
            "\n### {}\n\n{}",
            for_markdown(&turn.turn),
            for_markdown(&turn.text)
        );
    }
    for line in lines_so_far(view) {
        let _ = writeln!(text, "\n- {}", for_markdown(&line));
    }
    if let Some(outcome) = &view.outcome {
        let _ = writeln!(
            text,
            "\n## {}\n\n{}",
            ending_word(outcome.outcome),
            for_markdown(&outcome.summary)
        );
    }
}

fn write_scores(text: &mut String, result: &EvaluateResult) {
    text.push_str(
        "\n## Scores\n\n| category | pre | post | Δ | confidence | why \
        |\n|---|---|---|---|---|---|\n",
    );
    for (category, scored) in &result.scores {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.2} → {:.2} | {} |",
            cell(category),
            shown(scored.pre),
            shown(scored.post),
            signed(scored.delta),
            scored.confidence_pre,
            scored.confidence_post,
            cell(&scored.why)
        );
    }
    if let Some(Totals { pre, post, delta }) = result.totals {
        let _ = writeln!(
            text,
            "| **total** | {} | {} | {} | | mean of the scores |",
            shown(pre),
            shown(post),
            signed(delta)
        );
    }
    if !result.evaluation.is_empty() {
        text.push_str("\nScored by the evaluator before the debate:\n\n");
    }
    for (category, evaluated) in &result.evaluation {
        let (score, confidence, reason) = (
            shown(evaluated.score),
            evaluated.confidence,
            for_markdown(&evaluated.reason),
        );
        let _ = writeln!(
            text,
            "- **{}** {score}, confidence {confidence:.2}: {reason}",
            for_markdown(category)
        );
        write_quotes(text, &evaluated.evidence);
    }
}

fn write_round(text: &mut String, round: &TopicRound) {
    let _ = writeln!(
        text,
        "\n## Round {}: {} ({})",
        round.round,
        for_markdown(&round.topic),
        for_markdown(&round.target_category)
    );
    for (side, name) in ["Advocate", "Challenger"].iter().enumerate() {
        let (arguments, answers) = round.side(side);
        let _ = writeln!(
            text,
            "\n### {name}\n\nHolds: {}\n",
            for_markdown(round.position(side))
        );
        if arguments.is_empty() {
            text.push_str("Gave no arguments.\n");
        }
        for argued in arguments {
            let _ = writeln!(
                text,
                "- `{}` **{}** {}",
                argued.id,
                for_markdown(&argued.claim),
                for_markdown(&argued.reasoning)
            );
            write_quotes(text, &argued.evidence);
            let _ = writeln!(text, "  - strength {:.2}", argued.strength);
        }
        for answered in answers {
            let verb = if answered.verdict == Verdict::Attack {
                "attacks"
            } else {
                "concedes"
            };
            let _ = writeln!(
                text,
                "- {verb} `{}`: {}",
                answered.argument,
                for_markdown(&answered.text)
            );
            write_quotes(text, &answered.evidence);
        }
    }
    write_verdict(text, round);
}

fn write_verdict(text: &mut String, round: &TopicRound) {
    let verdict = &round.arbiter_verdict;
    text.push_str("\n### Arbiter\n\n");
    match verdict.winner {
        None => {
            let _ = writeln!(text, "**{}**", for_markdown(&verdict.reasoning));
        }
        Some(winner) => {
            let flipped = if verdict.flipped {
                " · flipped with the order of the sides"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "**{}** · confidence {:.2}{flipped}\n\n{}",
                winner.as_str(),
                verdict.confidence,
                for_markdown(&verdict.reasoning)
            );
        }
    }
    if !verdict.key_points.is_empty() {
        text.push('\n');
    }
    for point in &verdict.key_points {
        let _ = writeln!(text, "- {}", for_markdown(point));
    }
    if let Some((before, after)) = round.score_before.zip(round.score_after) {
        let category = for_markdown(&round.target_category);
        let _ = writeln!(
            text,
            "\nScore of {category}: {} → {} ({})",
            shown(before),
            shown(after),
            signed(hundredths(after - before))
        );
    }
}

fn write_quotes(text: &mut String, evidence: &[Quoted]) {
    for quoted in evidence {
        let mark = if quoted.verified {
            "quotes"
        } else {
            "**unverified**, not found in the idea:"
        };
        let _ = writeln!(text, "  - {mark} “{}”", for_markdown(&quoted.quote));
    }
}

/// A text that cannot leave its cell.
fn cell(text: &str) -> String {
    for_markdown(text).replace('|', "\\|")
}
