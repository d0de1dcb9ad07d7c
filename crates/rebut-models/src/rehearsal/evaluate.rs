//! The turns of an evaluation: passages of the idea are weighed as good or bad news, and each side
//! quotes those that speak for it.

use super::{
    lexicon::tone,
    names::Names,
    passages::{Passage, Side, passages},
    words::{is_common, stem, words},
};
use rebut_engine::{
    agent::Agent,
    clean::{on_one_line, shortened},
    prompt::Prompt,
};
use serde_json::{Value, json};
use std::collections::HashSet;

/// Arguments a side brings at most.
const MOST: usize = 3;

/// A score for each category asked for: how much good news there is for each piece of bad news,
/// what names the category first.
pub fn scores(prompt: &Prompt) -> Value {
    let news = news(prompt);
    let lines = prompt
        .part("categories")
        .unwrap_or("")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let scored = lines.map(|line| {
        let (category, about) = line.split_once(": ").unwrap_or((line, ""));
        let near: HashSet<String> = stems(line);
        // What is not about the category says little about it.
        let weight = |piece: &&Piece<'_>| piece.news.abs() * (0.2 + piece.shared(&near) as f64);
        let (good, bad): (Vec<&Piece<'_>>, Vec<&Piece<'_>>) =
            news.iter().partition(|piece| piece.news > 0.0);
        let sum = |pieces: &[&Piece<'_>]| pieces.iter().map(&weight).sum::<f64>();
        let (up, down) = (sum(&good), sum(&bad));
        let score = 5.5 + 4.5 * (up - down) / (up + down + 2.0);
        let seen = good.len() + bad.len();
        let shown = good
            .iter()
            .chain(&bad)
            .max_by(|one, other| weight(one).total_cmp(&weight(other)));
        let evidence: Vec<String> = shown.map(|piece| piece.quote()).into_iter().collect();
        json!({
            "category": category,
            "score": (score.clamp(1.0, 10.0) * 2.0).round() / 2.0,
            "confidence": (40 + 5 * seen.min(10)) as f64 / 100.0,
            "reason": format!("For {}, {} good and {} bad news stand in the \
                text.", if about.is_empty() { category } else { about }, good.len(), bad.len()),
            "evidence": evidence,
        })
    });
    json!({ "scores": scored.collect::<Vec<_>>() })
}

/// The passages that speak for a side's position, strongest first.
pub fn arguments(agent: &Agent, prompt: &Prompt) -> Value {
    let part = |hole| on_one_line(prompt.part(hole).unwrap_or(""));
    let (topic, position) = (part("topic"), part("position"));
    let attacks = &*agent.role == "challenger";
    let mut found: Vec<Value> = Vec::new();
    for piece in ranked(prompt, &format!("{topic} {position}"), attacks)
        .into_iter()
        .take(MOST)
    {
        let quote = piece.quote();
        let way = if attacks { "against" } else { "for" };
        found.push(json!({
            "claim": format!("On “{topic}”, the text itself speaks {way} the idea: \
                {}", shortened(&quote, 160)),
            "reasoning": format!("{} Whoever reads that has to say: \
                {position}", because(&piece, attacks)),
            "evidence": [quote],
        }));
    }
    let findings = prompt
        .part("challenges")
        .unwrap_or("")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    for finding in findings.filter(|_| attacks).take(MOST) {
        found.push(json!({
            "claim": format!("A red team found: {}", shortened(finding, 200)),
            "reasoning": format!("Nothing in the text answers it. As long as that is so: \
                {position}"),
            "evidence": [],
        }));
    }
    if found.is_empty() {
        let missing = if attacks {
            "no fact that shows the opposite"
        } else {
            "no fact against it"
        };
        found.push(json!({
            "claim": format!("On “{topic}”, there is {missing}."),
            "reasoning": format!("The text leaves it open, which leaves room for this: {position}"),
            "evidence": [],
        }));
    }
    let most = prompt
        .part("most")
        .and_then(|most| most.parse().ok())
        .unwrap_or(MOST);
    found.truncate(most);
    json!({ "arguments": found })
}

/// Answers each argument of the other side: with a passage of one's own where there is one,
/// otherwise by conceding what was quoted.
pub fn answers(agent: &Agent, prompt: &Prompt) -> Value {
    let attacks = &*agent.role == "challenger";
    let topic = on_one_line(prompt.part("topic").unwrap_or(""));
    let mut own = ranked(prompt, &topic, attacks).into_iter();
    let answered =
        argued(prompt.part("other").unwrap_or(""))
            .into_iter()
            .map(
                |(name, argument)| match (own.next(), argument.found > argument.invented) {
                    (Some(piece), _) => json!({
                        "argument": name,
                        "verdict": "attack",
                        "text": format!("That leaves out what weighs more on “{topic}”: \
                            {}", shortened(&piece.quote(), 160)),
                        "evidence": [piece.quote()],
                    }),
                    (None, true) => {
                        json!({"argument": name, "verdict": "concede", "text": "That stands in the \
            text, and nothing in it says otherwise.", "evidence": []})
                    }
                    (None, false) => {
                        json!({"argument": name, "verdict": "attack", "text": "Nothing in the \
            text shows that.", "evidence": []})
                    }
                },
            );
    json!({ "answers": answered.collect::<Vec<_>>() })
}

/// Whoever quoted more and weightier passages argued better; what was conceded or made up counts
/// against its side.
pub fn verdict(prompt: &Prompt) -> Value {
    let texts = ["first", "second"].map(|hole| prompt.part(hole).unwrap_or(""));
    let points = [0, 1].map(|side| {
        let conceded = texts[1 - side]
            .lines()
            .filter(|line| line.starts_with("concedes "))
            .count() as f64;
        let said: f64 = argued(texts[side])
            .iter()
            .map(|(_, argument)| 0.5 + argument.weight - 2.0 * argument.invented as f64)
            .sum();
        said + conceded
    });
    let lead = (points[0] - points[1]).abs() / (points[0].abs() + points[1].abs()).max(1.0);
    let winner = if lead < 0.05 {
        2
    } else {
        usize::from(points[1] > points[0])
    };
    let best = [0, 1]
        .iter()
        .flat_map(|side| argued(texts[*side]))
        .max_by(|(_, one), (_, other)| one.weight.total_cmp(&other.weight));
    let why = match winner {
        2 => "Both sides rest on passages of the same weight.".to_owned(),
        side => format!(
            "Side {} rests on the weightier passages of the text ({:.1} to {:.1}).",
            side + 1,
            points[side],
            points[1 - side]
        ),
    };
    let named = ["1", "2", "draw"][winner];
    let key_points: Vec<String> = best
        .iter()
        .map(|(_, argument)| shortened(argument.claim, 200).into_owned())
        .collect();
    json!({
        "winner": named,
        "reasoning": why,
        "key_points": key_points,
        "confidence": (50.0 + 40.0 * lead.min(1.0)).round() / 100.0,
        "strongest": best.map(|(name, _)| name).unwrap_or_default(),
    })
}

/// A passage of the idea and whether it is good or bad news.
struct Piece<'a> {
    text: &'a str,
    /// The heading it stands under.
    heading: &'a str,
    news: f64,
}

