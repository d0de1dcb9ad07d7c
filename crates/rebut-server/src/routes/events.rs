//! The journal of a debate: a page of it, or as it grows.

use super::json;
use crate::{
    event_stream::{Tail, known_kind},
    middleware::Call,
    origin::only,
    problem::Problem,
    sse,
    web_session::StreamAuth,
    ws::Client,
};
use axum::{
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use rebut_engine::{
    Watch,
    event::KINDS,
    record::Envelope,
    store::{Pick, Picked},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Events of one page at most.
const MOST: usize = 1_000;

/// What is shown besides recorded events.
const PASSING: [&str; 5] = [
    "turn.delta",
    "turn.snapshot",
    "lagged",
    "shutdown",
    "problem",
];

/// Which events.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EventsQuery {
    /// Only those after this number.
    #[schemars(range(max = u64::MAX))]
    after: u64,
    /// Only these types, with commas between them.
    #[schemars(schema_with = "types_schema")]
    types: Option<String>,
    /// At most so many on a page.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// Where a stream ends.
    until: Until,
}

/// Where a stream of events ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// At the end of the debate; a pause is waited out.
    #[default]
    Ended,
    /// At its end, or where it is paused.
    Paused,
}

/// Which events a WebSocket shows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WsQuery {
    /// Only those after this number.
    #[schemars(range(max = u64::MAX))]
    after: u64,
    /// Only these types, with commas between them.
    #[schemars(schema_with = "types_schema")]
    types: Option<String>,
}

/// One kind or several, as they are in the table.
fn types_schema(_: &mut SchemaGenerator) -> Schema {
    let kinds = KINDS
        .iter()
        .map(|(kind, _)| *kind)
        .chain(PASSING)
        .map(|kind| kind.replace('.', "[.]"))
        .collect::<Vec<_>>()
        .join("|");
    json_schema!({ "type": "string", "pattern": format!("^({kinds})(,({kinds}))*$"), "description": "Only these types, with commas between them." })
}

/// A page of events.
#[derive(Serialize, JsonSchema)]
pub struct EventPage {
    /// Events, in their order.
    pub events: Vec<Envelope<'static>>,
    /// The number of the last event that this page went through: what to ask for next.
    pub after: u64,
    /// Whether there is more now.
    pub has_more: bool,
}

/// A page of events, or a stream of them.
pub async fn list(call: Call) -> Result<Response, Problem> {
    let query: EventsQuery = call.query()?;
    let types = kinds(query.types.as_deref())?;
    let after = last_event_id(&call.headers)?.unwrap_or(query.after);
    let limit = query.limit.unwrap_or(MOST);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::bad_request(format!("`limit` is 1 to {MOST}")));
    }
    if !wants_stream(&call.headers) {
        return page(&call, after, listed(types.as_ref()), limit).await;
    }
    let mut watch = match (begin(&call, after).await?, query.until) {
        (watch, Until::Ended) => watch.through_pauses(),
        (watch, Until::Paused) => watch,
    };
    // Whoever comes back again and again must be told at last that nothing more comes for it.
    if watch.shows_none(listed(types.as_ref())).await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let tail = tail(&call, watch, types)?;
    Ok(sse::stream(tail, call.server.settings.heartbeat))
}

pub async fn ws(mut call: Call) -> Result<Response, Problem> {
    let query: WsQuery = call.query()?;
    let types = kinds(query.types.as_deref())?;
    let upgrade = call.upgrade.take().ok_or_else(|| {
        Problem::new(
            StatusCode::UPGRADE_REQUIRED,
            "upgrade",
            "this is a WebSocket; `…/events` is the same without one",
        )
    })?;
    let watch = begin(&call, query.after).await?.through_pauses();
    let tail = tail(&call, watch, types)?;
    let client = Client {
        server: call.server.clone(),
        guest: call.guest()?.clone(),
        id: call.id()?,
    };
    let upgrade = upgrade
        .max_message_size(call.server.settings.body_bytes)
        .max_frame_size(call.server.settings.body_bytes);
    Ok(upgrade.on_upgrade(move |socket| client.follow(socket, tail)))
}

async fn page(
    call: &Call,
    after: u64,
    kinds: Option<Vec<String>>,
    limit: usize,
) -> Result<Response, Problem> {
    // One more than is shown tells whether there are more.
    let pick = Pick {
        after,
        kinds,
        most: Some(limit + 1),
        ..Pick::default()
    };
    let Picked { records, head } = call.server.desk.pick(call.id()?, &pick).await?;
    let (has_more, shown) = (records.len() > limit, &records[..records.len().min(limit)]);
    let end = head.map_or(after, |head| head.seq.max(after));
    let last = if has_more {
        shown.last().map_or(after, |record| record.seq)
    } else {
        end
    };
    let events = shown
        .iter()
        .map(|record| record.envelope())
        .collect::<Vec<_>>();
    #[derive(Serialize)]
    struct Page<'a> {
        events: Vec<Envelope<'a>>,
        after: u64,
        has_more: bool,
    }
    json(&Page {
        events,
        after: last,
        has_more,
    })
}

async fn begin(call: &Call, after: u64) -> Result<Watch, Problem> {
    let watch = call.server.desk.watch(call.id()?, after).await?;
    match watch.head() {
        head if after > head => Err(Problem::bad_request(format!(
            "there is no event {after}; the last one is {head}"
        ))),
        _ => Ok(watch),
    }
}

fn tail(call: &Call, watch: Watch, types: Option<BTreeSet<String>>) -> Result<Tail, Problem> {
    let place = call
        .server
        .watchers
        .enter(&call.key()?.name, call.server.settings.watchers)?;
    let stay = StreamAuth::new(&call.server, call.guest()?.clone());
    Ok(Tail::new(
        call.server.clone(),
        call.id()?,
        stay,
        watch,
        types,
        place,
    ))
}

fn listed(types: Option<&BTreeSet<String>>) -> Option<Vec<String>> {
    types.map(|types| types.iter().cloned().collect())
}

/// The kinds that are asked for. One that does not exist would never come, and nobody would know
/// why.
fn kinds(types: Option<&str>) -> Result<Option<BTreeSet<String>>, Problem> {
    let Some(types) = types else { return Ok(None) };
    let kinds: BTreeSet<String> = types.split(',').map(str::to_owned).collect();
    match kinds
        .iter()
        .find(|kind| known_kind(kind).is_none() && !PASSING.contains(&kind.as_str()))
    {
        Some(unknown) => Err(Problem::bad_request(format!(
            "there are no events of type `{unknown}`"
        ))),
        None => Ok(Some(kinds)),
    }
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    accepted
        .filter_map(|one| one.split(';').next())
        .any(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// The number that a client saw last; what is no number, or there twice, is refused rather than
/// taken for the beginning.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let name = HeaderName::from_static("last-event-id");
    if !headers.contains_key(&name) {
        return Ok(None);
    }
    let number = only(headers, &name)
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok());
    number
        .map(Some)
        .ok_or_else(|| Problem::bad_request("`Last-Event-ID` is the number of an event"))
}
