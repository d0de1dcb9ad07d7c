//! Whether tests in shell only call the code as a program and take what comes back as data. Then
//! they are held apart from it; in doubt not.
//!
//! Shell takes data for commands in many places: `eval`, `.`, a variable as the first word,
//! arithmetic (`[[ $x -eq 1 ]]`, `$((x))`), an unquoted word of `[`. And it takes data for
//! patterns: an unquoted word right of `==`, of `case`, or any word of `grep`. Only what is known
//! to do none of this is let through.

use super::{
    shell_origins::Origins,
    shell_words::{Token, Word, is_name, tokens},
};
use std::collections::BTreeSet;

const AROUND: &[&str] = &[
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "time",
];
/// Commands to which every word is data, with blanks between them.
const DATA: &str = "echo true false : exit return break continue shift cat grep egrep fgrep diff \
    cmp wc head tail tr cut uniq rm mkdir \
    rmdir touch cp mv ls basename dirname seq sleep date rev tac nl expr md5sum sha1sum sha256sum \
    cksum od fold paste \
    comm tee mktemp base64 chmod stat pwd id uname printenv";
/// Commands among them that judge, and to which a word may be a pattern, an option or the name of a
/// file: what the code said may not be one.
const JUDGING: &[&str] = &["grep", "egrep", "fgrep", "diff", "cmp", "comm", "expr"];
/// Commands to which a word is neither a file nor a pattern, whatever it says.
const WITHOUT_FILES: &[&str] = &[
    "echo", "true", "false", ":", "exit", "return", "break", "continue", "shift", "basename",
    "dirname", "seq", "sleep", "tr", "printenv",
];
/// Commands that are only known with words that are written out: some of them run what they are
/// told.
const LITERAL: &[&str] = &["set", "sort", "sed", "awk", "read", "unset", "trap", "cd"];
/// Variables by which a shell or the system's linker chooses what to run.
const CHOOSING: &[&str] = &[
    "PATH",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "TMPDIR",
    "HOME",
    "PWD",
];
/// Places that are not carried over, or where processes see each other.
const PLACES: &[&str] = &[
    "/tmp", "/proc", "/dev/shm", "/dev/fd", "/dev/tcp", "/dev/udp", "/in/", "/.inner",
];

/// The folder of the script, as scripts write it.
pub(super) const OWN_FOLDER: &str = r#""$(dirname "$0")""#;

/// Whether the text shows that the code is only called as a program.
pub(in super::super) fn holds_apart(text: &str) -> bool {
    // What a call does not read must be left for `read`, which a stand-in cannot do.
    let is_known = |script: Script| script.calls > 0 && !(script.reads && script.unfed > 0);
    !PLACES.iter().any(|place| text.contains(place)) && Script::of(text).is_some_and(is_known)
}

struct Script {
    functions: BTreeSet<String>,
    origins: Origins,
    /// Variables that the script sets to numbers that are written out or counted.
    numbers: BTreeSet<String>,
    /// Variables that it also sets to something else.
    unsure: BTreeSet<String>,
    calls: usize,
    /// Calls that read what the script itself reads from.
    unfed: usize,
    reads: bool,
}

impl Script {
    /// Looks at every command; nothing when one of them is not known.
    fn of(text: &str) -> Option<Self> {
        let tokens = tokens(text)?;
        let functions = functions(&tokens);
        let origins = Origins::of(&tokens, &functions);
        let (numbers, unsure) = (BTreeSet::new(), BTreeSet::new());
        let mut script = Self {
            functions,
            origins,
            numbers,
            unsure,
            calls: 0,
            unfed: 0,
            reads: false,
        };
        script.assignments(&tokens);
        script.commands(&tokens, false)?;
        Some(script)
    }

