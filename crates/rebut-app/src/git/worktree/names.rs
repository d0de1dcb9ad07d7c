//! Names of files in a worktree: one plain path below it, on every system, or refused. Pure.

use crate::error::AppError;
use rebut_engine::clean::{is_hostile, on_one_line, shortened};

/// Refuses what could lead out of the worktree, into git's own files, or be taken for something
/// else.
pub fn check_name(name: &str) -> Result<(), AppError> {
    let refused = |why: &str| {
        let shown = shortened(&on_one_line(name), 80).into_owned();
        Err(
            AppError::usage(format!("`{shown}` cannot be the name of a file: {why}"))
                .hint("use a plain path such as src/solution.py"),
        )
    };
    if name.is_empty() || name.len() > 1024 || name.split('/').any(|part| part.len() > 200) {
        return refused("it is empty or too long");
    }
    if name
        .chars()
        .any(|c| is_hostile(c) || c.is_control() || "\\:*?\"<>|".contains(c))
    {
        return refused("it holds a character that is not the same everywhere");
    }
    if name.starts_with(['-', '/', '~']) {
        return refused("it must be a path below the repository");
    }
    match name.split('/').find_map(wrong_part) {
        Some(why) => refused(why),
        None => Ok(()),
    }
}

fn wrong_part(part: &str) -> Option<&'static str> {
    const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
    let lower = part.to_lowercase();
    let stem = lower.split('.').next().unwrap_or_default().trim_end();
    let is_numbered = |name: &str| {
        stem.strip_prefix(name)
            .is_some_and(|rest| rest.len() == 1 && rest.chars().all(|c| c.is_ascii_digit()))
    };
    match part {
        "" | "." | ".." => Some("a part of it is empty or leads elsewhere"),
        _ if part.ends_with(['.', ' ']) || part.starts_with(' ') => {
            Some("a part of it begins or ends with a dot or a space")
        }
        // Also by the names some systems give it: `.git` in other letters, `git~1`.
        _ if lower.starts_with(".git") || lower.starts_with("git~") => Some("it belongs to git"),
        _ if DEVICES.contains(&stem) || is_numbered("com") || is_numbered("lpt") => {
            Some("some systems have a device of that name")
        }
        _ => None,
    }
}
