//! Writing a reply: a walk through its schema, choices first, texts last.

use super::{
    code,
    dice::Dice,
    fields::{self, description},
    material::{Entry, Material, first_words, short},
    phrases::{filled, phrases},
};
use rebut_engine::{agent::Agent, clean::on_one_line, model::Request, prompt::Prompt};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};

/// Schemas nest deeper than this only by mistake.
const DEPTH: usize = 12;

pub struct Writer<'a> {
    agent: &'a Agent,
    prompt: &'a Prompt,
    schema: &'a Value,
    material: Material<'a>,
    /// The same for each throw: what is said.
    steady: Dice,
    /// Another for each throw: what the format's check may refuse.
    thrown: Dice,
    said: HashSet<String>,
    /// What lists of names have taken, by the list.
    taken: BTreeMap<String, Vec<String>>,
    granted: Vec<String>,
    /// The option chosen, and whether it is another than before.
    chosen: Option<(String, bool)>,
    depth: usize,
}

/// What the fields of one object are about.
#[derive(Clone, Default)]
struct Topic<'a> {
    quote: String,
    /// What is answered, where something is.
    name: Option<&'a str>,
    /// Of two sides that are compared, the weight of the one this is about.
    weight: Option<usize>,
    at: usize,
    /// The description of the object around the field.
    about: &'a str,
}

impl<'a> Writer<'a> {
    /// Reads what there is to answer.
    pub fn new(request: &Request<'a>, schema: &'a Value) -> Self {
        let material = Material::of(request.prompt);
        let agent = request.agent;
        let who = [request.turn, &agent.name, &agent.role, &*agent.stance];
        let steady = Dice::new(
            who.into_iter()
                .chain(material.parts().map(|(_, text)| text)),
        );
        Self {
            agent,
            prompt: request.prompt,
            schema,
            material,
            steady,
            thrown: steady,
            said: HashSet::new(),
            taken: BTreeMap::new(),
            granted: Vec::new(),
            chosen: None,
            depth: 0,
        }
    }

    /// A reply of that form; of another number another one.
    pub fn throw(&mut self, number: usize) -> Value {
        self.thrown = self.steady.with(number);
        self.said.clear();
        self.taken.clear();
        self.granted.clear();
        self.chosen = None;
        let topic = self.topic(self.steady.roll("topic", 3));
        self.value(self.schema, "", &topic)
    }

