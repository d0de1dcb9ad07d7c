//! What a server does with every event of its debates: it counts them, tells the log of those that matter, and sends what ended to a collector.

use super::log::Log;
use crate::telemetry::Telemetry;
use rebut_engine::{
    DebateId, Desk, error::DeskError, event::Event, family::is_person, observing::Observer, outbox::is_told, record::Place,
};
use rebut_server::Metrics;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};

/// Is told of every event.
pub struct Observing {
    /// Where it is told.
    pub log: Log,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Who delivers events to webhooks.
    pub wake: Arc<Notify>,
    /// Who sends debates that ended, if anybody does.
    pub ended: Option<mpsc::UnboundedSender<DebateId>>,
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
        if let (Event::DebateCompleted(_), Some(ended)) = (event, &self.ended) {
            // Nobody takes it any more when the server stops; the journal has it all.
            let _ = ended.send(debate);
        }
    }

    fn removed(&self, debate: DebateId) {
        self.tell(debate, "debate.removed", &[]);
    }

    fn halted(&self, debate: DebateId, why: &DeskError) {
        self.log.complain("no longer run here", &[("debate", &debate.to_string()), ("why", &why.to_string())]);
    }
}

impl Observing {
    fn tell(&self, debate: DebateId, what: &str, details: &[(&str, String)]) {
        let id = debate.to_string();
        let details: Vec<(&str, &str)> =
            std::iter::once(("debate", id.as_str())).chain(details.iter().map(|(name, value)| (*name, value.as_str()))).collect();
        self.log.say(what, &details);
    }
}

/// What a reader of the log is told of an event, if it matters there.
fn told(event: &Event) -> Option<Vec<(&'static str, String)>> {
    Some(match event {
        Event::DebateStarted(started) => vec![("format", started.format.clone()), ("by", started.initiated_by.clone())],
        Event::DebateResumed(_) => Vec::new(),
        Event::DebatePaused(paused) => vec![("reason", paused.reason.clone())],
        Event::GateOpened(opened) => vec![("gate", opened.gate.clone())],
        Event::GateDecided(decided) => {
            vec![("gate", decided.gate.clone()), ("approved", decided.approved.to_string()), ("by", decided.by.clone())]
        }
        // A debate waits for a person.
        Event::TurnStarted(started) if is_person(&started.model) => vec![("turn", started.turn.to_string())],
        Event::HumanCancelled(cancelled) => vec![("by", cancelled.by.clone())],
        Event::DebateCompleted(outcome) => vec![("outcome", outcome.outcome.as_str().to_owned())],
        _ => return None,
    })
}

/// Sends debates that ended, one after the other. A collector that is away is told of once, and once more when it is back.
pub async fn send_spans(telemetry: Telemetry, desk: Desk, mut ended: mpsc::UnboundedReceiver<DebateId>, log: Log) {
    let mut is_away = false;
    while let Some(id) = ended.recv().await {
        let sent = match desk.records(id).await {
            Ok(records) => telemetry.send(&records).await,
            Err(error) => Err(error.to_string()),
        };
        match &sent {
            Ok(()) if is_away => log.say("spans are sent again", &[]),
            Err(why) if !is_away => log.complain("spans are lost", &[("debate", &id.to_string()), ("why", why)]),
            _ => {}
        }
        is_away = sent.is_err();
    }
}
