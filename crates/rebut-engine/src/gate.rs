//! The verb `gate`: a person is shown what is to go on, and the one decision about it is on record
//! before anything builds on it.

use crate::{
    DebateId,
    clock::Clock,
    debate::{Debate, Step},
    error::{Stop, TooLate},
    event::Event,
    journal::{Commit, Entry, Gate, Memory},
    record::{Hash, Place},
    store::{Durability, StoreError},
};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The longest a gate may wait for a person: 30 days, in seconds.
pub const LONGEST_GATE: u64 = 30 * 24 * 60 * 60;

/// Who decides when no person did: the timer, and a gate that is switched off. Nobody else may be
/// called so.
pub const NOBODY: [&str; 2] = [TIMEOUT, AUTO];
const TIMEOUT: &str = "timeout";
const AUTO: &str = "auto";

/// A database that cannot say what time it is is asked again after so long.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Two clocks that are right stay together well within a second for so long.
const COMPARE_CLOCKS: Duration = Duration::from_secs(60);

/// So much of what is shown at a gate is kept in the journal, in bytes of JSON.
const MOST_SHOWN: usize = 256 << 10;

/// The debate waits for a person. Opened again, it waits longer or shows something else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateOpened {
    /// The gate's name.
    pub gate: String,
    /// What is to be approved.
    pub summary: String,
    /// The hash of what is shown, so that a decision is bound to it: of the compact JSON `[debate,
    /// gate, summary, pending]`.
    pub content: Hash,
    /// When it closes by itself, RFC 3339.
    pub until: String,
    /// How many seconds it waits in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// What is to be approved in full: the whole outcome that would be recorded, or what the debate
    /// has made so far. Its longest texts are cut where it is too large to keep; the hash is of all
    /// of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Value>,
}

/// The gate was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateDecided {
    /// The gate's name.
    pub gate: String,
    /// Whether it opened.
    pub approved: bool,
    /// Who decided; `timeout` or `auto` when nobody did.
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What a person is shown at a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    pub summary: String,
    pub pending: Value,
}

impl Shown {
    /// A few words that say it all.
    pub fn words(summary: &str) -> Self {
        Self {
            summary: summary.to_owned(),
            pending: Value::Null,
        }
    }

    /// The same words at another gate, or of another debate, are something else.
    fn hash(&self, debate: DebateId, gate: &str) -> Hash {
        Hash::of(
            json!([debate, gate, self.summary, self.pending])
                .to_string()
                .as_bytes(),
        )
    }
}

impl GateOpened {
    pub(crate) fn closes_at(&self) -> Option<Timestamp> {
        self.until.parse().ok()
    }
}

impl GateDecided {
    pub(crate) fn timed_out(gate: &str) -> Self {
        Self {
            gate: gate.to_owned(),
            approved: false,
            by: TIMEOUT.to_owned(),
            reason: "nobody decided in time".to_owned(),
        }
    }

    /// The decision of a gate that is switched off.
    fn switched_off(gate: &str) -> Self {
        Self {
            gate: gate.to_owned(),
            approved: true,
            by: AUTO.to_owned(),
            reason: "gates are off".to_owned(),
        }
    }

    pub(crate) fn is_timeout(&self) -> bool {
        self.by == TIMEOUT
    }

    fn passed(self) -> Result<Self, Stop> {
        if self.approved {
            return Ok(self);
        }
        Err(Stop::Rejected {
            gate: self.gate,
            by: self.by,
            reason: self.reason,
        })
    }
}

impl Debate {
    /// Waits for a person, if `wait` says so or the gate is open already; otherwise records that it
    /// opened by itself.
    pub async fn gate(
        &self,
        name: &str,
        shown: Shown,
        wait: Option<Duration>,
    ) -> Result<GateDecided, Stop> {
        self.enter(&Step::once(name, 0))?;
        let content = shown.hash(self.id, name);
        let known = self.known_gate(name);
        if let Some(decided) = known.decided {
            let shows_it = known.opened.is_none_or(|opened| opened.content == content);
            return if shows_it || !decided.approved {
                decided.passed()
            } else {
                Err(went_another_way(name))
            };
        }
        let opened = known.opened.map(|opened| *opened);
        if wait.is_none() && opened.is_none() {
            let decided = GateDecided::switched_off(name);
            self.journal
                .append(vec![entry(decided.clone())], Commit::default())
                .await?;
            return Ok(decided);
        }
        if self.recording.is_some() {
            return Err(Stop::Broken(format!(
                "nobody decided the gate `{name}` in the record; a replay waits for nobody"
            )));
        }
        let opened = self.open_gate(name, shown, content, opened, wait).await?;
        self.wait_for_gate(&opened).await
    }

    /// What is recorded of a gate: in the journal, or in a replay in the record.
    fn known_gate(&self, name: &str) -> Gate {
        match &self.recording {
            Some(recording) => recording.gate(name),
            None => self
                .journal
                .memory()
                .gates
                .get(name)
                .cloned()
                .unwrap_or_default(),
        }
    }

