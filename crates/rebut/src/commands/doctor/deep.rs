//! Asking models for real: one small structured call each, several at once.

use futures_util::{StreamExt, stream};
use rebut_engine::{
    clean::{on_one_line, shortened_reason},
    model::{FaultKind, Models},
    secrets::Scrubber,
};
use rebut_models::Registry;
use serde::Serialize;
use std::time::Instant;

#[derive(Debug, Serialize)]
pub struct Probe {
    pub model: String,
    /// Whether it answered in the asked form.
    pub ok: bool,
    /// Who really answered, if that was told.
    pub answered_as: Option<String>,
    /// What went wrong; null when nothing did.
    pub fault: Option<String>,
    /// Whether its key or login was refused.
    pub refused: bool,
    pub ms: u64,
    /// US dollars; null when nobody knows.
    pub cost_usd: Option<f64>,
}

/// How many are asked at once.
const AT_ONCE: usize = 4;

/// Asks each once. The answers come in the order of the names.
pub async fn probe(registry: &Registry, models: &[String], scrubber: &Scrubber) -> Vec<Probe> {
    stream::iter(models)
        .map(|model| one(registry, model, scrubber))
        .buffered(AT_ONCE)
        .collect()
        .await
}

async fn one(registry: &Registry, model: &str, scrubber: &Scrubber) -> Probe {
    let began = Instant::now();
    let answer = registry.probe(model).await;
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let clean =
        |text: String| shortened_reason(&on_one_line(&scrubber.scrub(text)), 300).into_owned();
    let usage = match &answer {
        Ok(answer) => answer.usage,
        Err(fault) => fault.usage.as_deref().copied(),
    };
    let price = registry.open(model).ok().and_then(|model| model.price());
    let cost_usd = usage.and_then(|usage| {
        usage
            .cost_usd
            .or_else(|| price.map(|price| price.of(&usage)))
    });
    match answer {
        Ok(answer) => {
            let answered_as = answer.model.map(clean);
            Probe {
                model: model.to_owned(),
                ok: true,
                answered_as,
                fault: None,
                refused: false,
                ms,
                cost_usd,
            }
        }
        Err(fault) => {
            let refused = fault.kind == FaultKind::Auth;
            Probe {
                model: model.to_owned(),
                ok: false,
                answered_as: None,
                fault: Some(clean(fault.to_string())),
                refused,
                ms,
                cost_usd,
            }
        }
    }
}
