//! Rules about any text file: nothing left over, nothing of one machine, no dead links.

use super::{Complaint, Tree, tree::File};

/// Written in two pieces, so that this file does not break its own rules.
const MARKS: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];
const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "dbg!("];
const MACHINE: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
];
const HOSTS: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("registry.npmjs", ".org"),
    concat!("files.pythonhosted", ".org"),
    concat!("pypi", ".org/simple"),
    concat!("deb.debian", ".org"),
    concat!("arti", "factory"),
    concat!("nexus", "/repository"),
];

/// Nothing unfinished is committed.
pub fn leftovers(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for file in &tree.files {
        // In Rust, a mark inside a string is data.
        let prose = file
            .rust
            .as_ref()
            .map_or(&file.text, |source| &source.comments);
        for (at, line) in prose.lines().enumerate() {
            for mark in MARKS.iter().filter(|mark| is_word(line, mark)) {
                complaints.push(Complaint::new(
                    &file.path,
                    at + 1,
                    format!("{mark}: finish it or open an issue"),
                ));
            }
        }
        for (number, line, _) in file.rust.iter().flat_map(|source| source.lines()) {
            for call in UNFINISHED.iter().filter(|call| line.contains(**call)) {
                complaints.push(Complaint::new(
                    &file.path,
                    number,
                    format!("`{call}…)`: finish it"),
                ));
            }
        }
    }
}

/// No path that exists on one machine only.
pub fn machine_paths(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for file in &tree.files {
        for (at, line) in file.text.lines().enumerate() {
            for path in MACHINE.iter().filter(|path| starts_path(line, path)) {
                complaints.push(Complaint::new(
                    &file.path,
                    at + 1,
                    format!("`{path}…` is a path of one machine"),
                ));
            }
        }
    }
}

/// No host that packages happened to come from.
pub fn package_hosts(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for file in &tree.files {
        for (at, line) in file.text.lines().enumerate() {
            for host in HOSTS.iter().filter(|host| line.contains(**host)) {
                complaints.push(Complaint::new(
                    &file.path,
                    at + 1,
                    format!("`{host}`: packages come from wherever the machine says"),
                ));
            }
        }
    }
}

/// Relative links of Markdown files lead somewhere.
pub fn links(tree: &Tree, complaints: &mut Vec<Complaint>) {
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (number, target) in targets(&file.text) {
            let outside =
                target.contains("://") || target.starts_with("mailto:") || target.starts_with('#');
            if !outside && !resolve(file, target).is_some_and(|path| tree.holds(&path)) {
                complaints.push(Complaint::new(
                    &file.path,
                    number,
                    format!("the link to `{target}` leads nowhere"),
                ));
            }
        }
    }
}

/// The targets of links, those in code left out, with their line.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            // Every other piece between backticks is code.
            let prose = line.split('`').step_by(2);
            let ends = |rest: &'_ str| rest.find([')', ' ']).unwrap_or(rest.len());
            let inline = prose
                .flat_map(|piece| piece.split("](").skip(1))
                .map(move |rest| &rest[..ends(rest)]);
            found.extend(inline.map(|target| (at + 1, target)));
            let defined = line
                .strip_prefix('[')
                .and_then(|rest| rest.split_once("]: "))
                .map(|(_, target)| target.trim());
            found.extend(defined.map(|target| (at + 1, target)));
        }
    }
    found
}

/// The path from the root to which a link leads; `None` when it leaves the repository.
fn resolve(file: &File, target: &str) -> Option<String> {
    let target = target
        .split('#')
        .next()
        .unwrap_or_default()
        .trim_matches(['<', '>']);
    let mut parts: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        file.path.split('/').collect()
    };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn is_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(char::is_alphanumeric)
            && !line[at + word.len()..].starts_with(char::is_alphanumeric)
    })
}

/// Whether the path starts there rather than going on from another folder or a host.
fn starts_path(line: &str, path: &str) -> bool {
    line.match_indices(path)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~/}".contains(c)))
}
