//! Who follows debates: watchers that read, and some that stop reading.

use super::client::Client;
use serde::Deserialize;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
    task::JoinSet,
};

/// Everybody who watches, and what they saw. Cheap to clone.
#[derive(Clone)]
pub struct Watchers {
    client: Arc<Client>,
    all: Arc<Mutex<JoinSet<Result<Watched, String>>>>,
    known: Known,
}

/// Debates that are there, and what was measured. Cheap to clone.
#[derive(Clone, Default)]
pub struct Known(Arc<Mutex<Measured>>);

#[derive(Default)]
struct Measured {
    ids: Vec<String>,
    lags: Vec<f64>,
    reads: Vec<f64>,
}

/// What one watcher saw.
struct Watched {
    events: u64,
    whole: bool,
}

/// What all of them saw.
pub struct Seen {
    /// Watchers that saw every event once, in order, to the end.
    pub whole: usize,
    /// Watchers that did not.
    pub broken: usize,
    /// Events they were told of.
    pub events: u64,
}

impl Known {
    /// Some debate.
    pub fn some(&self, number: usize) -> Option<String> {
        let measured = self.lock();
        // Not the same few again and again: a step that has no divisor in common with a round
        // number.
        measured
            .ids
            .get((number * 7_919) % measured.ids.len().max(1))
            .cloned()
    }

    /// A reading took so many milliseconds.
    pub fn read(&self, ms: f64) {
        self.lock().reads.push(ms);
    }

    fn lock(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watchers {
    /// Nobody yet.
    pub fn new(client: Arc<Client>) -> Self {
        Self {
            client,
            all: Arc::default(),
            known: Known::default(),
        }
    }

    /// The debates that are there.
    pub fn ids(&self) -> Known {
        self.known.clone()
    }

    /// A debate was started; somebody may watch it.
    pub fn created(&self, id: String, is_watched: bool) {
        self.known.lock().ids.push(id.clone());
        if is_watched {
            let (client, known) = (self.client.clone(), self.known.clone());
            self.tasks()
                .spawn(async move { follow(&client, &id, &known).await });
        }
    }

    /// The first so many debates.
    pub fn first(&self, most: usize) -> Vec<String> {
        self.known.lock().ids.iter().take(most).cloned().collect()
    }

    /// How late every event came so far, in milliseconds.
    pub fn lags(&self) -> Vec<f64> {
        self.known.lock().lags.clone()
    }

    /// How long every reading took so far, in milliseconds.
    pub fn reads(&self) -> Vec<f64> {
        self.known.lock().reads.clone()
    }

    /// What they saw, once all of them are done.
    pub async fn seen(&self, expected: usize) -> Result<Seen, String> {
        let mut tasks = std::mem::take(&mut *self.tasks());
        let mut seen = Seen {
            whole: 0,
            broken: 0,
            events: 0,
        };
        while let Some(watched) = tasks.join_next().await {
            let watched = watched.map_err(|error| error.to_string())??;
            seen.events += watched.events;
            if watched.whole {
                seen.whole += 1
            } else {
                seen.broken += 1
            }
        }
        if seen.whole + seen.broken == expected {
            Ok(seen)
        } else {
            Err(format!(
                "{} watchers of {expected}",
                seen.whole + seen.broken
            ))
        }
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<Result<Watched, String>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of an event that is measured.
#[derive(Deserialize)]
struct Told {
    seq: u64,
    ts: String,
    r#type: String,
}

async fn follow(client: &Client, id: &str, known: &Known) -> Result<Watched, String> {
    let mut stream = client.follow(id).await?;
    let (mut watched, mut rest, mut ended) = (
        Watched {
            events: 0,
            whole: true,
        },
        Vec::new(),
        false,
    );
    while let Some(bytes) = stream.chunk().await.map_err(|error| error.to_string())? {
        rest.extend_from_slice(&bytes);
        while let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = rest.drain(..end + 2).collect();
            let block = String::from_utf8_lossy(&block);
            // What has no number is not of the journal.
            if !block.lines().any(|line| line.starts_with("id:")) {
                continue;
            }
            let Some(data) = block.lines().find_map(|line| line.strip_prefix("data:")) else {
                continue;
            };
            let told: Told =
                serde_json::from_str(data).map_err(|error| format!("{error}: {data}"))?;
            known.lock().lags.push(late(&told.ts)?);
            watched.events += 1;
            watched.whole &= told.seq == watched.events;
            ended |= told.r#type == "debate.completed";
        }
    }
    Ok(Watched {
        whole: watched.whole && ended,
        ..watched
    })
}

/// How long ago something was recorded, in milliseconds.
fn late(ts: &str) -> Result<f64, String> {
    let recorded: SystemTime = ts
        .parse::<jiff::Timestamp>()
        .map_err(|error| error.to_string())?
        .into();
    Ok(SystemTime::now()
        .duration_since(recorded)
        .unwrap_or_default()
        .as_secs_f64()
        * 1000.0)
}

/// Watchers that ask and never read. They last as long as what this gives.
pub async fn stall(address: &str, token: &str, ids: &[String]) -> Result<Vec<TcpStream>, String> {
    let mut stalled = Vec::new();
    let there = address
        .parse()
        .map_err(|error| format!("{address}: {error}"))?;
    for id in ids {
        let socket = TcpSocket::new_v4().map_err(|error| error.to_string())?;
        // The smallest there is, so that it is the server that is left with what is not read.
        socket
            .set_recv_buffer_size(1)
            .map_err(|error| error.to_string())?;
        let mut stream = socket
            .connect(there)
            .await
            .map_err(|error| error.to_string())?;
        let request = format!(
            "GET /v1/debates/{id}/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer \
             {token}\r\naccept: text/event-stream\r\n\r\n"
        );
        stream
            .write_all(request.as_bytes())
            .await
            .map_err(|error| error.to_string())?;
        stalled.push(stream);
    }
    Ok(stalled)
}
