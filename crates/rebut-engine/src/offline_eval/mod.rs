//! Answers that were recorded elsewhere, and what voting, stopping and learned weights make of
//! them. No model is asked. Pure.
//!
//! Two forms are read:
//!
//! - **debates**, one JSON object a line: `set`, `question` (or `id`), `gold`, and `rounds`, the
//!   answers per agent per round; `null` is no usable answer. `called` of the same shape says who
//!   was asked at all (everybody, if left out), `out_tokens` what was written. With `models`, one
//!   name per agent, and one round it is a panel instead;
//! - **panels**, tab-separated: a line `# models: a,b,c`, a heading with `question_id`,
//!   `n_options`, `gold`, `preds`, then a line per question in which `preds` has one letter per
//!   model, `-` for an answer that could not be read and `.` for none.
//!
//! An answer is right if it equals `gold` but for case, spaces, commas, `$` and a full stop at its
//! end. No answer is never right.

mod debates;
mod panels;

pub use debates::measure_debates;
pub use panels::measure_panel;

use crate::{
    learning::{History, Labelled, chance::Measured},
    record::Hash,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    Debates(BTreeMap<String, Vec<RecordedDebate>>),
    /// A panel of models on the same questions.
    Panel(Panel),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedDebate {
    pub question: String,
    pub gold: String,
    /// Rounds, with a place per agent.
    pub rounds: Vec<Vec<RecordedAnswer>>,
}

/// One agent's part in one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedAnswer {
    /// What it answered, in a form that can be compared; `None` if it gave no usable answer.
    pub answer: Option<String>,
    pub called: bool,
    pub tokens: u64,
}

/// Models that answered the same questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    pub models: Vec<String>,
    /// Who chose what; voters are the models.
    pub history: History,
}

/// What was measured on a set of records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    pub title: String,
    /// What is compared in `difference`, and what else there is to know.
    pub notes: Vec<String>,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    pub arm: String,
    pub questions: usize,
    /// The share that was right. A tie of k options counts 1/k if the right one is among them.
    pub accuracy: Measured,
    /// The difference to the row the table compares with, paired by question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Measured>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<f64>,
    /// The same as a share of all that were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_share: Option<f64>,
    /// Tokens written per question, where they were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Questions that were right in the first round and are wrong now; ties are in neither number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Questions that were wrong in the first round and are right now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gained: Option<u64>,
    /// How easily chance alone makes such a difference between `lost` and `gained` (McNemar,
    /// exact).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

/// Reads a file's text. The error says which line is wrong and how.
pub fn read(text: &str) -> Result<Recorded, String> {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    if first.starts_with('{') {
        read_lines(text)
    } else {
        read_table(text).map(Recorded::Panel)
    }
}

/// One line of a file of debates. Other keys are for people.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    set: String,
    #[serde(default)]
    question: String,
    #[serde(default)]
    id: Value,
    gold: Value,
    rounds: Vec<Vec<Value>>,
    #[serde(default)]
    called: Vec<Vec<u8>>,
    #[serde(default)]
    out_tokens: Vec<Vec<u64>>,
    #[serde(default)]
    models: Vec<String>,
}

impl Line {
    fn name(&self) -> String {
        if self.question.is_empty() {
            self.id.to_string()
        } else {
            self.question.clone()
        }
    }
}

fn read_lines(text: &str) -> Result<Recorded, String> {
    let mut sets: BTreeMap<String, Vec<RecordedDebate>> = BTreeMap::new();
    let mut asked: Vec<(String, Labelled)> = Vec::new();
    let mut models: Vec<String> = Vec::new();
    for (line, number) in text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty())
    {
        let line: Line =
            serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
        let gold = comparable(&line.gold)
            .ok_or_else(|| format!("line {number}: `gold` must be a text or a number"))?;
        if line.rounds.first().is_none_or(Vec::is_empty) {
            return Err(format!("line {number}: `rounds` has no answers"));
        }
        if line.models.is_empty() {
            let debate = RecordedDebate {
                question: line.name(),
                gold,
                rounds: answers(&line),
            };
            sets.entry(line.set).or_default().push(debate);
            continue;
        }
        if line.rounds.len() != 1
            || line.rounds[0].len() != line.models.len()
            || !(models.is_empty() || models == line.models)
        {
            return Err(format!(
                "line {number}: a panel has one round, one answer per name in `models`, and the \
                 same models in every line"
            ));
        }
        asked.push((line.name(), numbered(&gold, &line.rounds[0])));
        models = line.models;
    }
    match (sets.is_empty(), models.is_empty()) {
        (false, true) => Ok(Recorded::Debates(sets)),
        (true, false) => Ok(Recorded::Panel(Panel::new(models, asked))),
        (true, true) => Err("there is no record in it".to_owned()),
        (false, false) => Err(
            "some lines have `models` and some do not; keep panels and debates \
            in files of their own"
                .to_owned(),
        ),
    }
}

