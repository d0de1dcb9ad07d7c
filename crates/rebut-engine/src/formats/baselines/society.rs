//! Society: everybody answers, then hears all the others and answers again; the last round is
//! counted.

use super::{
    Answer,
    count::{self, RoundCount},
    grouping::Groups,
    question::{self, Question, position},
};
use crate::{
    agent::Agent,
    debate::{Ask, Debate, Round, Step},
    error::Stop,
    event::{Event, Position, Tally},
    formats::{
        Foreseen, Format,
        consensus::{Ballot, Bar},
        decide::result::Change,
        offer::Offer,
        peer_view::{Other, order},
        question::Input,
        rules::Rules,
    },
    outcome::{LimitMet, Outcome},
    prompt::PromptFile,
    reply::Schema,
    stopping::{Saved, stable},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The row of the table of formats.
pub const FORMAT: Format = Format {
    prompts: &[
        PromptFile::of::<question::Blind>(),
        PromptFile::of::<question::Reconsider>(),
        PromptFile::of::<crate::turn::Clarify>(),
    ],
    replies: || vec![Schema::of::<Answer>()],
    choices: question::choices,
    offer: Some(Offer::question::<Config>()),
    ..Format::by::<SocietyRules>(
        "society",
        "Everybody answers, hears all the others, answers again; the last round is counted.",
        include_str!("../../../presets/society.toml"),
    )
};

/// The rules in the table's terms.
pub struct SocietyRules;

impl Rules for SocietyRules {
    type Input = Input;
    type Config = Config;

    const TURN_SECONDS: &'static str = "timeout";

    fn config(config: &Value) -> Result<Config, String> {
        Config::parse(config)
    }

    fn read(input: &Value, config: &Value) -> Result<(Self::Input, Config), String> {
        let input = Input::parse_without_program(input, "society")?;
        Ok((input, Config::parse(config)?))
    }

    fn check(input: Self::Input, config: &Config, agents: &[Agent]) -> Result<String, String> {
        question::check(input, agents.len(), config.min_answers)
    }

    async fn run(debate: &Debate, input: Self::Input, config: Config) -> Result<Outcome, Stop> {
        run(debate, input, config).await
    }

    fn foresee(_: Self::Input, config: &Config, agents: &[Agent]) -> Result<Vec<Foreseen>, String> {
        let sure = if config.stop == StopRule::Never {
            config.rounds
        } else {
            1
        };
        Ok(Foreseen::rounds(agents.len(), config.rounds, sure))
    }

    fn suffices(config: &Config, agents: &[Agent], can_answer: &[bool]) -> bool {
        let needed = question::quorum(config.min_answers, agents.len());
        can_answer.iter().filter(|can| **can).count() >= needed
    }
}

/// The settings of society.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rounds at most; the first is blind.
    pub rounds: u32,
    /// When to spare later rounds.
    pub stop: StopRule,
    /// The share the leading answer needs; 0 is plurality.
    pub threshold: f64,
    /// Agents that must have answered in each round; 0 is more than half.
    pub min_answers: usize,
    /// Seconds an agent has for one answer.
    pub timeout: u64,
}

/// When later rounds are spared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Stop")]
pub enum StopRule {
    /// When all answers agree.
    Unanimous,
    /// When they agree, or a round changed nothing.
    Stable,
    /// Never.
    Never,
}

impl Config {
    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config: Self = question::parse("society", config)?;
        question::check_common(config.timeout, config.threshold)?;
        if (1..=20).contains(&config.rounds) {
            Ok(config)
        } else {
            Err(format!("rounds must be 1 to 20, not {}", config.rounds))
        }
    }
}

