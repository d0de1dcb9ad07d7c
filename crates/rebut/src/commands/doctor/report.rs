//! Findings for people: one section per kind of thing.

use super::findings::{Cli, Findings};
use crate::{
    model_discovery,
    paint::Paint,
    text::{dollars, padded},
};
use rebut_engine::clean::on_one_line;

pub fn text(findings: &Findings, paint: Paint) -> String {
    let mut text = String::new();
    let sections: [(&str, Vec<String>); 10] = [
        ("keys", keys(findings, paint)),
        ("endpoints", endpoints(findings)),
        (
            "agents",
            findings.clis.iter().map(|cli| agent(cli, paint)).collect(),
        ),
        ("servers", servers(findings, paint)),
        ("panel", panel(findings, paint)),
        ("prices", prices(findings, paint)),
        (
            "config",
            findings
                .config
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
        ),
        ("data", data(findings, paint)),
        ("sandbox", vec![findings.sandbox.line(paint)]),
        ("asked", probes(findings, paint)),
    ];
    for (name, lines) in sections {
        if name == "asked" && findings.probes.is_none() {
            continue;
        }
        let lines = if lines.is_empty() {
            vec!["none".to_owned()]
        } else {
            lines
        };
        for (number, line) in lines.iter().enumerate() {
            text.push_str(&format!(
                "{}{line}\n",
                padded(if number == 0 { name } else { "" }, 11)
            ));
        }
    }
    text.push_str(&verdict(findings, paint));
    for command in findings.fixes.iter().flatten() {
        text.push_str(&format!("  {}\n", on_one_line(command)));
    }
    text
}

fn verdict(findings: &Findings, paint: Paint) -> String {
    let fixes = match &findings.fixes {
        Some(fixes) if fixes.is_empty() => "nothing to fix\n",
        Some(_) => "what would help; nothing of it was run:\n",
        None => "",
    };
    let verdict = match (findings.is_usable(), findings.usable) {
        (true, _) => paint.good("ready"),
        (false, true) => format!(
            "{} see what was asked",
            paint.attention("no model answers:")
        ),
        (false, false) => {
            format!(
                "{} debates run with the built-in rehearsal, which is not a model",
                paint.attention("no model found:")
            )
        }
    };
    format!("{verdict}\n{fixes}")
}

