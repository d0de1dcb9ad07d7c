//! What every store must do with what events leave in tables: written with them, cleared with them,
//! gone with their debate.

use super::{append_of, loaded, more_records, session_of, turn_of};
use rebut_engine::{
    DebateId,
    event::{Event, TurnCompleted},
    facts::{CodeMetrics, CodeRecorded, ReflectionRecorded, TestCount, ToolCalled},
    projection::{CodeRow, Projection, Tables, TurnLists},
    record::{Hash, Place, Record},
    run_code::RunCompleted,
    sandbox::{End, Ran, TestRun, TestVerdict},
    store::{Append, Status, Store, TurnRow},
};
use std::sync::Arc;

fn said(turn: &str) -> Event {
    let completed = TurnCompleted {
        turn: turn.into(),
        ..TurnCompleted::clone(&turn_of(1, "said").completed)
    };
    Event::TurnCompleted(Arc::new(completed))
}

fn code(version: u32, turn: &str, tests: Option<(u32, u32)>, diff: &str) -> Event {
    Event::CodeRecorded(Arc::new(CodeRecorded {
        version,
        candidate: "ada".into(),
        turn: turn.into(),
        language: "python".to_owned(),
        code: format!("print('{version} — 東京 \\u0041')\n"),
        tests: tests.map(|(passed, total)| TestCount {
            passed,
            total,
            shared_process: false,
        }),
        quality: tests.map(|_| 0.25),
        metrics: CodeMetrics {
            lines: version,
            branches: 2,
            depth: 1,
            lints: None,
        },
        diff: diff.to_owned(),
    }))
}

fn run(name: &str, verdict: TestVerdict) -> Event {
    let tests = [TestRun {
        output: "long words".to_owned(),
        ..TestRun::new("it \"holds\"", verdict)
    }];
    let ran = Ran {
        stdout: "canary".to_owned(),
        ..Ran::plain(End::Exited(1), tests)
    };
    Event::RunCompleted(Arc::new(RunCompleted {
        run: name.into(),
        ran: Some(ran),
        refused: None,
    }))
}

fn reflection() -> Event {
    let text = || "an \u{1b}[31m odd\nend".to_owned();
    let said = ReflectionRecorded {
        attempt: 1,
        run: "proposal 1/ada".into(),
        root_cause: text(),
        what_went_wrong: text(),
        what_to_change: text(),
        confidence: 0.7,
    };
    Event::ReflectionRecorded(Arc::new(said))
}

fn call(turn: &str) -> Event {
    let call = ToolCalled {
        turn: turn.into(),
        tool: "run".to_owned(),
        arguments: serde_json::json!({"code": "1"}),
        result: Some("1".to_owned()),
        refused: None,
    };
    Event::ToolCalled(Arc::new(call))
}

/// Everything that leaves something, and what it cannot leave.
fn events() -> Vec<(Option<&'static str>, Event)> {
    vec![
        (Some("ada"), said("proposal 1/ada")),
        (Some("ada"), code(1, "proposal 1/ada", None, "")),
        (Some("ada"), run("proposal 1/ada", TestVerdict::Fail)),
        (Some("ada"), reflection()),
        (Some("ada"), said("proposal 2/ada")),
        (Some("ada"), call("proposal 2/ada")),
        (
            Some("ada/tool 1"),
            run("proposal 2/ada/tool 1", TestVerdict::Pass),
        ),
        (Some("ada"), run("proposal 2/ada", TestVerdict::Pass)),
        (
            Some("ada"),
            code(2, "proposal 2/ada", Some((3, 4)), "-1\n+2\n"),
        ),
        (Some("ada"), code(3, "merge/nobody", Some((0, 0)), "")),
        (Some("zoe"), run("proposal 1/zoe", TestVerdict::Pass)),
        (Some("ada"), call("merge/nobody")),
        (None, reflection()),
    ]
}

/// The events as appends: the records, the rows of the turns, and what else they leave.
fn appends(debate: DebateId) -> [Append; 2] {
    let mut records: Vec<Record> = Vec::new();
    for ((agent, event), seq) in events().iter().zip(1..) {
        let prev = records.last().map_or(Hash::default(), |last| last.hash);
        let place = Place {
            round: Some(1),
            phase: Some("proposal".into()),
            agent: agent.map(Into::into),
        };
        records.push(Record::new(
            debate,
            seq,
            prev,
            "2026-01-02T03:04:05.000Z".into(),
            place,
            event,
        ));
    }
    let rows = |records: &[Record]| {
        let row = |record: &Record| match record.event() {
            Ok(Some(Event::TurnCompleted(completed))) => Some(TurnRow {
                agent_id: "ada".into(),
                completed,
                ..turn_of(record.seq, "")
            }),
            _ => None,
        };
        records.iter().filter_map(row).collect()
    };
    [&records[..4], &records[4..]].map(|part| Append {
        turns: rows(part),
        projections: part.iter().filter_map(Projection::of_record).collect(),
        session: Some(Box::new(session_of(debate, "2026", Status::Running))),
        ..append_of(debate, part)
    })
}

