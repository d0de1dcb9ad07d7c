//! A file that goes back under a live run: events are taken out of it from the side, as if an older
//! copy had been put in its place.

use crate::open;
use rebut_testkit::{
    cases::Case,
    going_back::{Database, GoBack, suite},
};
use std::{path::Path, sync::Arc};

/// What takes the events behind number `keep` out, with all that they left, in SQL of either
/// database. Where nothing of a debate is kept, it never began.
pub(crate) fn forget(debate: &str, key: &str, prefix: &str, keep: u64) -> String {
    let mut sql = format!(
        "DELETE FROM {prefix}events WHERE debate_id = {key} AND seq > {keep};
         DELETE FROM {prefix}debate_turns WHERE session_id = '{debate}' AND seq > {keep};"
    );
    if keep == 0 {
        sql += &format!(
            "DELETE FROM {prefix}debate_sessions WHERE id = '{debate}'; DELETE FROM {prefix}claims \
             WHERE debate_id = {key};"
        );
    }
    sql
}

/// A case that leaves nothing in other tables.
pub(crate) fn plain_case() -> Case {
    Case::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../rebut-engine/tests/cases/decide/three-rounds"),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_may_go_back_by_any_number_of_events_after_any_append() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rebut.db");
    let fresh = async || {
        let file = path.clone();
        let go_back: GoBack = Arc::new(move |debate, keep| {
            let key = format!("x'{}'", rebut_engine::record::encode_hex(debate.as_bytes()));
            let (file, sql) = (file.clone(), forget(&debate.to_string(), &key, "", keep));
            Box::pin(async move {
                let connection = rusqlite::Connection::open(file).expect("the file opens");
                connection
                    .busy_timeout(std::time::Duration::from_secs(30))
                    .expect("it waits");
                connection
                    .execute_batch(&format!("BEGIN IMMEDIATE; {sql} COMMIT"))
                    .expect("it is taken out");
            })
        });
        Database {
            store: Arc::new(open(&path)),
            other: Arc::new(open(&path)),
            go_back,
        }
    };
    let tally = suite(&plain_case(), fresh, 3, &[1, 2, 4, 40]).await;
    println!("{tally:?}");
    assert!(tally.went_on > 10 && tally.cancelled > 10, "{tally:?}");
}
