//! Typed replies: a Rust type, its schema, and how to find it in what a model really wrote.

mod repair;

use crate::model::Finish;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

/// The form a reply must have. Declare with [`reply!`](crate::reply!).
pub trait Reply:
    DeserializeOwned + Serialize + JsonSchema + PartialEq + Send + Sync + 'static
{
    /// The schema's name at providers that want one.
    const NAME: &'static str;

    /// The JSON schema, made once.
    fn schema() -> &'static Value;

    /// What of this reply is taken otherwise than it was written, and how to write it. No model is
    /// asked again for that; a person is.
    fn taken_otherwise(&self, _taken: &Self) -> Option<String> {
        None
    }
}

/// Makes a type a [`Reply`](crate::reply::Reply) of the given name; where its check may take
/// something otherwise than it was written, with what a person is told then.
#[macro_export]
macro_rules! reply {
    ($type:ty, $name:literal $(, taken_otherwise = $differs:path)?) => {
        impl $crate::reply::Reply for $type {
            const NAME: &'static str = $name;

            fn schema() -> &'static serde_json::Value {
                static SCHEMA: std::sync::OnceLock<serde_json::Value> = std::sync::OnceLock::new();
                SCHEMA.get_or_init($crate::reply::strict_schema::<Self>)
            }
            $(
                fn taken_otherwise(&self, taken: &Self) -> Option<String> {
                    $differs(self, taken)
                }
            )?
        }
    };
}

/// A schema ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    pub name: &'static str,
    pub json: Arc<str>,
}

impl Schema {
    /// The schema of a reply type.
    pub fn of<R: Reply>() -> Self {
        Self {
            name: R::NAME,
            json: R::schema().to_string().into(),
        }
    }

    /// The schema of a reply type in which some fields take only the given words; a list takes only
    /// such words as its items.
    pub fn with_choices<R: Reply>(fields: &'static [&'static str], choices: &[&str]) -> Self {
        let key = (R::NAME, fields, choices.join("\n"));
        if let Some(json) = with_choices_cache().get(&key) {
            return Self {
                name: R::NAME,
                json: json.clone(),
            };
        }
        let mut schema = R::schema().clone();
        for field in fields {
            let Some(property) = schema
                .get_mut("properties")
                .and_then(|all| all.get_mut(*field))
            else {
                continue;
            };
            let word = if property.get("items").is_some() {
                &mut property["items"]
            } else {
                property
            };
            word["enum"] = choices.iter().copied().map(Value::from).collect();
        }
        let json: Arc<str> = schema.to_string().into();
        let mut cache = with_choices_cache();
        if cache.len() >= MOST_CACHED {
            cache.clear();
        }
        cache.insert(key, json.clone());
        Self {
            name: R::NAME,
            json,
        }
    }
}

type ChoiceCache = HashMap<(&'static str, &'static [&'static str], String), Arc<str>>;

/// Most debates have the options A, B and C: their schemas are made once.
fn with_choices_cache() -> MutexGuard<'static, ChoiceCache> {
    static CACHE: LazyLock<Mutex<ChoiceCache>> = LazyLock::new(Mutex::default);
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST_CACHED: usize = 256;

/// A schema as strict structured output wants it: flat, closed, everything required.
pub fn strict_schema<R: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<R>()
        .to_value();
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(names) = map
                .get("properties")
                .and_then(Value::as_object)
                .map(|properties| properties.keys().cloned().collect::<Vec<_>>())
            {
                map.insert("required".to_owned(), names.into());
                map.insert("additionalProperties".to_owned(), false.into());
            }
            for word in ["default", "format", "minimum", "maximum"] {
                if !map.get(word).is_some_and(Value::is_object) {
                    map.remove(word);
                }
            }
            map.values_mut().for_each(close);
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

/// How a reply was found in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Extracted<R> {
    pub reply: R,
    /// Whether its JSON had to be mended.
    pub mended: bool,
}

/// A reply-specific check: may normalise, must explain what is wrong.
pub type Check<'a, R> = dyn Fn(&mut R) -> Result<(), String> + Send + Sync + 'a;

/// Why there is no reply in a text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unread {
    /// The text ends before its JSON does.
    #[error("the JSON of the reply is not complete: it ends before its last bracket is closed")]
    Cut,
    /// What is wrong with it.
    #[error("{0}")]
    Wrong(String),
}

/// Deeper nesting than this is nobody's answer.
const DEPTH: usize = 64;
/// Brackets followed to their end in one text, so that a text full of them costs linear time.
const CANDIDATES: usize = 48;

/// Finds the one valid reply in a text: bare, fenced, or amid prose. Two different valid replies
/// are an error, not a choice; no meaning is ever read out of prose; and a text that was cut holds
/// none.
pub fn extract<R: Reply>(text: &str, check: &Check<'_, R>) -> Result<Extracted<R>, String> {
    read(text, check).map_err(|unread| unread.to_string())
}

