//! Red attacks candidates with tests that run; blue patches or contests; what is confirmed and what
//! is patched is shown by runs alone.

use super::{
    trials::attempt,
    watchers::{agent_named, watchers},
};
use crate::{
    agent::Agent,
    debate::{Debate, ReplyFrom},
    error::Stop,
    formats::solve::{
        candidates::{Attack, Candidate},
        config::Phase,
        evidence::Evidence,
        prompts::Setup,
        replies::{Defence, Stand},
        state::{Happened, Ledger, Trial, many, step},
    },
    moves::{
        quotes::Source,
        red_blue::{AttackState, falls, goes_on, is_shown},
        tools::{round_with_tools, turn_with_tools},
    },
};
use futures_util::future::join_all;
use std::sync::Arc;

/// The phase: rounds of attack and defence, until red finds nothing new or the rounds are used up.
pub async fn adversarial(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
) -> Result<Happened, Stop> {
    for round in 1..=setup.config.adversarial_rounds {
        let found = attack(debate, setup, ledger, round).await?;
        let shown: Vec<Arc<str>> = ledger
            .candidates
            .iter()
            .filter(|one| found.iter().any(|(owner, _)| *owner == one.owner))
            .map(|one| one.owner.clone())
            .collect();
        defend(debate, setup, ledger, round, &shown).await?;
        let all = ledger
            .candidates
            .iter()
            .flat_map(|one| &one.attacks)
            .filter(|one| one.round == round);
        let confirmed = all
            .filter(|one| matches!(one.state, AttackState::Confirmed | AttackState::Patched))
            .count();
        if !goes_on(round, setup.config.adversarial_rounds, confirmed) {
            break;
        }
    }
    let count = |state: AttackState| {
        ledger
            .candidates
            .iter()
            .flat_map(|one| &one.attacks)
            .filter(|one| one.state == state)
            .count()
    };
    let (open, patched) = (count(AttackState::Confirmed), count(AttackState::Patched));
    let (void, unshown) = (count(AttackState::Void), count(AttackState::NotReproduced));
    let words = format!(
        "{} confirmed, {patched} of them patched; {unshown} not reproduced, {void} void",
        many(open + patched, "attack")
    );
    Ok(Happened {
        words,
        as_expected: open == 0,
    })
}

/// Red speaks and its tests run. The attacks that a run showed, with whose candidate they hit.
async fn attack(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    round: u32,
) -> Result<Vec<(Arc<str>, String)>, Stop> {
    let reds = watchers(debate, setup, ledger, &setup.roles.reds)?;
    if reds.is_empty() {
        return Ok(Vec::new());
    }
    let ask = |agent: &Agent, notes: &str| {
        let seen = reds
            .iter()
            .find(|(red, _)| red.name == agent.name)
            .map_or(&[][..], |(_, seen)| seen);
        setup.strike(debate, agent, notes, seen)
    };
    let striking = step(format!("attack {round}"), Phase::Adversarial, round);
    let who: Vec<&Agent> = reds.iter().map(|(red, _)| *red).collect();
    let heard = round_with_tools(debate, &striking, &who, ask, &setup.toolbox()).await?;
    let mut shown = Vec::new();
    for ReplyFrom { agent, reply, .. } in heard.said {
        for attacked in reply.attacks {
            ledger.attacks += 1;
            let id = format!("A{}", ledger.attacks);
            let Some((owner, code)) = ledger
                .labelled(&attacked.candidate)
                .map(|one| (one.owner.clone(), one.code.clone()))
            else {
                continue;
            };
            let trial = Trial {
                owner: owner.clone(),
                code,
                tests: attacked.test.clone(),
                style: None,
            };
            let testing = step(format!("attack-test {id}"), Phase::Adversarial, round);
            let evidence = ledger
                .run(debate, setup, &testing, vec![trial])
                .await?
                .pop()
                .unwrap_or_default();
            let is_shown = matches!(&evidence, Evidence::Ran(ran) if is_shown(ran));
            let state = if is_shown {
                AttackState::Confirmed
            } else {
                AttackState::NotReproduced
            };
            let why = if is_shown {
                String::new()
            } else {
                format!("its tests: {}", evidence.words())
            };
            if is_shown {
                shown.push((owner.clone(), id.clone()));
            }
            let (claim, test) = (attacked.claim, attacked.test);
            let attack = Attack {
                id,
                by: agent.clone(),
                round,
                claim,
                test,
                state,
                why,
                evidence,
            };
            if let Some(candidate) = ledger.of_mut(&owner) {
                candidate.attacks.push(attack);
            }
        }
    }
    Ok(shown)
}

