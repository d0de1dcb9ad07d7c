//! Keeping known secrets out of everything that is recorded: wherever a key's value appears, it is blanked.

use std::fmt::Write;

/// Blanks known secret values, also in their escaped forms.
#[derive(Default)]
pub struct Scrubber {
    needles: Vec<String>,
}

/// What stands where a secret stood.
pub const BLANK: &str = "[secret]";

impl Scrubber {
    /// A scrubber for these values. Values shorter than eight characters are left alone: they would match everywhere.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut needles: Vec<String> = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= 8) {
            let escaped = json_escaped(&secret);
            // Twice: an answer in JSON may quote what was escaped already.
            for form in [base64(&secret), url_escaped(&secret), json_escaped(&escaped), escaped, secret] {
                if form.len() >= 8 && !needles.contains(&form) {
                    needles.push(form);
                }
            }
        }
        Self { needles }
    }

    /// The text without any known secret.
    pub fn scrub(&self, text: String) -> String {
        let hit = self.needles.iter().any(|needle| memchr::memmem::find(text.as_bytes(), needle.as_bytes()).is_some());
        if !hit {
            return text;
        }
        self.needles.iter().fold(text, |text, needle| text.replace(needle.as_str(), BLANK))
    }
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} values)", self.needles.len())
    }
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// Base64 without its padding and last character, whose value depends on what follows the secret.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text.as_bytes()
        .chunks_exact(3)
        .flat_map(|group| {
            let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
            [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize] as char)
        })
        .collect()
}

fn url_escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(byte as char);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_secret_is_blanked() {
        let scrubber = Scrubber::new(["sk-canary/\"42+x".to_owned(), "short".to_owned()]);
        let rows = [
            ("plain sk-canary/\"42+x!", "plain [secret]!"),
            (r#"json "sk-canary/\"42+x""#, r#"json "[secret]""#),
            (r#"twice "sk-canary/\\\"42+x""#, r#"twice "[secret]""#),
            ("url ?k=sk-canary%2F%2242%2Bx", "url ?k=[secret]"),
            ("base64 c2stY2FuYXJ5LyI0Mit4", "base64 [secret]"),
            ("short stays", "short stays"),
        ];
        for (given, expected) in rows {
            assert_eq!(scrubber.scrub(given.to_owned()), expected);
        }
    }
}
