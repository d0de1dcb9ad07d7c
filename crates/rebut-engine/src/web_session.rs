//! The seam of sessions: what a browser shows in place of a server's key, until somebody leaves or
//! its time is over. A database keeps them, so that they outlast a restart and hold at every node.
//! Who may session, and what a session may do, is decided elsewhere.

use crate::store::StoreError;

/// Keeps sessions. Every implementation passes the sessions' part of the conformance suite of
/// `rebut-testkit`.
#[async_trait::async_trait]
pub trait WebSessions: Send + Sync + 'static {
    /// Keeps a session. Those whose time is over `now` are forgotten; so are those of the same key
    /// that end first, until there are `most` of it.
    async fn open_web_session(
        &self,
        web_session: &WebSession,
        now: i64,
        most: usize,
    ) -> Result<(), StoreError>;

    /// The session of that name, also when its time is over and it is not forgotten yet.
    async fn web_session(&self, id: &str) -> Result<Option<WebSession>, StoreError>;

    /// Forgets a session, also across a power cut. That there is none is no error.
    async fn close_web_session(&self, id: &str) -> Result<(), StoreError>;
}

/// Somebody who was let in for a while. Nothing in it lets anybody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSession {
    /// Its name, which is no secret.
    pub id: String,
    /// What the session's secret hashes to.
    pub sha256: String,
    /// What the token of the key hashes to by which it was opened.
    pub key: String,
    /// When its time is over, in seconds since 1970.
    pub expires_at: i64,
}