impl Piece<'_> {
    fn quote(&self) -> String {
        on_one_line(self.text)
    }

    fn shared(&self, near: &HashSet<String>) -> usize {
        words(self.heading)
            .chain(words(self.text))
            .filter(|word| near.contains(&stem(word)))
            .count()
    }
}

/// What stands in the idea and leans one way. Shorter pieces show nothing.
fn news(prompt: &Prompt) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    for (heading, body) in sections(prompt.part("context").unwrap_or("")) {
        let pieces = passages(body, &Names::parse(""))
            .into_iter()
            .filter(|passage| words(passage.text).count() > 3);
        found.extend(pieces.map(|passage| Piece {
            text: passage.text,
            heading,
            news: lean(&passage),
        }));
    }
    found.retain(|piece| piece.news.abs() > 0.1);
    found
}

/// The parts of a text, each with the heading it stands under.
fn sections(text: &str) -> Vec<(&str, &str)> {
    let (mut all, mut heading, mut start, mut at) = (Vec::new(), "", 0, 0);
    for line in text.split_inclusive('\n') {
        if line.starts_with('#') {
            all.push((heading, &text[start..at]));
            (heading, start) = (line.trim(), at + line.len());
        }
        at += line.len();
    }
    all.push((heading, &text[start..]));
    all
}

