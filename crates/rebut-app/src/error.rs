//! What can go wrong before and beside a debate: a sentence, its kind, and what to do about it.

use crate::hint_command::command;
use rebut_engine::{
    error::{DeskError, Stop},
    model::FaultKind,
    store::StoreError,
};
use std::{fmt, io};

/// What a surface makes of an error: an exit code, or a status of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user asked for something that cannot be.
    Usage,
    Failed,
    NoModel,
    Interrupted,
}

/// An error on its way to the user.
#[derive(Debug)]
pub struct AppError {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl AppError {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// The user asked for something that cannot be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    pub fn no_model(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NoModel, message)
    }

    /// A file could not be read or written. One that is not there, or is no text, was named
    /// wrongly: that is a usage error.
    pub fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let message = format!("cannot {doing} {}: {error}", path.display());
        let is_wrong = matches!(
            error.kind(),
            io::ErrorKind::NotFound
                | io::ErrorKind::IsADirectory
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::InvalidData
        );
        let is_usage = (is_wrong && doing == "read") || error.kind() == crate::beneath::PLANTED;
        if is_usage {
            Self::usage(message)
        } else {
            Self::failed(message)
        }
    }

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

    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the user asked for something that cannot be.
    pub fn is_usage(&self) -> bool {
        self.kind == ErrorKind::Usage
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind
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

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rebut_engine::clean::for_people(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", rebut_engine::clean::for_people(hint)),
            None => Ok(()),
        }
    }
}

impl From<DeskError> for AppError {
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
            DeskError::Halted(Stop::Paused) => Self::new(ErrorKind::Interrupted, message),
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

impl From<StoreError> for AppError {
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
