//! Rules about manifests: dependencies point one way, and the engine stays pure.

use super::{Complaint, Tree, tree::File};
use toml::{Table, Value};

/// Which crates of this workspace each one may depend on. Tests (`dev-dependencies`) may use any.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("rebut-engine", &[]),
    (
        "rebut-app",
        &[
            "rebut-engine",
            "rebut-models",
            "rebut-sandbox",
            "rebut-store",
        ],
    ),
    ("rebut-models", &["rebut-engine"]),
    ("rebut-sandbox", &["rebut-engine"]),
    ("rebut-server", &["rebut-engine"]),
    ("rebut-store", &["rebut-engine"]),
    (
        "rebut-testkit",
        &["rebut-engine", "rebut-models", "rebut-store"],
    ),
    (
        "rebut",
        &[
            "rebut-app",
            "rebut-engine",
            "rebut-models",
            "rebut-sandbox",
            "rebut-server",
            "rebut-store",
        ],
    ),
    ("rebut-fuzz", &["rebut-engine", "rebut-models"]),
    (
        "xtask",
        &[
            "rebut-engine",
            "rebut-models",
            "rebut-store",
            "rebut-testkit",
        ],
    ),
];

/// What would give the engine a network, a database, a terminal or an environment.
const NOT_IN_ENGINE: &[&str] = &[
    "anstream",
    "axum",
    "clap",
    "config",
    "dirs",
    "dotenvy",
    "figment",
    "genai",
    "git2",
    "home",
    "hyper",
    "indicatif",
    "inquire",
    "nix",
    "ratatui",
    "reqwest",
    "rmcp",
    "rusqlite",
    "sqlx",
    "ureq",
    "walkdir",
    "which",
];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Workspace crates depend on each other only as the table says.
pub fn directions(tree: &Tree, complaints: &mut Vec<Complaint>) {
    let manifests: Vec<Manifest<'_>> = manifests(tree, complaints);
    let names: Vec<&str> = manifests
        .iter()
        .map(|manifest| manifest.name.as_str())
        .collect();
    for manifest in &manifests {
        let Some((_, allowed)) = DIRECTIONS.iter().find(|(name, _)| *name == manifest.name) else {
            let what = format!(
                "crate `{}` is not in tidy's table of dependency directions: add its row",
                manifest.name
            );
            complaints.push(Complaint::new(&manifest.file.path, 1, what));
            continue;
        };
        for dependency in manifest
            .dependencies
            .iter()
            .filter(|name| names.contains(&name.as_str()) && !allowed.contains(&name.as_str()))
        {
            let what = format!("`{}` must not depend on `{dependency}`", manifest.name);
            complaints.push(Complaint::new(
                &manifest.file.path,
                manifest.line_of(dependency),
                what,
            ));
        }
    }
}

/// The engine depends on nothing that reaches outside.
pub fn pure_engine(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for manifest in manifests(tree, &mut Vec::new())
        .iter()
        .filter(|manifest| manifest.name == "rebut-engine")
    {
        for dependency in manifest
            .dependencies
            .iter()
            .filter(|name| NOT_IN_ENGINE.contains(&name.as_str()))
        {
            let what = format!("the engine must not depend on `{dependency}`: it reaches outside");
            complaints.push(Complaint::new(
                &manifest.file.path,
                manifest.line_of(dependency),
                what,
            ));
        }
    }
}

/// Every locked package comes from crates.io, and no configuration redirects it.
pub fn sources(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for file in &tree.files {
        let lock = file.path.ends_with("Cargo.lock");
        let config = file.path.ends_with(".cargo/config.toml");
        for (at, line) in file.text.lines().enumerate().filter(|_| lock || config) {
            let elsewhere = lock
                && line
                    .strip_prefix("source = ")
                    .is_some_and(|source| source.trim_matches('"') != CRATES_IO);
            if elsewhere {
                complaints.push(Complaint::new(
                    &file.path,
                    at + 1,
                    "a package from elsewhere than crates.io",
                ));
            }
            if config && (line.starts_with("[source") || line.starts_with("[registr")) {
                complaints.push(Complaint::new(
                    &file.path,
                    at + 1,
                    "a package source of one machine: keep it in your own configuration",
                ));
            }
        }
    }
}

struct Manifest<'a> {
    file: &'a File,
    name: String,
    /// Names as crates.io knows them, those of tests left out.
    dependencies: Vec<String>,
}

impl Manifest<'_> {
    fn line_of(&self, dependency: &str) -> usize {
        1 + self
            .file
            .text
            .lines()
            .position(|line| line.trim_start().starts_with(dependency))
            .unwrap_or(0)
    }
}

/// Every package's manifest.
fn manifests<'a>(tree: &'a Tree, complaints: &mut Vec<Complaint>) -> Vec<Manifest<'a>> {
    let mut manifests = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"))
    {
        match file.text.parse::<Table>() {
            Ok(table) => {
                let name = table
                    .get("package")
                    .and_then(|package| package.get("name"))
                    .and_then(Value::as_str);
                manifests.extend(name.map(|name| Manifest {
                    file,
                    name: name.to_owned(),
                    dependencies: dependencies(&table),
                }));
            }
            Err(error) => complaints.push(Complaint::new(
                &file.path,
                1,
                format!("not valid TOML: {}", error.message()),
            )),
        }
    }
    manifests
}

fn dependencies(table: &Table) -> Vec<String> {
    let of = |table: &Table| -> Vec<String> {
        let sections = ["dependencies", "build-dependencies"]
            .into_iter()
            .filter_map(|name| table.get(name)?.as_table());
        sections
            .flatten()
            .map(|(key, value)| {
                value
                    .get("package")
                    .and_then(Value::as_str)
                    .unwrap_or(key)
                    .to_owned()
            })
            .collect()
    };
    let mut all = of(table);
    let targets = table.get("target").and_then(Value::as_table);
    all.extend(
        targets
            .into_iter()
            .flat_map(Table::values)
            .filter_map(Value::as_table)
            .flat_map(of),
    );
    all
}
