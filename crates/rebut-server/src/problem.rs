//! The one error of the server: what went wrong, as `application/problem+json` (RFC 9457). What a
//! desk refuses is turned into it here only.

use crate::resolver::Refusal;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use rebut_engine::{
    error::{DeskError, Stop, TooLate},
    event::{GateDecided, HumanAnswered},
    model::FaultKind,
    outcome::Ending,
    store::StoreError,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// The kind of problem where nobody can answer: the request is right, and the server's models
/// cannot be used.
const NO_MODEL: &str = "no-model";

/// What went wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Problem {
    /// The kind of problem; stays the same where words change.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: &'static str,
    /// The HTTP status.
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// What went wrong this time.
    pub detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    /// The decision that was there before, where one came too late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Box<GateDecided>>,
    /// The answer that was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<HumanAnswered>>,
    /// How the debate had ended before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Seconds after which asking again may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

impl Problem {
    pub fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:rebut:{kind}"),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
            hint: None,
            decision: None,
            answer: None,
            ending: None,
            retry_after: None,
        }
    }

    /// What was asked cannot be read.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    /// What was asked can be read and makes no sense here.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", detail)
    }

    /// There is no such thing, or it is somebody else's: nobody can tell which.
    pub fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "there is no such thing here",
        )
    }

    /// The asker's own debate has no such part; so it can be said what it has.
    pub fn no_such_part(detail: impl Into<String>, hint: impl Into<Box<str>>) -> Self {
        Self {
            detail: detail.into(),
            hint: Some(hint.into()),
            ..Self::not_found()
        }
    }

    /// It is not in a state for this.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "wrong-state", detail)
    }

    /// No key, or none that is known.
    pub fn unauthorized() -> Self {
        let detail = "show a key: `Authorization: Bearer TOKEN`";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    /// Something is wrong with the server.
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    pub fn unavailable(detail: impl Into<String>, retry_after: u64) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
        }
    }

    /// The server stops; another, or the next, will answer.
    pub fn stopping() -> Self {
        Self::unavailable("the server is stopping", 10)
    }

    pub fn too_many(detail: impl Into<String>, retry_after: u64) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", detail)
        }
    }

    /// It is more than is done for one request.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }

    fn late(detail: String, what: TooLate) -> Self {
        // Nothing is decided: whoever looks again may still be in time.
        let kind = if matches!(what, TooLate::ShowsOther { .. }) {
            "content-changed"
        } else {
            "too-late"
        };
        let late = Self::new(StatusCode::CONFLICT, kind, detail);
        match what {
            TooLate::Decided(decision) => Self {
                decision: Some(decision),
                ..late
            },
            TooLate::Answered(answer) => Self {
                answer: Some(answer),
                ..late
            },
            TooLate::Ended(ending) => Self {
                ending: Some(ending),
                ..late
            },
            TooLate::Begun | TooLate::Cancelled | TooLate::ShowsOther { .. } => late,
            TooLate::Removed => Self {
                hint: Some("use a new `Idempotency-Key`".into()),
                ..late
            },
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Strings and numbers only: it is always JSON.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (
            status,
            [(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))],
            body,
        )
            .into_response();
        if let Some(seconds) = self.retry_after {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<DeskError> for Problem {
    fn from(error: DeskError) -> Self {
        let words = error.to_string();
        match error {
            DeskError::NotFound(_) | DeskError::Ambiguous { .. } => Self::not_found(),
            DeskError::TooLate { what, .. } | DeskError::Halted(Stop::TooLate(what)) => {
                Self::late(words, what)
            }
            DeskError::WrongState(_) => Self::conflict(words),
            // Whoever begins names a model that there is; whoever goes on has no choice.
            DeskError::NoModel { fault, .. }
                if matches!(fault.kind, FaultKind::NotFound | FaultKind::BadRequest) =>
            {
                Self::unprocessable(words)
            }
            DeskError::NoModel { .. } | DeskError::ModelGone { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, NO_MODEL, words)
            }
            DeskError::UnknownFormat(_)
            | DeskError::BadRequest(_)
            | DeskError::UnknownPrices(_) => Self::unprocessable(words),
            DeskError::Store(error) | DeskError::Halted(Stop::Store(error)) => error.into(),
            DeskError::Halted(Stop::TakenOver) => {
                Self::unavailable("another node has just taken this debate over; ask again", 1)
            }
            DeskError::Halted(Stop::WentBack { .. }) => Self::unavailable(
                "the database went back, and has not what was read of this debate before; read it \
                 again from its first event",
                1,
            ),
            DeskError::Halted(Stop::Paused) => Self::conflict(words),
            DeskError::Damaged { .. } | DeskError::Halted(_) => Self::internal(words),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NotFound(_) => Self::not_found(),
            StoreError::Conflict { .. } | StoreError::Held { .. } | StoreError::Lost { .. } => {
                Self::conflict(error.to_string())
            }
            StoreError::Unavailable(_) => {
                Self::unavailable("the database cannot be reached now", 5)
            }
            StoreError::Unwritable(_) => Self::unavailable(
                "the database cannot be written now (is its disk full?); nothing of this was \
                 recorded",
                5,
            ),
            StoreError::Busy(_) => Self::unavailable("another program holds the database", 5),
            StoreError::Replaced(_) => Self::unavailable(
                "the database's file was deleted or replaced; whoever runs the server must put it \
                 back or restart it",
                30,
            ),
            // Where the database is, is nobody's business outside.
            StoreError::Newer { .. }
            | StoreError::Older { .. }
            | StoreError::Foreign(_)
            | StoreError::NoPlace { .. } => Self::internal("the database cannot be used"),
            StoreError::Unreadable { .. } | StoreError::Failed(_) => {
                Self::internal(error.to_string())
            }
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let problem = if refusal.is_request {
            Self::unprocessable(refusal.message)
        } else {
            Self::unavailable(refusal.message, 30)
        };
        Self {
            hint: refusal.hint.map(String::into_boxed_str),
            ..problem
        }
    }
}
