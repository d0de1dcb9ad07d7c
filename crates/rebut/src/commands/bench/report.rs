//! What a bench found: pass@1 of each arm with its interval, what it took, and arms side by side at
//! the same problems. Pure.

use super::{
    book::{Key, Row},
    scoring::Verdict,
};
use crate::text::{dollars, padded};
use rebut_engine::{
    clean::on_one_line,
    learning::chance::{Measured, mcnemar, paired, wilson},
    record::Hash,
};
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write};

#[derive(Debug, Serialize)]
pub struct Report {
    pub suite: String,
    /// The hash of the data, unpacked.
    pub data: Hash,
    pub problems: usize,
    /// Whether the built-in rehearsal wrote programs instead of models: then they say nothing of
    /// any model.
    pub rehearsal: bool,
    /// Why it is not complete; null when it is.
    pub unfinished: Option<String>,
    pub arms: Vec<Score>,
    pub pairs: Vec<Pair>,
    pub results: Vec<Row>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Score {
    pub arm: String,
    /// Whether the built-in rehearsal wrote its programs.
    pub rehearsal: bool,
    pub scored: usize,
    /// Problems without one yet: they count for nothing.
    pub missing: usize,
    pub verdicts: BTreeMap<Verdict, usize>,
    /// Passes that the program could have forged, since it ran in the process that judged it.
    #[serde(skip_serializing_if = "is_zero")]
    pub shared_process: usize,
    /// The share of scored problems that passed, with Wilson's 95 % interval; null when none is
    /// scored.
    pub pass_at_1: Option<Measured>,
    pub calls: u64,
    pub tokens: u64,
    /// US dollars; null when a price is unknown.
    pub cost: Option<f64>,
}

/// Two arms at the problems both have a result for.
#[derive(Debug, PartialEq, Serialize)]
pub struct Pair {
    pub arm: String,
    pub with: String,
    /// Problems with a result in both.
    pub problems: usize,
    pub both: u64,
    pub gained: u64,
    pub lost: u64,
    pub neither: u64,
    /// The difference of pass@1, with its paired bootstrap 95 % interval.
    pub difference: Measured,
    pub p: f64,
    /// Whether both made as many calls at these problems.
    pub equal_calls: bool,
    pub budgets: String,
}

impl Report {
    /// Reads the results of these problems and arms, each with whether it is rehearsed.
    pub fn new(
        (suite, data): (&str, Hash),
        problems: &[&str],
        arms: &[(&str, bool)],
        rows: &BTreeMap<Key, Row>,
        unfinished: Option<String>,
    ) -> Self {
        let rehearsed = arms;
        let arms: Vec<&str> = rehearsed.iter().map(|(arm, _)| *arm).collect();
        let of = |arm: &str, problem: &str| rows.get(&(problem.to_owned(), arm.to_owned()));
        let results: Vec<&Row> = problems
            .iter()
            .flat_map(|problem| arms.iter().filter_map(move |arm| of(arm, problem)))
            .collect();
        let pairs = arms
            .iter()
            .enumerate()
            .flat_map(|(at, with)| arms[at + 1..].iter().map(move |arm| (arm, with)));
        let pair = |(arm, with): (&&str, &&str)| {
            let both: Vec<(&Row, &Row)> = problems
                .iter()
                .filter_map(|problem| of(arm, problem).zip(of(with, problem)))
                .collect();
            side_by_side(arm, with, &both)
        };
        Self {
            suite: suite.to_owned(),
            data,
            problems: problems.len(),
            rehearsal: rehearsed.iter().any(|(_, rehearsal)| *rehearsal),
            unfinished,
            arms: rehearsed
                .iter()
                .map(|arm| {
                    score(
                        *arm,
                        problems.len(),
                        results.iter().copied().filter(|row| row.arm == arm.0),
                    )
                })
                .collect(),
            pairs: pairs.map(pair).collect(),
            results: results.into_iter().cloned().collect(),
        }
    }
}

fn score<'a>(
    (arm, rehearsal): (&str, bool),
    problems: usize,
    rows: impl Iterator<Item = &'a Row>,
) -> Score {
    let mut score = Score {
        arm: arm.to_owned(),
        rehearsal,
        scored: 0,
        missing: problems,
        verdicts: BTreeMap::new(),
        shared_process: 0,
        pass_at_1: None,
        calls: 0,
        tokens: 0,
        cost: Some(0.0),
    };
    for row in rows {
        score.scored += 1;
        *score.verdicts.entry(row.verdict).or_default() += 1;
        score.shared_process += usize::from(row.shared_process && row.verdict == Verdict::Passed);
        score.calls += u64::from(row.calls);
        score.tokens += row.tokens;
        score.cost = score.cost.zip(row.cost).map(|(sum, cost)| sum + cost);
    }
    score.missing = problems.saturating_sub(score.scored);
    let passed = score.verdicts.get(&Verdict::Passed).copied().unwrap_or(0);
    score.pass_at_1 = (score.scored > 0).then(|| wilson(passed as f64, score.scored as f64));
    score
}

