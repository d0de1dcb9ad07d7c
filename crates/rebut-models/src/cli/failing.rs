//! What went wrong with a CLI, in few classes and words that hold no secret.

use super::{
    Cli,
    running::{End, Finished},
};
use rebut_engine::{
    clean,
    model::{Answer, Fault, FaultKind, Finish},
};
use std::process::ExitStatus;

/// Words that tell a class, the telling ones first. Three digits are a status, and count only in a
/// failure's own message.
const SIGNS: &[(FaultKind, &[&str])] = &[
    (
        FaultKind::Unavailable,
        &[
            "unknown option",
            "unknown argument",
            "unexpected argument",
            "unrecognized option",
            "node.js version",
            "requires node",
            "not found in path",
        ],
    ),
    (
        FaultKind::TooLong,
        &[
            "prompt is too long",
            "input is too long",
            "context length",
            "context_length",
            "context window",
            "413",
        ],
    ),
    (
        FaultKind::Quota,
        &[
            "insufficient_quota",
            "credit balance",
            "usage limit",
            "spend limit",
            "spend_limit",
            "billing",
            "quota exceeded",
            "hit your limit",
            "402",
        ],
    ),
    (
        FaultKind::Auth,
        &[
            "not logged in",
            "not signed in",
            "please log in",
            "/login",
            "unauthorized",
            "unauthenticated",
            "authentication",
            "auth method",
            "auth type",
            "invalid api key",
            "invalid x-api-key",
            "api key not valid",
            "missing api key",
            "no api key",
            "permission_denied",
            "401",
            "403",
        ],
    ),
    (
        FaultKind::RateLimited,
        &[
            "rate limit",
            "rate_limit",
            "ratelimit",
            "too many requests",
            "overloaded",
            "resource_exhausted",
            "429",
            "529",
        ],
    ),
    (
        FaultKind::NotFound,
        &[
            "model_not_found",
            "model not found",
            "unknown model",
            "no such model",
            "providermodelnotfound",
            "404",
        ],
    ),
    (
        FaultKind::Refused,
        &["content_filter", "content filter", "usage policy", "safety"],
    ),
    (
        FaultKind::Incomplete,
        &["stream disconnected", "stream closed", "premature close"],
    ),
    (
        FaultKind::Network,
        &[
            "econnrefused",
            "econnreset",
            "enotfound",
            "etimedout",
            "connection error",
            "connection refused",
            "fetch failed",
            "socket hang up",
        ],
    ),
    (
        FaultKind::Server,
        &[
            "internal server error",
            "bad gateway",
            "service unavailable",
            "500",
            "502",
            "503",
            "504",
        ],
    ),
    (
        FaultKind::BadRequest,
        &["invalid_request", "bad request", "400", "422"],
    ),
];

/// Most characters shown of what a program said.
const MOST_SHOWN: usize = 300;
/// Most characters kept of an answer that is none.
const MOST_KEPT: usize = 2000;
/// Lines of standard error that are shown.
const LAST_LINES: usize = 4;

impl Cli {
    /// The answer a run ended with, or why there is none.
    pub(super) fn judged(&self, finished: &Finished<'_>) -> Result<Answer, Fault> {
        let mut reading = finished.reader.reading();
        let is_complete = finished.reader.is_done()
            || (finished.reader.ends_with_exit()
                && matches!(finished.end, End::Exited(status) if status.success()));
        let usage = reading.usage;
        let said = reading.answer.take().unwrap_or_default();
        let fault = match (reading.error, is_complete) {
            (Some((kind, message)), _) => self.told(kind, &message, &last_lines(&finished.stderr)),
            (None, false) => self.unfinished(finished),
            (None, true) if self.is_error_text(&said) => {
                self.told(None, &said, &last_lines(&finished.stderr))
            }
            (None, true) if said.trim().is_empty() => {
                self.without_answer(FaultKind::Empty, "its answer is empty", finished)
            }
            (None, true) => {
                return Ok(Answer {
                    text: self.scrubber.scrub(said),
                    model: reading.model,
                    usage,
                    finish: if reading.cut {
                        Finish::Length
                    } else {
                        Finish::Complete
                    },
                    ..Answer::default()
                });
            }
        };
        let partial = Some(said)
            .filter(|said| !said.trim().is_empty())
            .unwrap_or_else(|| finished.reader.text());
        let partial =
            Some(self.shown_text(&partial, MOST_KEPT)).filter(|partial| !partial.is_empty());
        Err(Fault {
            usage: usage.map(Box::new),
            partial,
            ..fault
        })
    }

    /// The program could not be started.
    pub(super) fn not_started(&self, error: &std::io::Error) -> Fault {
        let kind = if error.kind() == std::io::ErrorKind::InvalidInput {
            FaultKind::BadRequest
        } else {
            FaultKind::Unavailable
        };
        self.fault(kind, &format!("cannot be started ({error})"))
    }

    /// The CLI says itself that it failed.
    fn told(&self, kind: Option<FaultKind>, message: &str, stderr: &str) -> Fault {
        let kind = kind
            .or_else(|| class_of(message, true))
            .or_else(|| class_of(stderr, false))
            .unwrap_or(FaultKind::Server);
        let what = if message.trim().is_empty() {
            stderr
        } else {
            message
        };
        self.fault(kind, &format!("it failed: {what}"))
    }

