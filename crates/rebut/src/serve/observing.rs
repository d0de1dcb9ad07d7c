//! What a server does with every event of its debates: it counts them, tells the log of those that
//! matter, and sends what ended to a collector.

use super::log::Log;
use crate::telemetry::Telemetry;
use rebut_engine::{
    DebateId, Desk, error::DeskError, event::Event, family::is_person, observer::Observer,
    outbox::is_told, record::Place,
};
use rebut_server::Metrics;
use std::{sync::Arc, time::Duration};
use tokio::sync::{Notify, mpsc, watch};

pub struct Observing {
    pub log: Log,
    pub metrics: Arc<Metrics>,
    pub wake: Arc<Notify>,
    /// Who sends debates that ended, if anybody does.
    pub spans: Option<Spans>,
}

impl Observer for Observing {
    fn saw(&self, debate: DebateId, seq: u64, place: &Place, event: &Event) {
        self.metrics.saw(debate, seq, place, event);
        if is_told(event.kind()) {
            self.wake.notify_one();
        }
        if let Some(details) = told(event) {
            self.tell(debate, event.kind(), &details);
        }
        if let (Event::DebateCompleted(_), Some(spans)) = (event, &self.spans) {
            spans.add(debate);
        }
    }

    fn removed(&self, debate: DebateId) {
        self.tell(debate, "debate.removed", &[]);
    }

    fn halted(&self, debate: DebateId, why: &DeskError) {
        self.metrics.halted(debate, why);
        self.log.complain(
            "no longer run here",
            &[("debate", &debate.to_string()), ("why", &why.to_string())],
        );
    }

    fn restored(&self, debate: DebateId, events: u64) {
        self.metrics.restored(debate, events);
        let what = "the database had lost events, and has them again";
        self.log.complain(
            what,
            &[
                ("debate", &debate.to_string()),
                ("events", &events.to_string()),
            ],
        );
    }

    fn stalled(&self, debate: DebateId, why: &str) {
        self.log.complain(
            "waits for its journal",
            &[("debate", &debate.to_string()), ("why", why)],
        );
    }

    fn deaf(&self, why: &str) {
        self.log
            .complain("other servers are not heard", &[("why", why)]);
    }
}

impl Observing {
    fn tell(&self, debate: DebateId, what: &str, details: &[(&str, String)]) {
        let id = debate.to_string();
        let details: Vec<(&str, &str)> = std::iter::once(("debate", id.as_str()))
            .chain(details.iter().map(|(name, value)| (*name, value.as_str())))
            .collect();
        self.log.say(what, &details);
    }
}

/// What a reader of the log is told of an event, if it matters there.
fn told(event: &Event) -> Option<Vec<(&'static str, String)>> {
    Some(match event {
        Event::DebateStarted(started) => vec![
            ("format", started.format.clone()),
            ("by", started.initiated_by.clone()),
        ],
        Event::DebateResumed(resumed) => resumed.by.iter().map(|by| ("by", by.clone())).collect(),
        Event::DebatePaused(paused) => std::iter::once(("reason", paused.reason.clone()))
            .chain(paused.by.iter().map(|by| ("by", by.clone())))
            .collect(),
        Event::GateOpened(opened) => vec![("gate", opened.gate.clone())],
        Event::GateDecided(decided) => {
            vec![
                ("gate", decided.gate.clone()),
                ("approved", decided.approved.to_string()),
                ("by", decided.by.clone()),
            ]
        }
        // A debate waits for a person.
        Event::TurnStarted(started) if is_person(&started.model) => {
            vec![("turn", started.turn.to_string())]
        }
        Event::HumanCancelled(cancelled) => vec![("by", cancelled.by.clone())],
        Event::DebateCompleted(outcome) => vec![("outcome", outcome.outcome.as_str().to_owned())],
        _ => return None,
    })
}

/// Debates that ended and whose spans are to be sent. Clones are the same.
#[derive(Clone)]
pub struct Spans {
    ended: mpsc::UnboundedSender<DebateId>,
    unsent: Arc<watch::Sender<usize>>,
}

/// So long a server that stops waits until what ended is sent.
const LAST_SPANS: Duration = Duration::from_secs(5);

impl Spans {
    /// None yet, and where they come out.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<DebateId>) {
        let (ended, to_send) = mpsc::unbounded_channel();
        (
            Self {
                ended,
                unsent: Arc::new(watch::Sender::new(0)),
            },
            to_send,
        )
    }

    fn add(&self, debate: DebateId) {
        self.unsent.send_modify(|unsent| *unsent += 1);
        // Nobody takes it any more when the server has stopped; the journal has it all.
        let _ = self.ended.send(debate);
    }

    /// Waits until all is sent, but not for ever; what is lost then is told.
    pub async fn all_sent(&self, log: &Log) {
        let mut unsent = self.unsent.subscribe();
        if tokio::time::timeout(LAST_SPANS, unsent.wait_for(|unsent| *unsent == 0))
            .await
            .is_err()
        {
            let lost = self.unsent.borrow().to_string();
            log.complain(
                "spans are lost",
                &[
                    ("debates", &lost),
                    (
                        "why",
                        "the collector did not take them before the server stopped",
                    ),
                ],
            );
        }
    }

    /// Sends debates that ended, one after the other. A collector that is away is told of once, and
    /// once more when it is back.
    pub async fn send(
        self,
        telemetry: Telemetry,
        desk: Desk,
        mut to_send: mpsc::UnboundedReceiver<DebateId>,
        log: Log,
    ) {
        let mut is_away = false;
        while let Some(id) = to_send.recv().await {
            let sent = match desk.records(id).await {
                Ok(records) => telemetry.send(&records).await,
                Err(error) => Err(error.to_string()),
            };
            match &sent {
                Ok(()) if is_away => log.say("spans are sent again", &[]),
                Err(why) if !is_away => log.complain(
                    "spans are lost",
                    &[("debate", &id.to_string()), ("why", why)],
                ),
                _ => {}
            }
            is_away = sent.is_err();
            self.unsent.send_modify(|unsent| *unsent -= 1);
        }
    }
}
