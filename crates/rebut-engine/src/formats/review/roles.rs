//! Who does what in a review: an editor, a judge, and reviewers.

use crate::agent::Agent;

/// Who applies what was merged.
pub const EDITOR: &str = "editor";
/// Who judges the debate between reviewers.
pub const JUDGE: &str = "judge";

/// Whether an agent reviews; the editor and the judge do not.
pub fn is_reviewer(agent: &Agent) -> bool {
    ![EDITOR, JUDGE].contains(&&*agent.role)
}

/// The one agent of a role, if there is one.
pub fn only<'a>(agents: &'a [Agent], role: &str) -> Option<&'a Agent> {
    agents.iter().find(|agent| *agent.role == *role)
}
