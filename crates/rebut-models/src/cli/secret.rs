//! Which of the variables that a program is given hold a secret. Pure.

use std::collections::BTreeMap;

/// The values to be blanked wherever they come back: of variables passed on from our environment,
/// and of those set in a configuration.
pub(super) fn among(
    passed: &BTreeMap<String, String>,
    configured: &BTreeMap<String, String>,
) -> Vec<String> {
    let passed = passed.iter().filter(|(name, value)| is_secret(name, value));
    // Settings are often one plain word (`production`), which would be blanked in every answer.
    let is_word = |value: &str| value.bytes().all(|byte| byte.is_ascii_lowercase());
    let configured = configured
        .iter()
        .filter(|(name, value)| tells(name) || (is_secret(name, value) && !is_word(value)));
    passed
        .chain(configured)
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}

/// Variables that hold nothing secret, whatever their value.
const HARMLESS: &[&str] = &[
    "PATH", "LANG", "LANGUAGE", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ",
    "NO_PROXY",
];
/// Beginnings of such names, and ends.
const HARMLESS_BEGINNINGS: &[&str] = &["LC_", "XDG_"];
const HARMLESS_ENDS: &[&str] = &[
    "_URL",
    "_MODEL",
    "_DIR",
    "_HOME",
    "_CONFIG",
    "_CREDENTIALS",
    "_PROJECT",
    "_LOCATION",
    "_REGION",
    "_PROXY",
];
/// Words in names of variables that surely hold a secret.
const TELLING: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE"];

/// Unless its name says that it is harmless, a value is a secret: nobody can know how a secret is
/// called.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let harmless = HARMLESS.contains(&name.as_str())
        || HARMLESS_BEGINNINGS
            .iter()
            .any(|start| name.starts_with(start))
        || HARMLESS_ENDS.iter().any(|end| name.ends_with(end)) && is_place_or_name(value);
    tells(&name) || !harmless
}

fn tells(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    TELLING.iter().any(|word| name.contains(word))
}

/// Whether a value is what such names promise: a path, a name, an address without password, query
/// or more than a short path (an address with a long random path is a secret by itself).
fn is_place_or_name(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else {
        return !value.trim_start().starts_with(['{', '[']);
    };
    !rest.contains(['@', '?', '#']) && rest.split('/').skip(1).all(|part| part.len() < 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_secret_unless_its_name_says_otherwise() {
        let rows = [
            ("MYTOK", "zq81-x-7734", true),
            ("my_token", "plainword", true),
            ("TOKEN_DIR", "/somewhere/else", true),
            ("DB", "postgres", true),
            ("PATH", "/usr/bin:/bin", false),
            ("LC_ALL", "de_AT.UTF-8", false),
            ("OPENAI_MODEL", "gpt-5-mini", false),
            ("CODEX_HOME", "/srv/someone/.codex", false),
            ("OPENAI_BASE_URL", "https://example.org/v1", false),
            ("OPENAI_BASE_URL", "https://user:word@example.org/v1", true),
            (
                "HOOK_URL",
                "https://example.org/services/T0/q7RdW2mZkY9vLs4HcB6tNf1J",
                true,
            ),
            ("HTTPS_PROXY", "http://10.0.0.1:3128", false),
            ("HTTPS_PROXY", "http://me:word@10.0.0.1:3128", true),
            ("APP_CONFIG", r#"{"password":"x"}"#, true),
        ];
        for (name, value, expected) in rows {
            let one: BTreeMap<_, _> = [(name.to_owned(), value.to_owned())].into();
            assert_eq!(
                among(&one, &BTreeMap::new()).len(),
                usize::from(expected),
                "{name}={value}"
            );
        }
        let set: BTreeMap<_, _> = [
            ("MODE", "production"),
            ("MY_TOKEN", "production"),
            ("OTHER", "Zq81"),
        ]
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .into();
        assert_eq!(
            among(&BTreeMap::new(), &set),
            ["production", "Zq81"],
            "a plain word is a setting unless its name tells"
        );
    }
}
