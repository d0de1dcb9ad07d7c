//! Reads a script file: total over any bytes, and every mistake is reported with its line.

use super::command::{Command, Modifier};
use rebut_engine::model::{Fault, Usage};
use std::time::Duration;

/// A script, read and checked. Its format is described at [`crate::script`].
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub(super) sections: Vec<Section>,
}

/// What is said at the turns of one heading.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub heading: String,
    pub line: usize,
    pub replies: Vec<Reply>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply {
    pub act: Act,
    pub delay: Option<Duration>,
    pub usage: Option<Usage>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    Say {
        text: Text,
        repeat: usize,
        truncated: bool,
    },
    Fail(Fault),
    Hang,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Text {
    Given(String),
    Garbage,
}

/// What is wrong with a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// Nothing to answer with.
    #[error("no heading: write `## turn name` and below it a reply in a fenced code block")]
    NoHeading,
    /// `##` without a name.
    #[error("line {line}: a heading without a turn's name")]
    EmptyHeading {
        /// Where.
        line: usize,
    },
    /// Two sections for the same turns.
    #[error(
        "line {line}: the heading `## {heading}` is already on line {first}; put its replies there"
    )]
    DuplicateHeading {
        /// Where the second is.
        line: usize,
        /// The heading.
        heading: String,
        /// Where the first is.
        first: usize,
    },
    /// A heading with nothing below it.
    #[error(
        "line {line}: no reply below `## {heading}`; add a fenced code block or a line such as \
         `!timeout`"
    )]
    NoReply {
        /// Where the heading is.
        line: usize,
        /// The heading.
        heading: String,
    },
    /// A reply before the first heading.
    #[error("line {line}: a reply before any heading; write `## turn name` above it")]
    OutsideHeading {
        /// Where.
        line: usize,
    },
    /// A code block without an end.
    #[error("line {line}: this code block is never closed; end it with a line of `{fence}`")]
    UnclosedFence {
        /// Where it begins.
        line: usize,
        /// What would close it.
        fence: String,
    },
    /// A word after `!` that means nothing.
    #[error("line {line}: unknown `!{word}`; {known}")]
    UnknownWord {
        /// Where.
        line: usize,
        /// The word.
        word: String,
        /// What was probably meant, or can be.
        known: String,
    },
    /// A known word with something wrong behind it.
    #[error("line {line}: `{text}` does not fit; write it like `{example}`")]
    BadArgument {
        /// Where.
        line: usize,
        /// What is there.
        text: String,
        /// How it should look.
        example: &'static str,
    },
    /// `!truncated`, `!repeat` or `!delay` without the reply it is about.
    #[error(
        "line {line}: nothing follows that this could apply to (`!truncated` and `!repeat` need a \
         text, `!delay` any reply)"
    )]
    NothingToApply {
        /// Where.
        line: usize,
    },
    /// A reply larger than any test needs.
    #[error(
        "line {line}: the repeated reply is larger than {MOST_BYTES} bytes; repeat it less often"
    )]
    TooLarge {
        /// Where.
        line: usize,
    },
}

/// The largest reply a script can give.
pub(super) const MOST_BYTES: usize = 64 << 20;

impl Script {
    /// Reads a script. Bytes that are not UTF-8 become `�`; line ends become `\n`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ScriptError> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut lines = text
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .zip(1..);
        let mut parser = Parser::default();
        while let Some((line, number)) = lines.next() {
            if let Some(fence) = Fence::opened_by(line) {
                parser.require_heading(number)?;
                let text = fence.read(&mut lines).ok_or(ScriptError::UnclosedFence {
                    line: number,
                    fence: fence.mark.to_owned(),
                })?;
                parser.say(number, Text::Given(text))?;
            } else if let Some(name) = line
                .strip_prefix("##")
                .filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
            {
                parser.heading(number, name.trim())?;
            } else if let Some(command) =
                line.strip_prefix('!').filter(|rest| !rest.starts_with('['))
            {
                parser.require_heading(number)?;
                parser.command(number, command)?;
            }
        }
        parser.finish()
    }
}

#[derive(Default)]
struct Parser {
    sections: Vec<Section>,
    /// For the replies that follow in this section.
    usage: Option<Usage>,
    pending: Pending,
}

/// What was said about the next reply, and on which line.
#[derive(Default)]
struct Pending {
    truncated: Option<usize>,
    repeat: Option<(usize, usize)>,
    delay: Option<(usize, Duration)>,
}

impl Parser {
    fn require_heading(&self, line: usize) -> Result<(), ScriptError> {
        if self.sections.is_empty() {
            Err(ScriptError::OutsideHeading { line })
        } else {
            Ok(())
        }
    }

