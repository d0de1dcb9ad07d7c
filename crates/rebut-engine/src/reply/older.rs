//! How replies were read before only whole ones counted. Debates that began then are read so still:
//! they are resumed and replayed by the rules they began with.

use super::{Check, Extracted, Reply};

/// Deeper nesting than this is nobody's answer.
const DEPTH: usize = 64;
/// Objects looked at in one text.
const CANDIDATES: usize = 48;

/// Finds the one valid reply in a text; a tail that was cut off is made up for.
pub(super) fn extract<R: Reply>(text: &str, check: &Check<'_, R>) -> Result<Extracted<R>, String> {
    if let Ok(mut reply) = serde_json::from_str::<R>(text.trim()) {
        return check(&mut reply).map(|()| Extracted {
            reply,
            mended: false,
        });
    }
    let answer = text
        .rsplit_once("</think>")
        .map_or(text, |(_, answer)| answer);
    let mut search = super::Search {
        found: None,
        complaint: None,
        check,
    };
    for (candidate, depth) in candidates(answer) {
        let parsed = match serde_json::from_str::<R>(candidate) {
            Ok(reply) => Ok((reply, false)),
            Err(error) if error.is_data() => Err(error.to_string()),
            Err(error) if depth > DEPTH => Err(format!("nested too deeply ({error})")),
            Err(error) => mend(candidate)
                .ok_or_else(|| error.to_string())
                .map(|reply| (reply, true)),
        };
        search.take(parsed)?;
    }
    search.end()
}

fn mend<R: Reply>(text: &str) -> Option<R> {
    let mended = jsonrepair_rs::jsonrepair(text).ok()?;
    serde_json::from_str(&mended).ok()
}

/// The outermost `{…}` of a text and how deep they nest; the last one may be cut off.
fn candidates(text: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find('{').filter(|_| found.len() < CANDIDATES) {
        let start = at + offset;
        let (end, depth) = object_end(&text[start..]);
        let end = end.map_or(text.len(), |length| start + length);
        found.push((text[start..end].trim_end().trim_end_matches("```"), depth));
        at = end;
    }
    found
}

/// The length of the object at the start of `text` (`None` when it never closes) and how deep it
/// nests.
fn object_end(text: &str) -> (Option<usize>, usize) {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return (Some(at + 1), deepest);
                }
            }
            _ => {}
        }
    }
    (None, deepest)
}