fn side_by_side(arm: &str, with: &str, rows: &[(&Row, &Row)]) -> Pair {
    let passed = |row: &Row| row.verdict == Verdict::Passed;
    let count = |one: bool, other: bool| {
        rows.iter()
            .filter(|(a, b)| (passed(a), passed(b)) == (one, other))
            .count() as u64
    };
    let differences: Vec<f64> = rows
        .iter()
        .map(|(a, b)| f64::from(u8::from(passed(a))) - f64::from(u8::from(passed(b))))
        .collect();
    let (gained, lost) = (count(true, false), count(false, true));
    let sum = |of: &dyn Fn(&(&Row, &Row)) -> u64| rows.iter().map(of).sum::<u64>();
    let calls = (sum(&|(a, _)| a.calls.into()), sum(&|(_, b)| b.calls.into()));
    let tokens = (sum(&|(a, _)| a.tokens), sum(&|(_, b)| b.tokens));
    Pair {
        arm: arm.to_owned(),
        with: with.to_owned(),
        problems: rows.len(),
        both: count(true, true),
        gained,
        lost,
        neither: count(false, false),
        difference: paired(&differences),
        p: mcnemar(gained, lost),
        equal_calls: calls.0 == calls.1,
        budgets: budgets((arm, calls.0, tokens.0), (with, calls.1, tokens.1)),
    }
}

/// Whether two arms took as much: what costs more has to be better, not only as good.
fn budgets(
    (arm, calls, tokens): (&str, u64, u64),
    (with, other_calls, other_tokens): (&str, u64, u64),
) -> String {
    let took = format!(
        "{arm} {calls} calls, {tokens} tokens; {with} {other_calls} calls, {other_tokens} tokens"
    );
    match (calls == other_calls, calls.min(other_calls)) {
        (true, 0) => "nobody was asked".to_owned(),
        (true, _) => format!("equal calls: {took}"),
        (false, 0) => format!(
            "not comparable: {} asks nobody; {took}",
            if calls == 0 { arm } else { with }
        ),
        (false, _) => format!("NOT equal: {took}"),
    }
}