    fn topic(&self, at: usize) -> Topic<'a> {
        let passages = &self.material.passages;
        let start = self.steady.roll("passage", passages.len());
        let quote = match passages.len() {
            0 => "nothing".to_owned(),
            many => on_one_line(passages[(start + at) % many]),
        };
        Topic {
            quote,
            at,
            ..Topic::default()
        }
    }

    fn value(&mut self, schema: &'a Value, field: &str, topic: &Topic<'a>) -> Value {
        let schema = self.resolved(schema);
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        let choices = fields::choices(schema);
        if !choices.is_empty() {
            return self.choice(field, topic, &choices);
        }
        for branches in ["anyOf", "oneOf", "allOf"] {
            if let Some(branches) = schema[branches].as_array() {
                let is_null = |branch: &Value| branch["type"] == "null";
                let real: Vec<&Value> = branches.iter().filter(|one| !is_null(one)).collect();
                let at = self.steady.roll(field, real.len());
                return real
                    .get(at)
                    .map_or(Value::Null, |one| self.value(one, field, topic));
            }
        }
        let kinds = schema["type"].as_array();
        let kind = match kinds {
            Some(kinds) => kinds
                .iter()
                .filter_map(Value::as_str)
                .find(|kind| *kind != "null"),
            None => schema["type"].as_str(),
        };
        match kind {
            Some("null") => Value::Null,
            Some("object") => self.object(schema, topic),
            Some("array") => self.list(schema, field, topic),
            Some("boolean") => (field != "changed" && self.roll(field, topic, 2) == 1).into(),
            Some("integer") => json!(self.number(schema, field, topic, (1.0, 3.0)).round() as i64),
            Some("number") => json!(self.number(schema, field, topic, (0.0, 1.0))),
            None if schema.get("properties").is_some() => self.object(schema, topic),
            _ => self.string(schema, field, topic).into(),
        }
    }

    /// A schema, or what it refers to.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let path = schema["$ref"]
            .as_str()
            .and_then(|path| path.strip_prefix('#'));
        path.and_then(|path| self.schema.pointer(path))
            .unwrap_or(schema)
    }

    fn roll(&self, field: &str, topic: &Topic<'_>, sides: usize) -> usize {
        let name = topic.name.unwrap_or_default();
        self.thrown
            .roll(&format!("{field}/{}/{name}", topic.at), sides)
    }

    fn choice(&mut self, field: &str, topic: &Topic<'a>, choices: &[Value]) -> Value {
        let words: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        if words.len() == choices.len() && self.are_options(&words) {
            return self.option(&words).into();
        }
        if let (Some([one, other]), 3) = (self.sides(), choices.len()) {
            let place = if one > other {
                0
            } else {
                1 + usize::from(one == other)
            };
            return choices[place].clone();
        }
        // Of two throws the earlier word: what comes first in a schema is the milder one.
        let places =
            ["", "again"].map(|more| self.roll(&format!("{field}{more}"), topic, choices.len()));
        let word = choices[places[0].min(places[1])].clone();
        let said = word.as_str().unwrap_or_default().to_lowercase();
        if ["accept", "partial", "concede", "grant"].contains(&said.as_str()) {
            self.granted.push(topic.quote.clone());
        }
        word
    }

    /// The weights of two sides that are compared: the same whichever is shown first.
    fn sides(&self) -> Option<[usize; 2]> {
        let [first, second] = ["first", "second"].map(|side| self.material.part(side));
        Some([weight(first?), weight(second?)])
    }

    fn are_options(&self, words: &[&str]) -> bool {
        let listed = self.material.entries(&["options".to_owned()]);
        words
            .iter()
            .all(|word| listed.iter().any(|entry| entry.name == *word))
    }

    /// The option of this reply: at first any; later mostly the own one, else one that others hold.
    fn option(&mut self, options: &[&str]) -> String {
        if let Some((chosen, _)) = &self.chosen {
            return chosen.clone();
        }
        let held = |line: &str| {
            let is_option = |word: &&str| options.contains(word);
            line.split(|c: char| !c.is_alphanumeric())
                .find(is_option)
                .map(str::to_owned)
        };
        let own = self
            .material
            .part("own")
            .and_then(|own| held(own.lines().next()?));
        let others = self.material.part("others").unwrap_or_default().lines();
        let told = others
            .filter(|line| !line.starts_with(' '))
            .filter_map(held);
        let other: Vec<String> = told.filter(|one| Some(one) != own.as_ref()).collect();
        let stays = other.is_empty() || self.steady.roll("stay", 5) < 2;
        let chosen = match own {
            Some(own) if stays => (own, false),
            Some(_) => (other[self.steady.roll("move", other.len())].clone(), true),
            None => (
                options[self.steady.roll("option", options.len())].to_owned(),
                false,
            ),
        };
        self.chosen.insert(chosen).0.clone()
    }

    fn object(&mut self, schema: &'a Value, topic: &Topic<'a>) -> Value {
        let mut made = Map::new();
        self.depth += 1;
        let all = schema["properties"]
            .as_object()
            .filter(|_| self.depth < DEPTH);
        let mut properties: Vec<(&String, &Value)> = all.into_iter().flatten().collect();
        properties.sort_by_key(|(field, property)| (self.rank(property), *field));
        let topic = Topic {
            about: description(schema),
            ..topic.clone()
        };
        for (field, property) in properties {
            let side = self
                .material
                .part(field)
                .filter(|_| property["type"] == "object");
            let inner = match side {
                Some(side) => Topic {
                    weight: Some(weight(side)),
                    ..topic.clone()
                },
                None => topic.clone(),
            };
            made.insert(field.clone(), self.value(property, field, &inner));
        }
        self.depth -= 1;
        made.into()
    }

    /// Choices come before lists, names before objects, and texts, which speak of all, last.
    fn rank(&self, property: &'a Value) -> u8 {
        let property = self.resolved(property);
        match (&property["type"], &property["items"]) {
            _ if !fields::choices(property).is_empty() => 0,
            (_, items) if items["type"] == "string" => 1,
            (_, items) if items.is_object() => 2,
            _ => 3,
        }
    }

    fn list(&mut self, schema: &'a Value, field: &str, topic: &Topic<'a>) -> Value {
        let (items, about) = (self.resolved(&schema["items"]), description(schema));
        let bound = |key: &str| schema[key].as_u64().map(|count| count as usize);
        let least = bound("minItems").unwrap_or(0);
        if least == 0 && self.is_left_empty(field, about, topic) {
            return json!([]);
        }
        let choices = fields::choices(items);
        if !choices.is_empty() {
            return self.permuted(topic, field, choices);
        }
        let entries = self.answered(items, field, about);
        if items["type"] == "string" && fields::is_name(field, about) {
            let names: Vec<String> = entries.iter().map(|entry| entry.name.to_owned()).collect();
            self.taken.insert(field.to_owned(), names.clone());
            return names.into();
        }
        let (low, high) = fields::count(about).unwrap_or((1, 3));
        let wanted = low.max(2).min(high) + self.steady.roll(field, high - low.min(high) + 1) / 2;
        let is_named = self.name_field(items).is_some();
        let count = match entries.len() {
            0 if items["properties"].get("label").is_some() => self.material.alternatives().len(),
            0 if is_named && least == 0 => 0,
            0 => wanted.min(high),
            many => many,
        };
        let count = count
            .max(least)
            .min(bound("maxItems").unwrap_or(usize::MAX));
        let made = (0..count).map(|at| {
            let topic = match entries.get(at) {
                Some(entry) => self.topic_of(entry, at),
                None if items["type"] == "string" => self.topic(topic.at + at),
                // What lists are made of inside of others does not overlap.
                None => self.topic(topic.at * 3 + at),
            };
            self.value(items, field, &Topic { about, ..topic })
        });
        made.collect::<Vec<Value>>().into()
    }

    /// Whether a list stays empty: what a stub leaves out, what only those fill in who changed
    /// their mind, and by chance what may be.
    fn is_left_empty(&self, field: &str, about: &str, topic: &Topic<'a>) -> bool {
        let sides = match () {
            () if fields::EMPTY.contains(&field) => return true,
            () if about.contains("is kept") => return !self.has_changed(),
            () if about.contains("only when") => 4,
            () if about.contains("empty") => 3,
            () => return false,
        };
        match sides {
            3 => self.roll(field, topic, 3) == 0,
            _ => self.roll(field, topic, 4) > 0,
        }
    }

    fn has_changed(&self) -> bool {
        self.chosen.as_ref().is_some_and(|(_, changed)| *changed)
    }

    /// All choices in some order, what was chosen at their head.
    fn permuted(&mut self, topic: &Topic<'a>, field: &str, choices: Vec<Value>) -> Value {
        let words: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        let head = self.are_options(&words).then(|| self.option(&words));
        let mut ordered = choices.clone();
        let dice = self.steady;
        ordered.sort_by_key(|word| {
            let is_head = word.as_str() == head.as_deref();
            (
                !is_head,
                dice.roll(&format!("{field}/{}/{word}", topic.at), 1000),
            )
        });
        ordered.into()
    }

    /// The field of an object that says what it answers, with its description.
    fn name_field(&self, items: &'a Value) -> Option<(&'a str, &'a str)> {
        let mut fields = items["properties"].as_object()?.iter();
        let named = |(field, property): (&'a String, &'a Value)| {
            let is_text = property["type"] == "string" && fields::choices(property).is_empty();
            let about = description(property);
            let is_name = is_text && fields::is_name(field, about);
            is_name.then_some((field.as_str(), about))
        };
        fields.find_map(named)
    }

    /// What a list answers or names, out of what the prompt lists.
    fn answered(&self, items: &'a Value, field: &str, about: &str) -> Vec<Entry<'a>> {
        let mut entries = match self.name_field(items) {
            Some((name, says)) => fields::named(&self.material, name, says),
            None if fields::is_name(field, about) => fields::named(&self.material, field, about),
            None => return Vec::new(),
        };
        let lower = about.to_lowercase();
        let start = self.steady.roll(field, entries.len());
        match () {
            () if about.contains("is kept") => {
                let chosen = self.chosen.as_ref().map(|(chosen, _)| chosen.as_str());
                let holds = |line: &str| {
                    line.split(|c: char| !c.is_alphanumeric())
                        .any(|word| Some(word) == chosen)
                };
                entries.retain(|entry| holds(entry.under));
                entries.truncate(1);
            }
            () if about.contains("not be applied") => {
                let taken = self.taken.get("applied");
                // What is indented says more of an operation and is none.
                entries.retain(|entry| {
                    entry.under.starts_with(entry.name)
                        && taken.is_some_and(|taken| taken.iter().all(|name| name != entry.name))
                });
            }
            () if about.contains("applied") => {
                let added = self.material.additions();
                entries.retain(|entry| added.iter().any(|(name, _)| *name == entry.name));
            }
            () if lower.starts_with("one ") || about.contains("best first") => {
                if about.contains("best first") {
                    entries.sort_by_key(|entry| self.steady.roll(entry.name, 1000));
                }
            }
            () if lower.contains("at least one") && lower.contains("each") => {
                entries.rotate_left(start);
                let group = |entry: &Entry<'a>| entry.name.split('#').next().unwrap_or_default();
                let mut known = HashSet::new();
                entries.retain(|entry| known.insert(group(entry)));
                entries.sort_by_key(|entry| entry.name);
            }
            () => {
                entries.rotate_left(start);
                entries.truncate(1 + self.steady.roll(&format!("{field} many"), 2));
            }
        }
        entries
    }

    /// What an answer to something listed is about: what that quotes, else what it says.
    fn topic_of(&self, entry: &Entry<'a>, at: usize) -> Topic<'a> {
        let quoted = entry
            .text
            .split_once('“')
            .and_then(|(_, rest)| rest.split_once('”'));
        let told = quoted.map_or_else(|| short(entry.text), |(quote, _)| quote);
        let quote = match told.is_empty() {
            true => self.topic(at).quote,
            false => on_one_line(told),
        };
        Topic {
            quote,
            name: Some(entry.name),
            at,
            ..Topic::default()
        }
    }

    fn number(&self, schema: &Value, field: &str, topic: &Topic<'a>, usual: (f64, f64)) -> f64 {
        let said = fields::numbers(description(schema)).or(fields::numbers(topic.about));
        let (low, high) = said.unwrap_or(usual);
        let low = schema["minimum"].as_f64().unwrap_or(low);
        let high = schema["maximum"].as_f64().unwrap_or(high.max(low));
        if fields::WORTHLESS.contains(&field) {
            return low;
        }
        // Both sides of a comparison get marks by their weight, so that the winner has the better.
        let steps = match topic.weight {
            Some(weight) => weight * 4,
            None => {
                let name = topic.name.unwrap_or_default();
                self.steady
                    .roll(&format!("{field}/{}/{name}", topic.at), 41)
            }
        };
        let share = 0.5 + steps as f64 / 100.0;
        ((low + (high - low) * share) * 100.0).round() / 100.0
    }

    fn string(&mut self, schema: &Value, field: &str, topic: &Topic<'a>) -> String {
        let own = description(schema);
        let about = if own.is_empty() { topic.about } else { own };
        let text = self.text(field, about, topic);
        let bound = |key: &str| schema[key].as_u64().map(|count| count as usize);
        let text: String = text
            .chars()
            .take(bound("maxLength").unwrap_or(usize::MAX))
            .collect();
        let missing = bound("minLength")
            .unwrap_or(0)
            .saturating_sub(text.chars().count());
        text + &".".repeat(missing)
    }

    fn text(&mut self, field: &str, about: &str, topic: &Topic<'a>) -> String {
        if fields::is_name(field, about) {
            let listed = fields::named(&self.material, field, about);
            let is_listed = |name: &&str| listed.iter().any(|entry| entry.name == *name);
            let any = listed
                .get(self.steady.roll(field, listed.len()))
                .map(|entry| entry.name);
            if let Some(name) = topic.name.filter(is_listed).or(any) {
                return name.to_owned();
            }
        }
        let is_free = self.material.part("options").is_some() && self.chosen.is_none();
        match field {
            "title" if self.material.passages.is_empty() => {
                let line = self.agent.brief.lines().next().unwrap_or_default();
                return line.trim_start_matches(['#', ' ']).to_owned();
            }
            "code" => return code::stub(self.agent, self.prompt),
            "test" | "tests" => return code::test(self.prompt),
            "approach" => return code::approach(self.agent, self.prompt),
            "label" if self.material.part("question").is_some() => {
                let labels = self.material.alternatives();
                let place = topic.at % labels.len().max(1);
                return self.unsaid(labels.get(place).cloned().unwrap_or_default(), topic);
            }
            "answer" if is_free => {
                let answers = self.material.alternatives();
                return answers[self.steady.roll("answer", answers.len())].clone();
            }
            "location" => return String::new(),
            _ => {}
        }
        match () {
            () if about.contains("is kept") && !self.has_changed() => String::new(),
            () if about.contains("word for word") || about.contains("literally") => {
                let stands = |passage: &&str| on_one_line(passage) == topic.quote;
                match self.material.passages.iter().any(stands) {
                    true => topic.quote.clone(),
                    false => self.topic(topic.at).quote,
                }
            }
            () if about.to_lowercase().contains("whole") => self.revised(field, topic),
            () if about.contains("as it is now") => self.moved(field, topic),
            () if about.contains("words") => self.label(about, topic),
            () => self.sentence(field, topic),
        }
    }

    /// A few words of the passage, as they stand there.
    fn label(&mut self, about: &str, topic: &Topic<'a>) -> String {
        let most = fields::count(about).map_or(2, |(_, most)| most.min(3));
        let start = topic.quote.find(|c: char| c.is_alphanumeric()).unwrap_or(0);
        let telling = topic.quote[start..]
            .split(' ')
            .position(|word| word.chars().count() > 3);
        let skipped: usize = topic.quote[start..]
            .split(' ')
            .take(telling.unwrap_or(0))
            .map(|word| word.len() + 1)
            .sum();
        let rest = topic.quote.get(start + skipped..).unwrap_or_default();
        let label = first_words(rest, most)
            .trim_matches([',', '.', ':', ';', ' '])
            .to_owned();
        self.unsaid(label, topic)
    }

    /// A text that was not said in this reply.
    fn unsaid(&mut self, text: String, topic: &Topic<'a>) -> String {
        let mut new = text.clone();
        let mut number = topic.at + 1;
        while !self.said.insert(new.to_lowercase()) {
            number += 1;
            new = format!("{text} {number}");
        }
        new
    }

    /// A sentence around the passage; another one where that was said.
    fn sentence(&mut self, field: &str, topic: &Topic<'a>) -> String {
        let chosen = self.chosen.as_ref().map(|(chosen, _)| chosen.clone());
        let phrases = phrases(field, chosen.is_some());
        let start = self
            .steady
            .roll(&format!("{field}/{}", topic.at), phrases.len());
        let chosen = chosen.unwrap_or_default();
        for more in 0..phrases.len() {
            let phrase = phrases[(start + more) % phrases.len()];
            let text = filled(phrase, &topic.quote, &chosen);
            if self.said.insert(text.to_lowercase()) {
                return text;
            }
        }
        self.unsaid(filled(phrases[start], &topic.quote, &chosen), topic)
    }

    /// The text of the prompt with what was asked for at its end.
    fn revised(&mut self, field: &str, topic: &Topic<'a>) -> String {
        let before = [field, "text", "current"]
            .into_iter()
            .find_map(|part| self.material.part(part));
        let added: Vec<String> = self
            .material
            .additions()
            .into_iter()
            .map(|(_, words)| format!("- {}", on_one_line(words)))
            .collect();
        let added = if added.is_empty() {
            self.sentence(field, topic)
        } else {
            added.join("\n")
        };
        match before {
            Some(before) => format!("{}\n\n{added}", before.trim_end()),
            None => added,
        }
    }

    /// What was said before, with what was granted since.
    fn moved(&mut self, field: &str, topic: &Topic<'a>) -> String {
        let Some(before) = self.material.part(field) else {
            return self.sentence(field, topic);
        };
        let new = self
            .granted
            .iter()
            .filter(|quote| !before.contains(quote.as_str()));
        let mut new: Vec<String> = new.map(|quote| format!("“{quote}”")).collect();
        new.dedup();
        match (self.granted.is_empty(), new.is_empty()) {
            (true, _) => before.to_owned(),
            (false, true) => format!("{} That stays so.", before.trim_end()),
            (false, false) => {
                let before = before.trim_end().trim_end_matches('.');
                format!("{before}; this meets {}.", new.join(" and "))
            }
        }
    }
}

/// What a side weighs, from 0 to 10.
fn weight(text: &str) -> usize {
    Dice::new([fields::letters(text).as_str()]).roll("weight", 11)
}
