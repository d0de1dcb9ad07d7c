//! Numbered debates of three judges whose model is a server on the loopback: it answers by what it
//! is asked, holds what a test wants held, and counts.

use crate::rebut::{Rebut, recommends, responds};
use rebut_testkit::openai_server::{Behaviour, OpenAiServer};
use serde_json::{Value, json};
use std::collections::HashMap;
use tokio::sync::watch;

const JUDGES: [(&str, &str); 3] = [("risk", "A"), ("value", "B"), ("effort", "C")];

/// A turn of a debate: its number, and the turn's name.
pub type Turn = (usize, String);

/// The model of all judges.
pub struct Panel {
    server: OpenAiServer,
    answers: watch::Sender<bool>,
    asked: watch::Receiver<usize>,
}

impl Panel {
    /// Starts it. Turns that `holds` names are answered when it is told to.
    pub async fn start(holds: fn(&Turn) -> bool) -> Self {
        let (answers, told) = watch::channel(false);
        let (count, asked) = watch::channel(0);
        let server = OpenAiServer::start(move |_, seen| {
            let turn = turn_of(&seen.body);
            let says = says(&turn);
            count.send_modify(|count| *count += 1);
            if holds(&turn) {
                Behaviour::SayWhen(told.clone(), says)
            } else {
                Behaviour::Say(says)
            }
        });
        Self {
            server: server.await.expect("a server"),
            answers,
            asked,
        }
    }

    /// An installation whose judges are asked there, with more lines for `[server]`.
    pub fn installation(&self, server: &str) -> Rebut {
        let rebut = Rebut::new();
        let models = JUDGES
            .map(|(judge, _)| format!("\"mine:{judge}\""))
            .join(", ");
        rebut.user_config(&format!(
            "[providers.mine]\nbase_url = \"{}\"\n[defaults]\ncalls_per_provider = 100000\n\
             [server]\nmodels = [{models}]\nrequests_per_minute = 1000000\n{server}\n",
            self.server.base_url()
        ));
        rebut
    }

    /// Lets everything go that is held, and holds nothing any more.
    pub fn let_go(&self) {
        self.answers.send_replace(true);
    }

    /// Waits until so many calls have come.
    pub async fn until_asked(&mut self, count: usize) {
        self.asked
            .wait_for(|asked| *asked >= count)
            .await
            .expect("the server lives");
    }

    /// How often each turn was asked for.
    pub fn asked(&self) -> HashMap<Turn, usize> {
        let mut asked = HashMap::new();
        for seen in self
            .server
            .seen()
            .iter()
            .filter(|seen| seen.line.starts_with("POST "))
        {
            *asked.entry(turn_of(&seen.body)).or_default() += 1;
        }
        asked
    }
}

/// The debate of that number. In every third the judges differ and stand by it, so that it has a
/// second round.
pub fn debate(number: usize) -> Value {
    let judges = JUDGES.map(|(judge, _)| json!({"role": judge, "model": format!("mine:{judge}")}));
    let options =
        JUDGES.map(|(judge, option)| json!({"id": option, "label": format!("What {judge} wants")}));
    json!({"format": "decide", "input": {"question": format!("Question \
        {number:04}?"), "options": options}, "agents": judges, "seed": number})
}

/// Whether its judges differ.
pub fn is_split(number: usize) -> bool {
    number % 3 == 1
}

/// The number of a debate, by what its journal says of it.
pub fn number_of(events: &[Value]) -> usize {
    number_in(&events[0].to_string())
}

fn number_in(text: &str) -> usize {
    let (_, rest) = text
        .split_once("Question ")
        .unwrap_or_else(|| panic!("no number: {text}"));
    rest.get(..4)
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no number: {text}"))
}

/// A judge is told by the name of its model.
fn turn_of(body: &str) -> Turn {
    let model = serde_json::from_str::<Value>(body).expect("JSON")["model"]
        .as_str()
        .expect("a model")
        .to_owned();
    let step = if body.contains("The panel did not agree") {
        "challenge 2"
    } else {
        "recommend"
    };
    (number_in(body), format!("{step}/{model}"))
}

fn says((number, turn): &Turn) -> String {
    let own = JUDGES
        .iter()
        .find(|(judge, _)| turn.ends_with(judge))
        .map_or("C", |(_, option)| option);
    let option = if is_split(*number) { own } else { "C" };
    if turn.starts_with("recommend") {
        recommends(option)
    } else {
        responds(option, &[])
    }
}
