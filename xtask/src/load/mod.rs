//! Load: the real server in a process of its own, with thousands of live debates, people who watch,
//! read and stall; every figure with its target.

mod client;
mod figures;
mod nodes;
mod restart;
mod served;
mod watching;

use crate::perf::{self, server::Server};
use client::Client;
use figures::{Figures, percentile};
use futures_util::future::try_join_all;
use served::Installed;
use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::{Duration, Instant},
};
use watching::{Seen, Watchers};

/// What the user asked for.
#[derive(Clone, Copy)]
struct Options {
    debates: usize,
    watchers: usize,
    stalled: usize,
    latency: Duration,
}

/// Calls of one debate: three judges, two rounds.
const CALLS: u64 = 6;

/// A server listens after so many seconds, whatever lies in its database.
const LISTENING: f64 = 2.0;

/// So many requests for new debates are under way at once.
const STARTERS: usize = 32;

/// Runs it all and prints the table.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // One thread: the other core belongs to the server.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let figures = match arguments
        .split_first()
        .map(|(first, rest)| (first.as_str(), rest))
    {
        Some(("nodes", rest)) => runtime.block_on(nodes::measure(rest)),
        Some(("restart", rest)) => runtime.block_on(restart::measure(rest)),
        _ => runtime.block_on(measure(Options::parse(arguments)?)),
    }?;
    println!("{}", figures.table());
    eprintln!("load average after: {}", perf::measure::load()?);
    Ok(())
}

async fn measure(options: Options) -> Result<Figures, String> {
    let models = Server::spawn()?;
    let folder = perf::folder()?;
    let installed = Installed::new(folder.path(), &models.endpoints(options.latency)[0])?;
    let begun = Instant::now();
    let served = installed.serve(None)?;
    let client = Arc::new(Client::new(&served.address, &installed.token)?);
    client.until_ready().await?;
    let mut figures = Figures::default();
    figures.add(
        "listening after",
        begun.elapsed().as_secs_f64(),
        "s",
        Some(LISTENING),
    );
    models.forget()?;
    let watchers = Watchers::new(client.clone());
    let reading = tokio::spawn(read_all_the_time(client.clone(), watchers.ids()));
    let created = create(
        std::slice::from_ref(&client),
        options.debates,
        |number, id| watchers.created(id, number < options.watchers),
    )
    .await?;
    note(&format!(
        "{} debates live after {:.0} s",
        options.debates,
        begun.elapsed().as_secs_f64()
    ));
    let undisturbed = watchers.lags();
    let stalled = watching::stall(
        &served.address,
        &installed.token,
        &watchers.first(options.stalled),
    )
    .await?;
    let live = ended(std::slice::from_ref(&client), options.debates, begun).await?;
    reading.abort();
    let read = watchers.reads();
    figures.add("live debates at once", live as f64, "", None);
    figures.add("all ended after", begun.elapsed().as_secs_f64(), "s", None);
    let peak = served.peak_memory()?;
    figures.add("peak memory of the server", peak, "MiB", Some(512.0));
    figures.add("memory after all ended", served.memory()?, "MiB", None);
    figures.add(
        "POST /v1/debates, p99",
        percentile(&created, 0.99),
        "ms",
        Some(150.0),
    );
    figures.add("GET, p50", percentile(&read, 0.5), "ms", None);
    figures.add("GET, p99", percentile(&read, 0.99), "ms", Some(50.0));
    let all = watchers.lags();
    let disturbed = &all[undisturbed.len()..];
    figures.add("lag of watchers, p50", percentile(&all, 0.5), "ms", None);
    figures.add(
        "lag of watchers, p99",
        percentile(&all, 0.99),
        "ms",
        Some(250.0),
    );
    figures.add(
        "the same before anybody stalls, p99",
        percentile(&undisturbed, 0.99),
        "ms",
        None,
    );
    figures.add(
        "the same with some who stall, p99",
        percentile(disturbed, 0.99),
        "ms",
        Some(250.0),
    );
    let Seen {
        whole,
        broken,
        events,
    } = watchers.seen(options.watchers).await?;
    figures.add("events that watchers saw", events as f64, "", None);
    figures.add(
        "watchers with a gap or a repetition",
        broken as f64,
        "",
        Some(0.0),
    );
    figures.add("watchers that saw all", whole as f64, "", None);
    let calls = models.seen()?.calls;
    figures.add(
        "calls per debate",
        calls as f64 / options.debates as f64,
        "",
        Some(CALLS as f64),
    );
    drop(stalled);
    // Whatever of the first debates were still held would come on top of the second ones.
    let clients = [client];
    create(&clients, options.debates, |_, _| {}).await?;
    ended(&clients, 2 * options.debates, begun).await?;
    figures.add(
        "peak after as many again, to the first peak",
        served.peak_memory()? / peak,
        "x",
        Some(1.1),
    );
    Ok(figures)
}

