//! The SQL: records, checkpoints, sessions and turns as rows, and back.

use crate::{change_feed::Position, projections};
use rebut_engine::{
    DebateId,
    record::{Hash, Record},
    seal::Checkpoint,
    store::{Filter, Head, Pick, Picked, Session, Status, TurnRow},
};
use rusqlite::{
    Connection, OptionalExtension, Row, Rows,
    types::{FromSqlError, Type, Value},
};
use std::{borrow::Cow, fmt::Write, str::FromStr, sync::Arc};
use uuid::Uuid;

/// Adds one event to the journal.
pub(crate) fn insert_event(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO events (debate_id, seq, ts, type, round, phase, agent, data, salt, digest, \
         prev, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    statement.execute(rusqlite::params![
        record.debate.as_bytes(),
        int(record.seq),
        record.ts,
        record.kind,
        record.round,
        record.phase.as_deref(),
        record.agent.as_deref(),
        record.data,
        record.salt,
        record.digest.0,
        record.prev.0,
        record.hash.0,
    ])?;
    Ok(())
}

/// A row that does not hold what it must: its number, and what is wrong.
type Bad = (u64, String);

/// The first records after number `after`, at most so many, in order, or the first row that cannot
/// be read.
pub(crate) fn page(
    connection: &Connection,
    debate: DebateId,
    after: u64,
    most: usize,
) -> rusqlite::Result<Result<Vec<Record>, Bad>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, ts, type, round, phase, agent, data, salt, digest, prev, hash
         FROM events WHERE debate_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    collect(
        statement.query((debate.as_bytes(), int(after), int(most as u64)))?,
        |row| read_record(debate, row),
    )
}

/// What is picked of a journal and where that ends, or the first row that cannot be read.
pub(crate) fn pick(
    connection: &Connection,
    debate: DebateId,
    pick: &Pick,
) -> rusqlite::Result<Result<Picked, Bad>> {
    // Only reads, and both from what is committed now; when it is dropped, it is over.
    let moment = connection.unchecked_transaction()?;
    let mut statement = moment.prepare_cached(
        "SELECT seq, ts, hash FROM events WHERE debate_id = ?1 ORDER BY seq DESC LIMIT 1",
    )?;
    let read_head = |row: &Row<'_>| {
        Ok(Head {
            seq: count(row, 0)?,
            ts: row.get(1)?,
            hash: Hash(row.get(2)?),
        })
    };
    let head = match collect(statement.query([debate.as_bytes()])?, read_head)? {
        Ok(mut head) => head.pop(),
        Err(bad) => return Ok(Err(bad)),
    };
    let mut sql = "SELECT seq, ts, type, round, phase, agent, data, salt, digest, prev, hash
        FROM events WHERE debate_id = ? AND seq > ?"
        .to_owned();
    let mut values: Vec<Value> = vec![debate.as_bytes().to_vec().into(), int(pick.after).into()];
    if let Some(kinds) = &pick.kinds {
        let _ = write!(sql, " AND type IN ({})", vec!["?"; kinds.len()].join(", "));
        values.extend(kinds.iter().map(|kind| Value::from(kind.clone())));
    }
    sql.push_str(if pick.from_end {
        " ORDER BY seq DESC LIMIT ?"
    } else {
        " ORDER BY seq LIMIT ?"
    });
    values.push(int(pick.bound() as u64).into());
    let picked = collect(
        moment
            .prepare_cached(&sql)?
            .query(rusqlite::params_from_iter(values))?,
        |row| read_record(debate, row),
    )?;
    Ok(picked.map(|mut records| {
        if pick.from_end {
            records.reverse();
        }
        Picked { records, head }
    }))
}

fn read_record(debate: DebateId, row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        debate,
        seq: count(row, 0)?,
        ts: row.get(1)?,
        kind: Cow::Owned(row.get(2)?),
        round: row.get(3)?,
        phase: row.get::<_, Option<Arc<str>>>(4)?,
        agent: row.get::<_, Option<Arc<str>>>(5)?,
        data: row.get(6)?,
        salt: row.get(7)?,
        digest: Hash(row.get(8)?),
        prev: Hash(row.get(9)?),
        hash: Hash(row.get(10)?),
    })
}

/// Reads row by row. The number of each stands in its first column.
fn collect<T>(
    mut rows: Rows<'_>,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Result<Vec<T>, Bad>> {
    let (mut all, mut seq) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        seq = count(row, 0).unwrap_or(seq + 1);
        match read(row) {
            Ok(one) => all.push(one),
            Err(error) => return Ok(Err((seq, error.to_string()))),
        }
    }
    Ok(Ok(all))
}

/// Where a debate's journal ends: the number of its last event and that one's hash; zero where
/// there is none.
pub(crate) fn end_of(connection: &Connection, debate: DebateId) -> rusqlite::Result<(u64, Hash)> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, hash FROM events WHERE debate_id = ?1 ORDER BY seq DESC LIMIT 1",
    )?;
    let end = statement.query_row([debate.as_bytes()], |row| {
        Ok((
            count(row, 0)?,
            head(row.get_ref(1)?.as_bytes().unwrap_or_default()),
        ))
    });
    Ok(end.optional()?.unwrap_or_default())
}

