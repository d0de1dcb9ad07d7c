//! Sessions: what a page shows in place of a key. The cookie says nothing of the key and ends at its
//! time, with the key, or when somebody leaves. The database keeps what its secret hashes to, so
//! that all of this holds after a restart and at every node.

use crate::{
    keys::{Key, digest},
    problem::Problem,
    server::Shared,
};
use rebut_engine::{record::encode_hex, seal::Seal, web_session::WebSession};
use std::time::Duration;
use subtle::ConstantTimeEq;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use uuid::Uuid;

/// How long a session lasts. Nothing prolongs it: whoever stays longer shows the key again.
pub const LASTS: Duration = Duration::from_secs(12 * 60 * 60);

/// Sessions of one key at a time at most; the oldest makes room.
const MOST: usize = 100;

#[derive(Clone, Debug)]
pub struct Caller {
    /// The key that lets them in.
    pub key: Key,
    /// The name of the session they came by; none where the key itself was shown.
    pub web_session: Option<String>,
}

impl Caller {
    /// The key as it is now; none if it is gone, or the session is over.
    pub async fn key_now(&self, server: &Shared) -> Result<Option<Key>, Problem> {
        let Some(key) = server.keys.now(&self.key) else {
            return Ok(None);
        };
        let is_let_in = match &self.web_session {
            Some(id) => running(server, id).await?.is_some(),
            None => true,
        };
        Ok(is_let_in.then_some(key))
    }
}

/// Begins a session of whoever holds that key. Gives what the cookie says: it is known to nobody else
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
    let web_session = WebSession {
        id: id.clone(),
        sha256: digest(&secret),
        key: key.sha256.clone(),
        expires_at,
    };
    server
        .web_sessions
        .open_web_session(&web_session, now, MOST)
        .await?;
    Ok(format!("{id}.{secret}"))
}

/// Who sessions with that cookie, if its session and its key are still there.
pub async fn guest(server: &Shared, cookie: &str) -> Result<Option<Caller>, Problem> {
    let Some(web_session) = shown(server, cookie).await? else {
        return Ok(None);
    };
    Ok(server.keys.of_hash(&web_session.key).map(|key| Caller {
        key,
        web_session: Some(web_session.id),
    }))
}

/// Ends the session of that cookie, here and at every node; whoever watches by it is sent away.
pub async fn close(server: &Shared, cookie: &str) -> Result<(), Problem> {
    if let Some(web_session) = shown(server, cookie).await? {
        server
            .web_sessions
            .close_web_session(&web_session.id)
            .await?;
        server.left.send_replace(());
    }
    Ok(())
}

/// The session that a cookie stands for.
async fn shown(server: &Shared, cookie: &str) -> Result<Option<WebSession>, Problem> {
    let Some((id, secret)) = cookie.split_once('.') else {
        return Ok(None);
    };
    // What cannot be one is not looked for.
    if Uuid::try_parse(id).is_err() {
        return Ok(None);
    }
    let web_session = running(server, id).await?;
    let shown = digest(secret);
    Ok(web_session
        .filter(|web_session| bool::from(shown.as_bytes().ct_eq(web_session.sha256.as_bytes()))))
}

/// The session of that name, if its time is not over.
async fn running(server: &Shared, id: &str) -> Result<Option<WebSession>, Problem> {
    let now = server.desk.now().as_second();
    Ok(server
        .web_sessions
        .web_session(id)
        .await?
        .filter(|web_session| web_session.expires_at > now))
}

/// A guest who stays on a connection, and is looked at again and again.
pub struct StreamAuth {
    guest: Caller,
    /// Told when somebody leaves this server.
    left: watch::Receiver<()>,
    /// When the session is looked at next: somebody may have left at another node.
    next_look: Instant,
}

impl StreamAuth {
    /// The stay of somebody who was let in just now; they may have left since.
    pub fn new(server: &Shared, guest: Caller) -> Self {
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
        let Some(web_session) = &self.guest.web_session else {
            return true;
        };
        if self.left.has_changed().unwrap_or(true) {
            self.left.mark_unchanged();
            self.next_look = Instant::now();
        }
        if Instant::now() < self.next_look {
            return true;
        }
        let found = running(server, web_session).await;
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
        if guest.web_session.is_none() {
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
