//! `cargo bench -p rebut-engine --bench debate -- [DEBATES] [at-once]`: what the kernel itself
//! costs, without network or disk.
//!
//! Three judges who never agree, two rounds, a sealed journal in memory, and a model that has its
//! answer ready. One after the other, it prints the time of a debate; `at-once` lets all of them
//! wait in their second round and prints the memory of one that waits. Where a machine is shared,
//! time says little: count instructions (`valgrind --tool=callgrind`) and allocations
//! (`--tool=dhat`) for two numbers of debates, and take the difference.

use rebut_engine::{
    Desk, DeskOptions, Start,
    agent::Role,
    formats::decide::{Choice, Config, Input},
    memory_store::MemoryStore,
    model::{Answer, Fault, Model, Models, Request, Usage},
    seal::Seal,
    store::Store,
};
use serde_json::json;
use std::{error::Error, fs, sync::Arc, time::Instant};
use tokio::{sync::Barrier, task::JoinSet};

const JUDGES: [(&str, &str); 3] = [("risk", "A"), ("value", "B"), ("effort", "C")];
const CONTEXT: &str = "\
The app is used by 240 technicians on building sites. One visit in nine has no network for more \
than ten minutes.
Two people work on it. A lost report costs about an hour; two reports that contradict each other cost a day.
The server keeps every report for ten years. A release takes two weeks to reach everybody.";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let debates = arguments
        .iter()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(1000);
    let at_once = arguments.iter().any(|argument| argument == "at-once");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async move {
        if at_once {
            all_at_once(debates).await
        } else {
            one_by_one(debates).await
        }
    })
}

async fn one_by_one(debates: u32) -> Result<(), Box<dyn Error>> {
    let (desk, memory) = desk(None, 3);
    let start = start()?;
    let began = Instant::now();
    for _ in 0..debates {
        let (id, _) = desk.run(start.clone()).await?;
        memory.remove(id).await?;
    }
    println!(
        "{:.1} µs a debate, of {debates}",
        began.elapsed().as_secs_f64() * 1e6 / f64::from(debates.max(1))
    );
    Ok(())
}

async fn all_at_once(debates: u32) -> Result<(), Box<dyn Error>> {
    let calls = debates as usize * JUDGES.len();
    // Everybody in the second round, and whoever looks at them.
    let all_wait = Arc::new(Barrier::new(calls + 1));
    let (desk, _memory) = desk(Some(all_wait.clone()), calls);
    let (start, before) = (start()?, resident()?);
    let mut running = JoinSet::new();
    for _ in 0..debates {
        running.spawn({
            let (desk, start) = (desk.clone(), start.clone());
            async move { desk.run(start).await }
        });
    }
    // There is one thread: each time, everybody goes as far as it can. In the end all wait for the
    // one that is not there yet.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    println!(
        "{:.1} KiB a waiting debate, of {debates}",
        (resident()? - before) / f64::from(debates.max(1))
    );
    all_wait.wait().await;
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

fn desk(all_wait: Option<Arc<Barrier>>, calls_per_provider: usize) -> (Desk, MemoryStore) {
    let memory = MemoryStore::new();
    let judges = Judges {
        said: [0, 1, 2].map(|judge| [false, true].map(|is_second| said(judge, is_second))),
        all_wait,
    };
    let options = DeskOptions {
        seal: Some(Seal::from_secret(&[7; 32])),
        calls_per_provider,
        ..DeskOptions::default()
    };
    (
        Desk::with_options(
            Arc::new(memory.clone()),
            Arc::new(Opened(Arc::new(judges))),
            options,
        ),
        memory,
    )
}

fn start() -> Result<Start, Box<dyn Error>> {
    let option = |(id, label, description): (&str, &str, &str)| Choice {
        id: id.into(),
        label: label.into(),
        description: description.into(),
    };
    let options = [
        (
            "A",
            "Online only",
            "Show a clear message and retry when the network is back",
        ),
        (
            "B",
            "Full offline",
            "Keep a copy of all data and merge later",
        ),
        ("C", "Drafts", "Queue what was typed and send it later"),
    ];
    let input = Input {
        question_id: "kernel".to_owned(),
        question: "How should the field app keep working where there is no network?".to_owned(),
        options: options.map(option).into(),
        context: CONTEXT.to_owned(),
        ..Input::default()
    };
    let agents = JUDGES
        .iter()
        .filter_map(|(name, _)| Some(Role::built_in(name)?.played_by("ready:made")))
        .collect();
    let (input, config) = (
        serde_json::to_value(input)?,
        serde_json::to_value(Config::default())?,
    );
    let start = Start {
        format: "decide".to_owned(),
        input,
        config,
        agents,
        seed: Some(7),
        ..Start::default()
    };
    Ok(start)
}

/// Resident memory in KiB.
fn resident() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

struct Opened(Arc<Judges>);

impl Models for Opened {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

/// Judges who hold their own option in both rounds.
struct Judges {
    /// What they say, by judge and round.
    said: [[String; 2]; 3],
    /// Where the calls of the second round meet before any is answered.
    all_wait: Option<Arc<Barrier>>,
}

#[async_trait::async_trait]
impl Model for Judges {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let is_second = request.schema.name == "response";
        match &self.all_wait {
            Some(all) if is_second => {
                all.wait().await;
            }
            // As with a real call, the answer is not there at once.
            _ => tokio::task::yield_now().await,
        }
        let judge = JUDGES
            .iter()
            .position(|(name, _)| *name == &*request.agent.name)
            .unwrap_or_default();
        let (text, usage) = (
            self.said[judge][usize::from(is_second)].clone(),
            Usage {
                input: 700,
                output: 120,
                ..Usage::default()
            },
        );
        Ok(Answer {
            text,
            usage: Some(usage),
            model: Some("made".to_owned()),
            ..Answer::default()
        })
    }
}

/// What the judge of that number says, blind or having heard the others.
fn said(judge: usize, is_second: bool) -> String {
    let option = JUDGES[judge].1;
    let mut reply = json!({
        "option": option,
        "confidence": 0.8,
        "summary": format!("Option {option} carries what the case asks for at a price the team can \
            pay."),
        "claims": [
            format!("Option {option} keeps the worst case small, and it can be undone within a \
                day."),
            format!("The case names two numbers, and both speak for option {option} rather than \
                for the others."),
        ],
        "flips_if": "A measurement that shows the opposite under the load of a working day.",
    });
    if is_second {
        let others = (0..JUDGES.len())
            .filter(|other| *other != judge)
            .map(|other| format!("J{}#1", other + 1));
        let attack = |claim: String| {
            json!({"claim": claim, "verdict": "attack", "text": "Nothing \
            in the case shows this."})
        };
        (
            reply["challenges"],
            reply["convinced_by"],
            reply["change_reason"],
        ) = (others.map(attack).collect(), json!([]), json!(""));
    }
    reply.to_string()
}
