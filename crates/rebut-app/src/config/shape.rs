//! Lists where a table belongs. The parser would take the items of a list for the keys of a table
//! in their order, and a setting that is looked for by its key (to withhold it, or to show what it
//! allows) would pass unseen.

use serde_json::Value;

/// What of a configuration is a list although a table belongs there, by its keys.
pub fn list_for_table(schema: &Value, given: &toml::Table) -> Option<String> {
    let shape = Shape { schema };
    shape.look(&[schema], &toml::Value::Table(given.clone()), "")
}

struct Shape<'a> {
    schema: &'a Value,
}

impl<'a> Shape<'a> {
    /// Looks at a value that one of these schemas describes.
    fn look(&self, schemas: &[&'a Value], given: &toml::Value, at: &str) -> Option<String> {
        let schemas: Vec<&Value> = schemas
            .iter()
            .flat_map(|schema| self.forms(schema))
            .collect();
        match given {
            toml::Value::Array(_)
                if !schemas.is_empty() && schemas.iter().all(|schema| is_no_list(schema)) =>
            {
                Some(at.to_owned())
            }
            toml::Value::Array(items) => {
                let of: Vec<&Value> = schemas
                    .iter()
                    .filter_map(|schema| schema.get("items"))
                    .collect();
                items.iter().find_map(|item| self.look(&of, item, at))
            }
            toml::Value::Table(keys) => keys.iter().find_map(|(key, value)| {
                let of = |schema: &&'a Value| {
                    schema["properties"]
                        .get(key)
                        .or_else(|| schema.get("additionalProperties"))
                };
                let of: Vec<&Value> = schemas.iter().filter_map(of).collect();
                let dot = if at.is_empty() { "" } else { "." };
                self.look(&of, value, &format!("{at}{dot}{key}"))
            }),
            _ => None,
        }
    }

    /// The schemas that a schema stands for: what it refers to, and each of its alternatives.
    fn forms(&self, schema: &'a Value) -> Vec<&'a Value> {
        let referred = schema["$ref"]
            .as_str()
            .and_then(|name| self.schema.pointer(name.trim_start_matches('#')));
        let others = ["anyOf", "oneOf", "allOf"]
            .iter()
            .filter_map(|key| schema[*key].as_array())
            .flatten();
        let others: Vec<&Value> = referred
            .into_iter()
            .chain(others)
            .flat_map(|schema| self.forms(schema))
            .collect();
        if others.is_empty() {
            vec![schema]
        } else {
            others
        }
    }
}

/// Whether a schema names the kinds of its values, and lists are none of them.
fn is_no_list(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(kind) => kind != "array",
        Value::Array(kinds) => !kinds.iter().any(|kind| kind == "array"),
        _ => schema.get("const").is_some() || schema.get("enum").is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigFile;

    #[test]
    fn a_list_in_the_place_of_a_table_is_found_wherever_it_stands() {
        let schema = schemars::schema_for!(ConfigFile).to_value();
        let found = |text: &str| list_for_table(&schema, &toml::from_str(text).expect(text));
        let rows = [
            ("defaults = ['team', 'debates']", Some("defaults")),
            ("[solve]\nhooks = [['echo', 'x']]", Some("solve.hooks")),
            ("[solve]\ntools = [['echo', 'x']]", Some("solve.tools")),
            ("solve = [1]", Some("solve")),
            ("server = []", Some("server")),
            ("hook = [true]", Some("hook")),
            (
                "[providers]\nacme = ['https://a.example']",
                Some("providers.acme"),
            ),
            (
                "[providers.acme]\nbase_url = 'https://a.example'\nprices = []",
                Some("providers.acme.prices"),
            ),
            (
                "[providers.acme.prices]\nm = [0.0, 0.0]",
                Some("providers.acme.prices.m"),
            ),
            ("[clis]\nx = ['sh']", Some("clis.x")),
            (
                "[panels.p]\nmembers = [['risk', 'm']]",
                Some("panels.p.members"),
            ),
            ("[panels]\np = [[]]", Some("panels.p")),
            (
                "[panels.p]\nmembers = [{ role = 'risk', model = 'm', fallbacks = ['n'] \
                 }]\n[context]\ndeny = ['x']",
                None,
            ),
            (
                "[solve.hooks]\npost-proposal = ['x', 'y']\n[solve.tools]\nlint = ['x']",
                None,
            ),
            ("[clis.x]\ncommand = 'sh'\nargs = ['a']", None),
        ];
        for (text, expected) in rows {
            assert_eq!(found(text).as_deref(), expected, "{text}");
        }
    }
}
