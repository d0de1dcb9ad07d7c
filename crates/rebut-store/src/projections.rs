//! The SQL of what events leave in tables besides the journal: versions of code, and the lists in
//! the rows of turns.

use crate::rows::{count, int, row_id};
use rebut_engine::{
    DebateId,
    projection::{CodeRow, Made, OfTurn, Projection, Tables, TurnList, TurnLists},
};
use rusqlite::{Connection, OptionalExtension, Row, params};

pub(crate) fn insert(
    connection: &Connection,
    session: &str,
    left: &Projection,
) -> rusqlite::Result<()> {
    match &left.made {
        Made::Code(code) => {
            let turn = turn_of(
                connection,
                session,
                &OfTurn::Named(code.turn.clone()),
                left.seq,
            )?;
            insert_code(
                connection,
                session,
                turn,
                &CodeRow::of(left.seq, None, &left.created_at, code),
            )
        }
        Made::Entry { list, of, json } => {
            let Some(turn) = turn_of(connection, session, of, left.seq)? else {
                return Ok(());
            };
            let column = column(*list);
            let sql = format!(
                "UPDATE debate_turns SET {column} = json_insert(coalesce({column}, '[]'), '$[#]', \
                 json(?2)) WHERE id = ?1"
            );
            connection
                .prepare_cached(&sql)?
                .execute((turn, json))
                .map(drop)
        }
    }
}

/// Takes out what a record left.
pub(crate) fn clear(connection: &Connection, session: &str, seq: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM code_versions WHERE id = ?1")?
        .execute([row_id(session, seq)])?;
    for list in [
        TurnList::ToolCalls,
        TurnList::TestResults,
        TurnList::Reflections,
    ] {
        let column = column(list);
        // An empty list is none.
        let sql = format!(
            "UPDATE debate_turns SET {column} = nullif((SELECT json_group_array(json(value)) FROM \
             json_each({column})
                 WHERE json_extract(value, '$.seq') <> ?2), '[]')
             WHERE {OF_SESSION} AND {column} IS NOT NULL
                 AND EXISTS (SELECT 1 FROM json_each({column}) WHERE json_extract(value, '$.seq') = ?2)"
        );
        connection
            .prepare_cached(&sql)?
            .execute((session, int(seq)))?;
    }
    Ok(())
}

pub(crate) fn tables(connection: &Connection, debate: DebateId) -> rusqlite::Result<Tables> {
    let session = debate.to_string();
    let mut code = connection.prepare_cached(
        "SELECT cast(substr(id, length(?1) + 2) AS INTEGER) AS seq, (SELECT seq FROM debate_turns \
         WHERE id = turn_id), language, code,
             version_number, quality_score, test_pass_rate, metrics, diff_from_previous, created_at
         FROM code_versions WHERE session_id = ?1 ORDER BY seq",
    )?;
    let mut turns = connection.prepare_cached(&format!(
        "SELECT seq, tool_calls, test_results, reflections FROM debate_turns
         WHERE {OF_SESSION} AND coalesce(tool_calls, test_results, reflections) IS NOT NULL ORDER BY seq"
    ))?;
    let lists = |row: &Row<'_>| {
        Ok(TurnLists {
            seq: count(row, 0)?,
            tool_calls: row.get(1)?,
            test_results: row.get(2)?,
            reflections: row.get(3)?,
        })
    };
    Ok(Tables {
        code: code
            .query_map([&session], read_code)?
            .collect::<Result<_, _>>()?,
        turns: turns
            .query_map([&session], lists)?
            .collect::<Result<_, _>>()?,
    })
}

/// The rows of turns of the session `?1`; `0` is the character after `/`.
const OF_SESSION: &str = "id >= ?1 || '/' AND id < ?1 || '0'";

fn column(list: TurnList) -> &'static str {
    match list {
        TurnList::ToolCalls => "tool_calls",
        TurnList::TestResults => "test_results",
        TurnList::Reflections => "reflections",
    }
}

/// The row of the turn that is meant by an event of that number.
fn turn_of(
    connection: &Connection,
    session: &str,
    of: &OfTurn,
    before: u64,
) -> rusqlite::Result<Option<String>> {
    let (column, value) = match of {
        OfTurn::Named(turn) => ("turn", turn),
        OfTurn::LastOf(agent) => ("agent_id", agent),
    };
    let sql = format!(
        "SELECT id FROM debate_turns WHERE {OF_SESSION} AND {column} = ?2 AND seq < ?3 ORDER BY \
         seq DESC LIMIT 1"
    );
    connection
        .prepare_cached(&sql)?
        .query_row((session, &**value, int(before)), |row| row.get(0))
        .optional()
}

fn insert_code(
    connection: &Connection,
    session: &str,
    turn: Option<String>,
    row: &CodeRow,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO code_versions (id, session_id, turn_id, language, code, version_number, \
         quality_score, test_pass_rate, metrics,
             diff_from_previous, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    statement.execute(params![
        row_id(session, row.seq),
        session,
        turn,
        row.language,
        row.code,
        row.version_number,
        row.quality_score,
        row.test_pass_rate,
        row.metrics,
        row.diff_from_previous,
        row.created_at,
    ])?;
    Ok(())
}

fn read_code(row: &Row<'_>) -> rusqlite::Result<CodeRow> {
    let turn: Option<i64> = row.get(1)?;
    Ok(CodeRow {
        seq: count(row, 0)?,
        turn_seq: turn.and_then(|seq| u64::try_from(seq).ok()),
        language: row.get(2)?,
        code: row.get(3)?,
        version_number: row.get(4)?,
        quality_score: row.get(5)?,
        test_pass_rate: row.get(6)?,
        metrics: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
        diff_from_previous: row.get(8)?,
        created_at: row.get(9)?,
    })
}
