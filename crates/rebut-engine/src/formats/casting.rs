//! Who takes part in a debate, as far as its format knows: the roles when nobody says otherwise,
//! whom an input needs besides, and who of a panel is asked.

use crate::agent::Agent;
use serde_json::Value;

/// A debate before anybody takes part.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub input: &'a Value,
    pub config: &'a Value,
}

/// Who takes part, by the rules of a format.
#[derive(Clone, Copy)]
pub struct Casting {
    /// The roles when nobody says otherwise.
    pub usual: &'static [&'static str],
    /// The roles to fill. `named` are those that somebody asked for; none if nobody did.
    pub roles: fn(wanted: &Wanted<'_>, named: &[String]) -> Result<Vec<String>, String>,
    /// Roles without which it cannot be held. Agents of other roles are left out, and a panel that
    /// lacks one of these lends its models to them. Empty where any role will do.
    pub required: fn(&Wanted<'_>) -> Result<&'static [&'static str], String>,
    /// Who of a panel is really asked: only they belong to the debate.
    pub asked: fn(&Wanted<'_>, Vec<Agent>) -> Result<Vec<Agent>, String>,
    /// Moves models that nobody chose between roles, such as a judge's away from its own family.
    pub rearrange: fn(&mut [Agent]),
    /// The agent program that usually plays a role. Where there are such, the first role leads and
    /// gets the best model.
    pub programs: &'static [(&'static str, &'static str)],
}

impl Casting {
    /// A panel of any roles, all of whom are asked.
    pub const fn panel(
        usual: &'static [&'static str],
        roles: fn(&Wanted<'_>, &[String]) -> Result<Vec<String>, String>,
    ) -> Self {
        Self {
            usual,
            roles,
            required: |_| Ok(&[]),
            asked: |_, agents| Ok(agents),
            rearrange: |_| {},
            programs: &[],
        }
    }

    /// The judges of formats that answer a question.
    pub const JUDGES: Self = Self::panel(&JUDGES, |_, named| Ok(named_or(&JUDGES, named)));
}

/// The judges of a question when nobody says otherwise.
pub const JUDGES: [&str; 3] = ["risk", "value", "effort"];

/// The roles that were named, or else the usual ones.
pub fn named_or(usual: &[&str], named: &[String]) -> Vec<String> {
    if named.is_empty() {
        usual.iter().copied().map(str::to_owned).collect()
    } else {
        named.to_vec()
    }
}
