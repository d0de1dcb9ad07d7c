//! The versions of a debate's code.

use super::{
    exports::plain,
    json,
    readings::{Reading, read},
};
use crate::{middleware::Call, problem::Problem};
use axum::response::Response;
use rebut_engine::{
    clean::for_people,
    facts::{CodeMetrics, CodeRecorded, TestCount},
    view::View,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// Versions of a debate's code.
#[derive(Serialize, JsonSchema)]
pub struct Versions {
    /// In their order.
    versions: Vec<Version>,
}

/// A version without its code.
#[derive(Serialize, JsonSchema)]
struct Version {
    /// Its number, from 1.
    version: u32,
    /// Whose candidate it is.
    candidate: Arc<str>,
    /// The turn it came with.
    turn: Arc<str>,
    /// Its language.
    language: String,
    /// Tests that held; null when nothing ran.
    tests: Option<TestCount>,
    /// 0 to 1, where somebody rated it.
    quality: Option<f64>,
    /// What can be counted in it.
    metrics: CodeMetrics,
}

impl Reading for Versions {
    const KINDS: &'static [&'static str] = &["code.recorded"];

    fn of(view: View) -> Self {
        let versions = view.code.iter().map(|code| Version {
            version: code.version,
            candidate: code.candidate.clone(),
            turn: code.turn.clone(),
            language: code.language.clone(),
            tests: code.tests,
            quality: code.quality,
            metrics: code.metrics,
        });
        Self {
            versions: versions.collect(),
        }
    }
}

pub async fn list(call: Call) -> Result<Response, Problem> {
    read::<Versions>(&call).await
}

pub async fn show(call: Call) -> Result<Response, Problem> {
    json(&version(&call).await?)
}

pub async fn diff(call: Call) -> Result<Response, Problem> {
    let diff = for_people(&version(&call).await?.diff).into_owned();
    Ok(plain("text/plain; charset=utf-8", diff))
}

async fn version(call: &Call) -> Result<Arc<CodeRecorded>, Problem> {
    let number: u32 = call
        .parameter("n")?
        .parse()
        .map_err(|_| Problem::not_found())?;
    let versions = call
        .server
        .desk
        .view_of(call.id()?, Versions::KINDS)
        .await?
        .code;
    versions
        .into_iter()
        .find(|code| code.version == number)
        .ok_or_else(Problem::not_found)
}