/// A column: its heading, its width, and what it says of an arm.
type Column = (&'static str, usize, fn(&Score) -> String);

const COLUMNS: &[Column] = &[
    ("arm", 8, |score| score.arm.clone()),
    ("pass@1", 19, |score| {
        score
            .pass_at_1
            .as_ref()
            .map_or_else(|| "nothing scored".to_owned(), |found| within(found, share))
    }),
    ("passed", 9, |score| {
        format!("{}/{}", count(score, Verdict::Passed), score.scored)
    }),
    ("failed", 6, |score| {
        count(score, Verdict::Failed).to_string()
    }),
    ("error", 5, |score| count(score, Verdict::Error).to_string()),
    ("timeout", 7, |score| {
        count(score, Verdict::Timeout).to_string()
    }),
    ("none", 4, |score| {
        count(score, Verdict::NoProgram).to_string()
    }),
    ("missing", 7, |score| score.missing.to_string()),
    ("calls", 6, |score| score.calls.to_string()),
    ("tokens", 8, |score| score.tokens.to_string()),
    ("cost", 8, |score| {
        score.cost.map_or_else(|| "unknown".to_owned(), dollars)
    }),
];

fn count(score: &Score, verdict: Verdict) -> usize {
    score.verdicts.get(&verdict).copied().unwrap_or(0)
}

fn share(value: f64) -> String {
    format!("{value:.3}").replacen("0.", ".", 1)
}

fn signed(value: f64) -> String {
    format!(
        "{}{}",
        if value < 0.0 { "-" } else { "+" },
        share(value.abs())
    )
}

fn within(found: &Measured, write: fn(f64) -> String) -> String {
    format!(
        "{} [{} {}]",
        write(found.value),
        write(found.low),
        write(found.high)
    )
}

fn many(problems: usize) -> String {
    format!(
        "{problems} {}",
        if problems == 1 { "problem" } else { "problems" }
    )
}

fn compared(pair: &Pair) -> String {
    if pair.problems == 0 {
        return format!("{} and {} have no problem in common", pair.arm, pair.with);
    }
    format!(
        "{} against {}, {}: {}  both {} · only {} {} · only {} {} · neither {} · p {}",
        pair.arm,
        pair.with,
        many(pair.problems),
        within(&pair.difference, signed),
        pair.both,
        pair.arm,
        pair.gained,
        pair.with,
        pair.lost,
        pair.neither,
        share(pair.p),
    )
}

/// What every reader must know of programs that no model wrote.
fn rehearsed(report: &Report) -> Option<String> {
    let arms: Vec<&str> = report
        .arms
        .iter()
        .filter(|score| score.rehearsal)
        .map(|score| score.arm.as_str())
        .collect();
    report.rehearsal.then(|| {
        format!(
            "REHEARSAL: the built-in speaker wrote for {}, not a model: these numbers say \
            nothing of any model",
            arms.join(", ")
        )
    })
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Which passes could be forged; nothing where none could.
fn forgeable(report: &Report) -> Option<String> {
    let shared = report.arms.iter().filter(|score| score.shared_process > 0);
    let counts: Vec<String> = shared
        .map(|score| {
            format!(
                "{} {} of {}",
                score.arm,
                score.shared_process,
                count(score, Verdict::Passed)
            )
        })
        .collect();
    (!counts.is_empty()).then(|| {
        format!(
            "passes in the same process as the code (could be forged): {}",
            counts.join(", ")
        )
    })
}

pub fn text(report: &Report) -> String {
    let mut text = format!(
        "{}  {} · data {:.12}\n",
        report.suite,
        many(report.problems),
        report.data.to_string()
    );
    let line = |cells: Vec<String>| {
        let cells = cells
            .iter()
            .zip(COLUMNS)
            .map(|(cell, (_, width, _))| padded(cell, *width))
            .collect::<Vec<_>>();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    if let Some(label) = rehearsed(report) {
        let _ = writeln!(text, "  {label}");
    }
    text.push_str(&line(
        COLUMNS
            .iter()
            .map(|(name, ..)| (*name).to_owned())
            .collect(),
    ));
    for score in &report.arms {
        text.push_str(&line(
            COLUMNS.iter().map(|(_, _, cell)| cell(score)).collect(),
        ));
    }
    if let Some(line) = forgeable(report) {
        let _ = writeln!(text, "  {line}");
    }
    for pair in &report.pairs {
        let _ = write!(text, "  {}\n    budgets {}\n", compared(pair), pair.budgets);
    }
    if let Some(why) = &report.unfinished {
        let _ = writeln!(text, "  UNFINISHED: {}", on_one_line(why));
    }
    text
}

/// The same as a document, with every problem that did not pass.
pub fn markdown(report: &Report) -> String {
    let cell = |text: &str| on_one_line(text).replace('|', "\\|").replace('<', "&lt;");
    let line = |cells: Vec<String>| {
        format!(
            "| {} |\n",
            cells
                .iter()
                .map(|text| cell(text))
                .collect::<Vec<_>>()
                .join(" | ")
        )
    };
    let mut text = format!(
        "# {}: {}\n\nData: `{}`\n\n",
        report.suite,
        many(report.problems),
        report.data
    );
    if let Some(label) = rehearsed(report) {
        let _ = write!(text, "**{label}**\n\n");
    }
    text.push_str(&line(
        COLUMNS
            .iter()
            .map(|(name, ..)| (*name).to_owned())
            .collect(),
    ));
    text.push_str(&format!("|{}\n", "---|".repeat(COLUMNS.len())));
    for score in &report.arms {
        text.push_str(&line(
            COLUMNS.iter().map(|(_, _, cell)| cell(score)).collect(),
        ));
    }
    if let Some(line) = forgeable(report) {
        let _ = write!(text, "\n{}\n", cell(&line));
    }
    for pair in &report.pairs {
        let _ = write!(
            text,
            "\n- {}\n- Budgets {}\n",
            cell(&compared(pair)),
            pair.budgets
        );
    }
    if let Some(why) = &report.unfinished {
        let _ = write!(text, "\nUnfinished: {}\n", cell(why));
    }
    let left: Vec<&Row> = report
        .results
        .iter()
        .filter(|row| row.verdict != Verdict::Passed)
        .collect();
    if !left.is_empty() {
        text.push_str("\n## Not passed\n\n| problem | arm | verdict | why |\n|---|---|---|---|\n");
    }
    for row in left {
        let verdict = serde_json::to_value(row.verdict)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default();
        text.push_str(&line(vec![
            row.problem.clone(),
            row.arm.clone(),
            verdict,
            row.why.clone(),
        ]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(problem: usize, arm: &str, verdict: Verdict, calls: u32) -> Row {
        Row {
            problem: problem.to_string(),
            arm: arm.to_owned(),
            debate: None,
            verdict,
            why: String::new(),
            passed: 0,
            tests: 1,
            shared_process: arm == "shared",
            calls,
            tokens: u64::from(calls) * 10,
            cost: (verdict != Verdict::Timeout).then_some(0.5),
            ms: 1,
        }
    }

    /// Letters are verdicts, a space is a problem without a result.
    fn found(arms: &[(&str, &str, u32)]) -> Report {
        let verdict = |letter| match letter {
            'p' => Some(Verdict::Passed),
            'f' => Some(Verdict::Failed),
            'e' => Some(Verdict::Error),
            't' => Some(Verdict::Timeout),
            'n' => Some(Verdict::NoProgram),
            _ => None,
        };
        let rows = arms.iter().flat_map(|(arm, letters, calls)| {
            let rows = letters
                .chars()
                .enumerate()
                .filter_map(move |(at, letter)| Some((at, verdict(letter)?)));
            rows.map(|(at, verdict)| {
                (
                    (at.to_string(), (*arm).to_owned()),
                    row(at, arm, verdict, *calls),
                )
            })
        });
        let problems: Vec<String> = (0..arms[0].1.len()).map(|at| at.to_string()).collect();
        let names: Vec<(&str, bool)> = arms
            .iter()
            .map(|(arm, ..)| (*arm, *arm == "rehearsed"))
            .collect();
        let problems: Vec<&str> = problems.iter().map(String::as_str).collect();
        Report::new(
            ("custom", Hash::of(b"")),
            &problems,
            &names,
            &rows.collect(),
            None,
        )
    }

    #[test]
    fn scores_count_what_is_there_and_nothing_that_is_not() {
        // Wilson's interval of 5 of 10 is .2366 to .7634, of 10 of 10 .7225 to 1.
        let rows = [
            ("pppppfffff", Some((0.5, 0.2366, 0.7634)), 0),
            ("pppppppppp", Some((1.0, 0.7225, 1.0)), 0),
            ("pppppffetn", Some((0.5, 0.2366, 0.7634)), 0),
            ("pf pf pf pf pf", Some((0.5, 0.2366, 0.7634)), 4),
            ("   ", None, 3),
        ];
        for (letters, expected, missing) in rows {
            let report = found(&[("single", letters, 1)]);
            let score = &report.arms[0];
            let near = |measured: Option<Measured>| match (measured, expected) {
                (None, None) => true,
                (Some(a), Some((value, low, high))) => {
                    (a.value - value).abs() < 1e-9
                        && (a.low - low).abs() < 1e-4
                        && (a.high - high).abs() < 1e-4
                }
                _ => false,
            };
            assert!(
                near(score.pass_at_1) && score.missing == missing,
                "{letters}: {score:?}"
            );
        }
        assert_eq!(
            found(&[("single", "pt", 1)]).arms[0].cost,
            None,
            "an unknown price is no price"
        );
        assert!(text(&found(&[("single", "  ", 1)])).contains("nothing scored"));
        let report = found(&[("single", "pp", 1), ("shared", "pf", 1)]);
        let line = "passes in the same process as the code (could be forged): shared 1 of 1\n";
        assert!(
            text(&report).contains(line) && markdown(&report).contains(line),
            "{}",
            text(&report)
        );
        assert!(!text(&found(&[("single", "pp", 1)])).contains("forged"));
    }

    #[test]
    fn arms_are_compared_at_the_problems_both_have() {
        let report = found(&[("single", "pppppfffff f", 1), ("poll", "pppppppppp p", 5)]);
        let pair = &report.pairs[0];
        // Six changes, all one way: p is 2 / 2^6.
        assert_eq!(
            (
                pair.problems,
                pair.both,
                pair.gained,
                pair.lost,
                pair.neither
            ),
            (11, 5, 6, 0, 0)
        );
        assert!(
            (pair.p - 0.03125).abs() < 1e-12 && (pair.difference.value - 6.0 / 11.0).abs() < 1e-12,
            "{pair:?}"
        );
        assert!(
            !pair.equal_calls
                && pair
                    .budgets
                    .starts_with("NOT equal: poll 55 calls, 550 tokens; single 11 calls"),
            "{}",
            pair.budgets
        );
        let rows = [
            ((1, "pf"), (1, "fp"), "equal calls: b 2 calls"),
            ((0, "pf"), (3, "pp"), "not comparable: a asks nobody"),
            ((0, "pf"), (0, "ff"), "nobody was asked"),
        ];
        for ((calls, letters), (other_calls, other), says) in rows {
            let report = found(&[("a", letters, calls), ("b", other, other_calls)]);
            assert!(
                report.pairs[0].budgets.starts_with(says),
                "{}",
                report.pairs[0].budgets
            );
        }
        let apart = found(&[("a", "p ", 1), ("b", " p", 1)]);
        assert!(
            text(&apart).contains("have no problem in common"),
            "{}",
            text(&apart)
        );
    }

    #[test]
    fn documents_name_what_did_not_pass_and_hold_no_markup_of_others() {
        let mut report = found(&[("single", "pf", 1)]);
        report.results[1].why = "a | b <script>\u{1b}[0m".to_owned();
        report.unfinished = Some("a limit".to_owned());
        let text = markdown(&report);
        assert!(
            text.contains("| 1 | single | failed | a \\| b &lt;script>")
                && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(
            text.contains("Unfinished: a limit") && !text.contains("| 0 | single"),
            "{text}"
        );
    }
}
