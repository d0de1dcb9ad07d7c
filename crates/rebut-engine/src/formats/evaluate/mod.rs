//! Evaluate: on each topic an advocate and a challenger argue about an idea and answer each other;
//! an arbiter judges in both orders, and scores move by that.

mod card;
mod config;
pub mod evidence;
pub mod input;
mod prompts;
pub(crate) mod render;
pub mod replies;
pub mod result;
pub mod roles;
pub mod state;

pub use config::Config;
pub use input::{Input, Prior, RedTeam, Topic};
pub use result::EvaluateResult;
pub use roles::ROLES;

use crate::{
    agent::Agent,
    debate::{Debate, Step},
    error::Stop,
    event::Event,
    formats::{Foreseen, Format, offer::Offer, rules::Rules},
    model::FaultKind,
    moves::{
        exchange::{Steps, exchange},
        judge::{in_both_orders, judged_own_family},
    },
    outcome::{Absence, Ending, LimitMet, Outcome},
    prompt::PromptFile,
    reply::Schema,
};
use prompts::Setup;
use replies::{Answers, Arguments, CategoryScores, Judgement};
use result::{Evaluated, TopicRound};
use roles::{Roles, SIDES, lacks_scores};
use serde_json::Value;
use state::{Board, Judged, Winner};
use std::{collections::BTreeMap, sync::Arc};

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<prompts::Score>(),
        PromptFile::of::<prompts::Argue>(),
        PromptFile::of::<prompts::Reply>(),
        PromptFile::of::<prompts::Judge>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || {
        vec![
            Schema::of::<CategoryScores>(),
            Schema::of::<Arguments>(),
            Schema::of::<Answers>(),
            Schema::of::<Judgement>(),
        ]
    },
    // The arbiter's two orders: whoever argued should also be judged.
    closing_calls: 2,
    reading: Some(render::READING),
    casting: roles::CASTING,
    offer: Some(Offer::of::<Input, Config>()),
    ..Format::by::<Evaluate>(
        "evaluate",
        "An advocate and a challenger argue about an idea topic by topic; an arbiter judges, \
        and scores move by that.",
        include_str!("../../../presets/evaluate.toml"),
    )
};

/// The rules in the table's terms.
pub struct Evaluate;

impl Rules for Evaluate {
    type Input = (Input, Vec<Topic>);
    type Config = Config;

    const TURN_SECONDS: &'static str = "timeout_per_agent";

    fn config(config: &Value) -> Result<Config, String> {
        Config::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Config), String> {
        let config = Config::parse(config)?;
        Ok((Input::parse(input, &config)?, config))
    }

    fn check((input, topics): Self::Input, _: &Config, agents: &[Agent]) -> Result<String, String> {
        Roles::of(agents, lacks_scores(&input, &topics))?;
        Ok(input.title)
    }

    async fn run(debate: &Debate, input: Self::Input, config: Config) -> Result<Outcome, Stop> {
        run(debate, input, config).await
    }

    fn foresee(
        (input, topics): Self::Input,
        _: &Config,
        agents: &[Agent],
    ) -> Result<Vec<Foreseen>, String> {
        let needs_evaluator = lacks_scores(&input, &topics);
        let roles = Roles::of(agents, needs_evaluator)?;
        let call = |who: &Agent, hears: usize| Foreseen {
            agent: agents
                .iter()
                .position(|agent| agent.name == who.name)
                .unwrap_or_default(),
            hears,
            is_sure: true,
        };
        let mut calls: Vec<Foreseen> = roles
            .evaluator
            .filter(|_| needs_evaluator)
            .map(|evaluator| call(evaluator, 0))
            .into_iter()
            .collect();
        for _ in &topics {
            // Both argue blind, both read both, the arbiter reads everything twice.
            calls.extend(roles.sides.map(|side| call(side, 0)));
            calls.extend(roles.sides.map(|side| call(side, 2)));
            calls.extend([4, 4].map(|hears| call(roles.arbiter, hears)));
        }
        Ok(calls)
    }

