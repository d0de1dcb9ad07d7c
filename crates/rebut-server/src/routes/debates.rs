//! Debates as a whole: start, list, look, remove.

use super::json;
use crate::{middleware::Call, origin::only, problem::Problem, server::Shared};
use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use rebut_app::request::DebateRequest;
use rebut_engine::{
    DebateId,
    agent::Agent,
    error::DeskError,
    event::{ForkedFrom, GateOpened, Limits},
    family::is_person,
    formats::FORMATS,
    outcome::{Ending, Outcome},
    record::Hash,
    report::{Document, document},
    store::{Filter, Listed, Pick, Session, Status},
    view::{Spent, View},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{collections::HashMap, time::Duration};

/// The longest that a request is held until its debate ends.
const LONGEST_WAIT: u64 = 60;

/// The form of a cursor: when a debate began, on a day that there is, and which it is.
const CURSOR: &str = "^(20[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))\
    |20([02468][048]|[13579][26])-02-29)T([01][0-9]|2[0-3])(:[0-5][0-9]){2}[.][0-9]{3}Z~[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/// The form of the beginning of an id.
const PREFIX: &str = "^[0-9a-f-]{1,36}$";

/// The kinds of events that tell where a debate stands.
pub const STANDING: &[&str] = &[
    "debate.started",
    "debate.paused",
    "debate.resumed",
    "debate.completed",
    "round.started",
    "round.completed",
    "gate.opened",
    "gate.decided",
    "event.redacted",
];

/// The kinds of events that tell of turns, where [`STANDING`] is known too.
pub const TURNS: &[&str] = &["turn.started", "turn.failed", "turn.completed"];

/// A debate in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DebateCard {
    /// Which debate.
    pub id: DebateId,
    /// Its format.
    pub format: String,
    /// What is debated.
    pub topic: String,
    /// Where it stands.
    pub status: Status,
    /// How it ended; null while it has not.
    pub outcome: Option<Ending>,
    /// The leading share at the end.
    pub consensus_score: Option<f64>,
    /// When it began.
    pub created_at: String,
    /// When its state changed last.
    pub updated_at: String,
    /// When it ended.
    pub completed_at: Option<String>,
    /// Rounds completed.
    pub rounds: u32,
    /// Whether the built-in rehearsal spoke instead of models.
    pub rehearsal: bool,
    /// Why nobody runs it although it has not ended: what a server found that could not go on with
    /// it.
    pub stalled: Option<String>,
}

/// A page of debates.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DebateList {
    /// Debates, newest first.
    pub debates: Vec<DebateCard>,
    /// What to ask for next; null when that is all.
    pub next: Option<String>,
}

/// A debate with what was pinned at its start, and where it is now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DebateDetail {
    /// As in a list.
    #[serde(flatten)]
    pub card: DebateCard,
    /// The format's input.
    pub input: Value,
    /// The format's settings.
    pub config: Value,
    /// Who takes part.
    pub agents: Vec<Agent>,
    /// Limits of the run.
    pub limits: Limits,
    /// What shuffles are drawn from, as text: not every reader keeps large numbers whole.
    pub seed: String,
    /// The debate it was forked from.
    pub forked_from: Option<ForkedFrom>,
    /// A gate that waits.
    pub open_gate: Option<GateOpened>,
    /// The end.
    pub ended: Option<Outcome>,
    /// What it cost so far.
    pub usage: Spent,
    /// Events in the journal.
    pub events: u64,
}

/// Where a debate stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DebateStatus {
    /// Which debate.
    pub id: DebateId,
    /// Where it stands.
    pub status: Status,
    /// Whether a process runs it now; one that is running and is not run was interrupted.
    pub is_run: bool,
    /// The round it is in, from 1; 0 before the first.
    pub round: u32,
    /// The phase it is in.
    pub phase: Option<String>,
    /// A gate that waits.
    pub open_gate: Option<GateOpened>,
    /// Turns that wait for a person, by name.
    pub waiting: Vec<String>,
    /// How it ended.
    pub outcome: Option<Ending>,
    /// Why nobody runs it although it has not ended: what a server found that could not go on with
    /// it.
    pub stalled: Option<String>,
    /// Events in the journal.
    pub events: u64,
}

/// Which debates to list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListQuery {
    /// Only of this status.
    status: Option<Status>,
    /// Only of this format.
    #[schemars(schema_with = "format_schema")]
    format: Option<String>,
    /// Only with these words in the topic.
    q: Option<String>,
    /// Only ids that begin so.
    #[schemars(regex(pattern = PREFIX))]
    prefix: Option<String>,
    /// At most so many.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// The `next` of the page before.
    #[schemars(regex(pattern = CURSOR))]
    cursor: Option<String>,
}

