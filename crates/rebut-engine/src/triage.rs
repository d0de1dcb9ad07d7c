//! Is a question worth a debate? Rules over its words, each with its reason. Pure.

use schemars::JsonSchema;
use serde::Serialize;

/// What the rules say of a question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Triage {
    /// Whether the answer changes what is built, and several answers are defensible.
    pub scope_critical: bool,
    /// `debate`, or `single` for a question that one answer serves.
    pub advice: Advice,
    /// The sum of the signals; a debate is worth it from 3.
    pub score: i32,
    /// What spoke for and against, with its weight.
    pub signals: Vec<Signal>,
}

/// What to do with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Several judges.
    Debate,
    /// One answer.
    Single,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Signal {
    /// What was seen.
    pub seen: String,
    /// How much it counts; negative speaks against a debate.
    pub weight: i32,
}

impl Triage {
    pub fn describe(&self) -> String {
        let signals = self
            .signals
            .iter()
            .map(|signal| format!("{:+} {}", signal.weight, signal.seen))
            .collect::<Vec<_>>()
            .join("; ");
        let signals = if signals.is_empty() {
            "no signal".to_owned()
        } else {
            signals
        };
        format!("score {} ({signals}); a debate from {WORTH_IT}", self.score)
    }
}

/// From this score on a debate is worth it.
pub const WORTH_IT: i32 = 3;

/// Looks at a question, its options and its context.
pub fn triage(question: &str, options: usize, context: &str) -> Triage {
    let words = words(question);
    let mut signals = Vec::new();
    let mut signal = |weight, seen: String| signals.push(Signal { seen, weight });
    if options >= 2 {
        signal(2, format!("{options} options to choose between"));
    }
    for rule in RULES {
        let seen: Vec<&str> = rule
            .words
            .iter()
            .copied()
            .filter(|phrase| contains(&words, phrase))
            .collect();
        if !seen.is_empty() {
            signal(rule.weight, format!("{}: {}", rule.about, seen.join(", ")));
        }
    }
    if context.split_whitespace().take(50).count() == 50 {
        signal(1, "there is context to argue from".to_owned());
    }
    if words.len() <= 4 && options < 2 {
        signal(-1, "very short question".to_owned());
    }
    let score = signals.iter().map(|signal| signal.weight).sum();
    let worth_it = score >= WORTH_IT;
    Triage {
        scope_critical: worth_it,
        advice: if worth_it {
            Advice::Debate
        } else {
            Advice::Single
        },
        score,
        signals,
    }
}

/// A format that suits what was typed, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub format: &'static str,
    pub why: String,
}

/// Words with which people begin to state a position rather than to ask.
const STATEMENTS: &[&str] = &[
    "we should",
    "we must",
    "we will",
    "let us",
    "let's",
    "i propose",
    "i suggest",
    "i think",
    "i believe",
    "my proposal",
    "our proposal",
    "my plan",
    "our plan",
    "the plan",
    "use",
    "adopt",
    "move",
    "migrate",
    "switch",
    "replace",
    "build",
    "drop",
    "keep",
    "add",
    "remove",
    "rewrite",
    "introduce",
    "store",
    "ship",
];

/// Chooses between deciding a question and challenging a position. What is neither clearly is
/// decided.
pub fn route(text: &str, options: usize) -> Route {
    let words = words(text);
    let begins =
        |phrase: &&&str| contains(&words[..words.len().min(phrase.split(' ').count())], phrase);
    let asks = options > 0
        || text.contains(['?', '？'])
        || RULES[0].words.iter().any(|phrase| contains(&words, phrase));
    if let Some(begin) = TASKS
        .iter()
        .find(begins)
        .filter(|_| options == 0 && !text.contains(['?', '？']))
    {
        return Route {
            format: "solve",
            why: format!("it begins with “{begin}”: a task to write code for"),
        };
    }
    if let Some(begin) = STATEMENTS.iter().find(begins).filter(|_| !asks) {
        return Route {
            format: "challenge",
            why: format!("it begins with “{begin}”: a position, not a question"),
        };
    }
    let signals = triage(text, options, "").signals;
    let why = signals
        .iter()
        .filter(|signal| signal.weight > 0)
        .map(|signal| signal.seen.as_str())
        .collect::<Vec<_>>()
        .join("; ");
    Route {
        format: "decide",
        why: if why.is_empty() {
            "the format for open questions".to_owned()
        } else {
            why
        },
    }
}

