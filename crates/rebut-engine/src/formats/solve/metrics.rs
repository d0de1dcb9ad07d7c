//! What can be counted in code without running it, and what changed between two versions. Pure.

use crate::facts::CodeMetrics;

/// Words at which the course may go two ways, in the languages that are known.
const BRANCHES: &[&str] = &[
    "if", "elif", "for", "while", "case", "match", "switch", "catch", "except", "when", "select",
    "and", "or", "until",
];
const BRANCH_SIGNS: &[&str] = &["&&", "||", "?."];

/// Counts lines, branches and nesting. Comments of a whole line are no code; words in strings are
/// counted as if they were code.
pub fn metrics(code: &str) -> CodeMetrics {
    let lines: Vec<&str> = code.lines().filter(|line| is_code(line)).collect();
    let words = lines
        .iter()
        .flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')));
    let named = words.filter(|word| BRANCHES.contains(word)).count();
    let signed: usize = lines
        .iter()
        .map(|line| {
            BRANCH_SIGNS
                .iter()
                .map(|sign| line.matches(sign).count())
                .sum::<usize>()
        })
        .sum();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    CodeMetrics {
        lines: number(lines.len()),
        branches: number(named + signed),
        depth: number(depth(&lines)),
        lints: None,
    }
}

fn is_code(line: &str) -> bool {
    let start = line.trim_start();
    // `#` begins a comment in some languages, and an include or an attribute in others.
    let is_comment = start.starts_with("//")
        || (start.starts_with('#')
            && !["#include", "#["]
                .iter()
                .any(|known| start.starts_with(known)));
    !start.is_empty() && !is_comment
}

/// The deepest nesting: by braces where there are any, otherwise by indentation.
fn depth(lines: &[&str]) -> usize {
    let (mut level, mut deepest) = (0usize, 0usize);
    for c in lines.iter().flat_map(|line| line.chars()) {
        match c {
            '{' => {
                level += 1;
                deepest = deepest.max(level);
            }
            '}' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    let indents: Vec<usize> = lines
        .iter()
        .map(|line| line.len() - line.trim_start().len())
        .collect();
    let mut open: Vec<usize> = Vec::new();
    let mut by_indent = 0;
    for indent in indents {
        while open.last().is_some_and(|last| *last >= indent) {
            open.pop();
        }
        open.push(indent);
        by_indent = by_indent.max(open.len() - 1);
    }
    if deepest > 0 && lines.iter().any(|line| line.trim_end().ends_with('{')) {
        deepest
    } else {
        by_indent
    }
}

/// The change from one version to the next as a unified diff; empty for the first.
pub fn diff(before: &str, after: &str) -> String {
    if before.is_empty() {
        return String::new();
    }
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(2)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_counted_in_both_kinds_of_languages() {
        let python = "# a comment\ndef f(x):\n    if x and x > 1:\n        for y in \
            x:\n            g(y)\n    return x\n";
        let c =
            "#include <a.h>\nint f(int x) {\n  if (x && x > 1) {\n    g(x);\n  }\n  return x;\n}\n";
        let rows = [
            (python, 5, 3, 3),
            (c, 7, 2, 2),
            ("", 0, 0, 0),
            ("x = {}\n", 1, 0, 0),
        ];
        for (code, lines, branches, depth) in rows {
            let found = metrics(code);
            assert_eq!(
                (found.lines, found.branches, found.depth, found.lints),
                (lines, branches, depth, None),
                "{code}"
            );
        }
    }

    #[test]
    fn a_change_is_shown_and_a_beginning_is_none() {
        assert_eq!(diff("", "a\n"), "");
        let shown = diff("a\nb\nc\n", "a\nB\nc\n");
        assert!(shown.contains("-b\n") && shown.contains("+B\n"), "{shown}");
        assert_eq!(diff("a\n", "a\n"), "");
    }
}
