//! Budgets end to end: a debate stops at each cap, says how to go on, and ends as if it had never
//! stopped; estimates come before.

use crate::rebut::{Output, Rebut, recommends, responds};
use rebut_testkit::model_server::{Behaviour, ModelServer, Seen};
use serde_json::Value;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

const ASK: &[&str] = &[
    "decide",
    "Offline support?",
    "-O",
    "A=Online only",
    "-O",
    "B=Full offline",
    "-O",
    "C=Limited offline",
    "--seed",
    "7",
];

/// A split in round 1, after which `risk` is convinced: six calls.
fn split(seen: &Seen) -> Behaviour {
    let is_second = seen.body.contains("The panel did not agree");
    let said = match seen.json()["model"].as_str() {
        Some("risk") => {
            if is_second {
                responds("C", &["J3#1"])
            } else {
                recommends("A")
            }
        }
        Some("value") => {
            if is_second {
                responds("B", &[])
            } else {
                recommends("B")
            }
        }
        _ => {
            if is_second {
                responds("C", &[])
            } else {
                recommends("C")
            }
        }
    };
    Behaviour::Say(said)
}

fn configured(server: &ModelServer) -> Rebut {
    let rebut = Rebut::new();
    let roles = ["risk", "value", "effort"];
    let members = roles
        .map(|role| format!("{{ role = \"{role}\", model = \"mine:{role}\", max_tokens = 200 }}"));
    rebut.trusted_config(&format!(
        "[defaults]\npanel = \"three\"\n[panels.three]\nmembers = [{}]\n[providers.mine]\nbase_url \
         = \"{}\"\n\
             [providers.mine.prices]\n{}",
        members.join(", "),
        server.base_url(),
        roles
            .map(|role| format!(
                "{role} = {{ input = 10.0, cached = 1.0, output = 100.0 \
            }}\n"
            ))
            .concat()
    ));
    rebut
}

