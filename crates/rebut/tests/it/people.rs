//! People as agents of a server: asked, refused, taken, missed, cancelled, asked again after a
//! kill; and who may answer at all.

use crate::{
    rebut::{Rebut, recommends, script},
    served::{Answer, Served},
};
use serde_json::{Value, json};
use std::sync::Barrier;

/// Two judges differ, and a person decides.
fn divided(person: &str) -> Value {
    let option = |id: &str, label: &str| json!({"id": id, "label": label});
    json!({
        "format": "decide", "seed": 7, "config": {"max_rounds": 1},
        "input": {"question": "Offline support?", "options": [option("A", "Online \
            only"), option("B", "Full offline")]},
        "agents": [
            {"role": "risk", "model": "script:debate.md"}, {"role": "value", "model": "script:debate.md"}, {"role": "effort", "model": person},
        ],
    })
}

/// An installation with these lines in `[server]`.
fn installed(server: &str) -> Rebut {
    let rebut = Rebut::new();
    // A person takes no place among the calls to a provider.
    rebut.user_config(&format!(
        "[defaults]\ncalls_per_provider = 1\n[server]\nrequests_per_minute = 1000000\n{server}\n"
    ));
    rebut.write(
        "debate.md",
        &script(&[
            ("recommend/risk", &recommends("A")),
            ("recommend/value", &recommends("B")),
        ]),
    );
    rebut
}

fn serve(rebut: &Rebut) -> Served {
    Served::start(rebut, &["--allow-scripts"])
}

fn reply(option: &str) -> Value {
    json!({"option": option, "ranking": [option], "confidence": 0.9, "summary": "I \
        know", "claims": ["I was there"], "flips_if": "never"})
}

fn turns(id: &str) -> String {
    format!("/v1/debates/{id}/turn-requests")
}

fn turn(id: &str) -> String {
    format!("{}/recommend%2Feffort", turns(id))
}

/// Waits until the person's turn can be answered there, and gives it.
fn until_asked(served: &Served, id: &str) -> Value {
    served.follow(id, |event| {
        event["type"] == "turn.started" && event["agent"] == "effort"
    });
    loop {
        let answer = served.ask("GET", &turns(id), None);
        // Between the intent and the question, or before a debate goes on, there is none.
        if let Some(turn) = answer.json()["turns"].get(0) {
            return turn.clone();
        }
    }
}

fn until_ended(served: &Served, id: &str) -> Value {
    served.follow(id, |event| event["type"] == "debate.completed");
    served
        .ask("GET", &format!("/v1/debates/{id}/results"), None)
        .json()
}

fn status(served: &Served, id: &str) -> Value {
    served
        .ask("GET", &format!("/v1/debates/{id}/status"), None)
        .json()
}

/// Refused with this status and these words.
fn assert_refused(answer: &Answer, expected: u16, why: &str) {
    assert!(
        answer.status == expected && answer.body.contains(why),
        "{expected} {why}: {answer:?}"
    );
}

