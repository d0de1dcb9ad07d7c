//! The case as the rehearsal sees it: facts found in the text, each with whom it is about and how
//! it looks through the lenses.

use super::{
    amounts::{Amount, Unit, amounts},
    lexicon::{Lens, Tone, Weighing, tone},
    names::{About, Choice, Names},
    passages::{Passage, Side, passages},
    split::comparison,
    words::{stem, words},
};
use rebut_engine::{clean::on_one_line, prompt::Prompt};
use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

/// Everything found in a prompt.
pub struct Case<'a> {
    /// The question.
    pub question: &'a str,
    /// The options, never empty.
    pub names: Names<'a>,
    /// What the text says.
    pub facts: Vec<Fact<'a>>,
    /// Facts by how they are cited; made when the first citation is looked up.
    by_quote: OnceCell<HashMap<String, Vec<usize>>>,
}

/// One thing the text says.
#[derive(Clone, Debug)]
pub struct Fact<'a> {
    /// Its words, as they stand there.
    pub text: &'a str,
    /// The row or column of a table.
    pub topic: &'a str,
    /// Who says it.
    pub source: Source,
    /// How the text files it.
    pub side: Side,
    /// Whom it is about; below zero for the loser of a comparison. Empty for what bears on all.
    pub about: About,
    /// How it looks.
    pub tone: Tone,
    /// The fact of another option it was measured against.
    pub versus: Option<usize>,
}

/// Where a fact stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user's context.
    Context,
    /// A person's note during the debate.
    Note,
    /// An option's own description.
    Description,
}

impl Source {
    /// How much it counts.
    pub fn weight(self) -> f64 {
        match self {
            Self::Context => 1.0,
            Self::Note => 3.0,
            Self::Description => 0.7,
        }
    }
}

impl<'a> Case<'a> {
    /// Reads a prompt and the options it is about; `None` when there are none.
    pub fn read(prompt: &'a Prompt, options: &'a str) -> Option<Self> {
        let part = |hole| prompt.part(hole).unwrap_or("");
        let names = Names::parse(options);
        if names.options.is_empty() {
            return None;
        }
        let mut facts = Vec::new();
        let mut measures = Vec::new();
        for (text, source) in [
            (part("context"), Source::Context),
            (part("notes"), Source::Note),
        ] {
            gather(
                &passages(text, &names),
                source,
                &names,
                &mut facts,
                &mut measures,
            );
        }
        for (number, option) in names.options.iter().enumerate() {
            let mut own = passages(option.description, &names);
            own.iter_mut()
                .for_each(|passage| passage.scope = vec![number]);
            gather(&own, Source::Description, &names, &mut facts, &mut measures);
        }
        compare(&mut facts, &measures);
        Some(Self {
            question: part("question"),
            names,
            facts,
            by_quote: OnceCell::new(),
        })
    }

    /// The options.
    pub fn options(&self) -> &[Choice<'a>] {
        &self.names.options
    }

    /// The facts a text cites. The same words in two cells of a table are told apart by the option
    /// named beside them.
    pub fn quoted_in(&self, text: &str) -> Vec<usize> {
        let by_quote = self.by_quote.get_or_init(|| index(&self.facts));
        let mut found = Vec::new();
        let mut before = "";
        for (quote, after) in text
            .split('“')
            .skip(1)
            .filter_map(|rest| rest.split_once('”'))
        {
            let cell = by_quote.get(&format!("“{before}”: “{quote}”"));
            let facts = cell
                .or_else(|| by_quote.get(&format!("“{quote}”")))
                .map_or(&[][..], Vec::as_slice);
            let meant = |fact: &&usize| {
                self.facts[**fact].about.iter().any(|(option, _)| {
                    after.contains(&format!(" {} (", self.options()[*option].letter))
                })
            };
            if let Some(fact) = facts
                .iter()
                .find(meant)
                .or(facts.first())
                .filter(|fact| !found.contains(*fact))
            {
                found.push(*fact);
            }
            before = quote;
        }
        found
    }

