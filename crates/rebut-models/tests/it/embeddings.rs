//! Embeddings against a real server on the loopback that speaks OpenAI's wire format as strictly as
//! OpenAI.

use base64::{Engine, engine::general_purpose::STANDARD};
use rebut_engine::{
    embedding::{Embedded, Embedder},
    model::{Fault, FaultKind, Price, Usage},
};
use rebut_models::{
    address::Address,
    http::{Endpoint, HttpEmbedder, Timeouts, client},
    key::Key,
    registry::Registry,
};
use rebut_testkit::model_server::{Behaviour, Failure, ModelServer};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

const KEY: &str = "sk-test-0123456789abcdef";
const SOON: Duration = Duration::from_secs(20);

/// `first_byte` is for a server that never answers: nobody should wait for it as long as for
/// others.
fn embedder(base_url: String, first_byte: Option<f64>) -> HttpEmbedder {
    let endpoint = Endpoint {
        name: "test".to_owned(),
        address: Some(Address::parse(&base_url).map_err(|error| error.to_string())),
        key: Some(Key::new(KEY)),
        key_env: Some("TEST_KEY".to_owned()),
        prices: BTreeMap::from([(
            "v".to_owned(),
            Price {
                input: 2.0,
                cached: None,
                output: 0.0,
            },
        )]),
        timeouts: Timeouts {
            first_byte,
            ..Timeouts::default()
        },
        ..Endpoint::default()
    };
    HttpEmbedder::new(
        client(SOON).expect("a client"),
        Arc::new(endpoint),
        "v".to_owned(),
    )
    .expect("an embedder")
}

fn texts() -> Vec<String> {
    ["one \"quoted\"", "two ü"].map(str::to_owned).to_vec()
}

async fn once(behave: impl Fn() -> Behaviour + Send + Sync + 'static) -> Result<Embedded, Fault> {
    let hangs = matches!(behave(), Behaviour::Hang);
    let server = ModelServer::start(move |_, _| behave())
        .await
        .expect("a server");
    let result = embedder(server.base_url(), hangs.then_some(0.2))
        .embed(&texts(), SOON)
        .await;
    assert_eq!(server.seen().len(), 1, "one call is one request");
    result
}

#[tokio::test]
async fn vectors_come_in_the_order_of_the_texts_and_exactly_what_was_shown_is_sent() {
    let server = ModelServer::start(|_, _| Behaviour::Say("[[1.5, 0], [0, -2]]".to_owned()))
        .await
        .expect("a server");
    let embedder = embedder(server.base_url(), None);
    assert_eq!(embedder.name(), "test:v");
    let shown = embedder.wire(&texts());
    assert!(server.seen().is_empty(), "showing sends nothing");
    // The server sends the last one first.
    let embedded = embedder.embed(&texts(), SOON).await.expect("vectors");
    assert_eq!(embedded.vectors, [[1.5, 0.0], [0.0, -2.0]]);
    let usage = embedded.usage.expect("the server says");
    assert_eq!(
        usage,
        Usage {
            input: 14,
            cost_usd: Some(14.0 * 2.0 / 1e6),
            ..Usage::default()
        }
    );
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.line.as_str(), seen.header("authorization")),
        (
            "POST /v1/embeddings",
            Some(format!("Bearer {KEY}").as_str())
        )
    );
    assert_eq!(
        seen.json(),
        json!({"model": "v", "input": texts(), "encoding_format": "float"})
    );
    assert!(
        shown.ends_with(&seen.body) && shown.contains("Bearer [secret]") && !shown.contains(KEY),
        "{shown}"
    );
}

