//! The scenarios: what is measured, each in a process of its own.

use super::{
    arm::{ARMS, Arm, ArmRow, Place},
    binary::Binary,
    measure::{cpu, median, memory, peak_memory},
    resume,
    server::{Server, now},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// The hidden command that runs one scenario on one arm.
pub const SCENARIO: &str = "perf-scenario";

/// One measurement.
pub struct Scenario {
    /// Its name in reports and on the command line.
    pub name: &'static str,
    /// How long the model thinks about each call.
    pub latency: Duration,
    /// What it yields, unit included.
    pub metrics: &'static [&'static str],
    /// What no program can beat, in the unit of the first metric.
    pub bound: Option<f64>,
    work: Work,
}

/// How many debates, and how.
enum Work {
    /// One after the other: the median time of one.
    InTurn { debates: usize },
    /// So many at any time: rate and CPU time.
    Steady { debates: usize, at_once: usize },
    /// All at once, with a cap on the calls in flight: wall time and peak memory.
    Crowd { debates: usize },
    /// From the start of a process to its first call.
    Start { debates: usize },
    /// Opening that many debates whose process died, and bringing them to their end.
    Resume { debates: usize },
}

/// How long to take over it.
#[derive(Clone, Copy, PartialEq)]
pub enum Size {
    /// A tenth of the debates where their number does not matter, to see that it works.
    Quick,
    /// What is reported.
    Full,
}

impl Size {
    fn of(self, debates: usize) -> usize {
        if self == Self::Quick {
            debates.div_ceil(10)
        } else {
            debates
        }
    }
}

/// Metrics and their values.
pub type Values = Vec<(&'static str, f64)>;

/// The time of one debate.
pub const MS: &str = "ms per debate";
/// Debates that ended in a second.
pub const RATE: &str = "debates/s";
/// CPU time of the measured process.
pub const CPU: &str = "CPU ms per debate";
/// The time of all.
pub const WALL: &str = "s wall";
/// The most memory the measured process had.
pub const PEAK: &str = "MiB peak";
const EACH: &str = "KiB per live debate";
/// The time from the start of a process until the model server has its first call.
pub const FIRST_CALL: &str = "ms to first call";
const BYTES: &str = "bytes per call";
/// The time until every open debate runs again.
pub const LIVE: &str = "s until all live";
/// The time until every open debate has ended.
pub const ENDED: &str = "s until all ended";

/// Calls in flight at most: a real limit of sockets and of providers, the same for every arm.
const CALLS: usize = 3000;

/// Three agents, two rounds.
const CALLS_PER_DEBATE: u64 = 6;

const fn row(
    name: &'static str,
    latency_ms: u64,
    metrics: &'static [&'static str],
    bound: Option<f64>,
    work: Work,
) -> Scenario {
    Scenario {
        name,
        latency: Duration::from_millis(latency_ms),
        metrics,
        bound,
        work,
    }
}

/// Calls that a debate cut in its second round still needs.
const CALLS_TO_RESUME: u64 = 3;

/// Everything that is measured.
pub const SCENARIOS: &[Scenario] = &[
    row(
        "one debate at 50 ms",
        50,
        &[MS, BYTES],
        Some(100.0),
        Work::InTurn { debates: 20 },
    ),
    row(
        "one debate at 1 s",
        1000,
        &[MS],
        Some(2000.0),
        Work::InTurn { debates: 3 },
    ),
    row(
        "100 at a time at 0 ms",
        0,
        &[RATE, CPU],
        None,
        Work::Steady {
            debates: 5000,
            at_once: 100,
        },
    ),
    row(
        "1,000 at once at 1 s",
        1000,
        &[WALL, PEAK, EACH, CPU],
        Some(2.0),
        Work::Crowd { debates: 1000 },
    ),
    row(
        "10,000 at once at 1 s",
        1000,
        &[WALL, PEAK, EACH, CPU],
        Some(20.0),
        Work::Crowd { debates: 10_000 },
    ),
    row(
        "process start",
        0,
        &[FIRST_CALL],
        None,
        Work::Start { debates: 10 },
    ),
    row(
        "resume 10,000 at 0 ms",
        0,
        &[LIVE, ENDED, PEAK, CPU],
        None,
        Work::Resume { debates: 10_000 },
    ),
];

