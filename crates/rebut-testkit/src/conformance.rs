//! What every store must do, as a table of checks: the same for the one in memory and the ones on
//! disk.

pub mod outbox;
mod reading;
mod tables;
pub mod web_session;

use futures_util::future::{BoxFuture, join_all};
use reading::{gives_a_page, picks_at_one_moment, picks_what_fits};
use rebut_engine::{
    DebateId,
    event::{Event, HumanNoted, TurnCompleted},
    model::Finish,
    record::{Hash, Place, Record},
    seal::{Checkpoint, Seal},
    store::{
        Append, Claim, Durability, Filter, Listed, Session, Status, Store, StoreError, TurnRow,
    },
};
use std::sync::Arc;
use tables::{events_leave_their_rows_in_the_same_step, what_events_left_is_cleared_with_them};

/// One thing a store must do. Panics if it does not.
pub struct Check {
    pub name: &'static str,
    /// Tries it on a fresh store.
    pub run: fn(Arc<dyn Store>) -> BoxFuture<'static, ()>,
}

macro_rules! checks {
    ($($name:ident),* $(,)?) => {
        /// Every check.
        pub const CHECKS: &[Check] = &[$(Check { name: stringify!($name), run: |store| Box::pin($name(store)) }),*];
    };
}

checks! {
    comes_back_byte_for_byte,
    conflict_leaves_nothing_behind,
    an_append_names_its_predecessor,
    loads_after_a_number,
    gives_a_page,
    picks_what_fits,
    picks_at_one_moment,
    keeps_checkpoints_in_order,
    lists_sessions,
    replaces_a_session,
    redacts_one_record,
    redaction_is_all_or_nothing,
    removes_everything,
    takes_and_gives_up,
    says_what_is_claimed_here,
    keeps_why_nobody_runs_it,
    many_writers_lose_nothing,
    events_leave_their_rows_in_the_same_step,
    what_events_left_is_cleared_with_them,
}

/// Runs every check, each on a store that `fresh` makes.
pub async fn holds(fresh: impl Fn() -> Arc<dyn Store>) {
    for check in CHECKS {
        eprintln!("store: {}", check.name);
        (check.run)(fresh()).await;
    }
}

/// `count` more records that say `text`, chained behind the given ones.
pub fn more_records(debate: DebateId, before: &[Record], count: usize, text: &str) -> Vec<Record> {
    let (mut seq, mut prev) = before
        .last()
        .map_or((0, Hash::default()), |last| (last.seq, last.hash));
    let mut records = Vec::with_capacity(count);
    for _ in 0..count {
        seq += 1;
        // Every third has nothing but what it must have.
        let place = match seq % 3 {
            0 => Place::default(),
            _ => Place {
                round: Some(seq as u32),
                phase: Some("challenge 2".into()),
                agent: Some("risk·Ünïcode".into()),
            },
        };
        let event = Event::HumanNoted(HumanNoted {
            text: format!("{text} {seq}"),
            by: "me".to_owned(),
        });
        let record = Record::new(
            debate,
            seq,
            prev,
            format!("2026-01-02T03:04:05.{:03}Z", seq % 1000).into(),
            place,
            &event,
        );
        prev = record.hash;
        records.push(record);
    }
    records
}

/// An append of `records`, nothing else.
pub fn append_of(debate: DebateId, records: &[Record]) -> Append {
    let (after, prev) = records
        .first()
        .map_or_else(Default::default, |first| (first.seq - 1, first.prev));
    Append {
        records: records.to_vec(),
        ..Append::new(debate, after, prev)
    }
}

/// An append of nothing behind these records.
pub fn behind(debate: DebateId, records: &[Record]) -> Append {
    let (after, prev) = records
        .last()
        .map_or_else(Default::default, |last| (last.seq, last.hash));
    Append::new(debate, after, prev)
}

/// What an append is told that does not fit a journal of these records.
pub fn conflict(debate: DebateId, records: &[Record]) -> StoreError {
    let Append {
        after: count,
        prev: head,
        ..
    } = behind(debate, records);
    StoreError::Conflict {
        debate,
        count,
        head,
    }
}