/// A format's name, as it is in the table.
fn format_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    json_schema!({ "type": "string", "enum": names, "description": "Only of this format." })
}

/// Starts a debate. A key of idempotency makes the id, so that it is known whatever happens.
pub async fn create(call: Call) -> Result<Response, Problem> {
    let asked: DebateRequest = crate::body::parse(&call.body)?;
    let owner = call.key()?.owner.clone();
    let wait = wait_of(&call);
    // Whoever runs a debate waits for a database that is away; whoever asks for one is told.
    // Nothing is accepted yet: where the database hangs, a request ends with its client.
    call.while_waited_for(call.server.desk.check_reachable())
        .await??;
    let Some(key) = idempotency_key(&call)? else {
        let start = call.server.front.prepare(asked, &owner).await?;
        let id = call.server.desk.start(start).await?.id;
        return begun(&call, id, wait, false).await;
    };
    let id = derived_id(&owner, &key)?;
    let request = request_hash(&asked)?;
    if is_begun(&call.server, id, &owner, request).await? {
        return begun(&call, id, wait, true).await;
    }
    let start = call.server.front.prepare(asked, &owner).await?;
    match call.server.desk.start_once(id, start, request).await {
        Ok(_) => begun(&call, id, wait, false).await,
        // The same request may have come twice at once, here or at another node.
        Err(error) if is_begun(&call.server, id, &owner, request).await? => {
            drop(error);
            begun(&call, id, wait, true).await
        }
        Err(error) => Err(error.into()),
    }
}

/// The hash of a request. Compared as what it means: the order of fields and left-out defaults make
/// no other request.
pub(super) fn request_hash(asked: &impl Serialize) -> Result<Hash, Problem> {
    let canonical =
        serde_json::to_value(asked).map_err(|error| Problem::internal(error.to_string()))?;
    Ok(Hash::of(canonical.to_string().as_bytes()))
}

/// Whether this very request began that debate before. Another request under its key is refused.
pub(super) async fn is_begun(
    server: &Shared,
    id: DebateId,
    owner: &str,
    request: Hash,
) -> Result<bool, Problem> {
    let first = match server
        .desk
        .pick(
            id,
            &Pick {
                most: Some(1),
                ..Pick::default()
            },
        )
        .await
    {
        Err(DeskError::NotFound(_)) => return Ok(false),
        first => View::of(&first?.records),
    };
    let started = first
        .started
        .filter(|started| started.initiated_by == owner)
        .ok_or_else(Problem::not_found)?;
    if started.request == Some(request) {
        // It can be read before it is as safe as an answer promises.
        server.desk.confirm(id).await?;
        return Ok(true);
    }
    Err(Problem::unprocessable(
        "this `Idempotency-Key` was used for another request; use a new one",
    ))
}

async fn begun(
    call: &Call,
    id: DebateId,
    wait: Option<u64>,
    replayed: bool,
) -> Result<Response, Problem> {
    let ended = match wait {
        Some(seconds) => ended_within(call, id, seconds).await?,
        None => None,
    };
    let response = match (&ended, wait) {
        (Some(document), Some(seconds)) => {
            let applied = (
                HeaderName::from_static("preference-applied"),
                header_value(&format!("wait={seconds}"))?,
            );
            (StatusCode::OK, [applied], Json(document)).into_response()
        }
        _ => (StatusCode::ACCEPTED, Json(card_of(&call.server, id).await?)).into_response(),
    };
    located(response, id, replayed)
}

/// The same answer with where the debate is, and whether it was there already.
pub(super) fn located(
    mut response: Response,
    id: DebateId,
    replayed: bool,
) -> Result<Response, Problem> {
    response.headers_mut().insert(
        header::LOCATION,
        header_value(&format!("/v1/debates/{id}"))?,
    );
    if replayed {
        response.headers_mut().insert(
            HeaderName::from_static("idempotency-replayed"),
            HeaderValue::from_static("true"),
        );
    }
    Ok(response)
}