/// Finds the one valid reply in a text that ended so. Behind what was cut at a limit anything may
/// have followed.
pub(crate) fn read_answer<R: Reply>(
    text: &str,
    finish: Finish,
    check: &Check<'_, R>,
) -> Result<R, Unread> {
    match finish {
        Finish::Length => Err(Unread::Cut),
        Finish::Complete => read(text, check).map(|found| found.reply),
    }
}

/// Every decision is made from left to right and never taken back, so that the beginning of a text
/// is read as nothing, or as what the whole text is read as.
fn read<R: Reply>(text: &str, check: &Check<'_, R>) -> Result<Extracted<R>, Unread> {
    if let Ok(mut reply) = serde_json::from_str::<R>(text.trim()) {
        return check(&mut reply)
            .map(|()| Extracted {
                reply,
                mended: false,
            })
            .map_err(Unread::Wrong);
    }
    let mut search = Search {
        found: None,
        complaint: None,
        check,
    };
    for candidate in candidates(after_thinking(text)?)? {
        search.look_at(&candidate).map_err(Unread::Wrong)?;
    }
    search.end().map_err(Unread::Wrong)
}

struct Search<'a, R> {
    found: Option<Extracted<R>>,
    complaint: Option<String>,
    check: &'a Check<'a, R>,
}

impl<R: Reply> Search<'_, R> {
    fn look_at(&mut self, candidate: &Candidate<'_>) -> Result<(), String> {
        let mend = || serde_json::from_str(&repair::mended(candidate.text)?).ok();
        self.take(match serde_json::from_str::<R>(candidate.text) {
            Ok(reply) => Ok((reply, false)),
            // A complete object with the wrong content is the agent's mistake to correct, not ours
            // to mend.
            Err(error) if error.is_data() => Err(error.to_string()),
            Err(error) if candidate.depth > DEPTH => Err(format!("nested too deeply ({error})")),
            Err(error) => mend()
                .ok_or_else(|| error.to_string())
                .map(|reply| (reply, true)),
        })
    }

    /// Takes in what one object of the text is, and whether it was mended.
    fn take(&mut self, parsed: Result<(R, bool), String>) -> Result<(), String> {
        let checked = parsed.and_then(|(mut reply, mended)| {
            (self.check)(&mut reply).map(|()| Extracted { reply, mended })
        });
        match (checked, &self.found) {
            (Ok(new), Some(old)) if new.reply != old.reply => Err(
                "the reply holds two different answers; give exactly one JSON object".to_owned(),
            ),
            (Ok(_), Some(_)) => Ok(()),
            (Ok(new), None) => {
                self.found = Some(new);
                Ok(())
            }
            (Err(complaint), _) => {
                self.complaint.get_or_insert(complaint);
                Ok(())
            }
        }
    }

    /// What all of them come to.
    fn end(self) -> Result<Extracted<R>, String> {
        match (self.found, self.complaint) {
            (Some(found), _) => Ok(found),
            (None, Some(complaint)) => Err(complaint),
            (None, None) => Err("no JSON object in the reply".to_owned()),
        }
    }
}

/// What follows a reasoning block, if there is one. Its beginning is often left out; what starts as
/// a reply has none.
fn after_thinking(text: &str) -> Result<&str, Unread> {
    let start = text.trim_start();
    if start.starts_with(['{', '[', '`']) {
        return Ok(text);
    }
    match text.split_once("</think>") {
        Some((_, answer)) => Ok(answer),
        None if start.starts_with("<think>") => Err(Unread::Cut),
        None => Ok(text),
    }
}

struct Candidate<'a> {
    text: &'a str,
    depth: usize,
}

/// The outermost `{…}` of a text. One that is not closed, or stands in a list that is not, makes
/// the text a cut one: what is whole inside or before it may be anything.
fn candidates(text: &str) -> Result<Vec<Candidate<'_>>, Unread> {
    let mut found = Vec::new();
    let (mut at, mut followed) = (0, 0);
    while let Some(offset) = text[at..]
        .find(['{', '['])
        .filter(|_| followed < CANDIDATES)
    {
        let start = at + offset;
        let is_list = text.as_bytes()[start] == b'[';
        at = start + 1;
        if is_list && !text[at..].trim_start().starts_with(['{', '[']) {
            continue;
        }
        followed += 1;
        let (length, depth) = closed(&text[start..])?;
        if !is_list {
            at = start + length;
            found.push(Candidate {
                text: &text[start..at],
                depth,
            });
        }
    }
    Ok(found)
}

/// The length of what the bracket at the start of `text` encloses, and how deep it nests.
fn closed(text: &str) -> Result<(usize, usize), Unread> {
    let (mut open, mut deepest, mut in_string, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                open.push(if byte == b'{' { b'}' } else { b']' });
                deepest = deepest.max(open.len());
            }
            b'}' | b']' if !in_string => {
                if open.pop() != Some(byte) {
                    return Err(Unread::Wrong(
                        "the brackets of its JSON do not match".to_owned(),
                    ));
                }
                if open.is_empty() {
                    return Ok((at + 1, deepest));
                }
            }
            _ => {}
        }
    }
    Err(Unread::Cut)
}
