//! The turns of a challenge: a position out of the text, objections that quote what speaks against
//! it, answers that look whether it does.

use super::{
    case::{cited, quoted},
    draft,
    lexicon::tone,
    speech::Speaker,
    words::{hash, is_common, stem, words},
};
use rebut_engine::{agent::Agent, clean::on_one_line, model::Fault, prompt::Prompt};
use serde_json::{Value, json};

/// The proof that a persona was read: its first line.
pub fn ready(agent: &Agent) -> Value {
    json!({ "title": agent.brief.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']) })
}

/// The proposer's position: what the topic asks for, where it asks for something; else the best of
/// what the text offers, or of doing more or less.
pub fn opening(agent: &Agent, prompt: &Prompt) -> Result<Value, Fault> {
    let options = Options::drafted(prompt);
    let speaker = Speaker::choosing_from(agent, prompt, &options.lines)?;
    let topic = on_one_line(prompt.part("question").unwrap_or_default());
    let named = options.meant_by(&topic);
    if named.is_none() && !topic.contains(['?', '？']) {
        return Ok(stated(&topic, &speaker));
    }
    let chosen = named.unwrap_or_else(|| speaker.verdict.ranking()[0]);
    let arguments = speaker.arguments(chosen);
    let against = speaker
        .objection(chosen)
        .map(|pull| cited(&speaker.case.facts[pull.fact]));
    let confidence = match speaker.verdict.confidence(chosen) {
        sure if sure > 0.75 => "HIGH",
        sure if sure > 0.6 => "MED",
        _ => "LOW",
    };
    let rests_on = arguments.iter().take(2).map(|pull| {
        format!(
            "{} holds as it is written.",
            cited(&speaker.case.facts[pull.fact])
        )
    });
    let mut assumptions: Vec<String> = rests_on.collect();
    if assumptions.is_empty() {
        assumptions.push(format!(
            "What the text leaves out speaks no more for another way than for “{}”.",
            options.labels[chosen]
        ));
    }
    Ok(json!({
        "position": format!("Go with “{}”.", options.labels[chosen]),
        "reasoning": speaker.claims(chosen, &[]).into_iter().map(|said| options.plain(&speaker, said)).collect::<Vec<_>>(),
        "confidence": confidence,
        "weaknesses": [against.map_or_else(
            || "The text says nothing against it, which may only mean that nobody has \
                looked.".to_owned(),
            |against| format!("Against it stands {against}."),
        )],
        "assumptions": assumptions,
    }))
}

/// The position that a topic states by itself, and what of the text is about it.
fn stated(topic: &str, speaker: &Speaker<'_>) -> Value {
    let own: Vec<String> = words(topic)
        .filter(|word| !is_common(word))
        .map(stem)
        .collect();
    let about: Vec<_> = speaker
        .case
        .facts
        .iter()
        .filter(|fact| words(fact.text).any(|word| own.contains(&stem(word))))
        .collect();
    let (good, bad): (Vec<_>, Vec<_>) = about
        .into_iter()
        .partition(|fact| speaker.judge.seen(&fact.tone.lenses, fact.tone.serious) >= 0.0);
    let mut reasoning: Vec<String> = good
        .iter()
        .take(3)
        .map(|fact| format!("The text says {}.", cited(fact)))
        .collect();
    if reasoning.is_empty() {
        reasoning.push(
            "The topic asks for it, and the text names nothing that rules it out.".to_owned(),
        );
    }
    let weakness = bad
        .first()
        .map(|fact| format!("Against it stands {}.", cited(fact)));
    json!({
        "position": format!("{}.", topic.trim().trim_end_matches('.')),
        "reasoning": reasoning,
        "confidence": if good.len() > bad.len() { "MED" } else { "LOW" },
        "weaknesses": [weakness.unwrap_or_else(|| "The text hardly speaks of it.".to_owned())],
        "assumptions": [good.first().map_or_else(
            || "What the text leaves out does not speak against it.".to_owned(),
            |fact| format!("{} holds as it is written.", cited(fact)),
        )],
    })
}

/// A challenger's verdict: what of the text looks bad through its own lens and bears on the
/// position.
pub fn critique(agent: &Agent, prompt: &Prompt) -> Result<Value, Fault> {
    let options = Options::drafted(prompt);
    let speaker = Speaker::choosing_from(agent, prompt, &options.lines)?;
    let chosen = options.named_in(prompt.part("position").unwrap_or_default());
    let aspects = aspects(&agent.brief);
    let found = worries(agent, &speaker, chosen, &aspects);
    let Some(worst) = found.iter().map(|worry| worry.weight).reduce(f64::max) else {
        return Ok(agreement(&aspects, &speaker));
    };
    let strength = match worst {
        _ if found.iter().any(|worry| worry.serious) => "strong",
        weight if weight > MODERATE => "moderate",
        _ => "minor",
    };
    let objections: Vec<Value> = found
        .iter()
        .map(|worry| {
            let (name, quote) = (aspect_for(&aspects, worry.text).0, quoted(worry.text));
            let end = match worry {
                Worry { serious: true, .. } => "people or their data may come to harm by it",
                Worry {
                    of_another: true, ..
                } => {
                    "that is a merit of another way, which the \
                    position gives up"
                }
                _ => "the position does not say how it is met",
            };
            json!({ "aspect": name, "text": format!("On {name}: the text says “{quote}”, and \
                {end}.") })
        })
        .collect();
    Ok(json!({
        "verdict": if strength == "strong" { "disagree" } else { "partial" },
        "strength": strength,
        "objections": objections,
        "checked": checked(&aspects, &speaker),
        "summary": format!("“{}” is not answered.", quoted(found[0].text)),
        "confidence": if strength == "minor" { 0.6 } else { 0.75 },
    }))
}

/// Something in the text that worries a challenger.
struct Worry<'a> {
    text: &'a str,
    /// How much.
    weight: f64,
    /// Whether people or their data could come to harm.
    serious: bool,
    /// Whether it praises another way rather than blaming the position.
    of_another: bool,
}

/// Below this nothing is worth an objection.
const SLIGHT: f64 = 0.15;
/// Above this an objection is more than minor.
const MODERATE: f64 = 0.5;

/// What worries a challenger most, one or two: what looks bad through its lens and bears on the
/// position, or good and bears on another. What its aspects speak of comes first, and each
/// challenger has a taste of its own.
fn worries<'a>(
    agent: &Agent,
    speaker: &Speaker<'a>,
    chosen: Option<usize>,
    aspects: &[(&str, &str)],
) -> Vec<Worry<'a>> {
    let mut found: Vec<(f64, Worry<'a>)> = Vec::new();
    for fact in &speaker.case.facts {
        let looks = speaker.judge.seen(&fact.tone.lenses, fact.tone.serious);
        let is_of = |wanted: bool| {
            fact.about
                .iter()
                .any(|(option, strength)| (Some(*option) == chosen) == wanted && *strength > 0.0)
        };
        let of_another = !is_of(true) && is_of(false);
        let weight = if of_another { 0.6 * looks } else { -looks };
        if weight > SLIGHT && found.iter().all(|(_, known)| known.text != fact.text) {
            let taste = (hash(&[&agent.name, fact.text]) % 100) as f64 / 100.0;
            let rank = weight + 0.25 * aspect_for(aspects, fact.text).1 as f64 + 0.8 * taste;
            found.push((
                rank,
                Worry {
                    text: fact.text,
                    weight,
                    serious: fact.tone.serious && !of_another,
                    of_another,
                },
            ));
        }
    }
    found.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.text.cmp(other.text)));
    found.into_iter().map(|(_, worry)| worry).take(2).collect()
}

