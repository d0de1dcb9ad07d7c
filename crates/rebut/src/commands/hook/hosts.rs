//! The programs that can call rebut at a moment of their own: what they call it, and how they want
//! to be answered. A table.

use serde_json::{Value, json};

/// A moment in a coding agent's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Start,
    /// A person has written something to the agent.
    Prompt,
    /// The agent believes that it is done.
    Stop,
    /// A skill of the agent asks, because a person or the agent wanted it: no hook, and the same
    /// everywhere.
    Skill,
}

/// How a host takes words at a moment. All of them read JSON from standard output when the exit
/// code is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Context,
    Message,
}

#[derive(Debug)]
pub struct Host {
    pub name: &'static str,
    /// Its own name for each moment, and how it takes words then.
    pub events: [(Moment, &'static str, Form); 3],
}

/// Names under which a moment is known everywhere, without dashes and capitals.
const MOMENTS: &[(Moment, &[&str])] = &[
    (Moment::Start, &["sessionstart"]),
    (Moment::Prompt, &["userpromptsubmit", "beforeagent"]),
    (Moment::Stop, &["stop", "afteragent"]),
    (Moment::Skill, &["skill"]),
];

const LIKE_CLAUDE: [(Moment, &str, Form); 3] = [
    (Moment::Start, "SessionStart", Form::Context),
    (Moment::Prompt, "UserPromptSubmit", Form::Context),
    (Moment::Stop, "Stop", Form::Message),
];

const LIKE_GEMINI: [(Moment, &str, Form); 3] = [
    (Moment::Start, "SessionStart", Form::Context),
    (Moment::Prompt, "BeforeAgent", Form::Context),
    (Moment::Stop, "AfterAgent", Form::Message),
];

pub const HOSTS: &[Host] = &[
    Host {
        name: "claude",
        events: LIKE_CLAUDE,
    },
    Host {
        name: "codex",
        events: LIKE_CLAUDE,
    },
    Host {
        name: "gemini",
        events: LIKE_GEMINI,
    },
    Host {
        name: "qwen",
        events: LIKE_CLAUDE,
    },
];

impl Host {
    pub fn named(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.name == name)
    }

    /// Words in the form this host takes at a moment; `None` where it simply reads them.
    pub fn said(&self, moment: Moment, words: &str) -> Option<Value> {
        let (_, event, form) = self
            .events
            .into_iter()
            .find(|(known, _, _)| *known == moment)?;
        Some(match form {
            Form::Context => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": words}})
            }
            Form::Message => json!({"systemMessage": words}),
        })
    }
}

/// The moment behind an event's name, however it is written.
pub fn moment(event: &str) -> Option<Moment> {
    let plain: String = event
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    MOMENTS
        .iter()
        .find(|(_, names)| names.contains(&plain.as_str()))
        .map(|(moment, _)| *moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_a_host_has_for_a_moment_is_known() {
        for host in HOSTS {
            for (at, name, _) in host.events {
                assert_eq!(moment(name), Some(at), "{} {name}", host.name);
            }
            assert_eq!(
                host.events.map(|(moment, _, _)| moment),
                [Moment::Start, Moment::Prompt, Moment::Stop],
                "{}",
                host.name
            );
        }
        assert_eq!(moment("user-prompt-submit"), Some(Moment::Prompt));
        assert_eq!(moment("PreToolUse"), None);
    }
}
