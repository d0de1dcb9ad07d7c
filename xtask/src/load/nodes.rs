//! The same debates on one node and on two over one PostgreSQL database: how many end in a second,
//! and whether the same comes of them.

use super::{client::Client, create, debates, ended, figures::Figures, served::Installed};
use crate::perf::{self, server::Server};
use rebut_testkit::postgres::Cluster;
use serde_json::Value;
use std::{
    cell::RefCell,
    sync::Arc,
    time::{Duration, Instant},
};

/// One node, then two.
pub async fn measure(arguments: &[String]) -> Result<Figures, String> {
    let debates = debates(arguments, 2_000)?;
    let cluster = Cluster::start();
    let mut figures = Figures::default();
    let (one, alone) = on(&cluster, 1, debates).await?;
    let (two, together) = on(&cluster, 2, debates).await?;
    figures.add("debates a second, one node", one, "", None);
    figures.add("debates a second, two nodes", two, "", None);
    figures.add("two nodes to one", two / one, "x", None);
    figures.add(
        "debates with another result",
        differing(&alone, &together) as f64,
        "",
        Some(0.0),
    );
    Ok(figures)
}

/// A model that answers at once would show the model's server, one that takes seconds would show
/// only that.
const LATENCY: Duration = Duration::from_millis(50);

/// How many debates ended in a second, and what came of each.
async fn on(cluster: &Cluster, nodes: usize, debates: usize) -> Result<(f64, Vec<Value>), String> {
    let models = Server::spawn()?;
    let folder = perf::folder()?;
    let installed = Installed::new(folder.path(), &models.endpoints(LATENCY)[0])?;
    let database = cluster.database();
    let mut running = Vec::new();
    let mut clients = Vec::new();
    for _ in 0..nodes {
        let served = installed.serve(Some(&database))?;
        let client = Client::new(&served.address, &installed.token)?;
        client.until_ready().await?;
        clients.push(Arc::new(client));
        running.push(served);
    }
    let begun = Instant::now();
    let ids = RefCell::new(vec![String::new(); debates]);
    create(&clients, debates, |number, id| {
        ids.borrow_mut()[number] = id
    })
    .await?;
    ended(&clients, debates, begun).await?;
    let rate = debates as f64 / begun.elapsed().as_secs_f64();
    let mut results = Vec::new();
    for id in ids.into_inner() {
        let text = clients[0]
            .get(&format!("/v1/debates/{id}/results"))
            .await?
            .0;
        let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        results.push(document["outcome"].clone());
    }
    Ok((rate, results))
}

/// How many debates did not come to the same; one without an outcome never did.
fn differing(these: &[Value], those: &[Value]) -> usize {
    let pairs = these.iter().zip(those);
    these.len().abs_diff(those.len())
        + pairs
            .filter(|(this, that)| this != that || this.is_null())
            .count()
}