/// The proposer's answers: what the text says of the position is accepted, what it says of
/// everything in part, what it does not say is not.
pub fn confrontation(prompt: &Prompt) -> Value {
    let part = |hole: &str| prompt.part(hole).unwrap_or_default();
    let (context, before) = (
        on_one_line(part("context")),
        part("position").trim().trim_end_matches('.'),
    );
    let mut position = before.to_owned();
    let mut answers = Vec::new();
    for Line { id, aspect, text } in lines(part("objections")) {
        let quote = quote_in(text).filter(|quote| context.contains(quote.trim_end_matches('…')));
        let names_it = |quote: &&str| {
            words(before)
                .filter(|word| !is_common(word))
                .map(stem)
                .any(|own| words(quote).any(|word| stem(word) == own))
        };
        let (verdict, how, why) = match quote {
            Some(quote) if before.contains(quote) => (
                "REJECT",
                "",
                format!("“{quote}” is in the position already, and nothing new was said."),
            ),
            Some(quote) if text.contains("merit of another way") => (
                "PARTIAL",
                "take over what fits of",
                format!("“{quote}” is true of another way; as much of it as fits is taken over."),
            ),
            Some(quote) if names_it(&quote) || !tone(quote).serious => (
                "ACCEPT",
                "meet",
                format!("“{quote}” stands in the text; it is met before anything else is done."),
            ),
            Some(quote) => (
                "PARTIAL",
                "watch",
                format!(
                    "“{quote}” stands in the text, but it is true of every way; it is watched, not \
                     solved."
                ),
            ),
            None => (
                "REJECT",
                "",
                "The text does not say this, so the position cannot rest on it.".to_owned(),
            ),
        };
        if let Some(quote) = quote.filter(|quote| verdict != "REJECT" && !position.contains(*quote))
        {
            position.push_str(&format!("; {how} “{quote}” ({aspect})"));
        }
        answers.push(json!({ "objection": id, "verdict": verdict, "why": why }));
    }
    json!({ "answers": answers, "position": format!("{position}."), "confidence": "MED" })
}

