//! Measuring a panel: the best model, plurality, weights from labels, random small panels, and
//! asking the strongest first.

use super::{Panel, Row, Table};
use crate::{
    family::family_of,
    learning::{
        Errors, History, Labelled, PENALTY, Voter,
        chance::{Dice, Measured, paired, wilson},
        effective_voters, fit, posterior,
    },
    stopping::unassailable,
};

/// How many labels weights are learned from, where there are enough questions.
const LABELS: [usize; 3] = [100, 400, 1000];

/// Random panels, and how large they are.
const PANELS: usize = 60;
const SEATS: usize = 5;

/// The strongest so many are asked one after the other, until an option is so likely.
const STRONGEST: usize = 7;
const SURE: [f64; 3] = [0.9, 0.8, 0.7];

/// Measures a panel. Labels are the first questions in the order of their hashes, and everything is
/// tested on the rest.
pub fn measure_panel(title: &str, panel: &Panel) -> Table {
    let split = Split::of(&panel.history);
    let mut rows = vec![row(
        "plurality of all",
        &plurality(&split.test, None),
        None,
        panel.models.len(),
    )];
    for (labels, train) in &split.train {
        let single = best(train);
        let alone = scores(&split.test, &only_one(single, panel.models.len()));
        let name = format!("best single ({labels} labels): {}", panel.models[single]);
        rows.push(row(&name, &alone, None, 1));
        let odds = scores(&split.test, &log_odds(train));
        rows.push(row(
            &format!("log-odds weights ({labels} labels)"),
            &odds,
            Some(&alone),
            panel.models.len(),
        ));
        let learned = scores(&split.test, &fit(train, PENALTY).weights);
        rows.push(row(
            &format!("learned weights ({labels} labels)"),
            &learned,
            Some(&alone),
            panel.models.len(),
        ));
    }
    let mut notes = vec![format!(
        "{} questions, tested on the {} that gave no labels; difference: to the best single model \
         by the same labels",
        panel.history.questions.len(),
        split.test.questions.len()
    )];
    if let Some((labels, train)) = split.middle() {
        rows.extend(strongest_first(train, &split.test, *labels));
        rows.extend(random_panels(train, &split.test, *labels, &mut notes));
    }
    notes.extend(together(panel));
    Table {
        title: title.to_owned(),
        notes,
        rows,
    }
}

/// Labels to learn from, in several amounts, and questions to test on.
struct Split {
    train: Vec<(usize, History)>,
    test: History,
}

impl Split {
    fn of(history: &History) -> Self {
        let all = &history.questions;
        let mut amounts: Vec<usize> = LABELS
            .into_iter()
            .filter(|amount| amount * 2 <= all.len())
            .collect();
        if amounts.is_empty() {
            amounts.push(all.len() / 2);
        }
        let part = |questions: &[Labelled]| History {
            voters: history.voters,
            questions: questions.to_vec(),
        };
        let most = amounts.last().copied().unwrap_or(0);
        Self {
            train: amounts
                .into_iter()
                .map(|amount| (amount, part(&all[..amount])))
                .collect(),
            test: part(&all[most..]),
        }
    }

    /// The amount of labels that one may hope for: the middle one.
    fn middle(&self) -> Option<&(usize, History)> {
        self.train.get(self.train.len() / 2)
    }
}

/// How right each question is when the largest sum of weights wins; a tie of k counts 1/k, no votes
/// nothing.
fn scores(test: &History, weights: &[f64]) -> Vec<f64> {
    test.questions
        .iter()
        .map(|question| score(question, &question.scores(weights)))
        .collect()
}

fn plurality(test: &History, voters: Option<&[usize]>) -> Vec<f64> {
    let weight = |voter: usize| {
        f64::from(u8::from(
            voters.is_none_or(|voters| voters.contains(&voter)),
        ))
    };
    scores(test, &(0..test.voters).map(weight).collect::<Vec<_>>())
}

fn score(question: &Labelled, sums: &[f64]) -> f64 {
    let most = sums.iter().copied().fold(0.0, f64::max);
    // Sums of the same weights in another order may differ in their last digits.
    let leads = |sum: &f64| most > 0.0 && *sum > most - 1e-9;
    let leaders = sums.iter().filter(|sum| leads(sum)).count();
    if sums.get(usize::from(question.right)).is_some_and(leads) {
        1.0 / leaders as f64
    } else {
        0.0
    }
}

