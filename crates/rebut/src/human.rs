//! A person as an agent: the form of the reply is asked field by field on the terminal.

use rebut_engine::{
    clean::for_people,
    model::{Answer, Fault, FaultKind, Model, Price, Request, Usage},
};
use serde_json::{Map, Value};
use std::{
    io::{BufRead, IsTerminal, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

pub struct Human;

/// One person, one keyboard: questions come one after the other.
static KEYBOARD: Mutex<()> = Mutex::new(());

impl Human {
    /// The person at the terminal, if there is one that may be asked.
    pub fn open(_: &str, may_ask: bool) -> Result<Arc<dyn Model>, Fault> {
        if may_ask && is_there() {
            return Ok(Arc::new(Self));
        }
        Err(Fault::new(
            FaultKind::Unavailable,
            "human: needs a terminal to ask at (and no --no-input)",
        ))
    }
}

#[async_trait::async_trait]
impl Model for Human {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let heading = format!(
            "{} ({}): your turn, {}",
            request.agent.name, request.agent.stance, request.turn
        );
        let prompt = request.prompt.user.clone();
        let schema: Value = serde_json::from_str(&request.schema.json).unwrap_or_default();
        let text = fill_in(heading, prompt, schema).await?;
        Ok(Answer {
            text,
            model: None,
            usage: Some(Usage {
                cost_usd: Some(0.0),
                ..Usage::default()
            }),
            ..Answer::default()
        })
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }

    fn patience(&self) -> Option<Duration> {
        Some(Duration::from_secs(30 * 60))
    }
}

/// The case without what only a model needs: marks around quoted text, and the form of the reply.
pub fn for_a_person(prompt: &str) -> String {
    let case = prompt
        .split("Reply with a JSON object")
        .next()
        .unwrap_or_default();
    let lines = case
        .lines()
        .filter(|line| !line.starts_with("<<<data ") && !line.starts_with("<<<end "));
    let mut text = String::new();
    for line in lines {
        if !(line.trim().is_empty() && text.ends_with("\n\n")) {
            text.push_str(&format!("{line}\n"));
        }
    }
    text.trim().to_owned()
}

/// Whether there is a terminal at which somebody can be asked.
pub fn is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks whoever sits here to fill in the form of a reply; gives its JSON. On a thread of its own,
/// so that other work goes on.
pub async fn fill_in(heading: String, prompt: String, schema: Value) -> Result<String, Fault> {
    let asked = tokio::task::spawn_blocking(move || ask_here(&heading, &prompt, &schema)).await;
    asked.map_err(|error| Fault::new(FaultKind::Unavailable, error.to_string()))?
}

fn ask_here(heading: &str, prompt: &str, schema: &Value) -> Result<String, Fault> {
    let _turn = KEYBOARD
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let gone = |error: std::io::Error| {
        Fault::new(
            FaultKind::Unavailable,
            format!("the terminal went away: {error}"),
        )
    };
    // Standard error is not locked: an interruption must be able to say something meanwhile.
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stderr());
    writeln!(
        output,
        "\n=== {heading} ===\n{}\n",
        for_people(&for_a_person(prompt))
    )
    .map_err(gone)?;
    form(schema, "", prompt, &mut input, &mut output)
        .map(|reply| reply.to_string())
        .map_err(gone)
}

/// Asks for each property of an object schema, in the order in which the prompt names them.
fn form(
    schema: &Value,
    under: &str,
    prompt: &str,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> std::io::Result<Value> {
    let mut reply = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut fields: Vec<(&String, &Value)> = properties.into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| prompt.find(&format!("\"{name}\":")).unwrap_or(usize::MAX));
    for (name, property) in fields {
        if let Some(about) = property.get("description").and_then(Value::as_str) {
            writeln!(output, "  {about}")?;
        }
        reply.insert(
            name.clone(),
            field(&format!("{under}{name}"), property, prompt, input, output)?,
        );
    }
    Ok(Value::Object(reply))
}

