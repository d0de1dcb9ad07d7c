//! Finding texts by the words they share with a question: BM25 over few and small texts. Pure;
//! equal input gives equal order everywhere.

use std::collections::{BTreeMap, BTreeSet};

/// The texts that share words with the query, best first; of equals the earlier one first. What
/// shares nothing is not among them.
pub fn rank<T: AsRef<str>>(query: &str, texts: &[T]) -> Vec<Found> {
    let wanted: BTreeSet<String> = words(query).into_iter().collect();
    let counted: Vec<Counted> = texts
        .iter()
        .map(|text| Counted::of(text.as_ref(), &wanted))
        .collect();
    let all = Collection::of(&counted);
    let scored = counted.iter().enumerate().map(|(at, text)| Found {
        at,
        score: all.score(text),
    });
    let mut found: Vec<Found> = scored.filter(|found| found.score > 0.0).collect();
    // The sort is stable: texts that fit equally well keep their order.
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    found
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Its place among the texts that were given.
    pub at: usize,
    /// How well it fits, over 0. It says something beside the others of the same search only.
    pub score: f64,
}

/// How soon more of the same word stops to count.
const SATURATION: f64 = 1.2;
/// How much the length of a text counts against it.
const LENGTH: f64 = 0.75;

/// Words that stand in every text.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "its", "not",
    "of", "on", "or", "that", "the", "this", "to", "was", "with",
];

/// How often a text holds each of the wanted words, and how many words it has.
struct Counted {
    times: BTreeMap<String, usize>,
    length: usize,
}

impl Counted {
    fn of(text: &str, wanted: &BTreeSet<String>) -> Self {
        let words = words(text);
        let length = words.len();
        let mut times = BTreeMap::new();
        for word in words.into_iter().filter(|word| wanted.contains(word)) {
            *times.entry(word).or_default() += 1;
        }
        Self { times, length }
    }
}

/// What must be known of all texts to judge one.
struct Collection<'a> {
    /// In how many texts each word stands.
    holders: BTreeMap<&'a str, usize>,
    texts: f64,
    mean_length: f64,
}

impl<'a> Collection<'a> {
    fn of(texts: &'a [Counted]) -> Self {
        let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
        for word in texts.iter().flat_map(|text| text.times.keys()) {
            *holders.entry(word).or_default() += 1;
        }
        let words: usize = texts.iter().map(|text| text.length).sum();
        Self {
            holders,
            texts: float(texts.len()),
            mean_length: float(words) / float(texts.len().max(1)),
        }
    }

    /// The sum over the words a text shares with the query, always in the order of the alphabet.
    fn score(&self, text: &Counted) -> f64 {
        let length = 1.0 - LENGTH + LENGTH * float(text.length) / self.mean_length.max(1.0);
        let of_word = |(word, times): (&String, &usize)| {
            let holders = float(self.holders.get(word.as_str()).copied().unwrap_or_default());
            // Always over 0: a word that all texts hold counts little, and never against one.
            let rarity = (1.0 + (self.texts - holders + 0.5) / (holders + 0.5)).ln();
            let times = float(*times);
            rarity * times * (SATURATION + 1.0) / (times + SATURATION * length)
        };
        text.times.iter().map(of_word).sum()
    }
}

#[allow(clippy::cast_precision_loss, reason = "nobody keeps 2^52 words")]
fn float(count: usize) -> f64 {
    count as f64
}