#[test]
fn a_person_decides_and_only_a_right_answer_of_somebody_who_may_is_taken() {
    let rebut = installed("");
    let key = |name: &str, owner: &str, role: &str| {
        rebut
            .expect(0, &["keys", "add", name, "--owner", owner, "--role", role])
            .trim()
            .to_owned()
    };
    let admin = key("boss", "tester", "admin");
    let (viewer, approver, foreign) = (
        key("reader", "tester", "viewer"),
        key("anna", "tester", "approver"),
        key("other", "others", "admin"),
    );
    let mut served = serve(&rebut);
    served.token = admin;
    let id = served.begin(&divided("human:anna"));
    let asked = until_asked(&served, &id);
    assert_eq!(
        (&asked["turn"], &asked["agent"]),
        (&json!("recommend/effort"), &json!("effort")),
        "{asked}"
    );
    assert!(
        asked["user"]
            .as_str()
            .is_some_and(|text| text.contains("Offline support?")),
        "{asked}"
    );
    assert!(
        asked["system"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
            && asked["schema"]["properties"]["option"].is_object(),
        "{asked}"
    );
    let time = |name: &str| {
        asked[name]
            .as_str()
            .and_then(|text| text.parse::<jiff::Timestamp>().ok())
            .unwrap_or_else(|| panic!("{asked}"))
    };
    let seconds = time("until").duration_since(time("asked_at")).as_secs();
    assert!(
        (1700..=1800).contains(&seconds),
        "half an hour, less what was used of it: {seconds}"
    );
    assert_eq!(served.ask("GET", &turn(&id), None).json(), asked);
    assert_eq!(status(&served, &id)["waiting"], json!(["recommend/effort"]));
    let log = served.until("turn.started");
    assert!(
        log["debate"] == id.as_str() && log["turn"] == "recommend/effort",
        "{log}"
    );

    let post =
        |token: &str, body: &Value| served.ask_with(token, "POST", &turn(&id), Some(body), "");
    let good = json!({"reply": reply("B")});
    assert_refused(&post(&viewer, &good), 403, "role `approver`");
    assert_refused(&post(&foreign, &good), 404, "no such thing");
    assert_eq!(
        served
            .ask_with(&foreign, "GET", &turns(&id), None, "")
            .status,
        404
    );
    assert_eq!(
        served
            .ask_with(&viewer, "GET", &turns(&id), None, "")
            .json()["turns"],
        json!([asked]),
        "a viewer may look"
    );
    let with = |name: &str, value: Value| {
        let mut reply = reply("B");
        reply[name] = value;
        json!({ "reply": reply })
    };
    let wrong = [
        (json!({"text": "B, of course"}), "the text is not JSON"),
        (
            json!({"text": format!("I say {}", reply("B"))}),
            "the text is not JSON",
        ),
        (
            json!({"text": recommends("B")}),
            "`flips_if`, `ranking` are missing",
        ),
        (json!({"reply": {}}), "are missing"),
        (with("option", json!("Z")), "`option` must be one of"),
        (
            with("confidence", json!("much")),
            "`confidence` must be of type number",
        ),
        // What no schema says, but the format asks for.
        (with("confidence", json!(7)), "must be from 0 to 1"),
        (with("claims", json!([])), "give at least one argument"),
        (
            with("claims", json!(vec!["so"; 9])),
            "9 claims; give one to five, never more than 8",
        ),
        // Nothing is passed over or moved that a person wrote.
        (
            with("ranking", json!(["Q", "Q"])),
            "`ranking[0]` must be one of",
        ),
        (with("ranking", json!(["B", "B"])), "each once, `B` first"),
        (with("ranking", json!(["A", "B"])), "each once, `B` first"),
        (
            with("ranking", json!(["B", "Q"])),
            "`ranking[1]` must be one of",
        ),
        (with("option_2", json!("A")), "`option_2` is not asked for"),
        (
            json!({"text": "{}", "reply": {}}),
            "one of them, and not both",
        ),
    ];
    for (body, why) in &wrong {
        assert_refused(&post(&approver, body), 422, why);
    }
    assert_eq!(until_asked(&served, &id), asked, "it goes on waiting");
    let ranked = with("ranking", json!(["B", "A"]));
    assert_eq!(
        post(&approver, &json!({"text": ranked["reply"].to_string()})).status,
        204
    );
    // That it was taken is said when it is on record: not a moment later.
    let events = served.events(&id);
    let taken: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "turn.completed" && event["agent"] == "effort")
        .collect();
    assert_eq!(taken.len(), 1, "{events:?}");
    assert!(
        taken[0]["data"]["answered_by"].is_null() && taken[0]["data"]["model"] == "human:anna",
        "{}",
        taken[0]
    );
    let result = until_ended(&served, &id);
    assert_eq!(
        (&result["outcome"], &result["result"]["recommended_option"]),
        (&json!("consensus"), &json!("B")),
        "{result}"
    );
    let held = served
        .events(&id)
        .into_iter()
        .find(|event| event["type"] == "position.recorded" && event["agent"] == "effort");
    assert_eq!(
        held.expect("a position")["data"]["ranking"],
        json!(["B", "A"]),
        "as it was sent"
    );
    assert_refused(&post(&approver, &good), 409, "answered already");
    assert_refused(
        &served.ask("GET", &turn(&id), None),
        409,
        "answered already",
    );
    assert_refused(
        &served.ask(
            "POST",
            &format!("{}/recommend%2Fnobody", turns(&id)),
            Some(&good),
        ),
        404,
        "this debate has no turn `recommend/nobody`",
    );
    assert_eq!(
        (
            &served.ask("GET", &turns(&id), None).json()["turns"],
            &status(&served, &id)["waiting"]
        ),
        (&json!([]), &json!([]))
    );
    rebut.expect(0, &["audit", "verify", &id]);
    rebut.expect(0, &["replay", &id]);
}

