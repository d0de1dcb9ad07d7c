//! Names, built-in endpoints and what a configuration changes.

use crate::asking::Asking;
use rebut_engine::model::{Fault, FaultKind, Models};
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
    let (registry, _dir) = registry("[bare]\nbase_url = 'nonsense'\n[here]\nbase_url = 'http://user:pw@127.0.0.1/v1'").expect("a registry");
    let registry = registry.with("rehearsal", Arc::new(|rest| Err(Fault::new(FaultKind::NotSent, format!("rehearsal({rest})")))));
    let rows = [
        ("opnai:gpt-5", FaultKind::NotFound, "did you mean `openai`? Known: anthropic, bare, deepseek, gemini, groq, here, "),
        ("openai:gpt-5", FaultKind::Auth, "set the variable OPENAI_API_KEY"),
        ("groq", FaultKind::NotFound, "Write groq:MODEL"),
        ("bare:x", FaultKind::BadRequest, "base_url `nonsense` is no URL"),
        ("here:x", FaultKind::BadRequest, "no user, password or query"),
        ("script:none.md", FaultKind::Unavailable, "script none.md: cannot be read"),
        ("script:bad.md", FaultKind::Unavailable, "script bad.md: line 1: no reply"),
        ("rehearsal", FaultKind::NotSent, "rehearsal()"),
        ("rehearsal:x:y", FaultKind::NotSent, "rehearsal(x:y)"),
    ];
    for (name, kind, message) in rows {
        let Err(fault) = registry.open(name) else { panic!("{name} opened") };
        assert_eq!(fault.kind, kind, "{name}: {fault}");
        assert!(fault.message.contains(message), "{name}: {fault}");
        assert!(!fault.message.contains("pw@"), "{fault}");
    }
    for name in ["groq:llama", "ollama:qwen3:8b", "lmstudio:x", "llamacpp:x", "vllm:org/x", "script:ok.md"] {
        assert!(registry.open(name).is_ok(), "{name}");
    }
    let ready: Vec<_> = registry.endpoints().filter(|endpoint| endpoint.is_ready).map(|endpoint| endpoint.name).collect();
    assert_eq!(ready, ["bare", "groq", "here", "llamacpp", "lmstudio", "ollama", "vllm"]);
}

#[tokio::test]
async fn one_script_is_shared_by_everybody() {
    let (registry, _dir) = registry("").expect("a registry");
    let asking = Asking::new();
    for _ in 0..2 {
        let model = registry.open("script:ok.md").expect("a script");
        assert_eq!(asking.ask(&*model).await.expect("an answer").text, "hello");
    }
    assert_eq!(registry.script("ok.md").expect("the same script").calls().len(), 2);
}

#[tokio::test]
async fn a_configuration_changes_only_what_it_names() {
    let server = ModelServer::start(|_, _| Behaviour::Say("{}".to_owned())).await.expect("a server");
    let config = format!(
        "[groq]\nbase_url = '{}/'\nheaders = {{ x-team = 'blue' }}\n[groq.prices]\nm = {{ input = 10, output = 20 }}",
        server.base_url()
    );
    let model = registry(&config).expect("a registry").0.open("groq:m").expect("a model");
    let answer = Asking::new().ask(&*model).await.expect("an answer");
    assert_eq!(answer.usage.and_then(|usage| usage.cost_usd), Some((100.0 * 10.0 + 20.0 * 20.0) / 1e6));
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /v1/chat/completions");
    assert_eq!((seen.header("authorization"), seen.header("x-team")), (Some("Bearer gsk-0123456789"), Some("blue")));
    assert_eq!(seen.json()["response_format"]["type"], "json_object", "still as built in");

    assert!(registry("[new]\nkey_env = 'X'").is_err_and(|fault| fault.message.contains("add one under [providers.new]")));
    let price = registry("[groq.prices]\nm = { input = -1, output = 1 }");
    assert!(price.is_err_and(|fault| fault.message.contains("the price of m")));
    let unknown = toml::from_str::<BTreeMap<String, ProviderData>>("[groq]\nbase_ulr = 'x'").expect_err("a slip");
    assert!(unknown.to_string().contains("base_url"), "{unknown}");
}

#[test]
fn built_in_endpoints_are_complete() {
    let names: Vec<String> = built_in().into_keys().collect();
    assert_eq!(
        names,
        [
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
        ]
    );
    for (name, data) in built_in() {
        let url = data.base_url.expect(&name);
        assert_eq!(data.key_env.is_none(), url.starts_with("http://127.0.0.1:"), "{name}: a key goes over TLS only");
        assert!(data.key_env.is_none() || url.starts_with("https://"), "{name}");
    }
}