fn code_row(seq: u64, turn_seq: Option<u64>, version: u32) -> CodeRow {
    CodeRow {
        seq,
        turn_seq,
        language: "python".to_owned(),
        code: format!("print('{version} — 東京 \\u0041')\n"),
        version_number: version,
        quality_score: (version > 1).then_some(0.25),
        test_pass_rate: (version == 2).then_some(0.75),
        metrics: format!(r#"{{"lines":{version},"branches":2,"depth":1}}"#),
        diff_from_previous: (version == 2).then(|| "-1\n+2\n".to_owned()),
        created_at: "2026-01-02T03:04:05.000Z".to_owned(),
    }
}

fn result_of(seq: u64, run: &str, passed: u32, verdict: &str) -> String {
    format!(
        r#"{{"seq":{seq},"run":"{run}","passed":{passed},"total":1,"tests":[["it \"holds\"","{verdict}"]]}}"#
    )
}

async fn found(store: &Arc<dyn Store>, debate: DebateId) -> Tables {
    store.tables(debate).await.expect("tables")
}

pub(super) async fn events_leave_their_rows_in_the_same_step(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    assert_eq!(
        found(&store, debate).await,
        Tables::default(),
        "an unknown debate left nothing"
    );
    let [first, second] = appends(debate);
    let early = Append {
        after: 9,
        records: Vec::new(),
        ..second.clone()
    };
    let conflict = super::conflict(debate, &first.records);
    store.append(first).await.expect("append");
    assert_eq!(store.append(early).await, Err(conflict));
    let before = found(&store, debate).await;
    assert_eq!(
        before.code,
        [code_row(2, Some(1), 1)],
        "a refused append leaves nothing"
    );
    store.append(second).await.expect("append");
    let after = found(&store, debate).await;
    assert_eq!(
        after.code,
        [
            code_row(2, Some(1), 1),
            code_row(9, Some(5), 2),
            code_row(10, None, 3)
        ]
    );
    let odd = r#""an \u001b[31m odd\nend""#;
    let words = ["root_cause", "what_went_wrong", "what_to_change"]
        .map(|field| format!(r#""{field}":{odd}"#))
        .join(",");
    let said = format!(r#""attempt":1,"run":"proposal 1/ada",{words},"confidence":0.7"#);
    let lists = [
        TurnLists {
            seq: 1,
            tool_calls: None,
            test_results: Some(format!("[{}]", result_of(3, "proposal 1/ada", 0, "fail"))),
            reflections: Some(format!(r#"[{{"seq":4,{said}}}]"#)),
        },
        TurnLists {
            seq: 5,
            tool_calls: Some(r#"[{"seq":6,"turn":"proposal 2/ada","tool":"run","arguments":{"code":"1"},"result":"1"}]"#.to_owned()),
            test_results: Some(format!(
                "[{},{}]",
                result_of(7, "proposal 2/ada/tool 1", 1, "pass"),
                result_of(8, "proposal 2/ada", 1, "pass")
            )),
            reflections: None,
        },
    ];
    assert_eq!(after.turns, lists);
}

pub(super) async fn what_events_left_is_cleared_with_them(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    for append in appends(debate) {
        store.append(append).await.expect("append");
    }
    // The event, and then: versions of code, and by turn how many entries there are of calls,
    // results and reflections.
    type Row = (u64, &'static [u32], &'static [(u64, [usize; 3])]);
    let rows: &[Row] = &[
        (6, &[1, 2, 3], &[(1, [0, 1, 1]), (5, [0, 2, 0])]),
        (7, &[1, 2, 3], &[(1, [0, 1, 1]), (5, [0, 1, 0])]),
        (9, &[1, 3], &[(1, [0, 1, 1]), (5, [0, 1, 0])]),
        // The row of a turn stays, and is empty.
        (1, &[1, 3], &[(5, [0, 1, 0])]),
        (8, &[1, 3], &[]),
    ];
    for (seq, versions, lists) in rows {
        let records = loaded(&store, debate, 0).await;
        let tombstone = records
            .iter()
            .find(|record| record.seq == *seq)
            .expect("it is there")
            .tombstone();
        store
            .redact(
                tombstone,
                append_of(debate, &more_records(debate, &records, 1, "report")),
            )
            .await
            .expect("redact");
        let left = found(&store, debate).await;
        assert_eq!(
            left.code
                .iter()
                .map(|row| row.version_number)
                .collect::<Vec<_>>(),
            *versions,
            "after event {seq}"
        );
        let entries = |list: &Option<String>| {
            list.as_ref()
                .map_or(0, |list| list.matches("\"seq\":").count())
        };
        let counted = left.turns.iter().map(|turn| {
            (
                turn.seq,
                [&turn.tool_calls, &turn.test_results, &turn.reflections].map(entries),
            )
        });
        assert_eq!(counted.collect::<Vec<_>>(), *lists, "after event {seq}");
        assert_eq!(left.code[0].turn_seq, Some(1));
    }
    store.remove(debate).await.expect("remove");
    assert_eq!(found(&store, debate).await, Tables::default());
}