fn field(
    name: &str,
    schema: &Value,
    prompt: &str,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> std::io::Result<Value> {
    let choices = choices(schema);
    let items = schema.get("items");
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => {
            let mut list = Vec::new();
            let object = items.is_some_and(|items| items.get("properties").is_some());
            loop {
                if let Some(items) = items.filter(|_| object) {
                    if line(
                        &format!("{name} {}: add one? [y/N]", list.len() + 1),
                        input,
                        output,
                    )?
                    .to_lowercase()
                        != "y"
                    {
                        break;
                    }
                    list.push(form(items, &format!("{name}."), prompt, input, output)?);
                } else {
                    let text = line(
                        &format!("{name} {} (empty line ends)", list.len() + 1),
                        input,
                        output,
                    )?;
                    if text.is_empty() {
                        break;
                    }
                    let allowed = items.map(self::choices).unwrap_or_default();
                    match allowed
                        .iter()
                        .find(|choice| choice.eq_ignore_ascii_case(&text))
                    {
                        Some(choice) => list.push(Value::from(*choice)),
                        None if allowed.is_empty() => list.push(Value::from(text)),
                        None => writeln!(output, "  one of {}, please", allowed.join(", "))?,
                    }
                }
            }
            Ok(Value::from(list))
        }
        Some("number") => loop {
            match line(&format!("{name} (0 to 1)"), input, output)?.parse::<f64>() {
                Ok(number) if (0.0..=1.0).contains(&number) => return Ok(Value::from(number)),
                _ => writeln!(output, "  a number from 0 to 1, please")?,
            }
        },
        _ if !choices.is_empty() => loop {
            let said = line(&format!("{name} [{}]", choices.join("/")), input, output)?;
            match choices
                .iter()
                .find(|choice| choice.eq_ignore_ascii_case(&said))
            {
                Some(choice) => return Ok(Value::from(*choice)),
                None => writeln!(output, "  one of {}, please", choices.join(", "))?,
            }
        },
        _ => Ok(Value::from(line(name, input, output)?)),
    }
}

/// The words a schema allows, however it lists them.
fn choices(schema: &Value) -> Vec<&str> {
    let list = |key: &str| {
        schema
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    list("enum")
        .chain(list("oneOf").filter_map(|one| one.get("const")))
        .filter_map(Value::as_str)
        .collect()
}

fn line(label: &str, input: &mut impl BufRead, output: &mut impl Write) -> std::io::Result<String> {
    write!(output, "{label}: ")?;
    output.flush()?;
    let mut text = String::new();
    if input.read_line(&mut text)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::{formats::decide::replies::Recommendation, reply::Schema};

    #[test]
    fn a_person_fills_in_the_form_of_a_recommendation() {
        let schema = Schema::with_choices::<Recommendation>(&["option", "ranking"], &["A", "B"]);
        let schema: Value = serde_json::from_str(&schema.json).expect("a schema");
        let prompt = r#"- "option": x - "ranking": x - "confidence": x - "summary": x - "claims": x - "flips_if": x"#;
        // Option, ranking, confidence, summary, claims, flips_if; with four slips of the hand.
        let typed = "Z\nb\nb\nQ\na\n\nmany\n8\n0.8\nbecause\ncheap\nsimple\n\nnever\n";
        let reply =
            form(&schema, "", prompt, &mut typed.as_bytes(), &mut Vec::new()).expect("filled in");
        let reply: Recommendation = serde_json::from_value(reply).expect("a recommendation");
        assert_eq!(
            (reply.option.as_str(), reply.confidence, reply.claims.len()),
            ("B", 0.8, 2)
        );
        assert_eq!(reply.ranking, ["B", "A"]);
        assert_eq!(
            for_a_person(
                "Q\n<<<data 1>>>\nA. x\n<<<end 1>>>\n\n\n\nChoose. Reply with a JSON object:\n- x"
            ),
            "Q\nA. x\n\nChoose."
        );
        assert!(
            form(&schema, "", prompt, &mut "".as_bytes(), &mut Vec::new()).is_err(),
            "a closed terminal is an error, not an answer"
        );
    }
}
