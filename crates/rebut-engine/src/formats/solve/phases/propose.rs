//! Proposal: candidates meet the given tests; authors reflect on failures, try again, and draw
//! lessons.

use super::trials::{Which, record_all, run_tests, shared_words};
use crate::{
    agent::Agent,
    debate::{Debate, ReplyFrom, Step},
    error::Stop,
    event::Event,
    facts::{LessonRecorded, ReflectionRecorded},
    formats::solve::{
        candidates::Candidate,
        config::Phase,
        evidence::Evidence,
        prompts::Setup,
        replies::Lesson,
        state::{Drawn, Happened, Ledger, many, step},
    },
    moves::{
        reflect::{Next, Reflected, next},
        tools::round_with_tools,
    },
};
use std::{collections::BTreeMap, sync::Arc};

/// Proposal: whoever has no code yet writes it; all meet the given tests; whoever fails reflects
/// and tries again. `name` and `most` are `draft` and 1 where the phase is switched off but
/// somebody has to write.
pub async fn propose(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    name: &str,
    most: u32,
) -> Result<Happened, Stop> {
    let mut best: BTreeMap<Arc<str>, Candidate> = BTreeMap::new();
    let mut writers: Vec<&Agent> = setup
        .roles
        .makers
        .iter()
        .filter(|agent| ledger.of(&agent.name).is_none())
        .collect();
    for attempt in 1..=most {
        let writing = step(
            format!("{name} {attempt}"),
            Phase::Proposal,
            2 * attempt - 1,
        );
        let mut tried = write(debate, setup, ledger, &writing, &writers).await?;
        if attempt == 1 {
            // Code from self-evolvement is a first attempt too.
            tried = ledger
                .candidates
                .iter()
                .map(|candidate| candidate.owner.clone())
                .collect();
        }
        let testing = step(
            format!("given-tests {attempt}"),
            Phase::Proposal,
            2 * attempt - 1,
        );
        run_tests(debate, setup, ledger, &testing, &tried, Which::Given).await?;
        record_all(debate, setup, ledger, &writing, &tried).await?;
        for candidate in ledger
            .candidates
            .iter_mut()
            .filter(|one| tried.contains(&one.owner))
        {
            candidate.attempts = attempt;
            candidate.recovered = candidate.given.all_passed() && !candidate.reflections.is_empty();
            let is_best = best
                .get(&candidate.owner)
                .is_none_or(|known| candidate.given.strength() >= known.given.strength());
            if is_best {
                best.insert(candidate.owner.clone(), candidate.clone());
            }
        }
        writers = reflect(debate, setup, ledger, attempt, most, &tried).await?;
        if writers.is_empty() {
            break;
        }
    }
    for candidate in &mut ledger.candidates {
        if let Some(best) = best.remove(&candidate.owner) {
            // A later attempt that holds fewer tests, or as many in the process of the code, was a
            // step back.
            let kept = std::mem::take(candidate);
            *candidate = Candidate {
                attempts: kept.attempts,
                attempts_ended: kept.attempts_ended,
                reflections: kept.reflections,
                ..best
            };
        }
    }
    Ok(proposed(setup, ledger))
}

/// Asks writers for code. Who delivered.
async fn write(
    debate: &Debate,
    setup: &Setup,
    ledger: &mut Ledger,
    writing: &Step,
    writers: &[&Agent],
) -> Result<Vec<Arc<str>>, Stop> {
    if writers.is_empty() {
        return Ok(Vec::new());
    }
    let ask =
        |agent: &Agent, notes: &str| setup.propose(debate, agent, notes, ledger.of(&agent.name));
    let heard = round_with_tools(debate, writing, writers, ask, &setup.toolbox()).await?;
    for ReplyFrom { agent, turn, reply } in &heard.said {
        let candidate = ledger.entered(agent);
        candidate.take(reply.code.clone(), turn);
        candidate.approach.clone_from(&reply.approach);
    }
    for absence in &heard.absent {
        if let Some(candidate) = ledger.of_mut(&absence.agent) {
            candidate.attempts_ended = format!("its author is missing ({})", absence.reason);
        }
    }
    Ok(heard.said.into_iter().map(|said| said.agent).collect())
}

