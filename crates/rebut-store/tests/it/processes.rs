//! Two stores on one file, as two processes would have it.

use crate::{ask, database, journal, open, refuse_commits_of_others};
use rebut_engine::{
    DebateId,
    store::{Append, Changed, Claim, Store, StoreError},
};
use rebut_store::SqliteStore;
use rebut_testkit::conformance::{append_of, behind, conflict, more_records};
use rusqlite::backup::Progress;
use std::{fs, time::Duration};

#[tokio::test]
async fn each_sees_what_the_other_wrote() {
    let (_folder, path) = database();
    let (one, two) = (open(&path), open(&path));
    let debate = DebateId::new();
    let mut written = Vec::new();
    // Each knows the length from its own last append; the other has gone on since.
    for store in [&one, &two, &one, &one, &two, &two, &one] {
        let records = more_records(debate, &written, 2, "text");
        if written.len() >= 2 {
            let late = append_of(
                debate,
                &more_records(debate, &written[..written.len() - 2], 1, "late"),
            );
            assert_eq!(store.append(late).await, Err(conflict(debate, &written)));
        }
        store
            .append(append_of(debate, &records))
            .await
            .expect("append");
        written.extend(records);
    }
    assert_eq!(journal(&one, debate).await, written);
    assert_eq!(journal(&two, debate).await, written);
    two.remove(debate).await.expect("remove");
    let late = one
        .append(append_of(
            debate,
            &more_records(debate, &written, 1, "late"),
        ))
        .await;
    assert_eq!(
        late,
        Err(conflict(debate, &[])),
        "a removed debate has no continuation"
    );
}

#[tokio::test]
async fn a_debate_is_run_by_one_living_process() {
    let (folder, path) = database();
    let runners =
        || fs::read_dir(folder.path().join("rebut.db.runners")).map_or(0, Iterator::count);
    let (one, two) = (open(&path), open(&path));
    let debate = DebateId::new();
    let claim = |claim| Append {
        claim,
        ..behind(debate, &[])
    };
    let held = Err(StoreError::Held {
        debate,
        by: format!("process {}", std::process::id()),
    });
    assert_eq!(runners(), 0, "nobody runs anything yet");
    assert_eq!(one.append(claim(Claim::Take)).await, Ok(()));
    assert_eq!(two.append(claim(Claim::Take)).await, held);
    assert_eq!(two.remove(debate).await, held);
    assert_eq!(
        two.append(claim(Claim::Keep)).await,
        Ok(()),
        "others may still append"
    );
    assert_eq!(
        one.append(claim(Claim::Take)).await,
        Ok(()),
        "ours stays ours"
    );
    assert_eq!(one.append(claim(Claim::Release)).await, Ok(()));
    assert_eq!(two.append(claim(Claim::Take)).await, Ok(()), "free again");
    assert_eq!(one.append(claim(Claim::Take)).await, held);
    assert_eq!(runners(), 2);
    drop(two);
    assert_eq!(
        one.append(claim(Claim::Take)).await,
        Ok(()),
        "a claim dies with its process"
    );
    assert_eq!(
        (runners(), ask(&path, "SELECT count(*) FROM claims")),
        (1, 1)
    );
    one.remove(debate).await.expect("remove");
    assert_eq!(
        ask(
            &path,
            "SELECT count(*) FROM claims WHERE runner <> 'removed'"
        ),
        0
    );
}

#[tokio::test]
async fn a_forged_runner_is_no_path() {
    let (folder, path) = database();
    let store = open(&path);
    let debate = DebateId::new();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").expect("a file");
    let forge = rusqlite::Connection::open(&path).expect("opens");
    forge
        .execute(
            "INSERT INTO claims VALUES (?1, '../victim')",
            [debate.as_bytes()],
        )
        .expect("a forged claim");
    store
        .append(Append {
            claim: Claim::Take,
            ..behind(debate, &[])
        })
        .await
        .expect("nobody living holds it");
    assert!(victim.exists());
}

