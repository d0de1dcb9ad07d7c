//! Reading the positions in a challenge prompt: one's own and those of the others.

/// What a judge holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Position<'a> {
    /// Its name in this prompt, e.g. `J1`; empty for oneself.
    pub judge: &'a str,
    /// The letter recommended.
    pub option: &'a str,
    /// How sure it is.
    pub confidence: f64,
    /// Its arguments: name (`J1#2`) and words.
    pub claims: Vec<(&'a str, &'a str)>,
}

/// One's own position, if there is one.
pub fn own(text: &str) -> Option<Position<'_>> {
    let head = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("You recommended "))?;
    let mut position = parse_head("", head)?;
    position.claims = text.lines().filter_map(|line| claim("", line)).collect();
    Some(position)
}

/// The others' positions. Lines that do not have the form are nobody's.
pub fn others(text: &str) -> Vec<Position<'_>> {
    let mut found: Vec<Position<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(new) = header(line) {
            found.push(new);
        } else if let Some(position) = found.last_mut()
            && let Some(claim) = claim(position.judge, line)
        {
            position.claims.push(claim);
        }
    }
    found
}

fn header(line: &str) -> Option<Position<'_>> {
    let (who, rest) = line.split_once(" recommends ")?;
    let judge = who.split_once(" (").map_or(who, |(judge, _)| judge);
    let is_name = !judge.is_empty()
        && judge
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    parse_head(judge, rest).filter(|_| is_name)
}

/// Reads `B, confidence 0.75: summary`.
fn parse_head<'a>(judge: &'a str, text: &'a str) -> Option<Position<'a>> {
    let (option, rest) = text.split_once(", confidence ")?;
    let number = rest.split_once(':').map_or(rest, |(number, _)| number);
    let confidence = number
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|value| (0.0..=1.0).contains(value))?;
    Some(Position {
        judge,
        option: option.trim(),
        confidence,
        claims: Vec::new(),
    })
}

fn claim<'a>(judge: &str, line: &'a str) -> Option<(&'a str, &'a str)> {
    let (name, text) = line.trim_start().split_once(": ")?;
    let number = name.strip_prefix(judge)?.strip_prefix('#')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some((name, text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_and_anything_else_is_not() {
        let text = "J1 (sceptical) recommends A, confidence 0.80: it is safe: really\n  J1#1: No \
            loss.\n  J9#1: not its own\n  \
            J1#2: Known.\n\nJ2 recommends B, confidence 7: no\n";
        let found = others(text);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].judge, found[0].option, found[0].confidence),
            ("J1", "A", 0.8)
        );
        assert_eq!(found[0].claims, [("J1#1", "No loss."), ("J1#2", "Known.")]);
        let mine = own("You recommended B, confidence 0.75: cheap\n  #1: It is cheap.")
            .expect("a position");
        assert_eq!(
            (mine.option, mine.claims.as_slice()),
            ("B", [("#1", "It is cheap.")].as_slice())
        );
    }
}