    fn suffices(_: &Config, agents: &[Agent], can_answer: &[bool]) -> bool {
        let is_there = |role: &&str| {
            agents
                .iter()
                .zip(can_answer)
                .any(|(agent, can)| *agent.role == **role && *can)
        };
        ["advocate", "challenger", "arbiter"].iter().all(is_there)
    }
}

/// What was heard and how scores stand.
struct Hearing {
    board: Board,
    evaluation: BTreeMap<String, Evaluated>,
    /// Why there are categories without a score.
    unscored: String,
    rounds: Vec<TopicRound>,
    /// Whether the arbiter judged its own family at one topic at least.
    own_family: bool,
}

pub async fn run(
    debate: &Debate,
    input: (Input, Vec<Topic>),
    config: Config,
) -> Result<Outcome, Stop> {
    let setup = Setup::new(input, config);
    let roles = Roles::of(debate.agents(), !setup.unscored().is_empty()).map_err(Stop::Broken)?;
    let mut hearing = Hearing {
        board: setup.board(),
        evaluation: BTreeMap::new(),
        unscored: String::new(),
        rounds: Vec::new(),
        own_family: false,
    };
    match hear_all(debate, &setup, &roles, &mut hearing).await {
        Ok(()) => outcome(debate, &setup, hearing, None),
        // What was judged so far stands; with more to use it goes on from here.
        Err(Stop::Stopped(stop)) => outcome(debate, &setup, hearing, Some(stop)),
        Err(halt) => Err(halt),
    }
}

/// Scores what has no score, then hears topic after topic: each verdict's move is bounded by those
/// before it.
async fn hear_all(
    debate: &Debate,
    setup: &Setup,
    roles: &Roles<'_>,
    hearing: &mut Hearing,
) -> Result<(), Stop> {
    score_the_rest(debate, setup, roles, hearing).await?;
    for (number, topic) in (1..).zip(&setup.topics) {
        let round = TopicRound::open(
            number,
            topic,
            hearing.board.now(&topic.category).map(|(score, _)| score),
        );
        let round = hear(debate, setup, roles, hearing, round).await?;
        hearing.rounds.push(round);
    }
    Ok(())
}

/// The evaluator scores the categories that came without a score. If it is missing they stay
/// without one.
async fn score_the_rest(
    debate: &Debate,
    setup: &Setup,
    roles: &Roles<'_>,
    hearing: &mut Hearing,
) -> Result<(), Stop> {
    let wanted = setup.unscored();
    let Some(evaluator) = roles.evaluator.filter(|_| !wanted.is_empty()) else {
        return Ok(());
    };
    match debate
        .turn(
            &Step::once("score", 0),
            evaluator,
            setup.score(debate, evaluator, wanted),
        )
        .await?
    {
        Ok(said) => {
            for score in &said.reply.scores {
                hearing
                    .board
                    .put(&score.category, score.score, score.confidence);
                hearing
                    .evaluation
                    .insert(score.category.clone(), Evaluated::of(score, &setup.source));
            }
        }
        Err(absence) => hearing.unscored = missing("evaluator", &absence),
    }
    Ok(())
}