/// How tasks to write code for begin.
const TASKS: &[&str] = &[
    "write a function",
    "write a program",
    "write a script",
    "write a class",
    "write a method",
    "implement a function",
    "implement a class",
];

struct Rule {
    about: &'static str,
    weight: i32,
    words: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        about: "asks to choose",
        weight: 2,
        words: &[
            "or",
            "vs",
            "versus",
            "should we",
            "should i",
            "should our",
            "which",
            "choose",
            "better",
            "instead of",
            "rather than",
            "trade-off",
            "tradeoff",
            "pros and cons",
        ],
    },
    Rule {
        about: "touches what gets built",
        weight: 2,
        words: &[
            "scope",
            "support",
            "feature",
            "architecture",
            "platform",
            "database",
            "framework",
            "rewrite",
            "migrate",
            "migration",
            "monolith",
            "microservice",
            "microservices",
            "offline",
            "build",
            "buy",
            "deprecate",
            "launch",
            "pricing",
            "mvp",
            "roadmap",
            "api",
            "storage",
            "protocol",
            "language",
        ],
    },
    Rule {
        about: "hard to undo",
        weight: 2,
        words: &[
            "irreversible",
            "long term",
            "long-term",
            "public",
            "contract",
            "security",
            "privacy",
            "compliance",
            "data loss",
            "delete",
            "legal",
            "safety",
            "vendor",
            "lock-in",
        ],
    },
    Rule {
        about: "people depend on it",
        weight: 1,
        words: &[
            "users",
            "customers",
            "clients",
            "team",
            "teams",
            "revenue",
            "budget",
            "deadline",
        ],
    },
    Rule {
        about: "has one right answer to look up",
        weight: -3,
        words: &[
            "what is",
            "what does",
            "what are",
            "who is",
            "when did",
            "when was",
            "how many",
            "how do i",
            "how to",
            "where is",
            "define",
            "meaning of",
            "syntax",
            "version of",
        ],
    },
    Rule {
        about: "a small matter",
        weight: -2,
        words: &[
            "rename",
            "typo",
            "indent",
            "tabs",
            "spaces",
            "colour of",
            "color of",
            "spelling",
            "wording",
            "variable name",
        ],
    },
];

/// Lower-case words, with punctuation cut off their ends.
fn words(text: &str) -> Vec<String> {
    let parts = text.split_whitespace().map(|word| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    });
    parts.filter(|word| !word.is_empty()).collect()
}

fn contains(words: &[String], phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words.windows(phrase.len()).any(|window| {
        window
            .iter()
            .zip(&phrase)
            .all(|(word, wanted)| word == wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_that_shape_the_product_are_debated_and_lookups_are_not() {
        let rows = [
            ("Offline support in the field app?", 3, Advice::Debate),
            (
                "Should we rewrite the billing service or keep the monolith?",
                0,
                Advice::Debate,
            ),
            ("Redis or Memcached for sessions?", 2, Advice::Debate),
            (
                "Which database should we choose for customers in the EU?",
                0,
                Advice::Debate,
            ),
            ("What is the capital of France?", 0, Advice::Single),
            ("How do I exit vim?", 0, Advice::Single),
            ("Tabs or spaces?", 0, Advice::Single),
            ("", 0, Advice::Single),
        ];
        for (question, options, expected) in rows {
            let result = triage(question, options, "");
            assert_eq!(result.advice, expected, "{question}: {result:?}");
        }
    }

    #[test]
    fn positions_are_challenged_and_questions_decided() {
        let rows = [
            ("Use Redis for sessions", 0, "challenge"),
            ("We should move billing to its own service.", 0, "challenge"),
            ("Let's drop the mobile app", 0, "challenge"),
            ("I think we need our own cache", 0, "challenge"),
            ("该用Redis还是Memcached？", 0, "decide"),
            ("Use Redis or Memcached for sessions", 0, "decide"),
            ("Use Redis for sessions?", 0, "decide"),
            ("Use Redis for sessions", 2, "decide"),
            ("Offline support in the field app", 0, "decide"),
            ("Useful caches", 0, "decide"),
            ("", 0, "decide"),
        ];
        for (text, options, expected) in rows {
            assert_eq!(route(text, options).format, expected, "{text}");
        }
    }
}
