//! The SQL that reads: records, checkpoints, sessions and what is derived, out of rows.

use super::pool::{Value, value};
use crate::rows::int;
use rebut_engine::{
    DebateId,
    projection::{CodeRow, TurnLists},
    record::{Hash, Record},
    seal::Checkpoint,
    store::{Filter, Head, Pick, Session, Status},
};
use std::{borrow::Cow, sync::Arc};
use tokio_postgres::{
    Row,
    types::{FromSql, Type},
};
use uuid::Uuid;

pub(super) const EVENTS: &str =
    "SELECT seq, ts, type, round, phase, agent, data, salt, digest, prev, hash
    FROM events WHERE debate_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
pub(super) const CHECKPOINTS: &str =
    "SELECT count, head, key, signature FROM checkpoints WHERE debate_id = $1 ORDER BY n";
pub(super) const CODE: &str =
    "SELECT split_part(id, '/', 2)::int8, (SELECT seq FROM debate_turns WHERE debate_turns.id = \
     turn_id), language,
        code, version_number, quality_score, test_pass_rate, metrics::text, diff_from_previous, created_at
    FROM code_versions WHERE session_id = $1 ORDER BY 1";
pub(super) const LISTS: &str = "SELECT seq, tool_calls::text, test_results::text, \
    reflections::text FROM debate_turns
    WHERE session_id = $1 AND coalesce(tool_calls, test_results, reflections) IS NOT NULL ORDER BY seq";

/// What is wrong with a row.
pub(super) type Bad = String;

pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Bad> {
    row.try_get(column).map_err(|error| error.to_string())
}

/// One number of a row, which has no sign.
pub(super) fn count<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, Bad> {
    let number: i64 = get(row, column)?;
    T::try_from(number).map_err(|_| format!("{number} in column {column} is out of range"))
}

fn hash(row: &Row, column: usize) -> Result<Hash, Bad> {
    let bytes: &[u8] = get(row, column)?;
    bytes
        .try_into()
        .map(Hash)
        .map_err(|_| format!("a hash of {} bytes in column {column}", bytes.len()))
}

pub(super) fn debate(id: Uuid) -> DebateId {
    id.to_string().parse().expect("a UUID is an id")
}

/// Who runs a debate. Another program may have written it.
pub(super) fn in_words(holder: &str) -> String {
    rebut_engine::clean::on_one_line(holder)
}

pub(super) fn record(debate: DebateId, row: &Row) -> Result<Record, Bad> {
    let salt: Option<&[u8]> = get(row, 7)?;
    Ok(Record {
        debate,
        seq: count(row, 0)?,
        ts: get::<&str>(row, 1)?.into(),
        kind: Cow::Owned(get(row, 2)?),
        round: get::<Option<i64>>(row, 3)?
            .map(u32::try_from)
            .transpose()
            .map_err(|error| format!("round: {error}"))?,
        phase: get::<Option<&str>>(row, 4)?.map(Arc::from),
        agent: get::<Option<&str>>(row, 5)?.map(Arc::from),
        data: get(row, 6)?,
        salt: salt
            .map(<[u8; 16]>::try_from)
            .transpose()
            .map_err(|error| format!("salt: {error}"))?,
        digest: hash(row, 8)?,
        prev: hash(row, 9)?,
        hash: hash(row, 10)?,
    })
}

/// The question for some records and the end of the journal, in one statement: both are of one
/// moment. Where nothing is picked, the row of the end is there all the same, and has no record.
pub(super) fn pick(debate: DebateId, pick: &Pick) -> Question<'_> {
    let sql = "SELECT picked.*, head.seq, head.ts, head.hash FROM schema_version
        LEFT JOIN (SELECT seq, ts, hash FROM events WHERE debate_id = $1 ORDER BY seq DESC LIMIT 1) head ON true
        LEFT JOIN (SELECT seq, ts, type, round, phase, agent, data, salt, digest, prev, hash
            FROM events WHERE debate_id = $1 AND seq > $2";
    let values = vec![
        value(super::script::uuid(debate), Type::UUID),
        value(int(pick.after), Type::INT8),
    ];
    let mut question = Question {
        sql: sql.to_owned(),
        values,
    };
    if let Some(kinds) = &pick.kinds {
        question.add(
            " AND type = ANY (?)",
            [value(kinds.as_slice(), Type::TEXT_ARRAY)],
        );
    }
    question.add(
        if pick.from_end {
            " ORDER BY seq DESC"
        } else {
            " ORDER BY seq"
        },
        [],
    );
    question.add(
        " LIMIT ?) picked ON true ORDER BY picked.seq",
        [value(int(pick.bound() as u64), Type::INT8)],
    );
    question
}

/// The end of the journal, which each row of [`pick`] has where there is one. A database without
/// any row is not complete.
pub(super) fn head(row: &Row) -> Result<Option<Head>, Bad> {
    if get::<Option<i64>>(row, 11)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Head {
        seq: count(row, 11)?,
        ts: get::<&str>(row, 12)?.into(),
        hash: hash(row, 13)?,
    }))
}

/// Whether a row of [`pick`] has a record.
pub(super) fn has_record(row: &Row) -> Result<bool, Bad> {
    Ok(get::<Option<i64>>(row, 0)?.is_some())
}

pub(super) fn checkpoint(row: &Row) -> Result<Checkpoint, Bad> {
    Ok(Checkpoint {
        count: count(row, 0)?,
        head: hash(row, 1)?,
        key: get(row, 2)?,
        signature: get(row, 3)?,
    })
}