    /// No result came.
    fn unfinished(&self, finished: &Finished<'_>) -> Fault {
        let (kind, what) = match finished.end {
            End::TooLarge => (FaultKind::TooLarge, "it wrote more than is read".to_owned()),
            End::Late => (FaultKind::Timeout, "no result in time".to_owned()),
            End::Idle => (FaultKind::Timeout, "it was silent for too long".to_owned()),
            End::Done => (
                FaultKind::Incomplete,
                "it ended without a result".to_owned(),
            ),
            End::Exited(status) => {
                let kind = self.class_of_exit(status, finished);
                (
                    kind,
                    format!("it ended without a result ({})", exit_in_words(status)),
                )
            }
        };
        self.without_answer(kind, &what, finished)
    }

    fn class_of_exit(&self, status: ExitStatus, finished: &Finished<'_>) -> FaultKind {
        let stdout = finished.reader.text();
        let told = class_of(&stdout, false)
            .or_else(|| class_of(&String::from_utf8_lossy(&finished.stderr), false));
        match (told, status.code()) {
            (Some(kind), _) => kind,
            (None, Some(126 | 127)) => FaultKind::Unavailable,
            (None, _) if !stdout.is_empty() => FaultKind::Incomplete,
            (None, Some(0)) => FaultKind::Empty,
            (None, _) => FaultKind::Server,
        }
    }

    /// With the last words of standard error, or else of standard output.
    fn without_answer(&self, kind: FaultKind, what: &str, finished: &Finished<'_>) -> Fault {
        let mut words = last_lines(&finished.stderr);
        if words.is_empty() && !finished.reader.is_done() {
            words = last_lines(finished.reader.text().as_bytes());
        }
        let separator = if words.is_empty() { "" } else { ": " };
        self.fault(kind, &format!("{what}{separator}{words}"))
    }

    /// A fault whose message names the CLI, is safe to show, and says what to do where that is
    /// known.
    pub(super) fn fault(&self, kind: FaultKind, message: &str) -> Fault {
        let hint = match kind {
            FaultKind::Auth => self.data.login.as_deref(),
            // Some try for minutes instead of saying so.
            FaultKind::Timeout if self.is_signed_in() == Some(false) => self.data.login.as_deref(),
            FaultKind::Unavailable => self.data.install.as_deref(),
            _ => None,
        };
        let hint = hint
            .map(|hint| format!(" (try: {hint})"))
            .unwrap_or_default();
        Fault::new(
            kind,
            format!(
                "{}: {}{hint}",
                self.name,
                self.shown_text(message, MOST_SHOWN)
            ),
        )
    }

    /// Cleaned first, as that may join a secret's halves; then blanked; cut last, as that may leave
    /// half of one.
    fn shown_text(&self, text: &str, most: usize) -> String {
        clean::shortened(&self.scrubber.scrub(clean::on_one_line(text)), most).into_owned()
    }

    fn is_error_text(&self, answer: &str) -> bool {
        self.data
            .output
            .error_text
            .iter()
            .flatten()
            .any(|start| answer.trim_start().starts_with(start.as_str()))
    }
}

/// The class a text tells by its words.
fn class_of(text: &str, with_status: bool) -> Option<FaultKind> {
    let text = text.to_lowercase();
    let holds = |sign: &str| match sign.parse::<u16>() {
        Ok(_) => {
            with_status
                && text
                    .split(|c: char| !c.is_ascii_alphanumeric())
                    .any(|word| word == sign)
        }
        Err(_) => text.contains(sign),
    };
    SIGNS
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| holds(sign)))
        .map(|(kind, _)| *kind)
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join(" | ")
}

fn exit_in_words(status: ExitStatus) -> String {
    status.code().map_or_else(
        || "ended by a signal".to_owned(),
        |code| format!("exit code {code}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_the_class() {
        let rows = [
            ("Invalid API key · Please run /login", Some(FaultKind::Auth)),
            ("unexpected status 401 Unauthorized", Some(FaultKind::Auth)),
            ("401", Some(FaultKind::Auth)),
            ("at file.js:267833:4010", None),
            ("429: rate_limit_error", Some(FaultKind::RateLimited)),
            (
                "Claude AI usage limit reached|1794771392",
                Some(FaultKind::Quota),
            ),
            ("API Error: 529 Overloaded", Some(FaultKind::RateLimited)),
            (
                "API Error: 500 Internal server error",
                Some(FaultKind::Server),
            ),
            (
                "error: unknown option '--json-schema'",
                Some(FaultKind::Unavailable),
            ),
            ("connect ECONNREFUSED 127.0.0.1:1", Some(FaultKind::Network)),
            ("something else", None),
        ];
        for (text, expected) in rows {
            assert_eq!(class_of(text, true), expected, "{text}");
        }
        assert_eq!(
            class_of("line 401 of a report", false),
            None,
            "a number alone tells nothing"
        );
    }
}
