//! Wisdom: lessons that earlier debates proved by their runs, and which of them fit a new task.
//! What is not proved, too old, somebody else's or about something else is never given to anybody.

mod near;

pub use near::{Found, Near, Search, batches, find};

use crate::{
    DebateId,
    clean::{on_one_line, shortened},
    event::Event,
    facts::LessonRecorded,
    record::Record,
    retrieval::{rank, words},
    store::{Filter, Session, Store, StoreError},
};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A lesson that is given to a debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The debate that drew it.
    pub debate_id: DebateId,
    /// What it says.
    pub text: String,
    /// When it applies.
    pub applies_to: String,
    /// How well it fits the task. By words it says something beside the others only; by meaning it
    /// is the cosine.
    pub score: f64,
    /// How it was found.
    pub found_by: FoundBy,
    /// Whether the run that proved it shared the process of the code it judged: then its pass could
    /// be forged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
}

/// What is said beside a lesson whose proof the code could have forged; nothing beside another.
pub fn shared_note(shared_process: bool) -> &'static str {
    if shared_process {
        " (shown by tests in the same process: could be forged)"
    } else {
        ""
    }
}

/// How lessons are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// By words they share with the task.
    #[default]
    Bm25,
    /// By meaning, as an embedding model has it.
    Embedding,
}

impl FoundBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Embedding => "embedding",
        }
    }
}

/// A lesson as a debate was given it: one that was found, or plain words, as a library's
/// user may give it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Given {
    /// Plain words.
    Words(String),
    /// One that was found.
    Found(Lesson),
}

impl Given {
    pub fn told(&self) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::Found(lesson) => format!(
                "{} (for {}){}",
                lesson.text,
                lesson.applies_to,
                shared_note(lesson.shared_process)
            ),
        }
    }

    /// The same with where it comes from and how it was found.
    pub fn shown(&self) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::Found(lesson) => {
                format!(
                    "{} (from {} by {}, {:.2})",
                    self.told(),
                    lesson.debate_id.short(),
                    lesson.found_by.as_str(),
                    lesson.score
                )
            }
        }
    }
}

/// How far back lessons are looked for, and how many are given.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Only debates that this person started; a lesson never goes from one person to another.
    pub by: String,
    /// So many debates at most, the newest.
    pub debates: usize,
    /// So many lessons at most are compared, the newest.
    pub lessons: usize,
    /// A lesson is forgotten after so many days.
    pub days: u32,
    /// So many are given at most.
    pub most: usize,
}

impl Bounds {
    /// The usual bounds, for what that person started.
    pub fn of(by: impl Into<String>) -> Self {
        Self {
            by: by.into(),
            debates: 200,
            lessons: 500,
            days: 180,
            most: 3,
        }
    }
}

const MOST_CHARS: usize = 400;

/// Words of so many tasks that they tell none from another.
const TASK_WORDS: &[&str] = &[
    "write",
    "function",
    "program",
    "code",
    "return",
    "returns",
    "returning",
    "given",
    "give",
    "take",
    "implement",
    "python",
    "javascript",
    "rust",
    "go",
    "solution",
    "input",
    "output",
    "test",
    "value",
    "call",
    "called",
    "name",
    "should",
    "must",
    "when",
    "if",
    "each",
    "all",
    "any",
    "one",
    "two",
    "use",
    "always",
    "never",
    "before",
    "after",
    "into",
    "which",
    "them",
    "than",
    "then",
    "first",
    "check",
    "case",
];

/// So many words of a task must be in a lesson before it is said to fit.
const SHARED_WORDS: usize = 2;

