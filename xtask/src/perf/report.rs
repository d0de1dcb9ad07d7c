//! The report: medians, ratios to the floor and to what no program can beat, as a table or as JSON.

use super::{arm::ARMS, measure::median, scenarios::Scenario, targets};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fmt::Write};

/// What was measured so far.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

struct Row {
    scenario: &'static str,
    metric: &'static str,
    bound: Option<f64>,
    /// By arm, in the order of the table of arms.
    samples: Vec<(&'static str, Vec<f64>)>,
}

impl Report {
    /// Adds a scenario's samples, keyed by metric and arm.
    pub fn add(&mut self, scenario: &Scenario, mut samples: BTreeMap<(&str, &str), Vec<f64>>) {
        for (at, metric) in scenario.metrics.iter().enumerate() {
            let of = |arm: &'static str| Some((arm, samples.remove(&(*metric, arm))?));
            let samples: Vec<_> = ARMS.iter().map(|arm| arm.name).filter_map(of).collect();
            self.rows.push(Row {
                scenario: scenario.name,
                metric,
                bound: scenario.bound.filter(|_| at == 0),
                samples,
            });
        }
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut table = format!(
            "{:<24}{:<22}{:<14}{:>10}{:>22}{:>9}{:>10}  target",
            "scenario", "metric", "arm", "median", "from … to", "× floor", "× bound"
        );
        for row in &self.rows {
            let floor = row.floor();
            for (arm, samples) in &row.samples {
                let Some(middle) = median(samples) else {
                    continue;
                };
                let (least, most) = samples
                    .iter()
                    .fold((f64::MAX, f64::MIN), |(least, most), value| {
                        (least.min(*value), most.max(*value))
                    });
                let range = format!("{} … {}", number(least), number(most));
                let ratio = |to: Option<f64>| {
                    to.map(|to| format!("{:.3}", middle / to))
                        .unwrap_or_default()
                };
                let target =
                    targets::verdict((row.scenario, row.metric, arm), middle, floor, row.bound);
                let target = target
                    .map(|(reached, words)| {
                        format!("{words} {}", if reached { "reached" } else { "MISSED" })
                    })
                    .unwrap_or_default();
                let (scenario, metric, to_floor, to_bound, middle) = (
                    row.scenario,
                    row.metric,
                    ratio(floor),
                    ratio(row.bound),
                    number(middle),
                );
                let line = format!(
                    "{scenario:<24}{metric:<22}{arm:<14}{middle:>10}{range:>22}{to_floor:>9}{to_bound:>10}  {target}"
                );
                // Writing to a string cannot fail.
                let _ = write!(table, "\n{}", line.trim_end());
            }
        }
        table
    }

    /// For programs.
    pub fn json(&self) -> Value {
        self.rows.iter().map(Row::json).collect()
    }
}

impl Row {
    fn floor(&self) -> Option<f64> {
        self.samples
            .iter()
            .find(|(arm, _)| *arm == ARMS[0].name)
            .and_then(|(_, samples)| median(samples))
    }

    fn json(&self) -> Value {
        let floor = self.floor();
        let arm = |(arm, samples): &(&str, Vec<f64>)| {
            let middle = median(samples);
            let ratio = middle.zip(floor).map(|(middle, floor)| middle / floor);
            let reached = middle.and_then(|middle| {
                targets::verdict((self.scenario, self.metric, arm), middle, floor, self.bound)
            });
            let reached = reached.map(|(reached, _)| reached);
            (
                (*arm).to_owned(),
                json!({"median": middle, "samples": samples, "ratio_to_floor": ratio, "target_reached": reached}),
            )
        };
        let arms: Map<String, Value> = self.samples.iter().map(arm).collect();
        json!({"scenario": self.scenario, "metric": self.metric, "bound": self.bound, "arms": arms})
    }
}

/// With about four digits.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}
