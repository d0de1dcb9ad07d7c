//! Chance without chance: numbers that follow from the input alone, on every machine alike.

/// Chosen so that the first command of the README ends in a decision.
const SEED: u64 = 49;

/// Rolls that depend on what it was made of and on what is rolled for.
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice for texts; their boundaries count.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self(texts.into_iter().fold(SEED, hash))
    }

    /// A number below `sides`, the same for the same purpose.
    pub fn roll(self, purpose: &str, sides: usize) -> usize {
        (hash(self.0, purpose) % sides.max(1) as u64) as usize
    }

    /// The same dice with another element of chance.
    pub fn with(self, more: usize) -> Self {
        Self(mixed(
            self.0 ^ (more as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }
}

/// FNV-1a over the bytes, then mixed so that its low bits are good too.
fn hash(from: u64, text: &str) -> u64 {
    let sum = text
        .bytes()
        .fold(from ^ 0xcbf2_9ce4_8422_2325, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    mixed(sum)
}

fn mixed(mut sum: u64) -> u64 {
    sum = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    sum = (sum ^ (sum >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    sum ^ (sum >> 31)
}
