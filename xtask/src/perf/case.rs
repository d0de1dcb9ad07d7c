//! The case everybody debates, and the texts the engine really sends for it, so that the floor can
//! send the same.

use super::reply;
use rebut_engine::{
    Desk, Start,
    agent::Role,
    formats::decide::{Choice, Config, Input},
    model::{Answer, Fault, Model, Models, Request},
    record::Record,
    store::Store,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The judges, in the order in which the model server gives them options A, B and C.
const JUDGES: [&str; 3] = ["risk", "value", "effort"];

/// The question.
pub const QUESTION: &str = "How should the field app keep working where there is no network?";

/// The options, as the command line takes them.
pub const OPTIONS: [&str; 3] = [
    "A=Online only: Show a clear message and retry when the network is back",
    "B=Full offline: Keep a copy of all data and merge later",
    "C=Drafts: Queue what was typed and send it later",
];

const CONTEXT: &str = "\
The app is used by 240 technicians on building sites. One visit in nine has no network for more \
than ten minutes.
Two people work on it. A lost report costs about an hour; two reports that contradict each other cost a day.
The server keeps every report for ten years. A release takes two weeks to reach everybody.";

/// A request for the debate, with everybody answered by this model.
pub fn start(model: &str) -> Result<Start, String> {
    let options = OPTIONS.iter().filter_map(|option| {
        let (id, rest) = option.split_once('=')?;
        let (label, description) = rest.split_once(": ")?;
        Some(Choice {
            id: id.to_owned(),
            label: label.to_owned(),
            description: description.to_owned(),
        })
    });
    let input = Input {
        question_id: "perf".to_owned(),
        question: QUESTION.to_owned(),
        options: options.collect(),
        context: CONTEXT.to_owned(),
        ..Input::default()
    };
    let judge = |name: &str| {
        Role::built_in(name)
            .map(|role| role.played_by(model))
            .ok_or_else(|| format!("no role `{name}`"))
    };
    Ok(Start {
        format: "decide".to_owned(),
        input: serde_json::to_value(input).map_err(|error| error.to_string())?,
        config: serde_json::to_value(Config::default()).map_err(|error| error.to_string())?,
        agents: JUDGES
            .iter()
            .map(|name| judge(name))
            .collect::<Result<_, _>>()?,
        seed: Some(7),
        initiated_by: "perf".to_owned(),
        limits: None,
    })
}

/// What the engine sends in one debate: three calls in each of two rounds.
#[derive(Serialize, Deserialize)]
pub struct Prompts {
    /// What fences the quoted text; every debate has its own.
    pub marker: String,
    /// The blind round.
    pub first: [Call; 3],
    /// The round in which they hear each other.
    pub second: [Call; 3],
}

/// One call.
#[derive(Clone, Serialize, Deserialize)]
pub struct Call {
    /// The system message.
    pub system: String,
    /// The user's message.
    pub user: String,
    /// The name of the reply's schema.
    pub schema_name: String,
    /// The schema.
    pub schema: Box<RawValue>,
}

/// The body of a request, by hand.
#[derive(Serialize)]
pub struct Body<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    response_format: ResponseFormat<'a>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'a str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a RawValue,
}

impl Call {
    /// The body with this text in the place of the user's message.
    pub fn body<'a>(&'a self, user: &'a str) -> Body<'a> {
        let json_schema = JsonSchema {
            name: &self.schema_name,
            strict: true,
            schema: &self.schema,
        };
        Body {
            model: "perf",
            messages: [
                Message {
                    role: "system",
                    content: &self.system,
                },
                Message {
                    role: "user",
                    content: user,
                },
            ],
            response_format: ResponseFormat {
                r#type: "json_schema",
                json_schema,
            },
        }
    }
}

