//! Star: the hub hears everybody, everybody else hears only the hub. A moderator is the hub, else
//! the highest score.

use super::{Member, Rules, Shape, best_for, ranked, roles};

pub(super) const RULES: Rules = Rules {
    name: "star",
    stored_as: "star",
    about: "the hub hears everybody, everybody else hears only the hub",
    places: &["hub", "spoke"],
    seat: |members| mend(members, Shape::unsettled(members.len())),
    mend,
    hears: Shape::hears_up_and_down,
    leader: |_, shape, _| shape.top,
    groups: Shape::levels,
    route: Shape::route_up_and_down,
};

/// A star without a hub gets one; whoever is not the hub sits below it.
fn mend(members: &[Member], mut shape: Shape) -> Shape {
    let ranked = ranked(members);
    shape.top = shape
        .top
        .or_else(|| best_for(roles::HUBS, members, ranked.iter().copied()));
    shape.above = (0..members.len())
        .map(|number| shape.top.filter(|top| *top != number))
        .collect();
    shape.order_by_level(&ranked);
    shape
}
