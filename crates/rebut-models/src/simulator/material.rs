//! What a prompt gives to work with: passages to quote, and the names of what is listed in it.

use rebut_engine::{clean::on_one_line, prompt::Prompt};

/// The material of a prompt: what stands between its fences, without rules and roles.
pub struct Material<'a> {
    parts: Vec<(&'static str, &'a str)>,
    /// What can be quoted, in the order of the text.
    pub passages: Vec<&'a str>,
}

/// Something that a prompt lists by a name.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub name: &'a str,
    pub text: &'a str,
    /// The last line before it that is not indented, or its own.
    pub under: &'a str,
}

/// Parts that hold the case. Where they say little, everything is quoted.
const CASE: [&str; 3] = ["context", "text", "notes"];

/// Longest passage that is quoted, in words.
const WORDS: usize = 16;

impl<'a> Material<'a> {
    pub fn of(prompt: &'a Prompt) -> Self {
        let parts: Vec<_> = prompt.material().collect();
        let from = |wanted: bool| {
            let chosen = parts
                .iter()
                .filter(move |(name, _)| CASE.contains(name) == wanted);
            chosen.flat_map(|(_, text)| passages(text))
        };
        let mut passages: Vec<&str> = from(true).collect();
        if passages.len() < 3 {
            passages.extend(from(false));
        }
        let mut known = std::collections::HashSet::new();
        passages.retain(|passage| known.insert(*passage));
        Self { parts, passages }
    }

    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        self.parts.iter().copied()
    }

    /// What stands in the part of that name.
    pub fn part(&self, name: &str) -> Option<&'a str> {
        self.parts()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| text)
    }

    /// What the parts of those names list; all parts but the speaker's own where none is named.
    pub fn entries(&self, names: &[String]) -> Vec<Entry<'a>> {
        let is_meant = |name: &str| match names {
            [] => name != "own",
            names => names.iter().any(|known| known == name),
        };
        let mut found: Vec<Entry<'a>> = Vec::new();
        for entry in self
            .parts()
            .filter(|(name, _)| is_meant(name))
            .flat_map(|(_, text)| entries(text))
        {
            if found.iter().all(|known| known.name != entry.name) {
                found.push(entry);
            }
        }
        found
    }

    /// What listed operations ask to add, each with its name.
    pub fn additions(&self) -> Vec<(&'a str, &'a str)> {
        let mut name = "";
        let lines = self.part("operations").unwrap_or_default().lines();
        let added = lines.filter_map(|line| {
            if !line.starts_with(' ') {
                name = line.split(". ").next().unwrap_or_default();
            }
            Some((name, line.trim_start().strip_prefix("do: ")?))
        });
        added.collect()
    }

    /// The X and Y of "Should we X or Y?", or doing it and leaving it.
    pub fn alternatives(&self) -> Vec<String> {
        let question = on_one_line(self.part("question").unwrap_or_default());
        let mut sentences = question.split(['?', '.', '!']);
        let pair = sentences.find_map(|one| one.rsplit_once(" or "));
        let (first, last) = pair.unwrap_or_default();
        let is_opening = |word: &&str| OPENINGS.contains(&word.to_lowercase().as_str());
        let mut labels: Vec<String> = Vec::new();
        for part in first.split(',').chain([last]) {
            let words = part.split_whitespace().skip_while(is_opening).take(6);
            let label = words.collect::<Vec<_>>().join(" ");
            if !label.is_empty() && !labels.contains(&label) && labels.len() < 5 {
                labels.push(label);
            }
        }
        match labels.len() {
            0 | 1 => ["Do it", "Do a part of it", "Leave it"]
                .map(str::to_owned)
                .to_vec(),
            _ => labels,
        }
    }
}

/// Words before the first of the alternatives.
const OPENINGS: [&str; 16] = [
    "should", "shall", "do", "does", "can", "is", "are", "we", "i", "it", "our", "to", "use",
    "choose", "take", "either",
];

/// Lines that begin with a name: `J1#2: …`, `A. …`, `- market: …`, `C1`.
fn entries(part: &str) -> Vec<Entry<'_>> {
    let mut under = "";
    let mut found = Vec::new();
    for line in part.lines() {
        let bare = line.trim_start();
        if bare.len() == line.len() {
            under = line;
        }
        let bare = bare.trim_start_matches("- ");
        let end = [": ", " (", ". ", " — "]
            .iter()
            .filter_map(|mark| bare.find(mark))
            .min();
        let (name, text) = bare.split_at(end.unwrap_or(bare.len()));
        let name = name.trim_end_matches([':', '.']);
        let is_name = name.chars().any(char::is_alphanumeric)
            && name.chars().count() <= 40
            && name.split_whitespace().count() <= 4;
        if is_name {
            let text = text.trim_start_matches([':', '.', '—', ' ']);
            found.push(Entry { name, text, under });
        }
    }
    found
}

/// The sentences of a text, without headings and marks; of a change those it adds.
fn passages(text: &str) -> Vec<&str> {
    let added = |line: &'_ str| line.starts_with('+') && !line.starts_with("+++");
    let pieces: Vec<&str> = if text.lines().any(|line| line.starts_with("@@ ")) {
        let lines = text.lines().filter(|line| added(line));
        lines.flat_map(|line| sentences(&line[1..])).collect()
    } else {
        sentences(text)
    };
    let bare = pieces.iter().filter_map(|piece| {
        let piece = piece.trim();
        let bare = piece
            .trim_start_matches(['-', '*', '>', '+', ' '])
            .trim_end_matches(['*', '.']);
        let is_prose = !piece.starts_with(['#', '`', '(']) && !bare.ends_with(':');
        is_prose.then(|| short(bare))
    });
    bare.filter(|piece| piece.split_whitespace().count() > 2)
        .collect()
}

/// A text cut where sentences, cells of a table and items of a list end.
fn sentences(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut line) = (Vec::new(), 0, 0);
    for (at, mark) in text.char_indices() {
        let rest = &text[at + mark.len_utf8()..];
        let ends = match mark {
            '.' | '?' | '!' => rest.starts_with([' ', '\n']),
            '|' => true,
            '\n' => {
                text[line..].starts_with('#')
                    || text[line..at].trim_end().ends_with(':')
                    || rest
                        .trim_start_matches(' ')
                        .starts_with(['\n', '-', '*', '#', '|', '>'])
            }
            _ => false,
        };
        if ends {
            found.push(&text[start..at]);
            start = at + mark.len_utf8();
        }
        if mark == '\n' {
            line = at + 1;
        }
    }
    found.push(&text[start..]);
    found
}

/// The first words of a text, as they stand there.
pub fn short(text: &str) -> &str {
    first_words(text, WORDS).trim_end_matches([',', ';', ':', '.', ' '])
}

/// At most so many words from the beginning.
pub fn first_words(text: &str, most: usize) -> &str {
    let ends = text
        .char_indices()
        .filter(|(_, c)| c.is_whitespace())
        .map(|(at, _)| at);
    let mut words = 0;
    let mut before = 0;
    for end in ends {
        words += usize::from(!text[before..end].trim().is_empty());
        if words == most {
            return &text[..end];
        }
        before = end;
    }
    text
}