    /// Finds the variables that are set to numbers, and those that are set to something else.
    fn assignments(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let word = match token {
                Token::Word(word) => word,
                Token::Arithmetic(text) => {
                    self.numbers.extend(counted(text));
                    continue;
                }
                Token::Operator(_) => continue,
            };
            self.numbers
                .extend(word.arithmetic.iter().flat_map(|text| counted(text)));
            if let Some((name, value)) = assigned(word) {
                let is_number = matches!(value, "$?" | "$#" | "$!")
                    || !value.is_empty() && value.chars().all(|c| c.is_ascii_digit());
                let is_counted =
                    word.commands.is_empty() && value.starts_with("$((") && value.ends_with("))");
                let is_sure = is_number || is_counted;
                if is_sure {
                    &mut self.numbers
                } else {
                    &mut self.unsure
                }
                .insert(name.to_owned());
            }
            let following: Vec<&str> = tokens[at + 1..].iter().map_while(raw).collect();
            match (word.raw.as_str(), following.as_slice()) {
                ("for", [name, "in", list @ ..])
                    if list.iter().all(|word| word.parse::<u32>().is_ok()) =>
                {
                    self.numbers.insert((*name).to_owned());
                }
                ("for", [name, ..]) => drop(self.unsure.insert((*name).to_owned())),
                ("read", names) => self
                    .unsure
                    .extend(names.iter().map(|name| (*name).to_owned())),
                _ => {}
            }
            for command in &word.commands {
                if let Some(inside) = super::shell_words::tokens(command) {
                    self.assignments(&inside);
                }
            }
        }
    }

    /// Looks at a list of commands; `is_fed` says whether they read from something of their own.
    fn commands(&mut self, tokens: &[Token], is_fed: bool) -> Option<()> {
        let mut at = 0;
        let mut piped = false;
        while at < tokens.len() {
            match &tokens[at] {
                Token::Operator(operator) if operator.contains(['<', '>']) => {
                    // Of a loop, or before the command.
                    let Some(Token::Word(target)) = tokens.get(at + 1) else {
                        return None;
                    };
                    self.redirected(operator, target)?;
                    at += 2;
                }
                Token::Operator(operator) => {
                    piped = matches!(*operator, "|" | "|&") || piped && *operator == "\n";
                    at += 1;
                }
                Token::Arithmetic(text) => {
                    self.arithmetic(text)?;
                    at += 1;
                }
                Token::Word(word) if word.raw == "for" => at = self.heading(tokens, at)?,
                Token::Word(word) if word.raw == "case" => {
                    at = self.cases(tokens, at, is_fed || piped)?
                }
                Token::Word(word) if word.raw == "function" => at += 2,
                Token::Word(word) if is_around(word) => at += 1,
                Token::Word(word) if word.raw == "[[" => at = self.condition(tokens, at)?,
                Token::Word(_)
                    if tokens[at + 1..]
                        .starts_with(&[Token::Operator("("), Token::Operator(")")]) =>
                {
                    at += 3
                }
                Token::Word(_) => {
                    let end = at
                        + tokens[at..]
                            .iter()
                            .position(ends)
                            .unwrap_or(tokens.len() - at);
                    self.command(&tokens[at..end], is_fed || piped)?;
                    at = end;
                    piped = false;
                }
            }
        }
        Some(())
    }

    /// `for NAME in …`, up to the words of the list.
    fn heading(&mut self, tokens: &[Token], at: usize) -> Option<usize> {
        if let Some(Token::Arithmetic(text)) = tokens.get(at + 1) {
            self.arithmetic(text)?;
            return Some(at + 2);
        }
        let mut at = at + 1;
        while let Some(Token::Word(word)) = tokens.get(at) {
            self.data(word)?;
            at += 1;
        }
        Some(at)
    }

    /// `case WORD in PATTERN) …;; esac`.
    fn cases(&mut self, tokens: &[Token], at: usize, is_fed: bool) -> Option<usize> {
        let is = |at: usize, raw: &str| matches!(tokens.get(at), Some(Token::Word(word)) if word.raw == raw);
        let Some(Token::Word(word)) = tokens.get(at + 1) else {
            return None;
        };
        self.data(word)?;
        let mut at = at + 3;
        loop {
            while tokens.get(at) == Some(&Token::Operator("\n")) {
                at += 1;
            }
            if is(at, "esac") {
                return Some(at + 1);
            }
            while tokens.get(at)? != &Token::Operator(")") {
                if let Token::Word(word) = &tokens[at] {
                    self.pattern(word)?;
                }
                at += 1;
            }
            let begin = at + 1;
            // One in another is more than is known here.
            let length = (begin..tokens.len())
                .take_while(|at| tokens[*at] != Token::Operator(";;") && !is(*at, "esac"))
                .count();
            if (begin..begin + length).any(|at| is(at, "case")) {
                return None;
            }
            self.commands(&tokens[begin..begin + length], is_fed)?;
            at = begin
                + length
                + usize::from(tokens.get(begin + length) == Some(&Token::Operator(";;")));
        }
    }

    /// `[[ … ]]` without what takes text for a number or a name.
    fn condition(&mut self, tokens: &[Token], at: usize) -> Option<usize> {
        let length = tokens[at..]
            .iter()
            .position(|token| matches!(token, Token::Word(word) if word.raw == "]]"))?;
        let (mut is_pattern, mut is_expression) = (false, false);
        for token in &tokens[at..at + length] {
            match token {
                // A regular expression is found anywhere in the text, also one in quotes.
                Token::Word(word) if is_pattern && is_expression && !self.origins.is_own(word) => {
                    return None;
                }
                Token::Word(word) if is_pattern => self.pattern(word)?,
                Token::Word(word) if ["==", "=", "!=", "=~"].contains(&word.raw.as_str()) => {
                    (is_pattern, is_expression) = (true, word.raw == "=~");
                }
                Token::Word(word)
                    if ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"]
                        .contains(&word.raw.as_str()) =>
                {
                    return None;
                }
                Token::Word(word) => self.data(word)?,
                Token::Operator(operator) => is_pattern &= !matches!(*operator, "&&" | "||"),
                Token::Arithmetic(_) => return None,
            }
        }
        Some(at + length + 1)
    }

    /// What a word runs and counts, whatever it is for.
    fn word(&mut self, word: &Word) -> Option<()> {
        for command in &word.commands {
            self.commands(&tokens(command)?, false)?;
        }
        word.arithmetic
            .iter()
            .try_for_each(|text| self.arithmetic(text))
    }

    /// The same for a word that is no more than data.
    fn data(&mut self, word: &Word) -> Option<()> {
        if mentions(word) {
            None
        } else {
            self.word(word)
        }
    }

    /// What stands behind a redirection. The code does not say which file that is: in the tests'
    /// cell lie the tests and what they expect.
    fn redirected(&mut self, operator: &str, word: &Word) -> Option<()> {
        (operator == "<<<" || self.origins.is_own(word) && !word.globs).then_some(())?;
        self.data(word)
    }

    /// The same for a pattern: what the code said is none, and no part of one. `*"$got"*` is found
    /// in everything if the code says nothing.
    fn pattern(&mut self, word: &Word) -> Option<()> {
        (self.origins.is_own_pattern(word) && (!word.globs || self.origins.is_own(word)))
            .then_some(())?;
        self.data(word)
    }

    /// Whether a variable is set to numbers only. One that the script does not set is none: the
    /// shell has its own, and puts there what it read.
    fn is_number(&self, name: &str) -> bool {
        self.numbers.contains(name) && !self.unsure.contains(name)
    }

    /// Whether all that a word expands outside of quotes is a number.
    fn is_whole(&self, word: &Word) -> bool {
        let is_number = |name: &String| match name.as_str() {
            "?" | "#" | "!" | "$" => true,
            name => self.is_number(name),
        };
        word.unquoted.iter().all(is_number)
    }

    /// Arithmetic looks into the values of variables, and what it finds there it runs. So only with
    /// numbers.
    fn arithmetic(&self, text: &str) -> Option<()> {
        let mut names = text
            .split(|c| !is_name(c))
            .filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()));
        let is_plain =
            !text.contains(['(', ')', '[', '`', '\'', '"', '{', '@', '\\']) && !text.contains("$$");
        let positional = text
            .split('$')
            .skip(1)
            .any(|rest| !rest.starts_with(|c: char| is_name(c) && !c.is_ascii_digit()));
        (is_plain && !positional && names.all(|name| self.is_number(name))).then_some(())
    }

    /// One simple command with its redirections.
    fn command(&mut self, tokens: &[Token], is_fed: bool) -> Option<()> {
        let mut words: Vec<&Word> = Vec::new();
        let (is_piped, unfed) = (is_fed, self.unfed);
        let (mut is_fed, mut redirection) = (is_fed, None);
        for token in tokens {
            match token {
                Token::Word(word) => match redirection.take() {
                    Some(operator) => self.redirected(operator, word)?,
                    None => {
                        self.word(word)?;
                        words.push(word);
                    }
                },
                Token::Operator(operator) => {
                    is_fed |= operator.starts_with('<');
                    redirection = Some(operator);
                }
                Token::Arithmetic(_) => return None,
            }
        }
        // A call in a word would take what this command is to read.
        (!is_piped || self.unfed == unfed).then_some(())?;
        let set = words
            .iter()
            .take_while(|word| assigned(word).is_some())
            .count();
        words[..set].iter().try_for_each(|word| {
            if mentions(word) {
                None
            } else {
                may_be_set(assigned(word)?.0)
            }
        })?;
        match &words[set..] {
            // Variables are set, or something is only redirected.
            [] => (set > 0).then_some(()),
            [name, rest @ ..] => self.named(name, rest, is_fed),
        }
    }

    fn named(&mut self, name: &Word, rest: &[&Word], is_fed: bool) -> Option<()> {
        if is_code(name) {
            self.calls += 1;
            self.unfed += usize::from(!is_fed);
            return rest.iter().all(|word| !mentions(word)).then_some(());
        }
        let name = name.plain.as_deref()?;
        match name {
            "bash" | "sh" => {
                let options = rest.iter().take_while(|word| is_option(word)).count();
                rest.get(options)
                    .filter(|word| is_code(word) || word.raw == "solution.sh")?;
                self.named(
                    &Word {
                        raw: "./solution.sh".to_owned(),
                        ..Word::default()
                    },
                    &rest[options + 1..],
                    is_fed,
                )
            }
            "timeout" | "env" => {
                let before = rest
                    .iter()
                    .take_while(|word| {
                        !is_code(word) && !matches!(word.raw.as_str(), "bash" | "sh")
                    })
                    .count();
                let is_known = |word: &&Word| match (name, assigned(word)) {
                    ("env", Some((name, _))) => may_be_set(name).is_some(),
                    ("env", None) => false,
                    // A duration, an option, the name of a signal.
                    _ => word.plain.as_ref().is_some_and(|plain| {
                        !plain.starts_with(|c: char| c.is_lowercase() || c == '/' || c == '.')
                    }),
                };
                let (head, tail) = rest.split_at(before);
                head.iter().all(is_known).then_some(())?;
                self.named(tail.first()?, &tail[1..], is_fed)
            }
            "[" | "test" => self.is_test(rest).then_some(()),
            "wait" => {
                (rest.len() <= 1 && rest.iter().all(|word| self.is_whole(word))).then_some(())
            }
            "printf" => {
                let format = rest.first()?.plain.as_deref()?;
                (!format.starts_with('-')).then_some(())
            }
            "export" | "readonly" | "local" => rest.iter().try_for_each(|word| {
                let name =
                    assigned(word).map_or_else(|| word.plain.as_deref(), |(name, _)| Some(name))?;
                (name.chars().all(is_name) && !mentions(word)).then(|| may_be_set(name))?
            }),
            // More words than meant would be other arguments than meant.
            _ if self.functions.contains(name) => {
                let is_one =
                    |word: &Word| !word.globs && (self.is_whole(word) || self.origins.is_own(word));
                rest.iter()
                    .all(|word| !mentions(word) && is_one(word))
                    .then_some(())
            }
            _ if LITERAL.contains(&name) => self.literal(name, rest),
            _ if is_data(name) => {
                let reads_folder = |word: &&Word| {
                    matches!(
                        word.raw.as_str(),
                        "." | "./" | ".." | "-r" | "-R" | "-rq" | "-qr"
                    ) && name != "ls"
                        && name != "rm"
                };
                let is_known = |word: &&Word| {
                    (name == "echo" || !mentions(word))
                        && !reads_folder(word)
                        && !may_be_the_code(word)
                        && (WITHOUT_FILES.contains(&name) || self.origins.is_own(word))
                };
                (rest.iter().all(is_known) && (!JUDGING.contains(&name) || self.judges(name, rest)))
                    .then_some(())
            }
            _ => None,
        }
    }

    /// Whether a command that judges has its words from the tests, and its patterns not from a
    /// file.
    fn judges(&self, name: &str, rest: &[&Word]) -> bool {
        let is_file = |raw: &str| {
            raw.starts_with("--f")
                || raw.starts_with('-') && !raw.starts_with("--") && raw.contains('f')
        };
        rest.iter().all(|word| {
            self.origins.is_own(word) && !(name.ends_with("grep") && is_file(&word.raw))
        })
    }

    /// `[ … ]` whose words stay the words that they are, and none of which names a variable or can
    /// become an operator before another.
    fn is_test(&self, rest: &[&Word]) -> bool {
        let is_data = |word: &&Word| {
            self.is_whole(word)
                && !word.globs
                && !mentions(word)
                && !["-v", "-R"].contains(&word.raw.as_str())
        };
        let words = || rest.iter().filter(|word| word.raw != "]");
        // With more words than an operator takes, what the code said may be one: `(`, `!`.
        let count = words().skip_while(|word| word.raw == "!").count();
        let is_own = |word: &&Word| self.origins.is_own(word);
        words().all(is_data)
            && (count <= 3 || words().all(is_own))
            && !words()
                .zip(words().skip(1))
                .any(|(one, next)| one.plain.is_none() && next.plain.is_none())
    }

    /// A command that is only known with words that are written out.
    fn literal(&mut self, name: &str, rest: &[&Word]) -> Option<()> {
        if name == "cd" && rest.len() == 1 && rest[0].raw == OWN_FOLDER {
            return Some(());
        }
        self.reads |= name == "read";
        let plain: Vec<&str> = rest
            .iter()
            .map(|word| {
                word.plain
                    .as_deref()
                    .filter(|_| !word.globs || name == "sed" || name == "awk")
            })
            .collect::<Option<_>>()?;
        if rest.iter().any(|word| mentions(word)) {
            return None;
        }
        match name {
            "trap" => {
                // What it sets and counts would have to be known before.
                let inside = plain
                    .first()
                    .filter(|text| !text.contains('=') && !text.contains("(("))?;
                self.commands(&tokens(inside)?, false)
            }
            "sort" => plain
                .iter()
                .all(|word| !word.starts_with("--") && !word.starts_with("-S"))
                .then_some(()),
            "sed" => plain.iter().all(|word| is_sed(word)).then_some(()),
            "awk" => plain.iter().all(|word| is_awk(word)).then_some(()),
            _ => Some(()),
        }
    }
}