/// The words of a text as they are compared: lower case, `parseDate` and `parse_date` in two, a
/// plural as its singular, a word of a script without spaces by its signs, and nothing that stands
/// in every text.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut after_lower) = (String::new(), false);
    for c in text.chars().filter(|c| !is_accent(*c)) {
        let begins = !c.is_alphanumeric() || stands_alone(c) || (after_lower && c.is_uppercase());
        if begins {
            words.push(std::mem::take(&mut word));
        }
        after_lower = c.is_lowercase() || c.is_numeric();
        if stands_alone(c) {
            words.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.push(word);
    let kept = words
        .into_iter()
        .filter(|word| !word.is_empty() && !STOP_WORDS.contains(&word.as_str()));
    kept.map(singular).collect()
}

/// A mark over or under the letter before it.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// A sign of a script that is written without spaces.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn singular(mut word: String) -> String {
    let is_plural = word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if is_plural {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn words_are_compared_as_people_mean_them() {
        let rows: &[(&str, &[&str])] = &[
            ("", &[]),
            ("The end of the list", &["end", "list"]),
            (
                "parseDate parse_dates HTTPServer2Go",
                &["parse", "date", "parse", "date", "httpserver2", "go"],
            ),
            ("Zürich—ÄPFEL cafe\u{301}", &["zürich", "äpfel", "cafe"]),
            ("東京 and Tokyo", &["東", "京", "tokyo"]),
            (
                "class status this basis dates",
                &["class", "status", "basis", "date"],
            ),
            ("\u{1b}[31m;;; --", &["31m"]),
        ];
        for (text, expected) in rows {
            assert_eq!(words(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn what_fits_better_comes_first() {
        let texts = [
            "Sort a list of numbers",
            "Dates have several formats; parse each date with its own",
            "A date",
            "Sockets may close early",
            "Sort a list of numbers",
        ];
        let order = |query: &str| {
            rank(query, &texts)
                .iter()
                .map(|found| found.at)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            order("parsing a date in several formats"),
            [1, 2],
            "two words before one, and only those that share any"
        );
        assert_eq!(order("sort numbers"), [0, 4], "equals keep their order");
        assert_eq!(
            order("date"),
            [2, 1],
            "what says little else is more about it"
        );
        for nothing in ["", "the of and", "zebra", "—"] {
            assert_eq!(order(nothing), [0; 0], "{nothing:?}");
        }
        assert_eq!(rank::<&str>("date", &[]), []);
    }

    /// Texts over few words, so that they share some.
    fn text() -> impl Strategy<Value = Vec<&'static str>> {
        vec(
            prop::sample::select(vec![
                "sort", "list", "date", "parse", "empty", "tree", "naïve", "京",
            ]),
            0..12,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn only_what_shares_a_word_is_found_and_always_in_one_order(query in text(), texts in vec(text(), 0..10)) {
            let texts: Vec<String> = texts.iter().map(|text| text.join(" ")).collect();
            let found = rank(&query.join(" "), &texts);
            let shares = |text: &String| text.split(' ').any(|word| query.contains(&word));
            for (at, text) in texts.iter().enumerate() {
                prop_assert_eq!(found.iter().any(|found| found.at == at), shares(text), "{}", text);
            }
            prop_assert!(found.iter().all(|found| found.score > 0.0 && found.score.is_finite()));
            let in_order = |pair: &[Found]| pair[0].score > pair[1].score || (pair[0].score == pair[1].score && pair[0].at < pair[1].at);
            prop_assert!(found.windows(2).all(in_order), "{:?}", found);
            prop_assert_eq!(found, rank(&query.join(" "), &texts));
        }

        /// One text that holds each wanted word as often as another, and is not longer, is never
        /// behind it, whatever else lies about.
        #[test]
        fn no_other_text_turns_a_better_one_into_a_worse_one(
            query in text(), worse in text(), more in text(), others in vec(text(), 0..6), unrelated in vec("[x-z]{3,9}", 0..20),
        ) {
            let useful: Vec<&str> = more.into_iter().filter(|word| query.contains(word)).collect();
            let better: Vec<&str> = worse.iter().copied().chain(useful.iter().copied()).collect();
            let padded: Vec<&str> = worse.iter().copied().chain(useful.iter().map(|_| "padding")).collect();
            let mut texts = vec![padded.join(" "), better.join(" ")];
            texts.extend(others.iter().map(|text| text.join(" ")));
            let place = |texts: &[String], at: usize| rank(&query.join(" "), texts).iter().position(|found| found.at == at);
            let is_right = |texts: &[String]| match (place(texts, 0), place(texts, 1)) {
                (Some(worse), Some(better)) => useful.is_empty() || better < worse,
                (Some(_), None) => false,
                (None, _) => true,
            };
            prop_assert!(is_right(&texts), "{:?}", texts);
            texts.push(unrelated.join(" "));
            prop_assert!(is_right(&texts), "with an unrelated text: {:?}", texts);
            prop_assert_eq!(place(&texts, texts.len() - 1), None, "what shares nothing is not \
                found");
        }
    }
}