/// Proved lessons that are not too old, the newest first, each text once. The rehearsal's are no
/// model's.
pub async fn gather(
    store: &dyn Store,
    now: Timestamp,
    bounds: &Bounds,
) -> Result<Vec<Lesson>, StoreError> {
    let since = now - SignedDuration::from_hours(24 * i64::from(bounds.days));
    let is_wanted = |session: &Session| {
        session.initiated_by == bounds.by
            && !session.rehearsal
            && is_after(&session.updated_at, since)
    };
    let sessions = store.sessions(&Filter::default()).await?;
    let mut gathered: Vec<Lesson> = Vec::new();
    for session in sessions.into_iter().filter(is_wanted).take(bounds.debates) {
        for lesson in proved(&store.load(session.id, 0).await?, since)
            .into_iter()
            .rev()
        {
            if gathered.len() < bounds.lessons
                && gathered.iter().all(|known| known.text != lesson.text)
            {
                gathered.push(lesson);
            }
        }
        if gathered.len() >= bounds.lessons {
            break;
        }
    }
    Ok(gathered)
}

/// Those that fit a task: they share enough words with it, and at least one with what they say they
/// apply to.
pub fn pick(task: &str, lessons: &[Lesson], most: usize) -> Vec<Lesson> {
    let task: BTreeSet<String> = telling(task).collect();
    let shared = |text: &str| {
        telling(text)
            .filter(|word| task.contains(word))
            .collect::<BTreeSet<_>>()
    };
    let fits = |lesson: &&Lesson| {
        let applies = shared(&lesson.applies_to);
        !applies.is_empty() && applies.union(&shared(&lesson.text)).count() >= SHARED_WORDS
    };
    let fitting: Vec<&Lesson> = lessons.iter().filter(fits).collect();
    let texts: Vec<String> = fitting
        .iter()
        .map(|lesson| format!("{} {}", lesson.applies_to, lesson.text))
        .collect();
    let query = task
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ");
    let ranked = rank(&query, &texts).into_iter().take(most);
    ranked
        .map(|found| Lesson {
            score: found.score,
            ..fitting[found.at].clone()
        })
        .collect()
}

fn telling(text: &str) -> impl Iterator<Item = String> {
    words(text)
        .into_iter()
        .filter(|word| !TASK_WORDS.contains(&word.as_str()))
}

/// The lessons of a journal that say they are verified and stand behind a run that failed and a
/// later one in which every test held. The word alone would let any journal file teach anything.
fn proved(records: &[Record], since: Timestamp) -> Vec<Lesson> {
    let (mut failed, mut passed_then, mut held_apart) = (false, false, false);
    let mut proved = Vec::new();
    for record in records.iter().filter(|record| !record.is_redacted()) {
        match record.event() {
            Ok(Some(Event::RunCompleted(completed))) => match completed.result() {
                Ok(ran) if ran.all_passed() => {
                    passed_then |= failed;
                    held_apart |= failed && !ran.shared_process;
                }
                Ok(ran) => failed |= !ran.tests.is_empty() || ran.distrust.is_some(),
                // What was refused shows nothing.
                Err(_) => {}
            },
            Ok(Some(Event::LessonRecorded(lesson)))
                if lesson.verified && passed_then && is_after(&record.ts, since) =>
            {
                proved.extend(kept(
                    record.debate,
                    &lesson,
                    lesson.shared_process || !held_apart,
                ));
            }
            _ => {}
        }
    }
    proved
}

/// A lesson on one clean line. One that says nothing, or not when it applies, is none.
fn kept(debate_id: DebateId, lesson: &LessonRecorded, shared_process: bool) -> Option<Lesson> {
    let [text, applies_to] = [&lesson.text, &lesson.applies_to]
        .map(|text| shortened(&on_one_line(text), MOST_CHARS).into_owned());
    let lesson = Lesson {
        debate_id,
        text,
        applies_to,
        score: 0.0,
        found_by: FoundBy::Bm25,
        shared_process,
    };
    (!lesson.text.is_empty() && !lesson.applies_to.is_empty()).then_some(lesson)
}

/// A time that cannot be read is not after anything.
fn is_after(at: &str, since: Timestamp) -> bool {
    at.parse::<Timestamp>().is_ok_and(|at| at >= since)
}