/// A dissenter's rejoinder: what was rejected, and what is serious and only half met, still stands.
pub fn rebuttal(prompt: &Prompt) -> Value {
    let answers = prompt.part("answers").unwrap_or_default();
    let mut maintained: Vec<&str> = Vec::new();
    let mut objection: Option<Line<'_>> = None;
    for line in answers.lines() {
        let answer = line.strip_prefix("  ");
        match (answer, &objection) {
            (None, _) => objection = lines(line).next(),
            (Some(answer), Some(open)) => {
                let half_met = answer.starts_with("PARTIAL")
                    && quote_in(open.text).is_some_and(|quote| tone(quote).serious);
                if half_met || !(answer.starts_with("ACCEPT") || answer.starts_with("PARTIAL")) {
                    maintained.push(open.id);
                }
            }
            _ => {}
        }
    }
    let (verdict, why) = match maintained.as_slice() {
        [] => (
            "ACCEPT",
            "What I objected to is met in the position now.".to_owned(),
        ),
        names => (
            "MAINTAIN",
            format!(
                "{} is not met: watching harm is not preventing it.",
                names.join(" and ")
            ),
        ),
    };
    json!({ "verdict": verdict, "why": why, "maintained": maintained, "new_objections": [], "confidence": 0.7 })
}

/// What a side rests on: the words it quoted.
pub fn grounds(agent: &Agent, prompt: &Prompt) -> Value {
    let part = |hole: &str| prompt.part(hole).unwrap_or_default();
    let proposes = &*agent.role == "proposer" || part("side").contains("proposed");
    let open: Vec<Line<'_>> = lines(part("objections")).collect();
    let own: Vec<&Line<'_>> = open
        .iter()
        .filter(|line| line.id.starts_with(&*agent.name))
        .collect();
    let quotes: Vec<&str> = own.iter().filter_map(|line| quote_in(line.text)).collect();
    let first = open
        .iter()
        .find_map(|line| quote_in(line.text))
        .unwrap_or("what was objected");
    let position = on_one_line(part("position"));
    let (why, other, text) = match (proposes, quotes.first()) {
        (true, _) => (
            format!("I hold that “{first}” can be lived with."),
            format!("“{first}” happens often enough to hurt"),
            format!("“{first}” stays rare enough for: {position}"),
        ),
        (false, Some(quote)) => (
            format!("“{quote}” is not met by the position."),
            format!("“{quote}” never happens in practice"),
            format!("“{quote}” will happen to those who follow: {position}"),
        ),
        (false, None) => (
            "The position does not answer me.".to_owned(),
            "nobody is harmed by it".to_owned(),
            "What I objected to will matter.".to_owned(),
        ),
    };
    json!({ "why": why, "other_right_if": other, "assumptions": [{ "text": text, "falsified_by": format!("counting how often “{first}” really occurs") }] })
}

/// Options drafted from the text, as the speaker reads them.
struct Options {
    labels: Vec<String>,
    lines: String,
}

impl Options {
    fn drafted(prompt: &Prompt) -> Self {
        let drafted = draft::options(prompt);
        let labels: Vec<String> = drafted["options"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|option| option["label"].as_str())
            .map(on_one_line)
            .collect();
        let lines = ('A'..='Z')
            .zip(&labels)
            .map(|(letter, label)| format!("{letter}. {label}"))
            .collect::<Vec<_>>()
            .join("\n");
        Self { labels, lines }
    }