/// Whoever failed and may try again says what it learned. Who tries again: without a reflection,
/// nobody does.
async fn reflect<'a>(
    debate: &Debate,
    setup: &'a Setup,
    ledger: &mut Ledger,
    attempt: u32,
    most: u32,
    tried: &[Arc<str>],
) -> Result<Vec<&'a Agent>, Stop> {
    let give_up_below = setup.config.give_up_below;
    for candidate in ledger
        .candidates
        .iter_mut()
        .filter(|one| tried.contains(&one.owner))
    {
        candidate.attempts_ended = ended(
            next(candidate.given.passed(), attempt, most, None, give_up_below),
            &candidate.given,
        );
    }
    let fails = |agent: &&Agent| {
        tried.contains(&agent.name)
            && ledger
                .of(&agent.name)
                .is_some_and(|one| one.attempts_ended.is_empty())
    };
    let failed: Vec<&Agent> = setup.roles.makers.iter().filter(fails).collect();
    if failed.is_empty() {
        return Ok(Vec::new());
    }
    let reflecting = step(
        format!("reflection {attempt}"),
        Phase::Proposal,
        2 * attempt,
    );
    let ask = |agent: &Agent, notes: &str| {
        let failed = ledger.of(&agent.name).cloned().unwrap_or_default();
        setup.reflect(debate, agent, notes, &failed)
    };
    let heard = round_with_tools(debate, &reflecting, &failed, ask, &setup.toolbox()).await?;
    for ReplyFrom { agent, reply, .. } in heard.said {
        let recorded = ReflectionRecorded {
            attempt,
            run: format!("given-tests {attempt}/{agent}").into(),
            root_cause: reply.root_cause.clone(),
            what_went_wrong: reply.what_went_wrong.clone(),
            what_to_change: reply.what_to_change.clone(),
            confidence: reply.confidence,
        };
        debate
            .note(
                reflecting.place(Some(&agent)),
                Event::ReflectionRecorded(Arc::new(recorded)),
            )
            .await?;
        let Some(candidate) = ledger.of_mut(&agent) else {
            continue;
        };
        let follows = next(
            candidate.given.passed(),
            attempt,
            most,
            Some(reply.confidence),
            give_up_below,
        );
        candidate.attempts_ended = ended(follows, &candidate.given);
        candidate.reflections.push(Reflected {
            attempt,
            root_cause: reply.root_cause,
            what_went_wrong: reply.what_went_wrong,
            what_to_change: reply.what_to_change,
            confidence: reply.confidence,
        });
    }
    for absence in &heard.absent {
        if let Some(candidate) = ledger.of_mut(&absence.agent) {
            candidate.attempts_ended = format!("no reflection came ({})", absence.reason);
        }
    }
    Ok(failed
        .into_iter()
        .filter(|agent| {
            ledger
                .of(&agent.name)
                .is_some_and(|one| one.attempts_ended.is_empty())
        })
        .collect())
}

/// Why there is no further attempt; empty when there is one.
fn ended(follows: Next, given: &Evidence) -> String {
    match follows {
        Next::Retry => String::new(),
        Next::Passed => format!(
            "all given tests hold{}",
            given.count().map_or("", |count| count.shared_note())
        ),
        Next::Attempts => "its attempts are used up".to_owned(),
        Next::GivenUp => "its author does not believe that another attempt would help".to_owned(),
        Next::NothingRan => given.words(),
    }
}

fn proposed(setup: &Setup, ledger: &Ledger) -> Happened {
    let (all, passed) = (
        ledger.candidates.len(),
        ledger
            .candidates
            .iter()
            .filter(|one| one.given.all_passed())
            .count(),
    );
    let full = all == setup.roles.makers.len();
    if setup.input.tests.trim().is_empty() {
        return Happened {
            words: format!(
                "{}; no tests are given, so none is shown to pass",
                many(all, "candidate")
            ),
            as_expected: full,
        };
    }
    let shared = shared_words(ledger, |one| &one.given);
    Happened {
        words: format!(
            "{passed} of {} hold all given tests{shared}",
            many(all, "candidate")
        ),
        as_expected: full && passed == all,
    }
}

/// Whoever failed first and passed then draws a lesson that helps elsewhere. It is verified: the
/// attempt after it passed.
pub async fn learn(debate: &Debate, setup: &Setup, ledger: &mut Ledger) -> Result<(), Stop> {
    let recovered = |agent: &&Agent| {
        ledger
            .of(&agent.name)
            .is_some_and(|one| one.recovered && one.given.all_passed())
    };
    let learners: Vec<&Agent> = setup.roles.makers.iter().filter(recovered).collect();
    if !setup.config.lessons || learners.is_empty() {
        return Ok(());
    }
    let lesson = step("lesson", Phase::Proposal, 2 * setup.config.max_attempts);
    let ask = |agent: &Agent, notes: &str| {
        let candidate = ledger.of(&agent.name).cloned().unwrap_or_default();
        setup.learn(debate, agent, notes, &candidate)
    };
    let heard = round_with_tools(debate, &lesson, &learners, ask, &setup.toolbox()).await?;
    for ReplyFrom {
        agent,
        reply: Lesson {
            lesson: text,
            applies_to,
        },
        ..
    } in heard.said
    {
        let shared_process = ledger.of(&agent).is_some_and(|one| one.given.is_shared());
        let recorded = LessonRecorded {
            text: text.clone(),
            applies_to: applies_to.clone(),
            verified: true,
            shared_process,
        };
        debate
            .note(
                lesson.place(Some(&agent)),
                Event::LessonRecorded(Arc::new(recorded)),
            )
            .await?;
        ledger.lessons.push(Drawn {
            by: agent,
            lesson: text,
            applies_to,
            shared_process,
        });
    }
    Ok(())
}
