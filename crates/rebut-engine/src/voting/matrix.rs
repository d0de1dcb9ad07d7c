//! The pairwise matrix: who beats whom, the smallest set that beats all others, and majority
//! cycles. Pure.

use super::exact::{Exact, Figure};
use std::collections::BTreeMap;

/// For each pair, the votes that put the first above the second.
#[derive(Clone, Debug)]
pub struct Matrix {
    candidates: usize,
    cells: Vec<u128>,
    decimals: u32,
}

impl Matrix {
    pub(super) fn new(candidates: usize, cells: Vec<u128>, decimals: u32) -> Self {
        Self {
            candidates,
            cells,
            decimals,
        }
    }

    pub(super) fn candidates(&self) -> usize {
        self.candidates
    }

    /// Units of votes that put `a` above `b`.
    pub(super) fn support(&self, a: usize, b: usize) -> u128 {
        self.cells[a * self.candidates + b]
    }

    pub(super) fn votes(&self, a: usize, b: usize) -> Exact {
        Exact::of_units(self.support(a, b), self.decimals)
    }

    /// Whether more put `a` above `b` than the other way round.
    pub(super) fn beats(&self, a: usize, b: usize) -> bool {
        self.support(a, b) > self.support(b, a)
    }

    /// Whether as many put `a` above `b` as the other way round.
    pub(super) fn ties(&self, a: usize, b: usize) -> bool {
        self.support(a, b) == self.support(b, a)
    }

    /// How many others a candidate beats.
    pub(super) fn victories(&self) -> Vec<Exact> {
        let all = 0..self.candidates;
        all.clone()
            .map(|a| Exact::whole(all.clone().filter(|&b| self.beats(a, b)).count()))
            .collect()
    }

    pub(super) fn condorcet_winner(&self) -> Option<usize> {
        (0..self.candidates).find(|&a| (0..self.candidates).all(|b| a == b || self.beats(a, b)))
    }

    /// Who stands on the highest majority cycle: those of the smallest set that beats all others
    /// who are on one; if nobody there is, the same among the rest.
    pub(super) fn cycle(&self) -> Vec<usize> {
        let chains = Reach::of(self.candidates, |a, b| self.beats(a, b));
        let on_cycle = |a: &usize| chains.has(*a, *a);
        if !(0..self.candidates).any(|a| on_cycle(&a)) {
            return Vec::new();
        }
        // Whoever is unbeaten in chains of victories and ties by those it does not reach itself is
        // above them.
        let weak = Reach::of(self.candidates, |a, b| a != b && !self.beats(b, a));
        let mut rest: Vec<usize> = (0..self.candidates).collect();
        loop {
            let top: Vec<usize> = rest
                .iter()
                .copied()
                .filter(|&a| rest.iter().all(|&b| a == b || weak.has(a, b)))
                .collect();
            let found: Vec<usize> = top.iter().copied().filter(on_cycle).collect();
            if !found.is_empty() || top.is_empty() {
                return found;
            }
            rest.retain(|a| !top.contains(a));
        }
    }

    /// A shortest way round from a member of a cycle back to it.
    pub(super) fn way_round(&self, start: usize) -> Vec<usize> {
        let mut from: Vec<Option<usize>> = vec![None; self.candidates];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(a) = queue.pop_front() {
            for b in (0..self.candidates).filter(|&b| self.beats(a, b)) {
                if b == start {
                    let mut way = vec![a];
                    while let Some(before) = way.last().and_then(|&at| from[at]) {
                        way.push(before);
                    }
                    way.reverse();
                    return way;
                }
                if from[b].is_none() {
                    from[b] = Some(a);
                    queue.push_back(b);
                }
            }
        }
        Vec::new()
    }

    /// As it stands in a result.
    pub(super) fn figures(
        &self,
        names: &[String],
        weighed: bool,
    ) -> BTreeMap<String, BTreeMap<String, Figure>> {
        let others = |a: usize| (0..self.candidates).filter(move |b| *b != a);
        let row = |a: usize| {
            let votes: Vec<Exact> = others(a).map(|b| self.votes(a, b)).collect();
            others(a)
                .map(|b| names[b].clone())
                .zip(Figure::all(votes.iter(), weighed))
                .collect()
        };
        (0..self.candidates)
            .map(|a| (names[a].clone(), row(a)))
            .collect()
    }
}

/// Who leads to whom, step after step, as sets of bits that grow with each step that is added.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    pub fn none(candidates: usize) -> Self {
        let words = candidates.div_ceil(64);
        Self {
            words,
            bits: vec![0; words * candidates],
        }
    }

    /// Everything that follows from single steps.
    pub fn of(candidates: usize, step: impl Fn(usize, usize) -> bool) -> Self {
        let mut reach = Self::none(candidates);
        for a in 0..candidates {
            for b in (0..candidates).filter(|&b| step(a, b)) {
                reach.bits[a * reach.words + b / 64] |= 1 << (b % 64);
            }
        }
        for through in 0..candidates {
            let further = reach.row(through).to_vec();
            for a in (0..candidates).filter(|&a| a != through) {
                if reach.has(a, through) {
                    reach.join(a, &further);
                }
            }
        }
        reach
    }

    /// Whether steps lead from `a` to `b`.
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.bits[a * self.words + b / 64] >> (b % 64) & 1 == 1
    }

    /// Adds a step and all that follows from it.
    pub fn add(&mut self, a: usize, b: usize) {
        if self.has(a, b) {
            return;
        }
        let mut further = self.row(b).to_vec();
        further[b / 64] |= 1 << (b % 64);
        for x in 0..self.bits.len() / self.words {
            // Whoever leads to `b` already leads to all that follows from it.
            if (x == a || self.has(x, a)) && !self.has(x, b) {
                self.join(x, &further);
            }
        }
    }

    fn row(&self, a: usize) -> &[u64] {
        &self.bits[a * self.words..][..self.words]
    }

    fn join(&mut self, a: usize, further: &[u64]) {
        self.bits[a * self.words..][..self.words]
            .iter_mut()
            .zip(further)
            .for_each(|(bits, more)| *bits |= more);
    }
}
