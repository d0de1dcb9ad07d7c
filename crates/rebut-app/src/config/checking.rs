//! What is wrong with a configuration as a whole: names that lead nowhere and numbers that cannot
//! be.

use super::{Config, Member};
use crate::roles;
use rebut_engine::{
    budget::Caps,
    model::{FaultKind, Models},
};
use rebut_models::Registry;
use std::path::Path;

impl Config {
    /// Everything that is wrong although each file can be read.
    pub fn problems(&self, registry: &Registry, project: &Path) -> Vec<String> {
        let mut problems = registry.problems();
        if let Some(name) = self
            .defaults
            .panel
            .as_ref()
            .filter(|name| *name != "auto" && !self.panels.contains_key(*name))
        {
            problems.push(format!(
                "[defaults] panel: there is no panel `{name}`; add [panels.{name}]"
            ));
        }
        if self.defaults.calls_per_provider == Some(0) {
            problems.push(
                "[defaults] calls_per_provider: 0 would ask nobody; leave it out for the \
                usual number"
                    .to_owned(),
            );
        }
        for (name, panel) in &self.panels {
            if panel.members.is_empty() {
                problems.push(format!("[panels.{name}] has no members"));
            }
            for (number, member) in (1..).zip(&panel.members) {
                let wrong = member_problems(member, registry, project);
                problems.extend(
                    wrong
                        .into_iter()
                        .map(|problem| format!("[panels.{name}] member {number}: {problem}")),
                );
            }
        }
        let caps = Caps {
            cost_usd: self.budget.max_cost,
            ..Caps::default()
        };
        problems.extend(
            caps.problem()
                .map(|problem| format!("[budget] max_cost: {problem}")),
        );
        problems.extend(self.hook.check().err());
        problems.extend(self.server.check().err());
        problems
    }
}

fn member_problems(member: &Member, registry: &Registry, project: &Path) -> Vec<String> {
    let role = roles::find(project, &member.role)
        .err()
        .map(|error| error.to_string());
    let names = std::iter::once(&member.model).chain(&member.fallbacks);
    // A key, program or script that is missing is missing here, not in the file.
    let unknown = names
        .filter_map(|name| registry.open(name).err())
        .filter(|fault| matches!(fault.kind, FaultKind::NotFound | FaultKind::BadRequest));
    role.into_iter()
        .chain(unknown.map(|fault| fault.message))
        .collect()
}
