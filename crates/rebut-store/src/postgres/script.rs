//! The statements that write a batch: what many works have in common goes in one statement, as
//! columns.

use super::{
    Node, listening, outbox,
    pool::{Value, value},
    script_derived as projections,
};
use crate::{
    rows::{int, row_id},
    transaction::Work,
};
use rebut_engine::{
    DebateId,
    record::Record,
    seal::Checkpoint,
    store::{Append, Claim, Session, TurnRow},
};
use std::{borrow::Cow, collections::BTreeMap};
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

pub(super) struct Statement<'a> {
    pub(super) sql: Cow<'static, str>,
    pub(super) values: Vec<Value<'a>>,
}

/// What writes the works, in order. They must have been allowed.
pub(super) fn script<'a>(works: &[&'a Work], node: &Node) -> Vec<Statement<'a>> {
    let mut script = Vec::new();
    let mut together: Vec<&Append> = Vec::new();
    for work in works {
        match work {
            Work::Append(append) => together.push(append),
            Work::Redact(tombstone, append) => {
                write(&mut script, std::mem::take(&mut together), node);
                script.extend(projections::redaction(tombstone));
                together.push(append);
            }
            Work::Remove(debate) => {
                write(&mut script, std::mem::take(&mut together), node);
                script.extend(projections::removal(*debate));
            }
        }
    }
    write(&mut script, together, node);
    script.extend(notification(works, node));
    script
}

/// Appends, in one statement for each table.
fn write<'a>(script: &mut Vec<Statement<'a>>, appends: Vec<&'a Append>, node: &Node) {
    let records: Vec<&Record> = appends.iter().flat_map(|append| &append.records).collect();
    let checkpoints: Vec<(DebateId, &Checkpoint)> = appends
        .iter()
        .flat_map(|append| {
            append
                .checkpoints
                .iter()
                .map(|checkpoint| (append.debate, checkpoint))
        })
        .collect();
    // No statement can write one row twice: the last word counts.
    let sessions: BTreeMap<DebateId, &Session> = appends
        .iter()
        .filter_map(|append| append.session.as_deref())
        .map(|session| (session.id, session))
        .collect();
    let sessions: Vec<&Session> = sessions.into_values().collect();
    let turns: Vec<(DebateId, &TurnRow)> = appends
        .iter()
        .flat_map(|append| append.turns.iter().map(|turn| (append.debate, turn)))
        .collect();
    let claims: BTreeMap<DebateId, Claim> = appends
        .iter()
        .filter(|append| matches!(append.claim, Claim::Take | Claim::Release))
        .map(|append| (append.debate, append.claim))
        .collect();
    script.extend((!records.is_empty()).then(|| events(&records)));
    script.extend((!checkpoints.is_empty()).then(|| seals(&checkpoints)));
    script.extend((!sessions.is_empty()).then(|| put_sessions(&sessions)));
    script.extend((!turns.is_empty()).then(|| put_turns(&turns)));
    for append in &appends {
        script.extend(
            append
                .projections
                .iter()
                .map(|left| projections::insertion(append.debate, left)),
        );
    }
    let told: Vec<&Record> = appends.iter().flat_map(|append| append.told()).collect();
    script.extend((!told.is_empty()).then(|| outbox::keeping(&told)));
    script.extend(take(&claims, node));
    script.extend(release(&claims));
}

/// The column of an insertion of many rows.
fn column<'a, T: Copy, V: ToSql + Sync + Send + 'a>(
    rows: &[T],
    kind: Type,
    of: impl Fn(T) -> V,
) -> Value<'a> {
    value(rows.iter().map(|row| of(*row)).collect::<Vec<V>>(), kind)
}

/// The id as the database has it.
pub(super) fn uuid(debate: DebateId) -> Uuid {
    Uuid::from_bytes(*debate.as_bytes())
}

/// A text in a table for people. PostgreSQL cannot hold the character zero in one; the journal has
/// it as an escape.
pub(super) fn held(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}").into()
    } else {
        text.into()
    }
}

