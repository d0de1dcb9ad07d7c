//! What an agent with tools may write: a call of a tool, or its reply, bare or in the field
//! `reply`.

use crate::{
    error::Stop,
    reply::{Reply, Schema},
    tools::Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

#[derive(Debug, PartialEq)]
pub enum Spoken<R> {
    Call(Call),
    Reply(R),
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Call {
    pub tool: String,
    pub arguments: Value,
}

/// The fields that make a call; no reply may have one of that name.
const FIELDS: [&str; 3] = ["tool", "arguments", "reply"];

impl<'de, R: Reply> Deserialize<'de> for Spoken<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut said = Map::<String, Value>::deserialize(deserializer)?;
        let [tool, arguments, reply] =
            FIELDS.map(|field| said.remove(field).filter(|value| !value.is_null()));
        let reply = match (tool, reply) {
            (Some(_), Some(_)) => {
                return Err(D::Error::custom(
                    "it holds a tool and a reply; give one of them",
                ));
            }
            (Some(tool), None) if said.values().all(Value::is_null) => {
                return call(tool, arguments)
                    .map(Self::Call)
                    .map_err(D::Error::custom);
            }
            (Some(_), None) => {
                return Err(D::Error::custom(
                    "it holds a tool and a reply; give one of them",
                ));
            }
            (None, Some(reply)) => reply,
            (None, None) => Value::Object(said),
        };
        serde_json::from_value(reply)
            .map(Self::Reply)
            .map_err(D::Error::custom)
    }
}

fn call(tool: Value, arguments: Option<Value>) -> Result<Call, String> {
    let Value::String(tool) = tool else {
        return Err("\"tool\" must be the name of a tool".to_owned());
    };
    let arguments = match arguments {
        None => json!({}),
        // Where every field must be there, those that are not meant are null.
        Some(Value::Object(fields)) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect::<Map<_, _>>()
            .into(),
        Some(_) => return Err("\"arguments\" must be an object".to_owned()),
    };
    Ok(Call { tool, arguments })
}

impl<R: Reply> Serialize for Spoken<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Call(call) => call.serialize(serializer),
            Self::Reply(reply) => reply.serialize(serializer),
        }
    }
}

impl<R: Reply> JsonSchema for Spoken<R> {
    fn schema_name() -> Cow<'static, str> {
        R::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        R::json_schema(generator)
    }
}

impl<R: Reply> Reply for Spoken<R> {
    const NAME: &'static str = R::NAME;

    fn schema() -> &'static Value {
        R::schema()
    }
}

/// A reply that has a field of a call could not be told from one.
pub fn check_form<R: Reply>() -> Result<(), Stop> {
    let is_field = |name: &&&str| R::schema()["properties"].get(**name).is_some();
    match FIELDS.iter().find(is_field) {
        Some(name) => Err(Stop::Broken(format!(
            "the reply `{}` has a field `{name}`, so it cannot be asked for with tools",
            R::NAME
        ))),
        None => Ok(()),
    }
}

/// The form of a call or a reply, as strict providers want it: everything required, what is not
/// meant is null.
pub fn with_tools(schema: &Schema, given: &[&Tool]) -> Result<Schema, Stop> {
    let reply: Value = serde_json::from_str(&schema.json)
        .map_err(|error| Stop::Broken(format!("the form of `{}`: {error}", schema.name)))?;
    let names: Vec<Value> = given
        .iter()
        .map(|tool| tool.name.into())
        .chain([Value::Null])
        .collect();
    let text = || json!({"type": ["string", "null"]});
    let fields = json!({"code": text(), "stdin": text(), "tests": text(), "query": text(), "name": text(), "from": {"type": ["integer", "null"]}});
    let all = ["code", "stdin", "tests", "query", "name", "from"];
    let arguments = json!({"type": "object", "properties": fields, "required": all, "additionalProperties": false});
    let none = json!({"type": "null"});
    let json = json!({
        "type": "object",
        "properties": {
            "tool": {"type": ["string", "null"], "enum": names},
            "arguments": {"anyOf": [arguments, none]},
            "reply": {"anyOf": [reply, none]},
        },
        "required": FIELDS,
        "additionalProperties": false,
    });
    Ok(Schema {
        name: schema.name,
        json: json.to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::extract;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Answer {
        answer: String,
    }
    crate::reply!(Answer, "answer");

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Hammer {
        tool: String,
    }
    crate::reply!(Hammer, "hammer");

    #[test]
    fn a_call_is_told_from_a_reply() {
        let call = |tool: &str, arguments: Value| {
            Ok(Spoken::Call(Call {
                tool: tool.to_owned(),
                arguments,
            }))
        };
        let reply = |answer: &str| {
            Ok(Spoken::Reply(Answer {
                answer: answer.to_owned(),
            }))
        };
        let rows: Vec<(&str, Result<Spoken<Answer>, &str>)> = vec![
            (r#"{"answer": "x"}"#, reply("x")),
            (
                r#"{"tool": null, "arguments": null, "reply": {"answer": "x"}}"#,
                reply("x"),
            ),
            (r#"{"tool": null, "answer": "x"}"#, reply("x")),
            (
                r#"I will look. {"tool": "run", "arguments": {"code": "1", "stdin": null}}"#,
                call("run", json!({"code": "1"})),
            ),
            (
                "```json\n{\"tool\": \"read\"}\n```",
                call("read", json!({})),
            ),
            (
                r#"{"tool": "run", "arguments": {}, "reply": null}"#,
                call("run", json!({})),
            ),
            (
                r#"{"tool": "run", "answer": "x"}"#,
                Err("a tool and a reply"),
            ),
            (
                r#"{"tool": "run", "reply": {"answer": "x"}}"#,
                Err("a tool and a reply"),
            ),
            (
                r#"{"tool": "run", "arguments": {}} and {"answer": "x"}"#,
                Err("two different answers"),
            ),
            (r#"{"tool": 3}"#, Err("name of a tool")),
            (
                r#"{"tool": "run", "arguments": "1"}"#,
                Err("must be an object"),
            ),
            (r#"{"tool": null}"#, Err("missing field `answer`")),
            ("call the tool run", Err("no JSON")),
        ];
        for (text, expected) in rows {
            let found = extract::<Spoken<Answer>>(text, &|_| Ok(())).map(|found| found.reply);
            match expected {
                Ok(expected) => assert_eq!(found, Ok(expected), "{text}"),
                Err(why) => assert!(
                    found.as_ref().is_err_and(|problem| problem.contains(why)),
                    "{text}: {found:?}"
                ),
            }
        }
        assert!(check_form::<Answer>().is_ok());
        assert!(check_form::<Hammer>().is_err_and(|halt| halt.to_string().contains("`tool`")));
    }

    #[test]
    fn the_form_with_tools_holds_the_form_without() {
        let tools: Vec<&Tool> = crate::tools::TOOLS.iter().take(2).collect();
        let schema = with_tools(&Schema::of::<Answer>(), &tools).expect("a form");
        let json: Value = serde_json::from_str(&schema.json).expect("JSON");
        assert_eq!(
            json["properties"]["tool"]["enum"],
            json!(["run", "test", null])
        );
        assert_eq!(json["properties"]["reply"]["anyOf"][0], *Answer::schema());
        assert_eq!(json["required"], json!(FIELDS));
    }
}