/// A session that differs from others in every field that tells them apart.
pub fn session_of(debate: DebateId, created_at: &str, status: Status) -> Session {
    Session {
        id: debate,
        topic: format!("Is „{debate}“ 50% of x_y? 漢字"),
        status,
        format: "decide".to_owned(),
        topology_type: "mesh".to_owned(),
        coordination_protocol: "none".to_owned(),
        config: r#"{"threshold":0.67}"#.to_owned(),
        initiated_by: "me".to_owned(),
        created_at: created_at.to_owned(),
        updated_at: created_at.to_owned(),
        completed_at: None,
        total_rounds: 0,
        final_consensus_score: None,
        outcome: None,
        rehearsal: status == Status::Paused,
    }
}

/// A turn as the record of that number would give it.
pub fn turn_of(seq: u64, text: &str) -> TurnRow {
    let completed = TurnCompleted {
        turn: "recommend/risk".into(),
        attempt: 1,
        model: "script:replies.md".into(),
        answered_by: None,
        program: None,
        text: text.to_owned(),
        finish: Finish::Complete,
        usage: None,
        ms: 12,
        copied_from: None,
    };
    TurnRow {
        seq,
        round: 1,
        phase: "recommend".into(),
        agent_id: "risk".into(),
        agent_role: "risk".into(),
        completed: Arc::new(completed),
        created_at: "2026-01-02T03:04:05.000Z".into(),
    }
}

async fn loaded(store: &Arc<dyn Store>, debate: DebateId, after: u64) -> Vec<Record> {
    store.load(debate, after).await.expect("load")
}

async fn comes_back_byte_for_byte(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    let texts = [
        "plain",
        "",
        "Zürich — 東京 🦀 \u{0} \u{202e}",
        "line\nline\r\n\"quoted\" \\ ' ; DROP TABLE events; --",
        &"long ".repeat(20_000),
    ];
    let mut written: Vec<Record> = Vec::new();
    for (round, text) in texts.into_iter().enumerate() {
        let records = more_records(debate, &written, 1 + round % 3, text);
        let durability = if round % 2 == 0 {
            Durability::Power
        } else {
            Durability::Process
        };
        store
            .append(Append {
                durability,
                ..append_of(debate, &records)
            })
            .await
            .expect("append");
        written.extend(records);
    }
    let mut bare = Record::clone(&more_records(debate, &written, 1, "no salt")[0]);
    bare.salt = None;
    store
        .append(append_of(debate, &[bare.clone()]))
        .await
        .expect("append");
    written.push(bare);
    assert_eq!(loaded(&store, debate, 0).await, written);
    assert_eq!(
        loaded(&store, DebateId::new(), 0).await,
        [],
        "an unknown debate has no records"
    );
}

async fn conflict_leaves_nothing_behind(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    let records = more_records(debate, &[], 3, "first");
    store
        .append(append_of(debate, &records))
        .await
        .expect("append");
    let late = more_records(debate, &records, 2, "late");
    for after in [0, 2, 4, 99] {
        let refused = Append {
            records: late
                .iter()
                .enumerate()
                .map(|(i, record)| Record {
                    seq: after + 1 + i as u64,
                    ..record.clone()
                })
                .collect(),
            session: Some(Box::new(session_of(debate, "2026", Status::Failed))),
            checkpoints: vec![checkpoint_of(debate, 5)],
            turns: vec![turn_of(after + 1, "late")],
            claim: Claim::Take,
            ..Append::new(debate, after, late[0].prev)
        };
        assert_eq!(
            store.append(refused).await,
            Err(conflict(debate, &records)),
            "after {after}"
        );
    }
    assert_eq!(loaded(&store, debate, 0).await, records);
    assert_eq!(store.checkpoints(debate).await, Ok(vec![]));
    assert_eq!(store.sessions(&Filter::default()).await, Ok(vec![]));
    store
        .append(append_of(debate, &late))
        .await
        .expect("the right number goes on");
    assert_eq!(loaded(&store, debate, 3).await, late);
}

