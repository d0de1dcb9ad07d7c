//! `cargo bench -p rebut-engine --bench topology`: how the cost of topologies grows with the number
//! of members, as an exponent.
//!
//! An exponent of 1 is linear. Building and mending must stay near it. The ways from one member to
//! all others are about as many names as they have steps: linear in mesh, star and tree; in a chain
//! they are quadratic, because its ways are that long.

use rebut_engine::topology::{Member, TOPOLOGIES, Topology};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

const SIZES: [usize; 3] = [100, 1_000, 10_000];
const ROLES: [&str; 8] = [
    "judge",
    "critic",
    "security",
    "optimizer",
    "reviewer",
    "moderator",
    "architect",
    "implementer",
];

/// Something done with a topology and its members.
type Work = fn(&Topology, &[Member]);

/// What is measured.
const WORK: [(&str, Work); 4] = [
    ("build", |topology, members| {
        let _ = black_box(Topology::build(topology.kind(), members));
    }),
    ("without the leader", |topology, _| {
        let leader = topology.leader("critique").cloned().unwrap_or_default();
        black_box(topology.without(&leader));
    }),
    ("hears, all", |topology, members| {
        black_box(
            members
                .iter()
                .map(|member| topology.hears(&member.name).len())
                .sum::<usize>(),
        );
    }),
    ("routes from one to all", |topology, members| {
        black_box(
            members
                .iter()
                .map(|member| topology.route(&members[0].name, &member.name).len())
                .sum::<usize>(),
        );
    }),
];

fn main() {
    println!(
        "{:<8} {:<24} {:>12} {:>12} {:>12}   growth",
        "kind", "what", "100", "1 000", "10 000"
    );
    for kind in TOPOLOGIES {
        for (what, work) in WORK {
            let times = SIZES.map(|size| {
                let members = members(size);
                let topology = Topology::build(*kind, &members).expect("names differ");
                fastest(|| work(&topology, &members))
            });
            let growth = times.windows(2).map(|pair| {
                format!(
                    "n^{:.2}",
                    (pair[1].as_secs_f64() / pair[0].as_secs_f64()).log10()
                )
            });
            let growth = growth.collect::<Vec<_>>().join(", then ");
            println!(
                "{:<8} {what:<24} {:>12} {:>12} {:>12}   {growth}",
                kind.name(),
                shown(times[0]),
                shown(times[1]),
                shown(times[2])
            );
        }
    }
}

fn members(count: usize) -> Vec<Member> {
    let member = |number: usize| Member {
        name: format!("agent {number}").into(),
        role: ROLES[number % ROLES.len()].into(),
        stance: None,
        score: (number * 7919 % 1009) as f64 / 1009.0,
    };
    (0..count).map(member).collect()
}

/// The fastest of several runs: what the work takes when nothing else is in its way.
fn fastest(work: impl Fn()) -> Duration {
    let began = Instant::now();
    let mut best = Duration::MAX;
    for run in 0.. {
        if run >= 3 && began.elapsed() > Duration::from_millis(200) {
            break;
        }
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    best
}

fn shown(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}
