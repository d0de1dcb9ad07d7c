//! The schema: made once by whoever comes first, refused when it is another version, with the
//! promised columns.

use super::{connect, first};
use rebut_engine::{
    DebateId,
    store::{Store, StoreError},
};
use rebut_store::PostgresStore;
use rebut_testkit::postgres::{Cluster, PASSWORD};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn is_made_once_and_another_version_is_refused() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let together: Vec<_> = (0..6)
        .map(|_| url.clone())
        .map(|url| tokio::spawn(async move { PostgresStore::connect(&url).await }))
        .collect();
    for task in together {
        task.await
            .expect("no panic")
            .expect("all open it")
            .append(first(DebateId::new(), 1))
            .await
            .expect("append");
    }
    assert_eq!(
        cluster.ask(&url, "SELECT version FROM rebut.schema_version"),
        "3"
    );
    assert_eq!(cluster.ask(&url, "SELECT count(*) FROM rebut.events"), "6");
    cluster.ask(&url, "UPDATE rebut.schema_version SET version = 9");
    assert_eq!(
        PostgresStore::connect(&url).await.err(),
        Some(StoreError::Newer { found: 9, known: 3 })
    );
    cluster.ask(&url, "UPDATE rebut.schema_version SET version = 1");
    assert_eq!(
        PostgresStore::connect(&url).await.err(),
        Some(StoreError::Older { found: 1, known: 3 })
    );
}

#[tokio::test]
async fn a_place_that_cannot_keep_debates_is_refused_and_its_password_not_told() {
    let cluster = Cluster::start();
    let good = cluster.database();
    let rows = [
        (good.replace("debates0", "nowhere"), "does not exist"),
        (
            good.replace("postgres:pa55", "stranger:pa55"),
            "role \"stranger\" does not exist",
        ),
        (
            cluster.database_with("ENCODING 'SQL_ASCII' TEMPLATE template0"),
            "ENCODING 'UTF8'",
        ),
        (good.clone() + "?sslmode=require", "TLS"),
        (good.clone() + "?sslmode=perhaps", "cannot be read"),
        (good.replace("@%2F", "@x@%2F"), "cannot be read"),
    ];
    for (url, expected) in rows {
        let error = PostgresStore::connect(&url).await.err().expect("refused");
        assert!(matches!(error, StoreError::NoPlace { .. }), "{error:?}");
        let words = error.to_string();
        assert!(
            words.contains(expected) && !words.contains(PASSWORD),
            "{words}"
        );
    }
}

#[tokio::test]
async fn an_ordinary_user_may_be_given_the_schema_only() {
    let cluster = Cluster::start();
    let url = cluster.database();
    cluster.ask(
        &url,
        "CREATE ROLE ada LOGIN; CREATE SCHEMA rebut AUTHORIZATION ada; CREATE TABLE \
        public.events (nothing INT)",
    );
    let store = connect(&url.replace("postgres:pa55", "ada:pa55")).await;
    store
        .append(first(DebateId::new(), 1))
        .await
        .expect("append");
    assert_eq!(
        cluster.ask(&url, "SELECT count(*) FROM public.events"),
        "0",
        "what else is there is left alone"
    );
}

#[tokio::test]
async fn tables_for_people_have_the_promised_columns() {
    let cluster = Cluster::start();
    let url = cluster.database();
    connect(&url).await;
    let columns = |table: &str| {
        let of = format!(
            "FROM information_schema.columns WHERE table_schema = 'rebut' AND table_name = \
             '{table}'"
        );
        cluster.ask(
            &url,
            &format!("SELECT string_agg(column_name, ' ' ORDER BY ordinal_position) {of}"),
        )
    };
    let expected = [
        (
            "debate_sessions",
            "id debate_id topic status topology_type coordination_protocol config initiated_by \
             created_at updated_at completed_at \
             total_rounds final_consensus_score outcome format rehearsal",
        ),
        (
            "debate_turns",
            "id session_id round phase agent_id agent_role provider model content confidence \
             tool_calls test_results reflections \
             metadata created_at response_time_ms seq turn",
        ),
        (
            "code_versions",
            "id session_id turn_id language code version_number quality_score test_pass_rate \
             metrics diff_from_previous created_at",
        ),
        ("debate_logs", "id debate_id kind entry created_at"),
        ("claims", "debate_id node holder epoch expires_at"),
    ];
    for (table, names) in expected {
        assert_eq!(columns(table), names, "{table}");
    }
}
