//! A server that lives and does not do what is asked: it has no room, no connections, or no
//! standby. That is told apart from a mistake, it can be looked at, and it does not make things
//! worse.

use super::{claim, connect, first, journal};
use rebut_engine::{
    DebateId,
    store::{Append, Claim, Filter, Store, StoreError},
    web_session::{WebSession, WebSessions},
};
use rebut_store::{PostgresOptions, PostgresStore};
use rebut_testkit::{
    conformance::{append_of, more_records},
    postgres::Cluster,
};
use std::time::Duration;

/// Refuses every event with an answer of that code.
fn refuse(code: &str) -> String {
    format!(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '{code}'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON rebut.events FOR EACH ROW EXECUTE FUNCTION public.refuse()"
    )
}

#[tokio::test]
async fn a_server_without_room_is_told_from_one_that_refuses_a_mistake() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let store = connect(&url).await;
    let debate = DebateId::new();
    let records = more_records(debate, &[], 9, "text");
    store
        .append(Append {
            claim: Claim::Take,
            ..append_of(debate, &records[..1])
        })
        .await
        .expect("a start");
    // A full disk, no memory, a disk that fails.
    for (code, at) in ["53100", "53200", "58030"].into_iter().zip(1..) {
        store.check_writable().await.expect("there is room");
        cluster.ask(&url, &refuse(code));
        let goes_on = || Append {
            claim: Claim::Hold,
            ..append_of(debate, &records[at..=at])
        };
        let start = Append {
            claim: Claim::Take,
            ..first(DebateId::new(), 1)
        };
        for answer in [store.append(goes_on()).await, store.append(start).await] {
            assert!(
                matches!(answer, Err(StoreError::Unwritable(_))),
                "{code}: {answer:?}"
            );
        }
        store
            .append(claim(debate, &records[..at], Claim::Hold))
            .await
            .expect("what needs no room is written");
        for _ in 0..2 {
            let check = store.check_writable().await;
            assert!(
                matches!(check, Err(StoreError::Unwritable(_))),
                "{code}: it says so though something small was written: {check:?}"
            );
        }
        assert_eq!(
            journal(&store, debate).await,
            records[..at],
            "{code}: reading works"
        );
        cluster.ask(&url, "DROP FUNCTION public.refuse CASCADE");
        store.check_writable().await.expect("there is room again");
        store.append(goes_on()).await.expect("there is room again");
    }
    assert_eq!(
        cluster.ask(&url, "SELECT count(*) FROM rebut.events"),
        "4",
        "nothing is left of looking whether there is room"
    );
    cluster.ask(&url, &refuse("23514"));
    let mistake = store
        .append(Append {
            claim: Claim::Hold,
            ..append_of(debate, &records[4..5])
        })
        .await;
    assert!(
        matches!(mistake, Err(StoreError::Failed(_))),
        "no waiting mends that: {mistake:?}"
    );
    store.check_writable().await.expect("others can be written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_are_renewed_while_the_server_takes_no_more_connections() {
    let cluster = Cluster::start();
    let url = cluster.database();
    cluster.ask(
        &url,
        "CREATE ROLE ada LOGIN; CREATE SCHEMA rebut AUTHORIZATION ada",
    );
    let lease = Duration::from_secs(3);
    let options = || PostgresOptions {
        lease,
        ..PostgresOptions::default()
    };
    let node = PostgresStore::connect_with(&url.replace("postgres:pa55", "ada:pa55"), options())
        .await
        .expect("opens");
    let other = PostgresStore::connect_with(&url, options())
        .await
        .expect("opens");
    let debate = DebateId::new();
    node.append(Append {
        claim: Claim::Take,
        ..first(debate, 1)
    })
    .await
    .expect("free");
    let beating = "FROM pg_stat_activity WHERE usename = 'ada' AND query LIKE 'WITH renewed%'";
    while cluster.ask("postgres", &format!("SELECT count(*) {beating}")) != "1" {}
    // Those that are there stay, but for the one that renews leases.
    cluster.ask("postgres", "ALTER ROLE ada CONNECTION LIMIT 0");
    let ended = cluster.ask(
        "postgres",
        &format!("SELECT pid, pg_terminate_backend(pid, 60000), clock_timestamp() {beating}"),
    );
    let mut ended = ended.split('|');
    let (pid, when) = (
        ended.next().expect("a number"),
        ended.next_back().expect("a time"),
    );
    assert_eq!(
        cluster.ask(
            "postgres",
            &format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}")
        ),
        "0"
    );
    let renewed = format!("SELECT expires_at - interval '3 s' > '{when}' FROM rebut.claims");
    while cluster.ask(&url, &renewed) != "t" {
        assert!(
            other.runner(debate).await.expect("a look").is_some(),
            "it is there to be taken, and its runner lives"
        );
    }
    assert!(
        node.load(debate, 0)
            .await
            .is_err_and(|error| error.is_passing()),
        "there is no connection to read by"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_wait_for_a_standby_do_not_use_up_the_connections() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let options = PostgresOptions {
        lease: Duration::from_millis(150),
        answer_within: Duration::from_secs(1),
    };
    let store = PostgresStore::connect_with(&url, options)
        .await
        .expect("opens");
    let debates: Vec<DebateId> = (0..4).map(|_| DebateId::new()).collect();
    store
        .append(Append {
            claim: Claim::Take,
            ..first(debates[0], 1)
        })
        .await
        .expect("append");
    let standby = |names: &str| {
        cluster.ask(
            "postgres",
            &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"),
        );
        cluster.ask("postgres", "SELECT pg_reload_conf()");
        while cluster.ask("postgres", "SHOW synchronous_standby_names") != names {}
    };
    standby("away");
    let waiting = || {
        cluster.ask(
            "postgres",
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
        )
    };
    let expires = || cluster.ask(&url, "SELECT expires_at FROM rebut.claims");
    let answer = store.append(first(debates[1], 2)).await;
    assert!(
        matches!(answer, Err(StoreError::Unavailable(_))),
        "nobody knows what becomes of it: {answer:?}"
    );
    for debate in &debates[2..] {
        let answer = store
            .append(Append {
                claim: Claim::Take,
                ..first(*debate, 2)
            })
            .await;
        assert!(
            matches!(answer, Err(StoreError::Unwritable(_))),
            "it is not begun: {answer:?}"
        );
    }
    let web_session = WebSession {
        id: "1".into(),
        sha256: "s".into(),
        key: "k".into(),
        expires_at: 9,
    };
    let answers = [
        store.open_web_session(&web_session, 1, 5).await,
        store.check_writable().await,
    ];
    assert!(
        answers
            .iter()
            .all(|answer| answer.as_ref().is_err_and(StoreError::is_passing)),
        "{answers:?}"
    );
    assert_eq!(
        store.sessions(&Filter::default()).await,
        Ok(vec![]),
        "reading works"
    );
    for _ in 0..3 {
        let before = expires();
        while expires() == before {
            assert_eq!(waiting(), "1", "one waits, and leases are renewed without");
        }
    }
    standby("");
    while store.check_writable().await.is_err() {}
    for debate in &debates[2..] {
        store.append(first(*debate, 2)).await.expect("append");
    }
    store
        .open_web_session(&web_session, 1, 5)
        .await
        .expect("a visit");
    for (debate, expected) in debates.iter().zip([1, 2, 2, 2]) {
        assert_eq!(
            journal(&store, *debate).await.len(),
            expected,
            "what waited is there once"
        );
    }
    assert_eq!(waiting(), "0");
}
