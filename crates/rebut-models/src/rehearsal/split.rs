//! Cutting a paragraph into sentences, and a sentence into clauses that each say one thing.

/// The sentences of a paragraph, as slices of it.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let stops = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                chars.peek().is_none_or(|(_, next)| next.is_whitespace())
                    && !is_abbreviation(&text[start..at])
            }
            _ => false,
        };
        if stops {
            found.push(&text[start..end]);
            start = end;
        }
    }
    found.push(&text[start..]);
    found
        .into_iter()
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
        .collect()
}

fn is_abbreviation(before: &str) -> bool {
    let word = before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or("")
        .trim_start_matches('(');
    ["e.g", "i.e", "vs", "approx", "ca", "etc", "incl", "no"].contains(&word)
}

/// Where a sentence turns.
const TURNS: &[&str] = &[
    "; ",
    ", but ",
    " but ",
    ", while ",
    ", whereas ",
    ", yet ",
    " although ",
    ", though ",
    " — ",
];

/// The clauses of a sentence, as slices of it.
pub fn clauses(sentence: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = sentence;
    // Only a few turns make a sentence; what has more is a list and costs quadratic time to cut
    // like this.
    while found.len() < 6 {
        let next = TURNS
            .iter()
            .filter_map(|turn| rest.find(turn).map(|at| (at, turn.len())))
            .min();
        let Some((at, length)) = next else { break };
        found.push(&rest[..at]);
        rest = &rest[at + length..];
    }
    found.push(rest);
    found
        .into_iter()
        .map(str::trim)
        .filter(|clause| clause.chars().any(char::is_alphanumeric))
        .collect()
}

/// The two halves of a comparison: who is spoken of, and whom it is compared with.
pub fn comparison(clause: &str) -> Option<(&str, &str)> {
    [
        " than ",
        " compared to ",
        " compared with ",
        " instead of ",
        " unlike ",
    ]
    .iter()
    .find_map(|word| clause.split_once(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_fall_into_what_each_says() {
        assert_eq!(
            sentences("It takes 2.5 weeks, e.g. for us. Then it runs! 好。也好。"),
            [
                "It takes 2.5 weeks, e.g. for us.",
                "Then it runs!",
                "好。",
                "也好。"
            ]
        );
        assert_eq!(
            clauses("Redis is durable, but it costs more; Memcached is simple"),
            ["Redis is durable", "it costs more", "Memcached is simple"]
        );
        assert_eq!(
            comparison("Redis is slower than Memcached"),
            Some(("Redis is slower", "Memcached"))
        );
    }
}
