//! What the versions of a debate's code are as commits: one file for each candidate while they
//! compete, and at the end the winner's alone under its final name. Made from the journal alone, so
//! that the same journal gives the same commits. Pure.

use crate::versions::{Version, as_file};
use rebut_engine::{DebateId, clean::on_one_line, facts::CodeRecorded};
use std::collections::HashSet;

/// The line of a message that says which version a commit holds.
const VERSION: &str = "Debate-Version";
/// The line of the last commit, which says which version won.
const WINNER: &str = "Debate-Winner";

#[derive(Debug, PartialEq)]
pub struct Step {
    /// Files with their new content; without one they go.
    pub files: Vec<(String, Option<String>)>,
    pub message: String,
    pub author: String,
    pub at: i64,
}

/// Which of them a branch holds already.
#[derive(Debug, Default, PartialEq)]
pub struct Done {
    versions: HashSet<u32>,
    winners: HashSet<u32>,
}

impl Done {
    /// By the messages of its commits.
    pub fn of(messages: &str) -> Self {
        let numbers = |key: &str| {
            let values = messages
                .lines()
                .filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            values
                .filter_map(|number| number.trim().parse().ok())
                .collect()
        };
        Self {
            versions: numbers(VERSION),
            winners: numbers(WINNER),
        }
    }
}

/// Commits with the first lines of their messages, as a list of revisions has them, in its order.
pub fn listed(messages: &str) -> Vec<(&str, &str)> {
    let mut lines = messages.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(hash) = line.strip_prefix("commit ") {
            found.push((hash, lines.next().unwrap_or_default()));
        }
    }
    found
}

/// The commits that are missing, in their order. The winner's comes when there is one.
pub fn missing(
    done: &Done,
    debate: DebateId,
    file: &str,
    versions: &[Version],
    winner: Option<&CodeRecorded>,
) -> Vec<Step> {
    let names = candidate_files(debate, file, versions);
    let name_of = |version: &Version| {
        names
            .iter()
            .find(|(known, _)| *known == &*version.code.candidate)
            .map(|(_, name)| name.clone())
    };
    let mut steps = Vec::new();
    for version in versions
        .iter()
        .filter(|version| !done.versions.contains(&version.code.version))
    {
        let Some(name) = name_of(version) else {
            continue;
        };
        let code = &version.code;
        let phase = version
            .phase
            .as_deref()
            .map(|phase| format!(", {}", on_one_line(phase)))
            .unwrap_or_default();
        let candidate = on_one_line(&code.candidate);
        let (tests, turn) = (version.tests_in_words(), on_one_line(&code.turn));
        steps.push(Step {
            message: format!(
                "Version {number} of {candidate}{phase}: {tests}\n\nTurn: {turn}\n{VERSION}: \
                 {number}\n",
                number = code.version
            ),
            files: vec![(name, Some(as_file(&code.code)))],
            author: identity(version.author()),
            at: version.at,
        });
    }
    if let Some(won) = winner.filter(|won| !done.winners.contains(&won.version)) {
        let files = names
            .iter()
            .map(|(_, name)| (name.clone(), None))
            .chain([(file.to_owned(), Some(as_file(&won.code)))]);
        let tests = versions
            .iter()
            .find(|known| known.code.version == won.version)
            .map(Version::tests_in_words)
            .unwrap_or_default();
        let (number, candidate) = (won.version, on_one_line(&won.candidate));
        steps.push(Step {
            message: format!(
                "Won: version {number} of {candidate}: {tests}\n\n{WINNER}: {number}\n"
            ),
            files: files.collect(),
            author: identity("rebut"),
            at: versions.last().map_or(0, |last| last.at),
        });
    }
    steps
}

/// Each candidate's own file, in a folder that nobody else has. Names that only look alike are told
/// apart by a number.
fn candidate_files<'a>(
    debate: DebateId,
    file: &str,
    versions: &'a [Version],
) -> Vec<(&'a str, String)> {
    let last = file.rsplit('/').next().unwrap_or(file);
    let ending = last
        .rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, ending)| format!(".{ending}"))
        .unwrap_or_default();
    let mut names: Vec<(&str, String)> = Vec::new();
    for version in versions {
        let candidate = &*version.code.candidate;
        if names.iter().any(|(known, _)| *known == candidate) {
            continue;
        }
        let plain = plain_name(candidate);
        let path = |stem: &str| format!("debate-{}/{stem}{ending}", debate.short());
        let stems =
            std::iter::once(plain.clone()).chain((2..).map(|number| format!("{plain}-{number}")));
        let mut free = stems
            .map(|stem| path(&stem))
            .filter(|path| names.iter().all(|(_, taken)| taken != path));
        names.extend(free.next().map(|path| (candidate, path)));
    }
    names
}

