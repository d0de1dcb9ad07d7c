//! Nobody sees what the topology hides: the recorded prompts of debates of seven judges, word by
//! word.

use rebut_engine::{
    Desk, DeskOptions, Fork,
    error::DeskError,
    memory_store::MemoryStore,
    model::{Answer, Fault, Model, Models, Request},
    store::Store,
    topology,
    view::View,
};
use rebut_testkit::{cases::Case, clock::SimulatedClock};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

const PANEL: [&str; 7] = [
    "risk",
    "value",
    "effort",
    "security",
    "reviewer",
    "architect",
    "moderator",
];

/// Who hears whom in a round, written by hand; whoever is not named hears nobody, because it is not
/// asked.
type Hears = &'static [(&'static str, &'static [&'static str])];

/// A case, and by round who hears whose words of which round.
struct Row {
    case: &'static str,
    rounds: &'static [Hears],
    /// Calls of round 2 that must be among those looked at, because they are the ones that could
    /// leak.
    among: &'static [(&'static str, u32)],
}

const ROWS: &[Row] = &[
    Row {
        case: "topology-mesh",
        rounds: &[&[
            (
                "risk",
                &[
                    "value",
                    "effort",
                    "security",
                    "reviewer",
                    "architect",
                    "moderator",
                ],
            ),
            (
                "value",
                &[
                    "risk",
                    "effort",
                    "security",
                    "reviewer",
                    "architect",
                    "moderator",
                ],
            ),
            (
                "effort",
                &[
                    "risk",
                    "value",
                    "security",
                    "reviewer",
                    "architect",
                    "moderator",
                ],
            ),
            (
                "security",
                &[
                    "risk",
                    "value",
                    "effort",
                    "reviewer",
                    "architect",
                    "moderator",
                ],
            ),
            (
                "reviewer",
                &[
                    "risk",
                    "value",
                    "effort",
                    "security",
                    "architect",
                    "moderator",
                ],
            ),
            (
                "architect",
                &[
                    "risk",
                    "value",
                    "effort",
                    "security",
                    "reviewer",
                    "moderator",
                ],
            ),
            (
                "moderator",
                &[
                    "risk",
                    "value",
                    "effort",
                    "security",
                    "reviewer",
                    "architect",
                ],
            ),
        ]],
        among: &[("challenge 2/risk", 2)],
    },
    Row {
        case: "topology-star",
        rounds: &[
            &[
                (
                    "risk",
                    &["value", "effort", "security", "reviewer", "architect"],
                ),
                ("value", &["risk"]),
                ("effort", &["risk"]),
                ("security", &["risk"]),
                ("reviewer", &["risk"]),
                ("architect", &["risk"]),
            ],
            &[
                (
                    "value",
                    &["risk", "effort", "security", "reviewer", "architect"],
                ),
                ("risk", &["value"]),
                ("effort", &["value"]),
                ("security", &["value"]),
                ("reviewer", &["value"]),
                ("architect", &["value"]),
            ],
        ],
        among: &[("challenge 2/security/clarify", 1)],
    },
    Row {
        case: "topology-chain",
        rounds: &[&[
            ("architect", &["effort"]),
            ("reviewer", &["architect"]),
            ("security", &["reviewer"]),
            ("moderator", &["security"]),
            ("risk", &["moderator"]),
            ("value", &["risk"]),
            ("effort", &["value"]),
        ]],
        among: &[
            ("challenge 2/architect", 2),
            ("challenge 2/reviewer/clarify", 1),
            ("challenge 2/security", 2),
        ],
    },
    Row {
        case: "topology-tree",
        rounds: &[
            &[
                ("architect", &["reviewer", "moderator"]),
                ("reviewer", &["architect", "risk", "value"]),
                ("moderator", &["architect", "effort"]),
                ("risk", &["reviewer"]),
                ("value", &["reviewer"]),
                ("effort", &["moderator"]),
            ],
            &[
                ("reviewer", &["risk", "moderator"]),
                ("risk", &["reviewer", "value", "architect"]),
                ("moderator", &["reviewer", "effort"]),
                ("value", &["risk"]),
                ("effort", &["moderator"]),
                ("architect", &["risk"]),
            ],
        ],
        among: &[("challenge 2/effort", 2), ("challenge 2/value/clarify", 1)],
    },
];

/// Passes every request on and keeps what was asked: turn, attempt, everything the model could
/// read.
struct Recorder {
    inner: Arc<dyn Model>,
    asked: Mutex<Vec<(String, u32, String)>>,
}

#[async_trait::async_trait]
impl Model for Recorder {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let read = format!(
            "{}\n{}\n{:?}\n{:?}",
            request.prompt.system, request.prompt.user, request.schema, request.agent
        );
        self.asked
            .lock()
            .expect("no panic")
            .push((request.turn.to_owned(), request.attempt, read));
        self.inner.ask(request).await
    }
}

struct Only(Arc<dyn Model>);

impl Models for Only {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

fn case(name: &str) -> Case {
    Case::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cases/decide")
            .join(name),
    )
}

fn desk(store: &Arc<MemoryStore>, model: Arc<dyn Model>) -> Desk {
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        ..DeskOptions::default()
    };
    Desk::with_options(store.clone(), Arc::new(Only(model)), options)
}

