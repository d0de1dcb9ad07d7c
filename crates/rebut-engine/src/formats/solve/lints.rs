//! Lints: which linter looks at code of which language, and how many findings it named. A linter
//! that is not there found nothing out. Pure.

use super::config::Config;
use crate::sandbox::{End, Ran};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::LazyLock};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linter {
    pub argv: Vec<String>,
    #[serde(default)]
    counts: Vec<String>,
}

static TABLE: LazyLock<BTreeMap<String, Linter>> = LazyLock::new(|| {
    toml::from_str(include_str!("linters.toml"))
        .expect("the table is part of the program, and a test reads it")
});

impl Linter {
    /// Who looks at code of that language by these settings: the tool `lint` where one is
    /// configured, else the table's; `None` for nobody.
    pub fn of(language: &str, config: &Config) -> Option<Self> {
        let own = &config.tools.lint;
        let own = (!own.is_empty()).then(|| Self {
            argv: own.clone(),
            counts: Vec::new(),
        });
        own.or_else(|| TABLE.get(language).cloned())
            .filter(|_| config.lints)
    }

    /// How many findings a run names. `None` when it did not get to its end, or failed without a
    /// finding: then it is the linter that is broken or missing.
    pub fn count(&self, ran: &Ran) -> Option<u32> {
        let End::Exited(code) = ran.end else {
            return None;
        };
        let counts = |line: &&str| {
            is_finding(line)
                && (self.counts.is_empty() || self.counts.iter().any(|word| line.contains(word)))
        };
        let found = ran
            .stdout
            .lines()
            .chain(ran.stderr.lines())
            .filter(counts)
            .count();
        (found > 0 || code == 0).then(|| u32::try_from(found).unwrap_or(u32::MAX))
    }
}

/// Whether a line begins with a place: `FILE:LINE:`, as compilers and linters write it. `go vet`
/// puts its name before some.
fn is_finding(line: &str) -> bool {
    let mut parts = line.strip_prefix("vet: ").unwrap_or(line).splitn(3, ':');
    let (file, number, rest) = (parts.next(), parts.next(), parts.next());
    let is_name = |file: &str| !file.is_empty() && !file.contains(char::is_whitespace);
    let is_number =
        |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    file.is_some_and(is_name) && number.is_some_and(is_number) && rest.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::LANGUAGES;

    fn ran(end: End, stdout: &str, stderr: &str) -> Ran {
        Ran {
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            ..Ran::plain(end, [])
        }
    }

    #[test]
    fn findings_are_counted_and_a_linter_that_is_not_there_found_nothing_out() {
        let config = |lints: bool, lint: &[&str]| {
            let mut config = Config {
                lints,
                ..Config::default()
            };
            config.tools.lint = lint.iter().map(|word| (*word).to_owned()).collect();
            config
        };
        let on = config(true, &[]);
        let gcc = concat!(
            "solution.c: In function 'main':\nsolution.c:3:9: warning: unused variable 'x' \
             [-Wunused-variable]\n",
            "    3 |     int x;\n      |         ^\nsolution.c:1:1: note: declared here\n"
        );
        let rustc = "solution.rs:2:9: warning: unused variable: `x`\nsolution.rs:3:1: \
            error[E0425]: cannot find value `y`\nwarning: 1 warning emitted\n";
        let rows = [
            ("python", End::Exited(0), "", "", Some(0)),
            (
                "python",
                End::Exited(1),
                "solution.py:1:1: 'os' imported but unused\nsolution.py:4:5: undefined name 'x'\n",
                "",
                Some(2),
            ),
            (
                "python",
                End::Exited(1),
                "",
                "/usr/bin/python3: No module named pyflakes\n",
                None,
            ),
            (
                "python",
                End::TimedOut,
                "solution.py:1:1: 'os' imported but unused\n",
                "",
                None,
            ),
            ("python", End::Signalled(9), "", "", None),
            ("c", End::Exited(0), "", gcc, Some(1)),
            ("rust", End::Exited(1), "", rustc, Some(2)),
            (
                "go",
                End::Exited(1),
                "",
                "# command-line-arguments\n./solution.go:6:2: fmt.Printf format %d has arg \"a\" \
                 of wrong type\n",
                Some(1),
            ),
            (
                "go",
                End::Exited(1),
                "",
                "vet: ./solution.go:6:2: undefined: y\n",
                Some(1),
            ),
            (
                "shell",
                End::Exited(1),
                "solution.sh:2:6: note: Double quote to prevent globbing [SC2086]\n",
                "",
                Some(1),
            ),
        ];
        for (language, end, stdout, stderr, expected) in rows {
            let linter =
                Linter::of(language, &on).unwrap_or_else(|| panic!("{language} has a row"));
            assert_eq!(
                linter.count(&ran(end.clone(), stdout, stderr)),
                expected,
                "{language} {end:?} {stdout}{stderr}"
            );
        }
        assert_eq!(
            (
                Linter::of("javascript", &on),
                Linter::of("python", &config(false, &["ruff"]))
            ),
            (None, None)
        );
        let own = Linter::of(
            "javascript",
            &config(true, &["eslint", "-f", "unix", "{code}"]),
        )
        .expect("a configured one");
        assert_eq!(
            (
                own.argv[0].as_str(),
                own.count(&ran(End::Exited(1), "/box/solution.js:1:1: no-undef\n", ""))
            ),
            ("eslint", Some(1))
        );
        assert!(
            TABLE
                .keys()
                .all(|language| LANGUAGES.contains(&language.as_str())),
            "the table knows no other language"
        );
        for line in [
            "",
            ":1:",
            "a b:1: x",
            "12:00",
            "http://x:80",
            "solution.py:: x",
        ] {
            assert!(!is_finding(line), "{line:?}");
        }
    }
}
