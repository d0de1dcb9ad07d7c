//! Wording a reviewer's text anew: its own sentences stay, and what the judges asked for is added,
//! in their words.

use rebut_engine::{clean::on_one_line, prompt::Prompt};
use serde_json::{Value, json};

/// The proposal. The same text and the same judges always give the same one.
pub fn propose(prompt: &Prompt) -> Value {
    let feedback = prompt.part("feedback").unwrap_or_default();
    let said = |name: &str| {
        let line = feedback
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        on_one_line(line.unwrap_or_default())
    };
    let (signal, labels, score) = (said("signal"), said("labels"), said("score"));
    let current = prompt.part("current").unwrap_or_default().trim();
    let asked = if signal.is_empty() {
        "say what in the text shows it".to_owned()
    } else {
        sentence_of(&signal)
    };
    let known = if labels.is_empty() {
        String::new()
    } else {
        format!(" Your arguments were called {labels}.")
    };
    json!({
        "text": format!("{current}\n\nWhen you argue: {asked}.{known}"),
        "why": format!("The judges' signal is added ({score})."),
    })
}

/// Words that go into the middle of a sentence.
fn sentence_of(words: &str) -> String {
    let words = words.trim_end_matches(['.', '!', '?', ' ']);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) if letters.clone().next().is_none_or(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::{
        formats::propose::Request,
        prompt::{Fence, Template},
    };

    #[test]
    fn the_proposal_is_made_of_the_text_and_the_judges_words() {
        let rows = [
            (
                "You look for holes.",
                "signal: Name the line.\nlabels: vague",
                "You look for holes.\n\nWhen you argue: name the line. Your arguments were called \
                 vague.",
            ),
            (
                "Be kind.",
                "signal: URLs help\nlabels: ",
                "Be kind.\n\nWhen you argue: URLs help.",
            ),
            (
                "Be kind.",
                "",
                "Be kind.\n\nWhen you argue: say what in the text shows it.",
            ),
        ];
        for (current, feedback, text) in rows {
            let prompt = Request {
                role: "security",
                current,
                feedback,
            }
            .render(&Fence::new("f00d"));
            assert_eq!(propose(&prompt)["text"], text, "{feedback}");
            assert_eq!(propose(&prompt), propose(&prompt));
        }
    }
}
