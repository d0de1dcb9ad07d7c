//! The second round: answering the others claim by claim, and changing sides only for a reason that
//! can be named.

use super::{
    case::{Fact, cited},
    lexicon::Weighing,
    panel::{self, Position},
    speech::{Speaker, concern},
};
use rebut_engine::{agent::Agent, model::Fault, prompt::Prompt};
use serde_json::{Value, json};

/// The answer to the other judges.
pub fn respond(agent: &Agent, prompt: &Prompt) -> Result<Value, Fault> {
    let speaker = Speaker::new(agent, prompt)?;
    let letter = |letter: &str| {
        speaker
            .case
            .options()
            .iter()
            .position(|option| option.letter == letter)
    };
    let own = panel::own(prompt.part("own").unwrap_or(""))
        .and_then(|own| letter(own.option).map(|option| (option, own)));
    let (held, own) = own.unwrap_or_else(|| (speaker.verdict.ranking()[0], Position::default()));
    let panel: Vec<(usize, Position<'_>)> = panel::others(prompt.part("others").unwrap_or(""))
        .into_iter()
        .filter_map(|other| letter(other.option).map(|option| (option, other)))
        .collect();
    let hearing = Hearing::new(&speaker, held, &own, &panel);
    let change = hearing.change();
    let now = change.as_ref().map_or(held, |change| change.to);
    let said: Vec<usize> = own
        .claims
        .iter()
        .flat_map(|(_, text)| speaker.case.quoted_in(text))
        .collect();
    let (convinced_by, reason) = change.map_or((Vec::new(), String::new()), |change| {
        (change.because, change.reason)
    });
    Ok(json!({
        "option": speaker.case.options()[now].letter,
        "ranking": speaker.ranking(now),
        "confidence": if now == held { speaker.verdict.confidence(now) } else { 0.6 },
        "summary": speaker.summary(now),
        "claims": speaker.claims(now, if now == held { &said } else { &[] }),
        "challenges": hearing.challenges(now, &convinced_by),
        "convinced_by": convinced_by,
        "change_reason": reason,
        "flips_if": speaker.flips_if(now),
    }))
}

/// One claim of another judge, understood.
struct Heard<'a> {
    by: usize,
    name: &'a str,
    /// The facts of the case it quotes.
    facts: Vec<usize>,
    /// What it adds to each option for somebody who listens.
    effect: Vec<f64>,
}

struct Hearing<'s, 'a> {
    speaker: &'s Speaker<'a>,
    held: usize,
    confidence: f64,
    panel: &'s [(usize, Position<'a>)],
    claims: Vec<Heard<'a>>,
}

struct Change {
    to: usize,
    because: Vec<String>,
    reason: String,
}

/// How much a fact counts through lenses that are not one's own, once somebody has pointed at it.
const LISTENING: f64 = 0.35;
/// What a claim counts that quotes nothing from the case.
const HEARSAY: f64 = 0.3;

