//! Commands that people are told to type: each names the place of the debates as the command line
//! of this process did, so that it finds them.

use crate::global::Global;
use rebut_engine::clean::for_people;
use std::{borrow::Cow, fmt, sync::OnceLock};

/// What this process was told of the place, ready to be put behind a command. Like the arguments
/// themselves there is one of it in a process, and errors, which know nothing of the command line,
/// give hints too.
static PLACE: OnceLock<String> = OnceLock::new();

/// Flags that say where debates are, and whether they were typed: what came from a variable is
/// still set where the next command is typed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Typed {
    pub data: bool,
    pub config: bool,
    pub server: bool,
    pub token_file: bool,
}

/// Keeps what this process was told, for all commands that it tells of. The first word counts.
pub fn remember(global: &Global) {
    PLACE.get_or_init(|| flags_of(global));
}

/// `rebut WORDS`, as it works in the shell in which this process was started.
pub fn command(words: impl fmt::Display) -> String {
    format!("rebut {words}{}", PLACE.get().map_or("", String::as_str))
}

/// What is put behind every command: the flags that were typed, as a shell takes them.
pub fn flags_of(global: &Global) -> String {
    let Typed {
        data,
        config,
        server,
        token_file,
    } = global.typed;
    let path = |path: &Option<std::path::PathBuf>| {
        path.as_ref()
            .map(|path| path.to_string_lossy().into_owned())
    };
    let flags = [
        ("--data", path(&global.data).filter(|_| data)),
        ("--config", path(&global.config).filter(|_| config)),
        ("--server", global.server.clone().filter(|_| server)),
        (
            "--token-file",
            path(&global.token_file).filter(|_| token_file),
        ),
    ];
    let given = flags
        .into_iter()
        .filter_map(|(flag, value)| Some((flag, value?)));
    given
        .map(|(flag, value)| {
            format!(
                " {flag}{}{}",
                if value.starts_with('-') { '=' } else { ' ' },
                word(&value)
            )
        })
        .collect()
}

/// A text as one word of a shell, without quotes where it needs none.
fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into()
    } else {
        quoted(text).into()
    }
}

/// A text in quotes, as a shell takes it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", for_people(text).replace('\'', r"'\''"))
}
