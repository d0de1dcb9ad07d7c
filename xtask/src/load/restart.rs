//! A server that is killed with all its debates in flight, and the next one: when it listens, when
//! all run again, what is asked twice.

use super::{
    CALLS, LISTENING, LOOK,
    client::Client,
    create, debates, ended,
    figures::Figures,
    note,
    served::{CALLS_AT_ONCE, Installed},
    standing,
};
use crate::perf::{self, server::Server};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Long enough that everything is in flight when the server dies.
const LATENCY: Duration = Duration::from_secs(5);

/// Kills a server and measures the next.
pub async fn measure(arguments: &[String]) -> Result<Figures, String> {
    let debates = debates(arguments, 10_000)?;
    let models = Server::spawn()?;
    let folder = perf::folder()?;
    let installed = Installed::new(folder.path(), &models.endpoints(LATENCY)[0])?;
    let first = installed.serve(None)?;
    let clients = [Arc::new(Client::new(&first.address, &installed.token)?)];
    clients[0].until_ready().await?;
    models.forget()?;
    create(&clients, debates, |_, _| {}).await?;
    // Some turns are on record by then, many wait, and nothing has ended: the second round stands
    // behind everybody's first.
    while models.seen()?.calls < 2 * debates as u64 {
        tokio::time::sleep(LOOK).await;
    }
    let before = standing(&clients).await?;
    drop(first);

    let begun = Instant::now();
    let next = installed.serve(None)?;
    let clients = [Arc::new(Client::new(&next.address, &installed.token)?)];
    clients[0].until_ready().await?;
    let mut figures = Figures::default();
    figures.add("in flight when it was killed", before.0 as f64, "", None);
    figures.add("ended before", before.1 as f64, "", Some(0.0));
    figures.add(
        "listening after",
        begun.elapsed().as_secs_f64(),
        "s",
        Some(LISTENING),
    );
    let resumed = loop {
        let (live, done) = standing(&clients).await?;
        note(&format!("{live} run again"));
        if live + done >= debates as u64 {
            break begun.elapsed();
        }
        tokio::time::sleep(LOOK).await;
    };
    figures.add(
        "all run again after",
        resumed.as_secs_f64(),
        "s",
        Some(30.0),
    );
    ended(&clients, debates, begun).await?;
    figures.add("all ended after", begun.elapsed().as_secs_f64(), "s", None);
    figures.add(
        "peak memory of the server",
        next.peak_memory()?,
        "MiB",
        Some(512.0),
    );
    let twice = models.seen()?.calls as f64 - (CALLS * debates as u64) as f64;
    figures.add(
        "calls made twice: those in flight at the kill",
        twice,
        "",
        Some(CALLS_AT_ONCE as f64),
    );
    Ok(figures)
}
