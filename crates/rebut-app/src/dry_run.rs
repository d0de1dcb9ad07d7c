//! Models that show what they would send, and send nothing; and what that says about the whole
//! debate.

use crate::{
    app::STREAMS,
    error::AppError,
    estimate::{Estimate, Speaker},
};
use rebut_engine::{
    Desk, DeskOptions, Start,
    budget::Caps,
    event::Limits,
    formats::Format,
    memory_store::MemoryStore,
    model::{Answer, Fault, FaultKind, Model, Models, Price, Request},
};
use std::sync::{Arc, Mutex, PoisonError};

/// A request that was not sent.
#[derive(Clone, Debug)]
pub struct Unsent {
    /// For people: whose turn, to whom, every byte.
    pub text: String,
    speaker: Speaker,
}

/// Runs the real format over models that only show. Gives the requests of its first round.
pub async fn run(models: Arc<dyn Models>, start: Start) -> Result<Vec<Unsent>, AppError> {
    let requests: Arc<Mutex<Vec<Unsent>>> = Arc::default();
    let options = DeskOptions {
        stream_deltas: STREAMS,
        ..DeskOptions::default()
    };
    let desk = Desk::with_options(
        Arc::new(MemoryStore::new()),
        Arc::new(Shown {
            models,
            requests: requests.clone(),
        }),
        options,
    );
    desk.run(Start {
        limits: start.limits.map(unreached),
        ..start
    })
    .await?;
    Ok(std::mem::take(
        &mut *requests.lock().unwrap_or_else(PoisonError::into_inner),
    ))
}

/// What the whole debate will take, by the requests of its first round.
pub fn estimate(
    start: &Start,
    shown: &[Unsent],
    price: &dyn Fn(&str) -> Option<Price>,
) -> Result<Estimate, AppError> {
    let size = |name: &str| {
        shown
            .iter()
            .find(|one| one.speaker.model == name)
            .map(|one| one.speaker.prompt_bytes)
    };
    // What is read later is not known before; it is about what is read first.
    let usual = shown
        .iter()
        .map(|one| one.speaker.prompt_bytes)
        .max()
        .unwrap_or_default();
    let speakers = start.agents.iter().map(|agent| Speaker {
        model: agent.model.to_string(),
        price: price(&agent.model),
        prompt_bytes: size(&agent.model).unwrap_or(usual),
        max_tokens: agent.max_tokens,
    });
    let format = Format::named(&start.format)
        .ok_or_else(|| AppError::usage(format!("there is no format `{}`", start.format)))?;
    let calls =
        (format.foresee)(&start.input, &start.config, &start.agents).map_err(AppError::usage)?;
    Ok(Estimate::new(&speakers.collect::<Vec<_>>(), &calls))
}

/// The same limits with caps that are there, since they shape requests, but stop nothing.
fn unreached(limits: Limits) -> Limits {
    let caps = limits.caps;
    let caps = Caps {
        cost_usd: caps.cost_usd.map(|cost| {
            if cost.is_finite() && cost >= 0.0 {
                f64::MAX
            } else {
                cost
            }
        }),
        tokens: caps.tokens.map(|_| u64::MAX),
        calls: caps.calls.map(|_| u64::MAX),
        ..caps
    };
    Limits { caps, ..limits }
}

struct Shown {
    models: Arc<dyn Models>,
    requests: Arc<Mutex<Vec<Unsent>>>,
}

impl Models for Shown {
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::new(Mirror {
            model: self.models.open(name)?,
            name: name.to_owned(),
            requests: self.requests.clone(),
        }))
    }
}

struct Mirror {
    model: Arc<dyn Model>,
    name: String,
    requests: Arc<Mutex<Vec<Unsent>>>,
}

#[async_trait::async_trait]
impl Model for Mirror {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let left_out: String = self
            .model
            .left_out(&request)
            .iter()
            .map(|setting| format!("(left out: {setting})\n"))
            .collect();
        let text = format!(
            "=== {} to {} ===\n{left_out}{}",
            request.turn,
            self.name,
            self.model.wire(&request)
        );
        let bytes =
            request.prompt.system.len() + request.prompt.user.len() + request.schema.json.len();
        let speaker = Speaker {
            model: self.name.clone(),
            price: self.model.price(),
            prompt_bytes: bytes as u64,
            max_tokens: request.agent.max_tokens,
        };
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Unsent { text, speaker });
        Err(Fault::new(FaultKind::NotSent, "dry run"))
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }
}
