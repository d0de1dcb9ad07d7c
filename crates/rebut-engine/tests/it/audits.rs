//! Every way to tamper with a journal is found and its place named; a proper redaction is not
//! tampering.

use proptest::prelude::*;
use rebut_engine::{
    DebateId,
    audit::{Audit, ProblemKind, verify},
    journal_file::Portable,
    memory_store::MemoryStore,
    record::{Hash, Record},
    seal::{Checkpoint, Seal},
    store::{Filter, Store, StoreError},
};
use rebut_testkit::{cases::Case, interposed::Interposed};
use std::{
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

async fn debate(
    name: &str,
) -> (
    DebateId,
    Vec<Record>,
    Vec<Checkpoint>,
    Arc<MemoryStore>,
    Case,
) {
    let case = Case::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cases/decide")
            .join(name),
    );
    let store = Arc::new(MemoryStore::new());
    let (id, _) = case.run(store.clone()).await.expect("the case runs");
    let records = store.load(id, 0).await.expect("memory can be read");
    let checkpoints = store.checkpoints(id).await.expect("memory can be read");
    (id, records, checkpoints, store, case)
}

fn trusted() -> Vec<String> {
    vec![Seal::from_secret(&[7; 32]).public().to_owned()]
}

fn rehash(records: &mut [Record]) {
    let mut head = Hash::default();
    for record in records {
        record.prev = head;
        record.digest = record.compute_digest();
        record.hash = record.compute_hash();
        head = record.hash;
    }
}

#[track_caller]
fn expect(audit: &Audit, seq: u64, kind: ProblemKind) {
    assert!(!audit.ok);
    assert!(
        audit
            .problems
            .iter()
            .any(|problem| problem.seq == seq && problem.kind == kind),
        "{:#?}",
        audit.problems
    );
}

#[tokio::test(start_paused = true)]
async fn tampering_is_found_and_its_place_named() {
    let (id, records, checkpoints, _, _) = debate("contested").await;
    let check = |records: &[Record], checkpoints: &[Checkpoint]| {
        verify(id, records, checkpoints, &trusted())
    };
    let clean = check(&records, &checkpoints);
    assert!(clean.ok, "{clean:#?}");
    assert_eq!(clean.sealed, records.len() as u64);

    let mut edited = records.clone();
    edited[6].data = edited[6].data.replace("0.", "1.");
    expect(&check(&edited, &checkpoints), 7, ProblemKind::Edited);

    let mut retimed = records.clone();
    retimed[4].ts = "2020-01-01T00:00:00.000Z".into();
    expect(&check(&retimed, &checkpoints), 5, ProblemKind::Edited);

    let mut gap = records.clone();
    gap.remove(5);
    expect(&check(&gap, &checkpoints), 6, ProblemKind::Deleted);

    let cut = &records[..records.len() - 3];
    expect(
        &check(cut, &checkpoints),
        cut.len() as u64 + 1,
        ProblemKind::Truncated,
    );

    let mut swapped = records.clone();
    swapped.swap(3, 4);
    (swapped[3].seq, swapped[4].seq) = (4, 5);
    expect(&check(&swapped, &checkpoints), 4, ProblemKind::Reordered);

    let (_, other, _, _, _) = debate("unanimous").await;
    let mut spliced = records.clone();
    spliced[7] = Record {
        debate: id,
        seq: 8,
        ..other[6].clone()
    };
    expect(&check(&spliced, &checkpoints), 8, ProblemKind::Spliced);

    let mut restamped = records.clone();
    restamped[6].data = restamped[6].data.replace("0.", "1.");
    rehash(&mut restamped);
    let audit = check(&restamped, &checkpoints);
    assert!(
        audit.problems.iter().any(
            |problem| problem.kind == ProblemKind::Rehashed && problem.detail.contains("event")
        ),
        "{audit:#?}"
    );

    let forger = Seal::from_secret(&[8; 32]);
    let last = restamped.last().expect("events");
    let forged = [forger.close(id, last.seq, last.hash)];
    expect(&check(&restamped, &forged), last.seq, ProblemKind::Unsealed);
    expect(
        &check(&records, &[]),
        records.len() as u64,
        ProblemKind::Unsealed,
    );
}

#[tokio::test(start_paused = true)]
async fn a_redaction_keeps_the_journal_valid_and_the_text_is_gone() {
    let (id, records, _, store, case) = debate("contested").await;
    let desk = case.desk(store.clone(), case.model());
    let reply = records
        .iter()
        .find(|record| record.kind == "turn.completed")
        .expect("a reply");
    let quoting = desk
        .redact(id, reply.seq, "names a customer", "tester")
        .await
        .expect("redacted");
    let derived: Vec<u64> = records
        .iter()
        .filter(|record| record.kind.starts_with("position.") && record.agent == reply.agent)
        .map(|record| record.seq)
        .collect();
    assert!(
        quoting.contains(&derived[0]),
        "what quotes it is named: {quoting:?}"
    );
    let audit = desk.verify(id, &trusted()).await.expect("verified");
    assert!(audit.ok, "{audit:#?}");
    assert_eq!(audit.redacted, [reply.seq]);
    let after = store.load(id, 0).await.expect("memory can be read");
    assert!(
        after
            .iter()
            .all(|record| !record.data.contains("Sync bugs surface late")
                || record.kind != "turn.completed")
    );
    assert!(
        desk.redact(id, reply.seq, "again", "tester").await.is_err(),
        "once is enough"
    );
    assert!(
        desk.replay(id).await.is_err(),
        "what is gone cannot be replayed"
    );

    let mut silent = records.clone();
    silent[6] = silent[6].tombstone();
    let checkpoints = store.checkpoints(id).await.expect("memory can be read");
    expect(
        &verify(id, &silent, &checkpoints[..1], &trusted()),
        7,
        ProblemKind::Edited,
    );
}

