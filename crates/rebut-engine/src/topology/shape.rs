//! Where everybody sits: an order, and who is right above whom. What star and tree have in common
//! is here.

use super::roles;
use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Who is above all others, in kinds that have one.
    pub(super) top: Option<usize>,
    /// Who is right above each; `None` for the top, and for whoever has no place yet.
    pub(super) above: Vec<Option<usize>>,
    /// Everybody, in the order of the kind: along the chain, or level by level.
    pub(super) order: Vec<usize>,
}

/// Members laid out in a row, and for each member the run of those it hears.
pub(super) type Heard = (Vec<usize>, Vec<Range<usize>>);

impl Shape {
    /// So many members without a place.
    pub(super) fn unsettled(members: usize) -> Self {
        Self {
            top: None,
            above: vec![None; members],
            order: (0..members).collect(),
        }
    }

    /// The same without one; whoever sat below it has nobody above, and later members move up by
    /// one number.
    pub(super) fn without(&self, gone: usize) -> Self {
        let renumbered =
            |number: usize| (number != gone).then(|| number - usize::from(number > gone));
        let left = self
            .above
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != gone);
        Self {
            top: self.top.and_then(renumbered),
            above: left.map(|(_, above)| above.and_then(renumbered)).collect(),
            order: self.order.iter().copied().filter_map(renumbered).collect(),
        }
    }

    /// The same with one more, last in the order and without a place.
    pub(super) fn with_one_more(&self) -> Self {
        let mut more = self.clone();
        more.order.push(self.above.len());
        more.above.push(None);
        more
    }

    /// A member, the one above it, and so on to the top.
    pub(super) fn line_up(&self, member: usize) -> Vec<usize> {
        std::iter::successors(Some(member), |number| self.above[*number]).collect()
    }

    /// Puts everybody in order, level by level, each next to those with the same one above; `first`
    /// says who comes first among these.
    pub(super) fn order_by_level(&mut self, first: &[usize]) {
        let below = self.below(first);
        let mut order: Vec<usize> = self.top.into_iter().collect();
        let mut next = 0;
        while let Some(number) = order.get(next).copied() {
            order.extend(&below[number]);
            next += 1;
        }
        self.order = order;
    }

    /// Who sits right below each, in the order of `first`.
    fn below(&self, first: &[usize]) -> Vec<Vec<usize>> {
        let mut below = vec![Vec::new(); self.above.len()];
        for number in first {
            if let Some(above) = self.above[*number] {
                below[above].push(*number);
            }
        }
        below
    }

    /// Each hears the one above it and those right below.
    pub(super) fn hears_up_and_down(&self) -> Heard {
        let below = self.below(&self.order);
        let (mut heard, mut runs) = (
            Vec::with_capacity(2 * self.above.len()),
            Vec::with_capacity(self.above.len()),
        );
        for (number, below) in below.iter().enumerate() {
            let start = heard.len();
            heard.extend(self.above[number].iter().chain(below));
            runs.push(start..heard.len());
        }
        (heard, runs)
    }

    /// Up to the nearest one above both, and down again.
    pub(super) fn route_up_and_down(&self, from: usize, to: usize) -> Vec<usize> {
        let (mut up, mut down) = (self.line_up(from), self.line_up(to));
        let mut common = None;
        while let (Some(a), Some(b)) = (up.last(), down.last())
            && a == b
        {
            common = up.pop();
            down.pop();
        }
        up.extend(common);
        up.extend(down.into_iter().rev());
        up
    }

    /// A level at a time: from the bottom up, or from the top down in phases that hand work out.
    pub(super) fn levels(&self, phase: &str) -> Vec<Vec<usize>> {
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for number in &self.order {
            let level = self.line_up(*number).len() - 1;
            levels.resize_with(levels.len().max(level + 1), Vec::new);
            levels[level].push(*number);
        }
        if !roles::goes_down(phase) {
            levels.reverse();
        }
        levels
    }
}
