//! One line of a journal: an event as it is stored, chained to the line before by hash.

use crate::{DebateId, event::Event};
use serde::{Deserialize, Serialize, de::Error as _};
use sha2::{Digest, Sha256};
use std::{borrow::Cow, cell::RefCell, fmt, sync::Arc};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl schemars::JsonSchema for Hash {
    fn schema_name() -> Cow<'static, str> {
        "Hash".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
    }
}

impl Hash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub fn parse(hex: &str) -> Option<Self> {
        decode_hex(hex).map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(as_text(&hex_digits(&self.0)))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(as_text(&hex_digits(&self.0)))
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("expected 64 hexadecimal digits"))
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub fn encode_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// The same for a hash, without a heap: a journal writes many of them.
fn hex_digits(bytes: &[u8; 32]) -> [u8; 64] {
    let mut digits = [0; 64];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        (pair[0], pair[1]) = (
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        );
    }
    digits
}

fn as_text(digits: &[u8; 64]) -> &str {
    std::str::from_utf8(digits).expect("hexadecimal digits are text")
}

/// The bytes behind exactly `2 * N` hexadecimal digits.
pub fn decode_hex<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let digits = hex.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(bytes)
}

/// An event in its place. Its text is its identity: hashes are taken over the stored bytes, never
/// over a re-rendering.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub debate: DebateId,
    pub seq: u64,
    pub ts: Arc<str>,
    pub kind: Cow<'static, str>,
    pub round: Option<u32>,
    pub phase: Option<Arc<str>>,
    pub agent: Option<Arc<str>>,
    /// The event's own data, as JSON text; the tombstone's after redaction.
    pub data: String,
    /// Random bytes mixed into the data's digest, so that a redacted text cannot be guessed from
    /// it. Gone with redaction.
    pub salt: Option<[u8; 16]>,
    /// The digest of the data: what the chain holds on to, also after redaction.
    pub digest: Hash,
    /// The hash of the record before; zero for the first.
    pub prev: Hash,
    pub hash: Hash,
}

/// Where in the debate an event happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    pub round: Option<u32>,
    pub phase: Option<Arc<str>>,
    /// Agent, if it is about one.
    pub agent: Option<Arc<str>>,
}

impl Record {
    /// Chains a new event behind `prev`.
    pub fn new(
        debate: DebateId,
        seq: u64,
        prev: Hash,
        ts: Arc<str>,
        place: Place,
        event: &Event,
    ) -> Self {
        Self::salted(debate, seq, prev, ts, place, event, None)
    }

    /// The same with the salt it had before: then it is the same record again. Without one it gets
    /// a fresh one.
    pub(crate) fn salted(
        debate: DebateId,
        seq: u64,
        prev: Hash,
        ts: Arc<str>,
        place: Place,
        event: &Event,
        salt: Option<[u8; 16]>,
    ) -> Self {
        let data = event.to_data();
        let salt = Some(salt.unwrap_or_else(fresh_salt));
        let mut record = Self {
            debate,
            seq,
            ts,
            kind: Cow::Borrowed(event.kind()),
            round: place.round,
            phase: place.phase,
            agent: place.agent,
            digest: Hash::default(),
            data,
            salt,
            prev,
            hash: Hash::default(),
        };
        record.digest = record.compute_digest();
        record.hash = record.compute_hash();
        record
    }

    /// The typed event, or `None` for a kind this program does not know (a newer one wrote it).
    ///
    /// A debate starts once, with its first event: what that event says is what a user was shown
    /// before trusting the journal.
    pub fn event(&self) -> Result<Option<Event>, serde_json::Error> {
        if self.is_redacted() {
            return Ok(None);
        }
        let event = Event::parse(&self.kind, &self.data)?;
        let problem = match &event {
            Some(Event::DebateStarted(_)) if self.seq != 1 => {
                "only the first event starts a debate"
            }
            // serde reads a list by position, which would hide the names of the settings.
            Some(Event::DebateStarted(started)) if started.config.is_array() => {
                "the settings of a debate are an object"
            }
            _ => return Ok(event),
        };
        Err(serde::de::Error::custom(problem))
    }

