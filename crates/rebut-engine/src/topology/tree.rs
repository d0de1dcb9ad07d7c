//! Tree: a root, its leads, and leaves below each lead. Each hears the one above it and those right
//! below; sideways goes via the one above.
//!
//! The root is an architect, a lead or a designer, else the highest score. Each concern (security,
//! performance, coordination, quality, review) that somebody's role is about has a lead. There are
//! at least as many leads as the root of the number of members, and two if there are enough
//! members, so that nobody has to hear many. The rest are leaves, dealt out evenly.

use super::{Member, Rules, Shape, best_for, ranked, roles};
use std::{cmp::Reverse, collections::BinaryHeap};

pub(super) const RULES: Rules = Rules {
    name: "tree",
    stored_as: "tree",
    about: "each hears the one above it and those right below",
    places: &["root", "lead", "leaf"],
    seat,
    mend,
    hears: Shape::hears_up_and_down,
    leader,
    groups: Shape::levels,
    route: Shape::route_up_and_down,
};

fn seat(members: &[Member]) -> Shape {
    let ranked = ranked(members);
    let mut shape = Shape::unsettled(members.len());
    shape.top = best_for(roles::ROOTS, members, ranked.iter().copied());
    let Some(root) = shape.top else { return shape };
    for concern in roles::CONCERNS {
        let free = ranked
            .iter()
            .copied()
            .filter(|number| *number != root && shape.above[*number].is_none());
        let lead = free
            .clone()
            .find(|number| roles::index(concern.roles, &members[*number].role).is_some());
        if let Some(lead) = lead {
            shape.above[lead] = Some(root);
        }
    }
    settle(&ranked, shape, (members.len() - 1).isqrt())
}

/// After a root left, one of its leads takes its place. Leaves that lost their lead go to the other
/// leads.
fn mend(members: &[Member], mut shape: Shape) -> Shape {
    let ranked = ranked(members);
    if shape.top.is_none() {
        let leads: Vec<usize> = ranked
            .iter()
            .copied()
            .filter(|number| shape.above[*number].is_none())
            .collect();
        shape.top = best_for(roles::ROOTS, members, leads.iter().copied());
        let root = shape.top;
        // Those below the new root lose their lead; the other leads stay leads.
        for above in shape.above.iter_mut().filter(|above| **above == root) {
            *above = None;
        }
        for lead in leads.into_iter().filter(|lead| Some(*lead) != root) {
            shape.above[lead] = root;
        }
    }
    settle(&ranked, shape, 0)
}

/// Makes leads until there are enough, then deals out who is left, the one with the highest score
/// first, each to the lead with the fewest.
fn settle(ranked: &[usize], mut shape: Shape, leads_wanted: usize) -> Shape {
    let Some(root) = shape.top else { return shape };
    let wanted = leads_wanted.max(2).min(ranked.len() - 1);
    let is_lead = |shape: &Shape, number: usize| shape.above[number] == Some(root);
    let have = ranked
        .iter()
        .filter(|number| is_lead(&shape, **number))
        .count();
    let promoted: Vec<usize> = ranked
        .iter()
        .copied()
        .filter(|number| *number != root && !is_lead(&shape, *number))
        .collect();
    for number in promoted.into_iter().take(wanted.saturating_sub(have)) {
        shape.above[number] = Some(root);
    }
    let leads: Vec<usize> = ranked
        .iter()
        .copied()
        .filter(|number| is_lead(&shape, *number))
        .collect();
    let mut leaves = vec![0; ranked.len()];
    for above in shape.above.iter().flatten() {
        leaves[*above] += 1;
    }
    let mut fewest: BinaryHeap<Reverse<(usize, usize)>> = leads
        .iter()
        .enumerate()
        .map(|(place, lead)| Reverse((leaves[*lead], place)))
        .collect();
    for number in ranked.iter().filter(|number| **number != root) {
        if shape.above[*number].is_none()
            && let Some(Reverse((count, place))) = fewest.pop()
        {
            shape.above[*number] = Some(leads[place]);
            fewest.push(Reverse((count + 1, place)));
        }
    }
    shape.order_by_level(ranked);
    shape
}

/// The lead whose concern the phase is, else the root.
fn leader(members: &[Member], shape: &Shape, phase: &str) -> Option<usize> {
    let leads = shape
        .order
        .iter()
        .copied()
        .filter(|number| shape.above[*number].is_some() && shape.above[*number] == shape.top);
    let concern = roles::concern_of(phase);
    let mut fitting = leads.filter(|lead| {
        concern.is_some_and(|concern| roles::index(concern.roles, &members[*lead].role).is_some())
    });
    fitting.next().or(shape.top)
}
