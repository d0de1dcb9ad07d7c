//! Topologies keep their promises for any panel: nobody lost, nobody doubled, everybody reachable,
//! the same for the same input.

use proptest::prelude::*;
use rebut_engine::topology::{Kind, Member, TOPOLOGIES, Topology, TopologyError};
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

/// Roles with a place of their own, and roles without.
const ROLES: [&str; 10] = [
    "risk",
    "value",
    "effort",
    "Moderator",
    "architect",
    "red-team",
    "optimizer",
    "reviewer",
    "test agent",
    "proposer",
];

fn member(name: &str, role: &str, score: f64) -> Member {
    Member {
        name: name.into(),
        role: role.into(),
        stance: None,
        score,
    }
}

fn build(kind: &str, members: &[Member]) -> Topology {
    Topology::build(Kind::named(kind).expect("a kind"), members).expect("names differ")
}

fn plain(count: usize) -> Vec<Member> {
    (0..count)
        .map(|number| member(&format!("m{number}"), "judge of its own", 0.0))
        .collect()
}

fn text(names: &[Arc<str>]) -> String {
    names.join(" ")
}

/// Members with any roles and few different scores, so that ties are common; NaN and infinities
/// among them.
fn panels() -> impl Strategy<Value = Vec<Member>> {
    let scores = prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(0.5),
        Just(1.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        0.0..1.0f64
    ];
    prop::collection::vec((0..ROLES.len(), scores), 1..14).prop_map(|members| {
        let named = members.into_iter().enumerate();
        named
            .map(|(number, (role, score))| member(&format!("m{number}"), ROLES[role], score))
            .collect()
    })
}

/// Whatever must hold for every topology.
fn check(topology: &Topology) {
    let all: BTreeSet<&str> = topology
        .members()
        .iter()
        .map(|member| &*member.name)
        .collect();
    assert_eq!(all.len(), topology.members().len(), "nobody is there twice");
    for listener in &all {
        let heard: BTreeSet<&str> = topology
            .hears(listener)
            .iter()
            .map(|name| &**name)
            .collect();
        assert_eq!(
            heard.len(),
            topology.hears(listener).len(),
            "{listener} hears nobody twice"
        );
        assert!(
            !heard.contains(listener) && heard.is_subset(&all),
            "{listener} hears others who are there"
        );
    }
    for phase in [
        "proposal",
        "critique",
        "adversarial",
        "convergence",
        "no such phase",
    ] {
        let groups = topology.groups(phase);
        let spoken: Vec<&str> = groups.iter().flatten().map(|name| &**name).collect();
        assert_eq!(spoken.len(), all.len(), "everybody speaks once");
        assert_eq!(spoken.into_iter().collect::<BTreeSet<_>>(), all);
        assert!(groups.iter().all(|group| !group.is_empty()));
        assert!(all.contains(&**topology.leader(phase).expect("a leader")));
    }
    check_routes(topology, &all);
    check_kind(topology);
}

/// Every route goes only where words may go, is as short as can be, and exists: everybody can reach
/// everybody.
fn check_routes(topology: &Topology, all: &BTreeSet<&str>) {
    for to in all {
        let steps = steps_to(topology, to);
        assert_eq!(steps.len(), all.len(), "everybody can reach {to}");
        for from in all {
            let route = topology.route(from, to);
            assert_eq!(
                (
                    route.first().map(|name| &**name),
                    route.last().map(|name| &**name)
                ),
                (Some(*from), Some(*to))
            );
            for step in route.windows(2) {
                assert!(
                    topology.hears(&step[1]).contains(&step[0]),
                    "{} does not hear {}: {}",
                    step[1],
                    step[0],
                    text(&route)
                );
            }
            assert_eq!(route.len(), steps[from] + 1, "no detour: {}", text(&route));
        }
    }
}

/// How many steps everybody's words need to reach somebody, found by looking at who hears whom
/// alone.
fn steps_to<'a>(topology: &'a Topology, to: &'a str) -> HashMap<&'a str, usize> {
    let (mut steps, mut next) = (HashMap::from([(to, 0)]), VecDeque::from([to]));
    while let Some(listener) = next.pop_front() {
        let away = steps[listener] + 1;
        for heard in topology.hears(listener) {
            if !steps.contains_key(&**heard) {
                steps.insert(heard, away);
                next.push_back(heard);
            }
        }
    }
    steps
}

