//! Names, built-in endpoints and what a configuration changes.

use crate::asking::Asking;
use rebut_engine::model::{Allowance, Fault, FaultKind, Models, Price};
use rebut_models::registry::{ProviderData, Registry, built_in};
use rebut_testkit::model_server::{Behaviour, ModelServer};
use std::{collections::BTreeMap, fs, sync::Arc};
use tempfile::TempDir;

/// A registry, and the directory of its scripts for as long as they are needed.
fn registry(config: &str) -> Result<(Registry, TempDir), Fault> {
    let providers: BTreeMap<String, ProviderData> = toml::from_str(config).expect("valid TOML");
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("ok.md"), "## *\n```\nhello\n```\n").expect("a file");
    fs::write(dir.path().join("bad.md"), "## *\n").expect("a file");
    let key = |variable: &str| (variable == "GROQ_API_KEY").then(|| "gsk-0123456789".to_owned());
    Registry::new(dir.path(), &providers, &key).map(|registry| (registry, dir))
}

#[test]
fn names_lead_to_models_or_to_help() {
    let (registry, _dir) =
        registry("[bare]\nbase_url = 'nonsense'\n[here]\nbase_url = 'http://user:pw@127.0.0.1/v1'")
            .expect("a registry");
    let registry = registry.with(
        "rehearsal",
        Arc::new(|rest| Err(Fault::new(FaultKind::NotSent, format!("rehearsal({rest})")))),
    );
    let rows = [
        (
            "opnai:gpt-5",
            FaultKind::NotFound,
            "did you mean `openai`? Known: anthropic, bare, deepseek, gemini, groq, here, ",
        ),
        (
            "openai:gpt-5",
            FaultKind::Auth,
            "set the variable OPENAI_API_KEY",
        ),
        ("groq", FaultKind::NotFound, "Write groq:MODEL"),
        (
            "bare:x",
            FaultKind::BadRequest,
            "base_url `nonsense` is no URL",
        ),
        (
            "here:x",
            FaultKind::BadRequest,
            "may hold no user or password",
        ),
        (
            "script:none.md",
            FaultKind::NotFound,
            "script none.md: cannot be read",
        ),
        (
            "script:bad.md",
            FaultKind::BadRequest,
            "script bad.md: line 1: no reply",
        ),
        ("rehearsal", FaultKind::NotSent, "rehearsal()"),
        ("rehearsal:x:y", FaultKind::NotSent, "rehearsal(x:y)"),
    ];
    for (name, kind, message) in rows {
        let Err(fault) = registry.open(name) else {
            panic!("{name} opened")
        };
        assert_eq!(fault.kind, kind, "{name}: {fault}");
        assert!(fault.message.contains(message), "{name}: {fault}");
        assert!(!fault.message.contains("pw@"), "{fault}");
    }
    for name in [
        "groq:llama",
        "ollama:qwen3:8b",
        "lmstudio:x",
        "llamacpp:x",
        "vllm:org/x",
        "script:ok.md",
    ] {
        assert!(registry.open(name).is_ok(), "{name}");
    }
    let ready: Vec<_> = registry
        .endpoints()
        .filter(|endpoint| endpoint.is_ready)
        .map(|endpoint| endpoint.name)
        .collect();
    assert_eq!(
        ready,
        [
            "bare", "groq", "here", "llamacpp", "lmstudio", "ollama", "vllm"
        ]
    );
}

#[tokio::test]
async fn one_script_is_shared_by_everybody() {
    let (registry, _dir) = registry("").expect("a registry");
    let asking = Asking::new();
    for _ in 0..2 {
        let model = registry.open("script:ok.md").expect("a script");
        assert_eq!(asking.ask(&*model).await.expect("an answer").text, "hello");
    }
    assert_eq!(
        registry
            .script("ok.md")
            .expect("the same script")
            .calls()
            .len(),
        2
    );
}