#[test]
fn of_many_answers_at_once_one_is_taken() {
    const CLIENTS: usize = 8;
    let rebut = installed("");
    let served = serve(&rebut);
    // All wait at once, though a provider would have one place.
    let ids: Vec<String> = (0..3).map(|_| served.begin(&divided("human"))).collect();
    ids.iter().for_each(|id| drop(until_asked(&served, id)));
    let (id, all_ready, at) = (&ids[0], &Barrier::new(CLIENTS), &served);
    let answers: Vec<(usize, Answer)> = std::thread::scope(|scope| {
        let one = |client: usize| {
            scope.spawn(move || {
                let mut reply = reply(if client.is_multiple_of(2) { "A" } else { "B" });
                reply["summary"] = format!("client {client}").into();
                all_ready.wait();
                (
                    client,
                    at.ask("POST", &turn(id), Some(&json!({ "reply": reply }))),
                )
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(one).collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("an answer"))
            .collect()
    });
    let won: Vec<usize> = answers
        .iter()
        .filter(|(_, answer)| answer.status == 204)
        .map(|(client, _)| *client)
        .collect();
    let late = answers
        .iter()
        .filter(|(_, answer)| answer.status == 409)
        .count();
    assert_eq!((won.len(), late), (1, CLIENTS - 1), "{answers:?}");
    until_ended(&served, id);
    let events = served.events(id);
    let taken: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "turn.completed" && event["agent"] == "effort")
        .collect();
    assert_eq!(taken.len(), 1, "{events:?}");
    let text = taken[0]["data"]["text"].as_str().expect("a text");
    assert!(
        text.contains(&format!("client {}\"", won[0])),
        "whoever was told so was taken: {won:?} {text}"
    );
    assert_eq!(
        taken[0]["data"]["answered_by"], "human:local",
        "the record says whose key it was"
    );

    // Whoever ends the debate frees the turn.
    let cancelled = &ids[1];
    assert_eq!(
        served
            .ask(
                "POST",
                &format!("/v1/debates/{cancelled}/cancel"),
                Some(&json!({}))
            )
            .status,
        202
    );
    until_ended(&served, cancelled);
    let late = served.ask(
        "POST",
        &turn(cancelled),
        Some(&json!({"reply": reply("A")})),
    );
    assert_refused(
        &late,
        409,
        "has ended before this turn was answered: cancelled",
    );
    assert_eq!(
        (
            &served.ask("GET", &turns(cancelled), None).json()["turns"],
            &late.json()["ending"]
        ),
        (&json!([]), &json!("cancelled"))
    );
    assert_eq!(status(&served, cancelled)["waiting"], json!([]));
    assert_eq!(
        served.ask("GET", &turns(&ids[2]), None).json()["turns"]
            .as_array()
            .map(Vec::len),
        Some(1),
        "another still waits"
    );
}

#[test]
fn who_does_not_answer_in_time_is_missing_and_counts_for_nothing() {
    let rebut = installed("human_seconds = 1");
    let served = serve(&rebut);
    // So many that a provider would be spared afterwards. Whoever comes then is asked all the same.
    let ids: Vec<String> = (0..7).map(|_| served.begin(&divided("human"))).collect();
    ids.iter().for_each(|id| drop(until_ended(&served, id)));
    let id = served.begin(&divided("human"));
    let result = until_ended(&served, &id);
    assert_eq!(
        result["outcome"], "contested",
        "one to one, and nobody more: {result}"
    );
    let missing = json!([{"agent": "effort", "turn": "recommend/effort", "reason": "timeout", "detail": "no answer within 1 s"}]);
    assert_eq!(result["degraded"], missing, "{result}");
    let positions = served
        .ask("GET", &format!("/v1/debates/{id}/positions"), None)
        .json()["positions"]
        .clone();
    assert!(
        positions
            .as_array()
            .is_some_and(|all| all.len() == 2 && all.iter().all(|held| held["agent"] != "effort")),
        "{positions}"
    );
    for id in ids.iter().chain([&id]) {
        let events = served.events(id);
        let failed: Vec<&Value> = events
            .iter()
            .filter(|event| event["type"] == "turn.failed")
            .collect();
        assert!(
            failed.len() == 1 && failed[0]["data"]["fault"]["kind"] == "timeout",
            "{failed:?}"
        );
    }
    assert_refused(
        &served.ask("POST", &turn(&id), Some(&json!({"reply": reply("A")}))),
        409,
        "no answer within 1 s",
    );
    // Somebody else may be named who is asked then.
    let mut asked = divided("human");
    asked["agents"][2]["fallbacks"] = json!(["rehearsal"]);
    let id = served.begin(&asked);
    let result = until_ended(&served, &id);
    assert!(
        result.to_string().contains("\"to\":\"rehearsal\""),
        "{result}"
    );
    assert_refused(
        &served.ask("POST", &turn(&id), Some(&json!({"reply": reply("A")}))),
        409,
        "answered already",
    );
}

#[test]
fn a_turn_that_waited_is_asked_again_wherever_its_debate_goes_on() {
    // However long turns may take to finish, nobody waits for an answer that could not be taken.
    let rebut = installed("drain_seconds = 600");
    let (runs, mut other) = (serve(&rebut), serve(&rebut));
    let id = runs.begin(&divided("human"));
    until_asked(&runs, &id);
    let good = json!({"reply": reply("A")});
    // Another server says so, rather than that nobody is waited for.
    assert_refused(
        &other.ask("GET", &turns(&id), None),
        409,
        "urn:rebut:elsewhere",
    );
    assert_refused(
        &other.ask("GET", &turn(&id), None),
        409,
        "ask the server that runs it",
    );
    assert_refused(
        &other.ask("POST", &turn(&id), Some(&good)),
        409,
        "another process runs this debate",
    );
    assert_eq!(
        status(&other, &id)["waiting"],
        json!(["recommend/effort"]),
        "everybody sees that somebody is waited for"
    );
    runs.kill();
    assert_eq!(other.until("debate.resumed")["debate"], id.as_str());
    until_asked(&other, &id);
    // Told to stop, with nobody left to go on; then once more.
    other.signal("TERM");
    assert_eq!(other.finish().0, 0);
    let mut last = serve(&rebut);
    last.until("debate.resumed");
    until_asked(&last, &id);
    assert_eq!(last.ask("POST", &turn(&id), Some(&good)).status, 204);
    let result = until_ended(&last, &id);
    assert_eq!(
        (&result["outcome"], &result["result"]["recommended_option"]),
        (&json!("consensus"), &json!("A")),
        "{result}"
    );
    let events = last.events(&id);
    let count = |kind: &str| {
        events
            .iter()
            .filter(|event| event["type"] == kind && event["agent"] == "effort")
            .count()
    };
    assert_eq!(
        (count("turn.started"), count("turn.completed")),
        (3, 1),
        "{events:?}"
    );
    assert_eq!(
        result["usage"]["possibly_paid_twice"],
        json!([]),
        "people are not paid: {result}"
    );
    rebut.expect(0, &["audit", "verify", &id]);
    rebut.expect(0, &["replay", &id]);
}

#[test]
fn who_may_be_asked_is_the_operators_to_say() {
    let refused = "not among the models of this server";
    let rows: [(&str, &str, Option<&str>); 7] = [
        ("", "human", None),
        ("", "human:", None),
        ("", "human:anna.b-c_1", None),
        ("", "human:../anna", Some("a person is written human:NAME")),
        ("models = [\"rehearsal\"]", "human", Some(refused)),
        ("models = [\"rehearsal\", \"human\"]", "human:anna", None),
        (
            "models = [\"rehearsal\", \"human:anna\"]",
            "human:ben",
            Some(refused),
        ),
    ];
    for (server, person, why) in rows {
        let rebut = installed(server);
        let served = serve(&rebut);
        let answer = served.ask("POST", "/v1/debates", Some(&divided(person)));
        match why {
            None => assert_eq!(answer.status, 202, "{server} {person}: {answer:?}"),
            Some(why) => assert_refused(&answer, 422, why),
        }
        let estimate = served.ask("POST", "/v1/estimates", Some(&divided(person)));
        assert_eq!(
            estimate.status,
            if why.is_none() { 200 } else { 422 },
            "{server} {person}: {estimate:?}"
        );
    }
    let wrong = installed("human_seconds = 0").run(&["serve"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("human_seconds must be 1 to 604800"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn roles_are_listed_without_where_they_are() {
    let rebut = installed("");
    rebut.write(
        ".rebut/roles/nurse.md",
        "---\nstance: caring\nabout: speaks for patients\n---\nA secret of the house.\n",
    );
    let served = serve(&rebut);
    let answer = served.ask("GET", "/v1/personas", None);
    let all = answer.json();
    let names: Vec<&Value> = all
        .as_array()
        .expect("a list")
        .iter()
        .map(|role| &role["name"])
        .collect();
    let listed = rebut.json(0, &["roles", "--json"]);
    assert_eq!(
        names,
        listed
            .as_array()
            .expect("a list")
            .iter()
            .map(|role| &role["name"])
            .collect::<Vec<_>>(),
        "as `rebut roles` lists them"
    );
    let nurse = json!({"name": "nurse", "stance": "caring", "about": "speaks for \
        patients", "is_built_in": false});
    assert!(
        all.as_array().is_some_and(|all| all.contains(&nurse)),
        "{all}"
    );
    assert!(
        !answer.body.contains("secret of the house") && !answer.body.contains(".rebut"),
        "{answer:?}"
    );
}
