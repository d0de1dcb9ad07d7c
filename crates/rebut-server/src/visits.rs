//! Visits: what a page shows in place of a key. The cookie says nothing of the key and ends at its
//! time, with the key, or when somebody leaves. The database keeps what its secret hashes to, so
//! that all of this holds after a restart and at every node.

use crate::{
    keys::{Key, digest},
    problem::Problem,
    server::Shared,
};
use rebut_engine::{record::encode_hex, seal::Seal, visits::Visit};
use std::time::Duration;
use subtle::ConstantTimeEq;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use uuid::Uuid;

/// How long a visit lasts. Nothing prolongs it: whoever stays longer shows the key again.
pub const LASTS: Duration = Duration::from_secs(12 * 60 * 60);

/// Visits of one key at a time at most; the oldest makes room.
const MOST: usize = 100;

/// Somebody who was let in.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The key that lets them in.
    pub key: Key,
    /// The name of the visit they came by; none where the key itself was shown.
    pub visit: Option<String>,
}

impl Guest {
    /// The key as it is now; none if it is gone, or the visit is over.
    pub async fn key_now(&self, server: &Shared) -> Result<Option<Key>, Problem> {
        let Some(key) = server.keys.now(&self.key) else {
            return Ok(None);
        };
        let is_let_in = match &self.visit {
            Some(id) => running(server, id).await?.is_some(),
            None => true,
        };
        Ok(is_let_in.then_some(key))
    }
}

/// Begins a visit of whoever holds that key. Gives what the cookie says: it is known to nobody else
/// from here on.
pub async fn open(server: &Shared, key: &Key) -> Result<String, Problem> {
    let secret = Seal::new_secret()
        .map_err(|_| Problem::internal("there is no randomness for a session"))?;
    let (id, secret, now) = (
        Uuid::new_v4().to_string(),
        encode_hex(&secret),
        server.desk.now().as_second(),
    );
    let expires_at = now.saturating_add_unsigned(LASTS.as_secs());
    let visit = Visit {
        id: id.clone(),
        sha256: digest(&secret),
        key: key.sha256.clone(),
        expires_at,
    };
    server.visits.open_visit(&visit, now, MOST).await?;
    Ok(format!("{id}.{secret}"))
}

/// Who visits with that cookie, if its visit and its key are still there.
pub async fn guest(server: &Shared, cookie: &str) -> Result<Option<Guest>, Problem> {
    let Some(visit) = shown(server, cookie).await? else {
        return Ok(None);
    };
    Ok(server.keys.of_hash(&visit.key).map(|key| Guest {
        key,
        visit: Some(visit.id),
    }))
}

/// Ends the visit of that cookie, here and at every node; whoever watches by it is sent away.
pub async fn close(server: &Shared, cookie: &str) -> Result<(), Problem> {
    if let Some(visit) = shown(server, cookie).await? {
        server.visits.close_visit(&visit.id).await?;
        server.left.send_replace(());
    }
    Ok(())
}

/// The visit that a cookie stands for.
async fn shown(server: &Shared, cookie: &str) -> Result<Option<Visit>, Problem> {
    let Some((id, secret)) = cookie.split_once('.') else {
        return Ok(None);
    };
    // What cannot be one is not looked for.
    if Uuid::try_parse(id).is_err() {
        return Ok(None);
    }
    let visit = running(server, id).await?;
    let shown = digest(secret);
    Ok(visit.filter(|visit| bool::from(shown.as_bytes().ct_eq(visit.sha256.as_bytes()))))
}

/// The visit of that name, if its time is not over.
async fn running(server: &Shared, id: &str) -> Result<Option<Visit>, Problem> {
    let now = server.desk.now().as_second();
    Ok(server
        .visits
        .visit(id)
        .await?
        .filter(|visit| visit.expires_at > now))
}

/// A guest who stays on a connection, and is looked at again and again.
pub struct Stay {
    guest: Guest,
    /// Told when somebody leaves this server.
    left: watch::Receiver<()>,
    /// When the visit is looked at next: somebody may have left at another node.
    next_look: Instant,
}

impl Stay {
    /// The stay of somebody who was let in just now; they may have left since.
    pub fn new(server: &Shared, guest: Guest) -> Self {
        Self {
            guest,
            left: server.left.subscribe(),
            next_look: Instant::now(),
        }
    }

    /// Whether they may still be here. May be dropped and asked again.
    pub async fn holds(&mut self, server: &Shared) -> bool {
        if server.keys.now(&self.guest.key).is_none() {
            return false;
        }
        let Some(visit) = &self.guest.visit else {
            return true;
        };
        if self.left.has_changed().unwrap_or(true) {
            self.left.mark_unchanged();
            self.next_look = Instant::now();
        }
        if Instant::now() < self.next_look {
            return true;
        }
        let found = running(server, visit).await;
        self.next_look = Instant::now() + server.settings.heartbeat;
        // A database that is away says nothing about anybody.
        !matches!(found, Ok(None))
    }

    /// Waits until it is time to look whether it still holds.
    pub async fn is_in_doubt(&mut self, server: &Shared) {
        let Self {
            guest,
            left,
            next_look,
        } = self;
        if guest.visit.is_none() {
            return server.keys.gone(&guest.key).await;
        }
        tokio::select! {
            () = server.keys.gone(&guest.key) => {}
            () = sleep_until(*next_look) => {}
            // The sender lives as long as the server.
            _ = left.changed() => *next_look = Instant::now(),
        }
    }
}