/// The variables that arithmetic sets: `i = 0`, `i++`, `n += 2`.
pub(super) fn counted(text: &str) -> Vec<String> {
    const SETTING: &[&str] = &[
        "=", "++", "--", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=",
    ];
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(is_name) {
        let end = begin
            + rest[begin..]
                .find(|c| !is_name(c))
                .unwrap_or(rest.len() - begin);
        let (before, after) = (rest[..begin].trim_end(), rest[end..].trim_start());
        let is_set =
            !after.starts_with("==") && SETTING.iter().any(|operator| after.starts_with(operator));
        if is_set || before.ends_with("++") || before.ends_with("--") {
            found.push(rest[begin..end].to_owned());
        }
        rest = &rest[end..];
    }
    found
}

/// The names of functions that the script defines.
fn functions(tokens: &[Token]) -> BTreeSet<String> {
    let named = tokens.windows(3).filter_map(|three| match three {
        [
            Token::Word(name),
            Token::Operator("("),
            Token::Operator(")"),
        ] => name.plain.clone(),
        [Token::Word(word), Token::Word(name), _] if word.raw == "function" => name.plain.clone(),
        _ => None,
    });
    named.filter(|name| !is_data(name)).collect()
}

fn is_data(command: &str) -> bool {
    DATA.split(' ').any(|known| known == command)
}

