//! What the server offers: a row per route. The router and the document of the interface are both
//! made from the rows.

pub mod catalog;
pub mod code;
#[cfg(test)]
mod completeness;
pub mod debates;
pub mod events;
pub mod exports;
pub mod gates;
pub mod inbox;
pub mod policy;
pub mod readings;
pub mod service;
pub mod steering;
pub mod table;
pub mod voting;
pub mod webhooks;

use crate::{keys::Role, middleware::Call, problem::Problem};
use axum::{
    Json,
    response::{IntoResponse, Response},
    routing::MethodFilter,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::{future::Future, pin::Pin};

/// One thing that can be asked for.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    /// Its name in the document and in metrics.
    pub id: &'static str,
    pub tag: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Who may at least; anybody, even without a key, if not given.
    pub min_role: Option<Role>,
    /// Whether it is about a debate, which then must be the asker's own.
    pub debate: Debate,
    /// What may stand behind the question mark.
    pub query: Option<SchemaOf>,
    /// Headers that mean something here, by their names in [`table::HEADERS`].
    pub headers: &'static [&'static str],
    pub body: Option<RequestBody>,
    /// How it is answered when nothing is wrong.
    pub replies: &'static [Reply],
    /// What else may be wrong besides what may be wrong everywhere.
    pub error_statuses: &'static [u16],
    /// Whether it changes nothing although it is no `GET`: then it ends with its connection, as
    /// those do.
    pub reads_only: bool,
    pub handler: Handler,
}

impl Route {
    /// Whether it changes something. Such a request is seen through, whatever becomes of its
    /// connection.
    pub fn changes(&self) -> bool {
        self.method != Method::Get && !self.reads_only
    }
}

/// How something can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    /// Puts something in the place of what was there.
    Put,
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    /// What a router takes it for.
    pub fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// Whether a route is about one debate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Debate {
    None,
    /// It is about `{id}`, and the door finds it for its owner only.
    Own,
}

pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Answers a request that was let in.
pub type Handler = fn(Call) -> Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

#[derive(Clone, Copy)]
pub struct RequestBody {
    pub schema: SchemaOf,
    pub required: bool,
}

/// How a request may be answered.
#[derive(Clone, Copy)]
pub struct Reply {
    pub status: u16,
    pub about: &'static str,
    /// The form of a JSON body.
    pub json: Option<SchemaOf>,
    /// The media types of other bodies.
    pub text: &'static [&'static str],
    /// Headers that come with it, by their names in [`table::HEADERS`].
    pub headers: &'static [&'static str],
}

impl Reply {
    const fn json<T: JsonSchema>(status: u16, about: &'static str) -> Self {
        Self {
            json: Some(schema_of::<T>),
            ..Self::empty(status, about)
        }
    }

    const fn text(about: &'static str, text: &'static [&'static str]) -> Self {
        Self {
            text,
            ..Self::empty(200, about)
        }
    }

    const fn empty(status: u16, about: &'static str) -> Self {
        Self {
            status,
            about,
            json: None,
            text: &[],
            headers: &[],
        }
    }
}

pub fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Every route by method and path, for tests that go through all of them.
pub fn listed() -> Vec<(&'static str, &'static str, Option<Role>)> {
    table::ROUTES
        .iter()
        .map(|route| (route.method.as_str(), route.path, route.min_role))
        .collect()
}

/// Every route that changes something, by method and path: tests hang up on each of them.
pub fn changing() -> Vec<(&'static str, &'static str)> {
    table::ROUTES
        .iter()
        .filter(|route| route.changes())
        .map(|route| (route.method.as_str(), route.path))
        .collect()
}

fn json(value: &impl Serialize) -> Result<Response, Problem> {
    Ok(Json(value).into_response())
}
