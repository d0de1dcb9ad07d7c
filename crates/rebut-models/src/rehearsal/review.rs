//! Reviewing without a model: each role looks for words of its lens, and what it proposes is made
//! of the sentences it finds them in.

use super::{
    split::sentences,
    words::{is_common, words},
};
use rebut_engine::{
    agent::Agent,
    clean::{on_one_line, shortened},
    prompt::Prompt,
};
use serde_json::{Value, json};

/// One thing a lens looks for, and what it then proposes. `{}` stands for what the sentence is
/// about.
struct Sign {
    role: &'static str,
    words: &'static [&'static str],
    kind: &'static str,
    severity: &'static str,
    text: &'static str,
    why: &'static str,
}

/// What the built-in reviewers look for. A role that is not listed looks through the eyes of
/// clarity.
const SIGNS: &[Sign] = &[
    Sign {
        role: "security",
        words: &[
            "env",
            "environment",
            "secret",
            "secrets",
            "token",
            "tokens",
            "password",
            "passwords",
            "key",
            "keys",
            "credentials",
        ],
        kind: "AddConstraint",
        severity: "high",
        text: "Say who may reach {}, and that nobody else may.",
        why: "Whoever reads this may take {} to be open to everybody.",
    },
    Sign {
        role: "security",
        words: &[
            "input", "upload", "uploads", "url", "urls", "user", "users", "admin", "delete",
            "download", "network",
        ],
        kind: "AddConstraint",
        severity: "medium",
        text: "Check what comes in for {} before it is used.",
        why: "Nothing here says what happens when {} is hostile.",
    },
    Sign {
        role: "testing",
        words: &[
            "env",
            "environment",
            "production",
            "live",
            "network",
            "clock",
            "manually",
            "secrets",
            "token",
        ],
        kind: "RemoveConstraint",
        severity: "medium",
        text: "",
        why: "A test cannot run under {} as it stands.",
    },
    Sign {
        role: "testing",
        words: &[
            "should",
            "correct",
            "correctly",
            "works",
            "work",
            "support",
            "supports",
            "handle",
            "handles",
            "offline",
        ],
        kind: "AddContext",
        severity: "medium",
        text: "Name one example of {} that must work and one that must fail.",
        why: "Nobody could tell from this text whether {} is right.",
    },
    Sign {
        role: "clarity",
        words: &[
            "some",
            "appropriate",
            "etc",
            "soon",
            "properly",
            "maybe",
            "various",
            "good",
            "nice",
            "simple",
            "usually",
            "might",
        ],
        kind: "Clarify",
        severity: "medium",
        text: "Say in numbers or names what is meant by {}.",
        why: "Two readers would understand {} differently.",
    },
    Sign {
        role: "performance",
        words: &[
            "all",
            "every",
            "each",
            "always",
            "full",
            "whole",
            "entire",
            "everything",
            "copy",
            "again",
        ],
        kind: "Replace",
        severity: "low",
        text: "Limit {} to what is needed at a time.",
        why: "The cost of {} grows without a limit.",
    },
];

/// Operations one reviewer proposes at most.
const MOST: usize = 3;

/// A reviewer's critique.
pub fn critique(agent: &Agent, prompt: &Prompt) -> Value {
    let text = prompt.part("text").unwrap_or_default();
    let found = statements(
        text,
        prompt.part("what").unwrap_or_default().contains("diff"),
    );
    let is_known = SIGNS.iter().any(|sign| sign.role == &*agent.role);
    let role = if is_known { &*agent.role } else { "clarity" };
    let mut operations: Vec<Value> = Vec::new();
    for sentence in &found {
        let signs = SIGNS.iter().filter(|sign| sign.role == role);
        let sign = signs
            .into_iter()
            .find(|sign| words(sentence).any(|word| sign.words.contains(&&*word.to_lowercase())));
        let (Some(sign), Some(about)) =
            (sign.filter(|_| operations.len() < MOST), subject(sentence))
        else {
            continue;
        };
        operations.push(json!({
            "kind": sign.kind,
            "severity": sign.severity,
            "target": about,
            "location": "",
            "text": sign.text.replace("{}", &about),
            "rationale": sign.why.replace("{}", &about),
            "evidence": sentence,
            "confidence": 0.6,
        }));
    }
    let summary = match operations.len() {
        0 => format!(
            "Through the lens of {}, {} statements hold nothing to change.",
            agent.role,
            found.len()
        ),
        count => format!(
            "Through the lens of {}, {count} of {} statements should change.",
            agent.role,
            found.len()
        ),
    };
    json!({"summary": summary, "operations": operations})
}

/// What a text states: its sentences, or those a change adds.
fn statements(text: &str, is_diff: bool) -> Vec<&str> {
    let lines = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.starts_with("+++"));
    let lines = lines.filter_map(|line| {
        if is_diff {
            line.strip_prefix('+')
        } else {
            Some(line)
        }
    });
    let bare = lines.map(|line| line.trim().trim_start_matches(['#', '-', '*', '>', ' ']));
    bare.flat_map(sentences)
        .filter(|sentence| words(sentence).count() > 2)
        .collect()
}

/// What a sentence is about: its first two telling words.
fn subject(sentence: &str) -> Option<String> {
    let telling: Vec<&str> = words(sentence)
        .filter(|word| word.len() > 2 && !is_common(word))
        .take(2)
        .collect();
    (!telling.is_empty()).then(|| telling.join(" ").to_lowercase())
}