fn events<'a>(rows: &[&'a Record]) -> Statement<'a> {
    let values = vec![
        column(rows, Type::UUID_ARRAY, |row| uuid(row.debate)),
        column(rows, Type::INT8_ARRAY, |row| int(row.seq)),
        column(rows, Type::TEXT_ARRAY, |row| &*row.ts),
        column(rows, Type::TEXT_ARRAY, |row| &*row.kind),
        column(rows, Type::INT8_ARRAY, |row| row.round.map(i64::from)),
        column(rows, Type::TEXT_ARRAY, |row| row.phase.as_deref()),
        column(rows, Type::TEXT_ARRAY, |row| row.agent.as_deref()),
        column(rows, Type::TEXT_ARRAY, |row| &*row.data),
        column(rows, Type::BYTEA_ARRAY, |row| {
            row.salt.as_ref().map(|salt| &salt[..])
        }),
        column(rows, Type::BYTEA_ARRAY, |row| &row.digest.0[..]),
        column(rows, Type::BYTEA_ARRAY, |row| &row.prev.0[..]),
        column(rows, Type::BYTEA_ARRAY, |row| &row.hash.0[..]),
    ];
    let sql = "INSERT INTO events (debate_id, seq, ts, type, round, phase, agent, data, salt, \
        digest, prev, hash)
        SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    Statement {
        sql: sql.into(),
        values,
    }
}

fn seals<'a>(rows: &[(DebateId, &'a Checkpoint)]) -> Statement<'a> {
    let values = vec![
        column(rows, Type::UUID_ARRAY, |row| uuid(row.0)),
        column(rows, Type::INT8_ARRAY, |row| int(row.1.count)),
        column(rows, Type::BYTEA_ARRAY, |row| &row.1.head.0[..]),
        column(rows, Type::TEXT_ARRAY, |row| &*row.1.key),
        column(rows, Type::TEXT_ARRAY, |row| &*row.1.signature),
    ];
    let sql = "INSERT INTO checkpoints (debate_id, count, head, key, signature)
        SELECT debate_id, count, head, key, signature
        FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY AS rows (debate_id, count, head, key, signature, n) ORDER BY n";
    Statement {
        sql: sql.into(),
        values,
    }
}

fn put_sessions<'a>(rows: &[&'a Session]) -> Statement<'a> {
    let values = vec![
        column(rows, Type::UUID_ARRAY, |row| uuid(row.id)),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.topic)),
        column(rows, Type::TEXT_ARRAY, |row| row.status.as_str()),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.topology_type)),
        column(rows, Type::TEXT_ARRAY, |row| {
            held(&row.coordination_protocol)
        }),
        column(rows, Type::TEXT_ARRAY, |row| &*row.config),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.initiated_by)),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.created_at)),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.updated_at)),
        column(rows, Type::TEXT_ARRAY, |row| {
            row.completed_at.as_deref().map(held)
        }),
        column(rows, Type::INT8_ARRAY, |row| i64::from(row.total_rounds)),
        column(rows, Type::FLOAT8_ARRAY, |row| row.final_consensus_score),
        column(rows, Type::TEXT_ARRAY, |row| row.outcome.as_deref()),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.format)),
        column(rows, Type::BOOL_ARRAY, |row| row.rehearsal),
    ];
    let sql = "INSERT INTO debate_sessions (id, debate_id, topic, status, topology_type, \
        coordination_protocol, config, initiated_by,
            created_at, updated_at, completed_at, total_rounds, final_consensus_score, outcome, format, rehearsal)
        SELECT id, id::text, topic, status, topology_type, coordination_protocol, config::json, initiated_by, created_at, updated_at,
            completed_at, total_rounds, final_consensus_score, outcome::json, format, rehearsal
        FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS rows (id, topic, status, topology_type,
            coordination_protocol, config, initiated_by, created_at, updated_at, completed_at, total_rounds, final_consensus_score,
            outcome, format, rehearsal)
        ON CONFLICT (id) DO UPDATE SET (topic, status, topology_type, coordination_protocol, config, initiated_by, created_at, updated_at,
            completed_at, total_rounds, final_consensus_score, outcome, format, rehearsal)
            = ROW (excluded.topic, excluded.status, excluded.topology_type, excluded.coordination_protocol, excluded.config,
            excluded.initiated_by, excluded.created_at, excluded.updated_at, excluded.completed_at, excluded.total_rounds,
            excluded.final_consensus_score, excluded.outcome, excluded.format, excluded.rehearsal)";
    Statement {
        sql: sql.into(),
        values,
    }
}

