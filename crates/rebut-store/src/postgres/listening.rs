//! Hearing what other nodes append: each commit says which debates grew, and a task listens on a
//! connection of its own.

use super::{Node, link::Link, trouble};
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
use tokio::sync::{
    Notify,
    mpsc::{UnboundedSender, unbounded_channel},
};
use tokio_postgres::Notification;
use uuid::Uuid;

const LONGEST_PAYLOAD: usize = 7999;

/// Pause before a new attempt to listen. While none succeeds, everything is looked at as often.
const PAUSE: Duration = Duration::from_secs(2);

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
    /// Why no word comes, where that was found out since it was asked last.
    deaf: Option<StoreError>,
}

impl Heard {
    pub(super) async fn changed(&self) -> Result<Changed, StoreError> {
        loop {
            let news = self.news.notified();
            {
                let mut state = self.state();
                let debates = mem::take(&mut state.debates);
                if let Some(why) = state.deaf.take() {
                    state.anything = false;
                    return Ok(Changed::Unheard(why.to_string()));
                }
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
            Payload::Unclear => {
                let mut state = self.state();
                (state.anything, state.deaf) = (true, None);
            }
            Payload::Deaf(why) => self.state().deaf = Some(why),
        }
        self.news.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens for ever. What was said while nobody listened is lost, so every beginning says that
/// anything may have changed, and so does every attempt that fails.
pub(super) async fn listen(node: Arc<Node>, heard: Arc<Heard>) {
    loop {
        let (sender, mut news) = unbounded_channel();
        match begin(&node, sender).await {
            Ok(link) => {
                heard.tell(Payload::Unclear);
                let hearing = async {
                    while let Some(notification) = news.recv().await {
                        heard.tell(read(notification.payload(), node.id));
                    }
                };
                tokio::select! {
                    () = hearing => {}
                    () = link.left() => {}
                }
            }
            Err(why) => heard.tell(Payload::Deaf(why)),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn begin(node: &Node, sender: UnboundedSender<Notification>) -> Result<Link, StoreError> {
    let link = node.address.connect_and_hear(sender).await?;
    link.batch_execute("LISTEN rebut")
        .await
        .map_err(|error| trouble::of("listening", &error))?;
    Ok(link)
}

#[derive(Debug, PartialEq)]
enum Payload {
    Ours,
    Debates(Vec<DebateId>),
    Unclear,
    /// Not of a notification: none will come, for this reason.
    Deaf(StoreError),
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