/// Whether a token ends a simple command.
pub(super) fn ends(token: &Token) -> bool {
    matches!(
        token,
        Token::Operator("\n" | ";;" | "&&" | "||" | "|&" | "|" | "&" | ";" | "(" | ")")
    )
}

/// The name and the text of `NAME=…`.
pub(super) fn assigned(word: &Word) -> Option<(&str, &str)> {
    let (name, value) = word.raw.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_variable = !name.is_empty()
        && name.chars().all(is_name)
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_variable.then_some((name, value))
}

fn may_be_set(name: &str) -> Option<()> {
    (!CHOOSING.contains(&name) && !name.starts_with("BASH") && !name.starts_with("LD_"))
        .then_some(())
}

/// A word before or behind commands.
pub(super) fn is_around(word: &Word) -> bool {
    AROUND.contains(&word.raw.as_str())
}

/// The code as the first word of a command.
pub(super) fn is_code(word: &Word) -> bool {
    [
        "./solution.sh",
        "\"./solution.sh\"",
        "'./solution.sh'",
        "$PWD/solution.sh",
        "\"$PWD/solution.sh\"",
    ]
    .contains(&word.raw.as_str())
}

/// Tests that look at the file of the code would see the stand-in.
fn mentions(word: &Word) -> bool {
    // What its commands name is looked at where they are.
    let own = word.commands.iter().fold(word.raw.clone(), |raw, command| {
        raw.replacen(command.as_str(), "", 1)
    });
    own.contains("solution")
}

