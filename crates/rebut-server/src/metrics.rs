//! What the server counts since it started, as Prometheus text.

use rebut_engine::{
    error::DeskError,
    outcome::Outcome,
    view::{Spent, View},
};
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Counts since the start.
#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    ended: Mutex<BTreeMap<&'static str, u64>>,
    started: AtomicU64,
    turns: AtomicU64,
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
    lagged: AtomicU64,
}

/// What is counted by others and true at the moment of asking.
pub struct Now {
    /// Debates that run in this process.
    pub live: usize,
    /// Who watches.
    pub watchers: usize,
}

impl Metrics {
    /// A request was answered.
    pub fn answered(&self, route: &'static str, status: u16) {
        *lock(&self.requests).entry((route, status)).or_default() += 1;
    }

    /// A debate began, or was gone on with.
    pub fn begun(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// A debate came to an end here, or was left.
    pub fn ended(&self, result: &Result<Arc<Outcome>, DeskError>, view: Option<&View>) {
        let how = match result {
            Ok(outcome) => outcome.outcome.as_str(),
            Err(_) => "left",
        };
        *lock(&self.ended).entry(how).or_default() += 1;
        let Some(view) = view else { return };
        let Spent { answers, input_tokens, cached_tokens, output_tokens, .. } = view.spent();
        self.turns.fetch_add(answers.into(), Ordering::Relaxed);
        self.input_tokens.fetch_add(input_tokens + cached_tokens, Ordering::Relaxed);
        self.output_tokens.fetch_add(output_tokens, Ordering::Relaxed);
    }

    /// A watcher missed so many pieces of text.
    pub fn missed(&self, pieces: u64) {
        self.lagged.fetch_add(pieces, Ordering::Relaxed);
    }

    /// The text that a collector reads.
    pub fn text(&self, now: &Now) -> String {
        let mut text = String::new();
        let one = |value: &dyn std::fmt::Display| vec![(String::new(), value.to_string())];
        let of = |counter: &AtomicU64| one(&counter.load(Ordering::Relaxed));
        family(&mut text, "rebut_debates_live", "gauge", "Debates that run in this process.", one(&now.live));
        family(&mut text, "rebut_debates_started_total", "counter", "Debates begun or gone on with here.", of(&self.started));
        let ended = lock(&self.ended).iter().map(|(how, count)| (format!("{{ending=\"{how}\"}}"), count.to_string())).collect();
        family(&mut text, "rebut_debates_ended_total", "counter", "Debates that ended here, or were left.", ended);
        family(&mut text, "rebut_turns_total", "counter", "Answers of models in debates that ended here.", of(&self.turns));
        let tokens = [("input", &self.input_tokens), ("output", &self.output_tokens)];
        let tokens = tokens.map(|(way, count)| (format!("{{direction=\"{way}\"}}"), count.load(Ordering::Relaxed).to_string()));
        family(&mut text, "rebut_tokens_total", "counter", "Tokens of debates that ended here.", tokens.to_vec());
        let requests = lock(&self.requests);
        let requests = requests.iter().map(|((route, status), count)| {
            let labels = format!("{{route=\"{route}\",status=\"{status}\"}}");
            (labels, count.to_string())
        });
        family(&mut text, "rebut_http_requests_total", "counter", "Requests answered.", requests.collect());
        family(&mut text, "rebut_watchers", "gauge", "Connections that follow a debate.", one(&now.watchers));
        family(&mut text, "rebut_watch_missed_total", "counter", "Pieces of text that slow watchers missed.", of(&self.lagged));
        text
    }
}

fn family(text: &mut String, name: &str, kind: &str, help: &str, rows: Vec<(String, String)>) {
    // Writing to a String cannot fail.
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    for (labels, value) in rows {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts are whole between any two statements that hold the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