/// Blue answers for each candidate that was hit, all at the same time; then contests are ruled and
/// patches tried, one after another.
async fn defend(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    round: u32,
    hit: &[Arc<str>],
) -> Result<(), Stop> {
    let toolbox = &setup.toolbox();
    let turns = hit.iter().filter_map(|owner| {
        let candidate = ledger.of(owner)?;
        let blue = setup
            .roles
            .blue
            .as_ref()
            .or_else(|| agent_named(debate, owner))?;
        let shown: Vec<&Attack> = candidate.open_attacks().collect();
        let defending = step(
            format!("defence {round} {}", candidate.label),
            Phase::Adversarial,
            round,
        );
        let ask = setup.defend(debate, blue, candidate, &shown);
        Some(async move {
            turn_with_tools(debate, &defending, blue, ask, toolbox)
                .await
                .map(|said| (owner.clone(), said))
        })
    });
    let answers = join_all(turns).await;
    for answer in answers {
        // Without an answer the attacks stand.
        let (owner, Ok(said)) = answer? else { continue };
        rule(debate, setup, ledger, round, &owner, &said.reply).await?;
        patch(debate, setup, ledger, round, &owner, said).await?;
    }
    Ok(())
}

/// Contested attacks fall by a quotation that stands and a judge that agrees, both together.
async fn rule(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    round: u32,
    owner: &Arc<str>,
    reply: &Defence,
) -> Result<(), Stop> {
    let source = Source::new(&setup.source());
    let Some(candidate) = ledger.of(owner).cloned() else {
        return Ok(());
    };
    let contested: Vec<(&Attack, &str)> = reply
        .answers
        .iter()
        .filter(|answer| answer.verdict == Stand::Contest && source.holds(&answer.quote))
        .filter_map(|answer| {
            Some((
                candidate
                    .open_attacks()
                    .find(|attack| attack.id == answer.attack)?,
                answer.quote.as_str(),
            ))
        })
        .collect();
    let blue = setup.roles.blue.as_ref().map_or(owner, |blue| &blue.name);
    let judge = setup
        .roles
        .judge
        .as_ref()
        .filter(|judge| judge.name != *owner && judge.name != *blue);
    let (Some(judge), false) = (judge, contested.is_empty()) else {
        return Ok(());
    };
    let ruling = step(
        format!("ruling {round} {}", candidate.label),
        Phase::Adversarial,
        round,
    );
    let ask = setup.rule(debate, judge, &contested);
    let Ok(said) = turn_with_tools(debate, &ruling, judge, ask, &setup.toolbox()).await? else {
        return Ok(());
    };
    for (attack, _) in &contested {
        let ruled = said
            .reply
            .rulings
            .iter()
            .find(|ruled| ruled.attack == attack.id);
        if falls(true, ruled.map(|ruled| ruled.contradicts))
            && let Some(known) = ledger
                .of_mut(owner)
                .and_then(|one| one.attacks.iter_mut().find(|known| known.id == attack.id))
        {
            known.state = AttackState::Void;
            known.why = ruled.map(|ruled| ruled.why.clone()).unwrap_or_default();
        }
    }
    Ok(())
}

/// A patch replaces the code only if it withstands an attack and no test broke; otherwise the old
/// code stays.
async fn patch(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    round: u32,
    owner: &Arc<str>,
    said: ReplyFrom<Defence>,
) -> Result<(), Stop> {
    let patches = said
        .reply
        .answers
        .iter()
        .any(|answer| answer.verdict == Stand::Patch);
    let Some(before) = ledger
        .of(owner)
        .cloned()
        .filter(|one| patches && one.code != said.reply.code)
    else {
        return Ok(());
    };
    let patching = step(
        format!("patch {round} {}", before.label),
        Phase::Adversarial,
        round,
    );
    let tested = match attempt(debate, setup, ledger, &patching, &before, &said.reply.code).await? {
        Ok(tested) => tested,
        Err(broken) => {
            ledger.refusals.push(format!(
                "{owner}: the patch of round {round} breaks {}",
                broken.join(", ")
            ));
            return Ok(());
        }
    };
    let mended: Vec<String> = before
        .open_attacks()
        .map(|attack| attack.id.clone())
        .filter(|id| tested.withstands(id))
        .collect();
    if mended.is_empty() {
        ledger.refusals.push(format!(
            "{owner}: the patch of round {round} withstands no attack"
        ));
        return Ok(());
    }
    let Some(candidate) = ledger.of_mut(owner) else {
        return Ok(());
    };
    candidate.take(said.reply.code, &said.turn);
    tested.enter(candidate);
    mark_patched(candidate, &mended);
    ledger.record(debate, &patching, setup, owner, None).await
}

fn mark_patched(candidate: &mut Candidate, mended: &[String]) {
    for attack in candidate
        .attacks
        .iter_mut()
        .filter(|attack| mended.contains(&attack.id))
    {
        attack.state = AttackState::Patched;
        if attack.evidence.is_shared() {
            attack.why = format!("its tests: {}", attack.evidence.words());
        }
    }
}