fn best(train: &History) -> usize {
    let right = |voter: &usize| (train.record(*voter).1, std::cmp::Reverse(*voter));
    (0..train.voters).max_by_key(right).unwrap_or(0)
}

fn only_one(voter: usize, of: usize) -> Vec<f64> {
    (0..of)
        .map(|other| f64::from(u8::from(other == voter)))
        .collect()
}

/// The weights that would be right if voters erred independently: the logarithm of the odds, with
/// options taken as equally likely errors.
fn log_odds(train: &History) -> Vec<f64> {
    let options = train
        .questions
        .iter()
        .map(|question| f64::from(question.options))
        .sum::<f64>()
        / train.questions.len().max(1) as f64;
    let odds = |voter: usize| {
        let (answered, right) = train.record(voter);
        let rate = (right as f64 + 1.0) / (answered as f64 + 2.0);
        (rate * (options - 1.0).max(1.0) / (1.0 - rate))
            .ln()
            .max(0.0)
    };
    (0..train.voters).map(odds).collect()
}

/// The strongest models: all of them weighted, and asked one after the other until it is clear
/// enough.
fn strongest_first(train: &History, test: &History, labels: usize) -> Vec<Row> {
    let mut order: Vec<usize> = (0..train.voters).collect();
    order.sort_by_key(|voter| (std::cmp::Reverse(train.record(*voter).1), *voter));
    order.truncate(STRONGEST);
    let (train, test) = (train.only(&order), test.only(&order));
    let seats = order.len();
    // After each answer there are weights for just those who have spoken: the weights of all seven
    // expect the others to come.
    let learned: Vec<Vec<f64>> = (1..=seats)
        .map(|asked| fit(&train.only(&(0..asked).collect::<Vec<_>>()), PENALTY).weights)
        .collect();
    let odds = log_odds(&train);
    let naive: Vec<Vec<f64>> = (1..=seats).map(|asked| odds[..asked].to_vec()).collect();
    let first = scores(&test, &only_one(0, seats));
    let whole = |name: &str, weights: &[f64]| {
        row(
            &format!("strongest {seats}, {name} ({labels} labels)"),
            &scores(&test, weights),
            Some(&first),
            seats,
        )
    };
    let in_turn =
        |name: String, weights: &[Vec<f64>], clear: &dyn Fn(&Labelled, &[f64]) -> bool| {
            let used: Vec<&Vec<f64>> = test
                .questions
                .iter()
                .map(|question| {
                    weights
                        .iter()
                        .find(|weights| clear(question, weights))
                        .unwrap_or(&weights[seats - 1])
                })
                .collect();
            let right: Vec<f64> = test
                .questions
                .iter()
                .zip(&used)
                .map(|(question, used)| score(question, &question.scores(used)))
                .collect();
            let calls =
                used.iter().map(|used| used.len()).sum::<usize>() as f64 / used.len().max(1) as f64;
            let arm = format!("strongest first, {name} ({labels} labels)");
            Row {
                calls: Some(calls),
                calls_share: Some(calls / seats as f64),
                ..row(&arm, &right, Some(&first), seats)
            }
        };
    let surest = |question: &Labelled, weights: &[f64]| {
        posterior(question, weights).into_iter().fold(0.0, f64::max)
    };
    let exact: Vec<Vec<f64>> = (1..=seats)
        .map(|asked| learned[seats - 1][..asked].to_vec())
        .collect();
    let mut rows = vec![
        whole("log-odds weights", &odds),
        whole("learned weights", &learned[seats - 1]),
    ];
    rows.push(in_turn(
        "learned, until none can catch up".to_owned(),
        &exact,
        &|question, weights| caught_by_none(question, weights, &learned[seats - 1]),
    ));
    for sure in SURE {
        rows.push(in_turn(
            format!("learned, stop at {sure}"),
            &learned,
            &|question, weights| surest(question, weights) >= sure,
        ));
    }
    rows.push(in_turn(
        format!("log-odds, stop at {}", SURE[0]),
        &naive,
        &|question, weights| surest(question, weights) >= SURE[0],
    ));
    rows
}

