//! `cargo xtask <tool>`: picks the tool and turns its result into an exit code.

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <tool>

  tidy                                  check the house rules in every tracked file
  measure [ROOT]                        figures about the sources here or below ROOT: size, density, cycles
  measure walk ARGUMENTS...             the source files that `rebut ARGUMENTS` passes through (needs valgrind)
  perf [--runs N] [--quick] [--json]    measure debates against a hand-written floor
  load [--debates N] [--watchers N] [--stalled N] [--latency MS]
                                        put load on a real server: live debates, watchers, readers
  load restart [--debates N]            kill a server with its debates in flight, and measure the next
  load nodes [--debates N]              the same debates on one node and on two over one PostgreSQL";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments
        .split_first()
        .map(|(tool, rest)| (tool.as_str(), rest))
    {
        Some(("tidy", [])) => tidy(),
        Some(("measure", [])) => xtask::measure::run(&xtask::root()),
        Some(("measure", [root])) => xtask::measure::run(std::path::Path::new(root)),
        Some(("measure", [walk, rest @ ..])) if walk == "walk" => {
            xtask::measure::walk(&xtask::root(), rest)
        }
        Some(("perf", rest)) => xtask::perf::run(rest).map_err(|error| format!("perf: {error}")),
        Some(("load", rest)) => xtask::load::run(rest).map_err(|error| format!("load: {error}")),
        // Perf starts these itself, as processes of their own.
        Some((xtask::perf::SERVER, rest)) => {
            xtask::perf::serve(rest).map_err(|error| format!("model server: {error}"))
        }
        Some((xtask::perf::SCENARIO, rest)) => {
            xtask::perf::run_scenario(rest).map_err(|error| format!("scenario: {error}"))
        }
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn tidy() -> Result<(), String> {
    let complaints =
        xtask::tidy::check(&xtask::root()).map_err(|error| format!("tidy: {error}"))?;
    for complaint in &complaints {
        println!("{complaint}");
    }
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(format!("tidy: {} to mend", complaints.len()))
    }
}
