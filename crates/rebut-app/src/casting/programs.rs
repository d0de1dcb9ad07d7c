//! Casting with agent programs: each plays its usual role, and the first role leads.

use crate::{
    app::App,
    error::AppError,
    model_discovery::{self, Candidate, Found, Source},
    panel::{self, Panel, PanelRequest},
};
use rebut_engine::{
    clean::on_one_line,
    family::family_of,
    formats::casting::{Casting, named_or},
};
use rebut_models::Registry;

/// Who takes part. Without a word about it, programs in which somebody is signed in challenge, each
/// from its usual angle.
pub async fn cast(
    app: &App,
    registry: &Registry,
    args: &PanelRequest,
    casting: &Casting,
) -> Result<Panel, AppError> {
    let mut args = args.clone();
    let usual = casting.usual;
    if !panel::wants_auto(&args, &app.config, usual)? {
        return panel::choose(&args, &app.config, &app.project(), Found::default(), usual);
    }
    let (_, named) = panel::split_models(&args.models)?;
    let roles = named_or(usual, &args.judges);
    let open: Vec<&str> = roles
        .iter()
        .map(String::as_str)
        .filter(|role| named.iter().all(|(known, _)| known != role))
        .collect();
    let found = app.found(registry).await;
    let nobody = found.nobody();
    let seated = seat(casting, &open, found.candidates);
    let chosen = words(&seated).unwrap_or(nobody);
    args.models.extend(seated.iter().map(|(role, candidate)| {
        format!(
            "{role}={}",
            candidate.as_ref().map_or("rehearsal", |one| &one.model)
        )
    }));
    let panel = panel::choose(&args, &app.config, &app.project(), Found::default(), usual)?;
    Ok(Panel { chosen, ..panel })
}

/// A model for each role, or none for anybody when there is nobody: programs challenge, from their
/// usual angle where it is free; what is left goes to models of other families, and then round.
fn seat<'a>(
    casting: &Casting,
    roles: &[&'a str],
    mut free: Vec<Candidate>,
) -> Vec<(&'a str, Option<Candidate>)> {
    let leads = |role: &str| casting.usual.first() == Some(&role);
    let everybody = free.clone();
    let mut seats: Vec<(&str, Option<Candidate>)> =
        roles.iter().map(|role| (*role, None)).collect();
    let take = |free: &mut Vec<Candidate>, fits: &dyn Fn(&Candidate) -> bool| {
        free.iter().position(fits).map(|at| free.remove(at))
    };
    let is_usual = |one: &Candidate| {
        casting
            .programs
            .iter()
            .any(|(_, program)| one.model == *program)
    };
    let is_program = |one: &Candidate| one.source == Source::SignedIn;
    for (role, seat) in &mut seats {
        *seat = match casting.programs.iter().find(|(angle, _)| angle == role) {
            Some((_, program)) => take(&mut free, &|one| one.model == *program),
            // The best: whoever has a key, else whoever has no angle of its own.
            None if leads(role) => {
                let keyed = take(&mut free, &|one| one.source == Source::Key);
                keyed.or_else(|| take(&mut free, &|one| !is_usual(one)))
            }
            None => None,
        };
    }
    for (_, seat) in seats
        .iter_mut()
        .filter(|(role, seat)| seat.is_none() && !leads(role))
    {
        *seat = take(&mut free, &is_program);
    }
    let open = seats.iter().filter(|(_, seat)| seat.is_none()).count();
    let seated: Vec<String> = seats
        .iter()
        .filter_map(|(_, seat)| Some(seat.as_ref()?.model.clone()))
        .collect();
    let rest = model_discovery::pick(
        free,
        open,
        &seated.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let mut more = rest.into_iter().chain(everybody.iter().cloned().cycle());
    for (_, seat) in seats.iter_mut().filter(|(_, seat)| seat.is_none()) {
        *seat = more.next();
    }
    seats
}

/// One line for people: who was chosen; nothing when there is nobody.
fn words(seats: &[(&str, Option<Candidate>)]) -> Option<String> {
    if seats.iter().any(|(_, seat)| seat.is_none()) {
        return None;
    }
    let named: Vec<String> = seats
        .iter()
        .filter_map(|(role, seat)| Some((role, seat.as_ref()?)))
        .map(|(role, one)| format!("{role} {} ({})", on_one_line(&one.model), one.source))
        .collect();
    let mut families: Vec<_> = seats
        .iter()
        .filter_map(|(_, seat)| Some(family_of(&seat.as_ref()?.model).into_owned()))
        .collect();
    families.sort();
    families.dedup();
    let many = if families.len() == 1 {
        "one family only".to_owned()
    } else {
        format!("{} families", families.len())
    };
    Some(format!("cast: {}; {many}", named.join(" · ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::formats::challenge;

    /// Who is there (`!` signed in, `~` a local server, else by key), and who sits as proposer,
    /// architect, operator and adversary.
    #[test]
    fn programs_take_their_usual_angles_and_the_best_of_the_rest_proposes() {
        let rows: [(&[&str], [&str; 4]); 8] = [
            (
                &[
                    "anthropic:claude-x",
                    "!cli:claude",
                    "!cli:codex",
                    "!cli:gemini",
                    "!cli:qwen",
                ],
                ["anthropic:claude-x", "cli:gemini", "cli:codex", "cli:qwen"],
            ),
            (
                &["!cli:claude", "!cli:codex", "!cli:gemini", "!cli:qwen"],
                ["cli:claude", "cli:gemini", "cli:codex", "cli:qwen"],
            ),
            (
                &["!cli:claude", "!cli:opencode", "!cli:gemini"],
                ["cli:claude", "cli:gemini", "cli:opencode", "cli:claude"],
            ),
            (
                &["!cli:gemini", "!cli:codex", "!cli:qwen"],
                ["cli:gemini", "cli:gemini", "cli:codex", "cli:qwen"],
            ),
            (
                &["anthropic:claude-x", "openai:gpt-5", "~ollama:qwen3"],
                [
                    "anthropic:claude-x",
                    "openai:gpt-5",
                    "ollama:qwen3",
                    "anthropic:claude-x",
                ],
            ),
            (&["~ollama:qwen3"], ["ollama:qwen3"; 4]),
            (&["!cli:codex"], ["cli:codex"; 4]),
            (&[], ["-"; 4]),
        ];
        for (there, expected) in rows {
            let candidates = there.iter().map(|name| match name.chars().next() {
                Some('!') => Candidate {
                    model: name[1..].to_owned(),
                    source: Source::SignedIn,
                },
                Some('~') => Candidate {
                    model: name[1..].to_owned(),
                    source: Source::Server,
                },
                _ => Candidate {
                    model: (*name).to_owned(),
                    source: Source::Key,
                },
            });
            let casting = challenge::FORMAT.casting;
            let seats = seat(&casting, casting.usual, candidates.collect());
            let models: Vec<String> = seats
                .iter()
                .map(|(_, seat)| {
                    seat.as_ref()
                        .map_or("-".to_owned(), |one| one.model.clone())
                })
                .collect();
            assert_eq!(models, expected, "{there:?}");
        }
    }
}