/// The hash in those bytes. Bytes that are none get one that no record follows: a damaged journal
/// can be removed, and not be added to.
pub(crate) fn head(bytes: &[u8]) -> Hash {
    bytes.try_into().map_or_else(|_| Hash::of(bytes), Hash)
}

/// How far the file has come.
pub(crate) fn position(connection: &Connection) -> rusqlite::Result<Position> {
    let mut statement =
        connection.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'events'")?;
    let last = statement
        .query_row([], |row| row.get(0))
        .optional()?
        .unwrap_or(0);
    let schema = connection
        .prepare_cached("PRAGMA schema_version")?
        .query_row([], |row| row.get(0))?;
    Ok(Position { schema, last })
}

/// The debates of the events with these numbers in the file.
pub(crate) fn debates_between(
    connection: &Connection,
    first: i64,
    last: i64,
) -> rusqlite::Result<Vec<DebateId>> {
    let mut statement = connection
        .prepare_cached("SELECT DISTINCT debate_id FROM events WHERE n BETWEEN ?1 AND ?2")?;
    statement
        .query_map((first, last), |row| {
            parse(0, &Uuid::from_bytes(row.get(0)?).to_string())
        })?
        .collect()
}

/// A number that changes when another connection commits.
pub(crate) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("PRAGMA data_version")?
        .query_row([], |row| row.get(0))
}

/// Puts a tombstone in the place of its record and of the copy of its text. Says whether the record
/// was there.
pub(crate) fn redact(connection: &Connection, tombstone: &Record) -> rusqlite::Result<bool> {
    let mut event = connection.prepare_cached(
        "UPDATE events SET data = ?3, salt = ?4 WHERE debate_id = ?1 AND seq = ?2",
    )?;
    if event.execute((
        tombstone.debate.as_bytes(),
        int(tombstone.seq),
        &tombstone.data,
        tombstone.salt,
    ))? == 0
    {
        return Ok(false);
    }
    let mut turn = connection.prepare_cached(
        "UPDATE debate_turns SET content = '', tool_calls = NULL, test_results = \
            NULL, reflections = NULL WHERE id = ?1",
    )?;
    turn.execute([row_id(&tombstone.debate.to_string(), tombstone.seq)])?;
    projections::clear(connection, &tombstone.debate.to_string(), tombstone.seq)?;
    Ok(true)
}

/// Removes a debate from every table. Says whether there was anything.
pub(crate) fn remove(connection: &Connection, debate: DebateId) -> rusqlite::Result<bool> {
    let text = debate.to_string();
    let mut removed = 0;
    for sql in [
        "DELETE FROM code_versions WHERE session_id = ?1",
        // `0` is the character after `/`.
        "DELETE FROM debate_turns WHERE id >= ?1 || '/' AND id < ?1 || '0'",
        "DELETE FROM debate_logs WHERE debate_id = ?1",
        "DELETE FROM webhook_deliveries WHERE debate_id = ?1",
        "DELETE FROM debate_sessions WHERE id = ?1",
    ] {
        removed += connection.execute(sql, [&text])?;
    }
    for table in ["checkpoints", "claims", "events"] {
        removed += connection.execute(
            &format!("DELETE FROM {table} WHERE debate_id = ?1"),
            [debate.as_bytes()],
        )?;
    }
    if removed > 0 {
        connection.execute(
            "INSERT OR IGNORE INTO removed (debate_id) VALUES (?1)",
            [debate.as_bytes()],
        )?;
    }
    Ok(removed > 0)
}

/// Whether a debate of that id was removed, and none has come in its place.
pub(crate) fn is_removed(connection: &Connection, debate: DebateId) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM removed WHERE debate_id = ?1)
        AND NOT EXISTS (SELECT 1 FROM events WHERE debate_id = ?1)";
    connection
        .prepare_cached(sql)?
        .query_row([debate.as_bytes()], |row| row.get(0))
}

pub(crate) fn insert_checkpoint(
    connection: &Connection,
    debate: DebateId,
    checkpoint: &Checkpoint,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO checkpoints (debate_id, count, head, key, \
            signature) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    statement.execute((
        debate.as_bytes(),
        int(checkpoint.count),
        checkpoint.head.0,
        &checkpoint.key,
        &checkpoint.signature,
    ))?;
    Ok(())
}

/// A debate's checkpoints, oldest first, or the first that cannot be read.
pub(crate) fn checkpoints(
    connection: &Connection,
    debate: DebateId,
) -> rusqlite::Result<Result<Vec<Checkpoint>, Bad>> {
    let mut statement = connection.prepare_cached(
        "SELECT count, head, key, signature FROM checkpoints WHERE debate_id = ?1 ORDER BY rowid",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Checkpoint {
            count: count(row, 0)?,
            head: Hash(row.get(1)?),
            key: row.get(2)?,
            signature: row.get(3)?,
        })
    };
    collect(statement.query([debate.as_bytes()])?, read)
}