#[tokio::test(start_paused = true)]
async fn a_prompt_holds_the_words_of_those_who_are_heard_and_of_nobody_else() {
    for row in ROWS {
        let case = case(row.case);
        let model = Arc::new(Recorder {
            inner: case.model(),
            asked: Mutex::default(),
        });
        let store = Arc::new(MemoryStore::new());
        let desk = desk(&store, model.clone());
        let (id, _) = desk.run(case.start.clone()).await.expect("it runs");
        let view = desk.view(id).await.expect("a view");
        let asked = model.asked.lock().expect("no panic").clone();
        for call in row.among {
            assert!(
                asked
                    .iter()
                    .any(|(turn, attempt, _)| (turn.as_str(), *attempt) == *call),
                "{}: {call:?} was made",
                row.case
            );
        }
        for (turn, attempt, prompt) in &asked {
            check_prompt(row, &view, turn, *attempt, prompt);
        }
        for (round, hears) in (2..).zip(row.rounds) {
            let judges = asked.iter().filter(|(turn, _, _)| {
                turn.starts_with(&format!("challenge {round}/")) && turn.matches('/').count() == 1
            });
            let judges: std::collections::BTreeSet<&str> = judges
                .filter_map(|(turn, _, _)| turn.split('/').nth(1))
                .collect();
            assert_eq!(
                judges,
                hears.iter().map(|(listener, _)| *listener).collect(),
                "{} round {round}: all were looked at",
                row.case
            );
        }
        check_topology(row, &view);
    }
}

/// One prompt: for every judge of the panel and every round, its canary is there if and only if it
/// must be.
fn check_prompt(row: &Row, view: &View, turn: &str, attempt: u32, prompt: &str) {
    let (step, rest) = turn.split_once('/').expect("a turn has a judge");
    let listener = rest.trim_end_matches("/clarify");
    let round: u32 = step
        .strip_prefix("challenge ")
        .map_or(1, |number| number.parse().expect("a round"));
    for speaker in PANEL {
        let hears = match round {
            1 => false,
            _ => row.rounds[round as usize - 2]
                .iter()
                .any(|(name, heard)| *name == listener && heard.contains(&speaker)),
        };
        // A judge's last words before this round: older ones are not shown again.
        let spoke = |round: &&rebut_engine::view::RoundView| {
            round.positions.iter().any(|(name, _)| **name == *speaker)
        };
        let last = view
            .rounds
            .iter()
            .filter(|known| known.round < round)
            .filter(spoke)
            .map(|known| known.round)
            .max();
        for said in 1..=3 {
            // A request to clarify may quote the judge's own unusable answer of this round.
            if listener == speaker && said == round && turn.ends_with("/clarify") {
                continue;
            }
            let expected = last == Some(said) && (hears || listener == speaker);
            let canary = format!("canary-{speaker}-{said}");
            assert_eq!(
                prompt.contains(&canary),
                expected,
                "{} {turn} attempt {attempt}: {canary}\n{prompt}",
                row.case
            );
        }
    }
}

/// What the journal is said to have enforced is what was written by hand, too.
fn check_topology(row: &Row, view: &View) {
    let over_time = topology::over_time(view);
    assert_eq!(over_time.len(), row.rounds.len(), "{}", row.case);
    for ((round, topology), hears) in over_time.iter().zip(row.rounds) {
        for (listener, heard) in *hears {
            let mut found: Vec<&str> = topology
                .hears(listener)
                .iter()
                .map(|name| &**name)
                .collect();
            let mut heard = heard.to_vec();
            found.sort_unstable();
            heard.sort_unstable();
            assert_eq!(found, heard, "{} round {round}: {listener}", row.case);
        }
        assert_eq!(
            topology.members().len(),
            hears.len(),
            "{} round {round}",
            row.case
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_judge_never_heard_it_can_neither_cite_nor_answer() {
    for row in ROWS {
        let store = Arc::new(MemoryStore::new());
        let (id, _) = case(row.case).run(store.clone()).await.expect("it runs");
        let view = View::of(&store.load(id, 0).await.expect("memory can be read"));
        let mut not_shown = 0;
        for round in view.rounds.iter().filter(|round| round.round > 1) {
            let hears = row.rounds[round.round as usize - 2];
            for (judge, position) in &round.positions {
                let heard = hears
                    .iter()
                    .find(|(name, _)| **name == **judge)
                    .map(|(_, heard)| *heard)
                    .expect("it was asked");
                let named = position
                    .because
                    .iter()
                    .chain(position.challenges.iter().map(|challenge| &challenge.claim));
                for claim in named {
                    assert!(
                        heard
                            .iter()
                            .any(|name| claim.0.starts_with(&format!("{name}·"))),
                        "{}: {judge} names {claim}",
                        row.case
                    );
                }
                not_shown += position
                    .bad_citations
                    .iter()
                    .filter(|why| why.ends_with("not shown to it"))
                    .count();
            }
        }
        assert_eq!(
            not_shown > 0,
            row.case != "topology-mesh",
            "{}: somebody tried",
            row.case
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_fork_cannot_change_who_heard_whom_in_the_past() {
    let store = Arc::new(MemoryStore::new());
    let (id, _) = case("topology-mesh")
        .run(store.clone())
        .await
        .expect("it runs");
    let desk = desk(&store, case("topology-mesh").model());
    let fork = |at: &str| Fork {
        at: at.to_owned(),
        config: [("topology".to_owned(), "chain".into())].into(),
        ..Fork::default()
    };
    let refused = desk.fork(id, fork("end")).await.map(drop);
    assert!(
        matches!(&refused, Err(DeskError::BadRequest(why)) if why.contains("fork at `challenge 2` \
            or earlier")),
        "{refused:?}"
    );
    let running = desk
        .fork(id, fork("challenge 2"))
        .await
        .expect("nobody has heard anybody yet");
    let forked = running.id;
    running.outcome().await.expect("it ends");
    assert_eq!(
        topology::over_time(&desk.view(forked).await.expect("a view"))[0]
            .1
            .kind()
            .name(),
        "chain"
    );
}
