//! Chain: each hears only the one before it. The chain is closed to a ring: the first hears the
//! last.
//!
//! Closed, because in an open chain the first would be asked again and again without ever hearing
//! anybody, and nothing the others say could reach it. In the ring every word can travel to
//! everybody, one member a round.

use super::{Member, Rules, Shape, best_for, ranked, roles, shape::Heard};

pub(super) const RULES: Rules = Rules {
    name: "chain",
    stored_as: "chain",
    about: "each hears only the one before it, the first hears the last",
    places: &["link"],
    seat,
    // Whoever is left closes the gap, whoever comes stands last: both are in the order already.
    mend: |_, shape| shape,
    hears,
    leader,
    groups: |shape, _| shape.order.iter().map(|number| vec![*number]).collect(),
    route,
};

fn seat(members: &[Member]) -> Shape {
    let mut shape = Shape {
        order: ranked(members),
        ..Shape::unsettled(members.len())
    };
    shape.order.sort_by_cached_key(|number| {
        roles::index(roles::CHAIN, &members[*number].role).unwrap_or(roles::CHAIN.len())
    });
    shape
}

/// The chain once more, with its last link in front: before each stands the one it hears.
fn hears(shape: &Shape) -> Heard {
    let count = shape.order.len();
    let mut runs = vec![0..0; count];
    // Alone, the last link would be the first itself.
    if count > 1 {
        for (place, number) in shape.order.iter().enumerate() {
            runs[*number] = place..place + 1;
        }
    }
    (
        shape
            .order
            .last()
            .into_iter()
            .chain(&shape.order)
            .copied()
            .collect(),
        runs,
    )
}

/// The first whose role suits the phase, else the first of all.
fn leader(members: &[Member], shape: &Shape, phase: &str) -> Option<usize> {
    best_for(roles::leading(phase), members, shape.order.iter().copied())
}

/// Forward from link to link, around the ring if need be.
fn route(shape: &Shape, from: usize, to: usize) -> Vec<usize> {
    let ring = shape.order.iter().chain(&shape.order).copied();
    let mut route: Vec<usize> = ring
        .skip_while(|number| *number != from)
        .take_while(|number| *number != to)
        .collect();
    route.push(to);
    route
}
