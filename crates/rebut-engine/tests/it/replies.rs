//! Finding typed replies in whatever a model wrote: arbitrary bytes in, a value or an error out,
//! never a panic or a guess.

use proptest::prelude::*;
use rebut_engine::{
    formats::decide::replies::{Recommendation, Response, claim_name},
    reply::{Reply, Schema, extract},
};

fn find(text: &str) -> Result<(String, bool), String> {
    extract::<Recommendation>(text, &|reply| {
        reply.check(&["A", "B", "C"].map(str::to_owned))
    })
    .map(|found| (found.reply.option, found.mended))
}

const GOOD: &str =
    r#"{"option": "B", "confidence": 0.7, "summary": "s", "claims": ["c"], "flips_if": "f"}"#;

#[test]
fn replies_are_found_where_models_put_them() {
    let rows = [
        (GOOD.to_owned(), Ok(("B", false))),
        (
            format!("Sure!\n```json\n{GOOD}\n```\nAnything else?"),
            Ok(("B", false)),
        ),
        (
            format!("Between {{braces}} and prose {GOOD} it stands."),
            Ok(("B", false)),
        ),
        (
            format!(
                "<think>A? {} no</think>{GOOD}",
                GOOD.replace("\"B\"", "\"A\"")
            ),
            Ok(("B", false)),
        ),
        (GOOD.replace("[\"c\"]", "[\"c\",]"), Ok(("B", true))),
        (GOOD.replace("\"B\"", "\"option b.\""), Ok(("B", false))),
        (GOOD.replace("0.7", "\"0.7\""), Ok(("B", false))),
        (
            GOOD.replace("[\"c\"]", "[{\"text\": \"c\"}]"),
            Ok(("B", false)),
        ),
        (GOOD.replace('"', "'"), Ok(("B", true))),
        (GOOD.replace("\"s\"", "\"one\ntwo\""), Ok(("B", true))),
        (format!("[{GOOD}]"), Ok(("B", false))),
        (GOOD[..GOOD.len() - 1].to_owned(), Err("not complete")),
        (GOOD[..GOOD.len() - 8].to_owned(), Err("not complete")),
        (
            format!("```json\n{}\n```", &GOOD[..GOOD.len() - 8]),
            Err("not complete"),
        ),
        (
            format!("{GOOD} or rather {}", &GOOD[..20]),
            Err("not complete"),
        ),
        (format!("[{GOOD}, {{"), Err("not complete")),
        (format!("[{GOOD}"), Err("not complete")),
        (format!("<think>{GOOD} or"), Err("not complete")),
        (format!("{{\"drafts\": [{GOOD}, "), Err("not complete")),
        (format!("{{\"drafts\": [{GOOD}"), Err("not complete")),
        (format!("{{\"drafts\": [{GOOD}]}}"), Err("missing field")),
        (GOOD.replace("[\"c\"]", "[\"c\""), Err("do not match")),
        (GOOD.replace("\"B\"", "\"B"), Err("")),
        (format!("{GOOD}\n{GOOD}"), Ok(("B", false))),
        (
            format!("{GOOD} or {}", GOOD.replace("\"B\"", "\"A\"")),
            Err("two different answers"),
        ),
        (
            GOOD.replace("\"option\": \"B\"", "\"option\": \"B\", \"option\": \"A\""),
            Err("duplicate field"),
        ),
        (
            GOOD.replace("\"B\"", "\"D\""),
            Err("must be one of A, B, C"),
        ),
        (GOOD.replace("\"B\"", "\"A or B\""), Err("must be one of")),
        (GOOD.replace("0.7", "1.7"), Err("from 0 to 1")),
        (GOOD.replace("0.7", "NaN"), Err("")),
        (GOOD.replace("[\"c\"]", "[]"), Err("claims")),
        (GOOD.replace("\"summary\": \"s\", ", ""), Err("summary")),
        (
            "I cannot APPROVE option A.".to_owned(),
            Err("no JSON object"),
        ),
        (String::new(), Err("no JSON object")),
        ("{".repeat(100_000), Err("")),
        (format!("{}{}", "[{\"a\":".repeat(5_000), GOOD), Err("")),
    ];
    for (text, expected) in rows {
        let shown = text.chars().take(200).collect::<String>();
        match (find(&text), expected) {
            (Ok((option, mended)), Ok(wanted)) => {
                assert_eq!((option.as_str(), mended), wanted, "{shown}")
            }
            (Err(error), Err(wanted)) => assert!(error.contains(wanted), "{shown}: {error}"),
            (found, wanted) => panic!("{shown}: {found:?} instead of {wanted:?}"),
        }
    }
}

