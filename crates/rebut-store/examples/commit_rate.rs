//! How many appends a second the store takes, alone and from a hundred debates at once, and how
//! fast it opens. `cargo run --release -p rebut-store --example commit_rate [FOLDER]`

use rebut_engine::{
    DebateId,
    event::{Event, TurnCompleted},
    model::Finish,
    record::{Hash, Place, Record},
    store::{Append, Durability, Store},
};
use rebut_store::SqliteStore;
use std::{
    error::Error,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let parent = std::env::args_os()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent)?;
    let path = folder.path().join("rate.db");
    let start = Instant::now();
    let store = Arc::new(SqliteStore::open(&path)?);
    println!("made in {:.1} ms", millis(start.elapsed()));
    for durability in [Durability::Power, Durability::Process] {
        for writers in [1, 100] {
            for records in [1, 10] {
                let rate = rate(&store, writers, records, durability).await?;
                println!(
                    "{durability:?}, {writers} writers, {records} records each: {rate:.0} \
                     appends/s, {:.0} rows/s",
                    rate * records as f64
                );
            }
        }
    }
    let start = Instant::now();
    drop(store);
    println!("closed in {:.1} ms", millis(start.elapsed()));
    for _ in 0..3 {
        let start = Instant::now();
        let store = SqliteStore::open(&path)?;
        let opened = start.elapsed();
        store.load(DebateId::new(), 0).await?;
        let read = start.elapsed();
        drop(store);
        let bytes = std::fs::metadata(&path)?.len() >> 20;
        println!(
            "opened {bytes} MiB in {:.2} ms, first read after {:.2} ms, closed after {:.2} ms",
            millis(opened),
            millis(read),
            millis(start.elapsed())
        );
    }
    Ok(())
}

async fn rate(
    store: &Arc<SqliteStore>,
    writers: usize,
    records: usize,
    durability: Durability,
) -> Result<f64, Box<dyn Error>> {
    // Made before, so that hashing is not counted.
    let each = if writers == 1 { 2000 } else { 300 } / records;
    let work: Vec<Vec<Append>> = (0..writers)
        .map(|_| journal(each, records, durability))
        .collect();
    let start = Instant::now();
    let tasks: Vec<_> = work
        .into_iter()
        .map(|appends| {
            let store = store.clone();
            tokio::spawn(async move {
                for append in appends {
                    store.append(append).await?;
                }
                Ok::<_, rebut_engine::store::StoreError>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok((each * writers) as f64 / start.elapsed().as_secs_f64())
}

fn journal(appends: usize, records: usize, durability: Durability) -> Vec<Append> {
    let (debate, mut prev, mut seq) = (DebateId::new(), Hash::default(), 0);
    let event = Event::TurnCompleted(Arc::new(TurnCompleted {
        turn: "challenge 2/risk".into(),
        attempt: 1,
        model: "script:replies.md".into(),
        answered_by: None,
        program: None,
        text: "The quick brown fox jumps over the lazy dog. ".repeat(5),
        finish: Finish::Complete,
        usage: None,
        ms: 12,
        copied_from: None,
    }));
    let mut next = || {
        seq += 1;
        let record = Record::new(
            debate,
            seq,
            prev,
            "2026-01-02T03:04:05.678Z".into(),
            Place::default(),
            &event,
        );
        prev = record.hash;
        record
    };
    let mut append = |at: usize| {
        let records: Vec<Record> = (0..records).map(|_| next()).collect();
        let (after, before) = (
            at * records.len(),
            records.first().map_or(Hash::default(), |first| first.prev),
        );
        Append {
            records,
            durability,
            ..Append::new(debate, after as u64, before)
        }
    };
    (0..appends).map(&mut append).collect()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