/// A journal of the same length is not the same journal: one database went back, and somebody else
/// wrote there.
async fn an_append_names_its_predecessor(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    let records = more_records(debate, &[], 3, "there");
    let elsewhere = more_records(debate, &records[..1], 2, "elsewhere");
    store
        .append(append_of(debate, &records))
        .await
        .expect("append");
    let refused = Err(conflict(debate, &records));
    let full = |append: Append| Append {
        session: Some(Box::new(session_of(debate, "2026", Status::Failed))),
        checkpoints: vec![checkpoint_of(debate, 4)],
        turns: vec![turn_of(4, "elsewhere")],
        claim: Claim::Take,
        ..append
    };
    let more = more_records(debate, &elsewhere, 1, "elsewhere");
    for append in [
        append_of(debate, &more),
        behind(debate, &elsewhere),
        Append::new(debate, 3, Hash::default()),
    ] {
        for durability in [Durability::Process, Durability::Power] {
            assert_eq!(
                store
                    .append(full(Append {
                        durability,
                        ..append.clone()
                    }))
                    .await,
                refused
            );
        }
        assert_eq!(
            store.redact(records[0].tombstone(), full(append)).await,
            refused,
            "a redaction is an append too"
        );
    }
    let begins = Append::new(DebateId::new(), 0, records[0].hash);
    let nothing = StoreError::Conflict {
        debate: begins.debate,
        count: 0,
        head: Hash::default(),
    };
    assert_eq!(
        store.append(begins).await,
        Err(nothing),
        "before the first there is nothing"
    );
    assert_eq!(
        (loaded(&store, debate, 0).await, store.runner(debate).await),
        (records.clone(), Ok(None))
    );
    assert_eq!(
        (
            store.sessions(&Filter::default()).await,
            store.checkpoints(debate).await
        ),
        (Ok(vec![]), Ok(vec![]))
    );
    let more = more_records(debate, &records, 1, "there");
    store
        .append(append_of(debate, &more))
        .await
        .expect("the right one goes on");
    // As one batch, where stores keep many: each append follows the one before.
    let (first, other) = (
        more_records(debate, &more, 1, "first"),
        more_records(debate, &more, 1, "other"),
    );
    let (last, wrong) = (
        more_records(debate, &first, 1, "last"),
        more_records(debate, &other, 1, "wrong"),
    );
    let appends = [
        append_of(debate, &first),
        append_of(debate, &wrong),
        append_of(debate, &last),
    ];
    let written = join_all(appends.map(|append| store.append(append))).await;
    assert_eq!(written, [Ok(()), Err(conflict(debate, &first)), Ok(())]);
}

async fn loads_after_a_number(store: Arc<dyn Store>) {
    let (debate, other) = (DebateId::new(), DebateId::new());
    let records = more_records(debate, &[], 12, "mine");
    store
        .append(append_of(debate, &records))
        .await
        .expect("append");
    store
        .append(append_of(other, &more_records(other, &[], 5, "theirs")))
        .await
        .expect("append");
    for after in [0, 1, 9, 11, 12, 13, u64::MAX] {
        let expected = &records[usize::try_from(after).unwrap_or(12).min(12)..];
        assert_eq!(
            loaded(&store, debate, after).await,
            expected,
            "after {after}"
        );
    }
}

fn checkpoint_of(debate: DebateId, count: u64) -> Checkpoint {
    Seal::from_secret(&[7; 32]).close(debate, count, Hash::of(&count.to_le_bytes()))
}

async fn keeps_checkpoints_in_order(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    let mut written: Vec<Record> = Vec::new();
    let mut expected = Vec::new();
    for count in [1, 2, 3] {
        let records = more_records(debate, &written, 1, "more");
        // A checkpoint of the same place twice is two checkpoints.
        let more = Append {
            records: records.clone(),
            ..behind(debate, &written)
        };
        written.extend(records);
        for append in [more, behind(debate, &written)] {
            let checkpoints = vec![checkpoint_of(debate, count)];
            store
                .append(Append {
                    checkpoints,
                    ..append
                })
                .await
                .expect("append");
            expected.push(checkpoint_of(debate, count));
        }
    }
    // As many as there are come with a journal that is brought from elsewhere.
    let several = [2, 1, 3].map(|count| checkpoint_of(debate, count));
    store
        .append(Append {
            checkpoints: several.to_vec(),
            ..behind(debate, &written)
        })
        .await
        .expect("append");
    expected.extend(several);
    let checkpoints = store.checkpoints(debate).await.expect("checkpoints");
    assert_eq!(checkpoints, expected);
    assert!(
        checkpoints
            .iter()
            .all(|checkpoint| checkpoint.is_valid(debate))
    );
    assert_eq!(store.checkpoints(DebateId::new()).await, Ok(vec![]));
}