#[tokio::test]
async fn what_endpoints_write_otherwise_is_read_and_nonsense_is_a_fault() {
    let packed = STANDARD.encode(
        [1.5_f32, 0.0]
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect::<Vec<u8>>(),
    );
    let read = [
        json!({"data": [{"embedding": [1.5, 0.0]}, {"embedding": [0, -2]}]}),
        json!({"data": [{"index": 1, "embedding": [0, -2]}, {"index": 0, "embedding": packed}], "usage": {}}),
    ];
    for body in read {
        let sent = body.to_string();
        let embedded = once(move || Behaviour::json(200, sent.clone()))
            .await
            .unwrap_or_else(|fault| panic!("{body}: {fault}"));
        assert_eq!(
            (embedded.vectors, embedded.usage),
            (vec![vec![1.5, 0.0], vec![0.0, -2.0]], None),
            "{body}"
        );
    }
    let one = |index: usize| json!({"index": index, "embedding": [1, 2]});
    let rows = [
        (json!({"data": [one(0)]}), "1 embeddings came for 2 texts"),
        (
            json!({"data": [one(0), one(0)]}),
            "the index 0 is there twice",
        ),
        (json!({"data": [one(0), one(7)]}), "the index 7"),
        (
            json!({"data": [one(0), {"index": 1, "embedding": "AAA="}]}),
            "no list of numbers",
        ),
        (
            json!({"data": [one(0), {"index": 1, "embedding": ["a"]}]}),
            "no list of embeddings",
        ),
        (
            json!({"data": [one(0), {"index": 1, "embedding": null}]}),
            "no list of embeddings",
        ),
        (json!("<html>Log in</html>"), "no list of embeddings"),
    ];
    for (body, why) in rows {
        let sent = body.to_string();
        let fault = once(move || Behaviour::json(200, sent.clone()))
            .await
            .expect_err("nonsense");
        assert!(
            fault.kind == FaultKind::Server && fault.message.contains(why),
            "{body}: {fault}"
        );
    }
}

#[tokio::test]
async fn refusals_and_silence_are_faults_without_a_secret() {
    type Behave = fn() -> Behaviour;
    let rows: [(Behave, FaultKind, &str); 6] = [
        (
            || Behaviour::Fail(Failure::BadKey),
            FaultKind::Auth,
            "check the key in TEST_KEY",
        ),
        (
            || Behaviour::Fail(Failure::NoModel),
            FaultKind::NotFound,
            "model `v`",
        ),
        (
            || Behaviour::Fail(Failure::RateLimited),
            FaultKind::RateLimited,
            "429",
        ),
        (
            || Behaviour::Fail(Failure::Internal),
            FaultKind::Server,
            "500",
        ),
        (
            || Behaviour::Break {
                kind: "application/json",
                body: b"{\"data\": [".to_vec(),
            },
            FaultKind::Incomplete,
            "broke off",
        ),
        (|| Behaviour::Hang, FaultKind::Timeout, "no byte"),
    ];
    for (behave, kind, why) in rows {
        let fault = once(behave).await.expect_err("it fails");
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(
            fault.message.contains(why) && !fault.message.contains(KEY),
            "{fault}"
        );
    }
}

#[test]
fn only_endpoints_that_speak_it_have_embeddings() {
    let dir = tempfile::tempdir().expect("a directory");
    let key =
        |variable: &str| (variable == "ANTHROPIC_API_KEY").then(|| "sk-ant-0123456789".to_owned());
    let registry = Registry::new(dir.path(), &BTreeMap::new(), &key).expect("a registry");
    assert_eq!(
        registry
            .embedder("ollama:nomic-embed-text")
            .map(|embedder| embedder.name().to_owned()),
        Ok("ollama:nomic-embed-text".to_owned())
    );
    let rows = [
        (
            "openai:text-embedding-3-small",
            FaultKind::Auth,
            "OPENAI_API_KEY",
        ),
        (
            "anthropic:claude",
            FaultKind::BadRequest,
            "has no embeddings",
        ),
        ("ollama", FaultKind::NotFound, "Write ollama:MODEL"),
        ("olama:x", FaultKind::NotFound, "did you mean `ollama`"),
        ("script:x.md", FaultKind::NotFound, "unknown provider"),
    ];
    for (name, kind, why) in rows {
        let fault = registry.embedder(name).map(|_| ()).expect_err(name);
        assert!(
            fault.kind == kind && fault.message.contains(why),
            "{name}: {fault}"
        );
    }
}
