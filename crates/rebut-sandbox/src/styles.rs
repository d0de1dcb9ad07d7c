//! How tests of each language can be written: a table, and the refusal of what does not fit.

use rebut_engine::{
    clean::on_one_line,
    sandbox::{LANGUAGES, Refused, Style},
};

/// How tests of a language can be written; nothing for a language nobody knows. A command fits
/// every language.
pub fn styles_of(language: &str) -> &'static [Style] {
    STYLES
        .iter()
        .find(|(name, _)| *name == language)
        .map_or(&[], |(_, styles)| styles)
}

const STYLES: &[(&str, &[Style])] = &[
    (
        "python",
        &[
            Style::Asserts,
            Style::Pytest,
            Style::Unittest,
            Style::Program,
            Style::Doctest,
        ],
    ),
    (
        "javascript",
        &[Style::Asserts, Style::NodeTest, Style::Program],
    ),
    ("rust", &[Style::CargoTest]),
    ("go", &[Style::GoTest]),
    ("c", &[Style::Asserts, Style::Program]),
    ("cpp", &[Style::Asserts, Style::Program]),
    ("shell", &[Style::Program]),
];

/// Refuses a style in which no tests of that language are written.
pub fn check_style(language: &str, style: Option<Style>) -> Result<(), Refused> {
    let known = styles_of(language);
    if known.is_empty() {
        return Err(Refused {
            reason: format!("tests of code in {:?} cannot be run", on_one_line(language)),
            fix: format!("use one of: {}", LANGUAGES.join(", ")),
        });
    }
    match style.filter(|style| *style != Style::Command && !known.contains(style)) {
        Some(style) => Err(Refused {
            reason: format!(
                "tests of {language} code are not written as `{}`",
                style_name(style)
            ),
            fix: format!(
                "use one of: {}",
                known
                    .iter()
                    .map(|style| style_name(*style))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }),
        None => Ok(()),
    }
}

/// A style's name as people write it.
pub fn style_name(style: Style) -> String {
    serde_json::to_value(style)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_styles_and_refuses_the_others() {
        assert_eq!(
            STYLES.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            LANGUAGES
        );
        let rows = [
            ("python", Some(Style::Doctest), ""),
            (
                "python",
                Some(Style::GoTest),
                "use one of: asserts, pytest, unittest, program, doctest",
            ),
            ("go", Some(Style::Command), ""),
            ("go", None, ""),
            ("cobol", None, "use one of: python"),
        ];
        for (language, style, expected) in rows {
            let fix = check_style(language, style)
                .err()
                .map_or_else(String::new, |refused| refused.fix);
            assert!(
                fix.starts_with(expected) && fix.is_empty() == expected.is_empty(),
                "{language} {style:?}: {fix}"
            );
        }
    }
}