async fn put(store: &Arc<dyn Store>, session: &Session) {
    let there = loaded(store, session.id, 0).await;
    let append = Append {
        session: Some(Box::new(session.clone())),
        ..behind(session.id, &there)
    };
    store.append(append).await.expect("append");
}

async fn lists_sessions(store: Arc<dyn Store>) {
    let id = |text: &str| text.parse::<DebateId>().expect("an id");
    // Oldest to newest; the two of the same moment are ordered by id.
    let sessions = [
        session_of(
            id("aaaa0000-0000-4000-8000-000000000001"),
            "2026-01-01T00:00:00.000Z",
            Status::Completed,
        ),
        session_of(
            id("aaab0000-0000-4000-8000-000000000002"),
            "2026-01-02T00:00:00.000Z",
            Status::Running,
        ),
        session_of(
            id("bbbb0000-0000-4000-8000-000000000003"),
            "2026-01-03T00:00:00.000Z",
            Status::Paused,
        ),
        session_of(
            id("bbbc0000-0000-4000-8000-000000000004"),
            "2026-01-03T00:00:00.000Z",
            Status::Cancelled,
        ),
        session_of(
            id("ffff0000-0000-4000-8000-000000000005"),
            "2026-01-04T00:00:00.000Z",
            Status::Completed,
        ),
    ];
    for at in [2, 0, 4, 3, 1] {
        put(&store, &sessions[at]).await;
    }
    type Row = (
        Option<&'static str>,
        Option<Status>,
        usize,
        &'static [usize],
    );
    let table: &[Row] = &[
        (None, None, 0, &[4, 3, 2, 1, 0]),
        (None, None, 2, &[4, 3]),
        (None, Some(Status::Completed), 0, &[4, 0]),
        (None, Some(Status::Completed), 1, &[4]),
        (None, Some(Status::Failed), 0, &[]),
        (Some(""), None, 0, &[4, 3, 2, 1, 0]),
        (Some("aaa"), None, 0, &[1, 0]),
        (Some("aaa"), Some(Status::Running), 0, &[1]),
        (Some("bbbb0000-0000-4000-8000-000000000003"), None, 0, &[2]),
        (Some("f"), None, 1, &[4]),
        (Some("c"), None, 0, &[]),
        // Nothing in a prefix is a wildcard.
        (Some("%"), None, 0, &[]),
        (Some("aaa_"), None, 0, &[]),
        (Some("*"), None, 0, &[]),
    ];
    for (prefix, status, limit, expected) in table {
        let filter = Filter {
            prefix: prefix.map(str::to_owned),
            status: *status,
            limit: *limit,
            ..Filter::default()
        };
        let expected: Vec<Session> = expected.iter().map(|at| sessions[*at].clone()).collect();
        assert_eq!(store.sessions(&filter).await, Ok(expected), "{filter:?}");
    }
    lists_what_a_filter_fits(&store, sessions.to_vec()).await;
}

