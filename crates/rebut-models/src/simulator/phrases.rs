//! Sentences around a quotation. They say where it stands, never that it is right.

/// Words in the names of properties, and sentences that fit them, with a place for the quotation.
const ABOUT: [(&str, &[&str]); 8] = [
    (
        "flips falsified right_if",
        &["“{}” turns out to be wrong.", "Evidence against “{}”."],
    ),
    (
        "weak wrong root objection",
        &["“{}” is not answered.", "It leaves “{}” open."],
    ),
    ("assum", &["“{}” stays true.", "“{}” goes on as it is."]),
    (
        "fix change signal looks_for applies",
        &["Say in numbers: “{}”.", "Show how “{}” is tested."],
    ),
    (
        "question",
        &["What follows from “{}”?", "How is “{}” measured?"],
    ),
    (
        "found checked",
        &[
            "The text says “{}” and leaves it there.",
            "Looked at “{}” there.",
        ],
    ),
    (
        "why reason rationale",
        &["The text says “{}”.", "It follows from “{}”."],
    ),
    (
        "claim argument summary point",
        &["“{}” counts most.", "“{}” weighs more than the rest."],
    ),
];

const OTHERS: &[&str] = &[
    "“{}” matters here.",
    "It comes down to “{}”.",
    "Start from “{}”.",
];

/// For what argues for a chosen option: `[]` stands for it.
const CHOSEN: &[&str] = &[
    "“{}” speaks for [].",
    "[] follows from “{}”.",
    "[] has “{}” on its side.",
];

/// The sentences that fit a property.
pub fn phrases(field: &str, is_chosen: bool) -> &'static [&'static str] {
    if is_chosen && ["claims", "reasons", "summary"].contains(&field) {
        return CHOSEN;
    }
    let fits = |words: &str| words.split(' ').any(|word| field.contains(word));
    let fitting = ABOUT.iter().find(|(words, _)| fits(words));
    fitting.map_or(OTHERS, |(_, phrases)| phrases)
}

/// A sentence with its quotation and what was chosen.
pub fn filled(phrase: &str, quote: &str, chosen: &str) -> String {
    phrase.replace("[]", chosen).replace("{}", quote)
}
