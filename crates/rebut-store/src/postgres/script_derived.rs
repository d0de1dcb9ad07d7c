//! The statements for what one event leaves in tables, for its redaction, and for the removal of a
//! debate.

use super::{
    pool::{Value, value},
    script::{Statement, held, uuid},
};
use crate::rows::{int, row_id};
use rebut_engine::{
    DebateId,
    projection::{CodeRow, Made, OfTurn, Projection, TurnList},
    record::Record,
};
use tokio_postgres::types::Type;

pub(super) fn insertion(debate: DebateId, left: &Projection) -> Statement<'_> {
    match &left.made {
        Made::Code(code) => code_version(
            debate,
            &code.turn,
            CodeRow::of(left.seq, None, &left.created_at, code),
        ),
        Made::Entry { list, of, json } => entry(debate, left.seq, *list, of, json),
    }
}

/// The row of the turn that an event of number `$3` means: of the session `$1`, by `$2`.
fn turn_of(column: &str) -> String {
    format!(
        "SELECT id FROM debate_turns WHERE session_id = $1 AND {column} = $2 AND seq < $3 ORDER BY \
         seq DESC LIMIT 1"
    )
}

fn place<'a>(debate: DebateId, name: &'a str, seq: u64) -> Vec<Value<'a>> {
    vec![
        value(uuid(debate), Type::UUID),
        value(held(name), Type::TEXT),
        value(int(seq), Type::INT8),
    ]
}

fn code_version(debate: DebateId, turn: &str, row: CodeRow) -> Statement<'_> {
    let sql = format!(
        "INSERT INTO code_versions (id, session_id, turn_id, language, code, version_number, \
         quality_score, test_pass_rate, metrics,
             diff_from_previous, created_at)
         VALUES ($4, $1, ({}), $5, $6, $7, $8, $9, $10::json, $11, $12)",
        turn_of("turn")
    );
    let mut values = place(debate, turn, row.seq);
    values.extend([
        value(row_id(&debate.to_string(), row.seq), Type::TEXT),
        value(held(&row.language).into_owned(), Type::TEXT),
        value(held(&row.code).into_owned(), Type::TEXT),
        value(i64::from(row.version_number), Type::INT8),
        value(row.quality_score, Type::FLOAT8),
        value(row.test_pass_rate, Type::FLOAT8),
        value(row.metrics, Type::TEXT),
        value(
            row.diff_from_previous.map(|diff| held(&diff).into_owned()),
            Type::TEXT,
        ),
        value(row.created_at, Type::TEXT),
    ]);
    Statement {
        sql: sql.into(),
        values,
    }
}

fn entry<'a>(
    debate: DebateId,
    seq: u64,
    list: TurnList,
    of: &'a OfTurn,
    json: &'a str,
) -> Statement<'a> {
    let (by, name) = match of {
        OfTurn::Named(turn) => ("turn", turn),
        OfTurn::LastOf(agent) => ("agent_id", agent),
    };
    let column = column(list);
    let sql = format!(
        "UPDATE debate_turns SET {column} = (coalesce(left({column}::text, -1) || ',', '[') || $4 \
         || ']')::json WHERE id = ({})",
        turn_of(by)
    );
    let mut values = place(debate, name, seq);
    values.push(value(json, Type::TEXT));
    Statement {
        sql: sql.into(),
        values,
    }
}

fn column(list: TurnList) -> &'static str {
    match list {
        TurnList::ToolCalls => "tool_calls",
        TurnList::TestResults => "test_results",
        TurnList::Reflections => "reflections",
    }
}

/// Puts a tombstone in the place of its record, and takes out what that left.
pub(super) fn redaction(tombstone: &Record) -> Vec<Statement<'_>> {
    let (session, id) = (
        uuid(tombstone.debate),
        row_id(&tombstone.debate.to_string(), tombstone.seq),
    );
    let statement = |sql: &'static str, values| Statement {
        sql: sql.into(),
        values,
    };
    let event = vec![
        value(session, Type::UUID),
        value(int(tombstone.seq), Type::INT8),
        value(&*tombstone.data, Type::TEXT),
        value(tombstone.salt.as_ref().map(|salt| &salt[..]), Type::BYTEA),
    ];
    let mut script = vec![
        statement(
            "UPDATE events SET data = $3, salt = $4 WHERE debate_id = $1 AND seq = $2",
            event,
        ),
        statement(
            "UPDATE debate_turns SET content = '', tool_calls = NULL, test_results = NULL, \
             reflections = NULL WHERE id = $1",
            vec![value(id.clone(), Type::TEXT)],
        ),
        statement(
            "DELETE FROM code_versions WHERE id = $1",
            vec![value(id, Type::TEXT)],
        ),
    ];
    for list in [
        TurnList::ToolCalls,
        TurnList::TestResults,
        TurnList::Reflections,
    ] {
        let column = column(list);
        // By its text: an entry begins with its number, and reading a field fails where another one
        // holds a zero character. A list of nothing is none.
        let sql = format!(
            "UPDATE debate_turns SET {column} = (SELECT ('[' || string_agg(value::text, ',' ORDER \
             BY n) || ']')::json
                 FROM json_array_elements({column}) WITH ORDINALITY AS entries (value, n) WHERE value::text !~ $2)
             WHERE session_id = $1 AND {column} IS NOT NULL AND EXISTS (SELECT FROM json_array_elements({column}) AS value
                 WHERE value::text ~ $2)"
        );
        let begins = format!(r#"^\s*\{{\s*"seq"\s*:\s*{}\s*[,}}]"#, tombstone.seq);
        script.push(Statement {
            sql: sql.into(),
            values: vec![value(session, Type::UUID), value(begins, Type::TEXT)],
        });
    }
    script
}

/// Removes a debate from every table. That there was one stays: whoever asks for the same debate
/// once more must not get another under its id.
pub(super) fn removal<'a>(debate: DebateId) -> Vec<Statement<'a>> {
    let by_id = [
        "DELETE FROM code_versions WHERE session_id = $1",
        "DELETE FROM debate_turns WHERE session_id = $1",
        "DELETE FROM debate_logs WHERE debate_id = $1::text",
        "DELETE FROM webhook_deliveries WHERE debate_id = $1",
        "DELETE FROM debate_sessions WHERE id = $1",
        "DELETE FROM checkpoints WHERE debate_id = $1",
        "DELETE FROM claims WHERE debate_id = $1",
        "DELETE FROM events WHERE debate_id = $1",
        "INSERT INTO removed (debate_id) VALUES ($1) ON CONFLICT DO NOTHING",
    ];
    by_id
        .map(|sql| Statement {
            sql: sql.into(),
            values: vec![value(uuid(debate), Type::UUID)],
        })
        .into()
}
