//! Words and their stems: just enough that "migrating", "migrated" and "migration" meet.

/// Stems are cut here, so that "Postgres" and "PostgreSQL" meet while "complete" and "complex" do
/// not.
const STEM: usize = 7;

/// The words of a text, without punctuation. Hyphens part words, apostrophes do not.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
        .map(|word| word.trim_matches(['\'', '’']))
        .filter(|word| !word.is_empty())
}

/// What a word has in common with its other forms.
pub fn stem(word: &str) -> String {
    let mut lower = word.to_lowercase();
    if lower.is_ascii() {
        if let Some((_, root)) = IRREGULAR.iter().find(|(form, _)| *form == lower) {
            return (*root).to_owned();
        }
        strip(&mut lower);
        lower.truncate(STEM);
        return lower;
    }
    lower.chars().take(STEM).collect()
}

const IRREGULAR: &[(&str, &str)] = &[
    ("built", "build"),
    ("postgresql", "postgr"),
    ("bought", "buy"),
    ("lost", "lose"),
    ("losing", "lose"),
    ("loses", "lose"),
    ("kept", "keep"),
    ("less", "less"),
    ("speed", "speed"),
];

fn strip(word: &mut String) {
    if let Some(root) = word
        .strip_suffix("ies")
        .or_else(|| word.strip_suffix("ied"))
        .filter(|root| root.len() > 2)
    {
        *word = format!("{root}y");
        return;
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") || word.ends_with("eed")
    {
        return;
    }
    for ending in ["ions", "ion", "ings", "ing", "ed", "es", "ly", "s", "e"] {
        if word.len() >= ending.len() + 3 && word.ends_with(ending) {
            word.truncate(word.len() - ending.len());
            undouble(word, ending);
            return;
        }
    }
}

/// "running" is "run", while "install" and "process" keep both letters.
fn undouble(word: &mut String, ending: &str) {
    let bytes = word.as_bytes();
    let doubled = matches!(bytes, [.., a, b] if a == b && !b"lsaeiou".contains(a));
    if doubled && (ending == "ing" || ending == "ed") && bytes.len() > 3 {
        word.pop();
    }
}

/// Words that tell nothing about what a sentence is about.
pub fn is_common(word: &str) -> bool {
    const COMMON: &[&str] = &[
        "a", "about", "add", "after", "all", "also", "an", "and", "any", "approach", "are", "as",
        "at", "be", "been", "before", "but", "by", "can", "choose", "could", "do", "does", "each",
        "every", "first", "for", "from", "get", "go", "has", "have", "how", "if", "in", "into",
        "is", "it", "its", "just", "let", "make", "may", "more", "most", "much", "need", "no",
        "not", "now", "of", "on", "one", "only", "option", "or", "our", "out", "over", "plan",
        "should", "so", "solution", "some", "still", "such", "system", "than", "that", "the",
        "their", "them", "then", "there", "they", "this", "to", "too", "up", "us", "use", "using",
        "very", "via", "was", "we", "well", "were", "what", "when", "which", "who", "will", "with",
        "without", "would", "you", "your",
    ];
    // The longest has eight letters.
    word.len() <= 8 && COMMON.binary_search(&word.to_lowercase().as_str()).is_ok()
}

/// A number from text that is the same on every machine and in every run.
pub fn hash(parts: &[&str]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // FNV leaves the high bits of short texts alike; this spreads them.
    state ^= state >> 32;
    state.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_meet_and_others_do_not() {
        for (one, other) in [
            ("migrating", "Migration"),
            ("Postgres", "PostgreSQL"),
            ("caches", "caching"),
            ("run", "running"),
            ("bugs", "bug"),
            ("built", "building"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} and {other}");
        }
        for (one, other) in [
            ("complete", "complex"),
            ("customer", "custom"),
            ("Redis", "red"),
            ("loss", "low"),
        ] {
            assert_ne!(stem(one), stem(other), "{one} and {other}");
        }
        assert!(is_common("The") && is_common("your") && !is_common("offline"));
    }
}
