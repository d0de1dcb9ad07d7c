//! Tools an agent may use in its turn: a table, what they are made of, and what a call comes to.
//! Pure: the sandbox runs what is planned here.

mod looking;
mod sandboxed;

use crate::{
    agent::Agent,
    clean::{on_one_line, shortened},
    sandbox::{Job, Tests},
};
use serde_json::Value;
use std::collections::BTreeMap;

pub use sandboxed::in_words;

pub struct Tool {
    /// What agents and role files call it.
    pub name: &'static str,
    /// What it does and what it is given, to an agent.
    pub about: &'static str,
    /// Whether a toolbox holds what it needs.
    is_there: fn(&Toolbox) -> bool,
    plan: fn(&Toolbox, &Value) -> Result<Plan, String>,
}

/// Every tool there is. An agent has those its role names, and no other.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "run",
        about: r#"runs a program: {"code": its text, "stdin": what it reads (may be left out)}"#,
        is_there: |_| true,
        plan: sandboxed::program,
    },
    Tool {
        name: "test",
        about: r#"runs tests against code: {"code": its text, "tests": your own tests (left out: the tests of the task)}"#,
        is_there: |_| true,
        plan: sandboxed::tests,
    },
    Tool {
        name: "lint",
        about: r#"says what a linter finds: {"code": its text}"#,
        is_there: |toolbox| toolbox.commands.contains_key("lint"),
        plan: |toolbox, given| sandboxed::command(toolbox, "lint", given),
    },
    Tool {
        name: "format",
        about: r#"puts code in its usual form: {"code": its text}"#,
        is_there: |toolbox| toolbox.commands.contains_key("format"),
        plan: |toolbox, given| sandboxed::command(toolbox, "format", given),
    },
    Tool {
        name: "diagnose",
        about: r#"says what the compiler thinks of it: {"code": its text}"#,
        is_there: |toolbox| toolbox.commands.contains_key("diagnose"),
        plan: |toolbox, given| sandboxed::command(toolbox, "diagnose", given),
    },
    Tool {
        name: "search",
        about: r#"finds passages in the files of the task: {"query": some words}"#,
        is_there: |toolbox| !toolbox.files.is_empty(),
        plan: looking::search,
    },
    Tool {
        name: "read",
        about: r#"shows a file of the task: {"name": its name, "from": the line to start at (may be left out)}"#,
        is_there: |toolbox| !toolbox.files.is_empty(),
        plan: looking::read,
    },
];

/// Roles that judge what others made. They have no tools, whatever their files say.
const JUDGES: &[&str] = &["judge", "arbiter", "evaluator"];

/// What the tools of a turn work with. All of it is pinned: the same call says the same in a
/// re-run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Toolbox {
    pub language: String,
    /// The tests of the task that agents may know.
    pub tests: Option<Tests>,
    /// The commands behind `lint`, `format` and `diagnose`; `{code}` is the file with the code.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The files and the context of the task, by name.
    pub files: Vec<(String, String)>,
    /// The most wall-clock time a run may take, in seconds.
    pub seconds: u32,
    /// How often an agent may use a tool in one turn; refused calls count too.
    pub calls: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    Run(Job),
    Say(String),
}

impl Toolbox {
    /// The tools an agent has in this turn: those its role names, as far as the box holds what they
    /// need. None for a judge, and none where nothing may be called.
    pub fn given_to(&self, agent: &Agent) -> Vec<&'static Tool> {
        if self.calls == 0 || JUDGES.contains(&&*agent.role) {
            return Vec::new();
        }
        TOOLS
            .iter()
            .filter(|tool| {
                agent.tools.iter().any(|named| named == tool.name) && (tool.is_there)(self)
            })
            .collect()
    }

    /// Whether an agent's role names tools, so that a call by it is one: done, or refused and
    /// recorded.
    pub fn may_be_called_by(&self, agent: &Agent) -> bool {
        self.calls > 0
            && agent
                .tools
                .iter()
                .any(|named| TOOLS.iter().any(|tool| named == tool.name))
    }

    /// What a call comes to, or why it is refused.
    pub fn plan(&self, given: &[&Tool], tool: &str, arguments: &Value) -> Result<Plan, String> {
        let Some(found) = given.iter().find(|known| known.name == tool) else {
            if given.is_empty() {
                return Err("you have no tools".to_owned());
            }
            let names = given
                .iter()
                .map(|tool| tool.name)
                .collect::<Vec<_>>()
                .join(", ");
            return Err(format!(
                "you have no tool `{}`; you have: {names}",
                shortened(&on_one_line(tool), 40)
            ));
        };
        (found.plan)(self, arguments)
    }
}

/// A tool's arguments, or what is wrong with them.
fn arguments<T: serde::de::DeserializeOwned>(given: &Value) -> Result<T, String> {
    serde_json::from_value(given.clone())
        .map_err(|error| format!("the arguments do not fit: {error}"))
}

/// The most a tool says, in bytes.
pub const MOST_SAID: usize = 4096;