/// Starts so many debates, at one server after the other, and tells of each. Gives how long each
/// request took, in milliseconds.
async fn create(
    clients: &[Arc<Client>],
    debates: usize,
    created: impl Fn(usize, String),
) -> Result<Vec<f64>, String> {
    let (next, created, all) = (Cell::new(0), &created, RefCell::new(Vec::new()));
    let starter = async || {
        while next.get() < debates {
            let number = next.replace(next.get() + 1);
            let (id, ms) = clients[number % clients.len()].create().await?;
            all.borrow_mut().push(ms);
            created(number, id);
        }
        Ok::<_, String>(())
    };
    try_join_all((0..STARTERS).map(|_| starter())).await?;
    Ok(all.into_inner())
}

/// Somebody always looks at some debate, and now and then at the list.
async fn read_all_the_time(client: Arc<Client>, known: watching::Known) {
    for number in 0_usize.. {
        let path = match known.some(number) {
            Some(id) if number % 8 > 0 => format!("/v1/debates/{id}"),
            _ => "/v1/debates?limit=50".to_owned(),
        };
        match client.get(&path).await {
            Ok((_, ms)) => known.read(ms),
            Err(error) => note(&format!("GET {path}: {error}")),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until so many have ended at all servers together. Gives how many were live at once at
/// most.
async fn ended(clients: &[Arc<Client>], debates: usize, begun: Instant) -> Result<u64, String> {
    let mut most = 0;
    loop {
        let (live, done) = standing(clients).await?;
        most = most.max(live);
        note(&format!(
            "{done} of {debates} ended after {:.0} s",
            begun.elapsed().as_secs_f64()
        ));
        if done >= debates as u64 {
            return Ok(most);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// How many debates run at all servers together, and how many have ended there.
async fn standing(clients: &[Arc<Client>]) -> Result<(u64, u64), String> {
    let (mut live, mut done) = (0, 0);
    for client in clients {
        let metrics = client.get("/metrics").await?.0;
        let sum = |name: &str| -> u64 {
            let rows = metrics.lines().filter(|line| line.starts_with(name));
            rows.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok())
                .sum()
        };
        (live, done) = (
            live + sum("rebut_debates_live "),
            done + sum("rebut_debates_ended_total"),
        );
    }
    Ok((live, done))
}

/// So often is looked how many have ended.
const LOOK: Duration = Duration::from_millis(250);

fn note(text: &str) {
    eprint!("\r{text:<60}");
}

/// The only argument of some: how many debates.
fn debates(arguments: &[String], usual: usize) -> Result<usize, String> {
    match arguments {
        [] => Ok(usual),
        [flag, number] if flag == "--debates" => number
            .parse()
            .map_err(|_| format!("--debates takes a number, not `{number}`")),
        _ => Err("takes --debates N".to_owned()),
    }
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            debates: 10_000,
            watchers: 1_000,
            stalled: 50,
            latency: Duration::from_secs(5),
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut number = || {
                rest.next()
                    .and_then(|number| number.parse::<usize>().ok())
                    .ok_or(format!("{argument} takes a number"))
            };
            match argument.as_str() {
                "--debates" => options.debates = number()?.max(1),
                "--watchers" => options.watchers = number()?,
                "--stalled" => options.stalled = number()?,
                "--latency" => options.latency = Duration::from_millis(number()? as u64),
                other => {
                    return Err(format!(
                        "unknown argument `{other}`: takes --debates N, --watchers N, --stalled N, \
                         --latency MS, or nodes or restart"
                    ));
                }
            }
        }
        options.watchers = options.watchers.min(options.debates);
        Ok(options)
    }
}