/// A word as it is written.
fn raw(token: &Token) -> Option<&str> {
    if let Token::Word(word) = token {
        Some(&word.raw)
    } else {
        None
    }
}

/// Whether a pattern for file names may stand for the code.
fn may_be_the_code(word: &Word) -> bool {
    let end = word
        .raw
        .rsplit(['*', '?', ']', '}'])
        .next()
        .unwrap_or_default();
    word.globs && (end.is_empty() || "solution.sh".ends_with(end))
}

fn is_option(word: &Word) -> bool {
    word.plain.as_deref().is_some_and(|plain| {
        plain.starts_with('-') && plain.len() > 1 && plain[1..].chars().all(|c| "eux".contains(c))
    })
}

/// Commands of `sed` that only print, delete or replace.
fn is_sed(word: &str) -> bool {
    if word.starts_with('-') {
        return ["-n", "-E", "-r", "-e", "-s"].contains(&word);
    }
    let Some(delimiter) = word
        .strip_prefix('s')
        .and_then(|rest| rest.chars().next())
        .filter(|c| c.is_ascii_punctuation())
    else {
        // Lines to print or to leave out, or a file.
        return word.chars().all(|c| "0123456789,$pdq".contains(c))
            || word.ends_with(".txt") && word.chars().all(|c| is_name(c) || c == '.');
    };
    let parts: Vec<&str> = word[1 + delimiter.len_utf8()..].split(delimiter).collect();
    parts.len() == 3
        && !word.contains('\n')
        && parts[2].chars().all(|c| "gpiI0123456789".contains(c))
}

