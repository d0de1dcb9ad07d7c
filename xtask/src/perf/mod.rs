//! Perf: debates against a hand-written floor, over one loopback model server, all in one run.
//!
//! Every measurement is a process of its own, so that peak memory and CPU time are its alone, and the arms
//! take turns, so that a slow minute of the machine hits them all alike.

mod arm;
mod floor;
mod measure;
mod reply;
mod report;
mod scenarios;
mod server;

pub use scenarios::{SCENARIO, run_scenario};
pub use server::{SERVER, serve};

use report::Report;
use scenarios::SCENARIOS;
use server::Server;
use std::collections::BTreeMap;

/// What the user asked for.
struct Options {
    runs: usize,
    quick: bool,
    json: bool,
    only: Option<String>,
}

/// Measures everything and prints the table.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let server = Server::spawn()?;
    let mut report = Report::default();
    for scenario in SCENARIOS.iter().filter(|scenario| options.only.as_ref().is_none_or(|only| scenario.name.contains(only.as_str()))) {
        let mut samples: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        for run in 0..options.runs {
            for arm in arm::ARMS {
                eprint!("\r{:<60}", format!("{} ({}), {} of {}", scenario.name, arm.name, run + 1, options.runs));
                for (metric, value) in scenario.measure(arm, &server, options.quick)? {
                    let name = scenario.metrics.iter().find(|known| **known == metric).ok_or(format!("unknown metric {metric}"))?;
                    samples.entry((name, arm.name)).or_default().push(value);
                }
            }
        }
        report.add(scenario, samples);
    }
    eprintln!("\r{:<60}", "");
    println!("{}", if options.json { report.json().to_string() } else { report.table() });
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { runs: 5, quick: false, json: false, only: None };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--quick" => (options.quick, options.runs) = (true, 1),
                "--json" => options.json = true,
                "--runs" => options.runs = rest.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0).ok_or("--runs takes a number")?,
                "--only" => options.only = Some(rest.next().ok_or("--only takes a part of a scenario's name")?.clone()),
                other => return Err(format!("unknown argument `{other}`: takes --runs N, --quick, --json, --only NAME")),
            }
        }
        Ok(options)
    }
}
