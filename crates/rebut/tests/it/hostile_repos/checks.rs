//! What must hold after every command in a stranger's folder.

use super::{
    running::{Ending, Ran},
    stage::{CANARIES, Notes, OPENAI_KEY, OWN_HEADER, OWN_KEY, Stage},
};
use rebut_testkit::model_server::Seen;
use std::path::Path;

/// A program that panics ends with this.
const PANIC: i32 = 101;
/// Ctrl-C, the only signal that is a usual end.
const INTERRUPTED: i32 = 130;

/// Whether it came to an ordinary end.
pub fn ended(ran: &Ran) -> Option<String> {
    match ran.ending {
        Ending::Hangs => Some("does not end".to_owned()),
        Ending::Signal(signal) => Some(format!("was ended by signal {signal}")),
        Ending::Code(PANIC) => Some("panicked".to_owned()),
        // A shell tells so of a signal.
        Ending::Code(code) if code >= 128 && code != INTERRUPTED => {
            Some(format!("was ended by signal {}", code - 128))
        }
        Ending::Code(_) if ran.printed.contains("panicked at") => Some("panicked".to_owned()),
        Ending::Code(_) => None,
    }
}

/// Whether anything was printed that is private, that somebody planted, or that a terminal obeys.
pub fn printed(ran: &Ran, notes: &Notes) -> Vec<String> {
    let mut found: Vec<String> = canaries_in(&ran.printed)
        .map(|what| format!("prints {what}"))
        .collect();
    found.extend(
        notes
            .never
            .iter()
            .filter(|word| ran.printed.contains(word.as_str()))
            .map(|word| format!("prints `{word}`")),
    );
    let obeyed =
        ran.printed.chars().find(|c| matches!(c, '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}'));
    found.extend(obeyed.map(|c| format!("prints {c:?}, which a terminal obeys")));
    found
}

/// Whether a request to the user's own provider holds what is not meant for it.
pub fn sent(seen: &Seen, notes: &Notes) -> Vec<String> {
    let path = seen.line.split(' ').nth(1).unwrap_or_default();
    let (key, header) = if path.starts_with("/gateway/") {
        (OPENAI_KEY, None)
    } else {
        (OWN_KEY, Some(OWN_HEADER))
    };
    // Each in its own place; anywhere else it has no business.
    let headers = seen
        .headers
        .iter()
        .filter(|(name, value)| match name.as_str() {
            "authorization" => *value != format!("Bearer {key}"),
            "x-team-token" => header != Some(value),
            _ => true,
        });
    let headers = headers
        .map(|(name, value)| format!("{name}: {value}"))
        .collect::<Vec<_>>()
        .join("\n");
    let all = format!("{}\n{headers}\n{}", seen.line, seen.body);
    let never = notes
        .never
        .iter()
        .filter(|word| all.contains(word.as_str()))
        .map(|word| format!("sends `{word}`"));
    canaries_in(&all)
        .map(|what| format!("sends {what} ({})", seen.line))
        .chain(never)
        .collect()
}

/// Who reached the foreign host, in a line: how often, with which first words, and what private was
/// among them.
pub fn visited(visitors: &[String]) -> Option<String> {
    let first = visitors
        .iter()
        .find(|said| !said.is_empty())
        .or(visitors.first())?;
    let words: String = first
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(60)
        .collect();
    let mut private: Vec<&str> = visitors.iter().flat_map(|said| canaries_in(said)).collect();
    private.sort_unstable();
    private.dedup();
    Some(format!(
        "reaches the foreign host {} times ({}) with {}",
        visitors.len(),
        words.escape_debug(),
        private.join(", ")
    ))
}

/// Which private things stand in a text.
fn canaries_in(text: &str) -> impl Iterator<Item = &'static str> {
    CANARIES
        .iter()
        .filter(move |(_, value)| text.contains(value))
        .map(|(what, _)| *what)
}

/// Whether rebut's own data holds what only a private file holds: it would be sent with the next
/// request that builds on it.
pub fn kept(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let files = files_below(&stage.data());
    for (what, value) in CANARIES {
        let holds = |file: &&std::path::PathBuf| {
            std::fs::read(file).is_ok_and(|bytes| {
                bytes
                    .windows(value.len())
                    .any(|window| window == value.as_bytes())
            })
        };
        found.extend(
            files
                .iter()
                .find(holds)
                .map(|file| format!("{what} is kept in {}", stage.shown(file))),
        );
    }
    found
}

fn files_below(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path());
    entries
        .flat_map(|path| {
            if path.is_dir() && !path.is_symlink() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// What the user's own question must come to: an answer by the user's own model, and a line that
/// names what was ignored.
pub fn answered(ran: &Ran, asked: usize, notes: &Notes) -> Vec<String> {
    let mut found = Vec::new();
    if (ran.ending != Ending::Code(0) || asked == 0) && !notes.may_refuse {
        let last = ran
            .printed
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(3)
            .collect::<Vec<_>>()
            .join(" / ");
        found.push(format!(
            "is not answered ({:?}, {asked} requests): {last}",
            ran.ending
        ));
    }
    let is_told = |line: &&str| {
        ["ignored until you run", "never taken from a project"]
            .iter()
            .any(|words| line.contains(words))
    };
    let told: Vec<&str> = ran.printed.lines().filter(is_told).collect();
    let missing = notes
        .ignored
        .iter()
        .filter(|name| !told.iter().any(|line| line.contains(name.as_str())));
    found.extend(missing.map(|name| format!("does not say that {name} is ignored")));
    if told.len() > 1 {
        found.push(format!(
            "says in {} lines what is ignored, not in one",
            told.len()
        ));
    }
    found
}

/// What changed that nobody asked for. `asked` are paths below the clone that the command was to
/// write.
pub fn changed(
    stage: &Stage,
    changes: Vec<(std::path::PathBuf, &'static str)>,
    asked: &[String],
) -> Vec<String> {
    let clone = stage.clone_dir();
    let is_asked = |path: &Path| {
        path.strip_prefix(&clone)
            .is_ok_and(|below| asked.iter().any(|name| below.starts_with(name)))
    };
    let mut unasked: Vec<_> = changes
        .into_iter()
        .filter(|(path, _)| !is_asked(path))
        .collect();
    // What is not even in the clone comes first.
    unasked.sort_by_key(|(path, _)| path.starts_with(&clone));
    let mut told: Vec<String> = unasked
        .iter()
        .take(4)
        .map(|(path, what)| format!("{} {what}", stage.shown(path)))
        .collect();
    if unasked.len() > told.len() {
        told.push(format!(
            "and {} more paths changed",
            unasked.len() - told.len()
        ));
    }
    told
}