/// Holds one debate over that store without any network. Gives its journal and what was sent.
pub async fn rehearse(
    store: Arc<dyn Store>,
    model: &str,
) -> Result<(Vec<Record>, Prompts), String> {
    let recorder = Arc::new(Recorder::default());
    let desk = Desk::new(store, Arc::new(Everybody(recorder.clone())));
    let (id, _) = desk
        .run(start(model)?)
        .await
        .map_err(|error| error.to_string())?;
    let records = desk.records(id).await.map_err(|error| error.to_string())?;
    let view = desk.view(id).await.map_err(|error| error.to_string())?;
    let marker = view
        .started
        .as_ref()
        .map(|started| started.marker.clone())
        .ok_or("the journal has no beginning")?;
    let calls = recorder
        .calls
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let round = |step: &str| -> Result<[Call; 3], String> {
        let call = |judge: &str| calls.get(&format!("{step}/{judge}")).cloned();
        match JUDGES.map(call) {
            [Some(a), Some(b), Some(c)] => Ok([a, b, c]),
            _ => Err(format!(
                "not everybody was asked at {step}; asked were {:?}",
                calls.keys()
            )),
        }
    };
    let prompts = Prompts {
        marker,
        first: round("recommend")?,
        second: round("challenge 2")?,
    };
    Ok((records, prompts))
}

/// Answers like the model server and keeps what it was asked.
#[derive(Default)]
struct Recorder {
    calls: Mutex<BTreeMap<String, Call>>,
}

struct Everybody(Arc<Recorder>);

impl Models for Everybody {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

#[async_trait::async_trait]
impl Model for Recorder {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let call = Call {
            system: request.prompt.system.to_string(),
            user: request.prompt.user.clone(),
            schema_name: request.schema.name.to_owned(),
            schema: RawValue::from_string(request.schema.json.to_string())
                .expect("a schema is JSON"),
        };
        let body = serde_json::to_vec(&call.body(&call.user)).expect("texts are always JSON");
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(request.turn.to_owned(), call);
        Ok(Answer {
            text: reply::said(&body),
            ..Answer::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::{
        memory_store::MemoryStore,
        model::{Deltas, anything_fits},
        prompt::Prompt,
        reply::Schema,
    };
    use rebut_models::{ProviderData, Registry};

    #[tokio::test]
    async fn the_floor_sends_what_the_engine_sends() {
        let (records, prompts) = rehearse(Arc::new(MemoryStore::new()), "perf:perf")
            .await
            .expect("a debate");
        assert!(
            records.last().expect("records").data.contains("contested"),
            "six calls take a panel that stays divided"
        );
        let provider = ProviderData {
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            ..ProviderData::default()
        };
        let registry = Registry::new(".", &[("perf".to_owned(), provider)].into(), &|_| None)
            .expect("a registry");
        let (model, start) = (
            registry.open("perf:perf").expect("a model"),
            start("perf:perf").expect("a request"),
        );
        for call in prompts.first.iter().chain(&prompts.second) {
            let mut prompt = Prompt::default();
            (prompt.system, prompt.user) = (call.system.clone().into(), call.user.clone());
            let name = if call.schema_name == "response" {
                "response"
            } else {
                "recommendation"
            };
            let schema = Schema {
                name,
                json: call.schema.get().into(),
            };
            let (deltas, time_left) = (Deltas::default(), std::time::Duration::from_secs(1));
            let (agent, schema, fits, prompt, deltas) =
                (&start.agents[0], &schema, &anything_fits, &prompt, &deltas);
            let now = jiff::Timestamp::UNIX_EPOCH;
            let request = Request {
                debate: None,
                turn: "t",
                attempt: 1,
                agent,
                prompt,
                schema,
                fits,
                now,
                time_left,
                deltas,
            };
            let wire = model.wire(&request);
            let (_, body) = wire.split_once("\n\n").expect("a head and a body");
            assert_eq!(
                body,
                serde_json::to_string(&call.body(&call.user)).expect("JSON")
            );
        }
        assert!(
            prompts
                .second
                .iter()
                .all(|call| call.user.contains(&prompts.marker)),
            "the marker fences what others said"
        );
    }
}
