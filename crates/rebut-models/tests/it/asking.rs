//! One request, with the parts a model sees.

use rebut_engine::{
    agent::{Agent, Role},
    model::{Answer, Deltas, Fault, Model, Request, anything_fits},
    prompt::Prompt,
    reply::Schema,
};
use std::time::Duration;

/// A strict schema whose order is not the alphabet's.
pub const SCHEMA: &str = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z","a"],"additionalProperties":false}"#;

/// Everything a request borrows.
pub struct Asking {
    pub agent: Agent,
    pub prompt: Prompt,
    pub schema: Schema,
    pub deltas: Deltas,
    pub time_left: Duration,
}

impl Asking {
    pub fn new() -> Self {
        let mut prompt = Prompt::default();
        prompt.system = "You are \"careful\".".into();
        prompt.user = "Which one?\n\tA or B \u{1}\u{1f980}".to_owned();
        Self {
            agent: Role::built_in("risk")
                .expect("a built-in role")
                .played_by("test:model"),
            prompt,
            schema: Schema {
                name: "ballot",
                json: SCHEMA.into(),
            },
            deltas: Deltas::default(),
            time_left: Duration::from_secs(60),
        }
    }

    pub fn request<'a>(&'a self, turn: &'a str, attempt: u32) -> Request<'a> {
        Request {
            debate: None,
            turn,
            attempt,
            agent: &self.agent,
            prompt: &self.prompt,
            schema: &self.schema,
            fits: &anything_fits,
            now: jiff::Timestamp::UNIX_EPOCH,
            time_left: self.time_left,
            deltas: &self.deltas,
        }
    }

    pub async fn ask(&self, model: &dyn Model) -> Result<Answer, Fault> {
        model.ask(self.request("recommend/risk", 1)).await
    }
}
