//! Somebody who starts, reads and follows debates over HTTP.

use crate::perf::case;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A client with a key.
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
    body: Value,
}

/// How long a server may take to be there.
const PATIENCE: Duration = Duration::from_secs(30);

impl Client {
    /// A client of the server at this address.
    pub fn new(address: &str, token: &str) -> Result<Self, String> {
        let http = rebut_models::http::client(PATIENCE).map_err(|fault| fault.message)?;
        let start = case::start("perf:perf")?;
        let agents: Vec<Value> = start
            .agents
            .iter()
            .map(|agent| json!({"role": agent.role, "model": agent.model}))
            .collect();
        let body = json!({"format": start.format, "input": start.input, "agents": agents, "seed": start.seed});
        Ok(Self {
            http,
            base: format!("http://{address}"),
            token: token.to_owned(),
            body,
        })
    }

    /// Waits until the server answers.
    pub async fn until_ready(&self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            match self.request(Method::GET, "/readyz").send().await {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                _ if begun.elapsed() > PATIENCE => {
                    return Err("the server does not get ready".to_owned());
                }
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Starts a debate. Gives its id and how long that took, in milliseconds.
    pub async fn create(&self) -> Result<(String, f64), String> {
        let begun = Instant::now();
        let answer = taken(self.request(Method::POST, "/v1/debates").json(&self.body)).await?;
        let card: Value = answer.json().await.map_err(|error| error.to_string())?;
        let id = card["debate_id"]
            .as_str()
            .or(card["id"].as_str())
            .ok_or_else(|| format!("a debate without an id: {card}"))?;
        Ok((id.to_owned(), milliseconds(begun)))
    }

    /// Reads something. Gives it and how long that took, in milliseconds.
    pub async fn get(&self, path: &str) -> Result<(String, f64), String> {
        let begun = Instant::now();
        let text = taken(self.request(Method::GET, path))
            .await?
            .text()
            .await
            .map_err(|error| error.to_string())?;
        Ok((text, milliseconds(begun)))
    }

    /// Follows a debate.
    pub async fn follow(&self, id: &str) -> Result<Response, String> {
        taken(
            self.request(Method::GET, &format!("/v1/debates/{id}/events"))
                .header("accept", "text/event-stream"),
        )
        .await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(&self.token)
    }
}

async fn taken(request: RequestBuilder) -> Result<Response, String> {
    let answer = request.send().await.map_err(|error| error.to_string())?;
    let status = answer.status();
    if status.is_success() {
        Ok(answer)
    } else {
        Err(format!(
            "{status}: {}",
            answer.text().await.unwrap_or_default()
        ))
    }
}

fn milliseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1000.0
}
