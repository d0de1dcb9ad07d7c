//! A thousand debates at once, with models that fail in every way and a provider that goes away and
//! comes back: each ends honestly, and nothing is left.

use crate::{
    rebut::{Rebut, recommends, script},
    served::Served,
};
use rebut_testkit::model_server::{Behaviour, Failure, ModelServer};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// How the models of some debates behave, and what must come of it.
struct Kind {
    model: &'static str,
    /// What `risk` says or does; everybody else recommends A.
    risk: &'static str,
    /// Seconds a judge has.
    seconds: u64,
    /// Who is missing in the end; `None` where that depends on when the provider came back.
    missing: Option<&'static [&'static str]>,
    count: usize,
}

/// Enough for any judge, however busy the machine is.
const AMPLE: u64 = 150;
const CASCADE: &str = "mine:small";

const KINDS: [Kind; 7] = [
    Kind {
        model: "script:fine.md",
        risk: "",
        seconds: AMPLE,
        missing: Some(&[]),
        count: 100,
    },
    Kind {
        model: "script:busy.md",
        risk: "!error 429 retry_after=0",
        seconds: AMPLE,
        missing: Some(&[]),
        count: 100,
    },
    Kind {
        model: "script:garbage.md",
        risk: "!garbage",
        seconds: AMPLE,
        missing: Some(&["risk"]),
        count: 100,
    },
    Kind {
        model: "script:refusal.md",
        risk: "!refusal",
        seconds: AMPLE,
        missing: Some(&["risk"]),
        count: 100,
    },
    Kind {
        model: "script:slow.md",
        risk: "!timeout",
        seconds: 20,
        missing: Some(&["risk"]),
        count: 100,
    },
    Kind {
        model: "script:nobody.md",
        risk: "!refusal",
        seconds: AMPLE,
        missing: Some(&["risk", "value", "effort"]),
        count: 100,
    },
    Kind {
        model: CASCADE,
        risk: "",
        seconds: AMPLE,
        missing: None,
        count: 400,
    },
];

impl Kind {
    fn script(&self) -> String {
        let agrees = recommends("A");
        match self.model {
            "script:nobody.md" => script(&[("*", self.risk)]),
            // Refused once, it answers.
            "script:busy.md" => script(&[
                ("*/risk", &format!("{}\n{agrees}", self.risk)),
                ("*", &agrees),
            ]),
            "script:fine.md" => script(&[("*", &agrees)]),
            _ => script(&[
                ("*/risk", self.risk),
                ("*/risk/clarify", self.risk),
                ("*", &agrees),
            ]),
        }
    }

    /// Its result waits for a person: so all that have one are there at the same time, however long
    /// it took them.
    fn request(&self) -> Value {
        let judges =
            ["risk", "value", "effort"].map(|role| json!({"role": role, "model": self.model}));
        let option = |id: &str, label: &str| json!({"id": id, "label": label});
        json!({
            "format": "decide", "input": {"question": "Offline \
                support?", "options": [option("A", "Online only"), option("B", "Full offline")]},
            "agents": judges, "seed": 7, "config": {"timeout_per_judge": self.seconds}, "limits": {"approval_seconds": 3000},
        })
    }

    /// What came of a debate says who was missing, and holds no more than the others said.
    fn check(&self, result: &Value, votes: &Value) {
        let missing: BTreeSet<&str> = result["degraded"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|one| one["agent"].as_str())
            .collect();
        if let Some(expected) = self.missing {
            assert_eq!(
                missing,
                expected.iter().copied().collect(),
                "{}: {result}",
                self.model
            );
        }
        let answered: BTreeSet<&str> = ["risk", "value", "effort"]
            .into_iter()
            .filter(|judge| !missing.contains(judge))
            .collect();
        // More than half of the panel must have spoken.
        let ending = if answered.len() >= 2 {
            "consensus"
        } else {
            "no_quorum"
        };
        assert_eq!(result["outcome"], ending, "{}: {result}", self.model);
        if ending == "consensus" {
            let voted = votes["votes"][0]["tally"]["distribution"]["A"]
                .as_array()
                .expect("votes");
            assert_eq!(
                voted
                    .iter()
                    .filter_map(Value::as_str)
                    .collect::<BTreeSet<_>>(),
                answered,
                "{}: {votes}",
                self.model
            );
        }
    }
}

/// The provider of the cascade, in a runtime of its own: when that ends, so does every connection
/// to it.
struct Provider {
    is_down: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
    base_url: String,
    _server: ModelServer,
    _runtime: tokio::runtime::Runtime,
}

impl Provider {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (is_down, refused) = (
            Arc::new(AtomicBool::new(true)),
            Arc::new(AtomicUsize::new(0)),
        );
        let (down, count) = (is_down.clone(), refused.clone());
        let server = runtime.block_on(ModelServer::start(move |_, _| {
            if !down.load(Ordering::SeqCst) {
                return Behaviour::Say(recommends("A"));
            }
            count.fetch_add(1, Ordering::SeqCst);
            Behaviour::Fail(Failure::Internal)
        }));
        let server = server.expect("a server");
        Self {
            is_down,
            refused,
            base_url: server.base_url(),
            _server: server,
            _runtime: runtime,
        }
    }
}

