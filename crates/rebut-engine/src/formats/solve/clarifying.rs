//! Before the first code: what is open about the task is asked and answered, and a plan is made
//! where that is wanted.

use super::{
    case::{Phase, Planning},
    prompts::Case,
    replies::Question,
    state::{Happened, Ledger, step},
};
use crate::{
    agent::Agent,
    clean::on_one_line,
    debate::{Debate, Step},
    error::Stop,
    moves::{
        clarify::{Clarification, by_user, is_clear, is_simple},
        tools::{round_with_tools, turn_with_tools},
    },
    planning::{Features, Protocol, Style},
    topology::Topology,
};

/// Dehallucination: one asks, somebody who knows answers, until nothing is open. Says why where it
/// is not worth it.
pub async fn clarify(
    debate: &Debate,
    case: &mut Case,
    ledger: &mut Ledger,
) -> Result<Result<Happened, String>, Stop> {
    if is_simple(&case.input.task, case.config.clarify_from_words) {
        return Ok(Err(format!(
            "the task is simple: it has fewer than {} words",
            case.config.clarify_from_words
        )));
    }
    let mut sure = None;
    for round in 1..=case.config.clarification_rounds {
        let asking = step(format!("clarify {round}"), Phase::Dehallucination, round);
        let asker = case.seats.asker.clone();
        let ask = case.clarify(debate, &asker, &ledger.clarified);
        let Ok(said) = turn_with_tools(debate, &asking, &asker, ask, &case.toolbox()).await? else {
            break;
        };
        sure = Some(said.reply.confidence);
        let open = said.reply.questions;
        if is_clear(
            said.reply.confidence,
            open.len(),
            case.config.clarification_confidence,
        ) {
            break;
        }
        let settled = answer(debate, case, ledger, round, open).await?;
        case.clarified(&ledger.clarified);
        if settled {
            break;
        }
    }
    let (asked, answered) = (
        ledger.clarified.len(),
        ledger
            .clarified
            .iter()
            .filter(|one| one.answer.is_some())
            .count(),
    );
    let sure = sure.map_or_else(
        || "the asker is missing".to_owned(),
        |sure| format!("the asker was last {sure:.2} sure"),
    );
    Ok(Ok(Happened {
        words: format!("{answered} of {asked} questions were answered; {sure}"),
        as_expected: answered == asked,
    }))
}

/// Answers by the user where there are any, the rest by the instructor. Whether nothing is left to
/// ask.
async fn answer(
    debate: &Debate,
    case: &Case,
    ledger: &mut Ledger,
    round: u32,
    open: Vec<Question>,
) -> Result<bool, Stop> {
    let entry = |question: &Question, answer: Option<String>, by: &str| Clarification {
        round,
        category: question.category,
        priority: question.priority,
        question: question.question.clone(),
        answer,
        by: by.to_owned(),
    };
    let mut left: Vec<(String, Question)> = Vec::new();
    for (question, number) in open.into_iter().zip(1..) {
        match by_user(&case.input.answers, question.category, &question.question) {
            Some(given) => ledger
                .clarified
                .push(entry(&question, Some(given.to_owned()), "user")),
            None => left.push((format!("Q{number}"), question)),
        }
    }
    if left.is_empty() {
        return Ok(false);
    }
    let said = match &case.seats.instructor {
        Some(instructor) => {
            let answering = step(format!("instruct {round}"), Phase::Dehallucination, round);
            turn_with_tools(
                debate,
                &answering,
                instructor,
                case.instruct(debate, instructor, &left),
                &case.toolbox(),
            )
            .await?
            .ok()
        }
        None => None,
    };
    let by = case
        .seats
        .instructor
        .as_ref()
        .map_or("nobody", |agent| &agent.name);
    for (name, question) in &left {
        let given = said.as_ref().and_then(|said| {
            said.reply
                .answers
                .iter()
                .find(|answer| answer.question == *name)
        });
        ledger.clarified.push(entry(
            question,
            given.map(|answer| answer.answer.clone()),
            by,
        ));
    }
    let enough = case.config.clarification_confidence;
    Ok(said.is_some_and(|said| said.reply.remaining.is_empty() && said.reply.confidence > enough))
}

/// Planning: one plans for all, or everybody for itself. Without a plan the work goes on.
pub async fn plan(debate: &Debate, case: &mut Case) -> Result<(), Stop> {
    let protocol = match case.config.planning {
        Planning::Off => return Ok(()),
        Planning::Adaptive => Protocol::Adaptive,
        Planning::Cpde => Protocol::Always(Style::Cpde),
        Planning::Dpde => Protocol::Always(Style::Dpde),
    };
    let chosen = protocol.style(&features(case, debate.agents().len()));
    let topology = Topology::of_panel(case.config.topology, debate.agents())
        .map_err(|error| Stop::Broken(error.to_string()))?;
    let named = chosen.what.planners(&topology, Phase::Proposal.name());
    // Of those who plan for themselves only who writes matters.
    let is_planner = |agent: &&Agent| match chosen.what {
        Style::Cpde => named.contains(&agent.name),
        Style::Dpde => case
            .seats
            .makers
            .iter()
            .any(|maker| maker.name == agent.name),
    };
    let planners: Vec<&Agent> = debate.agents().iter().filter(is_planner).collect();
    let planning = Step::once("plan", 1);
    let ask = |agent: &Agent, notes: &str| {
        case.make_plan(debate, agent, notes, chosen.what == Style::Cpde)
    };
    let heard = round_with_tools(debate, &planning, &planners, ask, &case.toolbox()).await?;
    let mut lines = Vec::new();
    for said in &heard.said {
        let plan = said.reply.plan().map_err(Stop::Broken)?;
        lines.push(format!(
            "{} by {} ({})",
            chosen.what, said.agent, chosen.why
        ));
        for (stage, number) in plan.stages().iter().zip(1..) {
            let tasks: Vec<String> = stage.iter().map(|task| on_one_line(&task.name)).collect();
            lines.push(format!("{number}. {}", tasks.join("; ")));
        }
    }
    if !lines.is_empty() {
        case.plan = lines.join("\n");
    }
    Ok(())
}

/// What is known of the task without reading it: long ones with tests are complex and clear,
/// without tests they are open.
fn features(case: &Case, agents: usize) -> Features {
    let words = case.input.task.split_whitespace().count();
    let complexity = (words as f64 / 200.0).min(1.0);
    let ambiguity = if case.input.tests.trim().is_empty() {
        0.7
    } else {
        0.2
    };
    Features {
        complexity,
        ambiguity,
        agents,
        ..Features::default()
    }
}
