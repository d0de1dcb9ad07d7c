//! What somebody may ask of a format, whoever asks: the form of its input and settings, and what of
//! both only the operator of a server says.

use super::question;
use schemars::{JsonSchema, Schema, schema_for};

/// A format that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Offer {
    pub input: fn() -> Schema,
    pub config: fn() -> Schema,
    /// Whether its input is a question with options and context.
    pub is_question: bool,
    /// Fields of the input that name places of a machine, or what only a server knows.
    pub operators_input: &'static [&'static str],
    /// Settings that name models or commands.
    pub operators_config: &'static [&'static str],
}

impl Offer {
    /// A format with its types, of which a request may say everything.
    pub const fn of<Input: JsonSchema, Config: JsonSchema>() -> Self {
        Self {
            input: || schema_for!(Input),
            config: || schema_for!(Config),
            is_question: false,
            operators_input: &[],
            operators_config: &[],
        }
    }

    /// A format that answers a question.
    pub const fn question<Config: JsonSchema>() -> Self {
        Self {
            is_question: true,
            operators_input: &["baseline_of"],
            ..Self::of::<question::Input, Config>()
        }
    }
}
