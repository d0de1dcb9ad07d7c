//! Whatever is done to them, the store on disk and the one on a server answer as the one in memory
//! does.

use crate::{database, open};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use rebut_engine::{
    DebateId,
    memory_store::MemoryStore,
    projection::{Made, OfTurn, Projection, TurnList},
    record::Record,
    store::{Append, Durability, Filter, Status, Store},
};
use rebut_testkit::conformance::{append_of, more_records, session_of, turn_of};
use std::{path::PathBuf, sync::Arc};

#[derive(Clone, Debug)]
enum Step {
    Append {
        debate: usize,
        records: usize,
        behind: u64,
        text: String,
        session: Option<bool>,
        power: bool,
    },
    Redact {
        debate: usize,
        seq: u64,
        behind: u64,
    },
    Remove {
        debate: usize,
    },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let behind = || prop_oneof![4 => Just(0u64), 1 => 1..3u64];
    prop_oneof![
        6 => (0..3usize, 1..4usize, behind(), "\\PC{0,12}", any::<Option<bool>>(), any::<bool>())
            .prop_map(|(debate, records, behind, text, session, power)| Step::Append { debate, records, behind, text, session, power }),
        2 => (0..3usize, 1..6u64, behind()).prop_map(|(debate, seq, behind)| Step::Redact { debate, seq, behind }),
        1 => (0..3usize).prop_map(|debate| Step::Remove { debate }),
        1 => Just(Step::Reopen),
    ]
}

/// Where a store keeps what it is given.
enum Place {
    File(PathBuf),
    #[cfg(target_os = "linux")]
    Server(String),
}

impl Place {
    async fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::File(path) => Arc::new(open(path)),
            #[cfg(target_os = "linux")]
            Self::Server(url) => Arc::new(crate::postgres::connect(url).await),
        }
    }
}

#[test]
fn behaves_as_the_one_in_memory() {
    #[cfg(target_os = "linux")]
    let cluster = rebut_testkit::postgres::Cluster::start();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let compared = runner.run(&vec(step(), 1..25), |steps| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (_folder, path) = database();
        let places = [
            Place::File(path),
            #[cfg(target_os = "linux")]
            Place::Server(cluster.database()),
        ];
        runtime.block_on(compare(steps, &places));
        Ok(())
    });
    compared.unwrap_or_else(|failure| panic!("{failure}"));
}

async fn compare(steps: Vec<Step>, places: &[Place]) {
    let model = MemoryStore::new();
    let mut stores = Vec::new();
    for place in places {
        stores.push(place.open().await);
    }
    let debates = [DebateId::new(), DebateId::new(), DebateId::new()];
    for step in steps {
        if matches!(step, Step::Reopen) {
            stores.clear();
            for place in places {
                stores.push(place.open().await);
            }
        }
        let work = Work::of(&step, &model, debates).await;
        let expected = work.on(&model).await;
        for store in &stores {
            assert_eq!(work.on(&**store).await, expected, "{step:?}");
            for debate in debates {
                assert_eq!(
                    store.load(debate, 0).await,
                    model.load(debate, 0).await,
                    "after {step:?}"
                );
                assert_eq!(
                    store.tables(debate).await,
                    model.tables(debate).await,
                    "after {step:?}"
                );
            }
            for filter in [Filter::default(), filter_of(&step, debates)] {
                assert_eq!(
                    store.sessions(&filter).await,
                    model.sessions(&filter).await,
                    "{filter:?} after {step:?}"
                );
            }
        }
    }
}

/// A step with all that it needs.
enum Work {
    Append(Append),
    Redact(Box<Record>, Append),
    Remove(DebateId),
    Nothing,
}

impl Work {
    async fn of(step: &Step, model: &MemoryStore, debates: [DebateId; 3]) -> Self {
        match step {
            Step::Append { debate, behind, .. } => {
                let before = before(model, debates[*debate], *behind).await;
                Self::Append(build(step, debates[*debate], &before))
            }
            Step::Redact {
                debate,
                seq,
                behind,
            } => {
                let debate = debates[*debate];
                let before = before(model, debate, *behind).await;
                let report = append_of(debate, &more_records(debate, &before, 1, "report"));
                let found = model
                    .load(debate, seq - 1)
                    .await
                    .expect("load")
                    .into_iter()
                    .next();
                let nowhere = || Record {
                    seq: *seq,
                    ..Record::clone(&more_records(debate, &[], 1, "")[0])
                };
                Self::Redact(Box::new(found.unwrap_or_else(nowhere).tombstone()), report)
            }
            Step::Remove { debate } => Self::Remove(debates[*debate]),
            Step::Reopen => Self::Nothing,
        }
    }

    async fn on(&self, store: &dyn Store) -> Result<(), rebut_engine::store::StoreError> {
        match self {
            Self::Append(append) => store.append(append.clone()).await,
            Self::Redact(tombstone, append) => {
                store.redact(Record::clone(tombstone), append.clone()).await
            }
            Self::Remove(debate) => store.remove(*debate).await,
            Self::Nothing => Ok(()),
        }
    }
}

/// A question that hangs together with the step: some of it may be found.
fn filter_of(step: &Step, debates: [DebateId; 3]) -> Filter {
    match step {
        Step::Append {
            debate,
            text,
            session,
            ..
        } => Filter {
            prefix: Some(debates[*debate].to_string()[..3].to_owned()),
            topic: Some(text.chars().take(1).collect()),
            status: session.map(|_| Status::Completed),
            ..Filter::default()
        },
        Step::Redact { seq, .. } => Filter {
            limit: *seq as usize,
            ..Filter::default()
        },
        _ => Filter {
            by: Some("me".to_owned()),
            format: Some("decide".to_owned()),
            ..Filter::default()
        },
    }
}

/// What is there, or what somebody who is behind believes to be there.
async fn before(model: &MemoryStore, debate: DebateId, behind: u64) -> Vec<Record> {
    let mut records: Vec<Record> = model.load(debate, 0).await.expect("load");
    records.truncate(records.len().saturating_sub(behind as usize));
    records
}

fn build(step: &Step, debate: DebateId, before: &[Record]) -> Append {
    let Step::Append {
        records,
        text,
        session,
        power,
        ..
    } = step
    else {
        unreachable!("only appends are built")
    };
    let records = more_records(debate, before, *records, text);
    let status = |done: bool| {
        if done {
            Status::Completed
        } else {
            Status::Running
        }
    };
    let entry = |record: &Record| Projection {
        seq: record.seq,
        created_at: record.ts.clone(),
        made: Made::Entry {
            list: [
                TurnList::ToolCalls,
                TurnList::TestResults,
                TurnList::Reflections,
            ][record.seq as usize % 3],
            of: if *power {
                OfTurn::LastOf("risk".into())
            } else {
                OfTurn::Named("recommend/risk".into())
            },
            json: format!(
                r#"{{"seq":{},"text":{}}}"#,
                record.seq,
                serde_json::Value::from(text.as_str())
            ),
        },
    };
    Append {
        projections: records.iter().skip(1).map(entry).collect(),
        turns: vec![turn_of(records[0].seq, text)],
        session: session.map(|done| Box::new(session_of(debate, "2026", status(done)))),
        durability: if *power {
            Durability::Power
        } else {
            Durability::Process
        },
        ..append_of(debate, &records)
    }
}
