//! Planning: who makes a plan, which topology suits a task, and in which stages a plan's tasks can
//! be done. Pure.

use crate::topology::{Kind, Topology};
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

/// What is known of a task before anybody plans it. Numbers go from 0 to 1; what lies outside is
/// taken as the nearest end, NaN as one half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    /// How much has to fit together.
    pub complexity: f64,
    /// How much of what is wanted is open.
    pub ambiguity: f64,
    pub agents: usize,
    /// How many may speak at once; 0 is any number.
    pub at_once: usize,
    /// It falls into parts that somebody is responsible for.
    pub is_hierarchical: bool,
    /// Each step builds on the one before.
    pub is_ordered: bool,
    /// One has to hold it together.
    pub is_centralized: bool,
}

impl Default for Features {
    fn default() -> Self {
        let (complexity, ambiguity) = (0.5, 0.5);
        Self {
            complexity,
            ambiguity,
            agents: 3,
            at_once: 0,
            is_hierarchical: false,
            is_ordered: false,
            is_centralized: false,
        }
    }
}

/// Who plans; execution is everybody's own in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Centralized planning, decentralized execution: the leader plans for everybody.
    Cpde,
    /// Decentralized planning, decentralized execution: each plans its own part.
    Dpde,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// By the features of the task.
    #[default]
    Adaptive,
    Always(Style),
}

/// What was chosen, and why in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen<T> {
    pub what: T,
    pub why: &'static str,
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpde => "CPDE",
            Self::Dpde => "DPDE",
        })
    }
}

impl Style {
    /// Who writes the plan of a phase.
    pub fn planners(self, topology: &Topology, phase: &str) -> Vec<Arc<str>> {
        match self {
            Self::Cpde => topology.leader(phase).cloned().into_iter().collect(),
            Self::Dpde => topology
                .members()
                .iter()
                .map(|member| member.name.clone())
                .collect(),
        }
    }
}

impl Protocol {
    pub fn style(self, features: &Features) -> Chosen<Style> {
        let (complexity, ambiguity) = (share(features.complexity), share(features.ambiguity));
        let (what, why) = match self {
            Self::Always(style) => (style, "it was asked for"),
            Self::Adaptive if complexity > 0.7 && ambiguity < 0.3 => {
                (Style::Cpde, "complex, but clear: one plan fits it together")
            }
            Self::Adaptive if ambiguity > 0.6 => {
                (Style::Dpde, "much is open: several plans find more")
            }
            Self::Adaptive if features.agents <= 3 => {
                (Style::Cpde, "few take part: one plan is enough")
            }
            Self::Adaptive if features.agents > 8 => {
                (Style::Dpde, "many take part: one plan would hold them up")
            }
            Self::Adaptive => (Style::Cpde, "nothing speaks against one plan"),
        };
        Chosen { what, why }
    }
}

/// The topology for a task; `asked_for` outranks its features.
pub fn topology_for(features: &Features, asked_for: Option<Kind>) -> Chosen<Kind> {
    let named = |name: &str| Kind::named(name).unwrap_or_default();
    let (what, why) = match *features {
        _ if let Some(kind) = asked_for => (kind, "it was asked for"),
        Features {
            is_hierarchical: true,
            ..
        } => (named("tree"), "it falls into parts"),
        Features {
            is_ordered: true, ..
        } => (named("chain"), "each step builds on the one before"),
        Features {
            is_centralized: true,
            ..
        } => (named("star"), "one has to hold it together"),
        Features {
            agents: 4..=6,
            at_once: 1..=2,
            ..
        } => (named("star"), "few may speak at once"),
        Features { agents: 13.., .. } => (named("tree"), "so many that nobody could hear all"),
        _ => (Kind::MESH, "few enough for everybody to hear everybody"),
    };
    Chosen { what, why }
}

fn share(value: f64) -> f64 {
    if value.is_nan() {
        0.5
    } else {
        value.clamp(0.0, 1.0)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its name, unique in the plan.
    pub name: String,
    /// The names of tasks that must be done before.
    pub needs: Vec<String>,
    /// Among those that can be done together, the higher comes first.
    pub priority: i32,
}

/// Tasks in stages: those of a stage can be done together, once all earlier stages are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    stages: Vec<Vec<Task>>,
}

