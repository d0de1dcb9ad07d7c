//! Markdown tables: options down the side or along the top, and what each cell says of which
//! option.

use super::names::Names;

/// One filled cell.
pub struct Cell<'a> {
    /// What stands in it.
    pub text: &'a str,
    /// What it is about: the other heading that leads to it.
    pub topic: &'a str,
    /// Whom it is about.
    pub options: Vec<usize>,
}

/// The cells of a table that lead to an option.
pub fn cells<'a>(lines: &[&'a str], names: &Names<'_>) -> Vec<Cell<'a>> {
    let mut rows = lines
        .iter()
        .map(|line| row(line))
        .filter(|row| !is_rule(row));
    let Some(head) = rows.next() else {
        return Vec::new();
    };
    let columns: Vec<Option<usize>> = head.iter().map(|title| one_option(title, names)).collect();
    // One column that happens to share a word with an option is no table of options.
    let along_the_top = columns.iter().skip(1).flatten().count() >= 2;
    let mut found = Vec::new();
    for row in rows {
        let (Some(first), false) = (row.first().copied(), row.len() < 2) else {
            continue;
        };
        let side = one_option(first, names);
        for (number, text) in row.iter().copied().enumerate().skip(1) {
            let title = head.get(number).copied().unwrap_or("");
            let place = if along_the_top {
                columns
                    .get(number)
                    .copied()
                    .flatten()
                    .map(|option| (option, first))
            } else {
                side.map(|option| (option, title))
            };
            if let Some((option, topic)) =
                place.filter(|_| text.chars().any(|c| !c.is_ascii_punctuation()))
            {
                found.push(Cell {
                    text,
                    topic,
                    options: vec![option],
                });
            }
        }
    }
    found
}

fn row<'a>(line: &&'a str) -> Vec<&'a str> {
    let inner = line.strip_prefix('|').unwrap_or(line);
    inner
        .strip_suffix('|')
        .unwrap_or(inner)
        .split('|')
        .map(|cell| cell.trim().trim_matches(['*', '_', '`']))
        .collect()
}

fn is_rule(row: &[&str]) -> bool {
    row.iter()
        .all(|cell| cell.chars().all(|c| c == '-' || c == ':'))
}

/// The option a title is about; a bare letter counts here, since articles do not head columns.
fn one_option(title: &str, names: &Names<'_>) -> Option<usize> {
    if let Some(number) = names
        .options
        .iter()
        .position(|option| option.letter == title)
    {
        return Some(number);
    }
    match names.named(title).as_slice() {
        [(option, _)] => Some(*option),
        _ => None,
    }
}
