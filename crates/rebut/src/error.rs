//! What can go wrong at the command line: a sentence, a hint, an exit code.

use crate::hint_command::command;
use rebut_engine::{
    error::{DeskError, Stop},
    model::FaultKind,
    outcome::Ending,
    store::StoreError,
};
use std::{fmt, io::ErrorKind};

/// An error on its way to the user.
#[derive(Debug)]
pub struct CliError {
    message: String,
    hint: Option<String>,
    code: u8,
}

impl CliError {
    /// The user asked for something that cannot be (exit code 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: 2,
        }
    }

    /// Something failed (exit code 1).
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: 1,
        }
    }

    /// Nobody can answer (exit code 4).
    pub fn no_model(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: Ending::NoModel.exit_code(),
        }
    }

    /// A file could not be read or written. One that is not there, or is no text, was named
    /// wrongly: that is a usage error.
    pub fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let message = format!("cannot {doing} {}: {error}", path.display());
        let is_wrong = matches!(
            error.kind(),
            ErrorKind::NotFound
                | ErrorKind::IsADirectory
                | ErrorKind::NotADirectory
                | ErrorKind::InvalidData
        );
        let is_usage = (is_wrong && doing == "read") || error.kind() == crate::beneath::PLANTED;
        if is_usage {
            Self::usage(message)
        } else {
            Self::failed(message)
        }
    }

    /// What to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What else can be done about it.
    pub fn and_hint(self, more: impl fmt::Display) -> Self {
        let hint = self
            .hint
            .as_ref()
            .map_or_else(|| more.to_string(), |hint| format!("{hint}; {more}"));
        self.hint(hint)
    }

    /// What is wrong, without what to do about it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the user asked for something that cannot be.
    pub fn is_usage(&self) -> bool {
        self.code == 2
    }

    /// The process's exit code.
    pub fn code(&self) -> u8 {
        self.code
    }
}

/// The innermost cause of an error, on one line: it is the one that helps.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(inner) = last.source() {
        last = inner;
    }
    rebut_engine::clean::on_one_line(&last.to_string())
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rebut_engine::clean::for_people(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", rebut_engine::clean::for_people(hint)),
            None => Ok(()),
        }
    }
}

impl From<DeskError> for CliError {
    fn from(error: DeskError) -> Self {
        let message = error.to_string();
        match error {
            DeskError::UnknownPrices(models) => {
                // An agent program tells its cost only afterwards, if at all.
                let priced = if models.iter().all(|model| model.starts_with("cli:")) {
                    ""
                } else {
                    "write it under [providers.NAME.prices] in rebut.toml; or "
                };
                Self::usage(message).hint(format!(
                    "{priced}cap --max-tokens or --max-calls instead; or add --allow-unknown-price \
                     (such models then count nothing)"
                ))
            }
            DeskError::UnknownFormat(_) | DeskError::BadRequest(_) => Self::usage(message),
            DeskError::NoModel { fault, .. }
                if matches!(fault.kind, FaultKind::NotFound | FaultKind::BadRequest) =>
            {
                Self::usage(message)
            }
            DeskError::NoModel { .. } | DeskError::ModelGone { .. } => Self::no_model(message)
                .hint(format!(
                    "`{}` shows which models can be used",
                    command("doctor")
                )),
            DeskError::NotFound(_) => Self::usage(message)
                .hint(format!("`{}` lists the debates kept here", command("ls"))),
            DeskError::Ambiguous { .. } => Self::usage(message).hint("type more of the id"),
            DeskError::WrongState(_) | DeskError::TooLate { .. } => Self::usage(message),
            DeskError::Halted(Stop::Paused) => Self {
                message,
                hint: None,
                code: Ending::Cancelled.exit_code(),
            },
            DeskError::Damaged { .. } => Self::failed(message).hint(format!(
                "`{}` lists everything that is wrong",
                command("audit verify")
            )),
            DeskError::Halted(Stop::Store(error)) | DeskError::Store(error) => error.into(),
            DeskError::Halted(Stop::TakenOver) => {
                Self::failed(message).hint(format!("`{}` follows it", command("watch ID")))
            }
            DeskError::Halted(_) => Self::failed(message),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Held { .. } => Self::failed(message).hint(format!(
                "`{}` follows it, `{}` \
                ends it",
                command("watch ID"),
                command("cancel ID")
            )),
            StoreError::NotFound(_) => Self::usage(message),
            StoreError::Foreign(_) => Self::failed(message).hint(
                "put a backup in its place, or move it away (`sqlite3 FILE .recover` can \
                    often save what is in it); --data DIR keeps debates elsewhere",
            ),
            StoreError::NoPlace { path, .. } if rebut_store::is_postgres_url(&path) => {
                Self::failed(message).hint(
                    "check the URL: REBUT_DATABASE, or `database` in your \
                    configuration",
                )
            }
            StoreError::NoPlace { .. } => Self::failed(message).hint(
                "name a directory you may \
                write into: --data DIR",
            ),
            StoreError::Unreadable { .. } => Self::failed(message).hint(format!(
                "`{}` lists \
                everything that is wrong",
                command("audit verify")
            )),
            StoreError::Failed(_) => Self::failed(message).hint(
                "nothing acknowledged is lost; \
                free the disk or fix the file, then try again",
            ),
            StoreError::Busy(_) => Self::failed(message).hint(
                "nothing acknowledged is lost; when that program is \
                    done, such as sqlite3 or a backup, try again",
            ),
            StoreError::Unwritable(_) => Self::failed(message).hint(
                "nothing acknowledged is lost; make room on the disk, make its folder writable, or \
                 see to its server, then try again; \
                 --data DIR keeps debates elsewhere",
            ),
            StoreError::Replaced(_) => Self::failed(message).hint(
                "put the file back where it was, or begin again with \
                    the one that is there now",
            ),
            StoreError::Lost { .. } => Self::failed(message).hint(format!(
                "`{}` follows \
                it",
                command("watch ID")
            )),
            StoreError::Unavailable(_) => Self::failed(message).hint(
                "nothing acknowledged is \
                lost; try again when it is back",
            ),
            StoreError::Conflict { .. } | StoreError::Newer { .. } | StoreError::Older { .. } => {
                Self::failed(message)
            }
        }
    }
}