pub(crate) fn put_session(connection: &Connection, session: &Session) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO debate_sessions (id, debate_id, topic, status, topology_type, \
         coordination_protocol, config, initiated_by,
             created_at, updated_at, completed_at, total_rounds, final_consensus_score, outcome, format, rehearsal)
         VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
         ON CONFLICT (id) DO UPDATE SET topic = ?2, status = ?3, topology_type = ?4, coordination_protocol = ?5, config = ?6,
             initiated_by = ?7, created_at = ?8, updated_at = ?9, completed_at = ?10, total_rounds = ?11,
             final_consensus_score = ?12, outcome = ?13, format = ?14, rehearsal = ?15",
    )?;
    statement.execute(rusqlite::params![
        session.id.to_string(),
        session.topic,
        session.status.as_str(),
        session.topology_type,
        session.coordination_protocol,
        session.config,
        session.initiated_by,
        session.created_at,
        session.updated_at,
        session.completed_at,
        session.total_rounds,
        session.final_consensus_score,
        session.outcome,
        session.format,
        session.rehearsal,
    ])?;
    Ok(())
}

pub(crate) fn sessions(connection: &Connection, filter: &Filter) -> rusqlite::Result<Vec<Session>> {
    let mut sql = "SELECT id, topic, status, topology_type, coordination_protocol, config, \
        initiated_by, created_at, updated_at,
        completed_at, total_rounds, final_consensus_score, outcome, format, rehearsal FROM debate_sessions WHERE true"
        .to_owned();
    let mut values: Vec<Value> = Vec::new();
    if let Some(prefix) = &filter.prefix {
        // A range, so that no character of the prefix means anything else, and the key's index
        // finds it.
        sql.push_str(" AND id >= ? AND id < ?");
        values.extend([prefix.clone().into(), format!("{prefix}\u{10FFFF}").into()]);
    }
    let status = filter.status.map(|status| status.as_str().to_owned());
    let equal = [
        ("status", &status),
        ("format", &filter.format),
        ("initiated_by", &filter.by),
    ];
    for (column, value) in equal
        .into_iter()
        .filter_map(|(column, value)| Some((column, value.clone()?)))
    {
        let _ = write!(sql, " AND {column} = ?");
        values.push(value.into());
    }
    if let Some(text) = &filter.topic {
        sql.push_str(" AND instr(lower(topic), lower(?)) > 0");
        values.push(text.clone().into());
    }
    if let Some(last) = &filter.after {
        sql.push_str(" AND (created_at, id) < (?, ?)");
        values.extend([last.created_at.clone().into(), last.id.to_string().into()]);
    }
    sql.push_str(" ORDER BY created_at DESC, id DESC");
    if filter.limit > 0 {
        sql.push_str(" LIMIT ?");
        values.push(int(filter.limit as u64).into());
    }
    connection
        .prepare_cached(&sql)?
        .query_map(rusqlite::params_from_iter(values), read_session)?
        .collect()
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<Session> {
    let status: String = row.get(2)?;
    Ok(Session {
        id: parse(0, &row.get::<_, String>(0)?)?,
        topic: row.get(1)?,
        status: Status::parse(&status)
            .ok_or_else(|| unreadable(2, format!("unknown status `{status}`")))?,
        topology_type: row.get(3)?,
        coordination_protocol: row.get(4)?,
        config: row.get(5)?,
        initiated_by: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
        completed_at: row.get(9)?,
        total_rounds: row.get(10)?,
        final_consensus_score: row.get(11)?,
        outcome: row.get(12)?,
        format: row.get(13)?,
        rehearsal: row.get(14)?,
    })
}

pub(crate) fn insert_turn(
    connection: &Connection,
    session: &str,
    turn: &TurnRow,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO debate_turns (id, session_id, round, phase, agent_id, agent_role, provider, \
         model, content, confidence,
             metadata, created_at, response_time_ms, seq, turn)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?;
    statement.execute(rusqlite::params![
        row_id(session, turn.seq),
        session,
        turn.round,
        &*turn.phase,
        &*turn.agent_id,
        &*turn.agent_role,
        turn.provider(),
        turn.model(),
        turn.completed.text,
        turn.confidence(),
        turn.metadata(),
        &*turn.created_at,
        int(turn.completed.ms),
        int(turn.seq),
        &*turn.completed.turn,
    ])?;
    Ok(())
}

/// The id of the row that a record makes.
pub(crate) fn row_id(session: &str, seq: u64) -> String {
    format!("{session}/{seq}")
}

/// SQLite's integers have a sign. No count of ours comes near the end.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn parse<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    column: usize,
    text: &str,
) -> rusqlite::Result<T> {
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

fn unreadable(column: usize, why: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        column,
        Type::Text,
        Box::new(FromSqlError::other(std::io::Error::other(why))),
    )
}
