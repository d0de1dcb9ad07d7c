//! What the position river shows: who held what in which round, who moved, and because of which
//! claim. Pure; drawn in `river_svg`.

use crate::{
    clean::{on_one_line, shortened},
    event::{ClaimId, Position},
    report::markdown::choices,
    view::{RoundView, View},
};
use std::collections::BTreeMap;

/// The debate as columns (rounds), lanes (options) and tracks (agents).
pub struct River {
    /// What can be held: its name and what it stands for.
    pub lanes: Vec<(String, String)>,
    pub columns: Vec<Column>,
    pub tracks: Vec<Track>,
    /// Every change of mind, in order.
    pub moves: Vec<Move>,
    /// The lane that won, if one did.
    pub won: Option<usize>,
}

pub struct Column {
    pub round: u32,
    pub phase: String,
    /// Whether everybody answers anew in it, whatever it said before.
    pub is_anew: bool,
    /// The agreement after it, what it takes, and whether that is reached.
    pub share: Option<(f64, f64, bool)>,
}

/// Where one agent was in each round.
pub struct Track {
    pub agent: String,
    /// Its place in the panel, which says how it is drawn.
    pub place: usize,
    pub stops: Vec<RiverStop>,
}

pub enum RiverStop {
    Held(Held),
    /// It was asked and is missing, for this reason.
    Missing(String),
    Silent,
}

/// What an agent held in one round.
pub struct Held {
    /// The lane that counts for it.
    pub lane: usize,
    /// How sure it said it was.
    pub confidence: f64,
    pub summary: String,
}

pub struct Move {
    pub track: usize,
    pub column: usize,
    /// From which lane to which. Where it does not count, the second is what the agent said.
    pub lanes: (usize, usize),
    pub counts: bool,
    /// The claims it names: who said them in which column, their names and words.
    pub causes: Vec<Cause>,
    pub reason: String,
}

pub struct Cause {
    pub claim: ClaimId,
    pub text: String,
    /// The track and column it was said in.
    pub said: (usize, usize),
}

impl Cause {
    /// Its words, ready to stand inside a sentence.
    pub fn quoted(&self) -> String {
        on_one_line(&self.text).trim_end_matches('.').to_owned()
    }
}

/// More cannot be told apart in a drawing; the table shows them all.
const MOST_TRACKS: usize = 24;
const MOST_LANES: usize = 26;

/// The name of the lane of those who hold nothing.
const NOTHING: &str = "none";

impl River {
    /// The river of a debate whose agents hold something; `None` where nobody does.
    pub fn of(view: &View) -> Option<Self> {
        let rounds: Vec<&RoundView> = view
            .rounds
            .iter()
            .filter(|round| !round.positions.is_empty())
            .collect();
        if rounds.is_empty() {
            return None;
        }
        let lanes = lanes(view, &rounds);
        let agents = agents(&rounds);
        let columns = rounds.iter().map(|round| Column {
            round: round.round,
            phase: phase(&rounds, round).to_owned(),
            is_anew: round.is_blind(),
            share: round
                .tally
                .as_ref()
                .map(|tally| (tally.share, tally.threshold, tally.reached)),
        });
        let panel = view
            .started
            .as_ref()
            .map(|started| started.agents.as_slice())
            .unwrap_or_default();
        let place = |at: usize, agent: &str| {
            panel
                .iter()
                .position(|known| &*known.name == agent)
                .unwrap_or(panel.len() + at)
        };
        let tracks = agents.iter().enumerate().map(|(at, agent)| Track {
            agent: agent.clone(),
            place: place(at, agent),
            stops: rounds
                .iter()
                .map(|round| stop(round, agent, &lanes))
                .collect(),
        });
        let won = rounds
            .last()
            .and_then(|round| round.tally.as_ref())
            .filter(|tally| tally.reached)
            .and_then(|tally| tally.leader.as_ref());
        let won = won.and_then(|leader| lanes.iter().position(|(id, _)| id == leader));
        Some(Self {
            columns: columns.collect(),
            tracks: tracks.collect(),
            moves: moves(&rounds, &agents, &lanes),
            won,
            lanes,
        })
    }

    /// Whether it can be drawn so that one is told from another.
    pub fn can_be_drawn(&self) -> bool {
        self.tracks.len() <= MOST_TRACKS && self.lanes.len() <= MOST_LANES
    }

    /// A lane's name, short enough for a sentence.
    pub fn lane(&self, at: usize) -> String {
        shortened(&on_one_line(&self.lanes[at].0), 40).into_owned()
    }

    /// The whole in words, for those who cannot see it.
    pub fn described(&self) -> String {
        let ends = self.tracks.iter().map(|track| {
            let held: Vec<String> = track
                .stops
                .iter()
                .map(|stop| self.stop_words(stop))
                .collect();
            format!("{}: {}.", track.agent, held.join(", then "))
        });
        let moves = self.moves.iter().map(|moved| self.move_words(moved));
        ends.chain(moves).collect::<Vec<_>>().join(" ")
    }

