//! The known word that was probably meant. Pure.

/// The known word that differs least from what was written, if it differs little: by a third of its
/// letters at most.
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // Very long words are compared by nobody.
    let known = known
        .into_iter()
        .filter(|known| known.len().max(word.len()) <= LONGEST);
    let best = known
        .map(|known| {
            (
                strsim::damerau_levenshtein(&word, &known.to_lowercase()),
                known,
            )
        })
        .min()?;
    let letters = best.1.chars().count().max(word.chars().count());
    (best.0 <= (letters / 3).max(1) && best.0 < letters).then_some(best.1)
}

const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_was_meant() {
        let known = [
            "openai",
            "together",
            "gemini",
            "groq",
            "risk",
            "effort",
            "decide",
            "consensus_threshold",
            "A",
        ];
        let rows = [
            ("opnai", Some("openai")),
            ("Gemni", Some("gemini")),
            ("rsk", Some("risk")),
            ("decied", Some("decide")),
            ("consensus_treshold", Some("consensus_threshold")),
            ("nosuch", None),
            ("nobody", None),
            ("gpt-5", None),
            ("B", None),
            ("", None),
        ];
        for (word, expected) in rows {
            assert_eq!(suggest(word, known), expected, "{word}");
        }
        assert_eq!(suggest(&"x".repeat(300), [&*"x".repeat(301)]), None);
    }
}
