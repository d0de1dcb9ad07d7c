//! Who does what in a solve debate: one table from roles to duties, and who steps in where nobody
//! has a duty. Pure.

use crate::agent::Agent;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duty {
    Make,
    Criticise,
    Attack,
    Defend,
    /// Writes tests that tell candidates apart.
    Test,
    Judge,
    Instruct,
}

/// The duties of a role. A role that is not here criticises.
const DUTIES: &[(&str, &[Duty])] = &[
    ("generator", &[Duty::Make]),
    ("implementer", &[Duty::Make]),
    ("designer", &[Duty::Make]),
    ("proposer", &[Duty::Make]),
    ("architect", &[Duty::Instruct, Duty::Criticise]),
    ("moderator", &[Duty::Instruct]),
    ("teacher", &[Duty::Instruct, Duty::Criticise]),
    ("security", &[Duty::Criticise, Duty::Attack]),
    ("adversary", &[Duty::Attack]),
    ("redteam", &[Duty::Attack]),
    ("blueteam", &[Duty::Defend]),
    ("tester", &[Duty::Test, Duty::Criticise]),
    ("testing", &[Duty::Test, Duty::Criticise]),
    ("validator", &[Duty::Test, Duty::Criticise]),
    ("judge", &[Duty::Judge]),
];

/// Who sits where; agents by reference, in the order of the panel.
#[derive(Clone, Debug)]
pub struct Roles {
    pub makers: Vec<Agent>,
    pub critics: Vec<Agent>,
    pub reds: Vec<Agent>,
    /// Who patches; the owner of a candidate where there is none.
    pub blue: Option<Agent>,
    /// Who writes tests that tell candidates apart.
    pub tester: Agent,
    pub judge: Option<Agent>,
    pub asker: Agent,
    /// Who answers; nobody in a panel of one.
    pub instructor: Option<Agent>,
}

impl Roles {
    /// The roles of a panel; `None` for an empty one.
    pub fn of(agents: &[Agent]) -> Option<Self> {
        let with = |duty: Duty| {
            agents
                .iter()
                .filter(|agent| duties(agent).contains(&duty))
                .cloned()
                .collect::<Vec<_>>()
        };
        let or_else =
            |found: Vec<Agent>, others: Vec<Agent>| if found.is_empty() { others } else { found };
        let judge = with(Duty::Judge).into_iter().next();
        let impartial = |agent: &&Agent| {
            !duties(agent)
                .iter()
                .any(|duty| matches!(duty, Duty::Judge | Duty::Attack | Duty::Defend))
        };
        let makers = or_else(
            with(Duty::Make),
            agents.iter().filter(impartial).cloned().collect(),
        );
        let makers = or_else(makers, agents.to_vec());
        let critics = or_else(with(Duty::Criticise), makers.clone());
        let reds = or_else(with(Duty::Attack), critics.clone());
        let asker = makers.first()?.clone();
        let tester = with(Duty::Test)
            .into_iter()
            .next()
            .or_else(|| judge.clone())
            .or_else(|| critics.first().cloned())?;
        let mut others = agents.iter().filter(|agent| agent.name != asker.name);
        let instructor = with(Duty::Instruct)
            .into_iter()
            .find(|agent| agent.name != asker.name);
        let instructor = instructor
            .or_else(|| judge.clone())
            .filter(|agent| agent.name != asker.name)
            .or_else(|| others.next_back().cloned());
        Some(Self {
            makers,
            critics,
            reds,
            blue: with(Duty::Defend).into_iter().next(),
            tester,
            judge,
            asker,
            instructor,
        })
    }
}

fn duties(agent: &Agent) -> &'static [Duty] {
    let plain: String = agent
        .role
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    DUTIES
        .iter()
        .find(|(role, _)| *role == plain)
        .map_or(&[Duty::Criticise], |(_, duties)| *duties)
}

/// Who votes: whoever owns no candidate, so that nobody votes for itself; with fewer than three of
/// them, everybody.
pub fn voters(agents: &[Agent], is_owner: impl Fn(&Agent) -> bool) -> Vec<&Agent> {
    let others: Vec<&Agent> = agents.iter().filter(|agent| !is_owner(agent)).collect();
    if others.len() >= 3 {
        others
    } else {
        agents.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Role;

    fn panel(roles: &[&str]) -> Vec<Agent> {
        roles
            .iter()
            .map(|role| Role::parse(role, "Weigh it.").played_by("script:s.md"))
            .collect()
    }

    #[test]
    fn every_panel_fills_its_roles() {
        let names = |agents: &[Agent]| {
            agents
                .iter()
                .map(|agent| agent.name.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        type Row = (
            &'static [&'static str],
            &'static str,
            &'static str,
            &'static str,
            &'static str,
            &'static str,
        );
        let rows: [Row; 7] = [
            (
                &[
                    "generator",
                    "implementer",
                    "critic",
                    "tester",
                    "red-team",
                    "judge",
                ],
                "generator implementer",
                "critic tester",
                "red-team",
                "tester",
                "judge",
            ),
            (
                &["generator"],
                "generator",
                "generator",
                "generator",
                "generator",
                "",
            ),
            (
                &["risk", "value"],
                "risk value",
                "risk value",
                "risk value",
                "risk",
                "value",
            ),
            (&["judge"], "judge", "judge", "judge", "judge", ""),
            (
                &["Generator", "security", "architect"],
                "Generator",
                "security architect",
                "security",
                "security",
                "architect",
            ),
            (
                &["red-team", "blue-team"],
                "red-team blue-team",
                "red-team blue-team",
                "red-team",
                "red-team",
                "blue-team",
            ),
            (
                &["generator", "moderator", "judge"],
                "generator",
                "generator",
                "generator",
                "judge",
                "moderator",
            ),
        ];
        for (roles, makers, critics, reds, tester, instructor) in rows {
            let who = Roles::of(&panel(roles)).expect("roles");
            assert_eq!(names(&who.makers), makers, "{roles:?} make");
            assert_eq!(names(&who.critics), critics, "{roles:?} criticise");
            assert_eq!(names(&who.reds), reds, "{roles:?} attack");
            assert_eq!(&*who.tester.name, tester, "{roles:?} test");
            assert_eq!(
                who.instructor
                    .map_or(String::new(), |agent| agent.name.to_string()),
                instructor,
                "{roles:?} instruct"
            );
        }
        assert!(Roles::of(&[]).is_none());
    }

    #[test]
    fn owners_vote_only_where_too_few_others_could() {
        let agents = panel(&["generator", "implementer", "critic", "tester", "judge"]);
        let is_owner = |agent: &Agent| ["generator", "implementer"].contains(&&*agent.role);
        assert_eq!(voters(&agents, is_owner).len(), 3);
        assert_eq!(
            voters(&agents[..4], is_owner).len(),
            4,
            "two others are too few: everybody votes"
        );
    }
}
