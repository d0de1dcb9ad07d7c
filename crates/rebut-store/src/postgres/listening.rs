//! Hearing what other nodes append: each commit says which debates grew, and a task listens on a
//! connection of its own.

use super::Node;
use rebut_engine::{
    DebateId,
    store::{Changed, StoreError},
};
use std::{
    collections::BTreeSet,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, mpsc::unbounded_channel};
use uuid::Uuid;

/// The server refuses longer words.
const LONGEST_PAYLOAD: usize = 7999;

/// Pause before a new attempt to listen.
const PAUSE: Duration = Duration::from_secs(1);

/// What was heard and not fetched yet.
#[derive(Default)]
pub(super) struct Heard {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    debates: BTreeSet<DebateId>,
    /// Whether word may have been lost.
    anything: bool,
}

impl Heard {
    /// Waits for news.
    pub(super) async fn changed(&self) -> Result<Changed, StoreError> {
        loop {
            let news = self.news.notified();
            {
                let mut state = self.state();
                let debates = mem::take(&mut state.debates);
                if mem::take(&mut state.anything) {
                    return Ok(Changed::Anything);
                }
                if !debates.is_empty() {
                    return Ok(Changed::These(debates.into_iter().collect()));
                }
            }
            news.await;
        }
    }

    fn tell(&self, payload: Payload) {
        match payload {
            Payload::Ours => return,
            Payload::Debates(debates) => self.state().debates.extend(debates),
            Payload::Unclear => self.state().anything = true,
        }
        self.news.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens for ever. What was said while nobody listened is lost, so every beginning says that
/// anything may have changed.
pub(super) async fn listen(node: Arc<Node>, heard: Arc<Heard>) {
    loop {
        let (sender, mut news) = unbounded_channel();
        if let Ok(client) = node.address.connect_and_hear(sender).await
            && client.batch_execute("LISTEN rebut").await.is_ok()
        {
            heard.tell(Payload::Unclear);
            while let Some(notification) = news.recv().await {
                heard.tell(read(notification.payload(), node.id));
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What a notification means.
#[derive(Debug, PartialEq)]
enum Payload {
    Ours,
    Debates(Vec<DebateId>),
    Unclear,
}

/// The words that tell which debates a node appended to, as many as are needed.
pub(super) fn payloads(node: Uuid, debates: impl Iterator<Item = DebateId>) -> Vec<String> {
    let mut payloads: Vec<String> = Vec::new();
    for debate in debates.collect::<BTreeSet<_>>() {
        let word = format!(" {}", super::script::uuid(debate).simple());
        match payloads.last_mut() {
            Some(last) if last.len() + word.len() <= LONGEST_PAYLOAD => last.push_str(&word),
            _ => payloads.push(format!("{}{word}", node.simple())),
        }
    }
    payloads
}

fn read(payload: &str, me: Uuid) -> Payload {
    let mut words = payload.split(' ').map(Uuid::parse_str);
    match words.next() {
        Some(Ok(node)) if node == me => Payload::Ours,
        Some(Ok(_)) => words
            .map(|word| word.map(super::rows::debate))
            .collect::<Result<_, _>>()
            .map_or(Payload::Unclear, Payload::Debates),
        _ => Payload::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let (me, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        for many in [0, 1, 240, 241, 242, 1024] {
            let debates: BTreeSet<DebateId> = (0..many).map(|_| DebateId::new()).collect();
            let said = payloads(other, debates.iter().copied());
            assert!(said.iter().all(|payload| payload.len() <= LONGEST_PAYLOAD));
            let heard = said.iter().flat_map(|payload| match read(payload, me) {
                Payload::Debates(debates) => debates,
                other => panic!("{other:?}"),
            });
            assert_eq!(heard.collect::<BTreeSet<_>>(), debates, "{many}");
            assert!(
                said.iter()
                    .all(|payload| read(payload, other) == Payload::Ours)
            );
        }
        for odd in ["", "hello", "*", "00000000000000000000000000000002 hello"] {
            assert_eq!(read(odd, me), Payload::Unclear, "{odd}");
        }
    }
}
