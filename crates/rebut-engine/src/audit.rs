//! Checking a journal: every edit, gap, move, splice, shortening and re-hash is found, and its
//! place named. Pure.

use crate::{
    DebateId,
    event::Event,
    journal_file::Portable,
    record::{Hash, Record},
    seal::Checkpoint,
    store::Session,
    view::View,
};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashSet};

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Audit {
    /// Which debate.
    pub debate_id: DebateId,
    /// Whether nothing is wrong.
    pub ok: bool,
    /// How many events there are.
    pub events: u64,
    /// The hash of the last one.
    pub head: Hash,
    /// Up to which event a trusted signature closes the journal.
    pub sealed: u64,
    /// The key of the last checkpoint.
    pub key: Option<String>,
    /// Events whose text was taken out properly.
    pub redacted: Vec<u64>,
    /// What is wrong, in the order of the journal.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Problem {
    /// At which event.
    pub seq: u64,
    /// Which kind.
    pub kind: ProblemKind,
    /// In words.
    pub detail: String,
}

/// The kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The text or the heading of an event was changed.
    Edited,
    /// Events are missing in the middle.
    Deleted,
    /// An event stands where another belongs.
    Reordered,
    /// An event comes from another journal.
    Spliced,
    /// The end is missing.
    Truncated,
    /// The chain was computed anew: it is not the one that was signed.
    Rehashed,
    /// A signature is missing, wrong, or of an unknown key.
    Unsealed,
}

/// Checks a journal against its own chain and its checkpoints. `trusted` are the public keys whose
/// signatures count.
pub fn verify(
    debate: DebateId,
    records: &[Record],
    checkpoints: &[Checkpoint],
    trusted: &[String],
) -> Audit {
    let redactions = announced_redactions(records);
    let mut problems = out_of_place(debate, records);
    let ordered = in_order(debate, records, &problems);
    problems.extend(check_chain(&ordered, &redactions, &problems));
    let sealed = check_seals(debate, &ordered, checkpoints, trusted, &mut problems);
    problems.sort_by_key(|problem| problem.seq);
    Audit {
        debate_id: debate,
        ok: problems.is_empty(),
        events: records.len() as u64,
        head: records.last().map(|record| record.hash).unwrap_or_default(),
        sealed,
        key: checkpoints.last().map(|checkpoint| checkpoint.key.clone()),
        redacted: records
            .iter()
            .filter(|record| record.is_redacted())
            .map(|record| record.seq)
            .collect(),
        problems,
    }
}

impl Audit {
    /// The audit of a journal of which a row cannot be read; what is around it was not looked at.
    pub(crate) fn unreadable(debate: DebateId, seq: u64, why: &str) -> Self {
        let problem = Problem {
            seq,
            kind: ProblemKind::Edited,
            detail: format!("event {seq}: its row cannot be read: {why}"),
        };
        Self {
            debate_id: debate,
            ok: false,
            events: seq,
            head: Hash::default(),
            sealed: 0,
            key: None,
            redacted: Vec::new(),
            problems: vec![problem],
        }
    }

    /// The audit of a debate that is listed and has no journal at all.
    pub(crate) fn wiped(row: &Session) -> Self {
        let detail = format!(
            "the list of debates has it as {}; its journal is gone",
            row.status.as_str()
        );
        let problem = Problem {
            seq: 1,
            kind: ProblemKind::Truncated,
            detail,
        };
        Self {
            problems: vec![problem],
            ok: false,
            ..verify(row.id, &[], &[], &[])
        }
    }

    /// Compares a journal with the row that lists it as ended. The row is derived from the journal,
    /// so that a shorter journal shows even where its checkpoints were taken away with its end.
    pub(crate) fn compare(&mut self, row: Option<&Session>, records: &[Record]) {
        // A redacted end is no longer told by the journal.
        let ended = row.filter(|row| {
            !row.status.is_open() && self.problems.is_empty() && self.redacted.is_empty()
        });
        let Some(row) = ended else { return };
        let view = View::of(records);
        let listed = row
            .outcome
            .as_deref()
            .and_then(|json| serde_json::from_str(json).ok());
        let problem = match &view.outcome {
            None => {
                let detail = format!(
                    "the list of debates has it as {}, the journal does not end: its end is \
                     missing",
                    row.status.as_str()
                );
                Problem {
                    seq: self.events + 1,
                    kind: ProblemKind::Truncated,
                    detail,
                }
            }
            outcome
                if *outcome == listed
                    && view.session().is_some_and(|told| told.status == row.status) =>
            {
                return;
            }
            _ => {
                let detail =
                    "its row in the list of debates (debate_sessions) says otherwise than \
                    the journal"
                        .to_owned();
                Problem {
                    seq: self.events,
                    kind: ProblemKind::Edited,
                    detail,
                }
            }
        };
        self.problems.push(problem);
        self.ok = false;
    }
}