/// What makes each kind.
fn check_kind(topology: &Topology) {
    let members = topology.members();
    let count = members.len();
    let hears = |member: &Member| topology.hears(&member.name).len();
    let at = |place: &str| {
        members
            .iter()
            .filter(|member| topology.place(&member.name) == place)
            .collect::<Vec<_>>()
    };
    let is_mutual = || {
        members.iter().all(|member| {
            topology
                .hears(&member.name)
                .iter()
                .all(|heard| topology.hears(heard).contains(&member.name))
        })
    };
    match topology.kind().name() {
        "mesh" => assert!(members.iter().all(|member| hears(member) == count - 1)),
        "star" => {
            let hub = at("hub");
            assert_eq!((hub.len(), hears(hub[0])), (1, count - 1));
            assert!(at("spoke").iter().all(|spoke| hears(spoke) == 1) && is_mutual());
        }
        "chain" => assert!(
            members
                .iter()
                .all(|member| hears(member) == usize::from(count > 1))
        ),
        "tree" => {
            let (root, leads, leaves) = (at("root"), at("lead"), at("leaf"));
            assert_eq!(
                (root.len(), root.len() + leads.len() + leaves.len()),
                (1, count)
            );
            assert!(leads.len() >= 2.min(count - 1) && is_mutual());
            assert_eq!(
                hears(root[0]),
                leads.len(),
                "the root hears its leads and nobody else"
            );
            assert!(
                leaves.iter().all(|leaf| hears(leaf) == 1
                    && topology.place(&topology.hears(&leaf.name)[0]) == "lead")
            );
        }
        other => panic!("{other} has no promise here: write one"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_topology_keeps_its_promises_also_without_anybody(members in panels()) {
        for kind in TOPOLOGIES {
            let topology = Topology::build(*kind, &members).expect("names differ");
            check(&topology);
            for gone in &members {
                let left = topology.without(&gone.name);
                prop_assert_eq!(left.members().len(), members.len() - 1);
                prop_assert!(left.hears(&gone.name).is_empty() && left.level(&gone.name).is_none());
                if members.len() > 1 {
                    check(&left);
                    check(&left.with(gone.clone()));
                }
            }
        }
    }

    #[test]
    fn members_may_leave_and_come_back_in_any_order(members in panels(), moves in prop::collection::vec((any::<bool>(), 0usize..14), 0..24)) {
        for kind in TOPOLOGIES {
            let mut topology = Topology::build(*kind, &members).expect("names differ");
            for (comes, number) in &moves {
                let member = members[number % members.len()].clone();
                topology = if *comes { topology.with(member) } else { topology.without(&member.name) };
                if topology.members().is_empty() {
                    prop_assert!(topology.leader("critique").is_none() && topology.groups("critique").is_empty());
                } else {
                    check(&topology);
                }
            }
        }
    }

    #[test]
    fn a_leaf_of_a_tree_that_leaves_moves_nobody(members in panels()) {
        let tree = build("tree", &members);
        for leaf in members.iter().filter(|member| tree.place(&member.name) == "leaf") {
            let left = tree.without(&leaf.name);
            for other in left.members() {
                let before: Vec<_> = tree.hears(&other.name).iter().filter(|name| **name != leaf.name).cloned().collect();
                prop_assert_eq!(left.hears(&other.name), &before[..], "{} hears the \
                    same", other.name);
            }
        }
    }

    #[test]
    fn with_different_scores_the_order_of_the_panel_does_not_matter(roles in prop::collection::vec(0..ROLES.len(), 1..20), seed in any::<u64>()) {
        let members: Vec<Member> =
            roles.iter().enumerate().map(|(number, role)| member(&format!("m{number}"), ROLES[*role], number as f64)).collect();
        let mut shuffled = members.clone();
        shuffled.sort_by_key(|member| (seed ^ member.score.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for kind in TOPOLOGIES {
            let (one, two) = (Topology::build(*kind, &members).expect("a"), Topology::build(*kind, &shuffled).expect("b"));
            for name in members.iter().map(|member| &member.name) {
                let sorted = |topology: &Topology| topology.hears(name).iter().cloned().collect::<BTreeSet<_>>();
                prop_assert_eq!(sorted(&one), sorted(&two), "{} of {}", name, kind);
            }
            for phase in ["proposal", "critique", "optimization", "other"] {
                prop_assert_eq!(one.leader(phase), two.leader(phase));
            }
        }
    }
}

#[test]
fn places_follow_roles_then_scores_then_the_panel() {
    let judges = [
        "risk",
        "value",
        "effort",
        "security",
        "reviewer",
        "architect",
        "moderator",
    ]
    .map(|name| member(name, name, 0.0));
    let star = build("star", &judges);
    assert_eq!(star.place("moderator"), "hub");
    assert_eq!(text(&star.route("risk", "value")), "risk moderator value");
    assert_eq!(
        star.groups("critique")[1],
        ["moderator".into()],
        "results are gathered by the hub"
    );
    assert_eq!(
        star.groups("proposal")[0],
        ["moderator".into()],
        "work is handed out by the hub"
    );
    let chain = build("chain", &judges);
    assert_eq!(
        text(&chain.groups("review").concat()),
        "architect reviewer security moderator risk value effort"
    );
    assert_eq!(
        text(chain.hears("architect")),
        "effort",
        "the chain is a ring"
    );
    assert_eq!(
        text(&chain.route("value", "reviewer")),
        "value effort architect reviewer"
    );
    let tree = build("tree", &judges);
    assert_eq!(text(tree.hears("architect")), "security reviewer moderator");
    assert_eq!(text(tree.hears("security")), "architect risk");
    assert_eq!(
        text(&tree.route("risk", "effort")),
        "risk security architect moderator effort"
    );
    let leaders = ["critique", "review", "convergence", "optimization"]
        .map(|phase| tree.leader(phase).expect("a leader").to_string());
    assert_eq!(leaders, ["security", "reviewer", "moderator", "architect"]);
    assert_eq!(
        build("mesh", &judges)
            .leader("critique")
            .map(|name| &**name),
        Some("security")
    );
    let mut scored = plain(5);
    (scored[2].score, scored[3].score, scored[4].score) = (0.9, 0.9, f64::NAN);
    for kind in TOPOLOGIES {
        let scored = build(kind.name(), &scored);
        assert_eq!(
            scored.leader("other").map(|name| &**name),
            Some("m2"),
            "{kind}: the highest score, and the earlier of two"
        );
    }
    let mended = tree.without("architect");
    assert_eq!(
        (mended.place("security"), text(mended.hears("reviewer"))),
        ("root", "security risk value".to_owned())
    );
    let again = mended.without("security");
    assert_eq!(
        (again.place("reviewer"), text(again.hears("reviewer"))),
        ("root", "risk moderator".to_owned())
    );
    assert_eq!(
        (
            tree.level("risk"),
            again.level("risk"),
            text(again.hears("risk"))
        ),
        (Some(2), Some(1), "reviewer value".to_owned())
    );
}

#[test]
fn one_two_and_ten_thousand_members_are_placed() {
    for kind in TOPOLOGIES {
        for count in [0, 1, 2, 10_000] {
            let members = plain(count);
            let topology = Topology::build(*kind, &members).expect("names differ");
            assert_eq!(
                topology.groups("critique").concat().len(),
                count,
                "{kind} of {count}"
            );
            if count > 1 {
                let last = format!("m{}", count - 1);
                let route = topology.route("m0", &last);
                assert!(
                    route
                        .windows(2)
                        .all(|step| topology.hears(&step[1]).contains(&step[0])),
                    "{kind} of {count}"
                );
                let left = topology.without("m0");
                assert_eq!(
                    left.groups("critique").concat().len(),
                    count - 1,
                    "{kind} of {count}"
                );
            }
        }
        let twins = [member("a", "x", 0.0), member("a", "y", 0.0)];
        assert_eq!(
            Topology::build(*kind, &twins),
            Err(TopologyError::SameName("a".into()))
        );
    }
    let tree = build("tree", &plain(10_000));
    let most = tree
        .members()
        .iter()
        .map(|member| tree.hears(&member.name).len())
        .max();
    assert_eq!(
        most,
        Some(101),
        "nobody in a tree hears many more than the root of all"
    );
}

#[test]
fn drawings_show_every_edge_and_hold_no_foreign_syntax() {
    let mut judges = plain(6);
    judges[0] = Member {
        stance: Some("a\"]; click ```\nx".into()),
        ..member("odd#<name>", "x", 1.0)
    };
    let star = build("star", &judges).to_mermaid();
    assert_eq!(
        star.lines().filter(|line| line.contains("<-->")).count(),
        5,
        "{star}"
    );
    assert!(
        star.contains("m0[\"odd#35;#60;name#62; (a#34;]#59; click #96;#96;#96; x)\"]"),
        "{star}"
    );
    let chain = build("chain", &judges).to_mermaid();
    assert_eq!(
        chain.lines().filter(|line| line.contains(" --> ")).count(),
        6,
        "{chain}"
    );
    let mesh = build("mesh", &judges);
    assert_eq!(
        mesh.to_mermaid()
            .lines()
            .filter(|line| line.contains("<--> all"))
            .count(),
        6
    );
    assert_eq!(
        build("mesh", &judges[..3])
            .to_mermaid()
            .lines()
            .filter(|line| line.contains("<-->"))
            .count(),
        3
    );
    assert_eq!(
        mesh.to_text(),
        "mesh of 6: everybody hears everybody\nodd#<name>, m1, m2, m3, m4, m5\n"
    );
    let tree = build("tree", &plain(5)).to_text();
    let expected = "tree of 5: each hears the one above it and those right below\nm0 (root) hears \
        m1, m2\nm1 (lead) hears m0, m3\n\
                    m2 (lead) hears m0, m4\nm3 (leaf) hears m1\nm4 (leaf) hears m2\n";
    assert_eq!(tree, expected);
    assert_eq!(
        Kind::named("ring").expect_err("unknown"),
        "there is no topology `ring`; take one of mesh, star, chain, tree"
    );
}
