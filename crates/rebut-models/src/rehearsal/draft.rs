//! Drafting options for a question that came without any: from lists in the text, from "X or Y", or
//! from doing more and less.

use super::{
    names::Names,
    passages::passages,
    words::{is_common, stem, words},
};
use rebut_engine::{
    clean::{on_one_line, shortened},
    prompt::Prompt,
};
use serde_json::{Value, json};

/// Two to five options.
pub fn options(prompt: &Prompt) -> Value {
    let question = on_one_line(prompt.part("question").unwrap_or(""));
    let context = prompt.part("context").unwrap_or("");
    let labels = [listed(context), alternatives(&question)]
        .into_iter()
        .find(|labels| labels.len() >= 2);
    let drafted: Vec<(String, String)> = match labels {
        Some(labels) => labels
            .iter()
            .map(|label| (label.clone(), describe(label, &labels, context)))
            .collect(),
        None => more_or_less(&question),
    };
    let list: Vec<Value> = drafted
        .into_iter()
        .map(|(label, description)| json!({ "label": label, "description": description }))
        .collect();
    json!({ "options": list })
}

/// Most options drafted.
const MOST: usize = 5;
/// Longest label, in words.
const LABEL_WORDS: usize = 6;

/// Options the context lists itself: `Option A: …` lines, or bullets below a line about options.
fn listed(context: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut below = false;
    for line in context.lines() {
        let trimmed = line.trim().trim_start_matches(['#', '*', '_', ' ']);
        let bullet = line
            .trim()
            .strip_prefix("- ")
            .or_else(|| line.trim().strip_prefix("* "));
        if let Some(name) = lettered(bullet.unwrap_or(trimmed)) {
            push(&mut found, name);
        } else if let Some(name) = bullet.filter(|_| below) {
            push(
                &mut found,
                name.split([':', '.', '—']).next().unwrap_or(name),
            );
        } else if !trimmed.is_empty() {
            let announces = words(trimmed).take(8).any(|word| {
                ["options", "alternatives", "candidates", "choices"]
                    .iter()
                    .any(|known| word.eq_ignore_ascii_case(known))
            });
            below = announces && (trimmed.ends_with(':') || line.trim_start().starts_with('#'));
        }
    }
    found
}

/// The name in `Option A: name` or `Option 2 — name`.
fn lettered(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("Option ")
        .or_else(|| line.strip_prefix("option "))?;
    let mark = rest
        .split(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .filter(|mark| (1..3).contains(&mark.len()))?;
    let name = rest[mark.len()..].trim_start_matches([':', ')', '.', '-', '–', '—', ' ', '*']);
    (name.len() < rest.len() - mark.len()).then(|| name.split(['.', ';']).next().unwrap_or(name))
}

/// The X, Y and Z of "Should we X, Y or Z?".
fn alternatives(question: &str) -> Vec<String> {
    let sentence = question
        .split_inclusive('?')
        .find(|part| {
            [" or ", " vs ", " vs. ", " versus "]
                .iter()
                .any(|word| part.contains(word))
        })
        .unwrap_or("");
    let sentence = sentence
        .rsplit_once(": ")
        .map_or(sentence, |(_, list)| list)
        .trim()
        .trim_end_matches(['?', '.', '!']);
    let even = sentence
        .replace(" vs. ", " or ")
        .replace(" vs ", " or ")
        .replace(" versus ", " or ")
        .replace(", or ", " or ");
    let Some((first, last)) = opening_cut(&even).rsplit_once(" or ") else {
        return Vec::new();
    };
    let mut parts: Vec<&str> = first
        .split(" or ")
        .flat_map(|part| part.split(", "))
        .collect();
    // "Redis or Memcached for sessions": what follows "for" belongs to both.
    let last = last
        .split_once(" for ")
        .filter(|_| !first.contains(" for "))
        .map_or(last, |(name, _)| name);
    parts.push(last);
    let mut found = Vec::new();
    for part in parts {
        push(
            &mut found,
            part.trim()
                .trim_start_matches("either ")
                .trim_start_matches("to "),
        );
    }
    found
}

/// A question without its opening: "Should we use", "Is it better to", "Do we want".
fn opening_cut(question: &str) -> &str {
    const OPENINGS: &[&str] = &[
        "should", "shall", "do", "does", "can", "could", "would", "will", "is", "are", "we", "i",
        "you", "our", "team", "it", "better", "to", "want", "use", "choose", "pick", "adopt",
        "take", "go", "with", "which", "what", "the", "prefer", "be",
    ];
    let mut rest = question;
    while let Some((word, more)) = rest.split_once(' ') {
        if !OPENINGS
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
        {
            break;
        }
        rest = more;
    }
    rest
}

fn push(found: &mut Vec<String>, name: &str) {
    let label = label(name);
    let new = found
        .iter()
        .all(|known| !known.eq_ignore_ascii_case(&label));
    if label.chars().any(char::is_alphanumeric) && new && found.len() < MOST {
        found.push(label);
    }
}

/// At most six words, first letter large.
fn label(name: &str) -> String {
    let short: Vec<&str> = name.split_whitespace().take(LABEL_WORDS).collect();
    let line = short.join(" ");
    let line = line.trim_matches(|c: char| "*_`\"'.,:;?!".contains(c));
    let mut chars = line.chars();
    let large: String = chars
        .next()
        .map(|first| first.to_uppercase().collect())
        .unwrap_or_default();
    shortened(&(large + chars.as_str()), 60).into_owned()
}

/// What the context says about a label, else what choosing it excludes.
fn describe(label: &str, all: &[String], context: &str) -> String {
    let stems: Vec<String> = words(label)
        .filter(|word| !is_common(word))
        .map(stem)
        .collect();
    let shared = |stem: &String| {
        all.iter()
            .filter(|other| words(other).any(|word| super::words::stem(word) == *stem))
            .count()
            > 1
    };
    let own: Vec<&String> = stems.iter().filter(|stem| !shared(stem)).collect();
    let found = passages(context, &Names::parse(""));
    let said = found.iter().find(|passage| {
        passage.topic.is_empty()
            && words(passage.text).count() > 3
            && words(passage.text).any(|word| own.contains(&&stem(word)))
    });
    match said {
        Some(passage) => shortened(&on_one_line(passage.text), 200).into_owned(),
        None => {
            let others: Vec<&str> = all
                .iter()
                .filter(|other| *other != label)
                .map(String::as_str)
                .collect();
            format!("Decide for this and against {}.", others.join(" and "))
        }
    }
}

/// For "Should we X?" and everything else: do it, do part of it, leave it.
fn more_or_less(question: &str) -> Vec<(String, String)> {
    let subject = opening_cut(question.trim_end_matches(['?', '.', '!', ' ']));
    let subject = if subject.chars().any(char::is_alphanumeric) {
        subject
    } else {
        "the proposal"
    };
    let short = shortened(subject, 120);
    vec![
        (
            label(&format!("Yes: {subject}")),
            format!("Commit to it in full: {short}."),
        ),
        (
            "A small part first".to_owned(),
            format!("Try the smallest useful part of it, then decide again: {short}."),
        ),
        (
            "Leave things as they are".to_owned(),
            format!("Spend nothing on it for now: {short}."),
        ),
    ]
}
