//! Colours, or none.

use crate::cli::{Color, GlobalArgs};
use anstyle::{AnsiColor, Style};
use std::{io::IsTerminal, sync::OnceLock};

/// What was typed about the terminal: when to use colours, and whether the cursor stays where it is.
/// There is one terminal in a process.
static TYPED: OnceLock<(Color, bool)> = OnceLock::new();

/// Keeps what was typed about the terminal, for all that is painted. The first word counts.
pub fn remember(global: &GlobalArgs) {
    TYPED.get_or_init(|| (global.color, global.plain));
}

#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    pub fn stdout() -> Self {
        Self {
            on: wanted(typed(), std::io::stdout().is_terminal()),
        }
    }

    pub fn stderr() -> Self {
        Self {
            on: wanted(typed(), std::io::stderr().is_terminal()),
        }
    }

    pub fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    pub fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    pub fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default().bold(), text)
    }

    pub fn attention(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default().bold(), text)
    }

    pub fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.on {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

fn typed() -> Color {
    TYPED.get().map_or(Color::Auto, |(color, _)| *color)
}

pub fn is_plain() -> bool {
    TYPED.get().is_some_and(|(_, plain)| *plain)
}

fn wanted(color: Color, terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto if set("CLICOLOR_FORCE") => true,
        Color::Auto => terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}
