//! The floor: the same six calls by hand, with plain reqwest and tokio and nothing else. It sends
//! the engine's own texts, recorded before the measurement, and fills in only what differs from
//! debate to debate.

use super::{
    arm::{Arm, Place},
    case::{Call, Prompts},
};
use serde::Deserialize;
use tokio::sync::Semaphore;

/// Debates by hand.
pub struct Floor {
    client: reqwest::Client,
    endpoints: Vec<String>,
    calls: Semaphore,
    prompts: Prompts,
}

#[derive(Deserialize)]
struct Completion {
    choices: [Choice; 1],
}

#[derive(Deserialize)]
struct Choice {
    message: Text,
}

#[derive(Deserialize)]
struct Text {
    content: String,
}

/// All that a reply holds, since whoever asks reads it.
#[derive(Deserialize)]
struct Recommendation {
    option: String,
    #[serde(rename = "confidence")]
    _confidence: f64,
    #[serde(rename = "summary")]
    _summary: String,
    #[serde(rename = "claims")]
    _claims: Vec<String>,
    #[serde(rename = "flips_if")]
    _flips_if: String,
}

impl Floor {
    /// Ready to call.
    pub fn new(place: &Place) -> Result<Self, String> {
        // Only the first caller in a process installs it; a second finds it there, which is as
        // good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .http1_only()
            .no_proxy()
            .build()
            .map_err(|error| error.to_string())?;
        let endpoints = place
            .endpoints
            .iter()
            .map(|base| format!("{base}/chat/completions"))
            .collect();
        Ok(Self {
            client,
            endpoints,
            calls: Semaphore::new(place.calls),
            prompts: place.prompts()?,
        })
    }

    async fn round(&self, endpoint: &str, marker: &str, calls: &[Call; 3]) -> Result<(), String> {
        let [a, b, c] = calls
            .each_ref()
            .map(|call| self.ask(endpoint, marker, call));
        let (a, b, c) = tokio::try_join!(a, b, c)?;
        if [a, b, c]
            .iter()
            .map(|reply| reply.option.as_str())
            .eq(["A", "B", "C"])
        {
            Ok(())
        } else {
            Err("not the expected options".to_owned())
        }
    }

    async fn ask(
        &self,
        endpoint: &str,
        marker: &str,
        call: &Call,
    ) -> Result<Recommendation, String> {
        let user = call.user.replace(&self.prompts.marker, marker);
        let _permit = self
            .calls
            .acquire()
            .await
            .map_err(|error| error.to_string())?;
        let sent = self
            .client
            .post(endpoint)
            .json(&call.body(&user))
            .send()
            .await;
        let completion: Completion = sent
            .map_err(in_full)?
            .error_for_status()
            .map_err(in_full)?
            .json()
            .await
            .map_err(in_full)?;
        let [choice] = completion.choices;
        serde_json::from_str(&choice.message.content).map_err(|error| error.to_string())
    }
}

impl Arm for Floor {
    async fn debate(&self, number: usize) -> Result<(), String> {
        let endpoint = &self.endpoints[number % self.endpoints.len()];
        let marker = format!("{number:016x}");
        self.round(endpoint, &marker, &self.prompts.first).await?;
        self.round(endpoint, &marker, &self.prompts.second).await
    }
}

/// Reqwest's messages hide the cause in their source.
fn in_full(error: reqwest::Error) -> String {
    let source = std::error::Error::source(&error)
        .map(|source| format!(": {source}"))
        .unwrap_or_default();
    format!("{error}{source}")
}