pub async fn run(debate: &Debate, input: Input, config: Config) -> Result<Outcome, Stop> {
    let question = Question::of(input);
    let quorum = question::quorum(config.min_answers, debate.agents().len());
    let mut society = Society::new(debate, &question, config);
    let blind = Step::once("answer", 1);
    let first = debate
        .round(&blind, debate.agents(), |agent, notes| {
            question.blind(debate, agent, notes)
        })
        .await?;
    society.hear(&blind, first.quorum(quorum)?).await?;
    for round in 2..=society.config.rounds {
        if let Some(saved) = society.may_stop(round - 1) {
            return society.outcome(Some(saved), None);
        }
        let step = Step::numbered("reconsider", round);
        let members = debate
            .agents()
            .iter()
            .filter(|agent| society.member(&agent.name).is_some());
        let heard = match debate
            .round(&step, members, |agent, notes| {
                society.reconsider(agent, notes, round)
            })
            .await
        {
            // What stands so far is worth having; with more to use it goes on from here.
            Err(Stop::Stopped(stop)) => return society.outcome(None, Some(stop)),
            heard => heard?,
        };
        society.hear(&step, heard.quorum(quorum)?).await?;
    }
    society.outcome(None, None)
}

struct Society<'a> {
    debate: &'a Debate,
    question: &'a Question,
    config: Config,
    bar: Bar,
    groups: Groups,
    members: Vec<Member>,
    /// Who should have answered at first and did not, and is not asked again: counted for nobody,
    /// but not forgotten.
    missing: Vec<Arc<str>>,
    tallies: Vec<(u32, Arc<Tally>)>,
    calls: usize,
}

/// Somebody who answered at least once.
struct Member {
    agent: Arc<str>,
    positions: Vec<(u32, Arc<Position>)>,
}

impl Member {
    fn at(&self, round: u32) -> Option<&Position> {
        self.positions
            .iter()
            .find(|(spoke, _)| *spoke == round)
            .map(|(_, position)| &**position)
    }

    fn last(&self) -> Option<&Position> {
        self.positions.last().map(|(_, position)| &**position)
    }
}

impl<'a> Society<'a> {
    fn new(debate: &'a Debate, question: &'a Question, config: Config) -> Self {
        let bar = Bar::new(config.threshold).expect("checked when the settings were read");
        Self {
            debate,
            question,
            config,
            bar,
            groups: Groups::default(),
            members: Vec::new(),
            missing: Vec::new(),
            tallies: Vec::new(),
            calls: 0,
        }
    }

    fn member(&self, agent: &str) -> Option<&Member> {
        self.members.iter().find(|member| &*member.agent == agent)
    }

    /// The question to a member that hears all the others.
    fn reconsider(&self, agent: &Agent, notes: &str, round: u32) -> Ask<Answer> {
        let seed = self.debate.started().seed;
        let mut others: Vec<(crate::record::Hash, Other<'_>)> = Vec::new();
        for (at, member) in self
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.agent != agent.name)
        {
            let stance = self
                .debate
                .agents()
                .iter()
                .find(|known| known.name == member.agent)
                .map_or("", |known| &*known.stance);
            // The number follows the panel's order, which says nothing about models.
            others.extend(member.last().map(|position| {
                (
                    order(seed, round, &agent.name, &member.agent),
                    Other {
                        number: at + 1,
                        stance,
                        position,
                    },
                )
            }));
        }
        others.sort_by_key(|(order, _)| order.0);
        let others: Vec<Other<'_>> = others.into_iter().map(|(_, other)| other).collect();
        let own = self
            .member(&agent.name)
            .and_then(Member::last)
            .expect("only members are asked again");
        self.question
            .reconsider(self.debate, agent, notes, own, &others)
    }

    /// Takes in a round: records where everybody stands, and the count.
    async fn hear(&mut self, step: &Step, round: Round<Answer>) -> Result<(), Stop> {
        self.calls += round.said.len() + round.absent.len();
        let strangers = round
            .absent
            .iter()
            .filter(|absence| self.member(&absence.agent).is_none());
        self.missing.extend(
            strangers
                .map(|absence| Arc::from(absence.agent.as_str()))
                .collect::<Vec<_>>(),
        );
        for said in round.said {
            let held = self.question.held(&mut self.groups, &said.reply);
            let at = self
                .members
                .iter()
                .position(|member| member.agent == said.agent)
                .unwrap_or_else(|| {
                    self.members.push(Member {
                        agent: said.agent.clone(),
                        positions: Vec::new(),
                    });
                    self.members.len() - 1
                });
            let from = self.members[at]
                .last()
                .and_then(|position| position.counted.clone());
            let changed = from.as_ref().is_some_and(|from| *from != held);
            let position = Arc::new(position(
                &said.agent,
                said.turn,
                step.round,
                said.reply,
                held,
                from,
            ));
            let event = if changed {
                Event::PositionChanged
            } else {
                Event::PositionRecorded
            };
            self.debate
                .note(step.place(Some(&said.agent)), event(position.clone()))
                .await?;
            self.members[at].positions.push((step.round, position));
        }
        let tally = Arc::new(self.bar.count(&step.name, &self.ballots(step.round)));
        self.tallies.push((step.round, tally.clone()));
        self.debate
            .note(step.place(None), Event::VoteTallied(tally))
            .await
    }

