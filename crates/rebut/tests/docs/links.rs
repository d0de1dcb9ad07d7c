//! The book is whole: every page is in its list, and every relative link leads to a file and, where
//! named, to a heading.

use crate::{markdown, root, text};
use std::{collections::BTreeSet, path::Path};

#[test]
fn every_page_is_listed_and_every_listed_page_exists() {
    let summary = text("docs/src/SUMMARY.md");
    let listed: BTreeSet<String> = targets(&summary)
        .into_iter()
        .map(|target| format!("docs/src/{target}"))
        .collect();
    let pages: BTreeSet<String> = markdown("docs/src")
        .into_iter()
        .filter(|page| !page.ends_with("SUMMARY.md"))
        .collect();
    assert_eq!(listed, pages);
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut pages: Vec<String> = [
        "README",
        "ARCHITECTURE",
        "CONTRIBUTING",
        "CHANGELOG",
        "AGENTS",
    ]
    .map(|name| format!("{name}.md"))
    .to_vec();
    pages.extend(
        markdown("docs")
            .into_iter()
            .filter(|page| !page.starts_with("docs/book/")),
    );
    pages.extend(markdown("examples"));
    let mut dead = Vec::new();
    let mut seen = 0;
    for page in &pages {
        for target in targets(&text(page))
            .into_iter()
            .filter(|target| !target.contains("://"))
        {
            seen += 1;
            if !leads(page, &target) {
                dead.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(seen > 40, "only {seen} links were found");
    assert!(
        dead.is_empty(),
        "links that lead nowhere:\n{}",
        dead.join("\n")
    );
}

fn leads(page: &str, target: &str) -> bool {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let path = if file.is_empty() {
        root().join(page)
    } else {
        root().join(folder).join(file)
    };
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    // The book is built from its own folder; what is outside is not there for its readers.
    if page.starts_with("docs/src/") && !path.starts_with(root().join("docs/src")) {
        return false;
    }
    heading.is_empty()
        || std::fs::read_to_string(path)
            .is_ok_and(|text| headings(&text).iter().any(|known| known == heading))
}

/// The targets of inline links outside code.
fn targets(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        }
        let prose = if in_code {
            String::new()
        } else {
            line.split('`').step_by(2).collect::<Vec<_>>().join("code")
        };
        found.extend(
            prose
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next())
                .map(str::to_owned),
        );
    }
    found
}

/// The anchors of a page's headings, as both GitHub and mdBook make them.
fn headings(text: &str) -> Vec<String> {
    let titles = text
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|rest| rest.trim_start_matches('#').trim().to_lowercase());
    titles
        .map(|title| {
            title
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}
