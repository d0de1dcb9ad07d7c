//! What it cost and how it is recorded: per agent and in all, robustness, id, times, hashes,
//! crashes, redactions.

use super::{markup::Markup, named, section};
use crate::{
    agent::Agent,
    event::Started,
    record::Hash,
    report::markdown::cost,
    retally::robustness,
    topology::{self, Kind},
    view::View,
};

/// One agent's row in the panel's table.
pub fn agent_row(page: &mut Markup, view: &View, place: usize, agent: &Agent) {
    let spent = view.spent_by(&agent.name);
    let holds = view
        .last_words()
        .iter()
        .find(|(name, _)| **name == *agent.name)
        .map_or_else(String::new, |(_, position)| {
            let held = position.counted.as_deref().unwrap_or("nothing");
            format!("{held} ({:.2})", position.confidence)
        });
    page.within("tr", &[], |page| {
        page.within("th", &[("scope", "row")], |page| {
            named(page, place, &agent.name)
        });
        page.element("td", &[], &agent.stance);
        page.element("td", &[], &agent.model);
        page.element("td", &[], &holds);
        page.element("td", &[("class", "number")], &spent.calls.to_string());
        page.element(
            "td",
            &[("class", "number")],
            &(spent.input_tokens + spent.cached_tokens).to_string(),
        );
        page.element(
            "td",
            &[("class", "number")],
            &spent.output_tokens.to_string(),
        );
        page.element("td", &[("class", "number")], &cost(spent.cost_usd));
    });
}

pub fn write(page: &mut Markup, view: &View, started: &Started) {
    section(page, "record", "Cost and record", |page| {
        if let Some(robust) = robustness(view) {
            page.element("h3", &[], "How firmly it stands");
            page.within("ul", &[], |page| {
                robust
                    .in_words()
                    .iter()
                    .for_each(|words| page.element("li", &[], words))
            });
        }
        hearing(page, view);
        page.element("h3", &[], "Record");
        page.within("dl", &[("class", "facts")], |page| {
            for (name, value) in facts(view, started) {
                page.within("div", &[], |page| {
                    page.element("dt", &[], name);
                    page.element("dd", &[], &value);
                });
            }
        });
        let prompts = started
            .prompts
            .iter()
            .map(|(file, hash)| vec![file.clone(), hash.to_string()]);
        page.within("details", &[], |page| {
            page.element("summary", &[], "The prompts this debate was pinned to");
            page.table("Hash of each prompt file", &["Prompt", "SHA-256"], prompts);
        });
    });
    let id = view.id.map(|id| id.to_string()).unwrap_or_default();
    page.within("footer", &[], |page| {
        page.line(&format!(
            "Debate {id}, read-only, made from {} events of its journal. It can be checked with ",
            view.events
        ));
        page.element("code", &[], "rebut audit verify");
        page.line(" and run again offline with ");
        page.element("code", &[], "rebut replay");
        page.line(".");
    });
}

/// Who heard whom, where that was not simply everybody.
fn hearing(page: &mut Markup, view: &View) {
    for (round, topology) in topology::over_time(view)
        .into_iter()
        .filter(|(_, topology)| topology.kind() != Kind::MESH)
    {
        page.element("h3", &[], &format!("Who hears whom from round {round}"));
        page.within("ul", &[], |page| {
            topology
                .to_text()
                .lines()
                .for_each(|line| page.element("li", &[], line))
        });
    }
}

fn facts(view: &View, started: &Started) -> Vec<(&'static str, String)> {
    let spent = view.spent();
    let tokens = format!(
        "{} in ({} cached), {} out",
        spent.input_tokens + spent.cached_tokens,
        spent.cached_tokens,
        spent.output_tokens
    );
    let unknown = if spent.unknown_calls > 0 {
        format!(", {} of unknown use", spent.unknown_calls)
    } else {
        String::new()
    };
    let settings = Hash::of(started.config.to_string().as_bytes());
    let mut facts = vec![
        (
            "Debate",
            view.id.map(|id| id.to_string()).unwrap_or_default(),
        ),
        ("Began", view.created_at.to_string()),
        (
            "Ended",
            view.ended_at.as_deref().unwrap_or("not yet").to_owned(),
        ),
        ("Worked", format!("{:.1} s", view.worked_ms as f64 / 1000.0)),
        ("Cost", cost(spent.cost_usd)),
        (
            "Calls",
            format!("{}, {} answered{unknown}", spent.calls, spent.answers),
        ),
        ("Tokens", tokens),
        (
            "Program and format",
            format!(
                "{}, {} v{}",
                started.engine, started.format, started.format_version
            ),
        ),
        ("Seed", started.seed.to_string()),
        ("Hash of the settings", settings.to_string()),
        ("Asked by", started.initiated_by.clone()),
    ];
    facts.extend(started.forked_from.as_ref().map(|origin| {
        (
            "Forked from",
            format!("{} at {}", origin.debate_id, origin.at),
        )
    }));
    facts.extend(
        spent
            .possibly_paid_twice
            .iter()
            .map(|turn| ("Possibly paid twice", turn.clone())),
    );
    facts.extend(
        view.resumed
            .iter()
            .filter(|resumed| !resumed.drift.is_empty())
            .map(|resumed| {
                (
                    "Resumed with changed prompts",
                    format!("by {}: {}", resumed.engine, resumed.drift.join(", ")),
                )
            }),
    );
    if !view.redacted.is_empty() {
        facts.push((
            "Redacted events",
            view.redacted
                .iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        ));
    }
    facts
}
