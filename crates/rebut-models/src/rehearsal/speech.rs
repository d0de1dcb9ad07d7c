//! Putting a verdict into words: claims that quote the text, an honest word where the text is
//! silent.

use super::{
    case::{Case, Fact, Source, cited, quoted},
    lexicon::{LENSES, Lens},
    passages::Side,
    verdict::{Judge, Pull, Verdict},
    words::hash,
};
use rebut_engine::{
    agent::Agent,
    clean::{on_one_line, shortened},
    model::{Fault, FaultKind},
    prompt::Prompt,
};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The first, blind recommendation.
pub fn recommend(agent: &Agent, prompt: &Prompt) -> Result<Value, Fault> {
    let speaker = Speaker::new(agent, prompt)?;
    let chosen = speaker.verdict.ranking()[0];
    Ok(json!({
        "option": speaker.case.options()[chosen].letter,
        "ranking": speaker.ranking(chosen),
        "confidence": speaker.verdict.confidence(chosen),
        "summary": speaker.summary(chosen),
        "claims": speaker.claims(chosen, &[]),
        "flips_if": speaker.flips_if(chosen),
    }))
}

/// A judge with a case and a verdict on it.
pub struct Speaker<'a> {
    /// What the prompt holds.
    pub case: Case<'a>,
    /// Who speaks.
    pub judge: Judge,
    /// What they think.
    pub verdict: Verdict,
}

/// Arguments for one side; one more is kept for what speaks against it.
const ARGUMENTS: usize = 3;

impl<'a> Speaker<'a> {
    /// Reads the prompt and weighs it.
    pub fn new(agent: &Agent, prompt: &'a Prompt) -> Result<Self, Fault> {
        Self::choosing_from(agent, prompt, prompt.part("options").unwrap_or(""))
    }

    /// The same with options that the prompt does not list itself.
    pub fn choosing_from(
        agent: &Agent,
        prompt: &'a Prompt,
        options: &'a str,
    ) -> Result<Self, Fault> {
        let case = Case::read(prompt, options).ok_or_else(|| {
            Fault::new(
                FaultKind::Unavailable,
                "the built-in rehearsal found no options in the prompt; list them as `A. Label — \
                 description`",
            )
        })?;
        let judge = Judge::of(agent);
        let verdict = judge.weigh(&case);
        Ok(Self {
            case,
            judge,
            verdict,
        })
    }

    /// An option by letter and label.
    pub fn name(&self, option: usize) -> String {
        let choice = &self.case.options()[option];
        format!(
            "{} ({})",
            choice.letter,
            shortened(&on_one_line(choice.label), 48)
        )
    }

    /// The pulls that argue for an option or against its rivals, the closest rival first: one per
    /// fact, strongest first.
    pub fn arguments(&self, chosen: usize) -> Vec<Pull> {
        let rival = self.rival(chosen);
        let hurt: HashSet<usize> = self
            .verdict
            .pulls
            .iter()
            .filter(|pull| pull.option == chosen && pull.weight < 0.0)
            .map(|pull| pull.fact)
            .collect();
        let force = |pull: &Pull| match pull.option {
            option if option == chosen => pull.weight.abs(),
            option if Some(option) == rival => 0.9 * pull.weight.abs(),
            _ => 0.5 * pull.weight.abs(),
        };
        let helps = |pull: &&Pull| {
            (pull.option == chosen) == (pull.weight > 0.0) && (pull.direct || pull.option == chosen)
        };
        // A fact that hits the chosen option too argues for nobody.
        let mut helpful: Vec<Pull> = self
            .verdict
            .pulls
            .iter()
            .filter(helps)
            .filter(|pull| !hurt.contains(&pull.fact))
            .copied()
            .collect();
        helpful.sort_by(|a, b| force(b).total_cmp(&force(a)));
        let mut found: Vec<Pull> = Vec::new();
        for pull in helpful {
            let told = found.iter().any(|known| {
                known.fact == pull.fact || self.case.facts[known.fact].versus == Some(pull.fact)
            });
            if !told {
                found.push(pull);
            }
            if found.len() > 2 * ARGUMENTS {
                break;
            }
        }
        found
    }

