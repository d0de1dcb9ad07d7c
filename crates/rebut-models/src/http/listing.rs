//! Which models an endpoint says it has.

use super::{
    MOST_TEXT,
    caller::{Caller, is_packed},
    endpoint::Endpoint,
    incoming::{Deadlines, Incoming},
};
use rebut_engine::model::{Fault, FaultKind};
use reqwest::Client;
use serde::Deserialize;
use std::{sync::Arc, time::Duration};

/// The names of an endpoint's models, in its own order.
pub(crate) async fn list(
    client: Client,
    endpoint: Arc<Endpoint>,
    patience: Duration,
) -> Result<Vec<String>, Fault> {
    let wire = endpoint.manner.wire.wire();
    let url = endpoint.url(&["models"], wire.models_query);
    let url = url.map_err(|what| {
        Fault::new(
            FaultKind::BadRequest,
            format!("provider {}: {what}", endpoint.name),
        )
    })?;
    let deadlines = Deadlines::start(patience, &endpoint.timeouts);
    let caller = Caller::new(client, endpoint, wire)?;
    let response = caller.send(caller.get(url), &deadlines).await?;
    if !response.status().is_success() {
        return Err(caller.refused(response, &deadlines, "models").await);
    }
    let packed = is_packed(response.headers());
    let body = Incoming::new(&caller, response, &deadlines)
        .read(MOST_TEXT)
        .await?;
    let listed = serde_json::from_slice::<Listed>(&body)
        .ok()
        .filter(|_| !packed);
    let listed =
        listed.ok_or_else(|| caller.fault(FaultKind::Server, "the answer is no list of models"))?;
    Ok(listed
        .entries()
        .into_iter()
        .filter(Entry::answers)
        .filter_map(Entry::into_name)
        .collect())
}

/// The forms a list comes in.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    Data { data: Vec<Entry> },
    Models { models: Vec<Entry> },
    Bare(Vec<Entry>),
}

impl Listed {
    fn entries(self) -> Vec<Entry> {
        match self {
            Self::Data { data: entries }
            | Self::Models { models: entries }
            | Self::Bare(entries) => entries,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    /// The name at most endpoints; some have one for people beside it.
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    supported_generation_methods: Option<Vec<String>>,
}

impl Entry {
    fn answers(&self) -> bool {
        self.supported_generation_methods
            .as_ref()
            .is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
    }

    fn into_name(self) -> Option<String> {
        let name = self.id.or(self.name)?;
        Some(
            name.strip_prefix("models/")
                .map(str::to_owned)
                .unwrap_or(name),
        )
    }
}