/// Whether the weights of those still to come cannot change who leads.
fn caught_by_none(question: &Labelled, spoken: &[f64], all: &[f64]) -> bool {
    let units = |weight: f64| (weight * 1e6).round() as u64;
    let votes: Vec<u64> = question.scores(spoken).into_iter().map(units).collect();
    let left: Vec<u64> = all[spoken.len()..].iter().copied().map(units).collect();
    unassailable(&votes, &left).is_some()
}

/// Small panels drawn at random: what is won and lost on average.
fn random_panels(
    train: &History,
    test: &History,
    labels: usize,
    notes: &mut Vec<String>,
) -> Vec<Row> {
    if train.voters <= SEATS {
        return Vec::new();
    }
    let mut dice = Dice::new(5);
    let mut means: [Vec<f64>; 3] = Default::default();
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len().max(1) as f64;
    for _ in 0..PANELS {
        let mut all: Vec<usize> = (0..train.voters).collect();
        let seats: Vec<usize> = (0..SEATS)
            .map(|_| all.swap_remove(dice.below(all.len())))
            .collect();
        let (train, test) = (train.only(&seats), test.only(&seats));
        means[0].push(mean(&scores(&test, &only_one(best(&train), SEATS))));
        means[1].push(mean(&plurality(&test, None)));
        means[2].push(mean(&scores(&test, &fit(&train, PENALTY).weights)));
    }
    let reached = means[2]
        .iter()
        .zip(&means[0])
        .filter(|(learned, single)| learned >= single)
        .count();
    notes.push(format!(
        "of {PANELS} random panels of {SEATS}, learned weights reach the panel's \
        best single model in {reached}"
    ));
    let names = ["best single", "plurality", "learned weights"];
    let differences = |arm: usize| {
        means[arm]
            .iter()
            .zip(&means[0])
            .map(|(one, single)| one - single)
            .collect::<Vec<_>>()
    };
    let rows = names.iter().enumerate().map(|(arm, name)| Row {
        arm: format!("{PANELS} random panels of {SEATS}: {name} ({labels} labels)"),
        questions: test.questions.len(),
        // Each panel is a sample here, not each question.
        accuracy: paired(&means[arm]),
        difference: (arm > 0).then(|| paired(&differences(arm))),
        calls: Some(if arm == 0 { 1.0 } else { SEATS as f64 }),
        ..Row::default()
    });
    rows.collect()
}

/// How much the models err together, and how many independent ones they are worth.
fn together(panel: &Panel) -> Vec<String> {
    let errors = Errors::of(&panel.history);
    let (mut kin, mut strangers) = (Vec::new(), Vec::new());
    for one in 0..panel.models.len() {
        for other in one + 1..panel.models.len() {
            let family = family_of(&panel.models[one]) == family_of(&panel.models[other]);
            if family { &mut kin } else { &mut strangers }.extend(errors.correlation(one, other));
        }
    }
    let voters: Vec<Voter<'_>> = panel
        .models
        .iter()
        .enumerate()
        .map(|(known, model)| Voter {
            model,
            known: Some(known),
            weight: 1.0,
        })
        .collect();
    let mean = |values: &[f64]| match values.len() {
        0 => "none".to_owned(),
        count => format!(
            "{:.3} ({count} pairs)",
            values.iter().sum::<f64>() / count as f64
        ),
    };
    vec![
        format!(
            "error correlation: one family {}, different families {}",
            mean(&kin),
            mean(&strangers)
        ),
        format!(
            "two wrong models choose the same wrong answer in {:.1} %",
            errors.same_wrong().unwrap_or(0.0) * 100.0
        ),
        format!(
            "{} models are worth {:.2} independent ones",
            voters.len(),
            effective_voters(&voters, &errors)
        ),
    ]
}

fn row(arm: &str, scores: &[f64], against: Option<&[f64]>, calls: usize) -> Row {
    let difference = against.map(|other| {
        paired(
            &scores
                .iter()
                .zip(other)
                .map(|(one, other)| one - other)
                .collect::<Vec<_>>(),
        )
    });
    let accuracy: Measured = wilson(scores.iter().sum(), scores.len() as f64);
    Row {
        arm: arm.to_owned(),
        questions: scores.len(),
        accuracy,
        difference,
        calls: Some(calls as f64),
        ..Row::default()
    }
}
