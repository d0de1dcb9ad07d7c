//! What is learned from histories whose truth is known.

use super::{chance::Dice, *};

/// Questions with four options on which each voter is right with its own chance; `same` says whose
/// answer a voter repeats.
fn invented(questions: usize, rates: &[f64], same: &[Option<usize>]) -> History {
    let mut dice = Dice::new(7);
    let mut question = || {
        let right = dice.below(4);
        let mut choices: Vec<Option<u16>> = Vec::new();
        for (rate, same) in rates.iter().zip(same) {
            let own = if (dice.below(1000) as f64) < rate * 1000.0 {
                right
            } else {
                (right + 1 + dice.below(3)) % 4
            };
            choices.push(same.map_or(Some(own as u16), |other| choices[other]));
        }
        Labelled {
            options: 4,
            right: right as u16,
            choices,
        }
    };
    History {
        voters: rates.len(),
        questions: (0..questions).map(|_| question()).collect(),
    }
}

#[test]
fn without_history_all_votes_are_equal_and_with_little_nearly() {
    for history in [
        History {
            voters: 3,
            questions: Vec::new(),
        },
        History::default(),
    ] {
        let fitted = fit(&history, PENALTY);
        assert!(
            fitted.converged && fitted.weights.iter().all(|weight| *weight == 1.0),
            "{fitted:?}"
        );
    }
    let rates = [0.9, 0.6, 0.4];
    let spread = |questions: usize| {
        let weights = fit(&invented(questions, &rates, &[None; 3]), PENALTY).weights;
        (weights[0] - weights[2]) / weights.iter().sum::<f64>()
    };
    let spreads = [0, 2, 20, 1000].map(spread);
    assert!(
        spreads.windows(2).all(|pair| pair[0] < pair[1]) && spreads[1] < 0.25,
        "{spreads:?}"
    );
}

#[test]
fn weights_come_near_the_truth_where_it_is_known() {
    let rates = [0.9, 0.7, 0.5, 0.25];
    let fitted = fit(&invented(4000, &rates, &[None; 4]), 0.01);
    assert!(fitted.converged);
    for (rate, weight) in rates.iter().zip(&fitted.weights) {
        // For independent voters and equally likely errors the weight is the logarithm of the odds
        // against one wrong option.
        let expected = (3.0 * rate / (1.0 - rate)).ln().max(0.0);
        assert!(
            (weight - expected).abs() < 0.15,
            "{rate}: {weight} rather than {expected}"
        );
    }
}

#[test]
fn voters_that_repeat_each_other_share_one_weight() {
    let alone = fit(&invented(2000, &[0.7, 0.7], &[None, None]), PENALTY).weights;
    let repeated = fit(
        &invented(2000, &[0.7, 0.7, 0.7, 0.7], &[None, None, Some(1), Some(1)]),
        PENALTY,
    )
    .weights;
    assert!(
        (repeated[1] - repeated[2]).abs() < 1e-6 && (repeated[2] - repeated[3]).abs() < 1e-6,
        "{repeated:?}"
    );
    assert!(
        ((repeated[1] + repeated[2] + repeated[3]) - alone[1]).abs() < 0.15,
        "{alone:?} {repeated:?}"
    );
}

#[test]
fn odd_histories_have_finite_weights() {
    let question = |right: u16, choices: &[Option<u16>]| Labelled {
        options: 2,
        right,
        choices: choices.to_vec(),
    };
    let rows: [(&str, Vec<Labelled>, [f64; 2]); 5] = [
        (
            "always right",
            vec![question(0, &[Some(0), None]); 500],
            [1.5, 1.2],
        ),
        (
            "always wrong",
            vec![question(1, &[Some(0), None]); 500],
            [0.0, 0.9],
        ),
        (
            "nobody answers",
            vec![question(0, &[None, None]); 5],
            [1.0, 1.0],
        ),
        ("choices left out", vec![question(0, &[]); 5], [1.0, 1.0]),
        (
            "always against each other",
            vec![question(0, &[Some(0), Some(1)]); 500],
            [2.0, 0.0],
        ),
    ];
    for (name, questions, least) in rows {
        let fitted = fit(
            &History {
                voters: 2,
                questions,
            },
            PENALTY,
        );
        assert!(
            fitted.converged
                && fitted
                    .weights
                    .iter()
                    .all(|weight| weight.is_finite() && *weight >= 0.0),
            "{name}: {fitted:?}"
        );
        assert!(
            fitted
                .weights
                .iter()
                .zip(least)
                .all(|(weight, least)| *weight >= least),
            "{name}: {fitted:?}"
        );
    }
    let chances = posterior(&question(0, &[Some(0), Some(1)]), &[800.0, 0.0]);
    assert!(
        (chances[0] - 1.0).abs() < 1e-12 && chances[1] >= 0.0,
        "{chances:?}"
    );
}

#[test]
fn effective_voters_are_between_one_and_all() {
    let voter = |model: &'static str, weight: f64| Voter {
        model,
        known: None,
        weight,
    };
    let two_of = |share: f64| 2.0 / (1.0 + share);
    let rows: [(&[Voter<'_>], f64); 9] = [
        (&[], 0.0),
        (&[voter("openai:gpt-5", 1.0)], 1.0),
        (&[voter("openai:gpt-5", 0.0)], 0.0),
        (
            &[voter("openai:gpt-5", 1.0), voter("openai:gpt-5", 1.0)],
            two_of(SAME_MODEL),
        ),
        (
            &[voter("openai:gpt-5", 1.0), voter("openai:gpt-5-mini", 1.0)],
            two_of(SAME_FAMILY),
        ),
        (
            &[voter("openai:gpt-5", 1.0), voter("anthropic:claude-x", 1.0)],
            two_of(STRANGERS),
        ),
        (
            &[voter("openai:gpt-5", 1.0), voter("anthropic:claude-x", 0.0)],
            1.0,
        ),
        (
            &[
                voter("openai:gpt-5", f64::NAN),
                voter("anthropic:claude-x", 2.0),
            ],
            1.0,
        ),
        (
            &[
                voter("openai:gpt-5", f64::MAX),
                voter("anthropic:claude-x", f64::MAX),
            ],
            two_of(STRANGERS),
        ),
    ];
    for (voters, expected) in rows {
        let found = effective_voters(voters, &Errors::default());
        assert!(
            (found - expected).abs() < 1e-9,
            "{voters:?}: {found} rather than {expected}"
        );
    }
    // Where there is enough history, it outranks names: these two never err together, those two
    // always.
    let history = invented(400, &[0.6, 0.6, 0.6], &[None, None, Some(1)]);
    let errors = Errors::of(&history);
    let known = |at: usize| Voter {
        model: "x",
        known: Some(at),
        weight: 1.0,
    };
    let apart = effective_voters(&[known(0), known(1)], &errors);
    let together = effective_voters(&[known(1), known(2)], &errors);
    assert!(
        (1.8..=2.0).contains(&apart) && (together - 1.0).abs() < 1e-9,
        "{apart} {together}"
    );
    let little = Errors::of(&invented(20, &[0.6, 0.6], &[None, Some(0)]));
    assert!(
        (effective_voters(&[known(0), known(1)], &little) - two_of(SAME_MODEL)).abs() < 1e-9,
        "20 questions are too few to go by"
    );
    assert_eq!(
        Errors::of(&invented(50, &[1.0, 0.5], &[None, None])).correlation(0, 1),
        None,
        "who never errs errs with nobody"
    );
}
