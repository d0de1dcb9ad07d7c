//! A backup that is restored under a live run, piece by piece: the run waits until all of it is
//! there, then writes again what it lacks and goes on. It asks nobody twice and writes nothing into
//! what is half there.

use super::{connect, journal};
use rebut_engine::{memory_store::MemoryStore, store::StoreError};
use rebut_testkit::{
    cases::Case,
    interposed::Interposed,
    postgres::{Backup, Cluster},
};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// What the person who restores does, each before one more append. With the data, the run learns
/// what it has to write again, and tries that before there are keys too.
const DATABASE: &[&str] = &[
    "DROP DATABASE {} WITH (FORCE)",
    "CREATE DATABASE {}",
    "pre-data",
    "data",
    "SELECT",
    "post-data",
];
const SCHEMA: &[&str] = &[
    "DROP SCHEMA rebut CASCADE",
    "pre-data",
    "data",
    "SELECT",
    "post-data",
];

/// Drops a database and restores it, one step before each append.
struct Restoring {
    cluster: Arc<Cluster>,
    url: String,
    steps: &'static [&'static str],
    /// The backup is made before this append, and restored from two later on.
    from: usize,
    backup: Option<Backup>,
    appends: usize,
    refused: Vec<StoreError>,
}

impl Restoring {
    fn before_append(&mut self) {
        let at = self.appends;
        self.appends += 1;
        if at == self.from {
            self.backup = Some(self.cluster.back_up(&self.url));
        }
        let Some(step) = at
            .checked_sub(self.from + 2)
            .and_then(|at| self.steps.get(at))
        else {
            return;
        };
        let name = self.url.rsplit('/').next().expect("a name");
        let is_section = step.ends_with("data");
        match &self.backup {
            Some(backup) if is_section => self.cluster.restore(&self.url, backup, step),
            _ if step.contains("DATABASE") => {
                drop(self.cluster.ask("postgres", &step.replace("{}", name)))
            }
            _ => drop(self.cluster.ask(&self.url, step)),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_run_survives_a_backup_that_is_restored_under_it() {
    let cluster = Arc::new(Cluster::start());
    let case = Case::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../rebut-engine/tests/cases/decide/three-rounds"),
    );
    let (_, undisturbed) = case
        .run(Arc::new(MemoryStore::new()))
        .await
        .expect("the case");
    for (steps, from) in [(DATABASE, 0), (DATABASE, 3), (SCHEMA, 0), (SCHEMA, 3)] {
        let what = format!("{}, backed up before append {from}", steps[0]);
        let url = cluster.database();
        let store = connect(&url).await;
        let restoring = Restoring {
            cluster: cluster.clone(),
            url: url.clone(),
            steps,
            from,
            backup: None,
            appends: 0,
            refused: Vec::new(),
        };
        let restoring = Arc::new(Mutex::new(restoring));
        let meanwhile = restoring.clone();
        let store = Arc::new(Interposed::new(store, move |store, append| {
            let meanwhile = meanwhile.clone();
            Box::pin(async move {
                let step = meanwhile.clone();
                let stepping = move || {
                    step.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .before_append()
                };
                tokio::task::spawn_blocking(stepping)
                    .await
                    .expect("the step is done");
                let appended = store.append(append).await;
                if let Err(error) = &appended {
                    meanwhile
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .refused
                        .push(error.clone());
                }
                appended
            })
        }));
        let ran = case.run(store.clone()).await;
        let (id, ran) = ran.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(
            (&ran.outcome, &ran.calls, &ran.runs),
            (&undisturbed.outcome, &undisturbed.calls, &undisturbed.runs),
            "{what}"
        );
        let records = journal(&*store, id).await;
        let restoring = restoring.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(
            restoring.appends > from + 2 + steps.len(),
            "{what}: all of it was restored: {}",
            restoring.appends
        );
        let waited = restoring
            .refused
            .iter()
            .filter(|error| error.is_passing())
            .count();
        assert_eq!(
            waited + 2,
            steps.len(),
            "{what}: it waits at all but two, when it learns and when all is there: {:?}",
            restoring.refused
        );
        for (at, record) in records.iter().enumerate() {
            let prev = at
                .checked_sub(1)
                .map(|at| records[at].hash)
                .unwrap_or_default();
            assert_eq!(
                (record.seq, record.prev, record.hash),
                (at as u64 + 1, prev, record.compute_hash()),
                "{what}"
            );
        }
    }
}
