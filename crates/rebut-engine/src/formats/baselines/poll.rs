//! Poll: independent answers, then a count (self-consistency). Asked in helpings, it stops when
//! nothing to come can change who wins.

use super::{
    Answer, count,
    grouping::Groups,
    program,
    question::{self, Question, position},
};
use crate::{
    agent::Agent,
    debate::{Debate, Round, Step},
    error::Stop,
    event::{Event, Tally},
    formats::{
        Foreseen, Format,
        consensus::{Ballot, Bar},
        offer::Offer,
        question::Input,
        rules::Rules,
    },
    outcome::{Absence, LimitMet, Outcome},
    prompt::PromptFile,
    reply::Schema,
    stopping::Saved,
};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<question::Blind>(),
        PromptFile::of::<program::Write>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || vec![Schema::of::<Answer>(), Schema::of::<program::Program>()],
    choices: question::choices,
    offer: Some(Offer::question::<Config>()),
    ..Format::by::<PollRules>(
        "poll",
        "Independent answers, then a count: self-consistency.",
        include_str!("../../../presets/poll.toml"),
    )
};

/// The rules in the table's terms.
pub struct PollRules;

impl Rules for PollRules {
    type Input = Input;
    type Config = Config;

    const TURN_SECONDS: &'static str = "timeout";

    fn config(config: &Value) -> Result<Config, String> {
        Config::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Config), String> {
        let config = Config::parse(config)?;
        Ok((Input::parse(input)?, config))
    }

    fn check(input: Self::Input, config: &Config, agents: &[Agent]) -> Result<String, String> {
        let wants_program = input.program.is_some();
        let topic = question::check(input, config.planned(agents.len()), config.min_answers)?;
        let is_plain = config.batch == 0 && config.threshold == 0.0;
        if wants_program && !is_plain {
            return Err(
                "programs are compared when all are written, by plurality: leave `batch` and \
                `threshold` at 0"
                    .to_owned(),
            );
        }
        Ok(topic)
    }

    async fn run(debate: &Debate, input: Self::Input, config: Config) -> Result<Outcome, Stop> {
        run(debate, input, config).await
    }

    fn foresee(_: Self::Input, config: &Config, agents: &[Agent]) -> Result<Vec<Foreseen>, String> {
        let count = agents.len();
        let sure = config.fewest(count);
        Ok((0..config.planned(count))
            .map(|at| Foreseen {
                agent: at % count.max(1),
                hears: 0,
                is_sure: at < sure,
            })
            .collect())
    }

    fn suffices(config: &Config, agents: &[Agent], can_answer: &[bool]) -> bool {
        let planned = config.planned(agents.len());
        let answers = (0..planned)
            .zip(can_answer.iter().cycle())
            .filter(|(_, can)| **can)
            .count();
        answers >= question::quorum(config.min_answers, planned)
    }
}

/// The settings of poll.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How many answers; the agents are asked in turn. 0 is one of each agent.
    pub answers: usize,
    /// How many are asked at a time; 0 is all at once.
    pub batch: usize,
    /// Stop when nothing still to come can change who wins.
    pub early_stop: bool,
    /// The share the leading answer needs; 0 is plurality.
    pub threshold: f64,
    /// Answers there must be; 0 is more than half of those planned.
    pub min_answers: usize,
    /// Seconds an agent has for one answer.
    pub timeout: u64,
}

/// The most answers of one poll.
const MOST_ANSWERS: usize = 1000;

impl Config {
    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config: Self = question::parse("poll", config)?;
        question::check_common(config.timeout, config.threshold)?;
        if config.answers > MOST_ANSWERS {
            return Err(format!(
                "answers must be at most {MOST_ANSWERS}, not {}",
                config.answers
            ));
        }
        Ok(config)
    }

    /// How many answers a panel of this size gives.
    pub fn planned(&self, agents: usize) -> usize {
        if self.answers == 0 || agents == 0 {
            agents
        } else {
            self.answers
        }
    }

    /// The fewest answers after which it may stop.
    pub fn fewest(&self, agents: usize) -> usize {
        let planned = self.planned(agents);
        match self.batch {
            0 => planned,
            _ if !self.early_stop => planned,
            batch => (planned / 2 + 1).next_multiple_of(batch).min(planned),
        }
    }
}

