//! A judge compares two sides, asked in both orders: who is shown first must not win by it. A
//! verdict that flips is a draw.

use crate::{
    agent::Agent,
    debate::{Ask, Debate, ReplyFrom, Step},
    error::Stop,
    family::are_kin,
    moves::exchange::Exchange,
    outcome::Absence,
    reply::Reply,
};
use futures_util::future::join;

/// In which order the two sides are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Forwards,
    Backwards,
}

impl Order {
    /// A pair as it is shown in this order; applied twice it is the pair again.
    pub fn of<T>(self, [first, second]: [T; 2]) -> [T; 2] {
        match self {
            Self::Forwards => [first, second],
            Self::Backwards => [second, first],
        }
    }

    /// Which side stands at a shown place, or at which place a side is shown: 0 or 1.
    pub fn at(self, place: usize) -> usize {
        if self == Self::Forwards {
            place
        } else {
            1 - place
        }
    }
}

/// A reply that says which of two sides is the better one.
pub trait Comparison: Reply {
    /// The better one as they were shown: 0 the first, 1 the second, `None` neither.
    fn better(&self) -> Option<usize>;
}

/// What a judge said in both orders, and what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged<R> {
    pub forwards: Result<ReplyFrom<R>, Absence>,
    pub backwards: Result<ReplyFrom<R>, Absence>,
}

impl<R: Comparison> Judged<R> {
    /// Whether there are two valid verdicts.
    pub fn is_complete(&self) -> bool {
        self.forwards.is_ok() && self.backwards.is_ok()
    }

    /// The better side, where both orders say so. One order alone proves nothing.
    pub fn winner(&self) -> Option<usize> {
        self.sides()
            .and_then(|[forwards, backwards]| forwards.filter(|side| backwards == Some(*side)))
    }

    pub fn flipped(&self) -> bool {
        self.sides()
            .is_some_and(|[forwards, backwards]| forwards != backwards)
    }

    /// Every valid verdict with the order it was given in.
    pub fn said(&self) -> impl Iterator<Item = (Order, &ReplyFrom<R>)> {
        let forwards = self.forwards.iter().map(|said| (Order::Forwards, said));
        forwards.chain(self.backwards.iter().map(|said| (Order::Backwards, said)))
    }

    pub fn absent(&self) -> impl Iterator<Item = &Absence> {
        self.forwards
            .as_ref()
            .err()
            .into_iter()
            .chain(self.backwards.as_ref().err())
    }

    fn sides(&self) -> Option<[Option<usize>; 2]> {
        let (forwards, backwards) = (self.forwards.as_ref().ok()?, self.backwards.as_ref().ok()?);
        Some([
            forwards.reply.better(),
            backwards
                .reply
                .better()
                .map(|place| Order::Backwards.at(place)),
        ])
    }
}

/// Asks a judge twice at the same time, once per order. The turns are named after the step: `judge
/// 1 forwards`, `judge 1 backwards`.
pub async fn in_both_orders<R: Comparison>(
    debate: &Debate,
    step: &Step,
    judge: &Agent,
    ask: impl Fn(Order) -> Ask<R>,
) -> Result<Judged<R>, Stop> {
    let named = |word: &str| Step {
        name: format!("{} {word}", step.name),
        ..step.clone()
    };
    let (first, second) = (named("forwards"), named("backwards"));
    let (forwards, backwards) = join(
        debate.turn(&first, judge, ask(Order::Forwards)),
        debate.turn(&second, judge, ask(Order::Backwards)),
    )
    .await;
    match (forwards, backwards) {
        (Ok(forwards), Ok(backwards)) => Ok(Judged {
            forwards,
            backwards,
        }),
        // A met limit only says that somebody was not asked; what else went wrong is told first.
        (Err(Stop::Stopped(_)), Err(halt)) | (Err(halt), _) | (_, Err(halt)) => Err(halt),
    }
}

/// Whether the model that judged is of the family of one that it judged: by who really answered,
/// also for somebody else. Scripts, people and the rehearsal have no family.
pub fn judged_own_family<R: Comparison, A, B>(
    debate: &Debate,
    judged: &Judged<R>,
    exchanged: &Exchange<A, B>,
) -> bool {
    let judges: Vec<_> = judged
        .said()
        .filter_map(|(_, said)| debate.answered_by(&said.turn))
        .collect();
    let mut sides = exchanged
        .turns()
        .filter_map(|turn| debate.answered_by(turn));
    sides.any(|side| judges.iter().any(|judge| are_kin(judge, &side)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FaultKind;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Place(Option<usize>);
    crate::reply!(Place, "place");

    impl Comparison for Place {
        fn better(&self) -> Option<usize> {
            self.0
        }
    }

    #[test]
    fn only_a_verdict_that_holds_in_both_orders_counts() {
        let said = |place| {
            Ok(ReplyFrom {
                agent: "judge".into(),
                turn: "t".into(),
                reply: Place(place),
            })
        };
        let missing = || {
            Err(Absence {
                agent: "judge".to_owned(),
                turn: "t".to_owned(),
                reason: FaultKind::Timeout,
                detail: String::new(),
            })
        };
        let rows = [
            (said(Some(0)), said(Some(1)), Some(0), false),
            (said(Some(1)), said(Some(0)), Some(1), false),
            // The same place twice is the place, not the side.
            (said(Some(0)), said(Some(0)), None, true),
            (said(Some(1)), said(Some(1)), None, true),
            (said(None), said(None), None, false),
            (said(Some(0)), said(None), None, true),
            (said(None), said(Some(1)), None, true),
            (said(Some(0)), missing(), None, false),
            (missing(), said(Some(1)), None, false),
            (missing(), missing(), None, false),
        ];
        for (forwards, backwards, winner, flipped) in rows {
            let judged = Judged {
                forwards,
                backwards,
            };
            assert_eq!(
                (judged.winner(), judged.flipped()),
                (winner, flipped),
                "{judged:?}"
            );
        }
    }
}
