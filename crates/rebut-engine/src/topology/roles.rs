//! Which roles have a place of their own, and which suit a phase. Tables; roles that are in none
//! are placed by score and panel order.

pub(super) struct Phase {
    names: &'static [&'static str],
    /// Who should lead it, best first.
    roles: &'static [&'static str],
    /// Whether work is handed down; otherwise results are gathered upwards.
    down: bool,
}

/// What a lead of a tree takes care of.
pub(super) struct Concern {
    /// Who can be its lead, best first.
    pub roles: &'static [&'static str],
    pub phases: &'static [&'static str],
}

/// Who is the hub of a star, best first.
pub(super) const HUBS: &[&str] = &["moderator"];

/// Who is the root of a tree, best first.
pub(super) const ROOTS: &[&str] = &["architect", "lead", "designer"];

/// The order of a chain: who makes something, who attacks and mends it, who tests it, who closes.
#[rustfmt::skip]
pub(super) const CHAIN: &[&str] = &[
    "proposer", "generator", "architect", "designer", "implementer",
    "critic", "redteam", "reviewer", "blueteam", "optimizer", "performanceanalyzer", "refactorer",
    "testagent", "tester", "compiler", "executor", "security", "validator", "teacher", "judge", "moderator",
];

/// The concerns of a tree's leads.
pub(super) const CONCERNS: &[Concern] = &[
    Concern {
        roles: &["security", "redteam", "blueteam"],
        phases: &["critique", "challenge", "adversarial"],
    },
    Concern {
        roles: &["performanceanalyzer", "optimizer", "refactorer"],
        phases: &["optimization"],
    },
    Concern {
        roles: &["moderator", "teacher", "proposer"],
        phases: &["convergence"],
    },
    Concern {
        roles: &["testagent", "tester", "validator", "compiler", "executor"],
        phases: &["dehallucination", "selfevolvement"],
    },
    Concern {
        roles: &["reviewer", "critic", "judge"],
        phases: &["review"],
    },
];

const PHASES: &[Phase] = &[
    Phase {
        names: &["proposal", "recommend", "draft"],
        roles: &[
            "proposer",
            "generator",
            "implementer",
            "architect",
            "designer",
        ],
        down: true,
    },
    Phase {
        names: &["critique", "challenge"],
        roles: &["critic", "redteam", "security"],
        down: false,
    },
    Phase {
        names: &["review"],
        roles: &["reviewer", "judge", "validator"],
        down: false,
    },
    Phase {
        names: &["optimization"],
        roles: &["optimizer", "performanceanalyzer", "refactorer"],
        down: false,
    },
    Phase {
        names: &["adversarial"],
        roles: &["redteam", "security", "blueteam"],
        down: false,
    },
    Phase {
        names: &["dehallucination"],
        roles: &["validator", "critic", "reviewer"],
        down: false,
    },
    Phase {
        names: &["selfevolvement"],
        roles: &["testagent", "tester", "executor", "implementer"],
        down: true,
    },
    Phase {
        names: &["convergence"],
        roles: &["moderator", "judge", "validator"],
        down: false,
    },
];

/// Where a role stands in a list. Case, blanks and dashes do not matter: `Red Team` is `redteam`.
pub(super) fn index(roles: &[&str], role: &str) -> Option<usize> {
    let role = plain(role);
    roles.iter().position(|known| *known == role)
}

/// Who should lead a phase, best first; nobody in particular in phases nobody knows.
pub(super) fn leading(phase: &str) -> &'static [&'static str] {
    known(phase).map_or(&[], |phase| phase.roles)
}

/// Whether a phase hands work down.
pub(super) fn goes_down(phase: &str) -> bool {
    known(phase).is_some_and(|phase| phase.down)
}

/// The concern that a phase is about.
pub(super) fn concern_of(phase: &str) -> Option<&'static Concern> {
    let phase = plain(phase);
    CONCERNS
        .iter()
        .find(|concern| concern.phases.contains(&phase.as_str()))
}

fn known(phase: &str) -> Option<&'static Phase> {
    let phase = plain(phase);
    PHASES
        .iter()
        .find(|known| known.names.contains(&phase.as_str()))
}

fn plain(word: &str) -> String {
    word.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_tables_can_be_met() {
        let roles = [HUBS, ROOTS, CHAIN]
            .into_iter()
            .chain(CONCERNS.iter().map(|concern| concern.roles));
        let words = roles
            .chain(PHASES.iter().flat_map(|phase| [phase.names, phase.roles]))
            .chain(CONCERNS.iter().map(|c| c.phases));
        for word in words.flatten() {
            assert_eq!(*word, plain(word), "a word that is never met");
        }
        assert_eq!(index(CHAIN, "Red-Team"), index(CHAIN, "redteam"));
        assert_eq!(
            (
                goes_down("Proposal"),
                goes_down("self_evolvement"),
                goes_down("critique"),
                goes_down("?")
            ),
            (true, true, false, false)
        );
    }
}
