//! The local key that closes a journal's end, so that a shortened or wholly re-hashed journal is
//! found out.

use crate::{
    DebateId,
    record::{Hash, decode_hex, encode_hex},
};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

/// A signing key of this installation.
#[derive(Clone)]
pub struct Seal {
    key: SigningKey,
    public: String,
}

/// A signed statement: after `count` events the chain of this debate ended in `head`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub count: u64,
    /// The hash of the last of them.
    pub head: Hash,
    pub key: String,
    pub signature: String,
}

impl Seal {
    /// The seal of a 32-byte secret.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(secret);
        let public = encode_hex(key.verifying_key().as_bytes());
        Self { key, public }
    }

    /// A fresh secret, to be kept by the caller.
    pub fn new_secret() -> Result<[u8; 32], getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(secret)
    }

    pub fn public(&self) -> &str {
        &self.public
    }

    pub fn close(&self, debate: DebateId, count: u64, head: Hash) -> Checkpoint {
        let signature = self.key.sign(&statement(debate, count, head));
        Checkpoint {
            count,
            head,
            key: self.public.clone(),
            signature: encode_hex(&signature.to_bytes()),
        }
    }
}

impl Checkpoint {
    /// Whether the signature is that of `key` over this very statement.
    pub fn is_valid(&self, debate: DebateId) -> bool {
        let parts = decode_hex::<32>(&self.key).zip(decode_hex::<64>(&self.signature));
        let Some((key, signature)) = parts else {
            return false;
        };
        VerifyingKey::from_bytes(&key).is_ok_and(|key| {
            key.verify_strict(
                &statement(debate, self.count, self.head),
                &Signature::from_bytes(&signature),
            )
            .is_ok()
        })
    }
}

fn statement(debate: DebateId, count: u64, head: Hash) -> Vec<u8> {
    let mut bytes = b"rebut checkpoint 1".to_vec();
    bytes.extend_from_slice(debate.as_bytes());
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(&head.0);
    bytes
}