    /// One ballot of everybody; whoever is missing now counts for nobody, but is not forgotten.
    fn ballots(&self, round: u32) -> Vec<(&Arc<str>, Ballot<'_>)> {
        let ballot = |member| {
            Member::at(member, round)
                .and_then(|position| position.counted.as_deref())
                .map_or(Ballot::Missing, Ballot::For)
        };
        let members = self
            .members
            .iter()
            .map(|member| (&member.agent, ballot(member)));
        members
            .chain(self.missing.iter().map(|agent| (agent, Ballot::Missing)))
            .collect()
    }

    /// What is spared after a round, if the settings trust it.
    fn may_stop(&self, round: u32) -> Option<Saved> {
        let stands = |round| {
            self.members.iter().filter_map(move |member| {
                Some((&member.agent, member.at(round)?.counted.as_deref()))
            })
        };
        let agree = self
            .tallies
            .last()
            .is_some_and(|(_, tally)| tally.distribution.len() == 1);
        let same = round > 1 && stable(&stands(round - 1).collect(), &stands(round).collect());
        let why = match self.config.stop {
            StopRule::Unanimous | StopRule::Stable if agree => "all answers agree",
            StopRule::Stable if same => "positions are stable",
            _ => return None,
        };
        let calls = self.config.rounds.saturating_sub(round)
            * u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        Some(Saved {
            calls,
            why: why.to_owned(),
        })
    }

    /// Every change, in order of rounds.
    fn changes(&self) -> Vec<Change> {
        let mut all: Vec<Change> = Vec::new();
        for member in &self.members {
            for (round, position) in &member.positions {
                if let (Some(from), Some(to)) = (&position.from, &position.counted)
                    && from != to
                {
                    let reason = crate::clean::on_one_line(&position.reason);
                    all.push(Change {
                        judge: member.agent.to_string(),
                        round: *round,
                        from: from.clone(),
                        to: to.clone(),
                        reason,
                    });
                }
            }
        }
        all.sort_by_key(|change| change.round);
        all
    }

    /// Where the society stands; `stopped` says why it goes no further for now.
    fn outcome(self, saved: Option<Saved>, stopped: Option<LimitMet>) -> Result<Outcome, Stop> {
        let nothing = || Stop::Broken("a society without a round has no outcome".to_owned());
        let (_, tally) = self.tallies.last().ok_or_else(nothing)?;
        let ending = self
            .bar
            .ending(tally, self.members.len() < self.debate.agents().len());
        let first = self
            .tallies
            .first()
            .map(|(_, tally)| tally)
            .filter(|_| self.tallies.len() > 1);
        let moved = first
            .filter(|first| count::winner(first) != count::winner(tally))
            .map(|first| {
                let before = count::winner(first).map_or_else(
                    || "nobody".to_owned(),
                    |answer| crate::clean::on_one_line(answer),
                );
                format!("; round 1 had {before}")
            });
        let early = saved.as_ref().map(|saved| format!("; {saved}"));
        let stands = [Some(count::summary(self.question, tally)), moved, early]
            .into_iter()
            .flatten()
            .collect::<String>();
        let mut result = count::result(
            self.question,
            tally,
            u32::try_from(self.calls).unwrap_or(u32::MAX),
            saved,
        );
        result.changes = self.changes();
        result.rounds = self
            .tallies
            .iter()
            .map(|(round, tally)| RoundCount {
                round: *round,
                winner: count::winner(tally).cloned(),
                distribution: tally.distribution.clone(),
            })
            .collect();
        let outcome =
            Outcome::with_result(ending, &stands, &result, stopped, self.debate.absences())?;
        Ok(Outcome {
            consensus_score: Some(tally.share),
            ..outcome
        })
    }
}
