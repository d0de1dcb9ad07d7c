//! The definitions of the methods, written down as plainly as possible and without a thought for
//! speed.

use super::Vote;
use std::collections::BTreeSet;

/// Shares of up to five equals are whole numbers of this.
pub const WHOLE: i64 = 60;

type Set = BTreeSet<usize>;

/// The candidates, and the votes that count, each with its weight.
pub struct Brute {
    pub n: usize,
    votes: Vec<(Vec<usize>, i64)>,
}

impl Brute {
    pub fn new(n: usize, votes: &[Vote], weigh: bool) -> Self {
        let counted = votes.iter().filter_map(|vote| {
            Some((
                vote.places.clone()?,
                if weigh { i64::from(vote.weight) } else { 1 },
            ))
        });
        Self {
            n,
            votes: counted.filter(|(_, weight)| *weight > 0).collect(),
        }
    }

    pub fn nobody(&self) -> bool {
        self.votes.is_empty()
    }

    pub fn total(&self) -> i64 {
        self.votes.iter().map(|(_, weight)| weight).sum()
    }

    fn tops(places: &[usize], left: &[usize]) -> Vec<usize> {
        let best = left.iter().map(|&at| places[at]).min();
        left.iter()
            .copied()
            .filter(|&at| Some(places[at]) == best)
            .collect()
    }

    /// First choices among some, in parts of `WHOLE`.
    pub fn firsts(&self, left: &[usize]) -> Vec<i64> {
        let mut firsts = vec![0; self.n];
        for (places, weight) in &self.votes {
            let tops = Self::tops(places, left);
            tops.iter()
                .for_each(|&at| firsts[at] += weight * WHOLE / tops.len() as i64);
        }
        firsts
    }

    fn all(&self) -> Vec<usize> {
        (0..self.n).collect()
    }

    fn highest(scores: &[i64]) -> Set {
        let most = scores.iter().max();
        (0..scores.len())
            .filter(|&at| Some(&scores[at]) == most)
            .collect()
    }

    pub fn plurality(&self) -> Set {
        Self::highest(&self.firsts(&self.all()))
    }

    pub fn majority(&self) -> Set {
        let firsts = self.firsts(&self.all());
        (0..self.n)
            .filter(|&at| 2 * firsts[at] > self.total() * WHOLE)
            .collect()
    }

    pub fn unanimous(&self) -> Set {
        let all = self.all();
        (0..self.n)
            .filter(|&at| {
                self.votes
                    .iter()
                    .all(|(places, _)| Self::tops(places, &all) == [at])
            })
            .collect()
    }

    pub fn approval(&self) -> Set {
        let all = self.all();
        let approved = |at: usize| {
            self.votes
                .iter()
                .filter(|(places, _)| Self::tops(places, &all).contains(&at))
                .map(|(_, weight)| weight)
                .sum()
        };
        Self::highest(&(0..self.n).map(approved).collect::<Vec<i64>>())
    }

    /// Twice the points: two for everybody below, one for every equal.
    pub fn borda_doubled(&self) -> Vec<i64> {
        let worth = |places: &[usize], a: usize, b: usize| match places[a].cmp(&places[b]) {
            std::cmp::Ordering::Less => 2,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Greater => 0,
        };
        let of = |a: usize| -> i64 {
            let others = || (0..self.n).filter(move |&b| b != a);
            self.votes
                .iter()
                .map(|(places, weight)| weight * others().map(|b| worth(places, a, b)).sum::<i64>())
                .sum()
        };
        (0..self.n).map(of).collect()
    }

    pub fn borda(&self) -> Set {
        Self::highest(&self.borda_doubled())
    }

    pub fn above(&self, a: usize, b: usize) -> i64 {
        self.votes
            .iter()
            .filter(|(places, _)| places[a] < places[b])
            .map(|(_, weight)| weight)
            .sum()
    }

    pub fn beats(&self, a: usize, b: usize) -> bool {
        self.above(a, b) > self.above(b, a)
    }

    pub fn condorcet_winner(&self) -> Option<usize> {
        (0..self.n).find(|&a| (0..self.n).all(|b| a == b || self.beats(a, b)))
    }

    pub fn condorcet_loser(&self) -> Option<usize> {
        (0..self.n).find(|&a| self.n > 1 && (0..self.n).all(|b| a == b || self.beats(b, a)))
    }

    pub fn condorcet(&self) -> Set {
        self.condorcet_winner()
            .map_or_else(|| self.borda(), |winner| Set::from([winner]))
    }

    /// Members of cycles in the highest set of candidates that all beat everybody below it.
    pub fn cycle(&self) -> Set {
        let mut rest = self.all();
        while !rest.is_empty() {
            let top = self.smith(&rest);
            let found: Set = top
                .iter()
                .copied()
                .filter(|&a| self.leads(a, a, &mut vec![a]))
                .collect();
            if !found.is_empty() {
                return found;
            }
            rest.retain(|a| !top.contains(a));
        }
        Set::new()
    }

