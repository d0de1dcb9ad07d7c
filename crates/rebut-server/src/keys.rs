//! Who may do what: keys, each with an owner and a role. A key is known here by the hash of its
//! token only.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tokio::sync::watch;

/// Every key of a server. Clones share them: whoever keeps one can change them while the server
/// runs.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Arc<watch::Sender<Vec<Key>>>,
}

/// What somebody shows to be let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Its name: who decided, in a journal.
    pub name: String,
    /// Whose debates it sees and starts. Keys may share an owner.
    pub owner: String,
    /// What it may do with them.
    pub role: Role,
    /// The SHA-256 of its token, in hexadecimal.
    pub sha256: String,
}

/// What a key may do; each role may do what those before it may.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read.
    Viewer,
    /// Decide gates, answer, add notes.
    Approver,
    /// Start, steer, fork and remove debates.
    Admin,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }
}

impl Keys {
    pub fn new(keys: Vec<Key>) -> Self {
        Self {
            keys: Arc::new(watch::Sender::new(keys)),
        }
    }

    /// From now on these, and no others. Whoever was let in by one that is gone is sent away.
    pub fn replace(&self, keys: Vec<Key>) {
        self.keys.send_if_modified(|known| {
            let is_other = *known != keys;
            *known = keys;
            is_other
        });
    }

    /// What has become of a key since somebody was let in by it; nothing if it is gone or sees
    /// other debates now.
    pub fn now(&self, key: &Key) -> Option<Key> {
        let is_same = |known: &&Key| {
            known.sha256 == key.sha256 && known.name == key.name && known.owner == key.owner
        };
        self.keys.borrow().iter().find(is_same).cloned()
    }

    /// Waits until a key is gone.
    pub async fn gone(&self, key: &Key) {
        let mut changes = self.keys.subscribe();
        // The sender lives as long as this.
        while self.now(key).is_some() && changes.changed().await.is_ok() {}
    }

    /// The key whose token has that hash. For hashes of our own records; what somebody shows is for
    /// `of_token`.
    pub fn of_hash(&self, sha256: &str) -> Option<Key> {
        self.keys
            .borrow()
            .iter()
            .find(|key| key.sha256 == sha256)
            .cloned()
    }

    /// The key a token belongs to. Every key is compared, and each comparison takes the same time.
    pub fn of_token(&self, token: &str) -> Option<Key> {
        let shown = digest(token);
        let keys = self.keys.borrow();
        let is_shown = |key: &Key| bool::from(shown.as_bytes().ct_eq(key.sha256.as_bytes()));
        keys.iter()
            .fold(
                None,
                |found, key| if is_shown(key) { Some(key) } else { found },
            )
            .cloned()
    }
}

/// What is kept of a token.
pub fn digest(token: &str) -> String {
    Sha256::digest(token.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