    /// Whether its text was taken out.
    pub fn is_redacted(&self) -> bool {
        self.salt.is_none() && self.data == REDACTED
    }

    /// Whether it is as it was written, as far as it can tell by itself.
    pub fn is_whole(&self) -> bool {
        (self.is_redacted() || self.compute_digest() == self.digest)
            && self.compute_hash() == self.hash
    }

    /// The same record with its text taken out; its hash stays valid.
    pub fn tombstone(&self) -> Self {
        Self {
            data: REDACTED.to_owned(),
            salt: None,
            ..self.clone()
        }
    }

    /// The digest its data should have.
    pub fn compute_digest(&self) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(self.salt.unwrap_or_default());
        hasher.update(self.data.as_bytes());
        Hash(hasher.finalize().into())
    }

    /// The hash it should have, given its own `prev` and `digest`.
    pub fn compute_hash(&self) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(b"rebut event 1");
        hasher.update(self.debate.as_bytes());
        hasher.update(self.prev.0);
        hasher.update(self.seq.to_le_bytes());
        // An absent round must not hash like round 0.
        hasher.update(self.round.map_or(u64::MAX, u64::from).to_le_bytes());
        for text in [
            &*self.ts,
            &self.kind,
            self.phase.as_deref().unwrap_or(""),
            self.agent.as_deref().unwrap_or(""),
        ] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(self.digest.0);
        Hash(hasher.finalize().into())
    }

    /// The public envelope: what streams, logs and pages see.
    pub fn envelope(&self) -> Envelope<'_> {
        Envelope {
            v: 1,
            seq: self.seq,
            ts: Cow::Borrowed(&self.ts),
            debate_id: self.debate,
            kind: Cow::Borrowed(&self.kind),
            round: self.round,
            phase: self.phase.as_deref().map(Cow::Borrowed),
            agent: self.agent.as_deref().map(Cow::Borrowed),
            data: serde_json::from_str(&self.data).unwrap_or_default(),
        }
    }
}

impl Envelope<'_> {
    /// The record as a reader needs it. Its hashes are not known: an audit needs the journal
    /// itself.
    pub fn into_record(self) -> Record {
        Record {
            debate: self.debate_id,
            seq: self.seq,
            ts: Arc::from(&*self.ts),
            kind: Cow::Owned(self.kind.into_owned()),
            round: self.round,
            phase: self.phase.as_deref().map(Arc::from),
            agent: self.agent.as_deref().map(Arc::from),
            data: self.data.to_string(),
            salt: None,
            digest: Hash::default(),
            prev: Hash::default(),
            hash: Hash::default(),
        }
    }
}

/// Sixteen random bytes. Drawn from the system in larger portions: a call per event would cost more
/// than the event.
fn fresh_salt() -> [u8; 16] {
    thread_local! {
        static DRAWN: RefCell<([u8; 1024], usize)> = const { RefCell::new(([0; 1024], 1024)) };
    }
    DRAWN.with_borrow_mut(|(bytes, used)| {
        if *used + 16 > bytes.len() {
            // Without randomness a redacted text could be guessed from its digest; ids are random
            // by another path.
            if getrandom::fill(bytes).is_err() {
                return *DebateId::new().as_bytes();
            }
            *used = 0;
        }
        let mut salt = [0; 16];
        salt.copy_from_slice(&bytes[*used..*used + 16]);
        // What was handed out is not kept.
        bytes[*used..*used + 16].fill(0);
        *used += 16;
        salt
    })
}

/// What stands in the place of a redacted event's data.
pub const REDACTED: &str = r#"{"redacted":true}"#;

/// The nine fields every event has on every surface.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Envelope<'a> {
    /// Version of the envelope.
    pub v: u32,
    /// Number in the journal, from 1, without gaps.
    pub seq: u64,
    /// When, RFC 3339.
    pub ts: Cow<'a, str>,
    /// Which debate.
    pub debate_id: DebateId,
    /// The kind of event.
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
    /// The round, if any.
    pub round: Option<u32>,
    /// The phase, if any.
    pub phase: Option<Cow<'a, str>>,
    /// The agent it is about, if any.
    pub agent: Option<Cow<'a, str>>,
    /// What happened; its form depends on `type`.
    pub data: serde_json::Value,
}
