//! What words say about risk, value and effort. Small on purpose: it finds positions in a text, it
//! does not understand it.

use super::words::{stem, words};
use std::{collections::HashMap, sync::LazyLock};

/// The three ways to look at an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lens {
    /// What can go wrong.
    Risk,
    /// What is gained.
    Value,
    /// What it takes.
    Effort,
}

/// All lenses, in the order of a [`Weighing`].
pub const LENSES: [Lens; 3] = [Lens::Risk, Lens::Value, Lens::Effort];

/// A number per lens; above zero is good for the option spoken of.
pub type Weighing = [f64; 3];

/// What a text says, lens by lens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tone {
    /// Good or bad per lens.
    pub lenses: Weighing,
    /// People or their data could come to harm: no stance may ignore that.
    pub serious: bool,
}

const TABLE: &[(Lens, f64, &str)] = &[
    (
        Lens::Risk,
        -1.0,
        "risk risky danger dangerous fail failure fault break breaking broken bug corrupt \
         corruption outage downtime crash leak breach \
         vulnerable vulnerability attack lockin conflict race unknown uncertain unproven untested \
         immature experimental deprecated unstable fragile brittle \
         loss lose irreversible incident error violate violation penalty expose silent silently \
         stale inconsistent flaky threat worry hazard unsafe injury \
         fraud regression abandoned surprise unavailable untrained split",
    ),
    (
        Lens::Risk,
        1.0,
        "safe safer safest safely safety secure reliable reliability proven tested mature stable \
         stability durable durability robust reversible \
         rollback backup redundant redundancy resilient resilience consistent consistency \
         encrypted audited recover recovery guarantee \
         transactional acid isolation predictable survive persist persistence replication",
    ),
    (Lens::Risk, 0.4, "security compliance"),
    (
        Lens::Value,
        1.0,
        "benefit gain revenue sales growth grow fast faster fastest speed performance improve \
         improvement better best win popular demand request want ask \
         love delight satisfaction conversion adoption retention scale scalable throughput \
         flexible flexibility rich powerful differentiate differentiator \
         competitive advantage opportunity enable unlock autonomy independent independently \
         quality valuable value worth modern useful convenient accurate",
    ),
    (Lens::Value, 0.3, "user customer client feature support"),
    (Lens::Value, 0.5, "quick quickly"),
    (
        Lens::Value,
        -1.0,
        "slow slower slowest lag latency limited lack missing churn complain complaint frustrate \
         frustrating poor bad useless outdated inferior cancel \
         bottleneck delay waste worthless unusable restrict worse worst block blocked",
    ),
    (
        Lens::Effort,
        -1.0,
        "cost costly expensive effort complex complexity complicated hard harder hardest difficult \
         difficulty rewrite refactor migrate training learn hire \
         hiring maintain maintenance overhead burden license licence fee manual manually duplicate \
         boilerplate steep
         debt pay price deadline tight understaffed",
    ),
    (Lens::Effort, -0.5, "require extra additional integrate integration setup configure \
        operational operate specialist budget legacy"),
    (
        Lens::Effort,
        1.0,
        "cheap cheaper cheapest easy easier easiest easily simple simpler simplest simplicity \
         simply familiar reuse ready managed hosted automatic \
         automatically automated save saving straightforward lightweight documented productive \
         effortless",
    ),
    (Lens::Effort, 0.3, "expertise"),
    (Lens::Effort, 0.6, "already existing free standard minimal know knows"),
];

const SERIOUS: &str = "corrupt corruption leak breach unsafe injury loss lose hazard patient";

/// Words that turn round what follows them.
const TURNS: &str = "no not never without none cannot neither nor hardly rarely less lower low \
    fewer few reduce avoid prevent
    eliminate remove stop nobody nothing lack minimal";
/// Words that turn round what stands just before them: "the risk is low".
const TURNS_BACK: &[&str] = &[
    "low",
    "lower",
    "minimal",
    "none",
    "negligible",
    "small",
    "unlikely",
    "stop",
    "stops",
    "suffer",
    "suffers",
    "wait",
];
/// After these a turn means the opposite: "we cannot afford downtime" does not praise downtime.
const HOLDS: &str = "afford tolerate accept allow only";