    /// A change of mind in one sentence.
    pub fn move_words(&self, moved: &Move) -> String {
        let (from, to) = (self.lane(moved.lanes.0), self.lane(moved.lanes.1));
        let who = format!(
            "{}, round {}: {from} → {to}",
            self.tracks[moved.track].agent, self.columns[moved.column].round
        );
        let causes: Vec<String> = moved
            .causes
            .iter()
            .map(|cause| format!("{} “{}”", cause.claim, cause.quoted()))
            .collect();
        match (moved.counts, causes.is_empty()) {
            (false, _) => format!("{who}, without naming a claim that holds: not counted."),
            (true, true) => format!("{who}."),
            (true, false) => format!("{who}, because of {}.", causes.join(" and ")),
        }
    }

    /// Where an agent was in a round, in a few words.
    pub fn stop_words(&self, stop: &RiverStop) -> String {
        match stop {
            RiverStop::Held(held) => format!("{} ({:.2})", self.lane(held.lane), held.confidence),
            RiverStop::Missing(reason) => format!("missing ({reason})"),
            RiverStop::Silent => "not asked".to_owned(),
        }
    }
}

/// What is done in a round, in a word; the first is simply blind, unless several have its number.
fn phase<'a>(rounds: &[&RoundView], round: &'a RoundView) -> &'a str {
    let is_alone = rounds
        .iter()
        .filter(|other| other.round == round.round)
        .count()
        == 1;
    if is_alone && round.is_blind() {
        "blind"
    } else {
        &round.phase
    }
}

/// Where verdicts are held instead of options: from yes to no.
const VERDICTS: [&str; 3] = ["agree", "partial", "disagree"];

/// The options in the order they were given, then verdicts, then what else was held, in the order
/// it was first held.
fn lanes(view: &View, rounds: &[&RoundView]) -> Vec<(String, String)> {
    let mut lanes: Vec<(String, String)> = choices(view)
        .into_iter()
        .filter(|(_, label)| !label.is_empty())
        .collect();
    let offered = lanes.len();
    for position in rounds
        .iter()
        .flat_map(|round| &round.positions)
        .map(|(_, position)| position)
    {
        for held in [held(position), said(position)] {
            if !lanes.iter().any(|(id, _)| id == held) {
                lanes.push((held.to_owned(), String::new()));
            }
        }
    }
    let rank = |id: &str| {
        VERDICTS
            .iter()
            .position(|verdict| *verdict == id)
            .unwrap_or(VERDICTS.len())
    };
    lanes[offered..].sort_by_key(|(id, _)| rank(id));
    lanes
}

/// Everybody who spoke or should have, in the order of the first round.
fn agents(rounds: &[&RoundView]) -> Vec<String> {
    let mut agents: Vec<String> = Vec::new();
    for round in rounds {
        let named = round
            .agents
            .iter()
            .chain(round.positions.iter().map(|(agent, _)| agent))
            .map(|agent| agent.to_string());
        for agent in named.chain(round.absent.iter().map(|absence| absence.agent.clone())) {
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
    }
    agents
}

fn stop(round: &RoundView, agent: &str, lanes: &[(String, String)]) -> RiverStop {
    let position = round
        .positions
        .iter()
        .rev()
        .find(|(name, _)| &**name == agent);
    if let Some((_, position)) = position {
        let lane = lane_of(lanes, held(position));
        return RiverStop::Held(Held {
            lane,
            confidence: position.confidence,
            summary: position.summary.clone(),
        });
    }
    let absence = round.absent.iter().find(|absence| absence.agent == agent);
    absence.map_or(RiverStop::Silent, |absence| {
        RiverStop::Missing(absence.reason.to_string())
    })
}

fn moves(rounds: &[&RoundView], agents: &[String], lanes: &[(String, String)]) -> Vec<Move> {
    let claims = claims(rounds, agents);
    let mut moves = Vec::new();
    for (column, round) in rounds.iter().enumerate() {
        for (agent, position) in &round.positions {
            let Some(from) = position
                .from
                .as_deref()
                .filter(|from| *from != said(position))
            else {
                continue;
            };
            let cause = |claim: &ClaimId| {
                let (text, said) = claims.get(claim)?;
                Some(Cause {
                    claim: claim.clone(),
                    text: text.clone(),
                    said: *said,
                })
            };
            moves.push(Move {
                track: agents
                    .iter()
                    .position(|known| **known == **agent)
                    .unwrap_or(0),
                column,
                lanes: (lane_of(lanes, from), lane_of(lanes, said(position))),
                counts: position.counted == position.option,
                causes: position.because.iter().filter_map(cause).collect(),
                reason: position.reason.clone(),
            });
        }
    }
    moves
}

/// Every claim: what it says, and the track and column it was said in.
fn claims(rounds: &[&RoundView], agents: &[String]) -> BTreeMap<ClaimId, (String, (usize, usize))> {
    let mut claims = BTreeMap::new();
    for (column, round) in rounds.iter().enumerate() {
        for (agent, position) in &round.positions {
            let track = agents
                .iter()
                .position(|known| **known == **agent)
                .unwrap_or(0);
            claims.extend(
                position
                    .claims
                    .iter()
                    .map(|claim| (claim.id.clone(), (claim.text.clone(), (track, column)))),
            );
        }
    }
    claims
}

fn held(position: &Position) -> &str {
    position.counted.as_deref().unwrap_or(NOTHING)
}

fn said(position: &Position) -> &str {
    position.option.as_deref().unwrap_or(NOTHING)
}

fn lane_of(lanes: &[(String, String)], id: &str) -> usize {
    lanes.iter().position(|(known, _)| known == id).unwrap_or(0)
}