/// The rounds of a line, all three lists joined.
fn answers(line: &Line) -> Vec<Vec<RecordedAnswer>> {
    let place = |round: usize, agent: usize, answer: &Value| RecordedAnswer {
        answer: comparable(answer),
        called: line
            .called
            .get(round)
            .and_then(|called| called.get(agent))
            .is_none_or(|called| *called != 0),
        tokens: line
            .out_tokens
            .get(round)
            .and_then(|tokens| tokens.get(agent))
            .copied()
            .unwrap_or(0),
    };
    let round = |(at, agents): (usize, &Vec<Value>)| {
        agents
            .iter()
            .enumerate()
            .map(|(agent, answer)| place(at, agent, answer))
            .collect()
    };
    line.rounds.iter().enumerate().map(round).collect()
}

/// Free answers as numbered options. There are as many as models and one more on every question:
/// how many different answers were given must not tell a rule that has heard only some of them
/// anything.
fn numbered(gold: &str, given: &[Value]) -> Labelled {
    let mut known: Vec<String> = vec![gold.to_owned()];
    let mut number = |answer: String| {
        let at = known
            .iter()
            .position(|other| *other == answer)
            .unwrap_or_else(|| {
                known.push(answer);
                known.len() - 1
            });
        u16::try_from(at).ok()
    };
    let choices = given
        .iter()
        .map(|value| comparable(value).and_then(&mut number))
        .collect();
    Labelled {
        options: u16::try_from(given.len() + 1).unwrap_or(u16::MAX),
        right: 0,
        choices,
    }
}

/// An answer without what makes no difference; `None` for no answer.
fn comparable(answer: &Value) -> Option<String> {
    let text = match answer {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => answer.to_string(),
        _ => return None,
    };
    let kept: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, ',' | '$'))
        .flat_map(char::to_lowercase)
        .collect();
    let kept = kept.trim_end_matches('.');
    (!kept.is_empty()).then(|| kept.to_owned())
}

fn read_table(text: &str) -> Result<Panel, String> {
    let mut models: Vec<String> = Vec::new();
    let mut columns: Vec<&str> = Vec::new();
    let mut asked = Vec::new();
    for (line, number) in text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty())
    {
        if let Some(comment) = line.strip_prefix('#') {
            if let Some(names) = comment.trim().strip_prefix("models:") {
                models = names
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .collect();
            }
        } else if columns.is_empty() {
            columns = line.split('\t').collect();
        } else {
            asked.push(
                read_row(&columns, &models, line).map_err(|why| format!("line {number}: {why}"))?,
            );
        }
    }
    if models.is_empty() || asked.is_empty() {
        return Err(
            "neither debates (JSON lines) nor a panel (a line `# models: a,b`, a heading, rows): \
             nothing here can be measured"
                .to_owned(),
        );
    }
    Ok(Panel::new(models, asked))
}

fn read_row(columns: &[&str], models: &[String], line: &str) -> Result<(String, Labelled), String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let cell = |name: &str| {
        let at = columns
            .iter()
            .position(|column| *column == name)
            .ok_or_else(|| format!("the heading has no column `{name}`"))?;
        cells
            .get(at)
            .copied()
            .ok_or_else(|| format!("there is no `{name}`"))
    };
    let options: u16 = cell("n_options")?
        .parse()
        .map_err(|_| "`n_options` must be a number".to_owned())?;
    let letter = |c: char| c.is_ascii_uppercase().then(|| u16::from(c as u8 - b'A'));
    let gold = cell("gold")?
        .chars()
        .next()
        .and_then(letter)
        .filter(|gold| *gold < options);
    let right = gold.ok_or_else(|| format!("`gold` must be one of the first {options} letters"))?;
    let preds = cell("preds")?;
    if preds.chars().count() != models.len() {
        return Err(format!(
            "`preds` has {} letters for {} models",
            preds.chars().count(),
            models.len()
        ));
    }
    // A letter that was not offered is no answer either.
    let choices = preds
        .chars()
        .map(|c| letter(c).filter(|choice| *choice < options))
        .collect();
    Ok((
        cell("question_id")?.to_owned(),
        Labelled {
            options,
            right,
            choices,
        },
    ))
}

