//! `kill -9`: what was acknowledged stays, and the debate can be taken over at once.

use crate::{database, journal, open};
use rebut_engine::{
    DebateId,
    record::Record,
    store::{Append, Claim, Store, StoreError},
};
use rebut_testkit::conformance::{append_of, behind, more_records};
use std::{
    env,
    io::{BufRead, BufReader, Write, stdout},
    path::Path,
    process::{Child, Command, Stdio},
};

const DATABASE: &str = "REBUT_TEST_DATABASE";
const DEBATE: &str = "REBUT_TEST_DEBATE";

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let (_folder, path) = database();
    let mut expected = 0;
    let debate = DebateId::new();
    for stop_after in [1, 2, 40, 300] {
        let mut child = start_child(&path, debate);
        let mut acknowledged = BufReader::new(child.stdout.take().expect("a pipe"))
            .lines()
            .filter_map(|line| {
                let line = line.expect("a line");
                line.strip_prefix("acknowledged ")
                    .map(|count| count.parse::<usize>().expect("a count"))
            });
        let mut last = acknowledged.nth(stop_after - 1).expect("the child appends");
        let store = open(&path);
        let take = |before: &[Record]| Append {
            claim: Claim::Take,
            ..behind(debate, before)
        };
        let held = store.append(take(&[])).await;
        assert_eq!(
            held,
            Err(StoreError::Held {
                debate,
                by: format!("process {}", child.id())
            })
        );
        child.kill().expect("SIGKILL");
        child.wait().expect("its end");
        last = acknowledged.last().unwrap_or(last);
        let found = journal(&store, debate).await;
        assert!(
            found.len() >= last && last >= expected,
            "{last} were acknowledged, {} are there",
            found.len()
        );
        assert!(
            found
                .iter()
                .zip(1..)
                .all(|(record, seq)| record.seq == seq && record.hash == record.compute_hash())
        );
        store
            .append(take(&found))
            .await
            .expect("taken over at once");
        expected = found.len();
    }
}

fn start_child(path: &Path, debate: DebateId) -> Child {
    let mut command = Command::new(env::current_exe().expect("this test"));
    command
        .args(["--exact", "crash::child", "--nocapture"])
        .env(DATABASE, path)
        .env(DEBATE, debate.to_string());
    command.stdout(Stdio::piped()).spawn().expect("a child")
}

/// Not a test by itself: what the child above does until it is killed.
#[tokio::test]
async fn child() {
    let (Ok(path), Ok(debate)) = (env::var(DATABASE), env::var(DEBATE)) else {
        return;
    };
    let debate: DebateId = debate.parse().expect("an id");
    let store = open(path.as_ref());
    let mut written = journal(&store, debate).await;
    loop {
        let records = more_records(debate, &written, 1, "before the end");
        store
            .append(Append {
                claim: Claim::Take,
                ..append_of(debate, &records)
            })
            .await
            .expect("append");
        written.extend(records);
        writeln!(stdout(), "acknowledged {}", written.len()).expect("a reader");
    }
}