/// Programs of `awk` that run nothing, read nothing but their input, and match only what is written
/// out.
fn is_awk(word: &str) -> bool {
    let is_option = !word.starts_with('-') || word == "-v" || word.starts_with("-F");
    let is_written = word
        .split('~')
        .skip(1)
        .all(|rest| rest.trim_start().starts_with('/'))
        && !word.contains("match");
    is_option
        && is_written
        && !["system", "|", "getline", "@"]
            .iter()
            .any(|part| word.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_results_as_data_is_held_apart() {
        let apart = [
            "./solution.sh",
            "[ \"$(./solution.sh 2)\" = 4 ]",
            "for i in 1 2 3; do [ \"$(./solution.sh $i)\" = $((i * 2)) ] || exit 1; done",
            "if ! ./solution.sh a b > out.txt; then echo 'solution.sh failed' >&2; exit 1; fi",
            "printf '1\\n' | ./solution.sh | sort -n | head -n 1 | grep -q '^1$'",
            "while read -r x; do ./solution.sh \"$x\" < /dev/null; done < lines.txt",
            "./solution.sh <<EOF\n$HOME it's\nEOF\n",
            "function check { ./solution.sh \"$1\"; }\ncheck 1",
            "[[ $(./solution.sh) == 4* ]] && [[ -n $x ]]",
            "./solution.sh | sed 's/a/b/g' | awk '{ print $2 }' | tr a b",
            "case $(./solution.sh) in a|b) exit 0;; *) exit 1;; esac",
            "got=$(./solution.sh); want=4; [[ $got == \"$want\" && $got == $want ]]",
            "same() { [[ $1 == $2 ]]; }; same 4 4; ./solution.sh",
            "w=$(mktemp); printf 4 > \"$w\"; ./solution.sh | cmp - \"$w\"",
            "diff <(./solution.sh) <(printf '4\\n')",
            "./solution.sh | grep -q \"$(printf '%s' 4)\"",
            "for ((i = 0; i < 3; i++)); do [ \"$(./solution.sh $i)\" = $((i * 2)) ]; done",
            "i=0; j=2; while [ $i -lt 3 -a $j -gt 0 ]; do ./solution.sh; ((i += 1)); done",
            "got=$(./solution.sh); want=4; [[ $got == *\"$want\"* ]] && [ ! \"$got\" = 5 ] && [[ 4 \
             == \"$got\" ]]",
        ];
        let shared = [
            "",
            "true",
            "# ./solution.sh",
            ". ./solution.sh",
            "source solution.sh; f",
            "eval ./solution.sh",
            "echo ./solution.sh",
            "x=./solution.sh; $x",
            "cat solution.sh; ./solution.sh",
            "cat *; ./solution.sh",
            "cat *.sh; ./solution.sh",
            "grep -r eval .; ./solution.sh",
            "./solution.sh < solution.sh",
            "[ $(./solution.sh) = 4 ]",
            "x=$(./solution.sh); [ $x = 4 ]",
            "x=$(./solution.sh); ((x == 4))",
            "x=$(./solution.sh); [ $((x)) = 4 ]",
            "./solution.sh | while read -r x; do echo $((x)); done",
            "[[ $(./solution.sh) -eq 4 ]]",
            "[ -v \"$(./solution.sh)\" ]",
            "test \"$(./solution.sh)\" \"$(./solution.sh)\"",
            "$(./solution.sh)",
            "`./solution.sh`",
            "./solution.sh | sh",
            "sh -c \"$(./solution.sh)\"",
            "bash -c './solution.sh'",
            "exec ./solution.sh",
            "command ./solution.sh",
            "PATH=. ./solution.sh",
            "export BASH_ENV=x; ./solution.sh",
            "LD_PRELOAD=x ./solution.sh",
            "trap \"$(./solution.sh)\" EXIT",
            "trap 'n=$(./solution.sh); [ $((n)) = 1 ]' EXIT; ./solution.sh",
            "printf -v \"$(./solution.sh)\" 1",
            "printf \"$(./solution.sh)\"",
            "a=($(./solution.sh))",
            "declare -i x=$(./solution.sh)",
            "local -i x=$(./solution.sh)",
            "./solution.sh | xargs -I{} sh -c {}",
            "find . -exec ./solution.sh ;",
            "timeout 5 dash -c 'eval x' ./solution.sh",
            "./solution.sh | sed 's/.*/&/e'",
            "./solution.sh | sed '1e id'",
            "./solution.sh | awk '{ system($0) }'",
            "./solution.sh > /tmp/x",
            "while read -r x; do ./solution.sh \"$x\"; done < lines.txt",
            "./solution.sh; sh ./out",
            "./solution.sh; ./out",
            "cd sub; ../solution.sh",
            "${x:-./solution.sh}",
            "echo ${a[$(./solution.sh)]}",
            "x='",
            "./solution.sh <<EOF\n$(id)\nEOF\n",
            "coproc ./solution.sh",
            "got=$(./solution.sh); [[ 4 == $got ]]",
            "got=$(./solution.sh); x=$got; [[ 4 == $x ]]",
            "got=$(./solution.sh); [[ 4 =~ ^(a|$got) ]]",
            "./solution.sh > o; got=$(cat o); case 4 in a|$got) ;; esac",
            "same() { [[ $1 == $2 ]]; }; same 4 \"$(./solution.sh)\"",
            "grep -q \"$(./solution.sh)\" want.txt",
            "./solution.sh > o; grep -qf o want.txt",
            "echo 4 | grep -q x \"$(./solution.sh)\"",
            "echo 4 | tr a \"$(./solution.sh)\"",
            "./solution.sh < /dev/null > o; read -r < o; [ $REPLY = 4 ]",
            "./solution.sh < /dev/null > o; read -r < o; [ $((REPLY)) = 4 ]",
            "./solution.sh < /dev/null > o; while read -r; do s=$((s + REPLY)); done < o",
            "got=$(./solution.sh); [[ $got =~ [a-z].* ]]; [ $BASH_REMATCH = 4 ]",
            "got=$(./solution.sh); [[ $got =~ [a-z].* ]]; [[ 4 == $BASH_REMATCH ]]",
            "got=$(./solution.sh); : \"$got\"; [ $_ = 4 ]",
            "got=$(./solution.sh); : \"$got\"; [[ 4 == $_ ]]",
            "got=$(./solution.sh); [[ 'it is 4' == *\"$got\"* ]]",
            "got=$(./solution.sh); [[ 'it is 4' =~ \"$got\" ]]",
            "got=$(./solution.sh); case 'it is 4' in *\"$got\"*) ;; esac",
            "a=$(./solution.sh); b=$(./solution.sh); if [ \"$a\" != 4 -o \"$b\" != 9 ]; then exit \
             1; fi",
            "a=$(./solution.sh); [ \\( \"$a\" = 4 \\) ]",
            "./solution.sh | awk '4 ~ $0'",
            "for x in $(./solution.sh); do [[ 4 == $x ]]; done",
            "./solution.sh | { read -r x; [[ 4 == $x ]]; }",
        ];
        for text in apart {
            assert!(holds_apart(text), "{text}");
        }
        for text in shared {
            assert!(!holds_apart(text), "{text}");
        }
    }
}
