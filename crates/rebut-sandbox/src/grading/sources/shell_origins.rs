//! Where the words of a script of tests come from: those that only the tests wrote, and those that
//! the code may have said. And which files the script reads: what it expects may stand in them.

use super::shell_words::{Token, Word, tokens};
use crate::call::inside;
use std::collections::BTreeSet;

/// Commands that say nothing but what their words say, or what no code has a say in.
const OWN: &[&str] = &[
    "echo", "printf", "mktemp", "seq", "date", "pwd", "basename", "dirname", "tr",
];
/// Commands that read none of the files that they name.
const UNREAD: &str = "echo printf true false : exit return break continue shift touch mkdir rmdir \
    rm chmod mktemp seq sleep date pwd id \
    uname printenv basename dirname tr expr tee test [ cd set export local readonly unset read \
    wait ls";
/// Commands that start the code: what they name is the code's to read.
const CALLS: &[&str] = &["bash", "sh", "timeout", "env"];

/// Variables of the shell that hold nothing of the code. All others that a script does not set are
/// the shell's: it puts there what it read or matched.
const SYSTEM: &[&str] = &[
    "PWD", "HOME", "TMPDIR", "PATH", "IFS", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID",
    "HOSTNAME", "USER",
];

/// The variables of a script that may hold what the code said.
pub(super) struct Origins {
    foreign: BTreeSet<String>,
    set: BTreeSet<String>,
    arguments: bool,
}

impl Origins {
    /// Goes through a script until nothing more is found.
    pub(super) fn of(all: &[Token], functions: &BTreeSet<String>) -> Self {
        let mut origins = Self {
            foreign: BTreeSet::new(),
            set: set_in(all),
            arguments: false,
        };
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
                "read" => self
                    .foreign
                    .extend(following().map(|word| word.raw.clone())),
                "for" => {
                    let is_list = following().nth(1).is_some_and(|word| word.raw == "in");
                    let is_own = is_list
                        && following()
                            .skip(2)
                            .all(|word| self.is_own(word) && !word.globs);
                    self.foreign.extend(
                        following()
                            .next()
                            .filter(|_| !is_own)
                            .map(|word| word.raw.clone()),
                    );
                }
                raw if functions.contains(raw) => {
                    self.arguments |= following().any(|word| !self.is_own(word) || word.globs)
                }
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
        word.unquoted
            .iter()
            .all(|name| self.is_own_name(name, word))
    }

    fn is_own_name(&self, name: &str, word: &Word) -> bool {
        match name {
            "$(" => word
                .commands
                .iter()
                .all(|command| tokens(command).is_some_and(|all| self.says_own(&all))),
            "?" | "#" | "!" | "$" | "-" | "0" => true,
            "@" | "*" => !self.arguments,
            name if name.starts_with(|c: char| c.is_ascii_digit()) => !self.arguments,
            name => {
                (self.set.contains(name) || SYSTEM.contains(&name)) && !self.foreign.contains(name)
            }
        }
    }

    /// Whether a command says only what the tests wrote.
    fn says_own(&self, all: &[Token]) -> bool {
        all.split(super::script::ends)
            .filter(|part| !part.is_empty())
            .all(|part| {
                let own_words = part.iter().all(|token| {
                    word_of(token).is_some_and(|word| self.is_own(word) && !word.globs)
                });
                let name = word_of(&part[0]).and_then(|word| word.plain.as_deref());
                own_words && name.is_some_and(|name| OWN.contains(&name))
            })
    }
}

/// The variables that a script sets.
fn set_in(all: &[Token]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, token) in all.iter().enumerate() {
        match token {
            Token::Word(word) => {
                found.extend(super::script::assigned(word).map(|(name, _)| name.to_owned()));
                if word.raw == "for" {
                    found.extend(
                        all.get(at + 1)
                            .and_then(word_of)
                            .map(|word| word.raw.clone()),
                    );
                }
                found.extend(
                    word.arithmetic
                        .iter()
                        .flat_map(|text| super::script::counted(text)),
                );
                found.extend(
                    word.commands
                        .iter()
                        .flat_map(|command| set_in(&tokens(command).unwrap_or_default())),
                );
            }
            Token::Arithmetic(text) => found.extend(super::script::counted(text)),
            Token::Operator(_) => {}
        }
    }
    found
}