impl Scenario {
    /// Runs it on an arm in a new process and reads what that says. Nothing where it makes no
    /// sense.
    pub fn measure(
        &self,
        arm: &ArmRow,
        server: &Server,
        folder: &Path,
        quick: bool,
    ) -> Result<Vec<(String, f64)>, String> {
        let size = if quick { Size::Quick } else { Size::Full };
        match self.work {
            Work::Start { debates } => return self.first_calls(arm, server, folder, debates),
            Work::Resume { .. } if !arm.durable => return Ok(Vec::new()),
            Work::Resume { .. } if !resume::is_prepared(folder) => {
                self.say(arm, server, folder, "prepare").map(drop)?
            }
            _ => {}
        }
        server.forget()?;
        let mut values = self.say(arm, server, folder, if quick { "quick" } else { "full" })?;
        let seen = server.seen()?;
        // Arms that call more or less often than the floor cannot be compared with it.
        if seen.calls != self.calls(size) {
            return Err(format!(
                "{} on {} made {} calls, not {}",
                self.name,
                arm.name,
                seen.calls,
                self.calls(size)
            ));
        }
        if self.metrics.contains(&BYTES) {
            values.push((BYTES.to_owned(), seen.bytes as f64 / seen.calls as f64));
        }
        Ok(values)
    }

    /// Runs the hidden command and reads its values.
    fn say(
        &self,
        arm: &ArmRow,
        server: &Server,
        folder: &Path,
        size: &str,
    ) -> Result<Vec<(String, f64)>, String> {
        let output = self
            .command(arm, server, folder, size)?
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!(
                "{} on {}: {}",
                self.name,
                arm.name,
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        let read = |line: &str| -> Result<(String, f64), String> {
            let (value, metric) = line
                .split_once(' ')
                .ok_or_else(|| format!("not a value: {line}"))?;
            Ok((
                metric.to_owned(),
                value.parse().map_err(|_| format!("not a number: {line}"))?,
            ))
        };
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(read)
            .collect()
    }

    /// How many calls a run makes, the warm-up included.
    fn calls(&self, size: Size) -> u64 {
        match self.work {
            Work::InTurn { debates } => (size.of(debates) as u64 + 1) * CALLS_PER_DEBATE,
            Work::Steady { debates, at_once } => {
                (size.of(debates) + at_once) as u64 * CALLS_PER_DEBATE
            }
            Work::Crowd { debates } => (debates as u64 + 1) * CALLS_PER_DEBATE,
            Work::Start { .. } => CALLS_PER_DEBATE,
            Work::Resume { debates } => debates as u64 * CALLS_TO_RESUME,
        }
    }

    fn first_calls(
        &self,
        arm: &ArmRow,
        server: &Server,
        folder: &Path,
        debates: usize,
    ) -> Result<Vec<(String, f64)>, String> {
        let binary = if arm.durable {
            Some(Binary::new(folder, &server.endpoints(self.latency)[0])?)
        } else {
            None
        };
        let command = || match &binary {
            Some(binary) => Ok(binary.command()),
            None => self.command(arm, server, folder, "quick"),
        };
        // The first one makes the files that others find.
        first_call(arm, server, command()?)?;
        let times: Result<Vec<f64>, String> = (0..debates)
            .map(|_| first_call(arm, server, command()?))
            .collect();
        Ok(median(&times?)
            .map(|time| (FIRST_CALL.to_owned(), time))
            .into_iter()
            .collect())
    }

    fn command(
        &self,
        arm: &ArmRow,
        server: &Server,
        folder: &Path,
        size: &str,
    ) -> Result<Command, String> {
        let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
        command
            .args([SCENARIO, arm.name, self.name, size])
            .arg(folder)
            .args(server.endpoints(self.latency));
        Ok(command)
    }

    /// Runs it in this process.
    pub fn run<A: Arm>(
        &self,
        size: Size,
        open: impl FnOnce() -> Result<A, String>,
    ) -> Result<Values, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let arm = Arc::new(open()?);
            match self.work {
                Work::InTurn { debates } => in_turn(arm, size.of(debates)).await,
                Work::Steady { debates, at_once } => steady(arm, size.of(debates), at_once).await,
                // The number is the point of this one.
                Work::Crowd { debates } => crowd(arm, debates).await,
                Work::Start { .. } | Work::Resume { .. } => {
                    arm.debate(0).await.map(|()| Vec::new())
                }
            }
        })
    }
}

