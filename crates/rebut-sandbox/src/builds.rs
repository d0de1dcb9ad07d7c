//! What was built before, by everything that went into it: tests are built once for all candidates,
//! and a candidate once for all its tests.

use crate::Given;
use rebut_engine::record::Hash;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Programs of so many bytes are kept per language; the oldest go first.
const MOST_BYTES: usize = 32 << 20;

/// The programs of one toolchain that are kept, in memory.
/// Each was made in a cell by nothing but its own files: code can spoil only its own.
#[derive(Debug, Default)]
pub(crate) struct Builds(Mutex<VecDeque<(Hash, Vec<Given>)>>);

impl Builds {
    /// What a build with these words and files made before.
    pub(crate) fn find(&self, build: &Hash) -> Option<Vec<Given>> {
        self.kept()
            .iter()
            .find(|(known, _)| known == build)
            .map(|(_, made)| made.clone())
    }

    pub(crate) fn keep(&self, build: Hash, made: &[Given]) {
        let size = |made: &[Given]| made.iter().map(|file| file.bytes.len()).sum::<usize>();
        let mut kept = self.kept();
        kept.push_back((build, made.to_vec()));
        while kept.iter().map(|(_, made)| size(made)).sum::<usize>() > MOST_BYTES {
            kept.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(Hash, Vec<Given>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells builds apart: by their words and by the name and content of every file, each with its
/// length, so that no two read alike.
pub(crate) fn key(argv: &[String], files: &[Given]) -> Hash {
    let words = argv.iter().map(|word| (b'w', word.as_bytes()));
    let files = files.iter().flat_map(|file| {
        [
            (b'n' + u8::from(file.executable), file.path.as_bytes()),
            (b'f', file.bytes.as_slice()),
        ]
    });
    let mut text = Vec::new();
    for (kind, bytes) in words.chain(files) {
        text.push(kind);
        text.extend((bytes.len() as u64).to_le_bytes());
        text.extend(bytes);
    }
    Hash::of(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn whatever_differs_is_another_build() {
        let file = |path: &str, text: &str| Given::text(path, text);
        let program = Given {
            executable: true,
            ..file("a", "x")
        };
        let builds = [
            key(&words(&["cc", "a"]), &[file("a", "x")]),
            key(&words(&["cc", "b"]), &[file("a", "x")]),
            key(&words(&["cca"]), &[file("a", "x")]),
            key(&words(&["cc", "a"]), &[file("a", "y")]),
            key(&words(&["cc", "a"]), &[file("ax", "")]),
            key(&words(&["cc", "a"]), &[file("", "ax")]),
            key(&words(&["cc", "a"]), &[program]),
            key(&words(&["cc", "a"]), &[file("a", "x"), file("b", "x")]),
            key(&words(&["cc", "a"]), &[]),
        ];
        let different: std::collections::BTreeSet<String> =
            builds.iter().map(Hash::to_string).collect();
        assert_eq!(different.len(), builds.len());
        assert_eq!(builds[0], key(&words(&["cc", "a"]), &[file("a", "x")]));
    }

    #[test]
    fn the_oldest_go_when_it_is_too_much() {
        let builds = Builds::default();
        let program = |bytes: usize| {
            vec![Given {
                path: "p".to_owned(),
                bytes: vec![0; bytes],
                executable: true,
            }]
        };
        let [first, second, huge] = ["1", "2", "3"].map(|word| key(&words(&[word]), &[]));
        builds.keep(first, &program(MOST_BYTES / 2));
        builds.keep(second, &program(MOST_BYTES / 2 + 1));
        assert_eq!(
            (
                builds.find(&first).is_some(),
                builds.find(&second).map(|made| made.len())
            ),
            (false, Some(1))
        );
        builds.keep(huge, &program(MOST_BYTES + 1));
        assert!(
            builds.find(&huge).is_none(),
            "one that is too large is not kept at all"
        );
    }
}
