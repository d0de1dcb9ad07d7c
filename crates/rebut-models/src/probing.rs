//! Asking a provider something small and real: which models it has, and whether one answers in the
//! asked form.

use crate::{http, registry::Registry};
use rebut_engine::{
    agent::Role,
    model::{Answer, Deltas, Fault, FaultKind, Models, Request, anything_fits},
    prompt::Prompt,
    reply::{Schema, extract},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a list or a probe is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The smallest reply that shows that a form is kept.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Ready {
    /// True.
    ready: bool,
}

rebut_engine::reply!(Ready, "ready");

impl Registry {
    /// The models a provider says it has. Costs nothing, but goes over the network with the
    /// provider's key.
    pub async fn list_models(&self, provider: &str) -> Result<Vec<String>, Fault> {
        let endpoint = self.endpoint(provider)?;
        within(http::list(self.client(&endpoint)?, endpoint, PATIENCE)).await
    }

    /// Asks the model behind `provider:model` once, for real, with a tiny schema. An answer in
    /// another form is a fault.
    pub async fn probe(&self, name: &str) -> Result<Answer, Fault> {
        let model = self.open(name)?;
        let mut prompt = Prompt::default();
        prompt.system = "You check that a connection works.".into();
        prompt.user = "Reply with exactly this JSON object: {\"ready\": true}".to_owned();
        let agent = Role {
            name: "probe".to_owned(),
            stance: String::new(),
            about: String::new(),
            brief: String::new(),
            tools: Vec::new(),
        }
        .played_by(name);
        let request = Request {
            debate: None,
            turn: "probe",
            attempt: 1,
            agent: &agent,
            prompt: &prompt,
            schema: &Schema::of::<Ready>(),
            fits: &anything_fits,
            now: jiff::Timestamp::now(),
            time_left: PATIENCE,
            // As debates ask: what is tried here is what they will do.
            deltas: &Deltas::with_capacity(1),
        };
        let answer = within(model.ask(request)).await?;
        match extract::<Ready>(&answer.text, &|_| Ok(())) {
            Ok(_) => Ok(answer),
            Err(why) => {
                let message = format!("{name} answers, but not in the asked form: {why}");
                Err(Fault {
                    usage: answer.usage.map(Box::new),
                    ..Fault::new(FaultKind::InvalidReply, message)
                })
            }
        }
    }
}

/// Nobody else watches the time here.
async fn within<T>(asked: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let late = || {
        Fault::new(
            FaultKind::Timeout,
            format!("no answer within {} s", PATIENCE.as_secs()),
        )
    };
    tokio::time::timeout(PATIENCE, asked)
        .await
        .map_err(|_| late())?
}