fn put_turns<'a>(rows: &[(DebateId, &'a TurnRow)]) -> Statement<'a> {
    let values = vec![
        column(rows, Type::TEXT_ARRAY, |(debate, turn)| {
            row_id(&debate.to_string(), turn.seq)
        }),
        column(rows, Type::UUID_ARRAY, |row| uuid(row.0)),
        column(rows, Type::INT8_ARRAY, |row| i64::from(row.1.round)),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.1.phase)),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.1.agent_id)),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.1.agent_role)),
        column(rows, Type::TEXT_ARRAY, |row| held(row.1.provider())),
        column(rows, Type::TEXT_ARRAY, |row| held(row.1.model())),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.1.completed.text)),
        column(rows, Type::FLOAT8_ARRAY, |row| row.1.confidence()),
        column(rows, Type::TEXT_ARRAY, |row| row.1.metadata()),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.1.created_at)),
        column(rows, Type::INT8_ARRAY, |row| int(row.1.completed.ms)),
        column(rows, Type::INT8_ARRAY, |row| int(row.1.seq)),
        column(rows, Type::TEXT_ARRAY, |row| held(&row.1.completed.turn)),
    ];
    let sql =
        "INSERT INTO debate_turns (id, session_id, round, phase, agent_id, agent_role, provider, \
         model, content, confidence, metadata,
            created_at, response_time_ms, seq, turn)
        SELECT id, session_id, round, phase, agent_id, agent_role, provider, model, content, confidence, metadata::jsonb, created_at,
            response_time_ms, seq, turn
        FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS rows (id, session_id, round, phase, agent_id,
            agent_role, provider, model, content, confidence, metadata, created_at, response_time_ms, seq, turn)";
    Statement {
        sql: sql.into(),
        values,
    }
}

/// The debates whose last word is this one.
fn with(claims: &BTreeMap<DebateId, Claim>, claim: Claim) -> Vec<Uuid> {
    claims
        .iter()
        .filter(|(_, found)| **found == claim)
        .map(|(debate, _)| uuid(*debate))
        .collect()
}

fn take<'a>(claims: &BTreeMap<DebateId, Claim>, node: &Node) -> Option<Statement<'a>> {
    let taken = Some(with(claims, Claim::Take)).filter(|taken| !taken.is_empty())?;
    let sql = "INSERT INTO claims (debate_id, node, holder, epoch, expires_at)
        SELECT debate_id, $2, $3, 1, clock_timestamp() + make_interval(secs => $4) FROM unnest($1) AS debate_id
        ON CONFLICT (debate_id) DO UPDATE
            SET node = excluded.node, holder = excluded.holder, epoch = claims.epoch + 1, expires_at = excluded.expires_at";
    let values = vec![
        value(taken, Type::UUID_ARRAY),
        value(node.id, Type::UUID),
        value(node.words.clone(), Type::TEXT),
        node.lease_seconds(),
    ];
    Some(Statement {
        sql: sql.into(),
        values,
    })
}

fn release<'a>(claims: &BTreeMap<DebateId, Claim>) -> Option<Statement<'a>> {
    let released = Some(with(claims, Claim::Release)).filter(|released| !released.is_empty())?;
    Some(Statement {
        sql: "DELETE FROM claims WHERE debate_id = ANY ($1)".into(),
        values: vec![value(released, Type::UUID_ARRAY)],
    })
}

/// Tells the other nodes what grew.
fn notification<'a>(works: &[&Work], node: &Node) -> Option<Statement<'a>> {
    let grown = works.iter().filter_map(|work| match work {
        Work::Append(append) | Work::Redact(_, append) => {
            Some(append).filter(|append| !append.records.is_empty())
        }
        Work::Remove(_) => None,
    });
    let payloads = Some(listening::payloads(
        node.id,
        grown.map(|append| append.debate),
    ))
    .filter(|payloads| !payloads.is_empty())?;
    let sql = "SELECT pg_notify('rebut', payload) FROM unnest($1) AS payload";
    Some(Statement {
        sql: sql.into(),
        values: vec![value(payloads, Type::TEXT_ARRAY)],
    })
}