    /// Whether a person was asked at a gate, whatever they said.
    pub(crate) fn was_opened(&self, gate: &str) -> bool {
        self.known_gate(gate).opened.is_some()
    }

    /// Opens a gate; one that is open already only where it is to wait longer now, or to show
    /// something else. Gives it as it is on record.
    async fn open_gate(
        &self,
        name: &str,
        shown: Shown,
        content: Hash,
        before: Option<GateOpened>,
        wait: Option<Duration>,
    ) -> Result<GateOpened, Stop> {
        let seconds = wait.map(|wait| wait.as_secs().min(LONGEST_GATE));
        let (until, seconds) = match &before {
            None => (
                later(self.deadlines.now().await, seconds.unwrap_or_default()),
                seconds,
            ),
            Some(before) => {
                let left = self.time_left(before).await?;
                let more = before
                    .seconds
                    .map(|had| seconds.unwrap_or_default().saturating_sub(had));
                let seconds = before.seconds.zip(more).map(|(had, more)| had + more);
                // Where nobody decided in time, that is its decision.
                if left.is_zero() || before.content == content && before.seconds == seconds {
                    return Ok(before.clone());
                }
                (
                    extended(
                        before,
                        left,
                        self.deadlines.now().await,
                        more.unwrap_or_default(),
                    ),
                    seconds,
                )
            }
        };
        let Shown { summary, pending } = shown;
        let opened = GateOpened {
            gate: name.to_owned(),
            summary,
            content,
            until: format!("{until:.3}"),
            seconds,
            pending: Some(bounded(pending, MOST_SHOWN)).filter(|pending| !pending.is_null()),
        };
        // Measured from here, before a slow disk takes its time.
        self.deadlines.roughly_left(self.id, &opened);
        let commit = Commit {
            durability: Some(Durability::Power),
            ..Commit::default()
        };
        self.journal
            .append(
                vec![Entry::new(
                    Place::default(),
                    Event::GateOpened(Box::new(opened.clone())),
                )],
                commit,
            )
            .await?;
        Ok(opened)
    }

    /// How long a gate stays open. While the database that says so is out of reach, nobody can
    /// decide either.
    async fn time_left(&self, gate: &GateOpened) -> Result<Duration, Stop> {
        loop {
            match self.deadlines.closes(self.id, gate).await {
                Err(StoreError::Unavailable(_)) => self.clock.sleep(ASK_AGAIN).await,
                closes => return Ok(self.deadlines.left(closes?)),
            }
        }
    }

    /// Waits until that may be over, and no longer than clocks of two machines stay together.
    async fn pass(&self, left: Duration) {
        let longest = if self.deadlines.are_shared() {
            COMPARE_CLOCKS
        } else {
            Duration::MAX
        };
        self.clock.sleep(left.min(longest)).await;
    }

    async fn wait_for_gate(&self, opened: &GateOpened) -> Result<GateDecided, Stop> {
        let name = opened.gate.as_str();
        let mut closes = Box::pin(self.pass(self.time_left(opened).await?));
        loop {
            // Made before looking, so that nothing appended in between is missed.
            let grown = self.journal.grown();
            self.check_steering()?;
            let decided = self
                .journal
                .memory()
                .gates
                .get(name)
                .and_then(|gate| gate.decided.clone());
            if let Some(decided) = decided {
                return decided.passed();
            }
            let mut steer = self.steer.clone();
            tokio::select! {
                () = &mut closes => {
                    let left = self.time_left(opened).await?;
                    closes.set(self.pass(left));
                    if !left.is_zero() {
                        continue;
                    }
                    match self.journal.append(vec![entry(GateDecided::timed_out(name))], undecided(name)).await {
                        // Somebody was faster by a moment: that counts.
                        Ok(_) | Err(Stop::TooLate(TooLate::Decided(_))) => {}
                        Err(halt) => return Err(halt),
                    }
                }
                () = grown => {}
                _ = steer.changed() => {}
            }
        }
    }
}

fn went_another_way(gate: &str) -> Stop {
    Stop::Broken(format!(
        "what was approved at the gate `{gate}` is not what this run has to show; the program or \
         its inputs changed"
    ))
}

/// How the timer's decision is appended: durable, and only if there is none.
pub(crate) fn undecided(gate: &str) -> Commit {
    let gate = gate.to_owned();
    deciding(move |memory| decided_or_ended(memory, &gate))
}

/// When a gate closes that is open until then; nothing where its runner, elsewhere, will say so.
pub(crate) struct Closes {
    /// The deadline as the journal holds it, RFC 3339.
    pub until: String,
    /// The same moment on this process's monotonic clock.
    pub at: Instant,
}

