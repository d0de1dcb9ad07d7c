//! The options, and how a text names them: by letter, by the words of the label, by the words of
//! the description.

use super::words::{is_common, stem, words};
use std::collections::HashMap;

/// One option as the prompt lists it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice<'a> {
    /// Its letter.
    pub letter: &'a str,
    /// Its name.
    pub label: &'a str,
    /// What it means; may be empty.
    pub description: &'a str,
    /// How far it goes beyond the others by its words: above zero does more, below does less.
    pub reach: f64,
}

/// An option's number and how strongly a text speaks of it.
pub type About = Vec<(usize, f64)>;

/// The options and the words that point to them.
pub struct Names<'a> {
    /// In the order of the prompt.
    pub options: Vec<Choice<'a>>,
    pointers: HashMap<String, About>,
}

impl<'a> Names<'a> {
    /// Reads `A. Label — description`, one a line.
    pub fn parse(text: &'a str) -> Self {
        let mut options: Vec<Choice<'a>> = Vec::new();
        for line in text.lines() {
            if let Some(option) =
                parse_line(line).filter(|new| options.iter().all(|old| old.letter != new.letter))
            {
                options.push(option);
            }
        }
        let mean =
            options.iter().map(|option| option.reach).sum::<f64>() / options.len().max(1) as f64;
        options.iter_mut().for_each(|option| option.reach -= mean);
        let pointers = pointers(&options);
        Self { options, pointers }
    }

    /// The options a text names; only the clearest ones when it names several.
    pub fn named(&self, text: &str) -> About {
        let mut strength = vec![0.0; self.options.len()];
        let mut seen = Vec::new();
        for word in words(text).filter(|word| !is_common(word)) {
            let stem = stem(word);
            if let Some(about) = self.pointers.get(&stem).filter(|_| !seen.contains(&stem)) {
                about
                    .iter()
                    .for_each(|(option, weight)| strength[*option] += weight);
                seen.push(stem);
            }
        }
        for option in self.lettered(text) {
            strength[option] += 3.0;
        }
        let top = strength.iter().copied().fold(0.0, f64::max);
        let clear = |strength: &f64| *strength >= 0.3 && *strength >= top * 0.6;
        strength
            .iter()
            .enumerate()
            .filter(|(_, strength)| clear(strength))
            .map(|(option, strength)| (option, strength.min(1.0)))
            .collect()
    }

    /// Options named by letter: "Option A", "(A)", or "A:" and "A)" at the start. A lone "A" is an
    /// article.
    fn lettered(&self, text: &str) -> Vec<usize> {
        let start = text.trim_start().trim_start_matches(['*', '_', '#', ' ']);
        let head = start
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or("");
        let marked = start[head.len()..]
            .trim_start_matches(['*', '_'])
            .starts_with([':', ')', '.']);
        let mut letters = if marked { vec![head] } else { Vec::new() };
        let mut before = "";
        for word in text.split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let introduced = ["option", "options", "alternative", "variant", "choice"]
                .iter()
                .any(|intro| before.eq_ignore_ascii_case(intro));
            if introduced || (word.starts_with('(') && word.contains(')')) {
                letters.push(bare);
            }
            before = bare;
        }
        let known = |letter: &&str| {
            self.options
                .iter()
                .position(|option| option.letter == *letter)
        };
        letters.iter().filter_map(known).collect()
    }
}

fn parse_line(line: &str) -> Option<Choice<'_>> {
    let (letter, rest) = line.trim().split_once(". ")?;
    let is_letter = !letter.is_empty()
        && letter.len() <= 3
        && letter.chars().all(|c| c.is_ascii_alphanumeric());
    let (label, description) = rest.split_once(" — ").unwrap_or((rest, ""));
    let reach = (reach(label) + 0.5 * reach(description)).clamp(-1.5, 1.5);
    (is_letter && !label.trim().is_empty()).then(|| Choice {
        letter,
        label: label.trim(),
        description: description.trim(),
        reach,
    })
}

/// Which options each distinctive word points to. A word of many options says little about each.
fn pointers(options: &[Choice<'_>]) -> HashMap<String, About> {
    let mut pointers: HashMap<String, About> = HashMap::new();
    for (number, option) in options.iter().enumerate() {
        for (text, weight) in [(option.label, 1.0), (option.description, 0.35)] {
            for word in words(text)
                .filter(|word| !is_common(word) && !is_vague(word) && word.chars().count() > 1)
            {
                let about = pointers.entry(stem(word)).or_default();
                if about.iter().all(|(known, _)| *known != number) {
                    about.push((number, weight));
                }
            }
        }
    }
    pointers.retain(|_, about| about.len() == 1 || about.len() < options.len());
    for about in pointers.values_mut() {
        let share = 1.0 / about.len() as f64;
        about.iter_mut().for_each(|(_, weight)| *weight *= share);
    }
    pointers
}

/// Words that stand in any text, and so point to nobody.
fn is_vague(word: &str) -> bool {
    const VAGUE: &[&str] = &[
        "record",
        "records",
        "data",
        "user",
        "users",
        "customer",
        "customers",
        "team",
        "app",
        "product",
        "time",
        "work",
        "one",
        "two",
        "new",
        "old",
    ];
    VAGUE.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether words promise more or less than the rest.
fn reach(text: &str) -> f64 {
    const MORE: &[&str] = &[
        "full",
        "fully",
        "complete",
        "new",
        "rewrite",
        "rebuild",
        "everything",
        "entire",
        "whole",
        "custom",
        "own",
        "build",
        "replace",
        "migrate",
        "advanced",
        "distributed",
        "both",
        "microservices",
        "native",
        "dedicated",
        "everywhere",
        "split",
        "all",
        "realtime",
        "editing",
    ];
    const LESS: &[&str] = &[
        "only",
        "limited",
        "keep",
        "simple",
        "stay",
        "minimal",
        "basic",
        "existing",
        "current",
        "small",
        "partial",
        "later",
        "defer",
        "postpone",
        "nothing",
        "no",
        "not",
        "wait",
        "buy",
        "reuse",
        "incremental",
        "pilot",
        "read",
        "leave",
        "monolith",
        "without",
        "skip",
        "status",
    ];
    let count = |list: &[&str]| {
        words(text)
            .filter(|word| list.iter().any(|known| word.eq_ignore_ascii_case(known)))
            .count() as f64
    };
    (0.6 * (count(MORE) - count(LESS))).clamp(-1.2, 1.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_options_by_letter_label_and_description() {
        let names = Names::parse(
            "A. Full offline editing — local database with sync\nB. Read-only offline cache\nC. \
             Online only",
        );
        let rows: &[(&str, &[usize])] = &[
            ("Option B is enough", &[1]),
            ("A: needs a conflict dialog", &[0]),
            ("we prefer (C)", &[2]),
            ("A dialog is needed", &[]),
            ("The cache expires", &[1]),
            ("Editing on the train", &[0]),
            ("Sync takes long", &[0]),
            ("Offline matters", &[0, 1]),
        ];
        for (text, wanted) in rows {
            let found: Vec<usize> = names
                .named(text)
                .iter()
                .map(|(option, _)| *option)
                .collect();
            assert_eq!(found, *wanted, "{text}");
        }
        assert!(names.options[0].reach > names.options[1].reach);
    }
}