/// A plan that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Two tasks share a name.
    #[error("the task `{0}` is in the plan twice; give each its own name")]
    Twice(String),
    /// A task needs something that is not in the plan.
    #[error(
        "the task `{task}` needs `{needs}`, which is not in the plan; add it, or take the \
         dependency out"
    )]
    Unknown {
        /// Which task.
        task: String,
        /// What it needs.
        needs: String,
    },
    /// Tasks wait for each other. Each needs the next, the last needs the first.
    #[error("these tasks wait for each other: {}; take one of the dependencies out", in_a_ring(.0))]
    Cycle(Vec<String>),
}

impl Plan {
    /// Orders tasks: each as early as what it needs allows; in a stage the highest priority first,
    /// then as given.
    pub fn new(tasks: Vec<Task>) -> Result<Self, PlanError> {
        let needs = numbered(&tasks)?;
        let mut waiting: Vec<usize> = needs.iter().map(BTreeSet::len).collect();
        let mut needed_by = vec![Vec::new(); tasks.len()];
        for (task, needs) in needs.iter().enumerate() {
            needs.iter().for_each(|need| needed_by[*need].push(task));
        }
        let mut order: Vec<Vec<usize>> = Vec::new();
        let mut ready: Vec<usize> = (0..tasks.len())
            .filter(|task| waiting[*task] == 0)
            .collect();
        while !ready.is_empty() {
            ready.sort_by_key(|task| (std::cmp::Reverse(tasks[*task].priority), *task));
            let mut next = Vec::new();
            for later in ready.iter().flat_map(|task| &needed_by[*task]) {
                waiting[*later] -= 1;
                if waiting[*later] == 0 {
                    next.push(*later);
                }
            }
            order.push(std::mem::replace(&mut ready, next));
        }
        if let Some(stuck) = waiting.iter().position(|count| *count > 0) {
            let cycle = cycle(stuck, &needs, &waiting);
            return Err(PlanError::Cycle(
                cycle
                    .into_iter()
                    .map(|task| tasks[task].name.clone())
                    .collect(),
            ));
        }
        let mut tasks: Vec<Option<Task>> = tasks.into_iter().map(Some).collect();
        let stage = |stage: Vec<usize>| {
            stage
                .into_iter()
                .filter_map(|task| tasks[task].take())
                .collect()
        };
        Ok(Self {
            stages: order.into_iter().map(stage).collect(),
        })
    }

    pub fn stages(&self) -> &[Vec<Task>] {
        &self.stages
    }
}

/// What each task needs, by number; the same need written twice is one.
fn numbered(tasks: &[Task]) -> Result<Vec<BTreeSet<usize>>, PlanError> {
    let mut numbers = HashMap::with_capacity(tasks.len());
    for (number, task) in tasks.iter().enumerate() {
        if numbers.insert(task.name.as_str(), number).is_some() {
            return Err(PlanError::Twice(task.name.clone()));
        }
    }
    let number = |task: &Task, need: &String| {
        let unknown = || PlanError::Unknown {
            task: task.name.clone(),
            needs: need.clone(),
        };
        numbers.get(need.as_str()).copied().ok_or_else(unknown)
    };
    tasks
        .iter()
        .map(|task| task.needs.iter().map(|need| number(task, need)).collect())
        .collect()
}

/// Walks from a task that cannot be done to one it waits for, until it comes to one for the second
/// time: whoever is on the way since is the cycle.
fn cycle(stuck: usize, needs: &[BTreeSet<usize>], waiting: &[usize]) -> Vec<usize> {
    let (mut walked, mut place_of) = (Vec::new(), HashMap::new());
    let mut task = stuck;
    loop {
        if let Some(first) = place_of.insert(task, walked.len()) {
            return walked.split_off(first);
        }
        walked.push(task);
        match needs[task].iter().find(|need| waiting[**need] > 0) {
            Some(need) => task = *need,
            // Whoever waits does so for somebody who waits; without that there is no cycle to name.
            None => return walked,
        }
    }
}

fn in_a_ring(names: &[String]) -> String {
    names
        .iter()
        .chain(names.first())
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" → ")
}