/// How a person's decision is appended: the same, in time, and for what was looked at. Who comes
/// after the time is shown the timer's decision.
pub(crate) fn in_time(
    gate: &str,
    seen: Option<Hash>,
    closes: Option<Closes>,
    clock: Arc<dyn Clock>,
) -> Commit {
    let gate = gate.to_owned();
    deciding(move |memory| {
        let opened = memory
            .gates
            .get(&gate)
            .and_then(|known| known.opened.as_ref());
        // One that was given more time meanwhile is open.
        let judged = closes
            .as_ref()
            .filter(|closes| opened.is_some_and(|opened| opened.until == closes.until));
        let is_closed = || judged.is_some_and(|closes| closes.at <= clock.instant());
        let shows_other = || seen.is_some() && seen != opened.map(|opened| opened.content);
        decided_or_ended(memory, &gate)
            .or_else(|| {
                is_closed().then(|| TooLate::Decided(Box::new(GateDecided::timed_out(&gate))))
            })
            .or_else(|| shows_other().then(|| TooLate::ShowsOther { gate: gate.clone() }))
    })
}

fn deciding(unless: impl Fn(&Memory) -> Option<TooLate> + Send + 'static) -> Commit {
    Commit {
        durability: Some(Durability::Power),
        unless: Some(Box::new(unless)),
        ..Commit::default()
    }
}

fn decided_or_ended(memory: &Memory, gate: &str) -> Option<TooLate> {
    let decided = memory
        .gates
        .get(gate)
        .and_then(|known| known.decided.clone());
    let ended = || {
        memory
            .outcome
            .as_ref()
            .map(|outcome| TooLate::Ended(outcome.outcome))
    };
    decided
        .map(|decided| TooLate::Decided(Box::new(decided)))
        .or_else(ended)
}

fn entry(decided: GateDecided) -> Entry {
    Entry::new(Place::default(), Event::GateDecided(Box::new(decided)))
}

/// Until when a gate waits that is given more time. The time that is left counts, not what the wall
/// clock says of it, which may have jumped.
fn extended(gate: &GateOpened, left: Duration, now: Timestamp, more: u64) -> Timestamp {
    let until = now.checked_add(left).unwrap_or(Timestamp::MAX);
    let told = gate
        .closes_at()
        .filter(|told| told.duration_since(until).abs() < SignedDuration::from_secs(1));
    later(told.unwrap_or(until), more)
}

/// So many seconds later, or as late as there is a time.
fn later(from: Timestamp, seconds: u64) -> Timestamp {
    let seconds = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
    from.checked_add(seconds).unwrap_or(Timestamp::MAX)
}

/// The same in at most so many bytes of JSON: first its longest texts are cut, and what is still
/// too large becomes a piece of its JSON.
fn bounded(value: Value, most: usize) -> Value {
    let mut text = value.to_string();
    if text.len() <= most {
        return value;
    }
    let shorter = [16 << 10, 4 << 10, 1 << 10, 256]
        .into_iter()
        .map(|longest| cut_texts(&value, longest));
    if let Some(fits) = shorter
        .into_iter()
        .find(|shorter| shorter.to_string().len() <= most)
    {
        return fits;
    }
    // As a text its quotation marks are written with a backslash.
    text.truncate(text.floor_char_boundary(most / 2 - 100));
    Value::String(format!("{text}… (cut)"))
}

fn cut_texts(value: &Value, longest: usize) -> Value {
    match value {
        Value::String(text) if text.len() > longest => {
            let kept = &text[..text.floor_char_boundary(longest)];
            Value::String(format!("{kept}… ({} more bytes)", text.len() - kept.len()))
        }
        Value::Array(all) => all.iter().map(|one| cut_texts(one, longest)).collect(),
        Value::Object(all) => all
            .iter()
            .map(|(key, one)| (key.clone(), cut_texts(one, longest)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_fits_and_says_what_is_cut() {
        let rows = [
            (json!({"a": "short"}), true, "short"),
            (
                json!({"code": "x".repeat(5000), "b": 1}),
                false,
                "x… (3976 more bytes)",
            ),
            (
                json!({"many": vec!["y".repeat(100); 900]}),
                false,
                "… (cut)",
            ),
            (json!("\"ä".repeat(40_000)), false, "more bytes)"),
            (json!(vec!["\"\\"; 9000]), false, "… (cut)"),
        ];
        for (whole, is_whole, holds) in rows {
            let kept = bounded(whole.clone(), 3000);
            let text = kept.to_string();
            assert!(
                text.len() <= 3000 && text.contains(holds),
                "{} bytes: {text}",
                text.len()
            );
            assert_eq!(kept == whole, is_whole, "{text}");
        }
    }

    #[test]
    fn the_same_words_are_something_else_at_another_gate_or_of_another_debate() {
        let (one, other) = (DebateId::new(), DebateId::new());
        let shown = |pending: Value| Shown {
            pending,
            ..Shown::words("A, 3 of 3")
        };
        let hashes = [
            shown(json!(1)).hash(one, "result"),
            shown(json!(2)).hash(one, "result"),
            shown(json!(1)).hash(one, "release"),
            shown(json!(1)).hash(other, "result"),
        ];
        let different = hashes.iter().collect::<std::collections::HashSet<_>>();
        assert_eq!(different.len(), hashes.len());
        assert_eq!(shown(json!(1)).hash(one, "result"), hashes[0]);
    }

    #[test]
    fn no_time_is_too_late_to_be_written() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        assert_eq!(later(now, 60).to_string(), "2026-01-01T00:01:00Z");
        assert_eq!(later(now, u64::MAX), Timestamp::MAX);
    }
}