#[tokio::test]
async fn a_configuration_changes_only_what_it_names() {
    let server = ModelServer::start(|_, _| Behaviour::Say("{}".to_owned()))
        .await
        .expect("a server");
    let config = format!(
        "[groq]\nbase_url = '{}/'\nheaders = {{ x-team = 'blue' }}\n[groq.prices]\nm = {{ input = \
         10, output = 20 }}",
        server.base_url()
    );
    let model = registry(&config)
        .expect("a registry")
        .0
        .open("groq:m")
        .expect("a model");
    let answer = Asking::new().ask(&*model).await.expect("an answer");
    assert_eq!(
        answer.usage.and_then(|usage| usage.cost_usd),
        Some((100.0 * 10.0 + 20.0 * 20.0) / 1e6)
    );
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /v1/chat/completions");
    assert_eq!(
        (seen.header("authorization"), seen.header("x-team")),
        (Some("Bearer gsk-0123456789"), Some("blue"))
    );
    assert_eq!(
        seen.json()["response_format"]["type"],
        "json_object",
        "still as built in"
    );

    assert!(
        registry("[new]\nkey_env = 'X'")
            .is_err_and(|fault| fault.message.contains("add one under [providers.new]"))
    );
    let price = registry("[groq.prices]\nm = { input = -1, output = 1 }");
    assert!(price.is_err_and(|fault| fault.message.contains("the price of m")));
    let unknown = toml::from_str::<BTreeMap<String, ProviderData>>("[groq]\nbase_ulr = 'x'")
        .expect_err("a slip");
    assert!(unknown.to_string().contains("base_url"), "{unknown}");
}

#[test]
fn built_in_endpoints_are_complete() {
    let names: Vec<String> = built_in().into_keys().collect();
    let known = [
        "anthropic",
        "deepseek",
        "gemini",
        "groq",
        "llamacpp",
        "lmstudio",
        "mistral",
        "ollama",
        "openai",
        "openrouter",
        "together",
        "vllm",
        "xai",
    ];
    assert_eq!(names, known);
    for (name, data) in built_in() {
        let url = data.base_url.expect(&name);
        let is_here = url.starts_with("http://127.0.0.1:");
        assert_eq!(
            data.key_env.is_none(),
            is_here,
            "{name}: a key goes over TLS only"
        );
        assert!(is_here || url.starts_with("https://"), "{name}");
        assert_eq!(data.auto_model.is_none(), is_here, "{name}");
        assert_eq!(
            data.price,
            is_here.then_some(Price::FREE),
            "{name}: only what runs here is free"
        );
        assert_eq!(
            data.priced_on.is_some(),
            !data.prices.is_empty(),
            "{name}: prices have a day"
        );
        let day = data.priced_on.map(|day| day.parse::<jiff::civil::Date>());
        assert!(
            day.is_none_or(|day| day.is_ok()),
            "{name}: the day is a date"
        );
    }
    let all = |_: &str| Some("key-0123456789".to_owned());
    Registry::new(".", &BTreeMap::new(), &all).expect("every built-in endpoint can be used");
}

#[test]
fn models_have_their_own_wire_price_and_allowance() {
    let config = "[openai]\nallowance = { concurrency = 2, tokens_per_minute = 1000 \
        }\n[openai.models]\n'gpt-5-pro' = { temperature = false }";
    let providers: BTreeMap<String, ProviderData> = toml::from_str(config).expect("valid TOML");
    let registry =
        Registry::new(".", &providers, &|_| Some("key-0123456789".to_owned())).expect("a registry");
    let mut asking = Asking::new();
    asking.agent.temperature = Some(0.5);
    let rows = [
        (
            "openai:gpt-5-mini",
            "POST https://api.openai.com/v1/chat/completions\n",
            Some(0.25),
            false,
        ),
        (
            "openai:gpt-5-mini-2025-08-07",
            "POST https://api.openai.com/v1/chat/completions\n",
            Some(0.25),
            false,
        ),
        (
            "openai:gpt-5-pro-2025-10-06",
            "POST https://api.openai.com/v1/responses\n",
            None,
            false,
        ),
        (
            "anthropic:claude-haiku-4-5-20251001",
            "POST https://api.anthropic.com/v1/messages\n",
            Some(1.0),
            true,
        ),
        (
            "gemini:models/gemini-2.5-pro",
            "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent\n",
            None,
            true,
        ),
        (
            "gemini:gemini-2.5-pro",
            "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent\n",
            Some(1.25),
            true,
        ),
        (
            "ollama:qwen3:8b",
            "POST http://127.0.0.1:11434/v1/chat/completions\n",
            Some(0.0),
            true,
        ),
    ];
    for (name, line, price, takes_temperature) in rows {
        let model = registry.open(name).expect(name);
        let wire = model.wire(&asking.request("t", 1));
        assert!(wire.starts_with(line), "{name}: {wire}");
        assert!(!wire.contains("key-0123456789"), "{name}: {wire}");
        assert_eq!(
            wire.contains("\"temperature\":0.5"),
            takes_temperature,
            "{name}: {wire}"
        );
        assert_eq!(model.price().map(|price| price.input), price, "{name}");
        let allowance = Allowance {
            concurrency: Some(2),
            requests_per_minute: None,
            tokens_per_minute: Some(1000),
        };
        assert_eq!(
            model.allowance(),
            if name.starts_with("openai:") {
                allowance
            } else {
                Allowance::default()
            },
            "{name}"
        );
    }
    for (config, complaint) in [
        (
            "[openai]\ntimeouts = { idle = 0 }",
            "timeouts must be seconds",
        ),
        (
            "[openai]\ntimeouts = { connect = 1e300 }",
            "timeouts must be seconds",
        ),
        (
            "[openai]\nallowance = { concurrency = 0 }",
            "would wait for ever",
        ),
        (
            "[openai]\nprice = { input = -1, output = 1 }",
            "the price of its models",
        ),
    ] {
        assert!(
            self::registry(config).is_err_and(|fault| fault.message.contains(complaint)),
            "{config}"
        );
    }
}