#[tokio::test(start_paused = true)]
async fn a_journal_survives_the_way_through_a_file() {
    for name in ["contested", "hostile", "rate-limited"] {
        let (id, records, checkpoints, store, case) = debate(name).await;
        let file = Portable {
            debate: id,
            records,
            checkpoints,
        };
        let text = file.to_ndjson().expect("a file");
        let read = Portable::parse(&text).expect("the same journal");
        assert_eq!(read, file, "{name}");
        let elsewhere = Arc::new(MemoryStore::new());
        let desk = case.desk(elsewhere.clone(), case.model());
        assert!(
            desk.import(read.clone(), &trusted())
                .await
                .expect("imported")
                .ok
        );
        assert_eq!(elsewhere.load(id, 0).await, store.load(id, 0).await);
        assert_eq!(
            elsewhere.turns(id),
            store.turns(id),
            "{name}: the rows are made anew"
        );
        assert!(
            desk.import(read.clone(), &trusted()).await.is_err(),
            "twice is an error"
        );
        assert!(
            case.desk(Arc::new(MemoryStore::new()), case.model())
                .import(read, &[])
                .await
                .is_err(),
            "an unknown key is not trusted"
        );
        let cut = text.lines().take(4).collect::<Vec<_>>().join("\n");
        assert!(Portable::parse(&cut).is_err(), "a cut file is noticed");
    }
}

#[tokio::test(start_paused = true)]
async fn an_import_that_is_killed_leaves_all_or_nothing() {
    let (id, records, _, store, case) = debate("contested").await;
    let redacted = records
        .iter()
        .find(|record| record.kind == "turn.completed")
        .expect("a reply");
    let desk = case.desk(store.clone(), case.model());
    desk.redact(id, redacted.seq, "private", "tester")
        .await
        .expect("redacted");
    let file = desk.export(id).await.expect("a file");
    assert!(file.checkpoints.len() >= 2, "each closes a part of it");
    // Killed before its first write, before its second, and so on.
    for lives in 0..=file.checkpoints.len() + 1 {
        let kept = Arc::new(MemoryStore::new());
        let left = AtomicUsize::new(lives);
        let dying = Interposed::over(kept.clone(), move |store, append| {
            let lives = left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    left.checked_sub(1)
                })
                .is_ok();
            Box::pin(async move {
                if lives {
                    store.append(append).await
                } else {
                    Err(StoreError::Failed("killed".to_owned()))
                }
            })
        });
        let killed = case
            .desk(Arc::new(dying), case.model())
            .import(file.clone(), &trusted())
            .await
            .is_err();
        let desk = case.desk(kept.clone(), case.model());
        if killed {
            assert_eq!(
                kept.sessions(&Filter::default()).await,
                Ok(vec![]),
                "{lives}: nothing is left of it"
            );
            desk.import(file.clone(), &trusted())
                .await
                .expect("it can be imported again");
        }
        assert_eq!(desk.export(id).await.expect("a file"), file, "{lives}");
        assert!(
            desk.verify(id, &trusted()).await.expect("verified").ok,
            "{lives}"
        );
    }
}

/// The file of one debate, made once for all the mutations below.
fn exported() -> &'static (Portable, String) {
    static FILE: OnceLock<(Portable, String)> = OnceLock::new();
    FILE.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let (debate, records, checkpoints, _, _) = runtime.block_on(debate("convinced-in-round-2"));
        let file = Portable {
            debate,
            records,
            checkpoints,
        };
        let text = file.to_ndjson().expect("a file");
        (file, text)
    })
}

proptest! {
    #[test]
    fn no_changed_byte_of_a_journal_goes_unnoticed(at in any::<prop::sample::Index>(), byte in 0x20u8..0x7f) {
        let (original, text) = exported();
        let mut bytes = text.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let Ok(changed) = String::from_utf8(bytes) else { return Ok(()) };
        if let Ok(file) = Portable::parse(&changed) {
            let audit = verify(file.debate, &file.records, &file.checkpoints, &trusted());
            prop_assert!(!audit.ok || file == *original, "byte {} became {:?} \
                unnoticed", at, byte as char);
        }
    }

    #[test]
    fn arbitrary_journal_files_are_read_or_refused(lines in prop::collection::vec(".{0,200}", 0..6)) {
        let _ = Portable::parse(&lines.join("\n"));
    }
}
