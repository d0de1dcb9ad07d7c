//! The difference between two texts as a unified diff. Pure.

use std::fmt::Write;

/// Lines shown around a change.
const AROUND: usize = 3;

/// More lines are not compared one by one: the whole of one text is then replaced by the whole of the other.
const MOST_LINES: usize = 3000;

/// A unified diff between two texts, with their names; empty if they are equal.
pub fn unified(before: (&str, &str), after: (&str, &str)) -> String {
    if before.1 == after.1 {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.1.lines().collect(), after.1.lines().collect());
    let steps = steps(&old, &new);
    let mut text = format!("--- {}\n+++ {}\n", before.0, after.0);
    for hunk in hunks(&steps) {
        let shown = &steps[hunk];
        let count = |wanted: fn(&Step<'_>) -> bool| shown.iter().filter(|step| wanted(step)).count();
        let (removed, added) = (count(|step| step.sign != '+'), count(|step| step.sign != '-'));
        let (at, to) = shown.first().map_or((0, 0), |step| step.at);
        // A side without lines is named by the line before it.
        let (at, to) = (if removed == 0 { at } else { at + 1 }, if added == 0 { to } else { to + 1 });
        let _ = writeln!(text, "@@ -{at},{removed} +{to},{added} @@");
        for step in shown {
            let _ = writeln!(text, "{}{}", step.sign, step.line);
        }
    }
    text
}

/// A line that stays, goes or comes, and how many lines of either text stand before it.
struct Step<'a> {
    sign: char,
    line: &'a str,
    at: (usize, usize),
}

/// From the one text to the other over their longest common subsequence.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Step<'a>> {
    let width = new.len() + 1;
    let is_small = old.len() <= MOST_LINES && new.len() <= MOST_LINES;
    let mut common = vec![0_u32; if is_small { (old.len() + 1) * width } else { 0 }];
    if is_small {
        for row in (0..old.len()).rev() {
            for column in (0..new.len()).rev() {
                common[row * width + column] = if old[row] == new[column] {
                    common[(row + 1) * width + column + 1] + 1
                } else {
                    common[(row + 1) * width + column].max(common[row * width + column + 1])
                };
            }
        }
    }
    let (mut row, mut column, mut steps) = (0, 0, Vec::new());
    while row < old.len() || column < new.len() {
        let at = (row, column);
        let goes = column == new.len()
            || (row < old.len() && (!is_small || common[(row + 1) * width + column] >= common[row * width + column + 1]));
        let (sign, line) = match (old.get(row), new.get(column)) {
            (Some(line), Some(other)) if line == other => (' ', *line),
            (Some(line), _) if goes => ('-', *line),
            (_, Some(line)) => ('+', *line),
            (Some(line), None) => ('-', *line),
            (None, None) => break,
        };
        row += usize::from(sign != '+');
        column += usize::from(sign != '-');
        steps.push(Step { sign, line, at });
    }
    steps
}

/// The changes with some lines around them; those that touch are one.
fn hunks(steps: &[Step<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in steps.iter().enumerate().filter(|(_, step)| step.sign != ' ') {
        let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(steps.len()));
        match hunks.last_mut().filter(|hunk| from <= hunk.end) {
            Some(hunk) => hunk.end = to,
            None => hunks.push(from..to),
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_like_everywhere() {
        let rows = [
            ("a\n", "a\n", ""),
            ("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
            ("", "a\n", "@@ -0,0 +1,1 @@\n+a\n"),
            ("a\n", "", "@@ -1,1 +0,0 @@\n-a\n"),
            ("a\nb\n", "b\nc\n", "@@ -1,2 +1,2 @@\n-a\n b\n+c\n"),
        ];
        for (before, after, hunks) in rows {
            let expected = if hunks.is_empty() { String::new() } else { format!("--- old\n+++ new\n{hunks}") };
            assert_eq!(unified(("old", before), ("new", after)), expected, "{before:?} → {after:?}");
        }
        let long: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let changed = long.replace("\n5\n", "\nfive\n").replace("\n17\n", "\nseventeen\n");
        let diff = unified(("old", &long), ("new", &changed));
        assert_eq!(diff.lines().filter(|line| line.starts_with("@@")).collect::<Vec<_>>(), ["@@ -2,7 +2,7 @@", "@@ -14,7 +14,7 @@"]);
        let huge = "x\n".repeat(MOST_LINES + 1);
        assert_eq!(unified(("old", &huge), ("new", "y\n")).lines().count(), MOST_LINES + 1 + 1 + 3, "no more than it can hold in mind");
    }
}