impl<'s, 'a> Hearing<'s, 'a> {
    fn new(
        speaker: &'s Speaker<'a>,
        held: usize,
        own: &Position<'a>,
        panel: &'s [(usize, Position<'a>)],
    ) -> Self {
        let mut claims: Vec<Heard<'a>> = Vec::new();
        for (by, (_, position)) in panel.iter().enumerate() {
            for (name, text) in &position.claims {
                // Names must be unique, or a citation would be ambiguous.
                if claims.iter().all(|known| known.name != *name) {
                    claims.push(hear(speaker, by, name, text));
                }
            }
        }
        Self {
            speaker,
            held,
            confidence: own.confidence,
            panel,
            claims,
        }
    }

    fn backers(&self, option: usize) -> usize {
        self.panel
            .iter()
            .filter(|(backed, _)| *backed == option)
            .count()
    }

    /// The scores after listening. A fact counts once, however many judges point at it.
    fn combined(&self) -> Vec<f64> {
        let mut scores = self.speaker.verdict.scores.clone();
        let mut counted: Vec<usize> = Vec::new();
        for claim in &self.claims {
            if claim.facts.is_empty() || claim.facts.iter().any(|fact| !counted.contains(fact)) {
                scores
                    .iter_mut()
                    .zip(&claim.effect)
                    .for_each(|(score, effect)| *score += effect);
                counted.extend(&claim.facts);
            }
        }
        scores
    }

    /// Whether and why to move: another option, close by the own lens too, leads once the others'
    /// evidence is heard.
    fn change(&self) -> Option<Change> {
        let combined = self.combined();
        let scores = &self.speaker.verdict.scores;
        let said = scores.iter().map(|score| score.abs()).fold(0.0, f64::max);
        let near = 0.5 + 0.25 * said;
        let may = |to: &usize| {
            let gap = scores[self.held] - scores[*to];
            // Two judges that hear each other at the same time must not swap sides.
            let surer = self.panel.iter().any(|(option, position)| {
                option == to && position.confidence >= self.confidence + 0.05
            });
            let backed = self.backers(*to) > self.backers(self.held) + 1
                || (self.backers(*to) > self.backers(self.held) && surer);
            *to != self.held && backed && gap < near && combined[*to] > combined[self.held]
        };
        let to = (0..combined.len())
            .filter(may)
            .max_by(|a, b| combined[*a].total_cmp(&combined[*b]))?;
        let mut because: Vec<(&Heard<'_>, f64)> = self
            .claims
            .iter()
            .map(|claim| (claim, claim.effect[to] - claim.effect[self.held]))
            .collect();
        because.retain(|(claim, gain)| *gain > 0.05 && self.panel[claim.by].0 == to);
        because.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.name.cmp(b.0.name)));
        because.truncate(2);
        let (first, _) = because.first()?;
        let point = first.facts.first().map_or_else(
            || "that point".to_owned(),
            |fact| cited(&self.speaker.case.facts[*fact]),
        );
        let reason = format!(
            "{} made me weigh {point}. {} was only narrowly ahead for me, and with that counted {} \
             is ahead.",
            first.name,
            self.speaker.name(self.held),
            self.speaker.name(to)
        );
        Some(Change {
            to,
            because: because
                .iter()
                .map(|(claim, _)| claim.name.to_owned())
                .collect(),
            reason,
        })
    }

    /// At least one answer to each judge that claimed anything.
    fn challenges(&self, now: usize, convinced_by: &[String]) -> Vec<Value> {
        let mut answers = Vec::new();
        for (by, (option, _)) in self.panel.iter().enumerate() {
            let claims: Vec<&Heard<'_>> =
                self.claims.iter().filter(|claim| claim.by == by).collect();
            let (decisive, rest): (Vec<&Heard<'_>>, Vec<&Heard<'_>>) = claims
                .into_iter()
                .partition(|claim| convinced_by.iter().any(|name| name == claim.name));
            answers.extend(
                decisive
                    .iter()
                    .map(|claim| answer(claim, "concede", self.surrender(claim, now))),
            );
            if *option == now {
                let agreed = rest.first().filter(|_| decisive.is_empty());
                answers.extend(
                    agreed.map(|claim| answer(claim, "concede", self.agreement(claim, now))),
                );
                continue;
            }
            let strongest =
                |claim: &&&Heard<'_>| ((claim.effect[*option] - claim.effect[now]) * 1000.0) as i64;
            let Some(target) = rest.iter().rev().max_by_key(strongest) else {
                continue;
            };
            answers.push(answer(target, "attack", self.attack(target, *option, now)));
            let granted = rest.iter().find(|claim| {
                claim.name != target.name && claim.facts.iter().any(|fact| self.holds(*fact))
            });
            answers.extend(granted.map(|claim| answer(claim, "concede", self.grant(claim, now))));
        }
        answers
    }

    /// Whether a fact also counts through this judge's own lens.
    fn holds(&self, fact: usize) -> bool {
        let tone = &self.speaker.case.facts[fact].tone;
        self.speaker.judge.seen(&tone.lenses, tone.serious).abs() > 0.3
    }

    /// What a claim points at, in the words of the case; `None` when it quotes nothing.
    fn point(&self, claim: &Heard<'_>) -> Option<String> {
        claim
            .facts
            .first()
            .map(|fact| cited(&self.speaker.case.facts[*fact]))
    }

    fn surrender(&self, claim: &Heard<'_>, now: usize) -> String {
        let point = self.point(claim).unwrap_or_else(|| "this".to_owned());
        format!(
            "I had given {point} too little weight; it moves me to {}.",
            self.speaker.name(now)
        )
    }

    fn agreement(&self, claim: &Heard<'_>, now: usize) -> String {
        let name = self.speaker.name(now);
        match self.point(claim) {
            Some(point) => {
                format!("{point} stands in the case, and it leads to {name} for me too.")
            }
            None => format!(
                "The case does not say it in so many words, but it leads to {name}, as I do."
            ),
        }
    }

    fn grant(&self, claim: &Heard<'_>, now: usize) -> String {
        let point = self.point(claim).unwrap_or_else(|| "It".to_owned());
        format!(
            "{point} holds, and I count it. It does not outweigh what speaks for {}.",
            self.speaker.name(now)
        )
    }

    fn attack(&self, claim: &Heard<'_>, theirs: usize, now: usize) -> String {
        let speaker = self.speaker;
        let concern = concern(speaker.judge.lens);
        let mine = speaker
            .arguments(now)
            .into_iter()
            .find(|pull| !claim.facts.contains(&pull.fact))
            .map(|pull| cited(&speaker.case.facts[pull.fact]));
        let Some((fact, point)) = claim
            .facts
            .first()
            .map(|fact| &speaker.case.facts[*fact])
            .zip(self.point(claim))
        else {
            return match mine {
                Some(mine) => {
                    format!("The case does not say this. What it does say on {concern} is {mine}.")
                }
                None => {
                    format!(
                        "The case does not say this, so it cannot move me; my own choice of {} \
                         rests on no more.",
                        speaker.name(now)
                    )
                }
            };
        };
        if fact.about.is_empty() {
            return format!(
                "{point} names no option; reading {} out of it is a guess.",
                speaker.name(theirs)
            );
        }
        let praises_theirs = claim.effect[theirs] > 0.0;
        let objection = speaker
            .objection(theirs)
            .filter(|objection| praises_theirs && !claim.facts.contains(&objection.fact));
        match (
            objection.map(|objection| cited(&speaker.case.facts[objection.fact])),
            mine,
        ) {
            (Some(other), _) => format!(
                "{point} is only half of it: the case also says {other} about {}.",
                speaker.name(theirs)
            ),
            (None, Some(mine)) => {
                format!("{point} is in the case, but on {concern} {mine} weighs more.")
            }
            (None, None) => format!("{point} is in the case, but on {concern} it settles nothing."),
        }
    }
}

