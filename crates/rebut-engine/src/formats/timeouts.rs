//! How long an agent may take for a turn: the setting that every format has under a name of its
//! own.

use crate::event::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The settings of a format that asks once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneTurn {
    /// Seconds the model has.
    pub timeout: u64,
}

impl OneTurn {
    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config = Self::deserialize(config).map_err(|error| error.to_string())?;
        check_seconds("timeout", config.timeout).map(|()| config)
    }
}

/// The usual limits, with the seconds per turn of that setting.
pub(super) fn limits_by(config: &Value, setting: &str) -> Limits {
    let usual = Limits::default();
    Limits {
        turn_seconds: config
            .get(setting)
            .and_then(Value::as_u64)
            .unwrap_or(usual.turn_seconds),
        ..usual
    }
}

/// Whether so many seconds make sense for a turn.
pub(super) fn check_seconds(setting: &str, seconds: u64) -> Result<(), String> {
    match seconds {
        1..=86_400 => Ok(()),
        seconds => Err(format!(
            "{setting} must be 1 to 86400 seconds, not {seconds}"
        )),
    }
}
