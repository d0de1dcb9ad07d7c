//! A small stage: the prompt of decide's turns, three judges, two rounds.

use rebut_engine::{
    agent::{Agent, Role},
    model::{Answer, Deltas, Fault, Model, Models, Request, anything_fits},
    prompt::{Fence, Hole, Pieces, Prompt, Template},
    reply::Schema,
};
use rebut_models::rehearsal::RehearsalModel;
use serde_json::Value;
use std::{
    future::Future,
    pin::pin,
    sync::{Arc, OnceLock},
    task,
    time::Duration,
};

/// The rehearsal plays everybody.
pub struct Rehearsed;

impl Models for Rehearsed {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::new(RehearsalModel))
    }
}

/// What a turn is told.
#[derive(Clone, Copy, Default)]
pub struct Case<'a> {
    pub question: &'a str,
    pub options: &'a str,
    pub context: &'a str,
    pub notes: &'a str,
    pub own: &'a str,
    pub others: &'a str,
}

impl Template for Case<'_> {
    const FILE: &'static str = "test.md";
    const SOURCE: &'static str = "[system]\nJudge.\n[user]\n{{question}}\n\n{{options}}\n\n{{context}}\n\n{{notes}}\n\n{{own}}\n\n{{others}}";
    const HOLES: &'static [(&'static str, Hole)] = &[
        ("question", Hole::Data),
        ("options", Hole::Data),
        ("context", Hole::Data),
        ("notes", Hole::Data),
        ("own", Hole::Data),
        ("others", Hole::Data),
    ];

    fn value(&self, hole: usize) -> &str {
        [
            self.question,
            self.options,
            self.context,
            self.notes,
            self.own,
            self.others,
        ][hole]
    }

    fn pieces() -> &'static Pieces {
        static PIECES: OnceLock<Pieces> = OnceLock::new();
        PIECES.get_or_init(Pieces::of::<Case<'_>>)
    }
}

pub fn prompt(case: &Case<'_>) -> Prompt {
    case.render(&Fence::new("f00d"))
}

pub fn agent(role: &str) -> Agent {
    Role::built_in(role)
        .expect("a built-in role")
        .played_by("rehearsal")
}

pub fn answer(
    agent: &Agent,
    case: &Case<'_>,
    schema: &'static str,
    deltas: &Deltas,
) -> Result<Answer, Fault> {
    let prompt = prompt(case);
    let schema = Schema {
        name: schema,
        json: "{}".into(),
    };
    let (now_is, time_left, fits) = (
        jiff::Timestamp::UNIX_EPOCH,
        Duration::from_secs(9),
        &anything_fits,
    );
    let (turn, prompt, schema) = ("t/x", &prompt, &schema);
    let request = Request {
        debate: None,
        turn,
        attempt: 1,
        agent,
        prompt,
        schema,
        fits,
        now: now_is,
        time_left,
        deltas,
    };
    now(RehearsalModel.ask(request))
}

pub fn say(agent: &Agent, case: &Case<'_>, schema: &'static str) -> Value {
    let answer = answer(agent, case, schema, &Deltas::default()).expect("an answer");
    serde_json::from_str(&answer.text).expect("JSON")
}

/// The rehearsal never waits, so its future is ready at the first look.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut task::Context::from_waker(task::Waker::noop())) {
        task::Poll::Ready(value) => value,
        task::Poll::Pending => panic!("the rehearsal waited for something"),
    }
}

pub const JUDGES: [&str; 3] = ["risk", "value", "effort"];

/// Both rounds of a debate; the second always played, also when the first agreed.
pub struct Debate {
    pub first: Vec<Value>,
    pub second: Vec<Value>,
    pub others: Vec<String>,
}

pub fn debate(case: &Case<'_>) -> Debate {
    let agents = JUDGES.map(agent);
    let first: Vec<Value> = agents
        .iter()
        .map(|agent| say(agent, case, "recommendation"))
        .collect();
    let mut second = Vec::new();
    let mut heard = Vec::new();
    for (me, agent) in agents.iter().enumerate() {
        let own = position(&first[me], "You recommended", "");
        let rest = (0..agents.len()).filter(|other| *other != me).enumerate();
        let others: Vec<String> = rest
            .map(|(number, other)| {
                let name = format!("J{}", number + 1);
                position(
                    &first[other],
                    &format!("{name} ({}) recommends", agents[other].stance),
                    &name,
                )
            })
            .collect();
        let others = others.join("\n");
        second.push(say(
            agent,
            &Case {
                own: &own,
                others: &others,
                ..*case
            },
            "response",
        ));
        heard.push(others);
    }
    Debate {
        first,
        second,
        others: heard,
    }
}

fn position(reply: &Value, verb: &str, judge: &str) -> String {
    let text = |field: &str| reply[field].as_str().expect("text").to_owned();
    let mut block = format!(
        "{verb} {}, confidence {:.2}: {}\n",
        text("option"),
        reply["confidence"].as_f64().expect("number"),
        text("summary")
    );
    for (number, claim) in list(reply, "claims").iter().enumerate() {
        block.push_str(&format!("  {judge}#{}: {claim}\n", number + 1));
    }
    block
}

pub fn list(reply: &Value, field: &str) -> Vec<String> {
    reply[field]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item.as_str().expect("text").to_owned())
        .collect()
}

pub fn letters(replies: &[Value]) -> String {
    replies
        .iter()
        .map(|reply| reply["option"].as_str().expect("a letter"))
        .collect()
}