fn keys(findings: &Findings, paint: Paint) -> Vec<String> {
    // Several providers may share a variable.
    let names = |set: bool| {
        let mut names: Vec<String> = Vec::new();
        for name in findings
            .keys
            .iter()
            .filter(|key| key.set == set)
            .map(|key| on_one_line(&key.variable))
        {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let (set, unset) = (names(true), names(false));
    let mut lines = if set.is_empty() {
        vec!["none set".to_owned()]
    } else {
        vec![format!("{} set", set.join(", "))]
    };
    if !unset.is_empty() {
        lines.push(paint.faint(&format!("not set: {}", unset.join(", "))));
    }
    lines
}

fn endpoints(findings: &Findings) -> Vec<String> {
    let ready = findings.endpoints.iter().filter(|endpoint| endpoint.ready);
    let row = |name: &str, wire: &str, host: &str| {
        format!(
            "{} {} {}",
            padded(&on_one_line(name), 10),
            padded(wire, 9),
            on_one_line(host)
        )
    };
    ready
        .map(|endpoint| row(&endpoint.provider, endpoint.wire.name(), &endpoint.host))
        .collect()
}

fn agent(cli: &Cli, paint: Paint) -> String {
    let signed_in = match cli.signed_in {
        Some(true) => "signed in".to_owned(),
        Some(false) => paint.attention(&format!("not signed in: {}", on_one_line(&cli.hint))),
        None if cli.hint.is_empty() => {
            "cannot see whether somebody is signed in; `rebut doctor --deep` asks it".to_owned()
        }
        None => format!(
            "cannot see whether somebody is signed in; if not: {}",
            on_one_line(&cli.hint)
        ),
    };
    let version = cli.version.as_deref().unwrap_or("version unknown");
    format!(
        "{} {}  {}  {signed_in}",
        padded(&on_one_line(&cli.name), 10),
        on_one_line(version),
        cli.program.display()
    )
}

fn servers(findings: &Findings, paint: Paint) -> Vec<String> {
    let (there, gone): (Vec<_>, Vec<_>) =
        findings.servers.iter().partition(|server| server.answers);
    let mut lines: Vec<String> = there
        .iter()
        .map(|server| {
            format!(
                "{} {}  {} models",
                padded(&on_one_line(&server.provider), 10),
                on_one_line(&server.host),
                server.models
            )
        })
        .collect();
    if !gone.is_empty() {
        let names: Vec<String> = gone
            .iter()
            .map(|server| {
                format!(
                    "{} at {}",
                    on_one_line(&server.provider),
                    on_one_line(&server.host)
                )
            })
            .collect();
        lines.push(paint.faint(&format!("nobody answers: {}", names.join(", "))));
    }
    lines
}

fn panel(findings: &Findings, paint: Paint) -> Vec<String> {
    let panel = &findings.panel;
    if let Some(problem) = &panel.problem {
        return vec![paint.bad(problem)];
    }
    let mut lines = vec![on_one_line(&panel.chosen)];
    // Where nobody can be asked, that is said already.
    let untold = findings.nameless.iter().filter(|_| findings.usable);
    lines.extend(untold.map(|provider| paint.faint(&model_discovery::which_model(provider))));
    if let Some(family) = &panel.only_family {
        lines.push(paint.attention(&format!(
            "all judges are of one family ({}): they may err together",
            on_one_line(family)
        )));
    }
    lines
}

fn prices(findings: &Findings, paint: Paint) -> Vec<String> {
    let date = |on: &Option<String>| {
        on.as_ref().map_or_else(
            || "from your configuration".to_owned(),
            |on| format!("of {}", on_one_line(on)),
        )
    };
    let dates: Vec<String> = findings
        .prices
        .iter()
        .map(|priced| {
            format!(
                "{} {}",
                on_one_line(&priced.provider),
                date(&priced.priced_on)
            )
        })
        .collect();
    let mut lines: Vec<String> = if dates.is_empty() {
        Vec::new()
    } else {
        vec![dates.join(", ")]
    };
    if !findings.panel.unpriced.is_empty() {
        let names: Vec<_> = findings
            .panel
            .unpriced
            .iter()
            .map(|model| on_one_line(model))
            .collect();
        lines.push(paint.attention(&format!(
            "unknown for {}: a cap on money refuses it",
            names.join(", ")
        )));
    }
    lines
}

fn data(findings: &Findings, paint: Paint) -> Vec<String> {
    let store = &findings.store;
    let dir = || {
        store
            .dir
            .as_ref()
            .map_or_else(|| "nowhere".to_owned(), |dir| dir.display().to_string())
    };
    let place = store.server.clone().unwrap_or_else(dir);
    let first = store.problem.as_ref().map_or_else(
        || place.clone(),
        |problem| format!("{place}: {}", paint.bad(problem)),
    );
    std::iter::once(first)
        .chain(store.seal.as_ref().map(|seal| format!("sealed by {seal}")))
        .collect()
}

fn probes(findings: &Findings, paint: Paint) -> Vec<String> {
    let row = |probe: &super::deep::Probe| {
        let seconds = probe.ms as f64 / 1000.0;
        let cost = probe
            .cost_usd
            .map_or_else(|| "cost n/a".to_owned(), dollars);
        let said = match &probe.fault {
            None => paint.good("ok"),
            Some(fault) => paint.bad(fault),
        };
        let served = probe
            .answered_as
            .as_ref()
            .map(|model| format!("  as {model}"))
            .unwrap_or_default();
        format!(
            "{}  {said}  {seconds:.1} s  {cost}{served}",
            on_one_line(&probe.model)
        )
    };
    findings.probes.iter().flatten().map(row).collect()
}
