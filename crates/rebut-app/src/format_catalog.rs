//! The formats that can be asked for by name, from the rows of the engine: the form of input and
//! settings, and what of both only the operator says.

use crate::error::AppError;
use rebut_engine::{
    formats::{FORMATS, Format, offer::Offer},
    suggest::suggest,
};
use schemars::Schema;
use serde_json::{Map, Value};

/// A format that can be asked for.
pub struct Card {
    /// Its row in the engine's table.
    pub format: &'static Format,
    /// What can be asked of it.
    pub offer: Offer,
}

/// A format as a client needs to know it.
#[derive(Clone, Debug)]
pub struct FormatForClients {
    pub name: String,
    pub about: String,
    pub input: Value,
    pub config: Value,
}

/// Every format that can be asked for, in the order of the engine's table.
fn cards() -> impl Iterator<Item = Card> {
    FORMATS.iter().filter_map(|format| {
        let offer = format.offer?;
        Some(Card { format, offer })
    })
}

impl Card {
    /// The card of a format, or an error that names the nearest.
    pub fn named(name: &str) -> Result<Self, AppError> {
        cards()
            .find(|card| card.format.name == name)
            .ok_or_else(|| {
                let known: Vec<&str> = cards().map(|card| card.format.name).collect();
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
            ("input", input, self.offer.operators_input),
            ("config", config, self.offer.operators_config),
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
        input.retain(|key, value| {
            !self.offer.operators_input.contains(&key.as_str()) || !is_empty(value)
        });
        input
    }

    fn for_clients(&self) -> FormatForClients {
        FormatForClients {
            name: self.format.name.to_owned(),
            about: self.format.about.to_owned(),
            input: without((self.offer.input)(), self.offer.operators_input),
            config: without(partial(self.offer.config), self.offer.operators_config),
        }
    }
}

/// Every format for clients, in the order of the engine's table.
pub fn all() -> Vec<FormatForClients> {
    cards().map(|card| card.for_clients()).collect()
}

/// The form of settings of which each may be left out.
fn partial(config: fn() -> Schema) -> Schema {
    let mut schema = config();
    schema.remove("required");
    schema
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

    /// Formats that commands use for one turn of their own; nobody asks for them by name.
    const NOT_OFFERED: &[&str] = &["triage", "propose"];

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
        assert_eq!(offered.len(), cards().count());
        for card in cards() {
            for (schema, own) in [
                ((card.offer.input)(), card.offer.operators_input),
                (partial(card.offer.config), card.offer.operators_config),
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