/// A number that the server counts.
fn counted(served: &Served, name: &str) -> u64 {
    let metrics = served.ask("GET", "/metrics", None).body;
    let rows = metrics
        .lines()
        .filter(|line| line.split([' ', '{']).next() == Some(name));
    rows.map(|line| {
        line.rsplit(' ')
            .next()
            .and_then(|value| value.parse::<u64>().ok())
            .expect("a number")
    })
    .sum()
}

/// Files and threads that the server has open.
fn held(served: &Served) -> [usize; 2] {
    ["fd", "task"].map(|what| {
        std::fs::read_dir(format!("/proc/{}/{what}", served.pid()))
            .expect("a Linux process")
            .count()
    })
}

#[test]
fn a_thousand_debates_end_honestly_whatever_models_do_and_leave_nothing() {
    let provider = Provider::start();
    let rebut = Rebut::new();
    rebut.user_config(&format!(
        "[defaults]\ncalls_per_provider = 5000\n[providers.mine]\nbase_url = \
         \"{}\"\n[server]\nmodels = [\"{CASCADE}\"]\nrequests_per_minute = 10000000\n",
        provider.base_url
    ));
    KINDS
        .iter()
        .filter_map(|kind| Some((kind, kind.model.strip_prefix("script:")?)))
        .for_each(|(kind, file)| rebut.write(file, &kind.script()));
    let served = Served::start(&rebut, &["--allow-scripts"]);
    // One before all others, so that whatever is opened once and kept is open.
    let first = served.begin(&KINDS[0].request());
    end(&served, &first, &KINDS[0]);
    let before = held(&served);

    let most = KINDS
        .iter()
        .map(|kind| kind.count)
        .max()
        .unwrap_or_default();
    let mixed = (0..most).flat_map(|number| KINDS.iter().filter(move |kind| number < kind.count));
    let mut begun: Vec<(&Kind, String)> = mixed
        .map(|kind| (kind, served.begin(&kind.request())))
        .collect();
    assert_eq!(begun.len(), 1000);
    assert!(
        provider.refused.load(Ordering::SeqCst) > 0,
        "the provider failed whoever asked"
    );
    provider.is_down.store(false, Ordering::SeqCst);
    let late: Vec<String> = (0..20).map(|_| served.begin(&KINDS[6].request())).collect();

    let waits = |id: &str| {
        served.follow(id, |event| {
            event["type"] == "gate.opened" || event["type"] == "debate.completed"
        })
    };
    let at_gate = begun
        .iter()
        .map(|(_, id)| id)
        .chain(&late)
        .filter(|id| waits(id)["type"] == "gate.opened")
        .count();
    assert_eq!(
        counted(&served, "rebut_debates_live"),
        at_gate as u64,
        "all that wait are there at once"
    );
    assert!(at_gate >= 520, "only {at_gate}");
    for id in &late {
        let result = end(&served, id, &KINDS[6]);
        assert_eq!(
            result["degraded"],
            json!([]),
            "the provider was back: {result}"
        );
    }
    begun
        .drain(..)
        .for_each(|(kind, id)| drop(end(&served, &id, kind)));

    assert_eq!(counted(&served, "rebut_debates_ended_total"), 1 + 1000 + 20);
    assert_eq!(counted(&served, "rebut_debates_live"), 0);
    assert_eq!(
        served.ask("GET", "/v1/debates?status=running", None).json()["debates"],
        json!([]),
        "none is left"
    );
    drop(provider);
    settled(&served, before);
}

/// Opens its gate if it waits, waits for its end and looks at what came of it.
fn end(served: &Served, id: &str, kind: &Kind) -> Value {
    let waits = served.follow(id, |event| {
        event["type"] == "gate.opened" || event["type"] == "debate.completed"
    });
    if waits["type"] == "gate.opened" {
        let approved = served.ask(
            "POST",
            &format!("/v1/debates/{id}/approve"),
            Some(&json!({})),
        );
        assert_eq!(approved.status, 200, "{approved:?}");
        served.follow(id, |event| event["type"] == "debate.completed");
    }
    let [result, votes] = ["results", "votes"].map(|what| {
        served
            .ask("GET", &format!("/v1/debates/{id}/{what}"), None)
            .json()
    });
    kind.check(&result, &votes);
    result
}

/// Nobody watches any more, and files and threads are as many as before but for a few: readers of
/// the database and threads for blocking work, which are opened when they are needed and kept for a
/// while.
fn settled(served: &Served, before: [usize; 2]) {
    const KEPT: usize = 12;
    // What is closed is closed soon, not at once; asking again passes the time.
    let is_settled = || {
        let now = held(served);
        counted(served, "rebut_watchers") == 0
            && now
                .iter()
                .zip(before)
                .all(|(now, before)| *now <= before + KEPT)
    };
    assert!(
        (0..20_000).any(|_| is_settled()),
        "{before:?} at the start, {:?} now, {} watch",
        held(served),
        counted(served, "rebut_watchers")
    );
}
