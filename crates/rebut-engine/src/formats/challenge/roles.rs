//! Who does what in a challenge: one proposes, the others challenge from their angles.

use crate::formats::casting::{Casting, Wanted, named_or};

/// The roles when nobody says otherwise; the first proposes.
pub const ROLES: [&str; 4] = ["proposer", "architect", "operator", "adversary"];

pub const CASTING: Casting = Casting {
    programs: &[
        ("architect", "cli:gemini"),
        ("operator", "cli:codex"),
        ("adversary", "cli:qwen"),
    ],
    ..Casting::panel(&ROLES, roles)
};

fn roles(_: &Wanted<'_>, named: &[String]) -> Result<Vec<String>, String> {
    let mut roles = named_or(&ROLES, named);
    // The challengers were named; somebody has to propose.
    if roles.first().is_some_and(|first| first != ROLES[0]) {
        roles.insert(0, ROLES[0].to_owned());
    }
    Ok(roles)
}
