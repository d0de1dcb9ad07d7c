//! Planning: styles and topologies follow the features of a task, and plans fall into stages or say
//! why they cannot.

use proptest::prelude::*;
use rebut_engine::{
    planning::{Features, Plan, PlanError, Protocol, Style, Task, topology_for},
    topology::{Kind, Member, Topology},
};
use std::collections::HashMap;

fn task(name: &str, needs: &[&str], priority: i32) -> Task {
    Task {
        name: name.to_owned(),
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        priority,
    }
}

fn stages(tasks: Vec<Task>) -> Result<Vec<String>, String> {
    let names = |stage: &Vec<Task>| {
        stage
            .iter()
            .map(|task| task.name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    Plan::new(tasks)
        .map(|plan| plan.stages().iter().map(names).collect())
        .map_err(|error| error.to_string())
}

#[test]
fn styles_follow_the_task_and_can_be_overridden() {
    let rows = [
        (0.8, 0.2, 9, Style::Cpde),
        (0.8, 0.3, 9, Style::Dpde),
        (0.9, 0.7, 2, Style::Dpde),
        (0.5, 0.5, 3, Style::Cpde),
        (0.5, 0.5, 8, Style::Cpde),
        (0.5, 0.5, 9, Style::Dpde),
        (f64::INFINITY, -4.0, 9, Style::Cpde),
        (f64::NAN, f64::NAN, 5, Style::Cpde),
    ];
    for (complexity, ambiguity, agents, expected) in rows {
        let features = Features {
            complexity,
            ambiguity,
            agents,
            ..Features::default()
        };
        assert_eq!(
            Protocol::Adaptive.style(&features).what,
            expected,
            "{features:?}"
        );
        for asked in [Style::Cpde, Style::Dpde] {
            assert_eq!(Protocol::Always(asked).style(&features).what, asked);
        }
    }
    let members = ["a", "moderator", "c"].map(|name| Member {
        name: name.into(),
        role: name.into(),
        stance: None,
        score: 0.0,
    });
    let star =
        Topology::build(Kind::named("star").expect("a kind"), &members).expect("names differ");
    assert_eq!(
        Style::Cpde.planners(&star, "proposal"),
        ["moderator".into()]
    );
    assert_eq!(Style::Dpde.planners(&star, "proposal").len(), 3);
}

#[test]
fn topologies_follow_the_task_and_can_be_overridden() {
    let of = |agents| Features {
        agents,
        ..Features::default()
    };
    let rows = [
        (of(1), "mesh"),
        (of(3), "mesh"),
        (of(7), "mesh"),
        (of(13), "tree"),
        (
            Features {
                at_once: 2,
                ..of(5)
            },
            "star",
        ),
        (
            Features {
                at_once: 3,
                ..of(5)
            },
            "mesh",
        ),
        (
            Features {
                at_once: 1,
                ..of(7)
            },
            "mesh",
        ),
        (
            Features {
                is_centralized: true,
                ..of(20)
            },
            "star",
        ),
        (
            Features {
                is_ordered: true,
                is_centralized: true,
                ..of(3)
            },
            "chain",
        ),
        (
            Features {
                is_hierarchical: true,
                is_ordered: true,
                ..of(3)
            },
            "tree",
        ),
    ];
    for (features, expected) in rows {
        assert_eq!(
            topology_for(&features, None).what.name(),
            expected,
            "{features:?}"
        );
        let chain = Kind::named("chain").expect("a kind");
        assert_eq!(topology_for(&features, Some(chain)).what, chain);
    }
}

#[test]
fn plans_fall_into_stages_or_say_why_not() {
    type Stages = Result<&'static [&'static str], &'static str>;
    let rows: [(Vec<Task>, Stages); 8] = [
        (vec![], Ok(&[])),
        (
            vec![task("b", &["a"], 0), task("a", &[], 0)],
            Ok(&["a", "b"]),
        ),
        (
            vec![
                task("low", &[], 1),
                task("high", &[], 2),
                task("also high", &[], 2),
            ],
            Ok(&["high also high low"]),
        ),
        (
            vec![
                task("d", &["b", "c"], 0),
                task("b", &["a"], 0),
                task("c", &["a", "a"], 9),
                task("a", &[], -1),
            ],
            Ok(&["a", "c b", "d"]),
        ),
        (
            vec![task("a", &["a"], 0)],
            Err("these tasks wait for each other: a → a;"),
        ),
        // Who only waits for the cycle is not of it.
        (
            vec![
                task("after", &["x"], 0),
                task("x", &["y", "done"], 0),
                task("y", &["z"], 0),
                task("z", &["x"], 0),
                task("done", &[], 0),
            ],
            Err("these tasks wait for each other: x → y → z → x;"),
        ),
        (
            vec![task("a", &["ghost"], 0)],
            Err("the task `a` needs `ghost`, which is not in the plan"),
        ),
        (
            vec![task("a", &[], 0), task("a", &[], 1)],
            Err("the task `a` is in the plan twice"),
        ),
    ];
    for (tasks, expected) in rows {
        match (stages(tasks), expected) {
            (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
            (Err(found), Err(wanted)) => assert!(found.starts_with(wanted), "{found}"),
            (found, wanted) => panic!("{found:?} instead of {wanted:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_is_carried_out_whole_or_names_a_real_cycle(needs in prop::collection::vec(prop::collection::vec(0usize..12, 0..3), 1..12)) {
        let count = needs.len();
        let name = |number: usize| format!("t{}", number % count);
        let tasks: Vec<Task> = needs.iter().enumerate()
            .map(|(number, needs)| Task { name: name(number), needs: needs.iter().map(|need| name(*need)).collect(), priority: 0 })
            .collect();
        let needs_of: HashMap<String, Vec<String>> = tasks.iter().map(|task| (task.name.clone(), task.needs.clone())).collect();
        match Plan::new(tasks) {
            Ok(plan) => {
                let stage_of: HashMap<&str, usize> =
                    plan.stages().iter().enumerate().flat_map(|(at, stage)| stage.iter().map(move |task| (task.name.as_str(), at))).collect();
                prop_assert_eq!(stage_of.len(), count, "nobody is dropped");
                for (task, needs) in &needs_of {
                    let earliest = needs.iter().map(|need| stage_of[need.as_str()] + 1).max().unwrap_or(0);
                    prop_assert_eq!(stage_of[task.as_str()], earliest, "as early as it can");
                }
            }
            Err(PlanError::Cycle(cycle)) => {
                for (at, task) in cycle.iter().enumerate() {
                    prop_assert!(needs_of[task].contains(&cycle[(at + 1) % cycle.len()]), "{:?}", cycle);
                }
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}
