//! The book of one run of tests: which there are, how each went, and why it cannot be believed.
//! Pure.

use rebut_engine::sandbox::{Style, TestRun, TestVerdict};
use serde::Deserialize;

/// The results so far. Only what was expected and told exactly once becomes a result.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// Names the text of the tests shows without running anything.
    listed: Vec<String>,
    /// Names that were collected, in order.
    names: Option<Vec<String>>,
    results: Vec<(TestVerdict, String)>,
    current: Option<usize>,
    /// What went wrong outside of every test: rows that are never a pass.
    outside: Vec<TestRun>,
    /// Whether an object of the code decided something that passed.
    doubted: bool,
    done: bool,
    distrust: Option<String>,
}

/// What the process of the tests says to us.
#[derive(Debug, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(super) enum Said {
    /// The tests that the text alone shows; said before anything of the code was touched.
    Listed {
        names: Vec<String>,
        #[serde(default)]
        style: Option<Style>,
    },
    Collected {
        names: Vec<String>,
    },
    Begin {
        number: usize,
    },
    /// A test is over. Doubted: an object of the code decided something by then where the tests may
    /// have meant plain data.
    End {
        number: usize,
        verdict: TestVerdict,
        output: String,
        #[serde(default)]
        doubted: bool,
    },
    /// Something outside of every test went wrong.
    Outside {
        name: String,
        verdict: TestVerdict,
        output: String,
    },
    Done,
    /// The code's process answered with something that is no answer.
    Broken {
        why: String,
    },
    /// Something the tests need is not installed.
    Missing {
        what: String,
    },
    /// The code, or the top level of the tests, could not be run.
    Unloaded {
        why: String,
    },
    Unreadable {
        why: String,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    On,
    /// A test began: its time starts now.
    Begun,
    /// A test is over, or there is a new list.
    Moved,
    /// Nothing more will come of this.
    Over,
    /// The pair of processes is of no more use; the tests that are left need a new one.
    Anew,
    Missing(String),
}

/// The longest output kept of a test, in bytes.
const OUTPUT: usize = 2048;
/// The most tests a file may have.
const MOST_TESTS: usize = 10_000;
/// The most results outside of every test.
const MOST_OUTSIDE: usize = 100;

impl Book {
    /// Takes in what the process of the tests says.
    pub(super) fn hear(&mut self, said: Said) -> Next {
        match said {
            Said::Listed { names, .. } => {
                self.listed = names;
                Next::On
            }
            Said::Collected { names } => self.collect(names),
            Said::Begin { number }
                if self.current.is_none()
                    && number == self.results.len()
                    && number < self.len() =>
            {
                self.current = Some(number);
                Next::Begun
            }
            Said::End {
                number,
                verdict,
                output,
                doubted,
            } if self.current == Some(number) => {
                self.doubted |= doubted && verdict == TestVerdict::Pass;
                self.settle(verdict, &output);
                Next::Moved
            }
            Said::Begin { .. } | Said::End { .. } => {
                self.doubt("a result was told that was not due")
            }
            Said::Outside {
                name,
                verdict,
                output,
            } => {
                self.fail_outside(&name, verdict, &output);
                Next::On
            }
            Said::Done
                if self.current.is_none()
                    && self.names.is_some()
                    && self.results.len() == self.len() =>
            {
                self.done = true;
                Next::Over
            }
            Said::Done => self.doubt("the runner ended before every test had its result"),
            Said::Broken { why } => {
                self.lose(
                    TestVerdict::Error,
                    &format!("the process of the code did not speak as agreed: {why}"),
                );
                Next::Anew
            }
            Said::Missing { what } => Next::Missing(what),
            Said::Unloaded { why } => {
                self.give_up(TestVerdict::Error, &why);
                Next::Over
            }
            Said::Unreadable { why } => self.doubt(&format!("the tests cannot be read: {why}")),
        }
    }

