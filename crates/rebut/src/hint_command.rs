//! Commands that people are told to type: each names the place of the debates as the command line
//! of this process did, so that it finds them.

use crate::cli::GlobalArgs;
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
    /// Whether the data folder was.
    pub data: bool,
    config: bool,
    server: bool,
    token_file: bool,
}

impl Typed {
    /// Which of them were typed, as long as no variable was looked at.
    pub fn of(global: &GlobalArgs) -> Self {
        Self {
            data: global.data.is_some(),
            config: global.config.is_some(),
            server: global.server.is_some(),
            token_file: global.token_file.is_some(),
        }
    }
}

/// Keeps what this process was told, for all commands that it tells of. The first word counts.
pub fn remember(global: &GlobalArgs) {
    PLACE.get_or_init(|| place(global));
}

/// `rebut WORDS`, as it works in the shell in which this process was started.
pub fn command(words: impl fmt::Display) -> String {
    format!("rebut {words}{}", PLACE.get().map_or("", String::as_str))
}

fn place(global: &GlobalArgs) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    fn told(typed: &[&str]) -> String {
        let global = Cli::try_parse_from(["rebut"].iter().chain(typed))
            .expect("a command")
            .global;
        place(&GlobalArgs {
            typed: Typed::of(&global),
            ..global
        })
    }

    #[test]
    fn what_was_typed_is_told_again_as_a_shell_takes_it() {
        let rows: [(&[&str], &str); 7] = [
            (&["ls"], ""),
            (
                &["--data", "kk", "--config", "oai.toml", "ls"],
                " --data kk --config oai.toml",
            ),
            (&["resume", "12", "--data=kk"], " --data kk"),
            (&["--data", "my debates", "ls"], " --data 'my debates'"),
            (
                &["--data", "it's; rm $HOME", "ls"],
                r" --data 'it'\''s; rm $HOME'",
            ),
            (&["--data=-x", "ls"], " --data=-x"),
            (
                &["ls", "--server", "http://[::1]:7878", "--token-file", "t"],
                " --server 'http://[::1]:7878' --token-file t",
            ),
        ];
        for (typed, expected) in rows {
            assert_eq!(told(typed), expected, "{typed:?}");
        }
    }
}