    /// The best of the other options.
    fn rival(&self, chosen: usize) -> Option<usize> {
        self.verdict
            .ranking()
            .into_iter()
            .find(|option| *option != chosen)
    }

    /// What speaks most against an option.
    pub fn objection(&self, option: usize) -> Option<&Pull> {
        self.verdict
            .pulls
            .iter()
            .find(|pull| pull.option == option && pull.weight < -0.2)
    }

    /// One to five claims for an option. Facts already `said` come after the strongest only if
    /// nothing new is left.
    pub fn claims(&self, chosen: usize, said: &[usize]) -> Vec<String> {
        let arguments = self.arguments(chosen);
        let (new, old): (Vec<Pull>, Vec<Pull>) = arguments
            .into_iter()
            .partition(|pull| !said.contains(&pull.fact));
        let mut claims: Vec<String> = new
            .iter()
            .chain(&old)
            .take(ARGUMENTS)
            .map(|pull| self.claim(pull))
            .collect();
        if let Some(silence) = self.silence(chosen) {
            claims.push(silence);
        }
        if let Some(objection) = self.objection(chosen).filter(|_| !claims.is_empty()) {
            let fact = &self.case.facts[objection.fact];
            claims.push(format!(
                "Against {} stands {}; I take that into account and find it outweighed.",
                self.name(chosen),
                cited(fact)
            ));
        }
        if claims.is_empty() {
            claims.push(format!(
                "What the case says speaks for no option more than for {}.",
                self.name(chosen)
            ));
        }
        claims
    }

    fn claim(&self, pull: &Pull) -> String {
        let fact = &self.case.facts[pull.fact];
        let name = self.name(pull.option);
        let says = self.says(fact, pull.option);
        if !pull.direct {
            let step = if self.case.options()[pull.option].reach > 0.0 {
                "goes further"
            } else {
                "stays smaller"
            };
            return format!(
                "{says}. That names no option, yet it speaks for {name}, which {step} than the \
                 rest."
            );
        }
        if let Some(other) = fact.versus.map(|other| &self.case.facts[other]) {
            let rival = other.about.first().map_or_else(
                || "another option".to_owned(),
                |(rival, _)| self.name(*rival),
            );
            let end = if pull.weight > 0.0 {
                "is the better figure"
            } else {
                "is the worse figure"
            };
            let whom = if fact.topic.is_empty() {
                format!("for {name} that")
            } else {
                "that".to_owned()
            };
            return format!(
                "{says}, where {rival} has “{}”: {whom} {end}.",
                quoted(other.text)
            );
        }
        // A table's claim has named the option already.
        let whom = if fact.topic.is_empty() {
            name
        } else {
            "it".to_owned()
        };
        format!("{says}: {}.", self.meaning(fact, pull, &whom))
    }

    /// Who says it, in which words.
    fn says(&self, fact: &Fact<'_>, option: usize) -> String {
        let quote = quoted(fact.text);
        match (fact.source, fact.side) {
            (Source::Note, _) => format!("A human note says “{quote}”"),
            (Source::Description, _) => format!(
                "The description of {} says “{quote}”",
                self.case.options()[option].letter
            ),
            _ if !fact.topic.is_empty() => format!(
                "Under “{}” the table has “{quote}” for {}",
                quoted(fact.topic),
                self.name(option)
            ),
            (_, Side::Pro) => format!("The context lists “{quote}” among the advantages"),
            (_, Side::Con) => format!("The context lists “{quote}” among the drawbacks"),
            _ => format!("The context says “{quote}”"),
        }
    }

