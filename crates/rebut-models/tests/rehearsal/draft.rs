//! Options drafted for questions that came without any.

use super::stage::*;

fn labels(question: &str, context: &str) -> Vec<String> {
    let reply = say(
        &agent("drafter"),
        &Case {
            question,
            context,
            ..Case::default()
        },
        "option_draft",
    );
    let options = reply["options"].as_array().expect("a list");
    assert!(
        options
            .iter()
            .all(|option| !option["description"].as_str().expect("text").is_empty()),
        "{reply}"
    );
    options
        .iter()
        .map(|option| option["label"].as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn options_come_from_the_question_or_the_lists_of_the_context() {
    let rows: &[(&str, &str, &[&str])] = &[
        (
            "Should we use Redis or Memcached for sessions?",
            "",
            &["Redis", "Memcached"],
        ),
        (
            "Postgres vs. MySQL vs SQLite?",
            "",
            &["Postgres", "MySQL", "SQLite"],
        ),
        (
            "Which queue: Kafka, NATS, or RabbitMQ?",
            "",
            &["Kafka", "NATS", "RabbitMQ"],
        ),
        (
            "What next?",
            "Option A: Rewrite the parser\nOption B: Patch it",
            &["Rewrite the parser", "Patch it"],
        ),
        (
            "What next?",
            "We see three options:\n- Hire: two more\n- Train\n- Wait",
            &["Hire", "Train", "Wait"],
        ),
        (
            "Should we adopt Kubernetes?",
            "",
            &[
                "Yes: Kubernetes",
                "A small part first",
                "Leave things as they are",
            ],
        ),
        (
            "",
            "",
            &[
                "Yes: the proposal",
                "A small part first",
                "Leave things as they are",
            ],
        ),
    ];
    for (question, context, wanted) in rows {
        assert_eq!(labels(question, context), *wanted, "{question} {context}");
    }
}

#[test]
fn a_description_takes_what_the_context_says() {
    let case = Case {
        question: "Redis or Memcached?",
        context: "Nothing else. Redis keeps sessions over a restart.",
        ..Case::default()
    };
    let reply = say(&agent("drafter"), &case, "option_draft");
    assert_eq!(
        reply["options"][0]["description"],
        "Redis keeps sessions over a restart."
    );
    assert_eq!(
        reply["options"][1]["description"],
        "Decide for this and against Redis."
    );
}
