//! Two sides argue at the same time, neither hearing the other; then each answers what the other
//! said, again at the same time.

use crate::{
    agent::Agent,
    debate::{Ask, Debate, ReplyFrom, Round, Step},
    error::Stop,
    outcome::Absence,
    reply::Reply,
};

/// An exchange as it went: the two sides in the order they were given.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange<A, B> {
    pub sides: [Side<A, B>; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Side<A, B> {
    pub argued: Option<ReplyFrom<A>>,
    /// Its answer to the other side's arguments. Nobody is asked for one unless both sides argued.
    pub answered: Option<ReplyFrom<B>>,
    pub missing: Option<Absence>,
}

impl<A, B> Exchange<A, B> {
    /// Whether both sides argued and answered. Otherwise one was heard less than the other, and a
    /// comparison would be unfair.
    pub fn is_complete(&self) -> bool {
        self.sides
            .iter()
            .all(|side| side.argued.is_some() && side.answered.is_some())
    }

    /// The turns at which something was said.
    pub fn turns(&self) -> impl Iterator<Item = &str> {
        let argued = self
            .sides
            .iter()
            .filter_map(|side| side.argued.as_ref().map(|said| &*said.turn));
        argued.chain(
            self.sides
                .iter()
                .filter_map(|side| side.answered.as_ref().map(|said| &*said.turn)),
        )
    }

    /// Who could not speak, and why.
    pub fn absent(&self) -> impl Iterator<Item = &Absence> {
        self.sides.iter().filter_map(|side| side.missing.as_ref())
    }
}

/// The two steps of an exchange. They need names, and phases or rounds, of their own: then several
/// exchanges can run side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    pub argue: Step,
    pub answer: Step,
}

/// Runs an exchange. `argue` makes the question to a side (0 or 1) from the notes that round hears;
/// `answer` also gets that side's own arguments and the other's.
pub async fn exchange<A: Reply, B: Reply>(
    debate: &Debate,
    steps: &Steps,
    sides: [&Agent; 2],
    argue: impl Fn(usize, &str) -> Ask<A> + Sync,
    answer: impl Fn(usize, &str, &A, &A) -> Ask<B> + Sync,
) -> Result<Exchange<A, B>, Stop> {
    let number = |agent: &Agent| usize::from(agent.name != sides[0].name);
    let mut opening = debate
        .round(&steps.argue, sides, |agent, notes| {
            argue(number(agent), notes)
        })
        .await?;
    let [first, second] = sides.map(|agent| part_of(&mut opening, agent));
    let mut exchange = Exchange {
        sides: [first, second].map(|(argued, missing)| Side {
            argued,
            answered: None,
            missing,
        }),
    };
    let [Some(first), Some(second)] = exchange.sides.each_ref().map(|side| side.argued.as_ref())
    else {
        return Ok(exchange);
    };
    let both = [&first.reply, &second.reply];
    let ask = |agent: &Agent, notes: &str| {
        let side = number(agent);
        answer(side, notes, both[side], both[1 - side])
    };
    let mut answers = debate.round(&steps.answer, sides, ask).await?;
    for (side, agent) in exchange.sides.iter_mut().zip(sides) {
        (side.answered, side.missing) = part_of(&mut answers, agent);
    }
    Ok(exchange)
}

/// What one agent said in a round, or why it did not.
fn part_of<R>(round: &mut Round<R>, agent: &Agent) -> (Option<ReplyFrom<R>>, Option<Absence>) {
    let at = round.said.iter().position(|said| said.agent == agent.name);
    let missing = round
        .absent
        .iter()
        .find(|absence| *absence.agent == *agent.name)
        .cloned();
    (at.map(|at| round.said.remove(at)), missing)
}
