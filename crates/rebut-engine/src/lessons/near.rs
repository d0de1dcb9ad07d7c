//! Lessons found by meaning: the task and the lessons become vectors, and those that are near
//! enough are given. Whatever goes wrong is said, and words decide.

use super::{FoundBy, Lesson, pick};
use crate::{
    clean::{on_one_line, shortened},
    clock::Clock,
    embedding::{Embedder, KeptVectors, cosine, problem},
    model::Usage,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, time::Duration};

/// Who compares by meaning, and what was asked before.
pub struct Near<'a> {
    pub embedder: &'a dyn Embedder,
    /// Vectors of earlier calls; those of new lessons are added, and those of no lesson are taken
    /// out.
    pub kept: &'a mut KeptVectors,
    /// Lessons nearer than this are given.
    pub at_least: f64,
}

/// The lessons that fit a task, and how they were looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub lessons: Vec<Lesson>,
    pub search: Search,
}

/// How lessons were looked for, for the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What decided in the end.
    pub by: FoundBy,
    /// So many lessons were compared.
    pub compared: usize,
    /// The embedding model, where one is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why words decided although there is a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fell_back: Option<String>,
    /// Requests to it. They come before the debate: its caps and its sums do not hold them.
    #[serde(default)]
    pub calls: u32,
    /// Tokens it says it used; `None` when it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars; `None` when the price is unknown, which is not zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Search {
    /// One line for people, where there is something to say.
    pub fn words(&self) -> Option<String> {
        let model = on_one_line(self.model.as_deref()?);
        let tokens = self
            .tokens
            .map_or_else(String::new, |tokens| format!(", {tokens} tokens"));
        let asked = format!(
            "{} to {model}{tokens}",
            if self.calls == 1 {
                "1 call".to_owned()
            } else {
                format!("{} calls", self.calls)
            }
        );
        Some(match &self.fell_back {
            Some(why) => format!(
                "lessons were looked for by words, not by meaning: {} ({asked})",
                shortened(&on_one_line(why), 200)
            ),
            None => format!("{} lessons compared by meaning ({asked})", self.compared),
        })
    }
}

/// So much of a task is compared; it says at its beginning what it is about, and models read no
/// more than some thousand tokens.
const TASK_CHARS: usize = 4_000;
/// One request holds at most so many texts …
const BATCH_TEXTS: usize = 256;
/// … of so many bytes together, which every endpoint takes.
const BATCH_BYTES: usize = 48_000;
/// How long one request may take. A debate is not kept waiting for a better lesson.
const PATIENCE: Duration = Duration::from_secs(30);