pub async fn run(debate: &Debate, input: Input, config: Config) -> Result<Outcome, Stop> {
    let question = Question::of(input);
    if let Some(wanted) = &question.input.program {
        return program::several(debate, &question, wanted, &config).await;
    }
    let agents = debate.agents();
    let mut poll = Poll::new(debate, &question, config);
    for helpings in batches(poll.planned, agents.len(), poll.config.batch) {
        let rounds = helpings.iter().map(|helping| {
            debate.round(
                &helping.step,
                &agents[helping.first..helping.first + helping.count],
                |agent, notes| question.blind(debate, agent, notes),
            )
        });
        let rounds = join_all(rounds).await;
        for (helping, round) in helpings.iter().zip(rounds) {
            match round {
                Ok(round) => poll.hear(&helping.step, round).await?,
                Err(Stop::Stopped(stop)) if poll.answered() > 0 => {
                    return poll.outcome(None, Some(stop));
                }
                Err(halt) => return Err(halt),
            }
        }
        poll.count().await?;
        if let Some(saved) = poll.may_stop() {
            return poll.outcome(Some(saved), None);
        }
    }
    poll.quorum()?;
    poll.outcome(None, None)
}

/// Agents asked at one step: each of them once.
pub(super) struct Helping {
    pub(super) step: Step,
    pub(super) first: usize,
    pub(super) count: usize,
}

/// All helpings, by what is asked at the same time. The agents are asked in turn; a helping ends
/// where the panel or the batch does.
pub(super) fn batches(planned: usize, agents: usize, batch: usize) -> Vec<Vec<Helping>> {
    let size = if batch == 0 { planned } else { batch };
    let (mut asked, mut number, mut all) = (0, 0, Vec::new());
    while asked < planned {
        let end = planned.min(asked + size);
        let mut together = Vec::new();
        while asked < end {
            number += 1;
            let first = asked % agents;
            let count = (agents - first).min(end - asked);
            together.push(Helping {
                step: Step::numbered("answer", number),
                first,
                count,
            });
            asked += count;
        }
        all.push(together);
    }
    all
}

struct Poll<'a> {
    debate: &'a Debate,
    question: &'a Question,
    config: Config,
    bar: Bar,
    planned: usize,
    asked: usize,
    groups: Groups,
    ballots: Vec<(Arc<str>, String)>,
    absent: Vec<Absence>,
    /// Who should have voted and gave no answer: counted for nobody, but not forgotten, or an
    /// absence could make a winner.
    missing: Vec<Arc<str>>,
    last: Step,
    tally: Arc<Tally>,
}

impl<'a> Poll<'a> {
    fn new(debate: &'a Debate, question: &'a Question, config: Config) -> Self {
        let bar = Bar::new(config.threshold).expect("checked when the settings were read");
        let planned = config.planned(debate.agents().len());
        let last = Step::numbered("answer", 1);
        let tally = Arc::new(bar.count(&last.name, &[]));
        Self {
            debate,
            question,
            config,
            bar,
            planned,
            asked: 0,
            groups: Groups::default(),
            ballots: Vec::new(),
            absent: Vec::new(),
            missing: Vec::new(),
            last,
            tally,
        }
    }

    fn answered(&self) -> usize {
        self.ballots.len()
    }

    /// Takes in what was answered at one step.
    async fn hear(&mut self, step: &Step, round: Round<Answer>) -> Result<(), Stop> {
        self.asked += round.said.len() + round.absent.len();
        let missing: Vec<Arc<str>> = round
            .absent
            .iter()
            .map(|absence| self.voter(&absence.agent.as_str().into(), step))
            .collect();
        self.missing.extend(missing);
        self.absent.extend(round.absent);
        self.last = step.clone();
        for said in round.said {
            let held = self.question.held(&mut self.groups, &said.reply);
            let position = Arc::new(position(
                &said.agent,
                said.turn,
                step.round,
                said.reply,
                held.clone(),
                None,
            ));
            self.debate
                .note(
                    step.place(Some(&said.agent)),
                    Event::PositionRecorded(position),
                )
                .await?;
            self.ballots.push((self.voter(&said.agent, step), held));
        }
        Ok(())
    }

