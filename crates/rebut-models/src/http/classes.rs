//! What an error's body says, in whichever of the usual forms, and the class of fault it comes to.

use super::caller::plain;
use crate::status;
use rebut_engine::model::{Bars, FaultKind};
use serde_json::Value;

/// An error as a provider reports it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reported {
    pub message: String,
    /// Everything that names the class: `code`, `type`, `status`, reasons; lower case.
    words: Vec<String>,
    /// How long the provider asks us to wait, where the body says so.
    pub retry_after_ms: Option<u64>,
}

/// Where an error of a status that fits says one of these words, or its message holds one of these
/// phrases, it is of that class.
struct Class {
    kind: FaultKind,
    statuses: &'static [u16],
    words: &'static [&'static str],
    phrases: &'static [&'static str],
}

const CLASSES: &[Class] = &[
    Class {
        kind: FaultKind::Quota,
        statuses: &[400, 402, 403, 429, 500],
        words: &[
            "insufficient_quota",
            "insufficient_balance",
            "insufficient_credits",
            "billing_hard_limit_reached",
            "billing_not_active",
            "billing_error",
            "enforced_spend_limit_reached",
            "spend_limit_reached",
            "daily_quota",
        ],
        phrases: &[
            "credit balance is too low",
            "spend limit",
            "spending limit",
            "api usage limits",
            "insufficient balance",
            "insufficient credits",
            "requires more credits",
        ],
    },
    Class {
        kind: FaultKind::TooLong,
        statuses: &[400, 413, 422, 500],
        words: &[
            "context_length_exceeded",
            "exceed_context_size_error",
            "request_too_large",
            "string_above_max_length",
        ],
        phrases: &[
            "prompt is too long",
            "maximum context length",
            "context length exceeded",
            "exceeds the context window",
            "exceed context limit",
            "exceeds the available context size",
            "input token count",
            "maximum number of tokens allowed",
            "too large for model with",
        ],
    },
    Class {
        kind: FaultKind::Auth,
        statuses: &[400],
        words: &["api_key_invalid", "invalid_api_key", "authentication_error"],
        phrases: &["api key not valid"],
    },
    Class {
        kind: FaultKind::NotFound,
        statuses: &[400, 403],
        words: &["model_not_found"],
        phrases: &[],
    },
    Class {
        kind: FaultKind::Refused,
        statuses: &[400, 403, 500],
        words: &[
            "content_filter",
            "content_policy_violation",
            "invalid_prompt",
            "moderation_blocked",
        ],
        phrases: &["responsibleaipolicyviolation"],
    },
];

/// What an error inside a success would have had as its status.
const STATUSES: &[(&str, u16)] = &[
    ("rate_limit_error", 429),
    ("rate_limit_exceeded", 429),
    ("resource_exhausted", 429),
    ("overloaded_error", 529),
    ("authentication_error", 401),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("invalid_request_error", 400),
    ("invalid_prompt", 400),
    ("context_length_exceeded", 400),
    ("insufficient_quota", 429),
];

impl Reported {
    /// Reads a body, or an event that holds an error.
    pub fn parse(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            // Google puts even errors into a list when it streams.
            Ok(Value::Array(list)) if list.len() == 1 => Self::of(&list[0], body),
            Ok(value) => Self::of(&value, body),
            Err(_) => Self {
                message: plain(body).into_owned(),
                ..Self::default()
            },
        }
    }

    fn of(value: &Value, body: &str) -> Self {
        let error = value
            .get("error")
            .filter(|error| !error.is_null())
            .unwrap_or(value);
        let message = match error {
            Value::String(text) => text.clone(),
            _ => ["message", "detail"]
                .into_iter()
                .map(|name| word(error, name))
                .find(|text| !text.is_empty())
                .unwrap_or_else(|| body.to_owned()),
        };
        let mut words: Vec<String> = ["code", "type", "status"]
            .into_iter()
            .map(|name| word(error, name))
            .filter(|word| !word.is_empty())
            .collect();
        let mut retry_after_ms = None;
        for detail in error
            .get("details")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            words.push(word(detail, "reason"));
            retry_after_ms = retry_after_ms.or_else(|| {
                status::duration(&word(detail, "retryDelay"))
                    .map(|wait| status::wait_ms(wait.as_secs_f64()))
            });
            let quotas = detail.get("violations").and_then(Value::as_array);
            // A limit of a minute passes; one of a day does not.
            if quotas.is_some_and(|quotas| {
                quotas
                    .iter()
                    .any(|quota| word(quota, "quotaId").contains("PerDay"))
            }) {
                words.push("daily_quota".to_owned());
            }
        }
        words
            .iter_mut()
            .for_each(|word| word.make_ascii_lowercase());
        Self {
            message,
            words,
            retry_after_ms,
        }
    }

    /// The status an error stands for that came without one.
    pub fn status(&self) -> Option<u16> {
        let number = self
            .words
            .iter()
            .find_map(|word| word.parse().ok().filter(|code| (400..600).contains(code)));
        number.or_else(|| {
            STATUSES
                .iter()
                .find(|(word, _)| self.words.iter().any(|known| known == word))
                .map(|(_, status)| *status)
        })
    }

    /// The class of an error with that status.
    pub fn kind(&self, status: u16) -> FaultKind {
        let message = self.message.to_ascii_lowercase();
        let fits = |class: &&Class| {
            class.statuses.contains(&status)
                && (class
                    .words
                    .iter()
                    .any(|word| self.words.iter().any(|said| said == word))
                    || class.phrases.iter().any(|phrase| message.contains(phrase)))
        };
        CLASSES
            .iter()
            .find(fits)
            .map_or_else(|| status::kind_of(status), |class| class.kind)
    }

    /// Who would only say the same again: nobody, the model, or with a wrong key the whole
    /// provider. What is forbidden or used up may be so for one model alone.
    pub fn bars(&self, status: u16) -> Option<Bars> {
        match self.kind(status) {
            FaultKind::Auth if status == 403 => Some(Bars::Model),
            FaultKind::Auth => Some(Bars::Provider),
            FaultKind::Quota => Some(Bars::Model),
            _ => None,
        }
    }

    /// Whether the form of the reply is what was not accepted.
    pub fn is_about_form(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        [
            "response_format",
            "json_schema",
            "json_object",
            "structured output",
            "output_config",
            "responsejsonschema",
            "text.format",
        ]
        .iter()
        .any(|word| message.contains(word))
    }
}

fn word(object: &Value, name: &str) -> String {
    match object.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