/// What would be sent for that task: the task first, then lessons whose vectors are not known.
/// Empty when there is nothing to compare it with.
pub fn batches(
    task: &str,
    lessons: &[Lesson],
    model: &str,
    kept: &KeptVectors,
) -> Vec<Vec<String>> {
    if lessons.is_empty() {
        return Vec::new();
    }
    let task: String = task.trim().chars().take(TASK_CHARS).collect();
    let missing = lessons
        .iter()
        .map(text_of)
        .filter(|text| kept.of(model, text).is_none());
    let mut batches: Vec<Vec<String>> = vec![Vec::new()];
    let mut bytes = 0;
    for text in std::iter::once(task).chain(missing) {
        let full = batches.last().is_some_and(|batch| {
            !batch.is_empty() && (batch.len() == BATCH_TEXTS || bytes + text.len() > BATCH_BYTES)
        });
        if full {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += text.len();
        batches
            .last_mut()
            .expect("one is there from the beginning")
            .push(text);
    }
    batches
}

/// Those that fit a task, by meaning where that works and by words where it does not.
pub async fn find(
    task: &str,
    lessons: &[Lesson],
    most: usize,
    near: Option<&mut Near<'_>>,
    clock: &dyn Clock,
) -> Found {
    let mut search = Search {
        compared: lessons.len(),
        ..Search::default()
    };
    let by_words = |search: Search| Found {
        lessons: pick(task, lessons, most),
        search,
    };
    let Some(near) = near else {
        return by_words(search);
    };
    let model = near.embedder.name().to_owned();
    search.model = Some(model.clone());
    near.kept
        .only(&model, &lessons.iter().map(text_of).collect::<Vec<_>>());
    if lessons.is_empty() {
        return Found {
            search: Search {
                by: FoundBy::Embedding,
                ..search
            },
            ..Found::default()
        };
    }
    match vector_of_task(task, lessons, near, &mut search, clock).await {
        Ok(task) => Found {
            lessons: nearest(&task, lessons, near, most),
            search: Search {
                by: FoundBy::Embedding,
                ..search
            },
        },
        Err(why) => {
            search.fell_back = Some(shortened(&on_one_line(&why), 300).into_owned());
            by_words(search)
        }
    }
}

/// Asks for what is not known, and gives the vector of the task. What came of lessons is kept,
/// whatever happens later.
async fn vector_of_task(
    task: &str,
    lessons: &[Lesson],
    near: &mut Near<'_>,
    search: &mut Search,
    clock: &dyn Clock,
) -> Result<Vec<f32>, String> {
    let model = near.embedder.name().to_owned();
    let mut found: Option<Vec<f32>> = None;
    let mut spent: Option<Usage> = None;
    for batch in batches(task, lessons, &model, near.kept) {
        search.calls += 1;
        let embedded = tokio::select! {
            biased;
            embedded = near.embedder.embed(&batch, PATIENCE) => embedded.map_err(|fault| fault.to_string())?,
            () = clock.sleep(PATIENCE) => return Err(format!("no answer within {} \
                s", PATIENCE.as_secs())),
        };
        // One call that does not say makes the sum unknown.
        spent = match (spent, embedded.usage, search.calls) {
            (_, usage, 1) => usage,
            (Some(mut sum), Some(more), _) => {
                sum.add(&more);
                Some(sum)
            }
            _ => None,
        };
        (search.tokens, search.cost_usd) = (
            spent.map(|usage| usage.input + usage.cached + usage.output),
            spent.and_then(|usage| usage.cost_usd),
        );
        if let Some(why) = problem(&embedded.vectors, batch.len()) {
            return Err(format!("the answer cannot be used: {why}"));
        }
        let mut pairs = batch.iter().zip(embedded.vectors);
        if found.is_none() {
            found = pairs.next().map(|(_, vector)| vector);
        }
        for (text, vector) in pairs {
            near.kept.keep(&model, text, vector);
        }
    }
    let found = found.ok_or("there was nothing to ask")?;
    let is_alike = |lesson: &Lesson| {
        near.kept
            .of(&model, &text_of(lesson))
            .is_some_and(|vector| vector.len() == found.len())
    };
    if lessons.iter().all(is_alike) {
        return Ok(found);
    }
    near.kept.clear();
    Err(
        "its vectors have another length than those it gave before; those were forgotten, and the \
        next debate asks for all of them"
            .to_owned(),
    )
}

fn nearest(task: &[f32], lessons: &[Lesson], near: &Near<'_>, most: usize) -> Vec<Lesson> {
    let score = |lesson: &Lesson| {
        near.kept
            .of(near.embedder.name(), &text_of(lesson))
            .map_or(0.0, |vector| cosine(task, vector))
    };
    let scored = lessons.iter().map(|lesson| Lesson {
        score: score(lesson),
        found_by: FoundBy::Embedding,
        ..lesson.clone()
    });
    let mut fitting: Vec<Lesson> = scored
        .filter(|lesson| lesson.score > near.at_least)
        .collect();
    // Of two that are as near, the newer comes first: the sort keeps their order.
    fitting.sort_by(|one, other| {
        other
            .score
            .partial_cmp(&one.score)
            .unwrap_or(Ordering::Equal)
    });
    fitting.truncate(most);
    fitting
}

/// What of a lesson is compared.
fn text_of(lesson: &Lesson) -> String {
    format!("{}: {}", lesson.applies_to, lesson.text)
}