/// Where one option's name begins another's, no part of a name is a name.
#[test]
fn no_part_of_an_option_is_an_option() {
    let whole = r#"{"confidence": 0.7, "summary": "s", "claims": ["c"], "flips_if": "f", "ranking": ["AB"], "option": "AB"}"#;
    let choose = |text: &str, ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        extract::<Recommendation>(text, &|reply| reply.check(&ids)).map(|found| found.reply.option)
    };
    assert_eq!(choose(whole, &["A", "AB"]).as_deref(), Ok("AB"));
    for length in 0..whole.len() {
        assert!(
            choose(&whole[..length], &["A", "AB"]).is_err(),
            "{}",
            &whole[..length]
        );
    }
    let said =
        |option: &str| whole.replace("\"option\": \"AB\"", &format!("\"option\": \"{option}\""));
    for (option, ids, expected) in [
        ("ab", &["A", "AB"][..], Some("AB")),
        (" Option A. ", &["A", "AB"], Some("A")),
        ("A", &["AB", "AC"], None),
        ("AB", &["A", "B"], None),
        ("A B", &["A", "B"], None),
        ("A-1", &["A", "1"], None),
        ("AB", &["ABC", "B"], None),
        ("option", &["opt", "o"], None),
        ("", &["A", "B"], None),
    ] {
        assert_eq!(
            choose(&said(option), ids).ok().as_deref(),
            expected,
            "{option} among {ids:?}"
        );
    }
}

#[test]
fn a_ranking_is_an_extra_that_never_costs_a_reply() {
    let rows = [
        (r#"["B", "C", "A"]"#, vec!["B", "C", "A"]),
        (r#"["C", "b.", "C", "option a"]"#, vec!["B", "C", "A"]),
        (r#"["B", "A"]"#, vec!["B", "A"]),
        (r#""B > A > C""#, vec!["B", "A", "C"]),
        (r#"["A", "Z", 7, null, "J2#1"]"#, vec!["B", "A"]),
        (r#"["B"]"#, vec![]),
        ("[]", vec![]),
        ("null", vec![]),
        (r#"{"A": 1}"#, vec![]),
    ];
    for (ranking, expected) in rows {
        let text = GOOD.replacen('{', &format!("{{\"ranking\": {ranking}, "), 1);
        let found = extract::<Recommendation>(&text, &|reply| {
            reply.check(&["A", "B", "C"].map(str::to_owned))
        });
        assert_eq!(found.expect("a reply").reply.ranking, expected, "{ranking}");
    }
}

#[test]
fn claim_names_are_read_as_judges_write_them() {
    let rows = [
        ("J2#1", Some((2, 1))),
        ("j2 #1", Some((2, 1))),
        ("J12·#3", Some((12, 3))),
        ("[J2-1]", Some((2, 1))),
        ("J2", None),
        ("J#1", None),
        ("J2#0", None),
        ("risk#1", None),
        ("J2#999999999999999999999", None),
    ];
    for (text, expected) in rows {
        assert_eq!(claim_name(text), expected, "{text}");
    }
}

#[test]
fn every_other_judge_must_be_answered() {
    let reply = |claims: &str| {
        format!(
            r#"{{"option":"A","confidence":1,"summary":"s","claims":["c"],"challenges":{claims},"convinced_by":[],"change_reason":"","flips_if":""}}"#
        )
    };
    let others = [(2, 2), (3, 1)];
    let find = |text: &str| {
        extract::<Response>(text, &|reply| reply.check(&["A".to_owned()], &others)).map(drop)
    };
    let answer = |claim: &str| format!(r#"{{"claim":"{claim}","verdict":"attack","text":"t"}}"#);
    assert!(find(&reply(&format!("[{},{}]", answer("J2#2"), answer("J3#1")))).is_ok());
    let one_missing = find(&reply(&format!("[{}]", answer("J2#1")))).expect_err("J3 is ignored");
    assert!(one_missing.contains("J3"), "{one_missing}");
    assert!(
        find(&reply(&format!("[{},{}]", answer("J2#1"), answer("J3#5")))).is_err(),
        "J3 has no fifth claim"
    );
}

#[test]
fn schemas_are_closed_and_complete() {
    let schema: serde_json::Value = serde_json::from_str(
        &Schema::with_choices::<Response>(&["option", "ranking"], &["A", "B"]).json,
    )
    .expect("JSON");
    assert_eq!(
        schema["properties"]["option"]["enum"],
        serde_json::json!(["A", "B"])
    );
    assert_eq!(
        schema["properties"]["ranking"]["items"]["enum"],
        serde_json::json!(["A", "B"])
    );
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(
        schema["required"].as_array().map(Vec::len),
        schema["properties"].as_object().map(serde_json::Map::len)
    );
    let inner = &schema["properties"]["challenges"]["items"];
    assert_eq!(inner["additionalProperties"], false);
    assert!(
        !Response::schema().to_string().contains("$ref"),
        "providers want it flat"
    );
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = find(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn json_like_text_never_panics(text in r#"[{}\[\]",:\\a-cA-C0-9 .\n`]{0,400}"#) {
        let _ = find(&text);
    }

    #[test]
    fn prose_around_a_reply_does_not_change_it(before in "[^{}\\[\\]\"<]{0,80}", after in "[^{}\\[\\]\"<]{0,80}") {
        prop_assert_eq!(find(&format!("{before}{GOOD}{after}")), Ok(("B".to_owned(), false)));
    }
}