/// The result, if the debate comes to its end in that time, the server does not stop before, and
/// somebody waits for it.
async fn ended_within(
    call: &Call,
    id: DebateId,
    seconds: u64,
) -> Result<Option<Document>, Problem> {
    let server = &call.server;
    let over = async {
        let mut watch = server.desk.watch(id, 0).await?.from_here();
        while watch.next().await?.is_some() {}
        Ok::<_, DeskError>(())
    };
    tokio::select! {
        over = tokio::time::timeout(Duration::from_secs(seconds), over) => match over {
            Ok(over) => over?,
            Err(_) => return Ok(None),
        },
        () = server.stops() => return Ok(None),
        () = call.client_left() => return Ok(None),
    }
    let view = server.desk.view(id).await?;
    Ok(document(&view).filter(|document| document.outcome.is_some()))
}

/// `Prefer: wait=30`; what cannot be read is not preferred.
fn wait_of(call: &Call) -> Option<u64> {
    let values = call
        .headers
        .get_all("prefer")
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut preferences = values.flat_map(|value| value.split([',', ';']));
    let seconds = preferences.find_map(wait_seconds)?;
    Some(seconds.min(LONGEST_WAIT))
}

/// The seconds of `wait=30`. Names of preferences have no case.
fn wait_seconds(preference: &str) -> Option<u64> {
    let (name, seconds) = preference.split_once('=')?;
    if name.trim().eq_ignore_ascii_case("wait") {
        seconds.trim().parse().ok()
    } else {
        None
    }
}

/// The key under which a request may come again.
pub(super) fn idempotency_key(call: &Call) -> Result<Option<String>, Problem> {
    let name = HeaderName::from_static("idempotency-key");
    if !call.headers.contains_key(&name) {
        return Ok(None);
    }
    let key = only(&call.headers, &name).filter(|key| {
        (1..=200).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
    });
    key.map(|key| Some(key.to_owned()))
        .ok_or_else(|| Problem::bad_request("an `Idempotency-Key` has 1 to 200 visible characters"))
}