    /// A fact read out of somebody else's words, which the case itself does not hold.
    pub fn heard(&self, text: &'a str) -> Fact<'a> {
        let about = about(text, &[], &self.names);
        Fact {
            text,
            topic: "",
            source: Source::Context,
            side: Side::Open,
            about,
            tone: tone(text),
            versus: None,
        }
    }
}

fn index(facts: &[Fact<'_>]) -> HashMap<String, Vec<usize>> {
    let mut index: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, fact) in facts.iter().enumerate() {
        index.entry(cited(fact)).or_default().push(number);
    }
    index
}

/// Longest quote, in characters.
const QUOTE: usize = 160;

/// A fact's words as they are shown: on one line, cut between words when long.
pub fn quoted(text: &str) -> String {
    let line = on_one_line(text);
    let line = line.trim_end_matches(['.', ',', ';', ':', '。']);
    let Some((limit, _)) = line.char_indices().nth(QUOTE) else {
        return line.to_owned();
    };
    let end = line[..limit].rfind(' ').unwrap_or(limit);
    format!("{}…", &line[..end])
}

/// How a fact is pointed at: in its own words, for a cell of a table below the words that lead to
/// it.
pub fn cited(fact: &Fact<'_>) -> String {
    if fact.topic.is_empty() {
        format!("“{}”", quoted(fact.text))
    } else {
        format!("“{}”: “{}”", quoted(fact.topic), quoted(fact.text))
    }
}

/// A number that can be compared with that of another option.
struct Measure {
    fact: usize,
    option: usize,
    /// What is measured: numbers of different keys never meet.
    key: String,
    value: f64,
    lens: usize,
    /// Whether more is better.
    more: bool,
}

fn gather<'a>(
    found: &[Passage<'a>],
    source: Source,
    names: &Names<'_>,
    facts: &mut Vec<Fact<'a>>,
    measures: &mut Vec<Measure>,
) {
    let mut before: About = Vec::new();
    let mut said = HashSet::new();
    for passage in found.iter().filter(|passage| {
        words(passage.text).count() > 1 || !passage.topic.is_empty() || passage.side != Side::Open
    }) {
        let mut about = if passage.topic.is_empty() {
            about(passage.text, &passage.scope, names)
        } else {
            scoped(&passage.scope)
        };
        if about.is_empty() && passage.continues {
            about.clone_from(&before);
        }
        before.clone_from(&about);
        // Saying it again makes it no truer.
        if !said.insert((passage.text, passage.topic, passage.scope.as_slice())) {
            continue;
        }
        let numbers = amounts(passage.text);
        let mut tone = filed(weigh(passage, &numbers), passage.side);
        if about.is_empty() && is_today(passage.text, &numbers) {
            tone = asks_for_change(tone);
        }
        if let [(option, strength)] = about[..]
            && strength > 0.0
        {
            measures.extend(measure(passage, &numbers, facts.len(), option));
        }
        facts.push(Fact {
            text: passage.text,
            topic: passage.topic,
            source,
            side: passage.side,
            about,
            tone,
            versus: None,
        });
    }
}

fn scoped(scope: &[usize]) -> About {
    scope.iter().map(|option| (*option, 0.9)).collect()
}

/// Whom a clause is about: those it names, else those its surroundings are about. "Slower than B"
/// speaks for B.
fn about(text: &str, scope: &[usize], names: &Names<'_>) -> About {
    let Some((head, tail)) = comparison(text) else {
        let named = names.named(text);
        return if named.is_empty() || scope.len() == 1 && named.len() > 1 {
            scoped(scope)
        } else {
            named
        };
    };
    let mut about = names.named(head);
    if about.is_empty() {
        about = scoped(scope);
    }
    let losers = names
        .named(tail)
        .into_iter()
        .filter(|(loser, _)| about.iter().all(|(option, _)| option != loser));
    let losers: Vec<(usize, f64)> = losers
        .map(|(loser, strength)| (loser, -0.5 * strength))
        .collect();
    about.extend(losers);
    about
}

/// How a passage looks, numbers included.
fn weigh(passage: &Passage<'_>, numbers: &[Amount]) -> Tone {
    let mut found = tone(passage.text);
    if let Some(factor) = verdict_word(passage.text).filter(|_| !passage.topic.is_empty()) {
        let topic = tone(passage.topic);
        found.lenses = topic.lenses.map(|value| value * factor);
        found.serious = topic.serious && factor > 0.0;
    }
    let share = numbers
        .iter()
        .filter(|amount| amount.unit == Unit::Percent)
        .map(|amount| amount.value.clamp(0.0, 100.0))
        .fold(0.0, f64::max);
    found.lenses = found
        .lenses
        .map(|value| (value * (1.0 + share / 100.0)).clamp(-3.0, 3.0));
    for amount in numbers {
        match amount.unit {
            Unit::Days if takes_work(passage) => {
                found.lenses[Lens::Effort as usize] -= (amount.value.max(0.0) + 1.0).log2() * 0.15
            }
            Unit::Money if is_gain(passage) => found.lenses[Lens::Value as usize] += 0.6,
            Unit::Money => found.lenses[Lens::Effort as usize] -= 0.4,
            _ => {}
        }
    }
    found
}

/// What "high", "no" and the like in a table cell do with the topic's own meaning.
fn verdict_word(cell: &str) -> Option<f64> {
    let first = words(cell).next().unwrap_or("").to_lowercase();
    match first.as_str() {
        "high" | "yes" | "many" | "lots" | "heavy" | "large" => Some(1.2),
        "medium" | "moderate" | "some" | "partly" | "partial" => Some(0.2),
        "low" | "no" | "none" | "little" | "few" | "never" | "small" => Some(-1.0),
        "" if cell.contains(['✅', '✓', '✔']) => Some(1.2),
        "" if cell.contains(['❌', '✗', '✘']) => Some(-1.0),
        _ => None,
    }
}

/// Under "Cons" everything is against the option, whatever its words would say alone.
fn filed(mut tone: Tone, side: Side) -> Tone {
    let (sign, lens) = match side {
        Side::Open => return tone,
        Side::Pro => (1.0, Lens::Value),
        Side::Con => (-1.0, Lens::Risk),
    };
    tone.lenses = tone.lenses.map(|value| value.abs() * sign);
    tone.serious &= side == Side::Con;
    if is_flat(&tone.lenses) {
        tone.lenses[lens as usize] = 0.6 * sign;
    }
    tone
}

/// Whether a sentence tells how things are, rather than what may come.
fn is_today(text: &str, numbers: &[Amount]) -> bool {
    const TODAY: &[&str] = &[
        "was",
        "were",
        "had",
        "last",
        "today",
        "currently",
        "already",
        "every",
        "past",
        "complain",
        "often",
    ];
    numbers.iter().any(|amount| amount.unit == Unit::Percent)
        || words(text).any(|word| TODAY.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// Trouble with how things are speaks for the options that change more. Work that is scarce does
/// not.
fn asks_for_change(tone: Tone) -> Tone {
    let [risk, value, effort] = tone.lenses;
    Tone {
        lenses: [risk.abs(), value.abs(), effort],
        serious: false,
    }
}

/// Whether nothing was said through any lens.
pub fn is_flat(lenses: &Weighing) -> bool {
    lenses.iter().all(|value| value.abs() < 0.05)
}

/// Whether a time in this passage is time somebody has to spend.
fn takes_work(passage: &Passage<'_>) -> bool {
    const WORK: &str = "take took need build ship implement deliver effort work estimate require \
        cost develop within in setup";
    const ELSE: &str = "after every per ago last expire since";
    static STEMS: LazyLock<[HashSet<String>; 2]> =
        LazyLock::new(|| [WORK, ELSE].map(|list| words(list).map(stem).collect()));
    let hit = |set: &HashSet<String>| {
        words(passage.text)
            .chain(words(passage.topic))
            .any(|word| set.contains(&stem(word)))
    };
    hit(&STEMS[0]) && !hit(&STEMS[1])
}

fn is_gain(passage: &Passage<'_>) -> bool {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        words("revenue sales gain earn worth save saving deal contract profit")
            .map(stem)
            .collect()
    });
    words(passage.text)
        .chain(words(passage.topic))
        .any(|word| STEMS.contains(&stem(word)))
}

fn measure(
    passage: &Passage<'_>,
    numbers: &[Amount],
    fact: usize,
    option: usize,
) -> Option<Measure> {
    let amount = numbers.iter().rev().find(|amount| {
        amount.value > 0.0 && (amount.unit != Unit::Bare || !passage.topic.is_empty())
    })?;
    let (lens, more) = match amount.unit {
        Unit::Money if is_gain(passage) => (Lens::Value, true),
        Unit::Money => (Lens::Effort, false),
        Unit::Days if takes_work(passage) => (Lens::Effort, false),
        Unit::Millis => (Lens::Value, false),
        _ => {
            let topic = tone(passage.topic).lenses;
            let strongest =
                [Lens::Risk, Lens::Value, Lens::Effort]
                    .into_iter()
                    .max_by(|a, b| {
                        topic[*a as usize]
                            .abs()
                            .total_cmp(&topic[*b as usize].abs())
                    })?;
            if topic[strongest as usize] == 0.0 {
                return None;
            }
            (strongest, topic[strongest as usize] > 0.0)
        }
    };
    Some(Measure {
        fact,
        option,
        key: format!("{:?} {} {more}", amount.unit, passage.topic),
        value: amount.value,
        lens: lens as usize,
        more,
    })
}

/// Numbers of the same kind on different options: whoever is better than the middle gains by how
/// much.
fn compare(facts: &mut [Fact<'_>], measures: &[Measure]) {
    let mut groups: HashMap<&str, Vec<&Measure>> = HashMap::new();
    for measure in measures {
        let group = groups.entry(&measure.key).or_default();
        if group.iter().all(|known| known.option != measure.option) {
            group.push(measure);
        }
    }
    for group in groups.values().filter(|group| group.len() > 1) {
        let middle =
            group.iter().map(|measure| measure.value.ln()).sum::<f64>() / group.len() as f64;
        let least = group.iter().min_by(|a, b| a.value.total_cmp(&b.value));
        let most = group.iter().max_by(|a, b| a.value.total_cmp(&b.value));
        for measure in group {
            let above = (measure.value.ln() - middle) / std::f64::consts::LN_2;
            let better = if measure.more { above } else { -above };
            facts[measure.fact].tone.lenses[measure.lens] = (better * 1.2).clamp(-2.4, 2.4);
            let opposite = if above > 0.0 { least } else { most };
            facts[measure.fact].versus = opposite
                .map(|other| other.fact)
                .filter(|other| *other != measure.fact);
        }
    }
}
