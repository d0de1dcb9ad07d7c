//! What a property of a schema asks for, read from its name and its description. The tables here
//! are hints about words, not about formats.

use super::material::{Entry, Material};
use serde_json::Value;

/// Where a property of that name finds what it names, if not in a part of the same name.
const LISTED_IN: [(&str, &[&str]); 9] = [
    ("applied", &["operations"]),
    ("argument", &["other"]),
    ("claim", &["others", "claims"]),
    ("convinced_by", &["others"]),
    ("fixed", &["claims"]),
    ("maintained", &["answers"]),
    ("needs", &[]),
    ("ranking", &["candidates"]),
    ("strongest", &["first", "second"]),
];

/// Lists in which nothing is better than something made up.
pub const EMPTY: [&str; 4] = ["attacks", "calls", "questions", "remaining"];

/// Points that a stub cannot have.
pub const WORTHLESS: [&str; 2] = ["correctness", "test_coverage"];

/// What the reply to a field is made of besides its type.
pub fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// Whether a field holds the name of something that the prompt lists.
pub fn is_name(field: &str, about: &str) -> bool {
    let words = || about.split(|c: char| !c.is_alphanumeric());
    let says = words().any(|word| word == "name" || word == "names");
    field != "name" && field != "title" && (says || about.starts_with("Which"))
}

/// What a field that holds a name can name.
pub fn named<'a>(material: &Material<'a>, field: &str, about: &str) -> Vec<Entry<'a>> {
    let parts = match LISTED_IN.iter().find(|(known, _)| *known == field) {
        Some((_, [])) => return Vec::new(),
        Some((_, parts)) => parts.iter().map(|part| (*part).to_owned()).collect(),
        None => vec![plural(field)],
    };
    let sample = quoted_words(about).first().copied();
    let exists = parts.iter().any(|part| material.part(part).is_some());
    let mut entries = match (exists, sample) {
        (true, _) => material.entries(&parts),
        (false, Some(_)) => material.entries(&[]),
        (false, None) => Vec::new(),
    };
    // Lists may hold code and other texts: where some lines begin with a label, only they count.
    if sample.is_none() && entries.iter().any(|entry| is_label(entry.name)) {
        entries.retain(|entry| is_label(entry.name) || is_numbered(entry.name));
    }
    let has_numbers = entries.iter().any(|entry| is_numbered(entry.name));
    entries.retain(|entry| match sample {
        Some(sample) if sample.contains('#') => is_numbered(entry.name),
        Some(sample) => shape(entry.name) == shape(sample),
        None => !has_numbers || is_numbered(entry.name),
    });
    entries
}

/// Whether a name ends in a number of its own, as `risk·1#2` and `#2` do.
fn is_numbered(name: &str) -> bool {
    let number = name.split_once('#').map(|(_, number)| number);
    number.is_some_and(is_digits) && !name.contains(' ')
}

/// Whether a name is a capital letter and a number, as `C1` is.
fn is_label(name: &str) -> bool {
    name.strip_prefix(|c: char| c.is_ascii_uppercase())
        .is_some_and(is_digits)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit())
}

/// A name with its digits alike: `C12` looks as `C1` does.
fn shape(name: &str) -> String {
    let mut shape = String::new();
    for letter in name.chars() {
        match letter {
            '0'..='9' if shape.ends_with('9') => {}
            '0'..='9' => shape.push('9'),
            other => shape.push(other),
        }
    }
    shape
}

fn plural(field: &str) -> String {
    let field = field.trim_end_matches("_id").trim_end_matches("_name");
    match field.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if field.ends_with('s') => field.to_owned(),
        None => format!("{field}s"),
    }
}

/// The words that a schema allows, where it lists them: as an enum, as constants, or as `a`, `b` or
/// `c` in its description.
pub fn choices(schema: &Value) -> Vec<Value> {
    if let Some(listed) = schema["enum"].as_array() {
        return listed.clone();
    }
    let branches = [&schema["oneOf"], &schema["anyOf"]];
    for list in branches.into_iter().filter_map(Value::as_array) {
        let words: Option<Vec<Vec<Value>>> = list.iter().map(constants).collect();
        if let Some(words) = words {
            return words.concat();
        }
    }
    let said = quoted_words(description(schema));
    let is_list = said.len() > 1 && description(schema).contains("` or `");
    let words = said
        .into_iter()
        .filter(|_| is_list && schema["type"] == "string");
    words.map(Value::from).collect()
}

fn constants(branch: &Value) -> Option<Vec<Value>> {
    match (branch.get("const"), branch["enum"].as_array()) {
        (Some(word), _) => Some(vec![word.clone()]),
        (None, Some(words)) => Some(words.clone()),
        (None, None) => None,
    }
}

fn quoted_words(about: &str) -> Vec<&str> {
    about.split('`').skip(1).step_by(2).collect()
}

/// How many are asked for: `one to five`, `at least one`.
pub fn count(about: &str) -> Option<(usize, usize)> {
    range(about, |word| {
        const NUMBERS: [&str; 8] = [
            "one", "two", "three", "four", "five", "six", "seven", "eight",
        ];
        NUMBERS
            .iter()
            .position(|known| word.eq_ignore_ascii_case(known))
            .map(|at| at + 1)
    })
}

/// The range of a number: `from 0 to 1`.
pub fn numbers(about: &str) -> Option<(f64, f64)> {
    range(about, |word| word.parse().ok())
}

/// Two numbers with `to` between them.
fn range<T>(about: &str, read: impl Fn(&str) -> Option<T>) -> Option<(T, T)> {
    let words: Vec<&str> = about
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.windows(3).find_map(|three| match three {
        [low, "to", high] => Some((read(low)?, read(high)?)),
        _ => None,
    })
}

/// What a part weighs when two are compared: the same in whichever place it stands, so its numbers
/// do not count.
pub fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphabetic()).collect()
}
