//! `cargo xtask measure`: figures about the sources that reviews keep asking for, from one script.

mod modules;
mod walk;

use crate::tidy::{File, Source, Tree};
use std::path::Path;

pub use modules::{Cycle, largest_cycle};
pub use walk::walk;

/// Columns past which a code line counts as long.
const LONG: usize = 110;
/// A doc comment of at most so many words usually repeats a name.
const FEW_WORDS: usize = 5;
/// Lines past which a function no longer fits a screen.
const SCREEN: usize = 60;

/// The figures of some source files: those below `src`, without tests.
#[derive(Default)]
struct Figures {
    files: usize,
    code_lines: usize,
    characters: usize,
    long_lines: usize,
    docs: usize,
    short_docs: usize,
    public: usize,
    string_errors: usize,
    closures: usize,
    long_functions: usize,
    functions: usize,
    longest_file: usize,
}

/// Prints the figures of the sources below `root`.
pub fn run(root: &Path) -> Result<(), String> {
    let tree = Tree::read(root).map_err(|error| error.to_string())?;
    let mut all = Figures::default();
    println!("{HEAD}");
    for name in crates(&tree) {
        let mut figures = Figures::default();
        for (file, source) in sources(&tree, &format!("crates/{name}/src/")) {
            figures.add(file, source);
            // Testkit is for tests only: it has a row, and no part in the sum.
            if name != "rebut-testkit" {
                all.add(file, source);
            }
        }
        figures.print(&name);
    }
    all.print("all but testkit");
    println!();
    for name in ["rebut-engine", "rebut-app", "rebut-server", "rebut"] {
        let Some(cycle) = largest_cycle(&tree, name) else {
            continue;
        };
        println!(
            "largest cycle of modules in {name}: {} of {}: {}",
            cycle.modules.len(),
            cycle.of,
            cycle.modules.join(" ")
        );
    }
    let naming = naming_a_format(&tree, "evaluate");
    println!(
        "source files outside its folder that name `evaluate`: {}: {}",
        naming.len(),
        naming.join(" ")
    );
    Ok(())
}

const HEAD: &str = "crate               files  longest  code lines  characters  per line  > 110 \
    col  docs <= 5 words  pub/1000  \
                    Result<_, String>  let f = ||/1000  fn > 60";

impl Figures {
    fn add(&mut self, file: &File, source: &Source) {
        self.files += 1;
        self.longest_file = self.longest_file.max(file.text.lines().count());
        for (number, line, in_test) in source.lines() {
            if in_test {
                continue;
            }
            // What stands between quotes belongs to the code, so the line is measured as written
            // unless it is a comment.
            let code = line.trim();
            if code.is_empty() {
                continue;
            }
            let written = file.text.lines().nth(number - 1).unwrap_or_default();
            self.code_lines += 1;
            self.characters += written
                .trim()
                .chars()
                .filter(|c| !c.is_whitespace())
                .count();
            self.long_lines += usize::from(written.chars().count() > LONG);
            self.public += usize::from(code.starts_with("pub ") || code.starts_with("pub("));
            self.string_errors +=
                code.matches(", String>").count() - code.matches("Map<String, String>").count();
            self.closures += usize::from(code.starts_with("let ") && code.contains("= |"));
        }
        self.docs_of(source);
        self.functions_of(source);
    }

    /// Runs of `///` lines, and how many of them are short.
    fn docs_of(&mut self, source: &Source) {
        let mut words = None;
        let lines = source
            .comments
            .lines()
            .enumerate()
            .filter(|(at, _)| !source.is_test(at + 1));
        for (_, line) in lines.chain([(0, "")]) {
            match line.trim().strip_prefix("///") {
                Some(text) => words = Some(words.unwrap_or(0) + text.split_whitespace().count()),
                None => {
                    if let Some(words) = words.take() {
                        self.docs += 1;
                        self.short_docs += usize::from(words <= FEW_WORDS);
                    }
                }
            }
        }
    }

    /// Functions by their indentation: from the line with `fn` to the closing brace in the same
    /// column.
    fn functions_of(&mut self, source: &Source) {
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (number, line, in_test) in source
            .lines()
            .filter(|(_, line, _)| !line.trim().is_empty())
        {
            let indent = line.len() - line.trim_start().len();
            let code = line.trim();
            if !in_test
                && (code.starts_with("fn ") || code.contains(" fn "))
                && !code.ends_with(';')
                && !code.ends_with('}')
            {
                open.push((indent, number));
            } else if code == "}" && open.last().is_some_and(|(column, _)| *column == indent) {
                let (_, start) = open.pop().expect("one is open");
                self.functions += 1;
                self.long_functions += usize::from(number - start + 1 > SCREEN);
            }
        }
    }

    fn print(&self, name: &str) {
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let per_thousand = |part: usize| 1000.0 * part as f64 / self.code_lines.max(1) as f64;
        println!(
            "{name:18} {:6} {:8} {:11} {:11} {:9.1} {:9.2}% {:15.1}% {:9.0} {:18} {:15.1} {:7.1}%",
            self.files,
            self.longest_file,
            self.code_lines,
            self.characters,
            self.characters as f64 / self.code_lines.max(1) as f64,
            share(self.long_lines, self.code_lines),
            share(self.short_docs, self.docs),
            per_thousand(self.public),
            self.string_errors,
            per_thousand(self.closures),
            share(self.long_functions, self.functions),
        );
    }
}

/// The crates of the workspace, by their folders.
fn crates(tree: &Tree) -> Vec<String> {
    let mut names: Vec<String> = tree
        .files
        .iter()
        .filter_map(|file| {
            file.path
                .strip_prefix("crates/")?
                .strip_suffix("/Cargo.toml")
                .map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

/// Source files below a folder that are no tests.
fn sources<'a>(tree: &'a Tree, below: &'a str) -> impl Iterator<Item = (&'a File, &'a Source)> {
    tree.rust()
        .filter(move |(file, _)| file.path.starts_with(below) && !file.is_test())
}

/// Source files that name a format as a word, outside the format's own folder.
fn naming_a_format(tree: &Tree, format: &str) -> Vec<String> {
    let own = format!("/formats/{format}/");
    let names = |file: &File, source: &Source| {
        source.lines().any(|(number, code, in_test)| {
            // Comments may name it; code and texts may not.
            !in_test && !code.trim().is_empty() && {
                let written = file.text.lines().nth(number - 1).unwrap_or_default();
                let without_comment = written.split("// ").next().unwrap_or_default();
                without_comment
                    .split(|c: char| !c.is_alphanumeric())
                    .any(|word| word.eq_ignore_ascii_case(format))
            }
        })
    };
    sources(tree, "crates/")
        .filter(|(file, _)| {
            file.path.contains("/src/") && !file.is_aside() && !file.path.contains(&own)
        })
        .filter(|(file, source)| names(file, source))
        .map(|(file, _)| file.path.trim_start_matches("crates/").to_owned())
        .collect()
}
