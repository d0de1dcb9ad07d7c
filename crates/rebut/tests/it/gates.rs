//! Gates and limits of the real binary: what waits for approval at a server stays so, and no
//! request asks for more than is allowed.

use crate::{
    rebut::{Rebut, recommends, script},
    served::Served,
};
use serde_json::{Value, json};

/// A debate that ends at once.
fn request(limits: &Value) -> Value {
    let judges =
        ["risk", "value", "effort"].map(|role| json!({"role": role, "model": "script:debate.md"}));
    json!({
        "format": "decide", "limits": limits, "config": {"max_rounds": 1},
        "input": {"question": "Offline support?", "options": [{"id": "A", "label": "Online \
            only"}, {"id": "B", "label": "Full offline"}]},
        "agents": judges,
    })
}

#[test]
fn what_waits_for_approval_at_a_server_goes_on_waiting() {
    let rebut = Rebut::new();
    rebut.user_config("[budget]\nmax_time = \"10m\"\n");
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let served = Served::start(&rebut, &["--allow-scripts"]);
    let id = served.begin(&request(&json!({"approval_seconds": 600, "seconds": 1200})));
    served.follow(&id, |event| event["type"] == "gate.opened");
    let at = |verb: &str| format!("/v1/debates/{id}/{verb}");
    assert_eq!(
        served.ask("GET", &format!("/v1/debates/{id}"), None).json()["limits"]["debate_seconds"],
        600,
        "the operator's is the smaller"
    );
    let shown = rebut.expect(0, &["show", &id]);
    assert!(
        shown.contains("what is to be approved:")
            && shown.contains("\"recommended_option\": \"A\""),
        "{shown}"
    );
    assert_eq!(served.ask("POST", &at("pause"), None).status, 202);
    served.follow(&id, |event| event["type"] == "debate.paused");
    let paused = rebut.run(&["show", &id]).stderr;
    assert!(
        paused.contains("it is paused: what is decided is kept")
            && !paused.contains("its process is gone"),
        "{paused}"
    );
    let rows = [
        (json!({"approval_seconds": 0}), 422),
        (json!({"approval_seconds": 60}), 422),
        (json!({"approval_seconds": 99_999_999_999_u64}), 422),
        (json!({"seconds": 0}), 422),
        (json!({"seconds": u64::MAX}), 422),
        (json!({"approval_seconds": 900}), 202),
    ];
    for (limits, status) in rows {
        let answer = served.ask("POST", &at("resume"), Some(&json!({"limits": limits})));
        assert_eq!(answer.status, status, "{limits}: {answer:?}");
        let forked = json!({"at": "end", "limits": limits});
        let is_less = limits["approval_seconds"]
            .as_u64()
            .is_some_and(|seconds| (1..600).contains(&seconds));
        if status == 422 && !is_less {
            assert_eq!(
                served.ask("POST", &at("fork"), Some(&forked)).status,
                422,
                "{forked}"
            );
            assert_eq!(
                served
                    .ask("POST", "/v1/debates", Some(&request(&limits)))
                    .status
                    == 422,
                limits != json!({"approval_seconds": 0})
            );
        }
    }
    served.follow(&id, |event| {
        event["type"] == "gate.opened" && event["data"]["seconds"] == 900
    });
    rebut.expect(0, &["reject", &id, "--reason", "no"]);
    served.follow(&id, |event| event["type"] == "debate.completed");
    let late = rebut.run(&["approve", &id]);
    assert!(
        late.code == 2
            && late
                .stderr
                .contains("waits at no gate; it has already ended: rejected"),
        "{}",
        late.stderr
    );
    let replayed = rebut.run(&["replay", &id]);
    assert!(
        replayed.code == 0 && !replayed.stderr.contains("rules changed"),
        "{}",
        replayed.stderr
    );
    let forked = served
        .ask("POST", &at("fork"), Some(&json!({"at": "end"})))
        .json()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    served.follow(&forked, |event| event["type"] == "gate.opened");
}

#[test]
fn the_gate_of_a_paused_debate_closes_by_itself() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let served = Served::start(&rebut, &["--allow-scripts"]);
    // However slow this machine is, one of them is paused before its time is over.
    let id = (1..20).map(|power| 1_u64 << power).find_map(|seconds| {
        let id = served.begin(&request(&json!({"approval_seconds": seconds})));
        served.follow(&id, |event| event["type"] == "gate.opened");
        served.ask("POST", &format!("/v1/debates/{id}/pause"), None);
        let event = served.follow(&id, |event| {
            ["debate.paused", "debate.completed"]
                .iter()
                .any(|kind| event["type"] == *kind)
        });
        (event["type"] == "debate.paused").then_some(id)
    });
    let id = id.expect("a debate that is paused in time");
    let decided = served.follow(&id, |event| event["type"] == "gate.decided");
    assert_eq!(
        decided["data"],
        json!({"gate": "result", "approved": false, "by": "timeout", "reason": "nobody decided in \
            time"})
    );
    let late = served.ask("POST", &format!("/v1/debates/{id}/approve"), None);
    assert_eq!(
        (late.status, &late.json()["decision"]["by"]),
        (409, &json!("timeout")),
        "{late:?}"
    );
}

#[test]
fn times_and_names_that_mean_something_else_are_refused() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.write("debate.md", &script(&[("*", &recommends("A"))]));
    let rows: [(&[&str], &str); 6] = [
        (
            &["keys", "add", "timeout", "--owner", "anna"],
            "cannot be a key's name",
        ),
        (
            &["keys", "add", "Auto", "--owner", "anna"],
            "cannot be a key's name",
        ),
        (
            &[
                "decide",
                "Offline?",
                "-O",
                "Yes",
                "-O",
                "No",
                "-m",
                "script:debate.md",
                "--approve-within",
                "721h",
            ],
            "at most 2592000 seconds",
        ),
        (
            &[
                "decide",
                "Offline?",
                "-O",
                "Yes",
                "-O",
                "No",
                "-m",
                "script:debate.md",
                "--approve-within",
                "9000h",
            ],
            "at most 8760h",
        ),
        (
            &[
                "decide",
                "Offline?",
                "-O",
                "Yes",
                "-O",
                "No",
                "-m",
                "script:debate.md",
                "--max-time",
                "8761h",
            ],
            "at most 8760h",
        ),
        (
            &[
                "decide",
                "Offline?",
                "-O",
                "Yes",
                "-O",
                "No",
                "-m",
                "script:debate.md",
                "--max-time",
                "0",
            ],
            "is no time",
        ),
    ];
    for (args, said) in rows {
        let refused = rebut.run(args);
        assert!(
            refused.code == 2 && refused.stderr.contains(said),
            "{args:?}: {} {}",
            refused.code,
            refused.stderr
        );
    }
}