    fn collect(&mut self, names: Vec<String>) -> Next {
        if names.len() > MOST_TESTS {
            return self.doubt(&format!("there are more than {MOST_TESTS} tests"));
        }
        if let Some(missing) = self
            .listed
            .iter()
            .find(|listed| !names.iter().any(|name| stands_for(name, listed)))
        {
            let why = format!("the test {missing:?} is in the file and was not collected");
            return self.doubt(&why);
        }
        if self.names.as_ref().is_some_and(|before| *before != names) {
            return self.doubt("other tests were collected the second time");
        }
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return self.doubt("two tests have the same name");
        }
        self.names = Some(names);
        Next::Moved
    }

    /// The test under way, if any, has this end; else nothing happens, and `false` is answered.
    pub(super) fn lose(&mut self, verdict: TestVerdict, why: &str) -> bool {
        let under_way = self.current.is_some();
        if under_way {
            self.settle(verdict, why);
        }
        under_way
    }

    /// No test that is left can be run: all of them have this end. Where none is left, it went
    /// wrong after the last one, and that is no pass either.
    pub(super) fn give_up(&mut self, verdict: TestVerdict, why: &str) {
        self.current = None;
        if self.len() > 0 && self.results.len() == self.len() {
            self.fail_outside("after the last test", verdict, why);
        }
        if self.names.is_none() {
            self.names = Some(std::mem::take(&mut self.listed));
        }
        while self.results.len() < self.len() {
            self.settle(verdict, why);
        }
        self.done = true;
    }

    /// Every test has its result, and nothing more is to come.
    pub(super) fn finish(&mut self) {
        self.done = true;
    }

    /// Adds a result that no test stands for. It can only lose: a pass told here is an error.
    fn fail_outside(&mut self, name: &str, verdict: TestVerdict, output: &str) {
        let verdict = if verdict == TestVerdict::Pass {
            TestVerdict::Error
        } else {
            verdict
        };
        let known = self
            .names
            .iter()
            .flatten()
            .chain(self.outside.iter().map(|run| &run.name));
        let same = known
            .filter(|known| *known == name || known.starts_with(&format!("{name} #")))
            .count();
        let name = if same == 0 {
            name.to_owned()
        } else {
            format!("{name} #{}", same + 1)
        };
        if self.outside.len() < MOST_OUTSIDE {
            self.outside.push(TestRun {
                name,
                verdict,
                output: tail(output, OUTPUT),
            });
        }
    }

    /// The results cannot be believed as a whole.
    pub(super) fn doubt(&mut self, why: &str) -> Next {
        self.distrust.get_or_insert_with(|| why.to_owned());
        Next::Over
    }

    fn settle(&mut self, verdict: TestVerdict, output: &str) {
        self.current = None;
        self.results.push((verdict, tail(output, OUTPUT)));
    }

    /// How many tests have their result.
    pub(super) fn settled(&self) -> usize {
        self.results.len()
    }

    /// How many tests there are, as far as is known.
    pub(super) fn len(&self) -> usize {
        self.names.as_ref().map_or(0, Vec::len)
    }

    /// Whether a test is under way.
    pub(super) fn is_testing(&self) -> bool {
        self.current.is_some()
    }

    /// Whether the code had a say in a pass.
    pub(super) fn is_doubted(&self) -> bool {
        self.doubted
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        self.done || self.distrust.is_some()
    }

    /// The results, and why they cannot be believed. No test is a reason not to.
    pub(super) fn close(mut self) -> (Vec<TestRun>, Option<String>) {
        let names = self
            .names
            .take()
            .unwrap_or(std::mem::take(&mut self.listed));
        if !self.is_over() {
            self.doubt("the runner ended early");
        }
        if names.is_empty() {
            self.doubt(super::NO_TEST);
        }
        let none = || (TestVerdict::Error, "it was not run".to_owned());
        let mut results = self.results.into_iter();
        let runs = names.into_iter().map(|name| {
            let (verdict, output) = results.next().unwrap_or_else(none);
            TestRun {
                name,
                verdict,
                output,
            }
        });
        (runs.chain(self.outside).collect(), self.distrust)
    }
}

/// Whether a collected test is one that the text shows: the same, one of its parameters, or inside
/// a group.
fn stands_for(name: &str, listed: &str) -> bool {
    name == listed
        || name
            .strip_prefix(listed)
            .is_some_and(|rest| rest.starts_with('[') || rest.starts_with(" #"))
        || name.ends_with(&format!(" > {listed}"))
}