/// A name that is one file's on every system.
fn plain_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    match plain.trim_matches('-') {
        "" => "candidate".to_owned(),
        // Some systems have devices of such names.
        "con" | "prn" | "aux" | "nul" => format!("{plain}-agent"),
        plain if plain.starts_with("com") || plain.starts_with("lpt") => format!("agent-{plain}"),
        plain => plain.to_owned(),
    }
}

/// A name that git takes as an author's.
fn identity(name: &str) -> String {
    let name: String = on_one_line(name)
        .chars()
        .filter(|c| !"<>\u{fffd}".contains(*c))
        .take(100)
        .collect();
    let name = name.trim_matches(|c: char| c.is_whitespace() || ".,:;\"\\'".contains(c));
    if name.is_empty() {
        "agent".to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions::tests::version;

    fn subjects(steps: &[Step]) -> Vec<&str> {
        steps
            .iter()
            .map(|step| step.message.lines().next().unwrap_or_default())
            .collect()
    }

    #[test]
    fn what_is_missing_is_committed_and_nothing_twice() {
        let id = DebateId::new();
        let versions = [
            version(1, "ada", "proposal 1/ada", "a"),
            version(2, "bob", "proposal 1/bob", "b\n"),
        ];
        let won = versions[0].code.clone();
        let all = missing(&Done::default(), id, "src/m.py", &versions, Some(&won));
        assert_eq!(
            subjects(&all),
            [
                "Version 1 of ada, proposal: 1 of 3 tests passed",
                "Version 2 of bob, proposal: 2 of 3 tests passed",
                "Won: version 1 of ada: 1 of 3 tests passed"
            ]
        );
        let path = |name: &str| format!("debate-{}/{name}.py", id.short());
        assert_eq!(all[0].files, [(path("ada"), Some("a\n".to_owned()))]);
        assert_eq!(
            all[2].files,
            [
                (path("ada"), None),
                (path("bob"), None),
                ("src/m.py".to_owned(), Some("a\n".to_owned()))
            ]
        );
        assert_eq!(
            (all[1].author.as_str(), all[1].at, all[2].author.as_str()),
            ("bob", 2, "rebut")
        );
        for count in 0..=all.len() {
            let messages: String = all[..count]
                .iter()
                .map(|step| format!("commit abc\n{}\n", step.message))
                .collect();
            let rest = missing(&Done::of(&messages), id, "src/m.py", &versions, Some(&won));
            assert_eq!(rest, all[count..], "after {count}");
        }
        assert_eq!(
            missing(&Done::default(), id, "m", &versions, None).len(),
            2,
            "nothing won"
        );
        assert_eq!(missing(&Done::default(), id, "m", &[], None), []);
    }

    #[test]
    fn hostile_names_lead_nowhere_and_are_told_apart() {
        let id = DebateId::new();
        let names = [
            "../../etc",
            "ETC",
            "\u{1b}[31m",
            "…",
            ".git",
            "con",
            "com1",
            "a\nDebate-Version: 9",
            "x <y>",
        ];
        let versions: Vec<Version> = names
            .iter()
            .zip(1..)
            .map(|(name, number)| version(number, name, &format!("proposal/{name}"), "x"))
            .collect();
        let steps = missing(&Done::default(), id, "m", &versions, None);
        let files: Vec<&str> = steps
            .iter()
            .map(|step| step.files[0].0.rsplit_once('/').expect("a folder").1)
            .collect();
        assert_eq!(
            files,
            [
                "etc",
                "etc-2",
                "31m",
                "candidate",
                "git",
                "con-agent",
                "agent-com1",
                "a-debate-version--9",
                "x--y"
            ]
        );
        for step in &steps {
            crate::git::worktree::check_name(&step.files[0].0).expect("a plain name");
            assert_eq!(
                step.message
                    .lines()
                    .filter(|line| line.starts_with(VERSION))
                    .count(),
                1,
                "{:?}",
                step.message
            );
            assert!(
                !step.author.is_empty() && !step.author.contains(['<', '>', '\n', '\u{1b}']),
                "{:?}",
                step.author
            );
        }
    }
}
