//! Answering as one of a control arm: the judgement of a judge, in the form of an answer.

use super::{draft, names::Names, rebuttal, speech, speech::Speaker};
use rebut_engine::{agent::Agent, clean::on_one_line, model::Fault, prompt::Prompt};
use serde_json::{Value, json};

/// One answer; after hearing others where there are any.
pub fn answer(agent: &Agent, prompt: &Prompt) -> Result<Value, Fault> {
    if Names::parse(prompt.part("options").unwrap_or(""))
        .options
        .is_empty()
    {
        return free(agent, prompt);
    }
    let said = if prompt.part("others").is_some() {
        rebuttal::respond(agent, prompt)
    } else {
        speech::recommend(agent, prompt)
    }?;
    Ok(json!({
        "answer": said["option"],
        "confidence": said["confidence"],
        "summary": said["summary"],
        "reasons": said["claims"],
    }))
}

/// Without options: some are drafted from the text, and the label of the best is the answer.
fn free(agent: &Agent, prompt: &Prompt) -> Result<Value, Fault> {
    let drafted = draft::options(prompt);
    let labels: Vec<&str> = drafted["options"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|option| option["label"].as_str())
        .collect();
    let lines: Vec<String> = ('A'..='Z')
        .zip(&labels)
        .map(|(letter, label)| format!("{letter}. {}", on_one_line(label)))
        .collect();
    let lines = lines.join("\n");
    let speaker = Speaker::choosing_from(agent, prompt, &lines)?;
    let chosen = speaker.verdict.ranking()[0];
    // The letters are nobody's but ours.
    let plain = |said: String| {
        (0..labels.len()).fold(said, |said, option| {
            said.replace(&speaker.name(option), &format!("“{}”", labels[option]))
        })
    };
    Ok(json!({
        "answer": labels.get(chosen).copied().unwrap_or_default(),
        "confidence": speaker.verdict.confidence(chosen),
        "summary": plain(speaker.summary(chosen)),
        "reasons": speaker.claims(chosen, &[]).into_iter().map(plain).collect::<Vec<_>>(),
    }))
}
