//! Tests are run on candidates, and on what is to replace one: what they show, and what broke.

use crate::{
    debate::{Debate, Step},
    error::Stop,
    formats::solve::{
        candidates::Candidate,
        evidence::Evidence,
        prompts::Setup,
        state::{Ledger, Trial},
    },
    moves::red_blue::AttackState,
};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Own,
    Given,
}

/// Runs tests on candidates and enters what they show.
pub async fn run_tests(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    step: &Step,
    owners: &[Arc<str>],
    which: Which,
) -> Result<(), Stop> {
    let of = |owner: &Arc<str>| {
        ledger
            .of(owner)
            .map(|one| (one.owner.clone(), one.code.clone(), one.own_tests.clone()))
    };
    let texts: Vec<(Arc<str>, String, String)> = owners.iter().filter_map(of).collect();
    let trial = |(owner, code, own): (Arc<str>, String, String)| match which {
        Which::Own => Trial {
            owner,
            code,
            tests: own,
            style: None,
        },
        Which::Given => Trial {
            owner,
            code,
            tests: setup.input.tests.clone(),
            style: setup.input.style,
        },
    };
    let trials: Vec<Trial> = texts.into_iter().map(trial).collect();
    let found = ledger.run(debate, setup, step, trials).await?;
    for (owner, evidence) in owners.iter().zip(found) {
        if let Some(candidate) = ledger.of_mut(owner) {
            *(if which == Which::Own {
                &mut candidate.own
            } else {
                &mut candidate.given
            }) = evidence;
        }
    }
    Ok(())
}

pub async fn record_all(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    step: &Step,
    owners: &[Arc<str>],
) -> Result<(), Stop> {
    for owner in owners {
        ledger.record(debate, step, setup, owner, None).await?;
    }
    Ok(())
}

/// How many of those that hold everything could have forged it; nothing where none could.
pub fn shared_words(ledger: &Ledger, evidence: impl Fn(&Candidate) -> &Evidence) -> String {
    let is_shared = |one: &&Candidate| evidence(one).all_passed() && evidence(one).is_shared();
    match ledger.candidates.iter().filter(is_shared).count() {
        0 => String::new(),
        shared => format!("; {shared} of these in the same process (could be forged)"),
    }
}

/// What the tests of a candidate show of another code.
pub struct Tested {
    given: Evidence,
    own: Evidence,
    attacks: Vec<(String, Evidence)>,
}

impl Tested {
    /// Enters it as what is known of the candidate.
    pub fn enter(self, candidate: &mut Candidate) {
        candidate.given = self.given;
        candidate.own = self.own;
        for (id, evidence) in self.attacks {
            if let Some(attack) = candidate.attacks.iter_mut().find(|attack| attack.id == id) {
                attack.evidence = evidence;
            }
        }
    }

    /// Whether an attack's tests all hold now.
    pub fn withstands(&self, attack: &str) -> bool {
        self.attacks
            .iter()
            .any(|(id, evidence)| id == attack && evidence.all_passed())
    }
}

/// Runs everything that is known to test a candidate on another code: what its tests show, or which
/// of them broke.
pub async fn attempt(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    at: &Step,
    before: &Candidate,
    code: &str,
) -> Result<Result<Tested, Vec<String>>, Stop> {
    let trial = |tests: &str, style| Trial {
        owner: before.owner.clone(),
        code: code.to_owned(),
        tests: tests.to_owned(),
        style,
    };
    let named = |what: &str| Step {
        name: format!("{} check {what}", at.name),
        ..at.clone()
    };
    let given = ledger
        .run(
            debate,
            setup,
            &named("given"),
            vec![trial(&setup.input.tests, setup.input.style)],
        )
        .await?
        .pop()
        .unwrap_or_default();
    // Own tests that never ran on the code before can show no break.
    let own_tests = if before.own == Evidence::NoTests {
        ""
    } else {
        &before.own_tests
    };
    let own = ledger
        .run(debate, setup, &named("own"), vec![trial(own_tests, None)])
        .await?
        .pop()
        .unwrap_or_default();
    let mut broken = before.given.broken_in(&given);
    broken.extend(before.own.broken_in(&own));
    let mut attacks = Vec::new();
    for attack in before
        .attacks
        .iter()
        .filter(|one| matches!(one.state, AttackState::Confirmed | AttackState::Patched))
    {
        let shown = ledger
            .run(
                debate,
                setup,
                &named(&attack.id),
                vec![trial(&attack.test, None)],
            )
            .await?
            .pop()
            .unwrap_or_default();
        if attack.state == AttackState::Patched && !shown.all_passed() {
            broken.push(format!("the patch of {}", attack.id));
        }
        attacks.push((attack.id.clone(), shown));
    }
    Ok(if broken.is_empty() {
        Ok(Tested {
            given,
            own,
            attacks,
        })
    } else {
        Err(broken)
    })
}