#[tokio::test]
async fn changes_by_others_are_reported_and_ours_are_not() {
    let (_folder, path) = database();
    let (one, two) = (open(&path), open(&path));
    let (ours, theirs, both) = (DebateId::new(), DebateId::new(), DebateId::new());
    let first = |debate| append_of(debate, &more_records(debate, &[], 3, "text"));
    let written = first(ours);
    let more = more_records(ours, &written.records, 1, "more");
    one.append(written).await.expect("append");
    two.append(first(theirs)).await.expect("append");
    assert_eq!(
        one.changed_elsewhere().await,
        Ok(Changed::These(vec![theirs])),
        "also what came before the first question"
    );
    one.append(append_of(ours, &more)).await.expect("append");
    two.append(first(both)).await.expect("append");
    // A waiting that is given up loses nothing.
    let given_up = tokio::time::timeout(Duration::ZERO, one.changed_elsewhere()).await;
    let changed = match given_up {
        Ok(changed) => changed,
        Err(_) => one.changed_elsewhere().await,
    };
    assert_eq!(changed, Ok(Changed::These(vec![both])));
    // Removal must not hide what is written next, nor hand its numbers out again.
    two.remove(both).await.expect("remove");
    two.append(first(both)).await.expect("append");
    assert_eq!(
        one.changed_elsewhere().await,
        Ok(Changed::These(vec![both]))
    );
    assert_eq!(
        two.changed_elsewhere().await,
        Ok(Changed::These(vec![ours])),
        "and the other way round"
    );
}

/// The numbers of a commit that fails are given to whoever commits next.
#[tokio::test]
async fn what_another_appends_after_our_commit_failed_is_not_taken_for_ours() {
    let (_folder, path) = database();
    let (allowed, doomed) = (DebateId::new(), DebateId::new());
    drop(open(&path));
    refuse_commits_of_others(&path, allowed);
    let (one, two) = (open(&path), open(&path));
    let first = |debate| append_of(debate, &more_records(debate, &[], 2, "text"));
    let refused = one.append(first(doomed)).await;
    assert!(
        matches!(&refused, Err(StoreError::Failed(why)) if why.contains("FOREIGN KEY")),
        "{refused:?}"
    );
    two.append(first(allowed)).await.expect("append");
    assert_eq!(heard(&one).await, Changed::These(vec![allowed]));
}

/// A backup that is put back with `sqlite3 FILE .restore` is written into the file that everybody
/// has open.
#[tokio::test]
async fn a_file_that_was_restored_in_place_is_noticed_and_so_is_what_others_append_then() {
    // Nothing follows before somebody looks, or so much that the numbers are beyond those of
    // before.
    for more in [0, 20] {
        let (folder, path) = database();
        let (one, two) = (open(&path), open(&path));
        let (kept, lost) = (DebateId::new(), DebateId::new());
        let before = more_records(kept, &[], 3, "text");
        one.append(append_of(kept, &before)).await.expect("append");
        let backup = folder.path().join("backup.db");
        let mut connection = rusqlite::Connection::open(&path).expect("opens");
        connection
            .backup("main", &backup, None::<fn(Progress)>)
            .expect("a backup");
        two.append(append_of(lost, &more_records(lost, &[], 5, "text")))
            .await
            .expect("append");
        assert_eq!(heard(&one).await, Changed::These(vec![lost]));
        one.append(append_of(kept, &more_records(kept, &before, 2, "lost")))
            .await
            .expect("append");
        connection
            .restore("main", &backup, None::<fn(Progress)>)
            .expect("it is put back");
        if more > 0 {
            two.append(append_of(lost, &more_records(lost, &[], more, "text")))
                .await
                .expect("append");
        }
        assert_eq!(heard(&one).await, Changed::Anything, "{more} more");
        two.append(append_of(kept, &more_records(kept, &before, 1, "a cancel")))
            .await
            .expect("append");
        let changed = heard(&one).await;
        assert!(
            matches!(&changed, Changed::These(debates) if debates.contains(&kept)),
            "{more} more: {changed:?}"
        );
    }
}

/// What is heard of others, who have certainly done something.
async fn heard(store: &SqliteStore) -> Changed {
    let hang_guard = Duration::from_secs(30);
    tokio::time::timeout(hang_guard, store.changed_elsewhere())
        .await
        .expect("something is heard")
        .expect("it listens")
}