/// Checks a journal in a file whose heading announces so many events.
pub fn verify_file(file: &Portable, announced: u64, trusted: &[String]) -> Audit {
    let mut audit = verify(file.debate, &file.records, &file.checkpoints, trusted);
    let found = file.records.len() as u64;
    let is_told = audit
        .problems
        .iter()
        .any(|problem| matches!(problem.kind, ProblemKind::Deleted | ProblemKind::Truncated));
    if found < announced && !is_told {
        let detail = format!(
            "the heading announces {announced} events, the file has {found}; the end is missing \
             from event {}",
            found + 1
        );
        audit.problems.push(Problem {
            seq: found + 1,
            kind: ProblemKind::Truncated,
            detail,
        });
    }
    if found > announced && audit.ok {
        let detail = format!(
            "the heading announces {announced} events, the file has {found}; what follows was \
             added, or the heading changed"
        );
        audit.problems.push(Problem {
            seq: announced + 1,
            kind: ProblemKind::Spliced,
            detail,
        });
    }
    audit.ok = audit.problems.is_empty();
    audit
}

/// Events in a place that is not theirs: of another debate, there twice, or not in the order of
/// their numbers. Only a file can have such; a database keeps them apart and sorted.
fn out_of_place(debate: DebateId, records: &[Record]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = HashSet::new();
    for (place, record) in (1..).zip(records) {
        if record.debate != debate {
            let detail = format!(
                "event {} of debate {} stands here; it comes from another journal",
                record.seq, record.debate
            );
            problems.push(Problem {
                seq: place,
                kind: ProblemKind::Spliced,
                detail,
            });
        } else if !seen.insert(record.seq) {
            let detail = format!("event {} is there twice", record.seq);
            problems.push(Problem {
                seq: record.seq,
                kind: ProblemKind::Spliced,
                detail,
            });
        }
    }
    let found: Vec<u64> = records
        .iter()
        .filter(|record| record.debate == debate)
        .map(|record| record.seq)
        .collect();
    let mut sorted = found.clone();
    sorted.sort_unstable();
    // The first is enough: what was moved shifts everything between its two places.
    if let Some((found, belongs)) = found
        .iter()
        .zip(&sorted)
        .find(|(found, belongs)| found != belongs)
    {
        let detail = format!("event {found} stands where event {belongs} belongs");
        problems.push(Problem {
            seq: *belongs,
            kind: ProblemKind::Reordered,
            detail,
        });
    }
    problems
}

/// The debate's own events, each once, by number.
fn in_order<'a>(
    debate: DebateId,
    records: &'a [Record],
    out_of_place: &[Problem],
) -> Cow<'a, [Record]> {
    if out_of_place.is_empty() {
        return Cow::Borrowed(records);
    }
    let mut own: Vec<Record> = records
        .iter()
        .filter(|record| record.debate == debate)
        .cloned()
        .collect();
    own.sort_by_key(|record| record.seq);
    own.dedup_by_key(|record| record.seq);
    Cow::Owned(own)
}

fn announced_redactions(records: &[Record]) -> HashSet<u64> {
    let events = records
        .iter()
        .filter_map(|record| record.event().ok().flatten());
    events
        .filter_map(|event| {
            if let Event::EventRedacted(redacted) = event {
                Some(redacted.seq)
            } else {
                None
            }
        })
        .collect()
}

