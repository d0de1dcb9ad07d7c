//! Writing a program without a model: a stub that says what it is, and is right only where doing
//! nothing is.

use rebut_engine::prompt::Prompt;
use serde_json::{Value, json};

/// A program that defines what is asked for and does nothing.
pub fn write(prompt: &Prompt) -> Value {
    let entry = prompt.part("entry").unwrap_or("solution");
    let code = match prompt.part("language").unwrap_or("python") {
        "python" => format!(
            "def {entry}(*given, **named):\n    # A rehearsal: no model wrote this, and it does \
             not do the task.\n    return None\n"
        ),
        other => format!(
            "// A rehearsal: no model wrote {entry} in {other}, and this does not do the task.\n"
        ),
    };
    json!({
        "code": code,
        "calls": [],
        "confidence": 0.0,
        "summary": "A rehearsal writes a stub that does nothing.",
    })
}