/// The files that a script reads itself, and what it takes for files and for folders.
#[derive(Debug, Default)]
pub(in super::super) struct Read {
    paths: BTreeSet<String>,
    /// Whether some of them are not written out.
    others: bool,
    targets: BTreeSet<String>,
    /// What it copies to, and the like.
    made: BTreeSet<String>,
    /// What stands where a folder must, and what has something below it.
    folders: BTreeSet<String>,
    /// Whether it writes to something that is not written out.
    writes_others: bool,
}

/// What a folder of the code may be to a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Meant {
    /// The script knows it as a folder, or does not know it.
    Folder,
    /// The script knows a file of that name: it would write into the folder, or not at all, and
    /// compare with what lies there.
    File,
    Unknown,
}

/// Commands that want folders, and those that make the files that they name.
const WANT_FOLDERS: &[&str] = &["cd", "mkdir"];
const MAKE_FILES: &[&str] = &["cp", "mv", "tee", "touch", "sort"];

impl Read {
    /// What the text of the tests shows; everything where it is not understood.
    pub(in super::super) fn of(text: &str) -> Self {
        let mut read = Self::default();
        match tokens(text) {
            Some(all) => read.look(&all),
            None => (read.others, read.writes_others) = (true, true),
        }
        read
    }

    /// What a new folder of that name is to the script.
    pub(in super::super) fn meant(&self, folder: &str) -> Meant {
        let within = |known: &String| {
            folder
                .strip_prefix(known.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.targets.iter().any(within) {
            Meant::File
        } else if self.folders.contains(folder) {
            Meant::Folder
        } else if self.made.iter().chain(&self.paths).any(within) {
            Meant::File
        } else if self.writes_others {
            Meant::Unknown
        } else {
            Meant::Folder
        }
    }

    /// Remembers what the words of a command say of files and folders: `a/b` and `-d a` name
    /// folders, `> a` a file.
    fn note(&mut self, part: &[Token]) {
        let is_name = |word: &&Word| {
            !super::script::is_around(word) && super::script::assigned(word).is_none()
        };
        let name = part
            .iter()
            .filter_map(word_of)
            .find(is_name)
            .map_or("", |word| word.raw.as_str());
        for (at, token) in part.iter().enumerate() {
            let Token::Word(word) = token else { continue };
            let before = at.checked_sub(1).map(|before| &part[before]);
            let is_target =
                matches!(before, Some(Token::Operator(operator)) if operator.contains('>'));
            let is_asked = before
                .and_then(word_of)
                .is_some_and(|before| before.raw == "-d");
            self.writes_others |= word.plain.is_none()
                && !word.raw.starts_with("<(")
                && (is_target || MAKE_FILES.contains(&name));
            for said in word
                .raw
                .split(|c: char| c.is_whitespace() || "'\"=,:;(){}<>|&$".contains(c))
            {
                let Some(path) = inside(said).filter(|path| !path.is_empty()) else {
                    continue;
                };
                self.folders
                    .extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
                if is_target {
                    self.targets.insert(path);
                } else if is_asked || said.ends_with('/') || WANT_FOLDERS.contains(&name) {
                    self.folders.insert(path);
                } else if MAKE_FILES.contains(&name) {
                    self.made.insert(path);
                }
            }
        }
    }

    /// Whether the script may read that file of the working folder.
    pub(in super::super) fn has(&self, path: &str) -> bool {
        let within = |read: &String| {
            path.strip_prefix(read.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.others || self.paths.iter().any(within)
    }

    fn look(&mut self, all: &[Token]) {
        for part in all.split(super::script::ends) {
            self.note(part);
            self.look_at_command(part);
        }
        for command in all
            .iter()
            .filter_map(word_of)
            .flat_map(|word| &word.commands)
        {
            self.look(&tokens(command).unwrap_or_default());
        }
    }

    fn look_at_command(&mut self, part: &[Token]) {
        let (mut words, mut targets) = (Vec::new(), Vec::new());
        let mut redirected = None;
        for token in part {
            match (token, redirected.take()) {
                (Token::Word(word), Some("<" | "<>")) => targets.push(word),
                (Token::Word(_), Some(_)) | (Token::Arithmetic(_), _) => {}
                (Token::Word(word), None) => words.push(word),
                (Token::Operator(operator), _) => redirected = Some(*operator),
            }
        }
        let is_around = |word: &&Word| {
            super::script::is_around(word) || super::script::assigned(word).is_some()
        };
        let begin = words.iter().take_while(|word| is_around(word)).count();
        let Some((name, rest)) = words[begin..].split_first() else {
            return targets.into_iter().for_each(|word| self.add(word));
        };
        let known = name.plain.as_deref().unwrap_or_default();
        if super::script::is_code(name) || CALLS.contains(&known) {
            return;
        }
        targets.into_iter().for_each(|word| self.add(word));
        if known == "trap" {
            let inside = rest.first().and_then(|word| tokens(word.plain.as_deref()?));
            return self.look(&inside.unwrap_or_default());
        }
        // From then on its files have other names. Where it lies itself is where it is already.
        self.others |= known == "cd"
            && rest
                .first()
                .is_none_or(|word| word.raw != super::script::OWN_FOLDER);
        let is_loop = matches!(
            name.raw.as_str(),
            "for" | "case" | "[[" | "function" | "done"
        );
        let is_last_made = matches!(known, "cp" | "mv")
            && !rest
                .iter()
                .any(|word| word.raw.starts_with("-t") || word.raw.starts_with("--t"));
        let rest = if is_last_made {
            &rest[..rest.len().saturating_sub(1)]
        } else {
            rest
        };
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
    if let Token::Word(word) = token {
        Some(word)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_told_from_files() {
        use Meant::{File, Folder, Unknown};
        let rows = [
            (
                "./solution.sh > got.txt; echo 4 > want.txt; diff got.txt want.txt",
                "want.txt",
                File,
            ),
            (
                "./solution.sh; echo 4 > want.txt; diff <(./solution.sh) want.txt",
                "want.txt/deep",
                File,
            ),
            (
                "w=want.txt; ./solution.sh; echo 4 > \"$w\"",
                "want.txt",
                Unknown,
            ),
            (
                "rm -rf want.txt; ./solution.sh; echo 4 > want.txt",
                "want.txt",
                File,
            ),
            ("./solution.sh out; [ -e out ] && ls out", "out", Folder),
            ("./solution.sh; echo 4 > \"$w\"", "state", Unknown),
            ("./solution.sh; echo 4 > want.txt", "state", Folder),
            (
                "./solution.sh; cp a want.txt; cmp a want.txt",
                "want.txt",
                File,
            ),
            (
                "./solution.sh; [ -d made ] && ls out && cat given/x > y",
                "made",
                Folder,
            ),
            (
                "./solution.sh; [ -d made ] && ls out && cat given/x > y",
                "out",
                Folder,
            ),
            (
                "./solution.sh; [ -d made ] && ls out && cat given/x > y",
                "given",
                Folder,
            ),
            (
                "./solution.sh; [ -d made ] && ls out && cat given/x > y",
                "y",
                File,
            ),
        ];
        for (text, folder, meant) in rows {
            assert_eq!(Read::of(text).meant(folder), meant, "{text}: {folder}");
        }
    }

    #[test]
    fn files_that_are_read_are_found() {
        let rows = [
            (
                "printf 4 > want.txt; ./solution.sh 2 > got.txt; cmp got.txt ./want.txt",
                "want.txt got.txt",
                "in.txt",
            ),
            ("touch a; ./solution.sh; [ -e a ] && rm -f a", "", "a"),
            (
                "./solution.sh in.txt < more.txt; bash solution.sh in.txt; timeout 5 ./solution.sh \
                 in.txt",
                "",
                "in.txt more.txt",
            ),
            (
                "[ \"$(./solution.sh)\" = \"$(cat want.txt)\" ] && [ \"$(<b)\" = 1 ]",
                "want.txt b",
                "a",
            ),
            (
                "if ! diff <(./solution.sh) dir; then exit 1; fi",
                "dir dir/x",
                "a",
            ),
            (
                "while read -r x; do ./solution.sh \"$x\" < /dev/null; done < lines.txt",
                "lines.txt",
                "a",
            ),
            (
                "w=$(mktemp); ./solution.sh > got; cmp got \"$w\"",
                "got w anything",
                "",
            ),
            ("cat *.txt; ./solution.sh", "anything", ""),
            ("trap 'rm -f \"$w\"' EXIT; ./solution.sh; cp a b", "a", "b"),
            (
                "mkdir t; echo 4 > t/w; ./solution.sh > t/g; cd t; cmp g w",
                "t/w anything",
                "",
            ),
            ("cd \"$(dirname \"$0\")\"; ./solution.sh; cat a", "a", "b"),
            (
                "./solution.sh; read -r w <> want.txt; cp -t d want2.txt",
                "want.txt want2.txt",
                "b",
            ),
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