    /// Without the letters, which are nobody's but ours.
    fn plain(&self, speaker: &Speaker<'_>, said: String) -> String {
        (0..self.labels.len()).fold(said, |said, option| {
            said.replace(&speaker.name(option), &format!("“{}”", self.labels[option]))
        })
    }

    /// The option a position is for.
    /// The option whose every word stands in the topic; of several the longest.
    fn meant_by(&self, topic: &str) -> Option<usize> {
        let said: Vec<String> = words(topic).map(stem).collect();
        let is_meant = |label: &str| {
            words(label).count() > 0 && words(label).map(stem).all(|word| said.contains(&word))
        };
        let meant = self
            .labels
            .iter()
            .enumerate()
            .filter(|(_, label)| is_meant(label));
        meant.max_by_key(|(_, label)| label.len()).map(|(at, _)| at)
    }

    fn named_in(&self, position: &str) -> Option<usize> {
        self.labels
            .iter()
            .position(|label| position.contains(label.as_str()))
    }
}

/// The aspects of a persona: name and what to look for.
fn aspects(brief: &str) -> Vec<(&str, &str)> {
    let listed = brief
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(':'))
        .map(|(name, looks)| (name.trim(), looks.trim()));
    let found: Vec<(&str, &str)> = listed.collect();
    if found.is_empty() {
        vec![("my angle", "")]
    } else {
        found
    }
}

/// The aspect that shares most words with a text; with none, one that is the same every time.
fn aspect_for<'a>(aspects: &[(&'a str, &'a str)], text: &str) -> (&'a str, usize) {
    let own: Vec<String> = words(text)
        .filter(|word| !is_common(word))
        .map(stem)
        .collect();
    let shared = |(name, looks): &(&str, &str)| {
        words(name)
            .chain(words(looks))
            .filter(|word| !is_common(word))
            .filter(|word| own.contains(&stem(word)))
            .count()
    };
    let best = aspects
        .iter()
        .map(|aspect| (aspect.0, shared(aspect)))
        .max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name)));
    match best {
        Some((name, count)) if count > 0 => (name, count),
        _ => (
            aspects[(hash(&[text]) % aspects.len() as u64) as usize].0,
            0,
        ),
    }
}

/// What was looked at under each aspect: the sentence nearest to it, or that there is none.
fn checked(aspects: &[(&str, &str)], speaker: &Speaker<'_>) -> Vec<Value> {
    let closest = |aspect: &(&str, &str)| {
        let facts = speaker.case.facts.iter().map(|fact| {
            (
                aspect_for(std::slice::from_ref(aspect), fact.text).1,
                fact.text,
            )
        });
        facts
            .max_by_key(|(count, text)| (*count, std::cmp::Reverse(*text)))
            .filter(|(count, _)| *count > 0)
    };
    let found = |aspect: &(&str, &str)| match closest(aspect) {
        Some((_, text)) => format!("Nearest to it the text says “{}”.", quoted(text)),
        None => format!("The text says nothing about {}.", aspect.0),
    };
    aspects
        .iter()
        .map(|aspect| json!({ "aspect": aspect.0, "found": found(aspect) }))
        .collect()
}

fn agreement(aspects: &[(&str, &str)], speaker: &Speaker<'_>) -> Value {
    json!({
        "verdict": "agree",
        "strength": "none",
        "objections": [],
        "checked": checked(aspects, speaker),
        "summary": format!("Nothing in the text speaks against it on \
            {}.", aspects.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")),
        "confidence": 0.6,
    })
}

/// One objection as a prompt lists it: `architect·1·#2 (aspect): text`.
struct Line<'a> {
    id: &'a str,
    aspect: &'a str,
    text: &'a str,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(|line| {
        let (id, rest) = line.split_once(" (")?;
        let (aspect, text) = rest.split_once("): ")?;
        id.contains('#').then_some(Line { id, aspect, text })
    })
}

/// The first quotation in a text.
fn quote_in(text: &str) -> Option<&str> {
    text.split_once('“')?
        .1
        .split_once('”')
        .map(|(quote, _)| quote)
        .filter(|quote| !quote.trim().is_empty())
}