    fn heading(&mut self, line: usize, name: &str) -> Result<(), ScriptError> {
        self.close_section()?;
        if name.is_empty() {
            return Err(ScriptError::EmptyHeading { line });
        }
        if let Some(first) = self.sections.iter().find(|section| section.heading == name) {
            return Err(ScriptError::DuplicateHeading {
                line,
                heading: name.to_owned(),
                first: first.line,
            });
        }
        self.sections.push(Section {
            heading: name.to_owned(),
            line,
            replies: Vec::new(),
        });
        Ok(())
    }

    fn command(&mut self, line: usize, text: &str) -> Result<(), ScriptError> {
        match Command::parse(line, text)? {
            Command::Say(text) => self.say(line, text),
            Command::Fail(fault) => self.act(Act::Fail(fault)),
            Command::Hang => self.act(Act::Hang),
            Command::Modify(modifier) => {
                match modifier {
                    Modifier::Truncated => self.pending.truncated = Some(line),
                    Modifier::Repeat(times) => self.pending.repeat = Some((line, times)),
                    Modifier::Delay(time) => self.pending.delay = Some((line, time)),
                    Modifier::Usage(usage) => self.usage = Some(usage),
                }
                Ok(())
            }
        }
    }

    fn say(&mut self, line: usize, text: Text) -> Result<(), ScriptError> {
        let truncated = self.pending.truncated.take().is_some();
        let repeat = self.pending.repeat.take().map_or(1, |(_, times)| times);
        let length = if let Text::Given(text) = &text {
            text.len()
        } else {
            0
        };
        if repeat > 1
            && length
                .checked_mul(repeat)
                .is_none_or(|bytes| bytes > MOST_BYTES)
        {
            return Err(ScriptError::TooLarge { line });
        }
        self.act(Act::Say {
            text,
            repeat,
            truncated,
        })
    }

    fn act(&mut self, act: Act) -> Result<(), ScriptError> {
        let delay = self.pending.delay.take().map(|(_, time)| time);
        // What a text would have taken up is still there when no text came.
        self.pending.check()?;
        if let Some(section) = self.sections.last_mut() {
            section.replies.push(Reply {
                act,
                delay,
                usage: self.usage,
            });
        }
        Ok(())
    }

    fn close_section(&mut self) -> Result<(), ScriptError> {
        self.pending.check()?;
        self.usage = None;
        match self.sections.last() {
            Some(section) if section.replies.is_empty() => Err(ScriptError::NoReply {
                line: section.line,
                heading: section.heading.clone(),
            }),
            _ => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Script, ScriptError> {
        self.close_section()?;
        if self.sections.is_empty() {
            Err(ScriptError::NoHeading)
        } else {
            Ok(Script {
                sections: self.sections,
            })
        }
    }
}

impl Pending {
    fn check(&self) -> Result<(), ScriptError> {
        let left = [
            self.truncated,
            self.repeat.map(|(line, _)| line),
            self.delay.map(|(line, _)| line),
        ];
        left.into_iter()
            .flatten()
            .min()
            .map_or(Ok(()), |line| Err(ScriptError::NothingToApply { line }))
    }
}

/// The line that opens a code block.
struct Fence<'a> {
    mark: &'a str,
}

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        let start = unindented(line)?;
        let letter = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = start.trim_start_matches(letter);
        let mark = &start[..start.len() - info.len()];
        // "```like this```" on one line is code inside a sentence, not a block.
        (mark.len() >= 3 && !(letter == '`' && info.contains('`'))).then_some(Self { mark })
    }

    /// The text up to the closing line; `None` when there is none.
    fn read<'t>(&self, lines: &mut impl Iterator<Item = (&'t str, usize)>) -> Option<String> {
        let mut text: Option<String> = None;
        for (line, _) in lines {
            if self.is_closed_by(line) {
                return Some(text.unwrap_or_default());
            }
            match &mut text {
                None => text = Some(line.to_owned()),
                Some(text) => {
                    text.push('\n');
                    text.push_str(line);
                }
            }
        }
        None
    }

    fn is_closed_by(&self, line: &str) -> bool {
        unindented(line).is_some_and(|start| {
            let rest = start.trim_end().strip_prefix(self.mark);
            rest.is_some_and(|rest| rest.chars().all(|c| self.mark.starts_with(c)))
        })
    }
}

/// The line without up to three leading blanks; `None` when there are more, as then Markdown sees
/// no fence.
fn unindented(line: &str) -> Option<&str> {
    let start = line.trim_start_matches(' ');
    (line.len() - start.len() <= 3).then_some(start)
}