/// Every mix of conditions, against the definition.
async fn lists_what_a_filter_fits(store: &Arc<dyn Store>, mut sessions: Vec<Session>) {
    for (at, session) in sessions.iter_mut().enumerate() {
        session.initiated_by = ["ada", "bob"][at % 2].to_owned();
        session.format = ["decide", "review", "decide"][at % 3].to_owned();
        session.topic = [
            "Which DATABASE?",
            "100% of it",
            "a_b",
            "Ärger",
            "\\ and 'quotes'",
        ][at]
            .to_owned();
        put(store, session).await;
    }
    sessions.reverse();
    let some = |texts: &[&str]| {
        std::iter::once(None)
            .chain(texts.iter().map(|text| Some((*text).to_owned())))
            .collect::<Vec<_>>()
    };
    let places: Vec<Option<Listed>> = std::iter::once(None)
        .chain(sessions.iter().map(|last| {
            Some(Listed {
                created_at: last.created_at.clone(),
                id: last.id,
            })
        }))
        .collect();
    for by in some(&["ada", "nobody"]) {
        for format in some(&["decide", "DECIDE"]) {
            for topic in some(&["database", "%", "_", "ärger", "Ä", "\\", "'", ""]) {
                for after in &places {
                    let status = [None, Some(Status::Completed)][usize::from(format.is_some())];
                    let (by, format, topic, after) =
                        (by.clone(), format.clone(), topic.clone(), after.clone());
                    let filter = Filter {
                        by,
                        format,
                        topic,
                        after,
                        status,
                        ..Filter::default()
                    };
                    let expected: Vec<Session> = sessions
                        .iter()
                        .filter(|session| filter.fits(session))
                        .cloned()
                        .collect();
                    assert_eq!(store.sessions(&filter).await, Ok(expected), "{filter:?}");
                }
            }
        }
    }
}

