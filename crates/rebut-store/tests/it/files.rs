//! The file itself: made for its owner only, opened again, refused when newer, cut short.

use crate::{ask, database, journal, open};
use rebut_engine::{
    DebateId,
    record::Hash,
    store::{Append, Claim, Durability, Filter, Status, Store, StoreError},
};
use rebut_store::SqliteStore;
use rebut_testkit::conformance::{append_of, more_records, session_of, turn_of};
use std::{fs, path::Path, thread};

#[tokio::test]
async fn everything_is_there_after_opening_again() {
    let (_folder, path) = database();
    let debate = DebateId::new();
    let session = session_of(debate, "2026", Status::Running);
    let mut written = Vec::new();
    for round in 0..3 {
        let store = open(&path);
        assert_eq!(journal(&store, debate).await, written, "round {round}");
        let records = more_records(debate, &written, 2, "kept");
        store
            .append(Append {
                session: Some(Box::new(session.clone())),
                ..append_of(debate, &records)
            })
            .await
            .expect("append");
        written.extend(records);
        assert_eq!(
            store.sessions(&Filter::default()).await,
            Ok(vec![session.clone()])
        );
    }
    let names = fs::read_dir(path.parent().expect("a parent"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["rebut.db"],
        "a closed store leaves one file"
    );
}

#[tokio::test]
async fn a_database_of_another_version_is_refused_and_left_alone() {
    let (_folder, path) = database();
    drop(open(&path));
    let known = ask(&path, "PRAGMA user_version");
    let newer = StoreError::Newer {
        found: known + 1,
        known,
    };
    let older = StoreError::Older { found: 1, known };
    for (found, refused) in [(known + 1, newer), (1, older)] {
        rusqlite::Connection::open(&path)
            .expect("opens")
            .pragma_update(None, "user_version", found)
            .expect("another one");
        let before = fs::read(&path).expect("bytes");
        assert_eq!(SqliteStore::open(&path).err(), Some(refused.clone()));
        let why = StoreError::Unwritable("full".to_owned());
        assert_eq!(
            SqliteStore::open_read_only(&path, why).err(),
            Some(refused.clone())
        );
        assert_eq!(fs::read(&path).expect("bytes"), before);
    }
}

#[test]
fn what_is_no_database_is_refused() {
    let (folder, path) = database();
    fs::write(&path, "Dear diary, ".repeat(1000)).expect("a file");
    assert!(
        matches!(SqliteStore::open(&path), Err(StoreError::Foreign(why)) if why.contains("rebut.db"))
    );
    assert!(
        matches!(
            SqliteStore::open(folder.path()),
            Err(StoreError::NoPlace { .. })
        ),
        "a folder"
    );
    assert!(
        matches!(
            SqliteStore::open(&path.join("below.db")),
            Err(StoreError::NoPlace { .. })
        ),
        "below a file"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, _) = database();
    let path = folder.path().join("a/b/rebut.db");
    let store = open(&path);
    let debate = DebateId::new();
    let taken = Append {
        claim: Claim::Take,
        ..append_of(debate, &more_records(debate, &[], 1, "mine"))
    };
    store.append(taken).await.expect("append");
    for (name, expected) in [
        ("a", 0o700),
        ("a/b", 0o700),
        ("a/b/rebut.db", 0o600),
        ("a/b/rebut.db-wal", 0o600),
        ("a/b/rebut.db.runners", 0o700),
    ] {
        let mode = fs::metadata(folder.path().join(name))
            .expect(name)
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, expected, "{name}");
    }
}

#[test]
fn many_may_make_the_same_file_at_once() {
    for _ in 0..5 {
        let (_folder, path) = database();
        let openers: Vec<_> = (0..8)
            .map(|_| path.clone())
            .map(|path| thread::spawn(move || SqliteStore::open(&path).map(drop)))
            .collect();
        for opener in openers {
            assert_eq!(opener.join().expect("no panic"), Ok(()));
        }
        assert_eq!(ask(&path, "SELECT count(*) FROM events"), 0);
    }
}