/// The words of the command that a stopped debate says goes on.
fn go_on(output: &Output) -> Vec<String> {
    let said = format!("{}{}", output.stdout, output.stderr);
    let line = said
        .lines()
        .find(|line| line.contains("rebut resume "))
        .unwrap_or_else(|| panic!("no way to go on:\n{said}"));
    line.split("rebut ")
        .nth(1)
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

fn end_of(result: &Value) -> (Value, Value, Value) {
    (
        result["outcome"].clone(),
        result["summary"].clone(),
        result["result"].clone(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_debate_stopped_at_a_cap_goes_on_to_the_same_end() {
    let hangs = Arc::new(AtomicBool::new(false));
    let hanging = hangs.clone();
    let server = ModelServer::start(move |_, seen| match hanging.swap(false, Ordering::SeqCst) {
        true => Behaviour::Hang,
        false => split(seen),
    })
    .await
    .expect("a server");
    let rebut = configured(&server);
    let uninterrupted = rebut.json(0, &[ASK, &["--json"]].concat());
    assert_eq!(
        (&uninterrupted["outcome"], server.seen().len()),
        (&Value::from("consensus"), 6)
    );

    let caps = [
        ("--max-calls", "3"),
        ("--max-cost", "0.045"),
        ("--max-tokens", "2500"),
        ("--max-time", "1s"),
        ("--max-calls", "0"),
        ("--max-cost", "0"),
        ("--max-tokens", "0"),
    ];
    for (flag, cap) in caps {
        let is_time = flag == "--max-time";
        hangs.store(is_time, Ordering::SeqCst);
        let before = server.seen().len();
        let stopped = rebut.run(&[ASK, &[flag, cap]].concat());
        assert_eq!(
            stopped.code, 5,
            "{flag}: {}\n{}",
            stopped.stdout, stopped.stderr
        );
        assert!(stopped.stdout.contains("STOPPED  "), "{}", stopped.stdout);
        assert!(
            stopped
                .stderr
                .contains("estimate: 3–6 calls, at most 12 with clarifications, about "),
            "{}",
            stopped.stderr
        );
        // A call that was cut may have cost something; one that was never made has not.
        assert_eq!(
            stopped.stdout.contains("cost n/a"),
            is_time,
            "{flag}: {}",
            stopped.stdout
        );
        let command = go_on(&stopped);
        assert_eq!(
            (command.len(), command[2].as_str()),
            (4, flag),
            "{command:?}"
        );
        assert_eq!(rebut.run(&["show", &command[1]]).code, 0);
        // What is suggested is enough.
        let args: Vec<&str> = command
            .iter()
            .map(String::as_str)
            .chain(["--json"])
            .collect();
        let ended = rebut.json(0, &args);
        assert_eq!(end_of(&ended), end_of(&uninterrupted), "{flag}");
        assert_eq!(
            server.seen().len() - before,
            if is_time { 7 } else { 6 },
            "{flag}: nothing is asked twice but what hung"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn caps_come_from_files_and_flags_and_forks_have_their_own() {
    let server = ModelServer::start(|_, seen| split(seen))
        .await
        .expect("a server");
    let rebut = configured(&server);
    let project = rebut.read("rebut.toml");
    rebut.trusted_config(&format!("{project}[budget]\nmax_calls = 100\n"));
    rebut.user_config("[budget]\nmax_calls = 3\nmax_time = \"10m\"\n");
    let stopped = rebut.run(ASK);
    assert_eq!(stopped.code, 5, "the smaller counts: {}", stopped.stderr);
    assert!(
        stopped.stderr.contains(
            "max_calls: your configuration and the project's both set it; the smaller counts"
        ),
        "{}",
        stopped.stderr
    );
    assert_eq!(rebut.run(&[ASK, &["--exit-zero"]].concat()).code, 0);
    assert_eq!(
        rebut.run(&[ASK, &["--max-calls", "50"]].concat()).code,
        0,
        "a flag outranks files"
    );
    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(
        rebut
            .run(&["fork", &id, "--at", "challenge 2", "--max-calls", "1"])
            .code,
        5
    );
    assert_eq!(
        rebut.run(&["fork", &id, "--at", "challenge 2"]).code,
        0,
        "3 calls are enough for one round"
    );
    assert_eq!(
        rebut.json(0, &["config", "show", "--json"])["budget"]["max_calls"],
        3
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_price_is_refused_under_a_cap_on_money_and_never_estimated_as_nothing() {
    let server = ModelServer::start(|_, seen| split(seen))
        .await
        .expect("a server");
    let rebut = configured(&server);
    let other = &[ASK, &["-m", "value=mine:other"]].concat()[..];
    for flags in [
        &["--max-cost", "1"][..],
        &["--max-cost", "1", "--dry-run"],
        &["--max-cost", "1", "--estimate"],
    ] {
        let refused = rebut.run(&[other, flags].concat());
        assert_eq!(refused.code, 2, "{flags:?}: {}", refused.stderr);
        assert!(
            refused
                .stderr
                .contains("nobody knows the price of mine:other"),
            "{}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("[providers.NAME.prices]")
                && refused.stderr.contains("--allow-unknown-price"),
            "{}",
            refused.stderr
        );
    }
    let rows: [(&[&str], &[&str], &str); 3] = [
        (ASK, &[], "$"),
        (
            other,
            &[],
            "cost n/a (no price for mine:other; the others $",
        ),
        (
            ASK,
            &[
                "--rounds",
                "1",
                "-m",
                "script:none.md",
                "-m",
                "risk=rehearsal",
                "-m",
                "value=rehearsal",
                "-m",
                "effort=rehearsal",
            ],
            "$0",
        ),
    ];
    for (ask, flags, says) in rows {
        let text = rebut.expect(0, &[ask, flags, &["--estimate"]].concat());
        assert!(
            text.contains(" calls, at most ") && text.contains(says) && text.lines().count() == 1,
            "{text}"
        );
        let dry = rebut.expect(0, &[ask, flags, &["--dry-run"]].concat());
        assert!(dry.ends_with(&format!("estimate: {text}")), "{dry}");
    }
    let estimate = rebut.json(0, &[ASK, &["--estimate", "--json"]].concat());
    let cost = |end: &str| estimate["cost_usd"][end].as_f64().expect("a number");
    assert_eq!(
        (
            &estimate["calls"]["low"],
            &estimate["calls"]["high"],
            &estimate["most_calls"]
        ),
        (&3.into(), &6.into(), &12.into())
    );
    assert!(
        0.0 < cost("low") && cost("low") < cost("high"),
        "{estimate}"
    );
    assert_eq!(
        rebut.json(0, &[other, &["--estimate", "--json"]].concat())["cost_usd"],
        Value::Null
    );
    assert_eq!(
        (
            server.seen().len(),
            rebut.expect(0, &["ls", "--json"]).trim()
        ),
        (0, "[]"),
        "nobody was asked"
    );

    let allowed = rebut.run(&[other, &["--max-cost", "1", "--allow-unknown-price"]].concat());
    assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    assert!(allowed.stdout.contains("cost n/a"), "{}", allowed.stdout);
    for (flags, says) in [
        (&["--max-time", "soon"][..], "write 90s, 10m or 1h30m"),
        (&["--max-cost", "nan"], "must be a number of dollars"),
        (
            &["--set", "budget.max_time=never"],
            "write 90s, 10m or 1h30m",
        ),
    ] {
        let refused = rebut.run(&[ASK, flags].concat());
        assert!(
            refused.code == 2 && refused.stderr.contains(says),
            "{flags:?}: {}",
            refused.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_cannot_let_unknown_prices_count_nothing() {
    let server = ModelServer::start(|_, _| Behaviour::Say(recommends("A")))
        .await
        .expect("a server");
    let rebut = Rebut::new();
    let own = format!(
        "[providers.mine]\nbase_url = \"{}\"\n[hook]\nenabled = true\nmodel = \"mine:unpriced\"\n",
        server.base_url()
    );
    rebut.user_config(&own);
    let members = ["risk", "value", "effort"]
        .map(|role| format!("{{ role = \"{role}\", model = \"mine:unpriced\" }}"));
    let panel = format!(
        "[defaults]\npanel = \"three\"\n[panels.three]\nmembers = [{}]\n",
        members.join(", ")
    );
    let project = format!(
        "{panel}[budget]\nallow_unknown_price = true\n[providers.other]\nbase_url = \"{}\"\n",
        server.base_url()
    );
    let refused = || {
        for args in [
            &["--max-cost", "0.01"][..],
            &["--max-cost", "0.01", "-m", "mine:unpriced"],
        ] {
            let output = rebut.run(&[ASK, args].concat());
            assert!(
                output.code == 2 && output.stderr.contains("nobody knows the price"),
                "{args:?}: {output:?}"
            );
            assert!(
                output
                    .stderr
                    .contains("never taken from a project: budget.allow_unknown_price"),
                "{args:?}: {output:?}"
            );
        }
        let called = rebut.shell(
            "echo '{\"prompt\": \"Deploy the app.\"}' | rebut hook claude user-prompt-submit",
        );
        assert!(
            called.code == 1 && called.stderr.contains("nobody knows the price"),
            "{called:?}"
        );
        assert_eq!(server.seen().len(), 0, "nobody was asked");
    };
    rebut.write("rebut.toml", &project);
    refused();
    // Nor does trust change that.
    rebut.trusted_config(&project);
    refused();
    rebut.user_config(&format!("{own}[budget]\nallow_unknown_price = true\n"));
    rebut.expect(0, &[ASK, &["--max-cost", "0.01"]].concat());
    assert_eq!(server.seen().len(), 3, "the user's own word counts");
}
