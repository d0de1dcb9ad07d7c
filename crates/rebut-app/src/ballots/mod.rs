//! Reading ballots from JSON or CSV into a profile, with messages that say where and what is wrong.

mod csv;
mod json;

use crate::{beneath::Typed, error::AppError};
use rebut_engine::voting::{Ballot, Gather, Problem, Profile};
use std::{
    collections::BTreeSet,
    io::Read,
    path::{Path, PathBuf},
};

/// Larger files are not ballots anybody could check.
const MOST_BYTES: u64 = 512 << 20;
const SHOWN: usize = 10;

/// Reads a file, or standard input for `-`. Problems are an error, or mended and told when
/// `lenient`.
pub fn read(
    file: &Path,
    candidates: &[String],
    lenient: bool,
) -> Result<(Profile, Vec<String>), AppError> {
    let text = text(file)?;
    let mut reading = Reading::new(candidates);
    let is_csv = file
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    if is_csv || !text.trim_start().starts_with('{') {
        csv::read(&text, &mut reading)
    } else {
        json::read(&text, &mut reading)
    }
    .map_err(|wrong| {
        AppError::usage(format!("{}: {wrong}", shown_name(file).display())).hint(FORMS)
    })?;
    drop(text);
    let (profile, problems) = reading.finish();
    if problems.is_empty() || lenient {
        return Ok((
            profile,
            problems
                .iter()
                .map(|(place, problem)| format!("{place}{problem}: {}", problem.mended))
                .collect(),
        ));
    }
    let mut message = format!(
        "{}: these ballots cannot be counted as they are",
        shown_name(file).display()
    );
    for (place, problem) in problems.iter().take(SHOWN) {
        message.push_str(&format!("\n  {place}{problem}"));
    }
    if problems.len() > SHOWN {
        message.push_str(&format!("\n  and {} more", problems.len() - SHOWN));
    }
    Err(AppError::usage(message).hint("mend them, or let --lenient take what can be taken"))
}

const FORMS: &str = concat!(
    r#"write JSON, {"candidates": ["A", "B"], "ballots": [{"voter": "x", "ranking": [["B"], ["A"]]}]}, "#,
    "or CSV with a header voter,weight,ranking"
);

fn shown_name(file: &Path) -> PathBuf {
    if file == Path::new("-") {
        PathBuf::from("standard input")
    } else {
        file.to_owned()
    }
}

fn text(file: &Path) -> Result<String, AppError> {
    let mut bytes = Vec::new();
    let limit = MOST_BYTES + 1;
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        Typed::new(file)
            .and_then(|file| file.open())
            .and_then(|opened| opened.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|error| AppError::file("read", &shown_name(file), &error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(AppError::usage(format!(
            "{} is larger than {} MB",
            shown_name(file).display(),
            MOST_BYTES >> 20
        )));
    }
    // The mark some programs write in front of a text is none of ours.
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        AppError::usage(format!(
            "{} is not UTF-8 text, from byte {at} on",
            shown_name(file).display()
        ))
        .hint("save it as UTF-8")
    })
}

/// Ballots as they are read. They go into the profile at once where the candidates are known, and
/// wait where they are not.
struct Reading {
    gather: Option<Gather>,
    waiting: Vec<Ballot>,
    /// Whether candidates were given apart from the file.
    given: bool,
    /// In which line each ballot stands, where that helps.
    lines: Vec<u64>,
    problems: Vec<Problem>,
    read: usize,
}

impl Reading {
    fn new(candidates: &[String]) -> Self {
        let given = !candidates.is_empty();
        let gather = given.then(|| {
            Gather::new(
                candidates
                    .iter()
                    .map(|name| name.trim().to_owned())
                    .collect(),
            )
        });
        Self {
            gather,
            waiting: Vec::new(),
            given,
            lines: Vec::new(),
            problems: Vec::new(),
            read: 0,
        }
    }

    /// The file's own list of candidates.
    fn candidates(&mut self, names: Vec<String>) {
        if !self.given {
            self.begin(Gather::new(names));
        }
    }

    /// The ballots that had to wait for the candidates go first.
    fn begin(&mut self, mut gather: Gather) -> &mut Gather {
        self.waiting.drain(..).for_each(|ballot| gather.add(ballot));
        self.gather.insert(gather)
    }

    /// The number of the ballot that comes next, from 1.
    fn next(&self) -> usize {
        self.read + 1
    }

    fn add(&mut self, ballot: Ballot) {
        self.read += 1;
        match &mut self.gather {
            Some(gather) => gather.add(ballot),
            None => self.waiting.push(ballot),
        }
    }

    /// Something about the ballot that comes next which a ballot cannot even hold.
    fn problem(&mut self, voter: &str, what: String, mended: &str) {
        let voter = (!voter.is_empty()).then(|| voter.to_owned());
        if self.problems.len() < 1000 {
            self.problems.push(Problem {
                ballot: Some(self.next()),
                voter,
                what,
                mended: mended.to_owned(),
            });
        }
    }

    fn finish(mut self) -> (Profile, Vec<(String, Problem)>) {
        if self.gather.is_none() {
            // Nobody says who can be voted for: everybody that is named, by name.
            let named: BTreeSet<String> = self.waiting.iter().flat_map(named).cloned().collect();
            self.begin(Gather::of_named(named.into_iter().collect()));
        }
        let (profile, mut problems) = self
            .gather
            .unwrap_or_else(|| Gather::of_named(Vec::new()))
            .finish();
        self.problems.append(&mut problems);
        self.problems.sort_by_key(|problem| problem.ballot);
        let line = |problem: &Problem| {
            problem
                .ballot
                .and_then(|number| self.lines.get(number - 1))
                .map(|line| format!("line {line}, "))
        };
        (
            profile,
            self.problems
                .into_iter()
                .map(|problem| (line(&problem).unwrap_or_default(), problem))
                .collect(),
        )
    }
}

fn named(ballot: &Ballot) -> impl Iterator<Item = &String> {
    let scored = ballot.scores.iter().flat_map(|scores| scores.keys());
    ballot
        .ranking
        .iter()
        .flatten()
        .chain(ballot.approves.iter().flatten())
        .chain(scored)
}