/// One topic: both sides argue, both answer, the arbiter judges in both orders, the score moves.
async fn hear(
    debate: &Debate,
    setup: &Setup,
    roles: &Roles<'_>,
    hearing: &mut Hearing,
    mut round: TopicRound,
) -> Result<TopicRound, Stop> {
    let number = round.round;
    let Some(stake) = hearing.board.now(&round.target_category) else {
        round.skip(format!("there is no score to change, {}", hearing.unscored));
        return Ok(round);
    };
    let evaluation = prompts::evaluation_text(&round.target_category, stake, &hearing.evaluation);
    let steps = Steps {
        argue: Step::numbered("argue", number),
        answer: Step::numbered("rebuttal", number),
    };
    let exchanged = exchange(
        debate,
        &steps,
        roles.sides,
        |side, notes| {
            setup.argue(
                debate,
                (side, roles.sides[side]),
                notes,
                &round,
                &evaluation,
            )
        },
        |side, notes, own, other| {
            let heard = round.with_arguments(side, own, other, &setup.source);
            setup.answer(debate, (side, roles.sides[side]), notes, &heard)
        },
    )
    .await?;
    round.hear(&exchanged, &setup.source);
    let judging = Step::numbered("judge", number).closing();
    let names = SIDES.iter().zip(&exchanged.sides);
    let absent: Vec<String> = names
        .filter_map(|(name, side)| side.missing.as_ref().map(|absence| missing(name, absence)))
        .collect();
    if !exchanged.is_complete() {
        return skip(debate, hearing, &judging, round, absent.join(", ")).await;
    }
    let judged = in_both_orders(debate, &judging, roles.arbiter, |order| {
        setup.judge(debate, roles.arbiter, &round, order)
    })
    .await?;
    let mut absent: Vec<String> = judged
        .absent()
        .map(|absence| missing("arbiter", absence))
        .collect();
    absent.dedup();
    if !judged.is_complete() {
        return skip(debate, hearing, &judging, round, absent.join(", ")).await;
    }
    let own_family = judged_own_family(debate, &judged, &exchanged);
    hearing.own_family |= own_family;
    let ruling = round.judge(&judged, own_family);
    let verdict = Judged {
        winner: Winner::of(judged.winner()),
        confidence: ruling.confidence,
        weight: judged.winner().map_or(0.0, |side| round.weight_of(side)),
    };
    debate
        .note(
            judging.place(None),
            Event::VerdictRecorded(Arc::new(ruling)),
        )
        .await?;
    if let Some(adjusted) = hearing
        .board
        .apply(&round.target_category, &round.topic, &verdict)
    {
        round.adjust(&adjusted);
        debate
            .note(
                judging.place(None),
                Event::ScoreAdjusted(Arc::new(adjusted)),
            )
            .await?;
    }
    Ok(round)
}

/// Leaves the score as it is: nobody who is missing loses or wins by it.
async fn skip(
    debate: &Debate,
    hearing: &mut Hearing,
    step: &Step,
    mut round: TopicRound,
    why: String,
) -> Result<TopicRound, Stop> {
    if let Some(adjusted) = hearing
        .board
        .skip(&round.target_category, &round.topic, &why)
    {
        round.adjust(&adjusted);
        debate
            .note(step.place(None), Event::ScoreAdjusted(Arc::new(adjusted)))
            .await?;
    }
    round.skip(why);
    Ok(round)
}

/// How it ends; `stopped` says why it goes no further for now.
fn outcome(
    debate: &Debate,
    setup: &Setup,
    hearing: Hearing,
    stopped: Option<LimitMet>,
) -> Result<Outcome, Stop> {
    let absences = debate.absences();
    let judged = hearing
        .rounds
        .iter()
        .filter(|round| !round.arbiter_verdict.skipped)
        .count();
    let ending = match judged {
        1.. => Ending::Completed,
        0 if nobody_could_be_asked(&hearing, &absences) => Ending::NoModel,
        0 => Ending::NoQuorum,
    };
    let result = EvaluateResult {
        title: setup.input.title.clone(),
        scores: hearing.board.scores(),
        totals: hearing.board.totals(),
        strongest: result::strongest(&hearing.rounds),
        evaluation: hearing.evaluation,
        own_family: hearing.own_family,
        rounds: hearing.rounds,
    };
    Outcome::with_result(
        ending,
        &render::summary(&result, setup.topics.len()),
        &result,
        stopped,
        absences,
    )
}

/// Who is missing, and why. At which turn stands among the absences.
fn missing(who: &str, absence: &Absence) -> String {
    format!("the {who} is missing ({})", absence.reason)
}

/// Whether nobody said anything, and everybody lacks a key, a model or somebody at the terminal.
fn nobody_could_be_asked(hearing: &Hearing, absences: &[Absence]) -> bool {
    let is_silent = |round: &TopicRound| {
        round.advocate_arguments.is_empty() && round.challenger_arguments.is_empty()
    };
    if !hearing.evaluation.is_empty() || !hearing.rounds.iter().all(is_silent) {
        return false;
    }
    let is_absent = |absence: &Absence| {
        matches!(
            absence.reason,
            FaultKind::Auth | FaultKind::NotFound | FaultKind::Unavailable
        )
    };
    !absences.is_empty() && absences.iter().all(is_absent)
}