/// The end of a text, at most that many bytes of it.
pub(super) fn tail(text: &str, most: usize) -> String {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(lines: &[serde_json::Value]) -> (Vec<TestVerdict>, Option<String>) {
        let mut book = Book::default();
        for line in lines {
            book.hear(
                serde_json::from_value(line.clone()).expect("a line as the runner writes it"),
            );
        }
        let (runs, distrust) = book.close();
        (runs.iter().map(|run| run.verdict).collect(), distrust)
    }

    #[test]
    fn only_what_was_due_and_told_once_is_a_result() {
        use TestVerdict::{Error, Pass};
        let listed = json!({"say": "listed", "names": ["a", "b"]});
        let collected = json!({"say": "collected", "names": ["a", "b"]});
        let begin = |number: usize| json!({"say": "begin", "number": number});
        let end = |number: usize| json!({"say": "end", "number": number, "verdict": "pass", "output": ""});
        let done = json!({"say": "done"});
        let all = [
            &listed,
            &collected,
            &begin(0),
            &end(0),
            &begin(1),
            &end(1),
            &done,
        ]
        .map(Clone::clone);
        assert_eq!(told(&all), (vec![Pass, Pass], None));
        let rows: &[(&str, Vec<serde_json::Value>, &[TestVerdict])] = &[
            ("nothing at all", vec![], &[]),
            (
                "no test",
                vec![json!({"say": "collected", "names": []}), done.clone()],
                &[],
            ),
            ("no end", all[..6].to_vec(), &[Pass, Pass]),
            (
                "one without a result",
                [&all[..4], std::slice::from_ref(&done)].concat(),
                &[Pass, Error],
            ),
            (
                "one fewer than listed",
                vec![listed.clone(), json!({"say": "collected", "names": ["a"]})],
                &[Error, Error],
            ),
            (
                "a result twice",
                [&all[..4], &[end(0)]].concat(),
                &[Pass, Error],
            ),
            (
                "a result without a beginning",
                vec![collected.clone(), end(0), end(1), done.clone()],
                &[Error, Error],
            ),
            (
                "out of turn",
                vec![collected.clone(), begin(1), end(1)],
                &[Error, Error],
            ),
            (
                "the same name twice",
                vec![json!({"say": "collected", "names": ["a", "a"]})],
                &[],
            ),
            (
                "others the second time",
                vec![
                    collected.clone(),
                    json!({"say": "collected", "names": ["a", "c"]}),
                ],
                &[Error, Error],
            ),
        ];
        for (name, lines, verdicts) in rows {
            let (found, distrust) = told(lines);
            assert!(distrust.is_some(), "{name}");
            assert_eq!(found, *verdicts, "{name}");
        }
        let unloaded = json!({"say": "unloaded", "why": "SyntaxError"});
        assert_eq!(
            told(&[listed, unloaded.clone()]),
            (vec![Error, Error], None)
        );
        let outside = |verdict: &str| json!({"say": "outside", "name": "a", "verdict": verdict, "output": "x"});
        let after = |last: serde_json::Value| told(&[&all[..6], &[last, done.clone()]].concat());
        assert_eq!(
            after(outside("fail")),
            (vec![Pass, Pass, TestVerdict::Fail], None),
            "a row of its own, and never a pass"
        );
        assert_eq!(after(outside("pass")), (vec![Pass, Pass, Error], None));
        assert_eq!(
            told(&[&all[..6], &[unloaded]].concat()),
            (vec![Pass, Pass, Error], None),
            "what fails after the last test is no pass"
        );
    }

    #[test]
    fn parameters_and_groups_stand_for_the_test_in_the_text() {
        let rows = [
            ("a", "a", true),
            ("a[1-2]", "a", true),
            ("a #2", "a", true),
            ("group > a", "a", true),
            ("ab", "a", false),
            ("b", "a", false),
        ];
        for (name, listed, expected) in rows {
            assert_eq!(stands_for(name, listed), expected, "{name} {listed}");
        }
        assert_eq!(tail("aäb", 2), "b");
    }
}
