//! Limits that the user set in their own file: a project's file may tighten them and never loosens
//! them. Caps of `[budget]` are joined in `budget.rs`, patterns of `[context]` in `layers.rs`.

use toml::{Table, Value};

#[derive(Clone, Copy, Debug)]
enum Limit {
    Number,
    /// By leaving out something that the user lists.
    List,
    /// By switching on what the user switched off.
    Off,
}

/// A section, its key, and how that is a limit.
const LIMITS: &[(&str, &str, Limit)] = &[
    ("defaults", "calls_per_provider", Limit::Number),
    // Seconds that code of models may run on this machine.
    ("solve", "seconds_per_run", Limit::Number),
    // Phases after which a person must approve.
    ("solve", "gates", Limit::List),
    // Whether lessons of other debates go into prompts.
    ("solve", "lessons", Limit::Off),
];

/// Takes out of a project's settings what would loosen a limit of the user's. Gives the keys, each
/// with the reason.
pub fn hold(project: &mut Table, user: &Table) -> Vec<String> {
    let mut loosened = Vec::new();
    for (section, key, limit) in LIMITS {
        let Some(own) = user.get(*section).and_then(|section| section.get(*key)) else {
            continue;
        };
        let Some(section_of_project) = project.get_mut(*section).and_then(Value::as_table_mut)
        else {
            continue;
        };
        let Some(theirs) = section_of_project.get(*key) else {
            continue;
        };
        if let Some((kept, why)) = held(*limit, own, theirs) {
            section_of_project.insert((*key).to_owned(), kept);
            loosened.push(format!("{section}.{key} ({why})"));
        }
    }
    loosened.extend(hold_gated_phases(project, user));
    loosened
}

/// A gate comes after its phase: a project that leaves the phase out would leave out the gate.
fn hold_gated_phases(project: &mut Table, user: &Table) -> Option<String> {
    let gates = user.get("solve")?.get("gates")?.as_array()?.clone();
    let phases = project
        .get_mut("solve")?
        .get_mut("phases")?
        .as_array_mut()?;
    let missing: Vec<Value> = gates
        .into_iter()
        .filter(|gate| !phases.contains(gate))
        .collect();
    if missing.is_empty() {
        return None;
    }
    phases.extend(missing);
    Some("solve.phases (leaves out one after which you approve)".to_owned())
}

/// What counts in the place of a project's value that would loosen the user's own, and why.
fn held(limit: Limit, own: &Value, theirs: &Value) -> Option<(Value, &'static str)> {
    match (limit, own, theirs) {
        (Limit::Number, Value::Integer(most), Value::Integer(asked)) if asked > most => {
            Some((own.clone(), "more than yours"))
        }
        (Limit::List, Value::Array(all), Value::Array(asked))
            if all.iter().any(|one| !asked.contains(one)) =>
        {
            let more = asked.iter().filter(|one| !all.contains(one));
            Some((
                all.iter().chain(more).cloned().collect::<Vec<_>>().into(),
                "fewer than yours",
            ))
        }
        (Limit::Off, Value::Boolean(false), Value::Boolean(true)) => {
            Some((own.clone(), "you switched it off"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_tightens_limits_and_loosens_none() {
        // What the user says, what the project says, what of it counts, how much is told.
        let rows = [
            (
                "[defaults]\ncalls_per_provider = 2",
                "[defaults]\ncalls_per_provider = 9",
                "[defaults]\ncalls_per_provider = 2",
                1,
            ),
            (
                "[defaults]\ncalls_per_provider = 2",
                "[defaults]\ncalls_per_provider = 1",
                "[defaults]\ncalls_per_provider = 1",
                0,
            ),
            (
                "",
                "[defaults]\ncalls_per_provider = 9",
                "[defaults]\ncalls_per_provider = 9",
                0,
            ),
            (
                "[solve]\ngates = ['proposal']",
                "[solve]\ngates = []",
                "[solve]\ngates = ['proposal']",
                1,
            ),
            (
                "[solve]\ngates = ['proposal']",
                "[solve]\ngates = ['review']\nlints = false",
                "[solve]\ngates = ['proposal', 'review']\nlints = false",
                1,
            ),
            (
                "[solve]\ngates = ['a']",
                "[solve]\ngates = ['b', 'a']",
                "[solve]\ngates = ['b', 'a']",
                0,
            ),
            (
                "[solve]\nlessons = false\nseconds_per_run = 5",
                "[solve]\nlessons = true\nseconds_per_run = 600",
                "[solve]\nlessons = false\nseconds_per_run = 5",
                2,
            ),
            (
                "[solve]\nlessons = true",
                "[solve]\nlessons = false",
                "[solve]\nlessons = false",
                0,
            ),
            (
                "[solve]\ngates = ['convergence']",
                "[solve]\nphases = ['proposal']",
                "[solve]\nphases = ['proposal', 'convergence']",
                1,
            ),
            (
                "[solve]\ngates = ['proposal']",
                "[solve]\nphases = ['proposal']",
                "[solve]\nphases = ['proposal']",
                0,
            ),
        ];
        let table = |text: &str| toml::from_str::<Table>(text).expect(text);
        for (user, project, expected, told) in rows {
            let mut held = table(project);
            let loosened = hold(&mut held, &table(user));
            assert_eq!(
                (held, loosened.len()),
                (table(expected), told),
                "{user} | {project}: {loosened:?}"
            );
        }
    }
}
