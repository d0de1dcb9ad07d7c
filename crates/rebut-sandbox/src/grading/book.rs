//! The book of one run of tests: which there are, how each went, and why it cannot be believed. Pure.

use rebut_engine::sandbox::{TestRun, TestVerdict};
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
    done: bool,
    distrust: Option<String>,
}

/// What the process of the tests says to us.
#[derive(Debug, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(super) enum Said {
    /// The tests that the text alone shows; said before anything of the code was touched.
    Listed { names: Vec<String> },
    /// All tests, in order.
    Collected { names: Vec<String> },
    /// A test begins.
    Begin { number: usize },
    /// A test is over.
    End { number: usize, verdict: TestVerdict, output: String },
    /// All are over.
    Done,
    /// The code's process answered with something that is no answer.
    Broken { why: String },
    /// Something the tests need is not installed.
    Missing { what: String },
    /// The code, or the top level of the tests, could not be run.
    Unloaded { why: String },
    /// The tests cannot be read.
    Unreadable { why: String },
}

/// What follows from something said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on listening.
    On,
    /// A test began: its time starts now.
    Begun,
    /// A test is over, or there is a new list.
    Moved,
    /// Nothing more will come of this.
    Over,
    /// The pair of processes is of no more use; the tests that are left need a new one.
    Anew,
    /// Something is not installed.
    Missing(String),
}

/// The longest output kept of a test, in bytes.
const OUTPUT: usize = 2048;
/// The most tests a file may have.
const MOST_TESTS: usize = 10_000;

impl Book {
    /// Takes in what the process of the tests says.
    pub(super) fn hear(&mut self, said: Said) -> Next {
        match said {
            Said::Listed { names } => {
                self.listed = names;
                Next::On
            }
            Said::Collected { names } => self.collect(names),
            Said::Begin { number } if self.current.is_none() && number == self.results.len() && number < self.len() => {
                self.current = Some(number);
                Next::Begun
            }
            Said::End { number, verdict, output } if self.current == Some(number) => {
                self.settle(verdict, &output);
                Next::Moved
            }
            Said::Begin { .. } | Said::End { .. } => self.doubt("a result was told that was not due"),
            Said::Done if self.current.is_none() && self.names.is_some() && self.results.len() == self.len() => {
                self.done = true;
                Next::Over
            }
            Said::Done => self.doubt("the runner ended before every test had its result"),
            Said::Broken { why } => {
                self.lose(TestVerdict::Error, &format!("the process of the code did not speak as agreed: {why}"));
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
        if let Some(missing) = self.listed.iter().find(|listed| !names.iter().any(|name| stands_for(name, listed))) {
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

    /// No test that is left can be run: all of them have this end.
    pub(super) fn give_up(&mut self, verdict: TestVerdict, why: &str) {
        self.current = None;
        if self.names.is_none() {
            self.names = Some(std::mem::take(&mut self.listed));
        }
        while self.results.len() < self.len() {
            self.settle(verdict, why);
        }
        self.done = true;
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

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        self.done || self.distrust.is_some()
    }

    /// The results, and why they cannot be believed. No test is a reason not to.
    pub(super) fn close(mut self) -> (Vec<TestRun>, Option<String>) {
        let names = self.names.take().unwrap_or(std::mem::take(&mut self.listed));
        if !self.is_over() {
            self.doubt("the runner ended early");
        }
        if names.is_empty() {
            self.doubt("no test was found in the file");
        }
        let none = || (TestVerdict::Error, "it was not run".to_owned());
        let mut results = self.results.into_iter();
        let runs = names.into_iter().map(|name| {
            let (verdict, output) = results.next().unwrap_or_else(none);
            TestRun { name, verdict, output }
        });
        (runs.collect(), self.distrust)
    }
}

/// Whether a collected test is one that the text shows: the same, one of its parameters, or inside a group.
fn stands_for(name: &str, listed: &str) -> bool {
    name == listed
        || name.strip_prefix(listed).is_some_and(|rest| rest.starts_with('[') || rest.starts_with(" #"))
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
            book.hear(serde_json::from_value(line.clone()).expect("a line as the runner writes it"));
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
        let all = [&listed, &collected, &begin(0), &end(0), &begin(1), &end(1), &done].map(Clone::clone);
        assert_eq!(told(&all), (vec![Pass, Pass], None));
        let rows: &[(&str, Vec<serde_json::Value>, &[TestVerdict])] = &[
            ("nothing at all", vec![], &[]),
            ("no test", vec![json!({"say": "collected", "names": []}), done.clone()], &[]),
            ("no end", all[..6].to_vec(), &[Pass, Pass]),
            ("one without a result", [&all[..4], std::slice::from_ref(&done)].concat(), &[Pass, Error]),
            ("one fewer than listed", vec![listed.clone(), json!({"say": "collected", "names": ["a"]})], &[Error, Error]),
            ("a result twice", [&all[..4], &[end(0)]].concat(), &[Pass, Error]),
            ("a result without a beginning", vec![collected.clone(), end(0), end(1), done.clone()], &[Error, Error]),
            ("out of turn", vec![collected.clone(), begin(1), end(1)], &[Error, Error]),
            ("the same name twice", vec![json!({"say": "collected", "names": ["a", "a"]})], &[]),
            ("others the second time", vec![collected.clone(), json!({"say": "collected", "names": ["a", "c"]})], &[Error, Error]),
        ];
        for (name, lines, verdicts) in rows {
            let (found, distrust) = told(lines);
            assert!(distrust.is_some(), "{name}");
            assert_eq!(found, *verdicts, "{name}");
        }
        let unloaded = vec![listed, json!({"say": "unloaded", "why": "SyntaxError"})];
        assert_eq!(told(&unloaded), (vec![Error, Error], None));
    }

    #[test]
    fn parameters_and_groups_stand_for_the_test_in_the_text() {
        let rows =
            [("a", "a", true), ("a[1-2]", "a", true), ("a #2", "a", true), ("group > a", "a", true), ("ab", "a", false), ("b", "a", false)];
        for (name, listed, expected) in rows {
            assert_eq!(stands_for(name, listed), expected, "{name} {listed}");
        }
        assert_eq!(tail("aäb", 2), "b");
    }
}
