//! The rehearsal, seen from outside: real prompts in, debates out.

mod cases;
mod challenge;
mod draft;
mod evaluate;
mod odd;
mod review;
mod solve;
mod stage;

use rebut_engine::{
    agent::{Agent, Role},
    model::{Deltas, FaultKind, Model},
};
use rebut_models::rehearsal::RehearsalModel;
use serde_json::Value;
use stage::*;
use std::collections::{BTreeMap, HashSet};

/// Who agrees after the first and after the second round, in the order risk, value, effort.
#[test]
fn some_debates_agree_at_once_some_after_listening_and_some_never() {
    let rows = [
        ("offline", "BAB", "BAB"),
        ("sessions", "AAA", "AAA"),
        ("monolith", "CBA", "CBC"),
        ("billing", "BAB", "BAB"),
        ("database", "ABC", "AAC"),
        ("empty", "ACA", "ACA"),
        ("hosting", "ABC", "ABC"),
        ("types", "ABB", "ABB"),
    ];
    let found: Vec<(&str, String, String)> = cases::ALL
        .iter()
        .map(|(name, case)| {
            let debate = debate(case);
            (*name, letters(&debate.first), letters(&debate.second))
        })
        .collect();
    let wanted: Vec<(&str, String, String)> = rows
        .map(|(name, first, second)| (name, first.to_owned(), second.to_owned()))
        .to_vec();
    assert_eq!(found, wanted);
}

#[test]
fn every_reply_has_the_asked_form() {
    for (name, case) in cases::ALL {
        let debate = debate(&case);
        for reply in debate.first.iter().chain(&debate.second) {
            check_position(reply, case.options, name);
        }
        for (me, reply) in debate.second.iter().enumerate() {
            check_response(reply, &debate.first[me], &debate.others[me], name);
        }
    }
}

/// What every position must have, in either round.
pub fn check_position(reply: &Value, options: &str, place: &str) {
    let letter = reply["option"].as_str().expect("a letter");
    assert!(
        options
            .lines()
            .any(|line| line.trim().starts_with(&format!("{letter}. "))),
        "{place}: {letter}"
    );
    let confidence = reply["confidence"].as_f64().expect("a number");
    assert!((0.5..=0.9).contains(&confidence), "{place}: {confidence}");
    let claims = list(reply, "claims");
    assert!(
        (1..=5).contains(&claims.len()) && claims.iter().all(|claim| !claim.trim().is_empty()),
        "{place}: {claims:?}"
    );
    assert_eq!(
        claims.iter().collect::<HashSet<_>>().len(),
        claims.len(),
        "{place}: said twice: {claims:?}"
    );
    for field in ["summary", "flips_if"] {
        assert!(
            !reply[field].as_str().expect("text").is_empty(),
            "{place}: {field}"
        );
    }
}

fn check_response(reply: &Value, before: &Value, others: &str, place: &str) {
    let exists = |claim: &str| {
        others
            .lines()
            .any(|line| line.trim_start().starts_with(&format!("{claim}: ")))
    };
    let mut answered = HashSet::new();
    for challenge in reply["challenges"].as_array().expect("a list") {
        let claim = challenge["claim"].as_str().expect("a name");
        assert!(exists(claim), "{place}: nobody said {claim}");
        assert!(["attack", "concede"].contains(&challenge["verdict"].as_str().expect("a verdict")));
        assert!(!challenge["text"].as_str().expect("text").is_empty());
        answered.insert(claim.split('#').next().expect("a judge").to_owned());
    }
    assert_eq!(
        answered.len(),
        2,
        "{place}: each judge is answered: {answered:?}"
    );
    let convinced = list(reply, "convinced_by");
    let changed = reply["option"] != before["option"];
    assert!(
        convinced.iter().all(|claim| exists(claim)),
        "{place}: {convinced:?}"
    );
    assert_eq!(
        (changed, changed),
        (
            !convinced.is_empty(),
            !reply["change_reason"].as_str().expect("text").is_empty()
        ),
        "{place}"
    );
}

#[test]
fn what_stands_in_quotation_marks_stands_in_the_case() {
    let mut quotes = 0;
    for (name, case) in cases::ALL {
        let source = [case.context, case.options]
            .join("\n")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let debate = debate(&case);
        for reply in debate.first.iter().chain(&debate.second) {
            for (quote, _) in reply
                .to_string()
                .split('“')
                .skip(1)
                .filter_map(|rest| rest.split_once('”'))
            {
                assert!(
                    source.contains(quote.trim_end_matches('…')),
                    "{name}: “{quote}” is made up"
                );
                quotes += 1;
            }
        }
    }
    assert!(quotes > 100, "only {quotes} quotes");
}

