//! Where the words of a script of tests come from: those that only the tests wrote, and those that the code
//! may have said. And which files the script reads: what it expects may stand in them.

use super::shell_words::{Token, Word, tokens};
use crate::call::inside;
use std::collections::BTreeSet;

/// Commands that say nothing but what their words say, or what no code has a say in.
const OWN: &[&str] = &["echo", "printf", "mktemp", "seq", "date", "pwd", "basename", "dirname", "tr"];
/// Commands that read none of the files that they name.
const UNREAD: &str = "echo printf true false : exit return break continue shift touch mkdir rmdir rm chmod mktemp seq sleep date pwd id \
    uname printenv basename dirname tr expr tee test [ cd set export local readonly unset read wait";
/// Commands that start the code: what they name is the code's to read.
const CALLS: &[&str] = &["bash", "sh", "timeout", "env"];

/// The variables of a script that may hold what the code said.
pub(super) struct Origins {
    foreign: BTreeSet<String>,
    /// What functions are called with.
    arguments: bool,
}

impl Origins {
    /// Goes through a script until nothing more is found.
    pub(super) fn of(all: &[Token], functions: &BTreeSet<String>) -> Self {
        let mut origins = Self { foreign: ["REPLY", "_"].map(str::to_owned).into(), arguments: false };
        loop {
            let before = (origins.foreign.len(), origins.arguments);
            origins.follow(all, functions);
            if before == (origins.foreign.len(), origins.arguments) {
                return origins;
            }
        }
    }

    fn follow(&mut self, all: &[Token], functions: &BTreeSet<String>) {
        for (at, token) in all.iter().enumerate() {
            let Token::Word(word) = token else { continue };
            let following = || all[at + 1..].iter().map_while(word_of);
            if let Some((name, _)) = super::script::assigned(word).filter(|_| !self.is_own(word)) {
                self.foreign.insert(name.to_owned());
            }
            match word.raw.as_str() {
                "read" => self.foreign.extend(following().map(|word| word.raw.clone())),
                "for" => {
                    let is_list = following().nth(1).is_some_and(|word| word.raw == "in");
                    let is_own = is_list && following().skip(2).all(|word| self.is_own(word) && !word.globs);
                    self.foreign.extend(following().next().filter(|_| !is_own).map(|word| word.raw.clone()));
                }
                raw if functions.contains(raw) => self.arguments |= following().any(|word| !self.is_own(word) || word.globs),
                _ => {}
            }
            for command in &word.commands {
                self.follow(&tokens(command).unwrap_or_default(), functions);
            }
        }
    }

    /// Whether all that a word becomes was written by the tests.
    pub(super) fn is_own(&self, word: &Word) -> bool {
        word.names.iter().all(|name| self.is_own_name(name, word))
    }

    /// The same for what stands outside of quotes, where signs of a pattern are more than letters.
    pub(super) fn is_own_pattern(&self, word: &Word) -> bool {
        word.unquoted.iter().all(|name| self.is_own_name(name, word))
    }

    fn is_own_name(&self, name: &str, word: &Word) -> bool {
        match name {
            "$(" => word.commands.iter().all(|command| tokens(command).is_some_and(|all| self.says_own(&all))),
            "?" | "#" | "!" | "$" | "-" | "0" => true,
            "@" | "*" => !self.arguments,
            name if name.starts_with(|c: char| c.is_ascii_digit()) => !self.arguments,
            name => !self.foreign.contains(name),
        }
    }

    /// Whether a command says only what the tests wrote.
    fn says_own(&self, all: &[Token]) -> bool {
        all.split(super::script::ends).filter(|part| !part.is_empty()).all(|part| {
            let own_words = part.iter().all(|token| word_of(token).is_some_and(|word| self.is_own(word) && !word.globs));
            let name = word_of(&part[0]).and_then(|word| word.plain.as_deref());
            own_words && name.is_some_and(|name| OWN.contains(&name))
        })
    }
}

/// The files that a script reads itself.
#[derive(Debug, Default)]
pub(in super::super) struct Read {
    paths: BTreeSet<String>,
    /// Whether some of them are not written out.
    others: bool,
}