fn answer(claim: &Heard<'_>, verdict: &str, text: String) -> Value {
    json!({ "claim": claim.name, "verdict": verdict, "text": text })
}

fn hear<'a>(speaker: &Speaker<'a>, by: usize, name: &'a str, text: &'a str) -> Heard<'a> {
    let case = &speaker.case;
    let facts = case.quoted_in(text);
    let mut effect = vec![0.0; case.options().len()];
    for fact in &facts {
        add(speaker, &case.facts[*fact], LISTENING, &mut effect);
    }
    if facts.is_empty() {
        add(speaker, &case.heard(text), HEARSAY * LISTENING, &mut effect);
    }
    Heard {
        by,
        name,
        facts,
        effect,
    }
}

/// Somebody else's view of a fact: all lenses alike.
fn add(speaker: &Speaker<'_>, fact: &Fact<'_>, share: f64, effect: &mut [f64]) {
    let plain: Weighing = fact.tone.lenses;
    let worth = plain.iter().sum::<f64>() * share * fact.source.weight();
    if fact.about.is_empty() {
        let reaches = speaker.case.options().iter().map(|option| option.reach);
        effect
            .iter_mut()
            .zip(reaches)
            .for_each(|(effect, reach)| *effect += 0.45 * worth * reach);
    }
    for (option, strength) in &fact.about {
        effect[*option] += worth * strength;
    }
}