/// Above zero for good news. What is only denied, or said not to be there, is bad.
fn lean(passage: &Passage<'_>) -> f64 {
    const DENIALS: [&str; 6] = ["no", "not", "nobody", "nothing", "never", "none"];
    let filed = match passage.side {
        Side::Pro => 1.0,
        Side::Con => -1.0,
        Side::Open => 0.0,
    };
    let said = tone(passage.text).lenses.iter().sum::<f64>() + filed;
    let denies = words(passage.text)
        .any(|word| DENIALS.iter().any(|known| word.eq_ignore_ascii_case(known)));
    if said.abs() <= 0.1 && denies {
        -0.7
    } else {
        said
    }
}

/// The pieces that speak for one way, those near the topic and the weightiest first.
fn ranked<'a>(prompt: &'a Prompt, about: &str, attacks: bool) -> Vec<Piece<'a>> {
    let near = stems(about);
    let mut fitting: Vec<Piece<'a>> = news(prompt)
        .into_iter()
        .filter(|piece| (piece.news < 0.0) == attacks)
        .collect();
    let rank = |piece: &Piece<'_>| piece.news.abs() * (1.0 + piece.shared(&near) as f64);
    // Stable: of equals, what stands first in the text is said first.
    fitting.sort_by(|one, other| rank(other).total_cmp(&rank(one)));
    fitting.dedup_by(|one, other| one.text == other.text);
    fitting
}

fn because(piece: &Piece<'_>, attacks: bool) -> String {
    let weight = if piece.news.abs() > 1.0 {
        "weighs heavily"
    } else {
        "counts"
    };
    let way = if attacks { "against" } else { "in favour of" };
    format!("This passage {weight} {way} the idea.")
}

fn stems(text: &str) -> HashSet<String> {
    words(text)
        .filter(|word| !is_common(word))
        .map(stem)
        .collect()
}

/// An argument as a prompt shows it.
#[derive(Default)]
struct Shown<'a> {
    claim: &'a str,
    found: usize,
    invented: usize,
    weight: f64,
}

/// The arguments in a prompt: `1#2: claim`, its reason below, then its quotations with what was
/// found. Answers come after them.
fn argued(text: &str) -> Vec<(&str, Shown<'_>)> {
    let mut all: Vec<(&str, Shown<'_>)> = Vec::new();
    let mut in_arguments = true;
    for line in text.lines() {
        let name = line
            .split_once(": ")
            .filter(|(name, _)| name.len() < 8 && name.contains('#') && !name.contains(' '));
        if let Some((name, claim)) = name {
            all.push((
                name,
                Shown {
                    claim,
                    ..Shown::default()
                },
            ));
        } else if !line.starts_with(' ') {
            in_arguments = false;
        } else if let Some((_, shown)) = all.last_mut().filter(|_| in_arguments) {
            let quote = line.trim();
            if let Some(words) = quote.strip_prefix("quotes, found in the idea: ") {
                shown.found += 1;
                shown.weight += tone(words).lenses.iter().sum::<f64>().abs();
            } else if quote.starts_with("quotes, NOT FOUND") {
                shown.invented += 1;
            }
        }
    }
    all
}