/// The id that belongs to an owner's key, on every node and after every restart.
pub(super) fn derived_id(owner: &str, key: &str) -> Result<DebateId, Problem> {
    let mut hasher = Sha256::new();
    for text in ["rebut request 1", owner, key] {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    let id = uuid::Builder::from_random_bytes(bytes)
        .into_uuid()
        .to_string();
    id.parse()
        .map_err(|_| Problem::internal("an id could not be made"))
}

pub async fn card_of(server: &Shared, id: DebateId) -> Result<DebateCard, Problem> {
    let session = server
        .desk
        .view_of(id, STANDING)
        .await?
        .session()
        .ok_or_else(Problem::not_found)?;
    Ok(card(&session))
}

pub(super) fn card(session: &Session) -> DebateCard {
    let outcome: Option<Outcome> = session
        .outcome
        .as_deref()
        .and_then(|json| serde_json::from_str(json).ok());
    DebateCard {
        id: session.id,
        format: session.format.clone(),
        topic: session.topic.clone(),
        status: session.status,
        outcome: outcome.map(|outcome| outcome.outcome),
        consensus_score: session.final_consensus_score,
        created_at: session.created_at.clone(),
        updated_at: session.updated_at.clone(),
        completed_at: session.completed_at.clone(),
        rounds: session.total_rounds,
        rehearsal: session.rehearsal,
        stalled: None,
    }
}

/// The reasons why those of these debates that have not ended are run by nobody.
async fn reasons(
    server: &Shared,
    sessions: &[Session],
) -> Result<HashMap<DebateId, String>, Problem> {
    let open: Vec<DebateId> = sessions
        .iter()
        .filter(|session| session.status == Status::Running)
        .map(|session| session.id)
        .collect();
    Ok(server.desk.given_up(&open).await?)
}

pub async fn list(call: Call) -> Result<Response, Problem> {
    let query: ListQuery = call.query()?;
    let limit = query.limit.unwrap_or(50);
    if !(1..=100).contains(&limit) {
        return Err(Problem::bad_request("`limit` is 1 to 100"));
    }
    if let Some(unknown) = query
        .format
        .as_deref()
        .filter(|name| call.server.desk.format(name).is_err())
    {
        return Err(Problem::bad_request(format!(
            "there is no format `{unknown}`"
        )));
    }
    if query
        .prefix
        .as_deref()
        .is_some_and(|prefix| !is_prefix(prefix))
    {
        return Err(Problem::bad_request(
            "`prefix` is the beginning of an id: digits, letters from a to f, dashes",
        ));
    }
    let after = query.cursor.as_deref().map(|cursor| {
        place(cursor).ok_or_else(|| Problem::bad_request("`cursor` is the `next` of a page"))
    });
    let filter = Filter {
        prefix: query.prefix,
        status: query.status,
        format: query.format,
        by: Some(call.key()?.owner.clone()),
        topic: query.q.filter(|words| !words.is_empty()),
        after: after.transpose()?,
        limit: limit + 1,
    };
    let mut sessions = call.server.desk.sessions(&filter).await?;
    let has_more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions
        .last()
        .filter(|_| has_more)
        .map(|last| format!("{}~{}", last.created_at, last.id));
    let mut reasons = reasons(&call.server, &sessions).await?;
    let debates = sessions.iter().map(|session| DebateCard {
        stalled: reasons.remove(&session.id),
        ..card(session)
    });
    json(&DebateList {
        debates: debates.collect(),
        next,
    })
}

fn is_prefix(text: &str) -> bool {
    (1..=36).contains(&text.len())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'))
}

fn place(cursor: &str) -> Option<Listed> {
    let (created_at, id) = cursor.split_once('~')?;
    created_at.parse::<jiff::Timestamp>().ok()?;
    Some(Listed {
        created_at: created_at.to_owned(),
        id: id.parse().ok()?,
    })
}

pub async fn show(call: Call) -> Result<Response, Problem> {
    let id = call.id()?;
    let view = call
        .server
        .desk
        .view_of(id, &[STANDING, TURNS].concat())
        .await?;
    let mut detail = detail(view).ok_or_else(Problem::not_found)?;
    detail.card.stalled = stalled(&call.server, id, detail.card.status).await?;
    json(&detail)
}

pub(super) fn detail(view: View) -> Option<DebateDetail> {
    let (session, started, usage) = (view.session()?, view.started.clone()?, view.spent());
    Some(DebateDetail {
        card: card(&session),
        input: started.input.clone(),
        config: started.config.clone(),
        agents: started.agents.clone(),
        limits: started.limits,
        seed: started.seed.to_string(),
        forked_from: started.forked_from.clone(),
        open_gate: view.open_gate,
        ended: view.outcome,
        usage,
        events: view.events,
    })
}

pub async fn status(call: Call) -> Result<Response, Problem> {
    let id = call.id()?;
    let mut view = call.server.desk.view_of(id, STANDING).await?;
    if may_wait_for_people(&view) {
        view = call
            .server
            .desk
            .view_of(id, &[STANDING, TURNS].concat())
            .await?;
    }
    let mut standing = standing(id, &view, call.server.desk.is_run(id).await?);
    standing.stalled = stalled(&call.server, id, standing.status).await?;
    json(&standing)
}

/// Why nobody runs a debate that has not ended.
async fn stalled(server: &Shared, id: DebateId, status: Status) -> Result<Option<String>, Problem> {
    let asked = if status == Status::Running {
        &[id][..]
    } else {
        &[]
    };
    Ok(server.desk.given_up(asked).await?.remove(&id))
}

pub(super) fn standing(id: DebateId, view: &View, is_run: bool) -> DebateStatus {
    let last = view.rounds.last();
    DebateStatus {
        id,
        status: view.status(),
        is_run,
        round: last.map_or(0, |round| round.round),
        phase: last.map(|round| round.phase.clone()),
        open_gate: view.open_gate.clone(),
        waiting: view
            .waiting_for_people()
            .map(|turn| turn.turn.clone())
            .collect(),
        outcome: view.outcome.as_ref().map(|outcome| outcome.outcome),
        stalled: None,
        events: view.events,
    }
}

/// Whether a turn may wait for a person: where somebody takes part who is one, as long as it goes
/// on.
pub(super) fn may_wait_for_people(view: &View) -> bool {
    let people = |agent: &Agent| {
        is_person(&agent.model) || agent.fallbacks.iter().any(|model| is_person(model))
    };
    view.outcome.is_none()
        && !view.paused
        && view
            .started
            .as_ref()
            .is_none_or(|started| started.agents.iter().any(people))
}

/// Says what came of a debate.
pub async fn results(call: Call) -> Result<Response, Problem> {
    let view = call.server.desk.view(call.id()?).await?;
    json(&document(&view).ok_or_else(Problem::not_found)?)
}

pub async fn remove(call: Call) -> Result<Response, Problem> {
    let id = call.id()?;
    call.server.desk.remove(id).await?;
    call.server.front.forget_debate(id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub fn header_value(text: &str) -> Result<HeaderValue, Problem> {
    HeaderValue::from_str(text).map_err(|_| Problem::internal("an answer could not be made"))
}
