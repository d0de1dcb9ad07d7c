//! What a server counts since it started, as Prometheus text.

use rebut_engine::{
    DebateId,
    error::{DeskError, Stop},
    event::Event,
    observer::Observer,
    record::Place,
};
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Counts since the start. Given to the desk as its observer, or part of one.
#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    ended: Mutex<BTreeMap<&'static str, u64>>,
    sent: Mutex<BTreeMap<&'static str, u64>>,
    halted: Mutex<BTreeMap<&'static str, u64>>,
    restored: AtomicU64,
    taken_up: Mutex<BTreeMap<&'static str, u64>>,
    stalled: AtomicU64,
    started: AtomicU64,
    turns: AtomicU64,
    failed: AtomicU64,
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
    lagged: AtomicU64,
}

/// What is counted by others and true at the moment of asking.
pub(crate) struct Now {
    /// Debates that run in this process.
    pub live: usize,
    pub watchers: usize,
    /// Deliveries to webhooks that wait, where there can be any.
    pub undelivered: Option<u64>,
}

impl Metrics {
    pub(crate) fn answered(&self, route: &'static str, status: u16) {
        *lock(&self.requests).entry((route, status)).or_default() += 1;
    }

    /// An attempt to deliver something to a webhook came to this: `delivered`, `failed` or
    /// `given_up`.
    pub fn sent(&self, result: &'static str) {
        *lock(&self.sent).entry(result).or_default() += 1;
    }

    /// A debate that nobody ran was taken up here; it was claimed by this process (`own`) or by
    /// none that lives (`nobody`).
    pub fn taken_up(&self, claim: &'static str) {
        *lock(&self.taken_up).entry(claim).or_default() += 1;
    }

    /// So many debates cannot be gone on with here now.
    pub fn stalled(&self, debates: u64) {
        self.stalled.store(debates, Ordering::Relaxed);
    }

    /// A watcher missed so many pieces of text.
    pub(crate) fn missed(&self, pieces: u64) {
        self.lagged.fetch_add(pieces, Ordering::Relaxed);
    }

    /// The text that a collector reads.
    pub(crate) fn text(&self, now: &Now) -> String {
        let mut text = String::new();
        let one = |value: &dyn std::fmt::Display| vec![(String::new(), value.to_string())];
        let of = |counter: &AtomicU64| one(&counter.load(Ordering::Relaxed));
        family(
            &mut text,
            "rebut_debates_live",
            "gauge",
            "Debates that run in this process.",
            one(&now.live),
        );
        family(
            &mut text,
            "rebut_debates_started_total",
            "counter",
            "Debates begun or gone on with here.",
            of(&self.started),
        );
        let ended = lock(&self.ended)
            .iter()
            .map(|(how, count)| (format!("{{ending=\"{how}\"}}"), count.to_string()))
            .collect();
        family(
            &mut text,
            "rebut_debates_ended_total",
            "counter",
            "Debates that ended or were paused here.",
            ended,
        );
        let halted = lock(&self.halted)
            .iter()
            .map(|(why, count)| (format!("{{reason=\"{why}\"}}"), count.to_string()))
            .collect();
        family(
            &mut text,
            "rebut_debates_halted_total",
            "counter",
            "Debates no longer run here, with no event that says so.",
            halted,
        );
        family(
            &mut text,
            "rebut_events_restored_total",
            "counter",
            "Events written again that the database had lost.",
            of(&self.restored),
        );
        let taken_up = lock(&self.taken_up)
            .iter()
            .map(|(claim, count)| (format!("{{claim=\"{claim}\"}}"), count.to_string()))
            .collect();
        family(
            &mut text,
            "rebut_debates_taken_up_total",
            "counter",
            "Debates that nobody ran and that were taken up here.",
            taken_up,
        );
        family(
            &mut text,
            "rebut_debates_stalled",
            "gauge",
            "Debates that this server cannot go on with.",
            of(&self.stalled),
        );
        family(
            &mut text,
            "rebut_turns_total",
            "counter",
            "Answers of models.",
            of(&self.turns),
        );
        family(
            &mut text,
            "rebut_turns_failed_total",
            "counter",
            "Attempts that brought no answer.",
            of(&self.failed),
        );
        let tokens = [
            ("input", &self.input_tokens),
            ("output", &self.output_tokens),
        ];
        let tokens = tokens.map(|(way, count)| {
            (
                format!("{{direction=\"{way}\"}}"),
                count.load(Ordering::Relaxed).to_string(),
            )
        });
        family(
            &mut text,
            "rebut_tokens_total",
            "counter",
            "Tokens of those answers.",
            tokens.to_vec(),
        );
        let requests = lock(&self.requests);
        let requests = requests.iter().map(|((route, status), count)| {
            let labels = format!("{{route=\"{route}\",status=\"{status}\"}}");
            (labels, count.to_string())
        });
        family(
            &mut text,
            "rebut_http_requests_total",
            "counter",
            "Requests answered.",
            requests.collect(),
        );
        family(
            &mut text,
            "rebut_watchers",
            "gauge",
            "Connections that follow a debate.",
            one(&now.watchers),
        );
        family(
            &mut text,
            "rebut_watch_missed_total",
            "counter",
            "Pieces of text that slow watchers missed.",
            of(&self.lagged),
        );
        let sent = lock(&self.sent)
            .iter()
            .map(|(how, count)| (format!("{{result=\"{how}\"}}"), count.to_string()))
            .collect();
        family(
            &mut text,
            "rebut_webhook_attempts_total",
            "counter",
            "Attempts to deliver events, by what came of them.",
            sent,
        );
        if let Some(waiting) = now.undelivered {
            family(
                &mut text,
                "rebut_webhook_deliveries_waiting",
                "gauge",
                "Deliveries that wait, of the whole database.",
                one(&waiting),
            );
        }
        text
    }
}

/// Debates are counted by what is recorded of them, whoever began them.
impl Observer for Metrics {
    fn saw(&self, _: DebateId, _: u64, _: &Place, event: &Event) {
        let add = |counter: &AtomicU64, count: u64| {
            counter.fetch_add(count, Ordering::Relaxed);
        };
        match event {
            Event::DebateStarted(_) | Event::DebateResumed(_) => add(&self.started, 1),
            Event::TurnCompleted(completed) if completed.copied_from.is_none() => {
                add(&self.turns, 1);
                let usage = completed.usage.unwrap_or_default();
                add(&self.input_tokens, usage.input + usage.cached);
                add(&self.output_tokens, usage.output);
            }
            Event::TurnFailed(_) => add(&self.failed, 1),
            Event::DebatePaused(_) => *lock(&self.ended).entry("paused").or_default() += 1,
            Event::DebateCompleted(outcome) => {
                *lock(&self.ended)
                    .entry(outcome.outcome.as_str())
                    .or_default() += 1
            }
            _ => {}
        }
    }

    fn halted(&self, _: DebateId, why: &DeskError) {
        let reason = match why {
            DeskError::Halted(Stop::TakenOver) => "taken_over",
            DeskError::Halted(Stop::WentBack { .. }) => "database_went_back",
            DeskError::Halted(Stop::Crashed(_)) => "crashed",
            DeskError::Halted(Stop::Store(_)) | DeskError::Store(_) => "storage",
            _ => "other",
        };
        *lock(&self.halted).entry(reason).or_default() += 1;
    }

    fn restored(&self, _: DebateId, events: u64) {
        self.restored.fetch_add(events, Ordering::Relaxed);
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