    /// What a fact means for an option, through the lens that made it count.
    fn meaning(&self, fact: &Fact<'_>, pull: &Pull, name: &str) -> String {
        let counts = |lens: &Lens| {
            (fact.tone.lenses[*lens as usize] * self.judge.weights[*lens as usize]).abs()
        };
        let lens = LENSES
            .into_iter()
            .max_by(|a, b| counts(a).total_cmp(&counts(b)))
            .unwrap_or(Lens::Value);
        let variants = match (lens, pull.weight > 0.0) {
            (Lens::Risk, true) => [
                format!("that takes risk out of {name}"),
                format!("with {name} there is less that can go wrong"),
            ],
            (Lens::Risk, false) => [
                format!("that is a way for {name} to go wrong"),
                format!("whoever picks {name} takes that risk along"),
            ],
            (Lens::Value, true) => [
                format!("that is a gain {name} brings"),
                format!("this is what makes {name} worth having"),
            ],
            (Lens::Value, false) => [
                format!("{name} gives something up here"),
                format!("that makes {name} worth less"),
            ],
            (Lens::Effort, true) => [
                format!("that keeps {name} cheap to do and to run"),
                format!("{name} saves work here"),
            ],
            (Lens::Effort, false) => [
                format!("that is work {name} has to pay for"),
                format!("{name} costs more than it looks"),
            ],
        };
        let [one, other] = variants;
        if hash(&[fact.text]).is_multiple_of(2) {
            one
        } else {
            other
        }
    }

    /// An honest word when nothing in the text speaks to this judge's own concern.
    fn silence(&self, chosen: usize) -> Option<String> {
        let concern = concern(self.judge.lens);
        let heard = self.verdict.pulls.iter().any(|pull| match self.judge.lens {
            Some(lens) => self.case.facts[pull.fact].tone.lenses[lens as usize].abs() > 0.05,
            None => true,
        });
        if heard {
            return None;
        }
        let reach = self.case.options()[chosen].reach;
        let guess = match reach {
            _ if reach > 0.05 => "sounds like the larger step, which promises more",
            _ if reach < -0.05 => {
                "sounds like the smaller step, which leaves less to pay for and less to break"
            }
            _ => "sounds neither larger nor smaller than the rest, so this is close to a coin toss",
        };
        Some(format!(
            "The context says nothing about {concern}; going by the names alone, {} {guess}.",
            self.name(chosen)
        ))
    }

    /// The reason in one sentence.
    pub fn summary(&self, chosen: usize) -> String {
        let name = self.name(chosen);
        let praise = match self.judge.lens {
            Some(Lens::Risk) => "leaves the least to go wrong",
            Some(Lens::Value) => "gives the most",
            Some(Lens::Effort) => "gives the most for the work it takes",
            None => "stands best when everything is weighed",
        };
        let arguments = self.arguments(chosen);
        let Some(first) = arguments.first() else {
            return format!(
                "Nothing in the context tells the options apart on {}; I lean to {name} by its \
                 name.",
                concern(self.judge.lens)
            );
        };
        let own = arguments
            .iter()
            .find(|pull| pull.option == chosen && pull.weight > 0.5 * first.weight.abs())
            .unwrap_or(first);
        let fact = cited(&self.case.facts[own.fact]);
        if own.option == chosen {
            return format!("{name} {praise}: {fact}.");
        }
        format!(
            "{name} {praise}; {} has to answer for {fact}.",
            self.name(own.option)
        )
    }

    /// The letters of all options, the chosen one first, the others by what was found for them.
    pub fn ranking(&self, chosen: usize) -> Vec<&str> {
        let others = self
            .verdict
            .ranking()
            .into_iter()
            .filter(|option| *option != chosen);
        std::iter::once(chosen)
            .chain(others)
            .map(|option| self.case.options()[option].letter)
            .collect()
    }

    /// The one fact that would change this judge's mind.
    pub fn flips_if(&self, chosen: usize) -> String {
        let Some(rival) = self.rival(chosen) else {
            return "Another option on the table.".to_owned();
        };
        match self.arguments(chosen).first() {
            Some(pull) => {
                let to = if pull.option == chosen {
                    rival
                } else {
                    pull.option
                };
                format!(
                    "If {} turned out not to hold, I would look at {} again.",
                    cited(&self.case.facts[pull.fact]),
                    self.name(to)
                )
            }
            None => format!(
                "Any fact about {} that favours {}.",
                concern(self.judge.lens),
                self.name(rival)
            ),
        }
    }
}

/// What a lens looks for.
pub fn concern(lens: Option<Lens>) -> &'static str {
    match lens {
        Some(Lens::Risk) => "what can go wrong",
        Some(Lens::Value) => "what is gained",
        Some(Lens::Effort) => "what it takes to build and run",
        None => "how the options differ",
    }
}