impl Panel {
    /// A panel whose questions stand in an order that has nothing to do with them, so that any
    /// first part is a fair sample.
    fn new(models: Vec<String>, mut asked: Vec<(String, Labelled)>) -> Self {
        asked.sort_by_cached_key(|(question, _)| Hash::of(question.as_bytes()).0);
        let questions = asked.into_iter().map(|(_, labelled)| labelled).collect();
        Self {
            history: History {
                voters: models.len(),
                questions,
            },
            models,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debates_are_read_and_measured_by_hand() {
        let text = r#"
            {"set": "s", "id": 1, "gold": "A", "rounds": [["A", "B", null], ["A", "A", "A"]], "out_tokens": [[1, 2, 3], [4, 5, 6]]}
            {"set": "s", "question": "2", "gold": "1,000", "rounds": [["1000.", "$1000", "7"], ["7", "7", "7"]], "called": [[1, 1, 0], [1, 1, 1]]}
        "#;
        let Ok(Recorded::Debates(sets)) = read(text) else {
            panic!("debates")
        };
        let table = measure_debates("s", &sets["s"]);
        let row = |name: &str| {
            table
                .rows
                .iter()
                .find(|row| row.arm.starts_with(name))
                .unwrap_or_else(|| panic!("{name}: {table:#?}"))
        };
        // The first round ties in the first debate, and is right in the second.
        assert_eq!(
            (
                row("first round's").accuracy.value,
                row("first round's").calls
            ),
            (0.75, Some(2.5))
        );
        let last = row("last");
        assert_eq!(
            (last.accuracy.value, last.lost, last.gained, last.p),
            (0.5, Some(1), Some(0), Some(1.0))
        );
        assert_eq!(
            row("one agent").accuracy.value,
            (1.0 / 3.0 + 1.0) / 2.0,
            "who was not asked is not wrong"
        );
        assert_eq!(row("all rounds").accuracy.value, 0.5);
        // In the second debate everybody who was asked agreed at once.
        assert_eq!(
            (
                row("stop when unanimous").accuracy.value,
                row("stop when unanimous").calls
            ),
            (1.0, Some(4.0))
        );
        assert_eq!(row("first round in turn, until").calls, Some(2.5));
    }

    #[test]
    fn a_panel_is_read_in_both_forms() {
        let lines = r#"{"question": "q", "gold": 3, "models": ["a", "b", "c"], "rounds": [["3", "4", null]]}"#;
        let Ok(Recorded::Panel(panel)) = read(lines) else {
            panic!("a panel")
        };
        assert_eq!(
            panel.history.questions,
            [Labelled {
                options: 4,
                right: 0,
                choices: vec![Some(0), Some(1), None]
            }]
        );
        let rows = "# models: a,b,c\nquestion_id\tn_options\tgold\tpreds\n1\t4\tC\tC-J\n";
        let Ok(Recorded::Panel(panel)) = read(rows) else {
            panic!("a panel")
        };
        assert_eq!(
            panel.history.questions,
            [Labelled {
                options: 4,
                right: 2,
                choices: vec![Some(2), None, None]
            }]
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let rows = [
            ("", "nothing here can be measured"),
            ("a\tb\n1\t2\n", "the heading has no column `n_options`"),
            ("{\"gold\": \"A\"}", "line 1: missing field `rounds`"),
            (
                "{\"gold\": \"A\", \"rounds\": []}",
                "line 1: `rounds` has no answers",
            ),
            (
                "\n{\"gold\": null, \"rounds\": [[\"A\"]]}",
                "line 2: `gold` must be a text or a number",
            ),
            (
                "{\"gold\": 1, \"rounds\": [[1, 2]], \"models\": [\"a\"]}",
                "one answer per name",
            ),
            (
                "# models: a,b\nquestion_id\tn_options\tgold\tpreds\n1\t4\tC\tCCC\n",
                "line 3: `preds` has 3 letters for 2 models",
            ),
            (
                "# models: a\nquestion_id\tn_options\tgold\tpreds\n1\t2\tC\tA\n",
                "one of the first 2 letters",
            ),
        ];
        for (text, problem) in rows {
            let found = read(text).expect_err(text);
            assert!(found.contains(problem), "{text:?}: {found}");
        }
    }
}