#[test]
fn the_same_input_speaks_the_same_and_another_one_does_not() {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (name, case) in &cases::ALL {
        let (once, again) = (debate(case), debate(case));
        assert_eq!(
            (&once.first, &once.second),
            (&again.first, &again.second),
            "{name}"
        );
        for reply in once.first.iter().flat_map(|reply| list(reply, "claims")) {
            let other = seen.insert(reply.clone(), name);
            assert!(
                other.is_none_or(|other| other == *name),
                "{reply} is said in {other:?} and {name}"
            );
        }
    }
}

#[test]
fn one_changed_fact_changes_the_decision() {
    let swapped = cases::SESSIONS
        .context
        .replace("Redis", "?")
        .replace("Memcached", "Redis")
        .replace('?', "Memcached");
    assert_eq!(
        letters(
            &debate(&Case {
                context: &swapped,
                ..cases::SESSIONS
            })
            .first
        ),
        "BBB"
    );
    let noted = Case {
        notes: "Note 1: Online only is safe, cheap and simple, and customers love it.",
        ..cases::OFFLINE
    };
    assert_eq!(
        letters(&debate(&noted).first),
        "CCC",
        "a person's note counts strongly"
    );
}

#[test]
fn a_custom_role_is_read_for_what_it_cares_about() {
    let role = |stance: &str, brief: &str| -> Agent {
        Role {
            name: "guest".into(),
            stance: stance.into(),
            about: String::new(),
            brief: brief.into(),
            tools: Vec::new(),
        }
        .played_by("rehearsal")
    };
    let rows = [
        (
            role(
                "strict",
                "You guard security, privacy and compliance. Think like an attacker.",
            ),
            "A",
        ),
        (
            role("bold", "You speak for customers, growth and sales."),
            "B",
        ),
        (
            role(
                "frugal",
                "You watch the budget and the work of every developer.",
            ),
            "C",
        ),
    ];
    for (agent, wanted) in rows {
        assert_eq!(
            say(&agent, &cases::HOSTING, "recommendation")["option"],
            wanted,
            "{}",
            agent.brief
        );
    }
}

#[test]
fn silence_is_admitted() {
    for reply in debate(&cases::EMPTY).first {
        assert!(
            list(&reply, "claims")[0].contains("The context says nothing about"),
            "{reply}"
        );
        assert!(reply["confidence"].as_f64().expect("a number") <= 0.6);
    }
}

#[test]
fn it_says_what_it_is_and_streams_what_it_says() {
    assert!(RehearsalModel.is_rehearsal());
    let deltas = Deltas::with_capacity(64);
    let mut listener = deltas.listen().expect("a channel").pieces;
    let answer =
        answer(&agent("risk"), &cases::OFFLINE, "recommendation", &deltas).expect("an answer");
    assert_eq!(answer.model.as_deref(), Some("rehearsal"));
    let usage = answer.usage.expect("usage");
    assert_eq!(
        (usage.output, usage.cost_usd),
        (answer.text.split_whitespace().count() as u64, Some(0.0))
    );
    assert!(usage.input > 80);
    let mut pieces = Vec::new();
    while let Ok(delta) = listener.try_recv() {
        assert_eq!(delta.turn, "t/x");
        pieces.push(delta.text);
    }
    assert!(pieces.len() > 1);
    assert_eq!(pieces.concat(), answer.text);
}

#[test]
fn what_it_cannot_play_it_refuses() {
    for (schema, case) in [
        ("ballot", cases::OFFLINE),
        (
            "recommendation",
            Case {
                options: "",
                ..cases::OFFLINE
            },
        ),
    ] {
        let fault =
            answer(&agent("risk"), &case, schema, &Deltas::default()).expect_err("no answer");
        assert_eq!(fault.kind, FaultKind::Unavailable, "{fault}");
    }
}

/// In a control arm it judges as in a debate; without options it answers with a label of its own.
#[test]
fn arms_are_answered_like_debates() {
    for (name, case) in cases::ALL {
        for role in JUDGES {
            let (blind, said) = (
                say(&agent(role), &case, "recommendation"),
                say(&agent(role), &case, "answer"),
            );
            // The stage's prompt has a hole for others, so the answer is that of somebody who hears
            // nobody.
            assert_eq!(said["answer"], blind["option"], "{name}/{role}");
        }
    }
    let free = Case {
        options: "(none)",
        question: "Redis or Memcached?",
        context: cases::SESSIONS.context,
        ..cases::EMPTY
    };
    let said = say(&agent("risk"), &free, "answer");
    assert!(
        ["Redis", "Memcached"].contains(&said["answer"].as_str().expect("an answer")),
        "{said}"
    );
    assert!(
        !said.to_string().contains("A (Redis)") && !said.to_string().contains("B (Memcached)"),
        "{said}"
    );
}