static LEXICON: LazyLock<HashMap<String, (usize, f64)>> = LazyLock::new(|| {
    TABLE
        .iter()
        .flat_map(|(lens, weight, list)| {
            words(list).map(|word| (stem(word), (*lens as usize, *weight)))
        })
        .collect()
});
static MARKS: LazyLock<HashMap<String, Mark>> = LazyLock::new(|| {
    let rows = [(Mark::Turn, TURNS), (Mark::Hold, HOLDS)];
    rows.into_iter()
        .flat_map(|(mark, list)| words(list).map(move |word| (stem(word), mark)))
        .collect()
});
static SERIOUS_STEMS: LazyLock<Vec<String>> = LazyLock::new(|| words(SERIOUS).map(stem).collect());

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Turn,
    Hold,
}

/// How many words a turn reaches.
const REACH: usize = 3;

/// What a clause says about whatever it speaks of.
pub fn tone(text: &str) -> Tone {
    let list: Vec<&str> = words(text).collect();
    let mut tone = Tone::default();
    let mut turned = 0;
    for (at, word) in list.iter().enumerate() {
        let stem = stem(word);
        if let Some((lens, weight)) = LEXICON.get(&stem) {
            let turned_round = (turned > 0) ^ turned_back(&list[at + 1..]);
            tone.lenses[*lens] += if turned_round { -0.8 * weight } else { *weight };
            tone.serious |= !turned_round && *weight < 0.0 && SERIOUS_STEMS.contains(&stem);
        }
        turned = match MARKS.get(&stem) {
            Some(Mark::Turn) => REACH,
            Some(Mark::Hold) => 0,
            None if word.ends_with("n't") || word.ends_with("n’t") => REACH,
            None => usize::saturating_sub(turned, 1),
        };
    }
    // The third word of praise in one clause adds less than the first.
    tone.lenses = tone
        .lenses
        .map(|value| 1.6 * (1.0 - (-value.abs()).exp()) * value.signum());
    tone
}

fn turned_back(after: &[&str]) -> bool {
    let after = match after {
        [link, rest @ ..] if ["is", "are", "stays", "remains", "was"].contains(link) => rest,
        [only] => return is_low(only),
        after => {
            return after
                .iter()
                .take(2)
                .any(|word| ["nothing", "none"].contains(word));
        }
    };
    after.first().is_some_and(|word| is_low(word))
}

fn is_low(word: &str) -> bool {
    TURNS_BACK.contains(&word.to_lowercase().as_str())
}

/// How often a text speaks of each lens, good or bad: what a role's brief cares about.
pub fn interest(text: &str) -> Weighing {
    const ROLES: [&str; 3] = [
        "risk security legal compliance privacy audit safety threat attacker regulator worst wrong \
         harm abuse undo sceptical skeptical cautious critic",
        "value user customer market marketing sales growth product benefit gain optimistic \
         visionary experience accessibility revenue",
        "effort cost budget operations maintain developer engineer engineering build run team \
         pragmatic deadline time money work simple finance",
    ];
    static STEMS: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
        ROLES
            .iter()
            .enumerate()
            .flat_map(|(lens, list)| words(list).map(move |word| (stem(word), lens)))
            .collect()
    });
    let mut interest = [0.0; 3];
    for word in words(text) {
        if let Some(lens) = STEMS.get(&stem(word)) {
            interest[*lens] += 1.0;
        }
    }
    interest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_means_two_things() {
        let mut seen: HashMap<String, (Lens, f64, &str)> = HashMap::new();
        for (lens, weight, list) in TABLE {
            for word in words(list) {
                let before = seen.insert(stem(word), (*lens, *weight, word));
                assert!(
                    before.is_none_or(|(other, same, _)| other == *lens && same == *weight),
                    "{word} and {before:?}"
                );
            }
        }
    }

    #[test]
    fn clauses_lean_the_way_a_reader_would_say() {
        let rows: &[(&str, Lens, f64)] = &[
            ("Sync bugs corrupt records", Lens::Risk, -1.0),
            ("no data loss", Lens::Risk, 1.0),
            ("we cannot afford downtime", Lens::Risk, -1.0),
            ("the risk is low", Lens::Risk, 1.0),
            ("it costs us nothing now", Lens::Effort, 1.0),
            ("meanwhile features stop", Lens::Value, -1.0),
            ("It doesn't break anything", Lens::Risk, 1.0),
            ("customers ask for it", Lens::Value, 1.0),
            ("lacks throughput", Lens::Value, -1.0),
            ("cheap and easy", Lens::Effort, 1.0),
            ("a costly rewrite", Lens::Effort, -1.0),
        ];
        for (text, lens, sign) in rows {
            let found = tone(text).lenses[*lens as usize];
            assert!(found * sign > 0.0, "{text}: {found}");
        }
        assert!(tone("possible data loss").serious && !tone("no data loss").serious);
    }
}
