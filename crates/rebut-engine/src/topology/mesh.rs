//! Mesh: everybody hears everybody.

use super::{Member, Rules, Shape, best_for, ranked, roles, shape::Heard};

pub(super) const RULES: Rules = Rules {
    name: "mesh",
    stored_as: "graph_mesh",
    about: "everybody hears everybody",
    places: &["peer"],
    seat: |members| Shape::unsettled(members.len()),
    mend: |_, shape| shape,
    hears,
    leader: |members: &[Member], _, phase| {
        best_for(roles::leading(phase), members, ranked(members).into_iter())
    },
    groups: |shape, _| {
        if shape.order.is_empty() {
            Vec::new()
        } else {
            vec![shape.order.clone()]
        }
    },
    route: |_, from, to| vec![from, to],
};

/// All members twice in a row: whoever stands behind a member, up to its second place, is everybody
/// else.
fn hears(shape: &Shape) -> Heard {
    let count = shape.order.len();
    (
        shape.order.iter().chain(&shape.order).copied().collect(),
        (0..count)
            .map(|number| number + 1..number + count)
            .collect(),
    )
}
