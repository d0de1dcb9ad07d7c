//! Secrets planted wherever one could stand, given back in every form by whoever got one: they are
//! found nowhere.

use crate::rebut::{Rebut, claude_like, claude_result, recommends};
use rebut_testkit::model_server::{Behaviour, ModelServer, Seen};

/// Sent as a key, from the environment.
const KEY: &str = r#"sk-canary/"42+Zq3Xv9LmT1"#;
/// Sent as a header, from the user's configuration.
const HEADER: &str = "hdr-canary/77+Bk2Wn5";
/// Given to an agent program, from the environment and from the configuration.
const TOKEN: &str = "tok-canary/13+Yd8Rf4";
const SETTING: &str = "set-canary/58+Mc6Hs9";
/// Given to a program of the user's own, under a name that tells nothing.
const PASSED: &str = "own-canary/64+Jt7Qw2";

const ASK: &[&str] = &[
    "decide",
    "Offline support?",
    "-O",
    "A=Online only",
    "-O",
    "B=Full offline",
    "--seed",
    "7",
];

/// A secret as it is, in Base64 alone and after a user's name, URL-escaped and JSON-escaped as far
/// as is needed, and all of it.
fn forms(secret: &str) -> [String; 7] {
    let escaped: String = secret
        .bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || byte == b'-' {
                (byte as char).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect();
    let json = serde_json::to_string(secret).expect("a string");
    let all_escaped = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let json = json.trim_matches('"').to_owned();
    [
        secret.to_owned(),
        base64(secret),
        base64(&format!("u:{secret}")),
        escaped,
        json,
        all_escaped,
        in_numbers(secret),
    ]
}

/// JSON-escaped by numbers, every character.
fn in_numbers(secret: &str) -> String {
    secret
        .chars()
        .map(|character| format!("\\u{:04x}", u32::from(character)))
        .collect()
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = text.as_bytes().chunks(3).map(|group| {
        let bits = group
            .iter()
            .chain([&0, &0])
            .take(3)
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let digits: String = [18, 12, 6, 0]
            .map(|shift| DIGITS[(bits >> shift & 63) as usize] as char)
            .iter()
            .take(group.len() + 1)
            .collect();
        format!("{digits:=<4}")
    });
    groups.collect()
}

/// What must not be found: each form without its ends, which in Base64 may depend on what stands
/// around it.
fn needles() -> Vec<String> {
    let all = [KEY, HEADER, TOKEN, SETTING, PASSED].map(forms).concat();
    let inner = all
        .iter()
        .map(|form| form.trim_end_matches('='))
        .map(|form| form.get(3..form.len() - 2).unwrap_or_default().to_owned());
    inner.filter(|form| form.len() > 8).collect()
}

/// Gives back what it got: to one judge in an error, to the others in an answer.
fn echo(seen: &Seen) -> Behaviour {
    let key = seen
        .header("authorization")
        .unwrap_or_default()
        .trim_start_matches("Bearer ")
        .to_owned();
    let header = seen.header("x-team-token").unwrap_or_default().to_owned();
    let all = [forms(&key), forms(&header)].concat().join(" ");
    if seen.body.contains("sceptical") || seen.json()["model"] == "refused" {
        return Behaviour::json(
            401,
            serde_json::json!({"error": {"message": format!("bad key {all}")}}).to_string(),
        );
    }
    let mut answer: serde_json::Value = serde_json::from_str(&recommends("B")).expect("JSON");
    answer["summary"] = format!("B, says {all}, and HERE").into();
    // Read as JSON, that is the key itself.
    Behaviour::Say(answer.to_string().replace("HERE", &in_numbers(&key)))
}

fn planted(server: &ModelServer) -> Rebut {
    let mut rebut = Rebut::new();
    let base = server.base_url();
    rebut.user_config(&format!(
        "[providers.mine]\nbase_url = \"{base}\"\nkey_env = \"MY_KEY\"\nauto_model = \
         \"small\"\nheaders = {{ x-team-token = '{HEADER}' }}\n\
         [providers.odd]\nbase_url = \"{base}\"\nkey_env = \"MY_KEY\"\nauto_model = \
         \"refused\"\n[clis.claude.env]\nTOOL_TOKEN = '{SETTING}'\n\
         [clis.own]\nargs = []\npass = [\"MYTOK\"]\n"
    ));
    rebut.program(
        "own",
        &format!(
            "echo \"no entry with $MYTOK {}\" >&2\nexit 3",
            forms(PASSED).join(" ")
        ),
    );
    // Says everything it knows: first as an answer, and when asked to fail, on standard error.
    let mut result = claude_result(&recommends("B"));
    result["structured_output"]["summary"] =
        [forms(TOKEN), forms(SETTING)].concat().join(" ").into();
    rebut.program("claude", &claude_like("/bin/cat > /dev/null", &result));
    let words = forms(TOKEN).map(|form| form.replace('\'', "")).join(" ");
    let fails = format!(
        "echo \"fatal: $CLAUDE_CODE_OAUTH_TOKEN $TOOL_TOKEN\" >&2\necho '{words}' >&2\nexit 3"
    );
    rebut.program(
        "codex",
        &format!("export CLAUDE_CODE_OAUTH_TOKEN='{TOKEN}' TOOL_TOKEN='{SETTING}'\n{fails}"),
    );
    for (name, value) in [
        ("MY_KEY", KEY),
        ("CLAUDE_CODE_OAUTH_TOKEN", TOKEN),
        ("CODEX_API_KEY", TOKEN),
        ("MYTOK", PASSED),
    ] {
        rebut.set(name, value);
    }
    rebut
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_found_on_disk_or_in_anything_that_is_printed() {
    let server = ModelServer::start(|_, seen| echo(seen))
        .await
        .expect("a server");
    let rebut = planted(&server);
    let needles = needles();
    let mut blanked = 0;
    let mut check = |args: &[&str]| {
        let output = rebut.run(args);
        for needle in &needles {
            assert!(
                !output.stdout.contains(needle.as_str()),
                "{args:?} prints {needle}:\n{}",
                output.stdout
            );
            assert!(
                !output.stderr.contains(needle.as_str()),
                "{args:?} says {needle}:\n{}",
                output.stderr
            );
        }
        blanked += output.stdout.matches("[secret]").count();
        output.code
    };
    let panel = [
        "--judges",
        "risk,value,effort,neutral",
        "-m",
        "mine:small",
        "-m",
        "effort=cli:claude",
        "-m",
        "neutral=cli:codex",
    ];
    let files = [
        "-o",
        "a.md",
        "-o",
        "a.json",
        "-o",
        "a.yaml",
        "-o",
        "a.ndjson",
        "-o",
        "a.adr.md",
        "--feature-dir",
        "feature",
    ];
    // Two of four are missing, so that two answers are no majority of the panel: asked with a lower
    // bar.
    let lenient = ["--set", "decide.min_judges=2"];
    for flags in [&files[..], &["--json"], &["--stream-json"]] {
        assert_eq!(
            check(&[ASK, &panel, &lenient, flags].concat()),
            0,
            "{flags:?}"
        );
    }
    for args in [
        &["ls", "--json"][..],
        &["show", "last"],
        &["show", "last", "--transcript"],
        &["show", "last", "--events"],
        &["show", "last", "--json"],
        &["watch", "last"],
        &["replay", "last"],
        &["audit", "verify", "last", "--json"],
        &["export", "last", "-f", "markdown"],
        &["export", "last", "-f", "json"],
        &["export", "last", "-f", "yaml"],
        &["export", "last", "-f", "adr"],
        &["export", "last", "-f", "journal"],
        &["doctor", "--fix"],
        &["doctor", "--deep"],
        &["doctor", "--deep", "--json"],
        &["models"],
        &["models", "mine", "--json"],
        &["config", "show"],
        &["config", "show", "--json"],
        &[ASK, &panel, &["--dry-run"]].concat(),
        &[ASK, &panel, &["--estimate", "--json"]].concat(),
        &[ASK, &["-m", "odd:refused"]].concat(),
        &[ASK, &["-m", "cli:own", "--timeout", "2"]].concat(),
        &["triage", "Offline or online?", "-m", "mine:small"],
        &["fork", "last", "--at", "end", "--json"],
    ] {
        let code = check(args);
        assert!(code != 2, "{args:?} is a command: {code}");
    }
    assert!(blanked > 50, "only {blanked} secrets came back at all");
    for needle in &needles {
        let found = rebut.holding(needle);
        let planted = |file: &std::path::PathBuf| {
            file.ends_with(".config/rebut/config.toml")
                || file.parent().is_some_and(|dir| dir.ends_with("bin"))
        };
        assert!(found.iter().all(planted), "{needle} is in {found:?}");
    }
}
