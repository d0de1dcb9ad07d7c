//! When two free answers are the same answer: by a normalised form, never by meaning. Pure.
//!
//! The form of an answer is made in this order:
//!
//! 1. on one line: line breaks and runs of white space become one space, ends are trimmed, and what
//!    has no place in a text (controls) becomes a visible mark, so that it is another answer;
//! 2. quotation marks, backticks, asterisks and underscores around the whole go, and so does
//!    punctuation at its end (`. , ; : ! ?`), as often as they alternate;
//! 3. letters become lower case;
//! 4. a number (an optional sign and currency sign, digits, an optional percent sign) loses its
//!    plus sign, the separators of well-formed thousands (`1,000,000`, `1 000`, `1'000`, `1_000`),
//!    and zeros at the end of its decimals: `$1,000.50` is `$1000.5`, `.5` is `0.5`, `-0.0` is `0`.
//!    A point is always the decimal sign; `1,5` is not well-formed and stays as it is.
//!
//! Words inside an answer are not touched: `Paris` and `the city of Paris` are two answers.

use crate::clean;

pub fn normal_form(answer: &str) -> String {
    let line = clean::on_one_line(answer);
    let mut rest = line.split_whitespace().collect::<Vec<_>>().join(" ");
    loop {
        let bare = rest
            .trim()
            .trim_end_matches(['.', ',', ';', ':', '!', '?'])
            .trim();
        let bare = unwrapped(bare);
        if bare.len() == rest.len() {
            break;
        }
        rest = bare.to_owned();
    }
    let lower = rest.to_lowercase();
    number(&lower).unwrap_or(lower)
}

/// Free answers seen so far, each group under the words in which it came first.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    seen: Vec<(String, String)>,
}

impl Groups {
    /// The words of the group an answer belongs to; its own, on one line, if it is the first of its
    /// kind.
    pub fn shown(&mut self, answer: &str) -> String {
        let form = normal_form(answer);
        if let Some((_, shown)) = self.seen.iter().find(|(known, _)| *known == form) {
            return shown.clone();
        }
        let shown = clean::on_one_line(answer).trim().to_owned();
        self.seen.push((form, shown.clone()));
        shown
    }
}

/// The text without a pair of marks around it.
fn unwrapped(text: &str) -> &str {
    const PAIRS: [(char, char); 7] = [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('*', '*'),
        ('_', '_'),
        ('“', '”'),
        ('‘', '’'),
    ];
    let inside = |(open, close): (char, char)| {
        text.strip_prefix(open)?
            .strip_suffix(close)
            .filter(|inside| !inside.trim().is_empty())
    };
    PAIRS.into_iter().find_map(inside).unwrap_or(text)
}

/// A number in its shortest form; `None` when the text is not one.
fn number(text: &str) -> Option<String> {
    let (negative, rest) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let currency = rest
        .chars()
        .next()
        .filter(|sign| "$€£¥".contains(*sign))
        .map(String::from)
        .unwrap_or_default();
    let rest = rest[currency.len()..].trim_start();
    let (rest, percent) = rest
        .strip_suffix('%')
        .map_or((rest, ""), |rest| (rest.trim_end(), "%"));
    let (whole, decimals) = rest.split_once('.').unwrap_or((rest, ""));
    let whole = match whole {
        "" if !decimals.is_empty() => "0".to_owned(),
        whole => digits(whole)?,
    };
    if !decimals.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let decimals = decimals.trim_end_matches('0');
    let value = if decimals.is_empty() {
        whole
    } else {
        format!("{whole}.{decimals}")
    };
    let sign = if negative && value.contains(|c: char| ('1'..='9').contains(&c)) {
        "-"
    } else {
        ""
    };
    Some(format!("{sign}{currency}{value}{percent}"))
}

/// Digits, plain or in well-formed groups of three with one kind of separator.
fn digits(text: &str) -> Option<String> {
    let Some(separator) = text.chars().find(|c| !c.is_ascii_digit()) else {
        return (!text.is_empty()).then(|| text.to_owned());
    };
    let groups: Vec<&str> = text.split(separator).collect();
    let formed = ", '’_".contains(separator)
        && (1..=3).contains(&groups[0].len())
        && groups[1..].iter().all(|group| group.len() == 3)
        && groups
            .iter()
            .all(|group| group.chars().all(|c| c.is_ascii_digit()));
    formed.then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_the_same_and_answers_that_are_not() {
        let same: [&[&str]; 8] = [
            &[
                "Paris",
                " paris ",
                "PARIS.",
                "\"Paris\"",
                "**Paris**!",
                "“Paris”.",
                "`paris`",
            ],
            &[
                "1000", "1,000", "1 000", "1'000", "1_000.00", "+1000", "1000.",
            ],
            &["$1,000.50", "$1000.5", "$ 1000.50"],
            &["0.5", ".5", ".50"],
            &["0", "-0", "0.0"],
            &["-12", "−12.0"],
            &["12%", "12.0 %"],
            &["the  blue\none", "The blue one"],
        ];
        let different = [
            "1.000",
            "1,5",
            "1,00",
            "10,00",
            "1,0000",
            "Paris, France",
            "$1000",
            "1000%",
            "12",
            "A",
            "é",
            "?",
            "1.2.3",
            "1,000 km",
            "00",
            "Pa\u{7}ris",
        ];
        let mut forms: Vec<String> = Vec::new();
        for group in same {
            let first = normal_form(group[0]);
            for answer in group {
                assert_eq!(normal_form(answer), first, "{answer}");
            }
            forms.push(first);
        }
        forms.extend(different.iter().map(|answer| normal_form(answer)));
        for (at, form) in forms.iter().enumerate() {
            assert!(
                !forms[..at].contains(form),
                "{form:?} stands for two different answers"
            );
            assert_eq!(&normal_form(form), form, "a form is its own form");
        }
    }

    #[test]
    fn a_group_keeps_its_first_words() {
        let mut groups = Groups::default();
        let shown =
            ["1,000", "1000.0", "Paris", "1000", "PARIS!"].map(|answer| groups.shown(answer));
        assert_eq!(shown, ["1,000", "1,000", "Paris", "1,000", "Paris"]);
    }
}