fn first_call(arm: &ArmRow, server: &Server, mut command: Command) -> Result<f64, String> {
    server.forget()?;
    let start = now();
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let seen = server.seen()?;
    if seen.calls != CALLS_PER_DEBATE {
        return Err(format!(
            "{} made {} calls, not {CALLS_PER_DEBATE}: {}",
            arm.name,
            seen.calls,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(seen.first.saturating_sub(start) as f64 / 1e6)
}

async fn in_turn<A: Arm>(arm: Arc<A>, debates: usize) -> Result<Values, String> {
    // The first one opens the connections.
    arm.debate(0).await?;
    let mut times = Vec::new();
    for _ in 0..debates {
        let start = Instant::now();
        arm.debate(0).await?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(&times).map(|time| (MS, time)).into_iter().collect())
}

async fn steady<A: Arm>(arm: Arc<A>, debates: usize, at_once: usize) -> Result<Values, String> {
    hold(&arm, at_once, at_once).await?;
    let (start, cpu_before) = (Instant::now(), cpu()?);
    hold(&arm, debates, at_once).await?;
    let (wall, cpu) = (start.elapsed(), cpu()? - cpu_before);
    Ok(vec![
        (RATE, debates as f64 / wall.as_secs_f64()),
        (CPU, cpu.as_secs_f64() * 1e3 / debates as f64),
    ])
}

async fn crowd<A: Arm>(arm: Arc<A>, debates: usize) -> Result<Values, String> {
    arm.debate(0).await?;
    let (start, cpu_before, memory_before) = (Instant::now(), cpu()?, memory()?);
    hold(&arm, debates, debates).await?;
    let (wall, cpu, peak) = (start.elapsed(), cpu()? - cpu_before, peak_memory()?);
    let each = (peak - memory_before) * 1024.0 / debates as f64;
    Ok(vec![
        (WALL, wall.as_secs_f64()),
        (PEAK, peak),
        (EACH, each),
        (CPU, cpu.as_secs_f64() * 1e3 / debates as f64),
    ])
}

/// Holds that many debates, so many at any time.
async fn hold<A: Arm>(arm: &Arc<A>, debates: usize, at_once: usize) -> Result<(), String> {
    let mut running = JoinSet::new();
    for number in 0..debates {
        if running.len() >= at_once {
            joined(running.join_next().await)?;
        }
        let arm = Arc::clone(arm);
        running.spawn(async move { arm.debate(number).await });
    }
    while let Some(ended) = running.join_next().await {
        joined(Some(ended))?;
    }
    Ok(())
}

fn joined(ended: Option<Result<Result<(), String>, tokio::task::JoinError>>) -> Result<(), String> {
    ended
        .unwrap_or(Ok(Ok(())))
        .map_err(|error| error.to_string())?
}

/// The hidden command: `<arm> <scenario> <prepare|quick|full> <folder> <endpoint>…`; prints a line
/// `<value> <metric>` for each metric.
pub fn run_scenario(arguments: &[String]) -> Result<(), String> {
    let [arm, scenario, size, folder, endpoints @ ..] = arguments else {
        return Err("started by hand? use `cargo xtask perf`".to_owned());
    };
    let arm = ARMS
        .iter()
        .find(|known| known.name == arm)
        .ok_or("no such arm")?;
    let scenario = SCENARIOS
        .iter()
        .find(|known| known.name == scenario)
        .ok_or("no such scenario")?;
    let place = Place {
        endpoints: endpoints.to_vec(),
        calls: CALLS,
        folder: PathBuf::from(folder),
    };
    let values = match (&scenario.work, size.as_str()) {
        (Work::Resume { debates }, "prepare") => {
            resume::prepare(&place, *debates).map(|()| Vec::new())
        }
        (Work::Resume { debates }, _) => resume::run(&place, *debates),
        (_, "quick") => (arm.run)(scenario, Size::Quick, &place),
        _ => (arm.run)(scenario, Size::Full, &place),
    };
    for (metric, value) in values? {
        println!("{value} {metric}");
    }
    Ok(())
}