    /// The name under which an agent votes at a step: with the step's number where it may vote
    /// several times.
    fn voter(&self, agent: &Arc<str>, step: &Step) -> Arc<str> {
        let repeats = self.planned > self.debate.agents().len();
        if repeats {
            format!("{agent}·{}", step.round).into()
        } else {
            agent.clone()
        }
    }

    /// Counts everything answered so far, and records it.
    async fn count(&mut self) -> Result<(), Stop> {
        self.tally = Arc::new(self.tallied());
        self.debate
            .note(
                self.last.place(None),
                Event::VoteTallied(self.tally.clone()),
            )
            .await
    }

    fn tallied(&self) -> Tally {
        let cast = self
            .ballots
            .iter()
            .map(|(voter, held)| (voter, Ballot::For(held)));
        let ballots: Vec<_> = cast
            .chain(self.missing.iter().map(|voter| (voter, Ballot::Missing)))
            .collect();
        self.bar.count(&self.last.name, &ballots)
    }

    /// What is spared when nothing to come can matter. Too few answers are never enough, however
    /// much they agree.
    fn may_stop(&self) -> Option<Saved> {
        let to_come = self.planned - self.asked;
        if !self.config.early_stop
            || to_come == 0
            || self.answered() < question::quorum(self.config.min_answers, self.planned)
        {
            return None;
        }
        let why = self.bar.decided(&self.tally, to_come)?;
        Some(Saved {
            calls: u32::try_from(to_come).unwrap_or(u32::MAX),
            why,
        })
    }

    fn quorum(&mut self) -> Result<(), Stop> {
        let needed = question::quorum(self.config.min_answers, self.planned);
        if self.answered() >= needed {
            return Ok(());
        }
        Err(Stop::NoQuorum {
            step: self.last.name.clone(),
            answered: self.answered(),
            needed,
            absent: std::mem::take(&mut self.absent),
        })
    }

    /// Where the poll stands; `stopped` says why it goes no further for now.
    fn outcome(self, saved: Option<Saved>, stopped: Option<LimitMet>) -> Result<Outcome, Stop> {
        let tally = self.tallied();
        let ending = self.bar.ending(&tally, self.answered() < self.planned);
        let early = saved
            .as_ref()
            .map(|saved| {
                format!(
                    "; stopped after {} of {}: {saved}",
                    self.asked, self.planned
                )
            })
            .unwrap_or_default();
        let stands = format!("{}{early}", count::summary(self.question, &tally));
        let calls = u32::try_from(self.asked).unwrap_or(u32::MAX);
        let result = count::result(self.question, &tally, calls, saved);
        let outcome =
            Outcome::with_result(ending, &stands, &result, stopped, self.debate.absences())?;
        Ok(Outcome {
            consensus_score: Some(tally.share),
            ..outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_asked_in_turn_and_each_once_per_step() {
        // planned, agents, batch: steps of each batch as first+count.
        let rows = [
            (3, 3, 0, "0+3"),
            (7, 3, 0, "0+3,0+3,0+1"),
            (5, 3, 2, "0+2 2+1,0+1 1+1"),
            (4, 1, 0, "0+1,0+1,0+1,0+1"),
            (4, 1, 2, "0+1,0+1 0+1,0+1"),
            (6, 2, 3, "0+2,0+1 1+1,0+2"),
            (2, 3, 1, "0+1 1+1"),
            (0, 3, 2, ""),
        ];
        for (planned, agents, batch, expected) in rows {
            let all = batches(planned, agents, batch);
            let words: Vec<String> = all
                .iter()
                .map(|together| {
                    together
                        .iter()
                        .map(|one| format!("{}+{}", one.first, one.count))
                        .collect::<Vec<_>>()
                        .join(",")
                })
                .collect();
            assert_eq!(
                words.join(" "),
                expected,
                "{planned} of {agents} by {batch}"
            );
            let names: Vec<&str> = all
                .iter()
                .flatten()
                .map(|one| one.step.name.as_str())
                .collect();
            assert!(
                names
                    .iter()
                    .enumerate()
                    .all(|(at, name)| *name == format!("answer {}", at + 1)),
                "{names:?}"
            );
        }
    }
}
