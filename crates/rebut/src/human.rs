//! A person as an agent: the form of the reply is asked field by field on the terminal.

use rebut_engine::{
    clean::for_people,
    model::{Answer, Fault, FaultKind, Model, Request, Usage},
};
use serde_json::{Map, Value};
use std::{
    io::{BufRead, IsTerminal, Write},
    sync::Mutex,
    time::Duration,
};

/// Somebody at this terminal.
pub struct Human;

/// One person, one keyboard: questions come one after the other.
static KEYBOARD: Mutex<()> = Mutex::new(());

impl Human {
    /// The person at the terminal, if there is one that may be asked.
    pub fn open(_: &str, may_ask: bool) -> Result<Self, Fault> {
        if may_ask && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
            return Ok(Self);
        }
        Err(Fault::new(FaultKind::Unavailable, "human: needs a terminal to ask at (and no --no-input)"))
    }
}

#[async_trait::async_trait]
impl Model for Human {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let heading = format!("{} ({}): your turn, {}", request.agent.name, request.agent.stance, request.turn);
        let case = request.prompt.user.clone();
        let schema: Value = serde_json::from_str(&request.schema.json).unwrap_or_default();
        let asked = tokio::task::spawn_blocking(move || fill_in(&heading, &case, &schema)).await;
        let text = asked.map_err(|error| Fault::new(FaultKind::Unavailable, error.to_string()))??;
        Ok(Answer { text, model: None, usage: Some(Usage { cost_usd: Some(0.0), ..Usage::default() }), ..Answer::default() })
    }

    fn patience(&self) -> Option<Duration> {
        Some(Duration::from_secs(30 * 60))
    }
}

fn fill_in(heading: &str, case: &str, schema: &Value) -> Result<String, Fault> {
    let _turn = KEYBOARD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let gone = |error: std::io::Error| Fault::new(FaultKind::Unavailable, format!("the terminal went away: {error}"));
    // Standard error is not locked: an interruption must be able to say something meanwhile.
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stderr());
    writeln!(output, "\n=== {heading} ===\n{}\n", for_people(case)).map_err(gone)?;
    form(schema, "", &mut input, &mut output).map(|reply| reply.to_string()).map_err(gone)
}

/// Asks for each property of an object schema.
fn form(schema: &Value, under: &str, input: &mut impl BufRead, output: &mut impl Write) -> std::io::Result<Value> {
    let mut reply = Map::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        reply.insert(name.clone(), field(&format!("{under}{name}"), property, input, output)?);
    }
    Ok(Value::Object(reply))
}

fn field(name: &str, schema: &Value, input: &mut impl BufRead, output: &mut impl Write) -> std::io::Result<Value> {
    let choices: Vec<&str> = schema.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let items = schema.get("items");
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => {
            let mut list = Vec::new();
            let object = items.is_some_and(|items| items.get("properties").is_some());
            loop {
                let label = format!("{name} {} (empty line ends)", list.len() + 1);
                if let Some(items) = items.filter(|_| object) {
                    if line(&format!("{label}: one more? [y/N]"), input, output)?.to_lowercase() != "y" {
                        break;
                    }
                    list.push(form(items, &format!("{name}."), input, output)?);
                } else {
                    let text = line(&label, input, output)?;
                    if text.is_empty() {
                        break;
                    }
                    list.push(Value::from(text));
                }
            }
            Ok(Value::from(list))
        }
        Some("number") => loop {
            match line(&format!("{name} (0 to 1)"), input, output)?.parse::<f64>() {
                Ok(number) => return Ok(Value::from(number)),
                Err(_) => writeln!(output, "  a number, please")?,
            }
        },
        _ if !choices.is_empty() => loop {
            let said = line(&format!("{name} [{}]", choices.join("/")), input, output)?;
            match choices.iter().find(|choice| choice.eq_ignore_ascii_case(&said)) {
                Some(choice) => return Ok(Value::from(*choice)),
                None => writeln!(output, "  one of {}, please", choices.join(", "))?,
            }
        },
        _ => Ok(Value::from(line(name, input, output)?)),
    }
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
        let schema = Schema::with_choices::<Recommendation>("option", &["A", "B"]);
        let schema: Value = serde_json::from_str(&schema.json).expect("a schema");
        // In the order of the schema's keys: claims, confidence, flips_if, option, summary; with two slips of the hand.
        let typed = "cheap\nsimple\n\nmany\n0.8\nnever\nZ\nb\nbecause\n";
        let reply = form(&schema, "", &mut typed.as_bytes(), &mut Vec::new()).expect("filled in");
        let reply: Recommendation = serde_json::from_value(reply).expect("a recommendation");
        assert_eq!((reply.option.as_str(), reply.confidence, reply.claims.len()), ("B", 0.8, 2));
        assert!(form(&schema, "", &mut "".as_bytes(), &mut Vec::new()).is_err(), "a closed terminal is an error, not an answer");
    }
}
