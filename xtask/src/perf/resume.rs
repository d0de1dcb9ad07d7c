//! Resuming: a database full of debates whose process died in the middle, and a new process that
//! brings all to their end.

use super::{
    arm::Place,
    case,
    engine::{desk, expect_contested, model},
    measure::{cpu, peak_memory},
    scenarios::{CPU, ENDED, LIVE, PEAK, Values},
};
use rebut_engine::{
    DebateId,
    event::{Event, Started},
    memory_store::MemoryStore,
    record::{Hash, Place as EventPlace, Record},
    store::{Append, Claim, Durability, Filter, Status, Store},
    view,
};
use rebut_store::SqliteStore;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use tokio::task::JoinSet;

/// Resumes everything that is open, at the same time.
pub fn run(place: &Place, debates: usize) -> Result<Values, String> {
    let folder = tempfile::tempdir_in(&place.folder).map_err(|error| error.to_string())?;
    let database = folder.path().join("rebut.db");
    let copied = fs::copy(open_database(&place.folder), &database)
        .and_then(|_| fs::File::open(&database)?.sync_all());
    copied.map_err(|error| format!("copying the database: {error}"))?;
    runtime()?.block_on(resume_all(place, &database, debates))
}

async fn resume_all(place: &Place, database: &Path, debates: usize) -> Result<Values, String> {
    let (start, cpu_before) = (Instant::now(), cpu()?);
    let desk = desk(
        place,
        Arc::new(SqliteStore::open(database).map_err(|error| error.to_string())?),
    )?;
    let open = desk
        .sessions(&Filter {
            status: Some(Status::Running),
            ..Filter::default()
        })
        .await
        .map_err(|error| error.to_string())?;
    if open.len() != debates {
        return Err(format!("{} debates are open, not {debates}", open.len()));
    }
    let mut resuming = JoinSet::new();
    for session in open {
        let desk = desk.clone();
        resuming.spawn(async move { desk.resume(session.id).await });
    }
    let mut running = Vec::with_capacity(debates);
    while let Some(resumed) = resuming.join_next().await {
        running.push(
            resumed
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())?,
        );
    }
    let live = start.elapsed();
    for debate in running {
        expect_contested(&*debate.outcome().await.map_err(|error| error.to_string())?)?;
    }
    let (ended, cpu) = (start.elapsed(), cpu()? - cpu_before);
    let each = cpu.as_secs_f64() * 1e3 / debates as f64;
    Ok(vec![
        (LIVE, live.as_secs_f64()),
        (ENDED, ended.as_secs_f64()),
        (PEAK, peak_memory()?),
        (CPU, each),
    ])
}

/// Whether the database of open debates is there.
pub fn is_prepared(folder: &Path) -> bool {
    open_database(folder).exists()
}

/// Makes the database: journals that end where the second round's calls have just left, claimed by
/// a process that is gone.
pub fn prepare(place: &Place, debates: usize) -> Result<(), String> {
    runtime()?.block_on(async {
        let mut cuts = Vec::new();
        for endpoint in 0..place.endpoints.len() {
            let (records, _) =
                case::rehearse(Arc::new(MemoryStore::new()), &model(endpoint)).await?;
            cuts.push(Cut::of(&records)?);
        }
        let unfinished = place.folder.join("unfinished.db");
        let store = Arc::new(SqliteStore::open(&unfinished).map_err(|error| error.to_string())?);
        let mut appending = JoinSet::new();
        for number in 0..debates {
            let (store, append) = (store.clone(), cuts[number % cuts.len()].append());
            appending.spawn(async move { store.append(append).await });
        }
        while let Some(appended) = appending.join_next().await {
            appended
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())?;
        }
        // Closed before it is moved, so that nothing stays in the log beside it.
        drop(store);
        fs::rename(unfinished, open_database(&place.folder)).map_err(|error| error.to_string())
    })
}

fn open_database(folder: &Path) -> PathBuf {
    folder.join("open.db")
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

/// The beginning of a journal, to be written under many names.
struct Cut {
    started: Started,
    ts: Arc<str>,
    events: Vec<(EventPlace, Event)>,
}

impl Cut {
    /// Everything up to the last call that left.
    fn of(records: &[Record]) -> Result<Self, String> {
        let length = records
            .iter()
            .rposition(|record| record.kind == "turn.started")
            .map_or(0, |last| last + 1);
        let mut events = Vec::new();
        for record in &records[..length] {
            let event = record
                .event()
                .map_err(|error| error.to_string())?
                .ok_or("an event of an unknown kind")?;
            events.push((
                EventPlace {
                    round: record.round,
                    phase: record.phase.clone(),
                    agent: record.agent.clone(),
                },
                event,
            ));
        }
        match events.first() {
            Some((_, Event::DebateStarted(started))) => Ok(Self {
                started: (**started).clone(),
                ts: records[0].ts.clone(),
                events,
            }),
            _ => Err("the journal has no beginning".to_owned()),
        }
    }

    /// The same journal of another debate.
    fn append(&self) -> Append {
        let debate = DebateId::new();
        let mut append = Append::new(debate, 0, Hash::default());
        let (mut seq, mut head) = (0, Hash::default());
        let mut records = Vec::with_capacity(self.events.len());
        for (place, event) in &self.events {
            seq += 1;
            let record = Record::new(debate, seq, head, self.ts.clone(), place.clone(), event);
            head = record.hash;
            records.push(record);
        }
        append.turns = view::turn_rows(&records);
        append.records = records;
        append.session = Some(Box::new(view::session(debate, &self.started, &self.ts)));
        (append.claim, append.durability) = (Claim::Take, Durability::Power);
        append
    }
}
