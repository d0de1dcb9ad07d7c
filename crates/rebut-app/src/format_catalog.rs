//! The formats that can be asked for by name: one row each, with the form of its input and settings and what
//! of both only the operator says.

use crate::{config::Partial, error::AppError};
use rebut_engine::{
    formats::{
        FORMATS, Format,
        baselines::{poll, single, society},
        challenge, decide, evaluate, review, solve,
    },
    suggest::suggest,
};
use schemars::{Schema, schema_for};
use serde_json::{Map, Value};

/// A format that can be asked for.
pub struct Card {
    /// Its row in the engine's table.
    pub format: &'static Format,
    input: fn() -> Schema,
    config: fn() -> Schema,
    /// Fields of the input that name places of this machine, or what only the server knows.
    own_input: &'static [&'static str],
    /// Settings that name models or commands.
    own_config: &'static [&'static str],
}

/// A format as a client needs to know it.
#[derive(Clone, Debug)]
pub struct Offer {
    pub name: String,
    pub about: String,
    /// The schema of its input.
    pub input: Value,
    /// The schema of its settings.
    pub config: Value,
}

/// Every format that can be asked for.
const CARDS: &[Card] = &[
    Card {
        own_input: &["baseline_of"],
        ..card(
            &decide::FORMAT,
            || schema_for!(decide::Input),
            || schema_for!(Partial<decide::Config>),
        )
    },
    Card {
        own_input: &["workspace"],
        ..card(
            &challenge::FORMAT,
            || schema_for!(challenge::Input),
            || schema_for!(Partial<challenge::Config>),
        )
    },
    card(
        &evaluate::FORMAT,
        || schema_for!(evaluate::Input),
        || schema_for!(Partial<evaluate::Config>),
    ),
    card(
        &review::FORMAT,
        || schema_for!(review::Input),
        || schema_for!(Partial<review::Config>),
    ),
    Card {
        own_input: &["lessons", "lessons_search"],
        own_config: &["embeddings", "hooks", "tools"],
        ..card(
            &solve::FORMAT,
            || schema_for!(solve::Input),
            || schema_for!(Partial<solve::Config>),
        )
    },
    Card {
        own_input: &["baseline_of"],
        ..card(
            &single::FORMAT,
            || schema_for!(decide::Input),
            || schema_for!(Partial<single::Config>),
        )
    },
    Card {
        own_input: &["baseline_of"],
        ..card(
            &poll::FORMAT,
            || schema_for!(decide::Input),
            || schema_for!(Partial<poll::Config>),
        )
    },
    Card {
        own_input: &["baseline_of"],
        ..card(
            &society::FORMAT,
            || schema_for!(decide::Input),
            || schema_for!(Partial<society::Config>),
        )
    },
];

const fn card(format: &'static Format, input: fn() -> Schema, config: fn() -> Schema) -> Card {
    Card {
        format,
        input,
        config,
        own_input: &[],
        own_config: &[],
    }
}

/// Formats that commands use for one turn of their own; nobody asks for them by name.
#[cfg(test)]
const NOT_OFFERED: &[&str] = &["triage", "propose"];

impl Card {
    /// The card of a format, or an error that names the nearest.
    pub fn named(name: &str) -> Result<&'static Self, AppError> {
        CARDS
            .iter()
            .find(|card| card.format.name == name)
            .ok_or_else(|| {
                let known: Vec<&str> = CARDS.iter().map(|card| card.format.name).collect();
                let meant = suggest(name, known.iter().copied())
                    .map(|meant| format!("did you mean `{meant}`? "))
                    .unwrap_or_default();
                AppError::usage(format!("there is no format `{name}`"))
                    .hint(format!("{meant}Known: {}", known.join(", ")))
            })
    }

    /// Refuses what only the operator says.
    pub fn check(
        &self,
        input: &Map<String, Value>,
        config: &Map<String, Value>,
    ) -> Result<(), AppError> {
        let rows = [
            ("input", input, self.own_input),
            ("config", config, self.own_config),
        ];
        let refused = rows.iter().find_map(|(part, given, own)| {
            own.iter()
                .find(|key| given.contains_key(**key))
                .map(|key| (part, key))
        });
        match refused {
            None => Ok(()),
            Some((part, key)) => Err(AppError::usage(format!(
                "`{part}.{key}` cannot be said in a request"
            ))
            .hint("it belongs to whoever runs the server; leave it out")),
        }
    }

    /// An input as a request carries it: without what only the server says, as long as nobody said
    /// it here either.
    pub fn carried(&self, mut input: Map<String, Value>) -> Map<String, Value> {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => false,
        };
        input.retain(|key, value| !self.own_input.contains(&key.as_str()) || !is_empty(value));
        input
    }

    fn for_clients(&self) -> Offer {
        Offer {
            name: self.format.name.to_owned(),
            about: self.format.about.to_owned(),
            input: without((self.input)(), self.own_input),
            config: without((self.config)(), self.own_config),
        }
    }
}

/// Every format for clients, in the order of the engine's table.
pub fn all() -> Vec<Offer> {
    let rows = FORMATS
        .iter()
        .filter_map(|format| CARDS.iter().find(|card| card.format.name == format.name));
    rows.map(Card::for_clients).collect()
}

/// A schema without some of its properties.
fn without(schema: Schema, keys: &[&str]) -> Value {
    let mut schema = schema.to_value();
    for key in keys {
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.remove(*key);
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name != key);
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_offered_or_said_not_to_be_and_its_own_fields_are_real() {
        let offered: Vec<String> = all().into_iter().map(|card| card.name).collect();
        for format in FORMATS {
            assert_eq!(
                offered.iter().any(|name| name == format.name),
                !NOT_OFFERED.contains(&format.name),
                "{}",
                format.name
            );
        }
        assert_eq!(offered.len(), CARDS.len());
        for card in CARDS {
            for (schema, own) in [
                ((card.input)(), card.own_input),
                ((card.config)(), card.own_config),
            ] {
                let whole = schema.clone().to_value();
                let shown = without(schema, own);
                for key in own {
                    assert!(
                        whole["properties"].get(*key).is_some(),
                        "{}: there is no `{key}`",
                        card.format.name
                    );
                    assert!(
                        shown["properties"].get(*key).is_none(),
                        "{}: `{key}` is shown",
                        card.format.name
                    );
                    let given = Map::from_iter([((*key).to_owned(), Value::Null)]);
                    assert!(
                        card.check(&given, &Map::new()).is_err()
                            || card.check(&Map::new(), &given).is_err(),
                        "{key}"
                    );
                }
            }
        }
    }
}