/// The editor's revision: what is removed goes where it stands, everything else is added at the end
/// as a rule.
pub fn revise(prompt: &Prompt) -> Value {
    let mut text = prompt
        .part("text")
        .unwrap_or_default()
        .trim_end()
        .to_owned();
    let (mut applied, mut not_applied, mut added) = (Vec::new(), Vec::new(), String::new());
    for listed in listed(prompt.part("operations").unwrap_or_default()) {
        let removes = listed.kind.starts_with("Remove");
        if removes && !listed.evidence.is_empty() && text.contains(&listed.evidence) {
            text = text.replacen(&listed.evidence, "", 1);
            applied.push(listed.name);
        } else if removes || listed.does.is_empty() {
            not_applied.push(
                json!({"operation": listed.name, "reason": "the passage was not found \
                word for word"}),
            );
        } else {
            added.push_str(&format!("- {}\n", on_one_line(&listed.does)));
            applied.push(listed.name);
        }
    }
    let revised = format!("{}\n\n{added}", text.trim_end());
    json!({"revised": revised.trim(), "applied": applied, "not_applied": not_applied})
}

/// An operation as the editor is shown it.
#[derive(Default)]
struct Listed {
    name: String,
    kind: String,
    does: String,
    evidence: String,
}

fn listed(operations: &str) -> Vec<Listed> {
    let mut found: Vec<Listed> = Vec::new();
    for line in operations.lines() {
        let heading = line.split_once(". ").filter(|(name, _)| {
            name.strip_prefix('O')
                .is_some_and(|rest| rest.parse::<u32>().is_ok())
        });
        if let Some((name, rest)) = heading {
            let kind = rest.split(' ').next().unwrap_or_default();
            found.push(Listed {
                name: name.to_owned(),
                kind: kind.to_owned(),
                ..Listed::default()
            });
        } else if let (Some(last), Some((word, said))) =
            (found.last_mut(), line.trim().split_once(": "))
        {
            match word {
                "do" => last.does = said.to_owned(),
                word if word.starts_with("evidence") => last.evidence = said.to_owned(),
                _ => {}
            }
        }
    }
    found
}

/// A side's argument for its own operation.
pub fn argue(prompt: &Prompt) -> Value {
    let own = prompt.part("own").unwrap_or_default();
    let (why, evidence) = (part(own, "why"), part(own, "evidence"));
    let argument = if evidence.is_empty() {
        why.clone()
    } else {
        format!("{why} It is written there: “{evidence}”")
    };
    json!({"argument": argument, "evidence": evidence, "confidence": 0.6})
}

/// A side's answer to the other.
pub fn rebut(prompt: &Prompt) -> Value {
    let (own, other) = (
        prompt.part("own").unwrap_or_default(),
        prompt.part("other").unwrap_or_default(),
    );
    let said = shortened(&part(other, "Argues"), 160).into_owned();
    let rebuttal = format!("“{said}” may be so. Still: {}", part(own, "why"));
    json!({"rebuttal": rebuttal, "concedes": "", "confidence": 0.5})
}

/// What stands behind a word at the beginning of a line.
fn part(text: &str, word: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with(word));
    line.and_then(|line| line.split_once(": "))
        .map(|(_, said)| said.to_owned())
        .unwrap_or_default()
}

/// The judge's verdict: marks from how much of the text and of the other side each one takes up,
/// whatever the order.
pub fn judge(prompt: &Prompt) -> Value {
    let text = prompt.part("text").unwrap_or_default();
    let [first, second] = ["first", "second"].map(|side| prompt.part(side).unwrap_or_default());
    let marks = |own: &str, other: &str| {
        let [specificity, responsiveness] = [shared(own, text), shared(own, other)];
        let reasoning = (4.0 + words(own).count() as f64 / 20.0).min(8.0).round();
        (
            specificity + responsiveness + reasoning,
            specificity,
            reasoning,
            responsiveness,
        )
    };
    let (one, other) = (marks(first, second), marks(second, first));
    let winner = if one.0 > other.0 {
        "first"
    } else if other.0 > one.0 {
        "second"
    } else {
        "tie"
    };
    let said = |marks: (f64, f64, f64, f64)| {
        let label = if marks.1 >= 6.0 {
            "close to the text"
        } else {
            "general"
        };
        let signal = if marks.3 >= 6.0 {
            "keeps to the point"
        } else {
            "answer more of what the other side says"
        };
        json!({"specificity": marks.1, "reasoning": marks.2, "calibration": 5, "responsiveness": marks.3, "labels": [label], "policy_signal": signal})
    };
    let reasoning = "Counted by the words each side shares with the text and with the other side.";
    json!({"winner": winner, "reasoning": reasoning, "confidence": 0.5, "first": said(one), "second": said(other)})
}

/// How many telling words of one text stand in another, as a mark from 0 to 10.
fn shared(own: &str, other: &str) -> f64 {
    let known: Vec<String> = words(other).map(str::to_lowercase).collect();
    let mut telling: Vec<String> = words(own)
        .filter(|word| word.len() > 3 && !is_common(word))
        .map(str::to_lowercase)
        .collect();
    telling.sort();
    telling.dedup();
    let held = telling.iter().filter(|word| known.contains(word)).count();
    (10.0 * held as f64 / telling.len().max(1) as f64).round()
}