fn check_chain(
    records: &[Record],
    redactions: &HashSet<u64>,
    out_of_place: &[Problem],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_replaced = |seq: u64| {
        out_of_place
            .iter()
            .any(|problem| problem.seq == seq && problem.kind == ProblemKind::Spliced)
    };
    let (mut seq, mut head) = (0, Hash::default());
    for record in records {
        if record.seq > seq + 1 {
            let what = if record.seq == seq + 2 {
                format!("event {} is missing", seq + 1)
            } else {
                format!("events {} to {} are missing", seq + 1, record.seq - 1)
            };
            // Where a stranger stands the event is missing, too; that was said.
            if !(seq + 1..record.seq).all(is_replaced) {
                problems.push(Problem {
                    seq: seq + 1,
                    kind: ProblemKind::Deleted,
                    detail: what,
                });
            }
        } else if let Some(problem) = check_record(record, records, head, redactions) {
            problems.push(problem);
        }
        (seq, head) = (record.seq, record.hash);
    }
    problems
}

fn check_record(
    record: &Record,
    all: &[Record],
    head: Hash,
    redactions: &HashSet<u64>,
) -> Option<Problem> {
    let problem = |kind, detail: &str| {
        Some(Problem {
            seq: record.seq,
            kind,
            detail: format!("event {}: {detail}", record.seq),
        })
    };
    let linked = record.prev == head;
    if record.is_redacted() {
        if !redactions.contains(&record.seq) {
            return problem(
                ProblemKind::Edited,
                "its text was taken out without a redaction on record",
            );
        }
    } else if record.compute_digest() != record.digest {
        return problem(ProblemKind::Edited, "its text was changed");
    }
    if record.compute_hash() != record.hash {
        if let Some(home) = all.iter().find(|other| {
            Record {
                seq: other.seq,
                ..record.clone()
            }
            .compute_hash()
                == record.hash
        }) {
            return problem(
                ProblemKind::Reordered,
                &format!("it belongs at place {}", home.seq),
            );
        }
        return if linked {
            problem(ProblemKind::Edited, "its heading was changed")
        } else {
            problem(
                ProblemKind::Spliced,
                "it was not written for this place; it comes from another journal",
            )
        };
    }
    if linked {
        None
    } else {
        problem(
            ProblemKind::Deleted,
            "it does not follow the event before it; something was taken out or replaced there",
        )
    }
}

/// Returns up to which event the journal is sealed.
fn check_seals(
    debate: DebateId,
    records: &[Record],
    checkpoints: &[Checkpoint],
    trusted: &[String],
    problems: &mut Vec<Problem>,
) -> u64 {
    let last = records.last().map_or(0, |record| record.seq);
    let mut sealed = 0;
    for checkpoint in checkpoints {
        let at = checkpoint.count;
        let recorded = records
            .binary_search_by_key(&at, |record| record.seq)
            .ok()
            .map(|place| &records[place]);
        let problem = if !checkpoint.is_valid(debate) {
            Some((
                ProblemKind::Unsealed,
                format!("the signature of the checkpoint at event {at} is wrong"),
            ))
        } else if !trusted.contains(&checkpoint.key) {
            Some((
                ProblemKind::Unsealed,
                format!(
                    "the checkpoint at event {at} is signed by a key that is not trusted here: {}",
                    checkpoint.key
                ),
            ))
        } else if at > last {
            Some((
                ProblemKind::Truncated,
                format!(
                    "the journal was signed with {at} events, here it ends with event {last}; the \
                     end is missing from event {}",
                    last + 1
                ),
            ))
        } else if recorded.is_some_and(|record| record.hash != checkpoint.head) {
            Some((
                ProblemKind::Rehashed,
                format!(
                    "the chain up to event {at} is not the one that was signed (between event {} \
                     and {at})",
                    sealed + 1
                ),
            ))
        } else {
            // Where its event is missing, that was said.
            sealed = recorded.map_or(sealed, |_| sealed.max(at));
            None
        };
        problems.extend(problem.map(|(kind, detail)| Problem {
            seq: at.min(last + 1),
            kind,
            detail,
        }));
    }
    let end = records.iter().rev().find(|record| {
        matches!(
            &*record.kind,
            "debate.completed"
                | "debate.paused"
                | "human.answered"
                | "human.marked"
                | "event.redacted"
        )
    });
    if let Some(end) = end.filter(|end| end.seq > sealed && problems.is_empty()) {
        let detail = format!(
            "event {} ends the debate but no signature covers it",
            end.seq
        );
        problems.push(Problem {
            seq: end.seq,
            kind: ProblemKind::Unsealed,
            detail,
        });
    }
    sealed
}
