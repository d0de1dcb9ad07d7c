//! The known word that was probably meant.

/// The closest of the known words.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let score = |candidate: &str| strsim::jaro_winkler(word, candidate);
    known.into_iter().max_by(|a, b| score(a).total_cmp(&score(b)))
}
