//! The floor: the same six calls by hand, with plain reqwest and tokio and nothing else.

use super::arm::{Arm, Place};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

/// Stances, in the order in which the model server gives them options A, B and C.
const STANCES: [&str; 3] = ["sceptical", "optimistic", "pragmatic"];
const RECOMMEND: &str = include_str!("../../../crates/rebut-engine/prompts/decide/recommend.md");
const CHALLENGE: &str = include_str!("../../../crates/rebut-engine/prompts/decide/challenge.md");
const BRIEF: &str = include_str!("../../../crates/rebut-engine/prompts/roles/risk.md");
/// About as large as the schema the engine sends.
const SCHEMA: &str = r#"{"type":"object","additionalProperties":false,"properties":{"option":{"type":"string","enum":["A","B","C"]},
"confidence":{"type":"number"},"summary":{"type":"string"},"claims":{"type":"array","items":{"type":"string"}},
"flips_if":{"type":"string"}},"required":["option","confidence","summary","claims","flips_if"]}"#;

/// Debates by hand.
pub struct Floor {
    client: reqwest::Client,
    endpoints: Vec<String>,
    calls: Semaphore,
}

#[derive(Serialize)]
struct Request<'a> {
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
    schema: &'a serde_json::value::RawValue,
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

#[derive(Deserialize)]
struct Recommendation {
    option: String,
    confidence: f64,
    summary: String,
    claims: Vec<String>,
    flips_if: String,
}

impl Floor {
    /// Ready to call.
    pub fn new(place: Place) -> Result<Self, String> {
        // Only the first caller in a process installs it; a second finds it there, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().http1_only().build().map_err(|error| error.to_string())?;
        Ok(Self { client, endpoints: place.endpoints, calls: Semaphore::new(place.calls) })
    }

    async fn round(&self, endpoint: &str, schema: &str, template: &str, heard: &str) -> Result<[Recommendation; 3], String> {
        let [a, b, c] = STANCES.map(|stance| self.ask(endpoint, schema, stance, template, heard));
        let (a, b, c) = tokio::try_join!(a, b, c)?;
        Ok([a, b, c])
    }

    async fn ask(&self, endpoint: &str, schema: &str, stance: &str, template: &str, heard: &str) -> Result<Recommendation, String> {
        let filled = template.replace("{{stance}}", stance).replace("{{brief}}", BRIEF).replace("{{others}}", heard);
        let (system, user) = filled.split_once("[user]").ok_or("a prompt file without a user part")?;
        let request = Request {
            model: "perf",
            messages: [Message { role: "system", content: system }, Message { role: "user", content: user }],
            response_format: ResponseFormat {
                r#type: "json_schema",
                json_schema: JsonSchema { name: schema, strict: true, schema: serde_json::from_str(SCHEMA).map_err(|e| e.to_string())? },
            },
        };
        let _permit = self.calls.acquire().await.map_err(|error| error.to_string())?;
        let sent = self.client.post(endpoint).json(&request).send().await;
        let completion: Completion = sent.map_err(in_full)?.error_for_status().map_err(in_full)?.json().await.map_err(in_full)?;
        let [choice] = completion.choices;
        serde_json::from_str(&choice.message.content).map_err(|error| error.to_string())
    }
}

impl Arm for Floor {
    async fn debate(&self, number: usize) -> Result<(), String> {
        let endpoint = format!("{}/chat/completions", self.endpoints[number % self.endpoints.len()]);
        let first = self.round(&endpoint, "recommendation", RECOMMEND, "").await?;
        let heard: String = first.iter().map(Recommendation::told).collect();
        let second = self.round(&endpoint, "response", CHALLENGE, &heard).await?;
        if second.iter().map(|reply| reply.option.as_str()).eq(["A", "B", "C"]) {
            Ok(())
        } else {
            Err("not the expected options".to_owned())
        }
    }
}

impl Recommendation {
    /// As the other judges hear it.
    fn told(&self) -> String {
        let claims: String = self.claims.iter().enumerate().map(|(at, claim)| format!("J#{}: {claim}\n", at + 1)).collect();
        format!("{} ({:.2}): {}\n{claims}flips if: {}\n", self.option, self.confidence, self.summary, self.flips_if)
    }
}

/// Reqwest's messages hide the cause in their source.
fn in_full(error: reqwest::Error) -> String {
    let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}