    /// The smallest set whose members beat everybody outside.
    fn smith(&self, among: &[usize]) -> Set {
        let subsets = (1u32..1 << among.len()).map(|bits| {
            among
                .iter()
                .copied()
                .filter(|&a| bits >> place(among, a) & 1 == 1)
                .collect::<Set>()
        });
        let dominates = |set: &Set| {
            set.iter()
                .all(|&a| among.iter().all(|b| set.contains(b) || self.beats(a, *b)))
        };
        subsets
            .filter(dominates)
            .min_by_key(Set::len)
            .expect("all of them together dominate")
    }

    /// Whether victories lead from `a` back to `goal`.
    fn leads(&self, a: usize, goal: usize, seen: &mut Vec<usize>) -> bool {
        (0..self.n).any(|b| {
            self.beats(a, b)
                && (b == goal || {
                    let fresh = !seen.contains(&b);
                    seen.push(b);
                    fresh && self.leads(b, goal, seen)
                })
        })
    }

    /// Everybody who is last in some order of eliminations.
    pub fn instant_runoff(&self, left: &[usize]) -> Set {
        if left.len() == 1 {
            return left.iter().copied().collect();
        }
        let firsts = self.firsts(left);
        let fewest = left.iter().map(|&at| firsts[at]).min();
        let tied = left
            .iter()
            .copied()
            .filter(|&at| Some(firsts[at]) == fewest);
        tied.flat_map(|gone| {
            self.instant_runoff(
                &left
                    .iter()
                    .copied()
                    .filter(|&at| at != gone)
                    .collect::<Vec<_>>(),
            )
        })
        .collect()
    }

    /// Everybody with nobody above in some order of locking.
    pub fn ranked_pairs(&self) -> Set {
        let pairs = self
            .all()
            .into_iter()
            .flat_map(|a| self.all().into_iter().map(move |b| (a, b)));
        let open: Vec<(usize, usize)> = pairs.filter(|&(a, b)| self.beats(a, b)).collect();
        self.lock(&open, &mut Vec::new())
    }

    fn lock(&self, open: &[(usize, usize)], locked: &mut Vec<(usize, usize)>) -> Set {
        let strength = |&(a, b): &(usize, usize)| (self.above(a, b), -self.above(b, a));
        let Some(most) = open.iter().map(strength).max() else {
            return (0..self.n)
                .filter(|&a| locked.iter().all(|&(_, b)| b != a))
                .collect();
        };
        let mut winners = Set::new();
        for &pair in open.iter().filter(|pair| strength(pair) == most) {
            let rest: Vec<(usize, usize)> = open
                .iter()
                .copied()
                .filter(|other| *other != pair)
                .collect();
            let closes = path(locked, pair.1, pair.0);
            if !closes {
                locked.push(pair);
            }
            winners.extend(self.lock(&rest, locked));
            if !closes {
                locked.pop();
            }
        }
        winners
    }

    pub fn schulze(&self) -> Set {
        let strongest = |a, b| self.strongest(a, b, &mut vec![a]);
        (0..self.n)
            .filter(|&a| (0..self.n).all(|b| a == b || strongest(a, b) >= strongest(b, a)))
            .collect()
    }

    /// The strongest of all chains of victories from `a` to `goal`, each looked at.
    fn strongest(&self, a: usize, goal: usize, seen: &mut Vec<usize>) -> i64 {
        let mut best = 0;
        for b in (0..self.n).filter(|&b| self.beats(a, b)) {
            if b == goal {
                best = best.max(self.above(a, b));
            } else if !seen.contains(&b) {
                seen.push(b);
                best = best.max(self.above(a, b).min(self.strongest(b, goal, seen)));
                seen.pop();
            }
        }
        best
    }

    /// The winners by any method; `score` without scores is Borda in other units.
    pub fn winners(&self, by: &str) -> Set {
        match by {
            _ if self.nobody() => Set::new(),
            "majority" => self.majority(),
            "plurality" | "weighted" => self.plurality(),
            "unanimous" => self.unanimous(),
            "borda" | "score" => self.borda(),
            "condorcet" => self.condorcet(),
            "approval" => self.approval(),
            "instant-runoff" => self.instant_runoff(&self.all()),
            "ranked-pairs" => self.ranked_pairs(),
            "schulze" => self.schulze(),
            other => panic!("no definition of {other}: add it here"),
        }
    }
}

fn place(among: &[usize], a: usize) -> usize {
    among.iter().position(|&b| a == b).expect("one of them")
}

fn path(locked: &[(usize, usize)], from: usize, to: usize) -> bool {
    from == to
        || locked
            .iter()
            .any(|&(a, b)| a == from && path(locked, b, to))
}
