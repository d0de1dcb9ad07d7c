//! Rules about Rust files.

use super::{Complaint, Tree, source::line_of};

const MOST_LINES: usize = 1000;
/// Suites are lists of cases, which are looked up rather than read.
const MOST_LINES_OF_TESTS: usize = 1200;
const MOST_COLUMNS: usize = 160;

/// Modules the engine must not touch, and macros it must not print with.
const OUTSIDE: &[&str] = &[
    "env",
    "fs",
    "net",
    "process",
    "io::stdin",
    "io::stdout",
    "io::stderr",
];
const PRINTS: &[&str] = &["println!", "eprintln!", "print!", "eprint!"];

/// Every file opens with a `//!` sentence.
pub fn opening_sentence(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, _) in tree.rust() {
        let block: Vec<&str> = file
            .text
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .collect();
        if block.first().is_none_or(|line| line.trim().is_empty()) {
            complaints.push(Complaint::new(
                &file.path,
                1,
                "open the file with a `//!` sentence that says what it is",
            ));
        } else if !block.iter().any(|line| line.contains('.')) {
            complaints.push(Complaint::new(
                &file.path,
                1,
                "the opening `//!` sentence has no end: add the period",
            ));
        }
    }
}

/// No `.unwrap()` outside tests and tools.
pub fn unwrap(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, source) in tree.rust().filter(|(file, _)| !file.is_aside()) {
        for (number, line, in_test) in source.lines() {
            if !in_test && line.contains(".unwrap()") {
                complaints.push(Complaint::new(
                    &file.path,
                    number,
                    "`.unwrap()` outside tests: handle the case, or `expect` with the reason",
                ));
            }
        }
    }
}

/// An `.expect("")` gives no reason.
pub fn expect(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, source) in tree.rust() {
        for (at, call) in source.code.match_indices(".expect(") {
            let argument = file.text[at + call.len()..].trim_start();
            let reason = argument
                .strip_prefix('"')
                .map(|literal| literal.split('"').next().unwrap_or_default());
            if reason.is_some_and(|reason| reason.trim().is_empty()) {
                complaints.push(Complaint::new(
                    &file.path,
                    line_of(&file.text, at),
                    "`.expect` without a reason: say why it cannot happen",
                ));
            }
        }
    }
}

/// Tests are run or removed, never switched off.
pub fn ignored_test(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, source) in tree.rust() {
        for (number, line, _) in source.lines() {
            if line.contains("#[ignore") && !excused(&file.text, number) {
                complaints.push(Complaint::new(
                    &file.path,
                    number,
                    "an ignored test: run it or remove it",
                ));
            }
        }
    }
}

/// Tests wait for events, not for time.
pub fn sleeping_test(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, source) in tree.rust() {
        for (number, line, in_test) in source.lines() {
            if (in_test || file.is_test()) && calls(line, "sleep(") && !excused(&file.text, number)
            {
                let what =
                    "a test that sleeps: wait for the event itself (or say why with `// tidy: …`)";
                complaints.push(Complaint::new(&file.path, number, what));
            }
        }
    }
}

/// The engine touches nothing outside: no environment, files, network, processes, terminal.
pub fn pure_engine(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, source) in tree
        .rust()
        .filter(|(file, _)| file.path.starts_with("crates/rebut-engine/src/"))
    {
        let mut complain = |number: usize, found: &str| {
            let what =
                format!("the engine uses `{found}`: that belongs to an adapter or to the binary");
            complaints.push(Complaint::new(&file.path, number, what));
        };
        for (number, line, in_test) in source.lines() {
            if in_test {
                continue;
            }
            PRINTS
                .iter()
                .filter(|print| calls(line, print))
                .for_each(|print| complain(number, print));
            for base in ["std::", "tokio::"] {
                for outside in OUTSIDE
                    .iter()
                    .filter(|outside| calls(line, &format!("{base}{outside}")))
                {
                    complain(number, &format!("{base}{outside}"));
                }
            }
        }
        for (at, group) in grouped_imports(&source.code)
            .filter(|(at, _)| !source.is_test(line_of(&source.code, *at)))
        {
            let outside = group
                .split([',', '{', '}'])
                .map(str::trim)
                .find(|name| OUTSIDE.contains(&name.split("::").next().unwrap_or(name)));
            if let Some(outside) = outside {
                complain(line_of(&source.code, at), outside);
            }
        }
    }
}

/// What opens, makes or reads a file by its name, through whatever link has that name.
const BY_NAME: &[&str] = &[
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
    "fs::copy(",
    "File::open(",
    "File::create(",
    "File::options(",
    "OpenOptions::new(",
    "create_dir_all(",
];

/// The program starts in folders of others: it reaches files through `beneath`, or says why a name
/// will do.
pub fn one_way_to_files(tree: &Tree, complaints: &mut Vec<Complaint>) {
    const PROGRAM: [&str; 2] = ["crates/rebut/src/", "crates/rebut-app/src/"];
    let is_way = |path: &str| {
        path.starts_with("crates/rebut-app/src/beneath/") || path.ends_with("/tests.rs")
    };
    let is_ours = |path: &str| PROGRAM.iter().any(|folder| path.starts_with(folder));
    for (file, source) in tree
        .rust()
        .filter(|(file, _)| is_ours(&file.path) && !is_way(&file.path))
    {
        for (number, line, in_test) in source.lines() {
            let by_name = BY_NAME.iter().find(|name| calls(line, name));
            if let Some(name) = by_name.filter(|_| !in_test && !excused(&file.text, number)) {
                let what = format!(
                    "`{name}…)` follows links: use `beneath`, `read_file` or `atomic_file` (or say \
                     why not with `// tidy: …`)"
                );
                complaints.push(Complaint::new(&file.path, number, what));
            }
        }
    }
}

/// Files stay short enough to hold in mind.
pub fn file_length(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, _) in tree.rust() {
        let lines = file.text.lines().count();
        let most = if file.is_test() {
            MOST_LINES_OF_TESTS
        } else {
            MOST_LINES
        };
        if lines > most {
            complaints.push(Complaint::new(
                &file.path,
                lines,
                format!("{lines} lines, more than {most}: split the file"),
            ));
        }
    }
}

/// Lines stay short enough to read; rustfmt leaves long strings and comments alone.
pub fn line_length(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for (file, _) in tree.rust() {
        for (at, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > MOST_COLUMNS {
                complaints.push(Complaint::new(
                    &file.path,
                    at + 1,
                    format!("{columns} columns, more than {MOST_COLUMNS}: break the line"),
                ));
            }
        }
    }
}

/// Whether that line gives its reason in a `// tidy: …` remark.
fn excused(text: &str, number: usize) -> bool {
    let line = text.lines().nth(number - 1).unwrap_or_default();
    line.split_once("// tidy:")
        .is_some_and(|(_, why)| !why.trim().is_empty())
}

/// Whether `name` stands in the line as a word of its own, not as the end of a longer one.
fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let starts = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let ends = name.ends_with(['(', '!'])
            || !line[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        starts && ends
    })
}

/// What `use std::{…}` and `use tokio::{…}` bring in.
fn grouped_imports(code: &str) -> impl Iterator<Item = (usize, &str)> {
    ["use std::{", "use tokio::{"]
        .into_iter()
        .flat_map(move |start| {
            code.match_indices(start).map(move |(at, found)| {
                let names = &code[at + found.len()..];
                (at, names.split(';').next().unwrap_or(names))
            })
        })
}
