//! Names with holes, of turns and of files: `*` stands for anything (also nothing), `?` for one
//! character.

/// Whether a name has the pattern's form. Takes at most `pattern × name` steps, whatever the
/// pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // After the last `*`: where the pattern goes on, and the first place of the name not yet tried
    // for it.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((after, tried)) = star else {
                    return false;
                };
                star = Some((after, tried + 1));
                p = after;
                n = tried + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// How much of a pattern is spelled out.
pub fn literals(pattern: &str) -> usize {
    pattern.chars().filter(|c| !matches!(c, '*' | '?')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_documented() {
        let rows = [
            ("recommend/risk", "recommend/risk", true),
            ("*", "", true),
            ("*", "challenge 2/risk", true),
            ("challenge ?/*", "challenge 2/risk", true),
            ("challenge ?/*", "challenge 12/risk", false),
            ("*/clarify", "recommend/risk/clarify", true),
            ("*/clarify", "recommend/risk", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("?", "é", true),
            ("", "x", false),
            ("", "", true),
            ("*.key", ".key", true),
            ("*secret*.json", "my-secret-data.json", true),
            ("a*", "ba", false),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(matches(pattern, name), expected, "{pattern:?} {name:?}");
        }
        assert!(
            !matches(&"*a".repeat(1000), &"a".repeat(999)),
            "would not end by trying everything"
        );
    }
}