/// A text of at most [`MOST_SAID`] bytes: of a longer one the beginning and the end.
pub fn bounded(text: &str) -> String {
    if text.len() <= MOST_SAID {
        return text.to_owned();
    }
    let half = MOST_SAID / 2 - 40;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    format!(
        "{}\n[… {} bytes are left out …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{agent::Role, sandbox::Work};
    use serde_json::json;

    fn toolbox() -> Toolbox {
        Toolbox {
            language: "python".to_owned(),
            tests: Some(Tests {
                text: "assert f() == 1".to_owned(),
                style: None,
            }),
            commands: [(
                "lint".to_owned(),
                vec!["ruff".to_owned(), "{code}".to_owned()],
            )]
            .into(),
            files: vec![
                (
                    "spec.md".to_owned(),
                    (1..=60)
                        .map(|line| format!("line {line} of the spec\n"))
                        .collect(),
                ),
                (
                    "src/dates.py".to_owned(),
                    "def parse_date(text):\n    return None\n".to_owned(),
                ),
            ],
            seconds: 5,
            calls: 2,
        }
    }

    fn agent(role: &str, tools: &str) -> Agent {
        Role::parse(role, &format!("---\ntools: {tools}\n---\nWork.")).played_by("script:x")
    }

    fn names(toolbox: &Toolbox, agent: &Agent) -> Vec<&'static str> {
        toolbox
            .given_to(agent)
            .iter()
            .map(|tool| tool.name)
            .collect()
    }

    #[test]
    fn an_agent_has_what_its_role_names_and_a_judge_nothing() {
        let all = "run, test, lint, format, diagnose, search, read";
        let rows: &[(&str, &str, &[&str])] = &[
            ("coder", "", &[]),
            ("coder", "run, read", &["run", "read"]),
            ("coder", "[test search]", &["test", "search"]),
            // Agent files of coding assistants name tools of their own.
            ("coder", "Read, Grep, Bash", &[]),
            ("coder", all, &["run", "test", "lint", "search", "read"]),
            ("judge", all, &[]),
            ("arbiter", all, &[]),
            ("evaluator", all, &[]),
        ];
        for (role, tools, expected) in rows {
            assert_eq!(
                names(&toolbox(), &agent(role, tools)),
                *expected,
                "{role}: {tools}"
            );
        }
        assert_eq!(
            names(
                &Toolbox {
                    calls: 0,
                    ..toolbox()
                },
                &agent("coder", all)
            ),
            [""; 0]
        );
        assert_eq!(
            names(
                &Toolbox {
                    calls: 1,
                    ..Toolbox::default()
                },
                &agent("coder", all)
            ),
            ["run", "test"]
        );
        assert!(Role::parse("x", "no front matter").tools.is_empty());
    }

    #[test]
    fn calls_become_jobs_or_words_or_are_refused() {
        let toolbox = toolbox();
        let given = toolbox.given_to(&agent("coder", "run, test, lint, search, read"));
        let plan = |tool: &str, arguments: Value| toolbox.plan(&given, tool, &arguments);
        let job = |tool: &str, arguments: Value| match plan(tool, arguments) {
            Ok(Plan::Run(job)) => job,
            other => panic!("{tool}: {other:?}"),
        };
        let ran = job("run", json!({"code": "print(1)", "stdin": "2"}));
        assert_eq!(
            (ran.code.as_str(), ran.language.as_str(), ran.seconds),
            ("print(1)", "python", 5)
        );
        assert_eq!(
            ran.work,
            Work::Program {
                stdin: "2".to_owned(),
                args: Vec::new()
            }
        );
        let Work::Tests(tests) = job("test", json!({"code": "x"})).work else {
            panic!("tests")
        };
        assert_eq!(Some(tests), toolbox.tests);
        let Work::Tests(own) = job(
            "test",
            json!({"code": "x", "tests": "assert 1", "stdin": null}),
        )
        .work
        else {
            panic!("tests")
        };
        assert_eq!(own.text, "assert 1");
        let Work::Command(command) = job("lint", json!({"code": "x"})).work else {
            panic!("a command")
        };
        assert_eq!(command.argv, ["ruff", "{code}"]);
        let refused: &[(&str, Value, &str)] = &[
            (
                "format",
                json!({"code": "x"}),
                "you have no tool `format`; you have: run, test, lint, search, read",
            ),
            ("rm\u{1b} -rf", json!({}), "you have no tool `rm"),
            ("run", json!({}), "missing field `code`"),
            ("run", json!({"code": "  "}), "\"code\" is empty"),
            (
                "run",
                json!({"code": "x", "network": "on"}),
                "unknown field `network`",
            ),
            ("run", json!("print(1)"), "do not fit"),
            ("search", json!({"query": "the"}), "nothing is found"),
            (
                "read",
                json!({"name": "../../etc/passwd"}),
                "no file `../../etc/passwd`; there are: spec.md, src/dates.py",
            ),
            (
                "read",
                json!({"name": "/etc/passwd"}),
                "no file `/etc/passwd`",
            ),
            (
                "read",
                json!({"name": "spec.md", "from": 61}),
                "has 60 lines",
            ),
        ];
        for (tool, arguments, expected) in refused {
            let why = plan(tool, arguments.clone()).expect_err(expected);
            assert!(
                why.contains(expected) && !why.contains('\u{1b}'),
                "{tool} {arguments}: {why}"
            );
        }
        let said = |tool: &str, arguments: Value| match plan(tool, arguments) {
            Ok(Plan::Say(said)) => said,
            other => panic!("{tool}: {other:?}"),
        };
        assert!(
            said("search", json!({"query": "parse a date"}))
                .starts_with("src/dates.py, from line 1:\ndef parse_date(text):\n")
        );
        assert_eq!(
            said("read", json!({"name": "spec.md", "from": 60})),
            "spec.md, from line 60 of 60:\nline 60 of the spec\n"
        );
    }

    #[test]
    fn what_a_tool_says_is_bounded_at_whole_characters() {
        for text in ["x".repeat(9_000), "é".repeat(5_000), "🦀".repeat(3_000)] {
            let short = bounded(&text);
            assert!(
                short.len() <= MOST_SAID && short.contains("bytes are left out"),
                "{}",
                short.len()
            );
        }
        assert_eq!(bounded(&"x".repeat(MOST_SAID)), "x".repeat(MOST_SAID));
    }
}
