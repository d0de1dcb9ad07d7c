//! What was measured, each figure with the most it may be.

use std::fmt::Write;

/// The table.
#[derive(Default)]
pub struct Figures(Vec<Figure>);

struct Figure {
    what: &'static str,
    value: f64,
    unit: &'static str,
    most: Option<f64>,
}

impl Figures {
    /// Adds a figure.
    pub fn add(&mut self, what: &'static str, value: f64, unit: &'static str, most: Option<f64>) {
        self.0.push(Figure {
            what,
            value,
            unit,
            most,
        });
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut table = String::new();
        for Figure {
            what,
            value,
            unit,
            most,
        } in &self.0
        {
            let verdict = most
                .map(|most| {
                    format!(
                        "≤ {most} {}",
                        if *value <= most { "reached" } else { "MISSED" }
                    )
                })
                .unwrap_or_default();
            let line = format!("{what:<44}{value:>12.1} {unit:<4} {verdict}");
            // Writing to a string cannot fail.
            let _ = writeln!(table, "{}", line.trim_end());
        }
        table
    }
}

/// The value that this part of all values does not exceed; 0 of none.
pub fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * part).ceil() as usize;
    sorted
        .get(at.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(
            [0.5, 0.99, 1.0].map(|part| percentile(&values, part)),
            [100.0, 198.0, 200.0]
        );
        assert_eq!(percentile(&[], 0.99), 0.0);
        let mut figures = Figures::default();
        figures.add("lag", 300.0, "ms", Some(250.0));
        figures.add("gaps", 0.0, "", Some(0.0));
        let table = figures.table();
        assert!(
            table.contains("≤ 250 MISSED") && table.contains("≤ 0 reached"),
            "{table}"
        );
    }
}