/// A power cut may leave any beginning of the log. Each must open, and hold a beginning of the
/// journal with the rows that belong to it; what was on the disk before the cut must be in it.
#[tokio::test]
async fn a_torn_log_holds_a_beginning_of_the_journal() {
    let (folder, path) = database();
    let log = folder.path().join("rebut.db-wal");
    let store = open(&path);
    let debate = DebateId::new();
    let mut written = Vec::new();
    // How long the log was when how many records were acknowledged as safe from a power cut.
    let mut safe = vec![(0, 0)];
    for round in 0..12 {
        let records = more_records(debate, &written, 1 + round % 3, &"text ".repeat(50 * round));
        let power = round % 3 == 0;
        let append = Append {
            durability: if power {
                Durability::Power
            } else {
                Durability::Process
            },
            turns: records
                .iter()
                .map(|record| turn_of(record.seq, "said"))
                .collect(),
            session: Some(Box::new(session_of(
                debate,
                &format!("{}", records[records.len() - 1].seq),
                Status::Running,
            ))),
            ..append_of(debate, &records)
        };
        store.append(append).await.expect("append");
        written.extend(records);
        if power {
            safe.push((fs::metadata(&log).expect("a log").len(), written.len()));
        }
    }
    let (database, bytes) = (
        fs::read(&path).expect("bytes"),
        fs::read(&log).expect("bytes"),
    );
    assert!(
        bytes.len() > 50_000,
        "there is something to cut: {}",
        bytes.len()
    );
    for cut in (0..=bytes.len()).step_by(bytes.len() / 60) {
        let torn = folder.path().join(format!("cut-{cut}.db"));
        fs::write(&torn, &database).expect("a copy");
        fs::write(
            folder.path().join(format!("cut-{cut}.db-wal")),
            &bytes[..cut],
        )
        .expect("a copy");
        let kept = check_torn(&torn, debate, &written).await;
        let acknowledged = safe
            .iter()
            .rfind(|(length, _)| *length <= cut as u64)
            .expect("the first fits")
            .1;
        assert!(
            kept >= acknowledged,
            "cut at {cut}: {acknowledged} were safe, {kept} are left"
        );
    }
}

/// Debates that begin while another is written: after a power cut at any place of the log a start
/// is there whole, with its session, or nothing of it is; those that were acknowledged as safe are
/// there.
#[tokio::test]
async fn a_torn_log_holds_starts_whole_or_not_at_all() {
    let (folder, path) = database();
    let log = folder.path().join("rebut.db-wal");
    let store = open(&path);
    let (old, mut written) = (DebateId::new(), Vec::new());
    // Each start, and how long the log was when it was safe.
    let mut starts = Vec::new();
    for round in 0..10 {
        let records = more_records(old, &written, 1, &"text ".repeat(40 * round));
        store
            .append(append_of(old, &records))
            .await
            .expect("append");
        written.extend(records);
        let debate = DebateId::new();
        let start = Append {
            session: Some(Box::new(session_of(debate, "2026", Status::Running))),
            durability: Durability::Power,
            claim: Claim::Take,
            ..append_of(
                debate,
                &more_records(debate, &[], 1 + round % 2, &"asked ".repeat(100 * round)),
            )
        };
        store.append(start.clone()).await.expect("a start");
        starts.push((start, fs::metadata(&log).expect("a log").len()));
    }
    let (database, bytes) = (
        fs::read(&path).expect("bytes"),
        fs::read(&log).expect("bytes"),
    );
    for cut in (0..=bytes.len()).step_by(bytes.len() / 60) {
        let torn = folder.path().join(format!("cut-{cut}.db"));
        fs::write(&torn, &database).expect("a copy");
        fs::write(
            folder.path().join(format!("cut-{cut}.db-wal")),
            &bytes[..cut],
        )
        .expect("a copy");
        let after = open(&torn);
        let sessions = after.sessions(&Filter::default()).await.expect("sessions");
        let found = journal(&after, old).await;
        assert_eq!(found, written[..found.len()], "cut at {cut}");
        for (start, safe) in &starts {
            let found = journal(&after, start.debate).await;
            let is_there = !found.is_empty();
            assert!(
                is_there || *safe > cut as u64,
                "cut at {cut}: a start that was safe at {safe} is gone"
            );
            assert_eq!(
                found,
                if is_there {
                    start.records.clone()
                } else {
                    Vec::new()
                },
                "cut at {cut}"
            );
            assert_eq!(
                sessions.iter().any(|session| session.id == start.debate),
                is_there,
                "cut at {cut}: its row"
            );
            let take = Append {
                claim: Claim::Take,
                ..Append::new(
                    start.debate,
                    found.len() as u64,
                    found.last().map_or_else(Hash::default, |last| last.hash),
                )
            };
            after.append(take).await.unwrap_or_else(|error| {
                panic!("cut at {cut}: whoever ran it is gone with the power: {error}")
            });
        }
    }
}

async fn check_torn(
    path: &Path,
    debate: DebateId,
    written: &[rebut_engine::record::Record],
) -> usize {
    let store = open(path);
    let found = journal(&store, debate).await;
    assert_eq!(found, written[..found.len()], "{}", path.display());
    let sessions = store.sessions(&Filter::default()).await.expect("sessions");
    let last = found.last().map(|record| record.seq.to_string());
    assert_eq!(
        sessions.first().map(|session| session.created_at.clone()),
        last,
        "the session is of the same transaction"
    );
    assert_eq!(
        ask(path, "SELECT count(*) FROM debate_turns"),
        found.len() as i64,
        "the turns are of the same transaction"
    );
    found.len()
}
