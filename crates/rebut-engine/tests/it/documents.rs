//! Documents: nothing that a model or a person wrote is a tag, a link, a picture, a call of
//! somebody or an escape in any of them.

use crate::injection::{cases, hostile_view};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use rebut_engine::{clean::is_hostile, formats::FORMATS, report, view::View};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What wants to be more than words, in every document there is.
fn hostile(_: &str) -> String {
    " <img src=x onerror=alert(1)> <script>alert(2)</script> </details> \
     [click](http://evil.example/a) ![pixel](https://evil.example/b.png) \
     [ref]: http://evil.example/c\n# heading\n\n<b>block</b>\n> www.evil.example/d @octocat, see \
     octo/cat#123 and (#124) GH-125 me@evil.example \
     `code`@octocat ` <i> | cell \u{1b}[31m\u{1b}]8;;http://evil.example\u{7}\u{202e}\u{9b}2J \
     ```\n```\n--> ]]> {{x}} ${y} =cmd()"
        .to_owned()
}

/// The tags that a comment has of its own.
const OWN_TAGS: [&str; 3] = ["<!-- rebut:review -->", "<details><summary>", "</details>"];

/// What in a Markdown document does more than to be read.
fn alive(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for event in Parser::new_ext(
        markdown,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH,
    ) {
        match event {
            Event::Html(tag) | Event::InlineHtml(tag) if !is_own(&tag) => {
                found.push(format!("tag {tag}"))
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.push(format!("link {dest_url}"))
            }
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            // A host looks for these when everything else is read.
            Event::Text(text) if !in_code => found.extend(
                REFERENCES
                    .iter()
                    .filter(|word| text.contains(**word))
                    .map(|word| format!("{word} in {text}")),
            ),
            _ => {}
        }
    }
    found.extend(
        markdown
            .chars()
            .filter(|c| is_hostile(*c))
            .map(|c| format!("{c:?}")),
    );
    found
}

const REFERENCES: [&str; 6] = ["@octocat", "@evil", "#123", "#124", "://evil", "www.evil"];

fn is_own(tag: &str) -> bool {
    let tag = tag.trim();
    let summary = tag
        .strip_prefix("<details><summary>")
        .and_then(|rest| rest.strip_suffix("</summary>"));
    OWN_TAGS.contains(&tag)
        || summary.is_some_and(|words| {
            !words.contains(['<', '>']) && !REFERENCES.iter().any(|word| words.contains(word))
        })
}

/// Every text of every message in a SARIF log.
fn messages(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| match value {
            Value::String(text) if key == "text" || key == "markdown" => found.push(text.clone()),
            value => messages(value, found),
        }),
        Value::Array(values) => values.iter().for_each(|value| messages(value, found)),
        _ => {}
    }
}

fn markdown_documents(view: &View) -> BTreeMap<&'static str, String> {
    let files = view.rounds.iter().flat_map(|round| {
        round
            .positions
            .iter()
            .map(move |(agent, _)| (agent, round.round))
    });
    let files: String = files
        .filter_map(|(agent, round)| report::judge_file(view, agent, round))
        .collect();
    let mut documents =
        BTreeMap::from([("markdown", report::markdown(view)), ("judge file", files)]);
    documents.extend(report::adr(view).ok().map(|text| ("adr", text)));
    documents.extend(report::comment(view).ok().map(|text| ("comment", text)));
    documents
}

#[tokio::test(start_paused = true)]
async fn nothing_that_was_said_is_alive_in_any_document() {
    let (mut problems, mut made, mut formats) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for case in cases() {
        let Some(view) = hostile_view(&case, hostile).await else {
            continue;
        };
        let name = format!("{}/{}", case.start.format, case.name);
        formats.insert(case.start.format.clone());
        for (kind, text) in markdown_documents(&view) {
            made.insert(kind);
            problems.extend(
                alive(&text)
                    .into_iter()
                    .map(|problem| format!("{name}, {kind}: {problem}")),
            );
        }
        if let Ok(log) = report::sarif(&view) {
            made.insert("sarif");
            let mut texts = Vec::new();
            messages(&serde_json::from_str(&log).expect("JSON"), &mut texts);
            let is_alive = |text: &&String| {
                text.contains("](") || text.contains("://") || text.chars().any(is_hostile)
            };
            problems.extend(
                texts
                    .iter()
                    .filter(is_alive)
                    .map(|text| format!("{name}, sarif: {text}")),
            );
        }
        if let Ok(yaml) = report::yaml(&view) {
            made.insert("yaml");
            let read: Value = serde_saphyr::from_str(&yaml)
                .unwrap_or_else(|error| panic!("{name}: {error}\n{yaml}"));
            problems.extend(
                (!read["debate_result"].is_object())
                    .then(|| format!("{name}: YAML reads as something else")),
            );
        }
    }
    problems.truncate(40);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(
        made,
        BTreeSet::from(["adr", "comment", "judge file", "markdown", "sarif", "yaml"])
    );
    assert_eq!(
        formats.len(),
        FORMATS.len(),
        "every format can be run with hostile text: {formats:?}"
    );
}