impl Read {
    /// What the text of the tests shows; everything where it is not understood.
    pub(in super::super) fn of(text: &str) -> Self {
        let mut read = Self::default();
        match tokens(text) {
            Some(all) => read.look(&all),
            None => read.others = true,
        }
        read
    }

    /// Whether the script may read that file of the working folder.
    pub(in super::super) fn has(&self, path: &str) -> bool {
        let within = |read: &String| path.strip_prefix(read.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.others || self.paths.iter().any(within)
    }

    fn look(&mut self, all: &[Token]) {
        for part in all.split(super::script::ends) {
            self.look_at_command(part);
        }
        for command in all.iter().filter_map(word_of).flat_map(|word| &word.commands) {
            self.look(&tokens(command).unwrap_or_default());
        }
    }

    fn look_at_command(&mut self, part: &[Token]) {
        let (mut words, mut targets) = (Vec::new(), Vec::new());
        let mut redirected = None;
        for token in part {
            match (token, redirected.take()) {
                (Token::Word(word), Some("<")) => targets.push(word),
                (Token::Word(_), Some(_)) | (Token::Arithmetic(_), _) => {}
                (Token::Word(word), None) => words.push(word),
                (Token::Operator(operator), _) => redirected = Some(*operator),
            }
        }
        let is_around = |word: &&Word| super::script::is_around(word) || super::script::assigned(word).is_some();
        let begin = words.iter().take_while(|word| is_around(word)).count();
        let Some((name, rest)) = words[begin..].split_first() else { return targets.into_iter().for_each(|word| self.add(word)) };
        let known = name.plain.as_deref().unwrap_or_default();
        if super::script::is_code(name) || CALLS.contains(&known) {
            return;
        }
        targets.into_iter().for_each(|word| self.add(word));
        if known == "trap" {
            let inside = rest.first().and_then(|word| tokens(word.plain.as_deref()?));
            return self.look(&inside.unwrap_or_default());
        }
        let is_loop = matches!(name.raw.as_str(), "for" | "case" | "[[" | "function" | "done");
        let rest = if matches!(known, "cp" | "mv") { &rest[..rest.len().saturating_sub(1)] } else { rest };
        if !is_loop && !UNREAD.split_whitespace().any(|word| word == known) {
            rest.iter().for_each(|word| self.add(word));
        }
    }

    fn add(&mut self, word: &Word) {
        match word.plain.as_deref().filter(|_| !word.globs) {
            Some(plain) => match inside(plain) {
                Some(path) if path.is_empty() => self.others = true,
                path => self.paths.extend(path),
            },
            // What another command says is read, not a file of that name.
            None if word.raw.starts_with("<(") => {}
            None => self.others = true,
        }
    }
}

fn word_of(token: &Token) -> Option<&Word> {
    if let Token::Word(word) = token { Some(word) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_read_are_found() {
        let rows = [
            ("printf 4 > want.txt; ./solution.sh 2 > got.txt; cmp got.txt ./want.txt", "want.txt got.txt", "in.txt"),
            ("touch a; ./solution.sh; [ -e a ] && rm -f a", "", "a"),
            ("./solution.sh in.txt < more.txt; bash solution.sh in.txt; timeout 5 ./solution.sh in.txt", "", "in.txt more.txt"),
            ("[ \"$(./solution.sh)\" = \"$(cat want.txt)\" ] && [ \"$(<b)\" = 1 ]", "want.txt b", "a"),
            ("if ! diff <(./solution.sh) dir; then exit 1; fi", "dir dir/x", "a"),
            ("while read -r x; do ./solution.sh \"$x\" < /dev/null; done < lines.txt", "lines.txt", "a"),
            ("w=$(mktemp); ./solution.sh > got; cmp got \"$w\"", "got w anything", ""),
            ("cat *.txt; ./solution.sh", "anything", ""),
            ("trap 'rm -f \"$w\"' EXIT; ./solution.sh; cp a b", "a", "b"),
        ];
        for (text, read, unread) in rows {
            let found = Read::of(text);
            for path in read.split_whitespace() {
                assert!(found.has(path), "{text}: {path}");
            }
            for path in unread.split_whitespace() {
                assert!(!found.has(path), "{text}: {path}");
            }
        }
    }
}