async fn replaces_a_session(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    put(
        &store,
        &session_of(debate, "2026-01-01T00:00:00.000Z", Status::Running),
    )
    .await;
    let last = Session {
        topic: "another".to_owned(),
        format: "review".to_owned(),
        topology_type: "star".to_owned(),
        coordination_protocol: "lead".to_owned(),
        config: "{}".to_owned(),
        initiated_by: "you".to_owned(),
        updated_at: "2026-01-02T00:00:00.000Z".to_owned(),
        completed_at: Some("2026-01-02T00:00:00.000Z".to_owned()),
        total_rounds: 3,
        final_consensus_score: Some(2.0 / 3.0),
        outcome: Some(r#"{"outcome":"consensus"}"#.to_owned()),
        rehearsal: true,
        ..session_of(debate, "2026-01-01T12:00:00.000Z", Status::Completed)
    };
    put(&store, &last).await;
    assert_eq!(store.sessions(&Filter::default()).await, Ok(vec![last]));
}

async fn redacts_one_record(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    let mut records = more_records(debate, &[], 4, "secret");
    let session = session_of(debate, "2026", Status::Completed);
    let turns = vec![turn_of(2, "secret 2"), turn_of(3, "secret 3")];
    store
        .append(Append {
            session: Some(Box::new(session.clone())),
            turns,
            ..append_of(debate, &records)
        })
        .await
        .expect("append");
    let report = more_records(debate, &records, 1, "report");
    store
        .redact(records[1].tombstone(), append_of(debate, &report))
        .await
        .expect("redact");
    records[1] = records[1].tombstone();
    records.extend(report);
    let found = loaded(&store, debate, 0).await;
    assert_eq!(found, records);
    assert!(
        found[1].is_redacted()
            && found[1].hash == found[1].compute_hash()
            && found[2].prev == found[1].hash
    );
    assert_eq!(store.sessions(&Filter::default()).await, Ok(vec![session]));
    let more = more_records(debate, &records, 1, "on");
    store
        .append(append_of(debate, &more))
        .await
        .expect("the journal goes on");
}

async fn redaction_is_all_or_nothing(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    let records = more_records(debate, &[], 2, "kept");
    store
        .append(append_of(debate, &records))
        .await
        .expect("append");
    let late = more_records(debate, &records[..1], 1, "report");
    let refused = store
        .redact(records[0].tombstone(), append_of(debate, &late))
        .await;
    assert_eq!(refused, Err(conflict(debate, &records)));
    let report = more_records(debate, &records, 1, "report");
    let nowhere = Record {
        seq: 9,
        ..records[0].tombstone()
    };
    assert!(matches!(
        store.redact(nowhere, append_of(debate, &report)).await,
        Err(StoreError::NotFound(_))
    ));
    let unknown = DebateId::new();
    let first = more_records(unknown, &[], 1, "report");
    assert!(matches!(
        store
            .redact(first[0].tombstone(), append_of(unknown, &first))
            .await,
        Err(StoreError::NotFound(_))
    ));
    assert_eq!(loaded(&store, debate, 0).await, records);
    assert_eq!(loaded(&store, unknown, 0).await, []);
}

async fn removes_everything(store: Arc<dyn Store>) {
    let (debate, other) = (DebateId::new(), DebateId::new());
    for id in [debate, other] {
        let full = Append {
            checkpoints: vec![checkpoint_of(id, 2)],
            session: Some(Box::new(session_of(id, "2026", Status::Completed))),
            turns: vec![turn_of(1, "a"), turn_of(2, "b")],
            ..append_of(id, &more_records(id, &[], 2, "text"))
        };
        store.append(full).await.expect("append");
    }
    assert_eq!(store.is_removed(debate).await, Ok(false));
    store.remove(debate).await.expect("remove");
    assert_eq!(
        (
            store.is_removed(debate).await,
            store.is_removed(other).await
        ),
        (Ok(true), Ok(false))
    );
    assert_eq!(
        store.runner(debate).await,
        Ok(None),
        "nobody runs what is gone"
    );
    assert_eq!(loaded(&store, debate, 0).await, []);
    assert_eq!(store.checkpoints(debate).await, Ok(vec![]));
    let left: Vec<DebateId> = store
        .sessions(&Filter::default())
        .await
        .expect("sessions")
        .iter()
        .map(|session| session.id)
        .collect();
    assert_eq!(
        (left, loaded(&store, other, 0).await.len()),
        (vec![other], 2),
        "others stay"
    );
    assert_eq!(
        store.remove(debate).await,
        Err(StoreError::NotFound(debate.to_string()))
    );
    let again = more_records(debate, &[], 1, "again");
    let again = Append {
        turns: vec![turn_of(1, "again")],
        ..append_of(debate, &again)
    };
    store
        .append(again)
        .await
        .expect("the id can be used anew, from 1");
    assert_eq!(
        store.is_removed(debate).await,
        Ok(false),
        "one has come in its place"
    );
}

async fn takes_and_gives_up(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    let mut written: Vec<Record> = Vec::new();
    assert_eq!(store.runner(debate).await, Ok(None), "nobody knows it");
    let rows = [
        (Claim::Take, true),
        (Claim::Take, true),
        (Claim::Keep, true),
        (Claim::Release, false),
        (Claim::Release, false),
        (Claim::Take, true),
    ];
    for (claim, is_run) in rows {
        let records = more_records(debate, &written, 1, "claim");
        store
            .append(Append {
                claim,
                ..append_of(debate, &records)
            })
            .await
            .expect("the same process may always");
        assert_eq!(
            store.runner(debate).await.expect("a look").is_some(),
            is_run,
            "after {claim:?}"
        );
        written.extend(records);
    }
    assert_eq!(loaded(&store, debate, 0).await, written);
}

async fn says_what_is_claimed_here(store: Arc<dyn Store>) {
    let debates: Vec<DebateId> = (0..4).map(|_| DebateId::new()).collect();
    let mut ends = Vec::new();
    let times = ["04", "02", "03", "01"].map(|second| format!("2026-01-02T03:04:{second}.000Z"));
    let states = [
        (Claim::Take, Status::Running),
        (Claim::Take, Status::Running),
        (Claim::Keep, Status::Running),
        (Claim::Take, Status::Paused),
    ];
    for ((debate, at), (claim, status)) in debates.iter().zip(&times).zip(states) {
        let session = Some(Box::new(session_of(*debate, at, status)));
        let records = more_records(*debate, &[], 1, "begun");
        store
            .append(Append {
                claim,
                session,
                ..append_of(*debate, &records)
            })
            .await
            .expect("append");
        ends.push(records[0].hash);
    }
    assert_eq!(
        store.held_here().await,
        Ok(vec![debates[1], debates[0]]),
        "running and claimed, the oldest first"
    );
    store
        .append(Append {
            claim: Claim::Release,
            ..Append::new(debates[1], 1, ends[1])
        })
        .await
        .expect("given up");
    assert_eq!(store.held_here().await, Ok(vec![debates[0]]));
    assert_eq!(store.abandoned(9).await, Ok(vec![debates[1], debates[2]]));
}

async fn keeps_why_nobody_runs_it(store: Arc<dyn Store>) {
    let (debate, other) = (DebateId::new(), DebateId::new());
    let records = more_records(debate, &[], 1, "begun");
    let taken = |after: u64, claim: Claim| Append {
        claim,
        ..Append::new(debate, after, records[0].hash)
    };
    let session = Some(Box::new(session_of(
        debate,
        "2026-01-02T03:04:05.000Z",
        Status::Running,
    )));
    store
        .append(Append {
            claim: Claim::Take,
            session,
            ..append_of(debate, &records)
        })
        .await
        .expect("append");
    assert_eq!(store.given_up(&[debate, other]).await, Ok(Vec::new()));
    let why = "no model `x:y`: 50% of \u{202e}'them'; DROP TABLE claims --";
    for why in [why, "another reason"] {
        store
            .give_up(debate, why)
            .await
            .expect("it is ours, or nobody's");
        assert_eq!(
            store.given_up(&[other, debate]).await,
            Ok(vec![(debate, why.to_owned())])
        );
        assert_eq!(
            (store.runner(debate).await, store.held_here().await),
            (Ok(None), Ok(Vec::new()))
        );
    }
    assert_eq!(
        store.give_up(other, why).await,
        Err(StoreError::NotFound(other.to_string()))
    );
    store
        .append(taken(1, Claim::Take))
        .await
        .expect("it is free");
    assert_eq!(
        (store.given_up(&[debate]).await, store.held_here().await),
        (Ok(Vec::new()), Ok(vec![debate])),
        "somebody runs it"
    );
    store.give_up(debate, why).await.expect("given up");
    store
        .append(taken(1, Claim::Release))
        .await
        .expect("released");
    assert_eq!(store.given_up(&[debate]).await, Ok(Vec::new()));
    store
        .give_up(debate, why)
        .await
        .expect("nobody's can be given a reason too");
    store.remove(debate).await.expect("removed");
    assert_eq!(
        store.given_up(&[debate]).await,
        Ok(Vec::new()),
        "nothing is kept of what is removed"
    );
}

async fn many_writers_lose_nothing(store: Arc<dyn Store>) {
    let debates: Vec<DebateId> = (0..20).map(|_| DebateId::new()).collect();
    // Two tasks per debate, each appending where the other lets it: a conflict says where to go on.
    let write = |debate: DebateId, who: &'static str| {
        let store = store.clone();
        async move {
            let mut done = 0;
            while done < 15 {
                let before = loaded(&store, debate, 0).await;
                let records = more_records(debate, &before, 1 + done % 2, who);
                let durability = if done % 5 == 0 {
                    Durability::Power
                } else {
                    Durability::Process
                };
                match store
                    .append(Append {
                        durability,
                        ..append_of(debate, &records)
                    })
                    .await
                {
                    Ok(()) => done += 1,
                    Err(StoreError::Conflict { count, .. }) => assert!(count > before.len() as u64),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    };
    let tasks = debates
        .iter()
        .flat_map(|debate| ["ann", "bob"].map(|who| tokio::spawn(write(*debate, who))));
    for ended in join_all(tasks.collect::<Vec<_>>()).await {
        ended.expect("a writer");
    }
    for debate in debates {
        let records = loaded(&store, debate, 0).await;
        // 15 appends each, of which every second has two records: 8 + 14.
        assert_eq!(records.len(), 2 * (8 + 14));
        let mut prev = Hash::default();
        for (record, seq) in records.iter().zip(1..) {
            assert_eq!((record.seq, record.prev), (seq, prev), "{debate}");
            prev = record.hash;
        }
        for who in ["ann", "bob"] {
            assert_eq!(
                records
                    .iter()
                    .filter(|record| record.data.contains(who))
                    .count(),
                22,
                "{who} in {debate}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::memory_store::MemoryStore;

    #[tokio::test]
    async fn the_store_in_memory_holds() {
        holds(|| Arc::new(MemoryStore::new())).await;
    }
}