pub(super) fn code(row: &Row) -> Result<CodeRow, Bad> {
    Ok(CodeRow {
        seq: count(row, 0)?,
        turn_seq: get::<Option<i64>>(row, 1)?.map(i64::unsigned_abs),
        language: get(row, 2)?,
        code: get(row, 3)?,
        version_number: count(row, 4)?,
        quality_score: get(row, 5)?,
        test_pass_rate: get(row, 6)?,
        metrics: get::<Option<String>>(row, 7)?.unwrap_or_default(),
        diff_from_previous: get(row, 8)?,
        created_at: get(row, 9)?,
    })
}

pub(super) fn lists(row: &Row) -> Result<TurnLists, Bad> {
    Ok(TurnLists {
        seq: count(row, 0)?,
        tool_calls: get(row, 1)?,
        test_results: get(row, 2)?,
        reflections: get(row, 3)?,
    })
}

pub(super) fn session(row: &Row) -> Result<Session, Bad> {
    let status: &str = get(row, 2)?;
    Ok(Session {
        id: debate(get(row, 0)?),
        topic: get(row, 1)?,
        status: Status::parse(status).ok_or_else(|| format!("unknown status `{status}`"))?,
        topology_type: get(row, 3)?,
        coordination_protocol: get(row, 4)?,
        config: get(row, 5)?,
        initiated_by: get(row, 6)?,
        created_at: get(row, 7)?,
        updated_at: get(row, 8)?,
        completed_at: get(row, 9)?,
        total_rounds: count(row, 10)?,
        final_consensus_score: get(row, 11)?,
        outcome: get(row, 12)?,
        format: get(row, 13)?,
        rehearsal: get(row, 14)?,
    })
}

/// A question that grows condition by condition.
pub(super) struct Question<'a> {
    pub(super) sql: String,
    pub(super) values: Vec<Value<'a>>,
}

impl<'a> Question<'a> {
    /// Each `?` of a condition is the next value.
    fn add<const N: usize>(&mut self, condition: &str, values: [Value<'a>; N]) {
        let mut parts = condition.split('?');
        self.sql.push_str(parts.next().unwrap_or_default());
        for (part, value) in parts.zip(values) {
            self.values.push(value);
            self.sql.push_str(&format!("${}{part}", self.values.len()));
        }
    }
}

/// The question for sessions, newest first; `None` when none can fit.
pub(super) fn sessions(filter: &Filter) -> Option<Question<'_>> {
    let sql = "SELECT id, topic, status, topology_type, coordination_protocol, config::text, \
        initiated_by, created_at, updated_at,
        completed_at, total_rounds, final_consensus_score, outcome::text, format, rehearsal FROM debate_sessions WHERE true";
    let mut question = Question {
        sql: sql.to_owned(),
        values: Vec::new(),
    };
    if let Some(prefix) = &filter.prefix {
        let (first, last) = range(prefix)?;
        question.add(
            " AND id BETWEEN ? AND ?",
            [value(first, Type::UUID), value(last, Type::UUID)],
        );
    }
    if let Some(status) = filter.status {
        question.add(" AND status = ?", [value(status.as_str(), Type::TEXT)]);
    }
    for (condition, wanted) in [
        (" AND format = ?", &filter.format),
        (" AND initiated_by = ?", &filter.by),
        (
            r#" AND strpos(lower(topic COLLATE "C"), lower(? COLLATE "C")) > 0"#,
            &filter.topic,
        ),
    ] {
        match wanted {
            // The rows hold no character zero, so nothing that is equal to one with it.
            Some(text) if text.contains('\0') => return None,
            Some(text) => question.add(condition, [value(&**text, Type::TEXT)]),
            None => {}
        }
    }
    if let Some(last) = &filter.after {
        let id = super::script::uuid(last.id);
        question.add(
            " AND (created_at, id) < (?, ?)",
            [value(&*last.created_at, Type::TEXT), value(id, Type::UUID)],
        );
    }
    question.add(" ORDER BY created_at DESC, id DESC", []);
    if filter.limit > 0 {
        question.add(" LIMIT ?", [value(int(filter.limit as u64), Type::INT8)]);
    }
    Some(question)
}

/// The first and the last id whose text begins so; `None` when no id does.
fn range(prefix: &str) -> Option<(Uuid, Uuid)> {
    let filled = |with: char| -> Option<Uuid> {
        let shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
        let rest = shape.get(prefix.len()..)?;
        let text = prefix.to_owned() + &rest.replace('x', &with.to_string());
        // Only the usual form is shown to people, and only that begins with what they typed.
        Uuid::parse_str(&text)
            .ok()
            .filter(|id| id.to_string() == text)
    };
    Some((filled('0')?, filled('f')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_range_of_ids() {
        let (first, last) = (
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        );
        let whole = "0b7c1d7e-0000-4000-8000-00000000000a";
        let rows = [
            ("", Some((first, last))),
            (
                "0b7c1d7e",
                Some((
                    "0b7c1d7e-0000-0000-0000-000000000000",
                    "0b7c1d7e-ffff-ffff-ffff-ffffffffffff",
                )),
            ),
            (
                "0b7c1d7e-",
                Some((
                    "0b7c1d7e-0000-0000-0000-000000000000",
                    "0b7c1d7e-ffff-ffff-ffff-ffffffffffff",
                )),
            ),
            (whole, Some((whole, whole))),
            ("0b7c1d7e0", None),
            ("0B", None),
            ("%", None),
            ("ä", None),
            ("0b7c1d7e-0000-4000-8000-00000000000a0", None),
        ];
        for (prefix, expected) in rows {
            let found = range(prefix).map(|(first, last)| (first.to_string(), last.to_string()));
            assert_eq!(
                found,
                expected.map(|(first, last)| (first.to_owned(), last.to_owned())),
                "{prefix}"
            );
        }
    }
}
