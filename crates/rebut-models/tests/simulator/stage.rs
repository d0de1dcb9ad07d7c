//! Debates in memory in which the simulator plays everybody and every reply is overheard.

use rebut_engine::{
    Desk, Start,
    agent::{Agent, Role},
    formats::{Format, evaluate, solve},
    memory_store::MemoryStore,
    model::{Answer, Deltas, Fault, Model, Models, Request, anything_fits},
    outcome::Outcome,
    prompt::{Hole, Pieces, Prompt, Template},
    reply::Schema,
};
use rebut_models::simulator::Simulator;
use serde_json::{Value, json};
use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, OnceLock},
    task,
    time::Duration,
};

pub const CONTEXT: &str = "# Case\n\nField workers are 40 % of revenue. Sync bugs surface only \
    after weeks of use.\n\n- A read-only cache cannot conflict.\n- The night shift has no \
    reception, and nobody can call them.\n\nFull offline takes 14 weeks. A part of it takes five.\n";

/// A reply that was overheard.
pub struct Heard {
    pub turn: String,
    pub text: String,
    pub refused: Option<String>,
    pub marker: String,
}

#[derive(Default)]
struct Overheard(Mutex<Vec<Heard>>);

#[async_trait::async_trait]
impl Model for Overheard {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let answer = Simulator.ask(request).await?;
        let user = &request.prompt.user;
        let marker = user
            .rsplit_once("<<<end ")
            .and_then(|(_, rest)| rest.split_once(">>>"));
        let heard = Heard {
            turn: request.turn.to_owned(),
            text: answer.text.clone(),
            refused: (request.fits)(&answer.text).err(),
            marker: marker.map_or("<<<", |(marker, _)| marker).to_owned(),
        };
        self.0.lock().expect("nobody panicked").push(heard);
        Ok(answer)
    }
}

struct Everybody(Arc<Overheard>);

impl Models for Everybody {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

/// A debate to its end, and what was said, by turn.
pub fn run(start: Start) -> (Arc<Outcome>, Vec<Heard>) {
    let model = Arc::new(Overheard::default());
    let desk = Desk::new(
        Arc::new(MemoryStore::new()),
        Arc::new(Everybody(model.clone())),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (_, outcome) = runtime
        .expect("a runtime")
        .block_on(desk.run(start))
        .expect("an outcome");
    let mut heard = std::mem::take(&mut *model.0.lock().expect("nobody panicked"));
    heard.sort_by(|one, other| one.turn.cmp(&other.turn));
    (outcome, heard)
}

pub fn agent(role: &str) -> Agent {
    Role::built_in(role)
        .expect("a built-in role")
        .played_by("rehearsal")
}

/// Decide with so many options; none are drafted.
pub fn decide(question: &str, options: usize, context: &str) -> Start {
    let options = [
        ("A", "Online only"),
        ("B", "Full offline"),
        ("C", "Limited offline"),
    ]
    .into_iter()
    .take(options);
    let options: Vec<Value> = options
        .map(|(id, label)| json!({"id": id, "label": label}))
        .collect();
    let input = json!({"question": question, "options": options, "context": context});
    start("decide", input, &["risk", "value", "effort"], |_| {})
}

/// A debate of every format, each in its shapes.
pub fn starts(context: &str) -> Vec<(&'static str, Start)> {
    let judges = ["risk", "value", "effort"];
    let reviewers = [
        "security",
        "testing",
        "clarity",
        "performance",
        "editor",
        "judge",
    ];
    let question = json!({"question": "Walk or ride?", "context": context});
    let change: String = context.lines().map(|line| format!("+{line}\n")).collect();
    let change = format!("--- a/x\n+++ b/x\n@@ -0,0 +1,9 @@\n{change}");
    let review = |kind: &str, text: &str| {
        let input = json!({"title": "t", "text": text, "kind": kind});
        start("review", input, &reviewers, |config| {
            config["debate"]["enabled"] = true.into()
        })
    };
    let challenge = |casting: &'static str| {
        let input = json!({"topic": "Go by train.", "context": context});
        start(
            "challenge",
            input,
            &["proposer", "architect", "operator", "adversary"],
            |config| config["personas"] = casting.into(),
        )
    };
    let mut all = vec![
        ("decide", decide("Offline?", 3, context)),
        (
            "decide without options",
            decide("Walk, ride or stay?", 0, context),
        ),
        ("challenge", challenge("built-in")),
        (
            "evaluate",
            start(
                "evaluate",
                json!({"title": "t", "idea": context, "challenges": ["It is unclear."]}),
                &evaluate::ROLES,
                |_| {},
            ),
        ),
        ("review", review("text", context)),
        ("review of a change", review("diff", &change)),
        (
            "triage",
            start("triage", question.clone(), &["judge"], |_| {}),
        ),
        (
            "propose",
            start(
                "propose",
                json!({"role": "risk", "current": context, "insights": {
            "avg_argument_quality": 4.5, "common_labels": ["vague"], "policy_signal": "Name the line.",
            "needs_update": true, "debates": 3}}),
                &["judge"],
                |_| {},
            ),
        ),
    ];
    let arms = ["single", "poll", "society"];
    all.extend(arms.map(|arm| (arm, start(arm, question.clone(), &judges, |_| {}))));
    for language in rebut_engine::sandbox::LANGUAGES {
        let input = json!({"task": format!("Count the words. {context}"), "language": language, "tests": "any"});
        all.push((
            language,
            start("solve", input, &solve::ROLES, |config| {
                config["clarify_from_words"] = 0.into()
            }),
        ));
    }
    all
}

fn start(format: &str, input: Value, roles: &[&str], change: impl Fn(&mut Value)) -> Start {
    let preset = Format::named(format).expect("a format").preset;
    let preset: toml::Table = toml::from_str(preset).expect("TOML");
    let mut config = serde_json::to_value(preset).expect("JSON");
    change(&mut config);
    let agents = roles.iter().map(|role| agent(role)).collect();
    Start {
        format: format.to_owned(),
        input,
        config,
        agents,
        seed: Some(7),
        ..Start::default()
    }
}

/// A prompt that no format of ours has.
pub struct Plans(pub &'static str);

impl Template for Plans {
    const FILE: &'static str = "test.md";
    const SOURCE: &'static str = "[system]\nCompare.\n[user]\nThe plans:\n{{plans}}\n";
    const HOLES: &'static [(&'static str, Hole)] = &[("plans", Hole::Data)];

    fn value(&self, _: usize) -> &str {
        self.0
    }

    fn pieces() -> &'static Pieces {
        static PIECES: OnceLock<Pieces> = OnceLock::new();
        PIECES.get_or_init(Pieces::of::<Self>)
    }
}

/// A reply of the simulator.
pub fn said(agent: &Agent, prompt: &Prompt, schema: &Schema) -> Value {
    let request = Request {
        debate: None,
        turn: "t/x",
        attempt: 1,
        agent,
        prompt,
        schema,
        fits: &anything_fits,
        now: jiff::Timestamp::UNIX_EPOCH,
        time_left: Duration::from_secs(9),
        deltas: &Deltas::default(),
    };
    let mut context = task::Context::from_waker(task::Waker::noop());
    let task::Poll::Ready(answer) = pin!(Simulator.ask(request)).poll(&mut context) else {
        panic!("the simulator waited for something")
    };
    serde_json::from_str(&answer.expect("an answer").text).expect("JSON")
}
