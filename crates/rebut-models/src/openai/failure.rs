//! What went wrong with a request, in few classes and words that hold no secret.

use super::OpenAiModel;
use crate::status;
use rebut_engine::{
    clean,
    model::{Fault, FaultKind},
};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use std::error::Error;

/// Most bytes read of an error's body.
const MOST_READ: usize = 64 << 10;
/// Most characters of it that are shown.
const MOST_SHOWN: usize = 300;

impl OpenAiModel {
    /// A fault whose message names the provider and is safe to show.
    pub(super) fn fault(&self, kind: FaultKind, message: &str) -> Fault {
        Fault::new(kind, format!("{}: {}", self.endpoint.name, self.shown(message)))
    }

    /// The request could not be made, or the connection broke.
    pub(super) fn broken(&self, error: &reqwest::Error) -> Fault {
        let kind = if error.is_timeout() && !error.is_connect() { FaultKind::Timeout } else { FaultKind::Network };
        let at = if error.is_connect() { format!("cannot connect to {}: ", self.endpoint.base_url) } else { String::new() };
        self.fault(kind, &format!("{at}{}", chain(error)))
    }

    /// The endpoint answered with a status that is no success.
    pub(super) async fn refused(&self, response: Response) -> Fault {
        let status = response.status();
        let retry_after_ms = status::retry_after_ms(response.headers());
        let body = self.read_some(response).await;
        let reported = Reported::parse(&String::from_utf8_lossy(&body));
        let mut fault = self.classified(status.as_u16(), &reported);
        fault.retry_after_ms = retry_after_ms.filter(|_| fault.kind.is_passing());
        fault
    }

    /// An error inside an answer that calls itself a success, given as the JSON of its `error`.
    pub(super) fn reported(&self, error: &str) -> Fault {
        let reported = Reported::parse(&format!("{{\"error\":{error}}}"));
        let status = reported.code.parse().ok().filter(|code| (400..600).contains(code));
        self.classified(status.unwrap_or(500), &reported)
    }

    /// A success whose body is something else, often a proxy's or a login's page.
    pub(super) fn not_a_completion(&self, body: &str) -> Fault {
        let text = if body.trim_start().starts_with('<') { without_tags(body) } else { body.to_owned() };
        self.fault(FaultKind::Server, &format!("the answer is no chat completion: {text}"))
    }

    fn classified(&self, status: u16, reported: &Reported) -> Fault {
        let kind = if status == 429 && reported.is_about_money() { FaultKind::Auth } else { status::kind_of(status) };
        let name = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("status");
        let hint = match kind {
            FaultKind::NotFound => format!(" (model `{}` at {})", self.model, self.endpoint.base_url),
            FaultKind::BadRequest if reported.is_about_form() => format!(
                " (this model does not take that form of structured output; set structured = \"object\" or \"none\" for the provider {})",
                self.endpoint.name
            ),
            _ => String::new(),
        };
        // The hint comes last but must survive the cut.
        let what = self.shown(&format!("{status} {name}: {}", reported.message));
        Fault::new(kind, format!("{}: {what}{}", self.endpoint.name, self.blanked(hint)))
    }

    /// As much of an error's body as comes; its absence changes nothing about the status.
    async fn read_some(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk[..chunk.len().min(MOST_READ - body.len())]);
            if body.len() >= MOST_READ {
                break;
            }
        }
        body
    }

    /// Cleaned first, as that may join a secret's halves; then blanked; cut last, as that may leave half of one.
    fn shown(&self, text: &str) -> String {
        let line = self.blanked(clean::on_one_line(text));
        clean::shortened(&line, MOST_SHOWN).into_owned()
    }
}

/// What an error's body says, in whichever of the usual forms.
struct Reported {
    message: String,
    code: String,
    kind: String,
}

impl Reported {
    fn parse(body: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            let text = if body.trim_start().starts_with('<') { without_tags(body) } else { body.to_owned() };
            return Self { message: text, code: String::new(), kind: String::new() };
        };
        let error = value.get("error").unwrap_or(&value);
        let word = |name: &str| match error.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let message = match error {
            Value::String(text) => text.clone(),
            _ => ["message", "detail"].into_iter().map(word).find(|text| !text.is_empty()).unwrap_or_else(|| body.to_owned()),
        };
        Self { message, code: word("code"), kind: word("type") }
    }

    /// Whether waiting will not help because nothing is left to spend.
    fn is_about_money(&self) -> bool {
        [&self.code, &self.kind].into_iter().any(|word| {
            ["insufficient_quota", "insufficient_balance", "insufficient_credits"].contains(&word.as_str()) || word.starts_with("billing")
        })
    }

    fn is_about_form(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        ["response_format", "json_schema", "json_object", "structured output"].iter().any(|word| message.contains(word))
    }
}

/// An error with its causes; the innermost is the one that helps.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len().min(4096));
    for piece in html.split('<') {
        text.push_str(piece.split_once('>').map_or("", |(_, after)| after));
        text.push(' ');
    }
    text
}
