//! Dehallucination: what is open about the task is asked and answered before the first code.

use crate::{
    debate::Debate,
    error::Stop,
    formats::solve::{
        config::Phase,
        prompts::Setup,
        replies::Question,
        state::{Happened, Ledger, step},
    },
    moves::{
        clarify::{Clarification, by_user, is_clear, is_simple},
        tools::turn_with_tools,
    },
};

/// Dehallucination: one asks, somebody who knows answers, until nothing is open. Says why where it
/// is not worth it.
pub async fn clarify(
    debate: &Debate,
    setup: &mut Setup,
    ledger: &mut Ledger,
) -> Result<Result<Happened, String>, Stop> {
    if is_simple(&setup.input.task, setup.config.clarify_from_words) {
        return Ok(Err(format!(
            "the task is simple: it has fewer than {} words",
            setup.config.clarify_from_words
        )));
    }
    let mut sure = None;
    for round in 1..=setup.config.clarification_rounds {
        let asking = step(format!("clarify {round}"), Phase::Dehallucination, round);
        let asker = setup.roles.asker.clone();
        let ask = setup.clarify(debate, &asker, &ledger.clarified);
        let Ok(said) = turn_with_tools(debate, &asking, &asker, ask, &setup.toolbox()).await?
        else {
            break;
        };
        sure = Some(said.reply.confidence);
        let open = said.reply.questions;
        if is_clear(
            said.reply.confidence,
            open.len(),
            setup.config.clarification_confidence,
        ) {
            break;
        }
        let settled = answer(debate, setup, ledger, round, open).await?;
        setup.clarified(&ledger.clarified);
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
    setup: &Setup,
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
        match by_user(&setup.input.answers, question.category, &question.question) {
            Some(given) => ledger
                .clarified
                .push(entry(&question, Some(given.to_owned()), "user")),
            None => left.push((format!("Q{number}"), question)),
        }
    }
    if left.is_empty() {
        return Ok(false);
    }
    let said = match &setup.roles.instructor {
        Some(instructor) => {
            let answering = step(format!("instruct {round}"), Phase::Dehallucination, round);
            turn_with_tools(
                debate,
                &answering,
                instructor,
                setup.instruct(debate, instructor, &left),
                &setup.toolbox(),
            )
            .await?
            .ok()
        }
        None => None,
    };
    let by = setup
        .roles
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
    let enough = setup.config.clarification_confidence;
    Ok(said.is_some_and(|said| said.reply.remaining.is_empty() && said.reply.confidence > enough))
}
