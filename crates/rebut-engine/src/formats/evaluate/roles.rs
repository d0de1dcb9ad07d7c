//! Who does what in an evaluation: two sides, an arbiter, and an evaluator of what has no score.

use crate::{agent::Agent, clean::on_one_line};

/// Who sits where.
#[derive(Clone, Copy, Debug)]
pub struct Roles<'a> {
    /// Who defends the idea, and who attacks it.
    pub sides: [&'a Agent; 2],
    /// Who judges.
    pub arbiter: &'a Agent,
    /// Who scores what has no score.
    pub evaluator: Option<&'a Agent>,
}

/// The names of the two sides, in the order they always stand in.
pub const SIDES: [&str; 2] = ["advocate", "challenger"];

/// Every seat: what roles are called.
pub const ROLES: [&str; 4] = ["advocate", "challenger", "arbiter", "evaluator"];

impl<'a> Roles<'a> {
    /// Finds each role's agent. There may be no evaluator unless `needs_evaluator`.
    pub fn of(agents: &'a [Agent], needs_evaluator: bool) -> Result<Self, String> {
        if let Some(other) = agents.iter().find(|agent| !ROLES.contains(&&*agent.role)) {
            return Err(format!(
                "evaluate has no seat for the role `{}`; it has {}",
                on_one_line(&other.role),
                ROLES.join(", ")
            ));
        }
        let seat = |role: &str| {
            let mut found = agents.iter().filter(|agent| &*agent.role == role);
            match (found.next(), found.next()) {
                (_, Some(_)) => Err(format!("evaluate takes one {role}, not several")),
                (agent, None) => Ok(agent),
            }
        };
        let must = |role: &str| {
            seat(role)?.ok_or_else(|| format!("evaluate needs an agent with the role `{role}`"))
        };
        let evaluator = match needs_evaluator {
            true => Some(
                must("evaluator")
                    .map_err(|problem| format!("{problem}: not every category has a score"))?,
            ),
            false => seat("evaluator")?,
        };
        Ok(Self {
            sides: [must(SIDES[0])?, must(SIDES[1])?],
            arbiter: must("arbiter")?,
            evaluator,
        })
    }
}
