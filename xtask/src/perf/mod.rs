//! Perf: debates against a hand-written floor, over one loopback model server, all in one run.
//!
//! Every measurement is a process of its own, so that peak memory and CPU time are its alone, and
//! the arms take turns, so that a slow minute of the machine hits them all alike.

mod arm;
pub(crate) mod binary;
pub(crate) mod case;
mod engine;
mod floor;
pub(crate) mod measure;
mod reply;
mod report;
mod resume;
mod scenarios;
pub(crate) mod server;
mod targets;

pub use scenarios::{SCENARIO, run_scenario};
pub use server::{SERVER, serve};

use rebut_engine::memory_store::MemoryStore;
use report::Report;
use scenarios::{SCENARIOS, Scenario};
use server::Server;
use std::{collections::BTreeMap, path::Path, sync::Arc};
use tempfile::TempDir;

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
    let folder = folder()?;
    record_prompts(folder.path())?;
    let load = measure::load()?;
    let mut report = Report::default();
    let asked_for = |name: &str| {
        options
            .only
            .as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    let mut measured = Ok(());
    for scenario in SCENARIOS.iter().filter(|scenario| asked_for(scenario.name)) {
        match samples(scenario, &options, &server, folder.path()) {
            Ok(samples) => report.add(scenario, samples),
            Err(error) => {
                // Minutes of measuring went before it, and are worth having.
                measured = Err(format!("{}: {error}", scenario.name));
                break;
            }
        }
    }
    eprintln!("\r{:<60}", "");
    println!(
        "{}",
        if options.json {
            report.json().to_string()
        } else {
            report.table()
        }
    );
    eprintln!("load average before: {load}; after: {}", measure::load()?);
    measured
}

/// All runs of a scenario by all arms, by metric and arm.
type Samples = BTreeMap<(&'static str, &'static str), Vec<f64>>;

fn samples(
    scenario: &Scenario,
    options: &Options,
    server: &Server,
    folder: &Path,
) -> Result<Samples, String> {
    let mut samples = Samples::new();
    for run in 0..options.runs {
        for arm in arm::ARMS {
            eprint!(
                "\r{:<60}",
                format!(
                    "{} ({}), {} of {}",
                    scenario.name,
                    arm.name,
                    run + 1,
                    options.runs
                )
            );
            for (metric, value) in scenario.measure(arm, server, folder, options.quick)? {
                let name = scenario
                    .metrics
                    .iter()
                    .find(|known| **known == metric)
                    .ok_or(format!("unknown metric {metric}"))?;
                samples.entry((name, arm.name)).or_default().push(value);
            }
        }
    }
    Ok(samples)
}

/// In the build folder: databases must be on a disk, and the system's folder for temporary files
/// may be memory.
pub(crate) fn folder() -> Result<TempDir, String> {
    let target = crate::root().join("target");
    std::fs::create_dir_all(&target)
        .and_then(|()| tempfile::Builder::new().prefix("perf").tempdir_in(&target))
        .map_err(|error| error.to_string())
}

/// Records what the engine sends, for the floor.
fn record_prompts(folder: &Path) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let (_, prompts) = runtime.block_on(case::rehearse(
        Arc::new(MemoryStore::new()),
        &engine::model(0),
    ))?;
    let json = serde_json::to_vec(&prompts).map_err(|error| error.to_string())?;
    std::fs::write(arm::Place::prompts_file(folder), json).map_err(|error| error.to_string())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            runs: 5,
            quick: false,
            json: false,
            only: None,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--quick" => (options.quick, options.runs) = (true, 1),
                "--json" => options.json = true,
                "--runs" => {
                    options.runs = rest
                        .next()
                        .and_then(|n| n.parse().ok())
                        .filter(|n| *n > 0)
                        .ok_or("--runs takes a number")?
                }
                "--only" => {
                    options.only = Some(
                        rest.next()
                            .ok_or("--only takes a part of a scenario's name")?
                            .clone(),
                    )
                }
                other => {
                    return Err(format!(
                        "unknown argument `{other}`: takes --runs N, --quick, --json, --only NAME"
                    ));
                }
            }
        }
        Ok(options)
    }
}