#[tokio::test]
async fn a_temperature_goes_to_models_that_take_one_and_to_no_others() {
    let server = ModelServer::start(|_, _| Behaviour::Say("{}".to_owned()))
        .await
        .expect("a server");
    let data = |_: &&str| ProviderData {
        base_url: Some(server.base_url()),
        ..ProviderData::default()
    };
    let providers = ["openai", "anthropic"]
        .iter()
        .map(|name| ((*name).to_owned(), data(name)))
        .collect();
    let registry =
        Registry::new(".", &providers, &|_| Some("key-0123456789".to_owned())).expect("a registry");
    let mut asking = Asking::new();
    asking.agent.temperature = Some(0.3);
    let takers = [
        "openai:gpt-4o-mini",
        "openai:gpt-4.1",
        "openai:gpt-5-chat-latest",
        "anthropic:claude-sonnet-4-5-20250929",
    ];
    let refusers = [
        "openai:gpt-5-mini",
        "openai:o4-mini",
        "openai:o1-pro",
        "openai:gpt-5-pro",
        "openai:gpt-5.4",
        "anthropic:claude-opus-4-7",
    ];
    for (name, takes) in takers
        .map(|name| (name, true))
        .into_iter()
        .chain(refusers.map(|name| (name, false)))
    {
        let asked = server.seen().len();
        asking
            .ask(&*registry.open(name).expect(name))
            .await
            .unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let [seen] = &server.seen()[asked..] else {
            panic!("{name}: one request")
        };
        assert_eq!(
            seen.json().get("temperature").is_some(),
            takes,
            "{name}: {}",
            seen.body
        );
    }
}

#[tokio::test]
async fn a_provider_lists_its_models_and_one_is_probed_for_real() {
    for (wire, line) in [
        ("chat", "GET /v1/models"),
        ("responses", "GET /v1/models"),
        ("anthropic", "GET /v1/models?limit=1000"),
        ("gemini", "GET /v1/models?pageSize=1000"),
    ] {
        let server = ModelServer::start(|_, seen| {
            match seen.body.contains("\"odd\"") || seen.line.contains("/odd") {
                true => Behaviour::Say("Certainly!".to_owned()),
                false => Behaviour::Say("{\"ready\": true}".to_owned()),
            }
        })
        .await
        .expect("a server");
        let config = format!(
            "[mine]\nwire = '{wire}'\nbase_url = '{}'\nkey_env = 'GROQ_API_KEY'",
            server.base_url()
        );
        let (registry, _dir) = registry(&config).expect("a registry");
        assert_eq!(
            registry.list_models("mine").await.expect(wire),
            ["m", "other"]
        );
        assert_eq!(server.seen()[0].line, line);

        let answer = registry.probe("mine:m").await.expect(wire);
        assert_eq!(answer.usage.map(|usage| usage.output), Some(20));
        assert!(
            server.seen()[1].body.contains("\"ready\""),
            "the schema is really asked for"
        );
        let odd = registry.probe("mine:odd").await.expect_err("prose");
        assert_eq!(odd.kind, FaultKind::InvalidReply, "{odd}");
        assert!(odd.usage.is_some(), "it was paid for");
    }
    let (registry, _dir) = registry("").expect("a registry");
    for (name, kind) in [("openai", FaultKind::Auth), ("opnai", FaultKind::NotFound)] {
        assert_eq!(registry.list_models(name).await.expect_err(name).kind, kind);
    }
}
