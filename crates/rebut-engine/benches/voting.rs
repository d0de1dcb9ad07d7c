//! How fast ballots are counted: `cargo bench -p rebut-engine --bench voting`. Growth over ballots
//! and candidates for every method, then 10^6 × 20 beside a plain sum of the same memory and beside
//! a straightforward Python program, all in one run.

use rebut_engine::voting::{METHODS, Method, Profile, Rules, method};
use std::{
    hint::black_box,
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const BALLOTS: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
const CANDIDATES: [usize; 4] = [3, 10, 30, 100];
/// A combination that is expected to take longer is left out, and said so.
const LONGEST: Duration = Duration::from_secs(10);

fn main() {
    growth();
    memory_speed();
}

/// Every method over every size, with the exponent of its growth.
fn growth() {
    println!(
        "time per count; exponents: growth with ballots (last two columns), with candidates (last \
         two rows)\n"
    );
    let mut table: Vec<Vec<Vec<Option<Duration>>>> =
        vec![vec![Vec::new(); CANDIDATES.len()]; METHODS.len()];
    for (at, &candidates) in CANDIDATES.iter().enumerate() {
        for &ballots in &BALLOTS {
            let profile = random_profile(candidates, ballots);
            for (row, method) in METHODS.iter().enumerate() {
                let times = &mut table[row][at];
                let expected = times.last().copied().flatten().map(|last| last * 10);
                let too_long = expected.is_some_and(|expected| expected > 2 * LONGEST)
                    || matches!(times.last(), Some(None));
                times.push((!too_long).then(|| best_of(method, &profile)));
            }
        }
    }
    println!(
        "{:<15} {:>4}  {}  {:>6}",
        "method",
        "cand",
        BALLOTS.map(|ballots| format!("{ballots:>9}")).join(" "),
        "expo"
    );
    for (method, by_candidates) in METHODS.iter().zip(&table) {
        for (times, candidates) in by_candidates.iter().zip(CANDIDATES) {
            let cells: Vec<String> = times
                .iter()
                .map(|time| {
                    time.map_or(" left out".to_owned(), |time| format!("{:>9}", shown(time)))
                })
                .collect();
            println!(
                "{:<15} {candidates:>4}  {}  {:>6}",
                method.name,
                cells.join(" "),
                exponent(times, 10.0)
            );
        }
        let last: Vec<Option<Duration>> = by_candidates
            .iter()
            .map(|times| times.get(3).copied().flatten())
            .collect();
        println!(
            "{:<15} growth with candidates at 100000 ballots: {}\n",
            "",
            exponent(&last, 100.0 / 30.0)
        );
    }
}

/// 10^6 ballots of 20 candidates: how near to merely reading them, and how far from Python.
fn memory_speed() {
    let (candidates, ballots) = (20, 1_000_000);
    let profile = random_profile(candidates, ballots);
    let bytes = profile.ranking_bytes() as f64;
    let speed = |time: Duration| bytes / time.as_secs_f64() / 1e9;
    let sum = fastest(|| assert_ne!(black_box(&profile).checksum(), 0), 20);
    println!("10^6 ballots × 20 candidates, {:.0} MB", bytes / 1e6);
    println!(
        "  plain sum of the array  {:>9}  {:.1} GB/s",
        shown(sum),
        speed(sum)
    );
    for name in ["plurality", "borda"] {
        let time = best_of(method(name).expect("a method"), &profile);
        println!(
            "  {name:<22}  {:>9}  {:.1} GB/s, {:.2} × the plain sum",
            shown(time),
            speed(time),
            time.as_secs_f64() / sum.as_secs_f64()
        );
    }
    let ours = best_of(method("condorcet").expect("a method"), &profile);
    println!("  condorcet with matrix   {:>9}", shown(ours));
    // Python is asked for a fiftieth; its time is proportional to the ballots.
    let sample = ballots / 50;
    match python_matrix(candidates, sample) {
        Some(python) => {
            let whole = python * 50.0;
            println!(
                "  the same in Python      {whole:>7.1} s  ({sample} ballots took {python:.2} s)"
            );
            println!(
                "  ratio                   {:>7.0} ×",
                whole / ours.as_secs_f64()
            );
        }
        None => println!("  python3 is not there: no comparison"),
    }
}

/// Orders drawn at random, the same in every run.
fn random_profile(candidates: usize, ballots: usize) -> Profile {
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut places = Vec::with_capacity(candidates * ballots);
    for _ in 0..ballots {
        let start = places.len();
        places.extend(0..candidates as u16);
        for at in (1..candidates).rev() {
            places.swap(start + at, start + next(at + 1));
        }
    }
    Profile::of_places(
        (0..candidates).map(|at| format!("c{at}")).collect(),
        &places,
    )
}

fn best_of(method: &Method, profile: &Profile) -> Duration {
    let rules = Rules::default();
    fastest(
        || drop(black_box(method.count(black_box(profile), &rules))),
        5,
    )
}

/// The fastest of several runs; one is enough of what takes long.
fn fastest(mut run: impl FnMut(), times: usize) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..times {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
        if best > Duration::from_millis(500) {
            break;
        }
    }
    best
}

/// By which power of the size the time grows, between the last two sizes that were measured.
fn exponent(times: &[Option<Duration>], factor: f64) -> String {
    let measured: Vec<f64> = times.iter().flatten().map(Duration::as_secs_f64).collect();
    match measured[..] {
        [.., before, last] => format!("{:.2}", (last / before).ln() / factor.ln()),
        _ => "-".to_owned(),
    }
}

fn shown(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{:.2} ms", seconds * 1e3),
        seconds => format!("{:.1} µs", seconds * 1e6),
    }
}

/// Seconds a plain Python program takes to make the matrix of so many random ballots.
fn python_matrix(candidates: usize, ballots: usize) -> Option<f64> {
    let program = format!(
        r#"
import random, time
random.seed(1)
names = ["c%d" % i for i in range({candidates})]
ballots = []
for _ in range({ballots}):
    order = names[:]
    random.shuffle(order)
    ballots.append(order)
start = time.perf_counter()
wins = {{a: {{b: 0 for b in names if b != a}} for a in names}}
for order in ballots:
    for i, a in enumerate(order):
        row = wins[a]
        for b in order[i + 1:]:
            row[b] += 1
print(time.perf_counter() - start)
"#
    );
    let mut child = Command::new("python3")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(program.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
