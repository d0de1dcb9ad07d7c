//! Whatever is done to it, the store on disk answers as the one in memory does.

use crate::{database, open};
use proptest::{collection::vec, prelude::*};
use rebut_engine::{
    DebateId,
    memory::MemoryStore,
    record::Record,
    store::{Append, Durability, Filter, Status, Store},
};
use rebut_testkit::conformance::{append_of, more_records, session_of, turn_of};

#[derive(Clone, Debug)]
enum Step {
    Append { debate: usize, records: usize, behind: u64, text: String, session: Option<bool>, power: bool },
    Redact { debate: usize, seq: u64, behind: u64 },
    Remove { debate: usize },
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_the_one_in_memory(steps in vec(step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(compare(steps));
    }
}

async fn compare(steps: Vec<Step>) {
    let (_folder, path) = database();
    let model = MemoryStore::new();
    let mut store = open(&path);
    let debates = [DebateId::new(), DebateId::new(), DebateId::new()];
    for step in steps {
        match &step {
            Step::Append { debate, behind, .. } => {
                let before = before(&model, debates[*debate], *behind).await;
                let append = build(&step, debates[*debate], &before);
                assert_eq!(store.append(append.clone()).await, model.append(append).await, "{step:?}");
            }
            Step::Redact { debate, seq, behind } => {
                let debate = debates[*debate];
                let before = before(&model, debate, *behind).await;
                let report = append_of(debate, &more_records(debate, &before, 1, "report"));
                let found = model.load(debate, seq - 1).await.expect("load").into_iter().next();
                let tombstone =
                    found.unwrap_or_else(|| Record { seq: *seq, ..Record::clone(&more_records(debate, &[], 1, "")[0]) }).tombstone();
                assert_eq!(store.redact(tombstone.clone(), report.clone()).await, model.redact(tombstone, report).await, "{step:?}");
            }
            Step::Remove { debate } => assert_eq!(store.remove(debates[*debate]).await, model.remove(debates[*debate]).await),
            Step::Reopen => {
                drop(store);
                store = open(&path);
            }
        }
        for debate in debates {
            assert_eq!(store.load(debate, 0).await, model.load(debate, 0).await, "after {step:?}");
        }
        assert_eq!(store.sessions(&Filter::default()).await, model.sessions(&Filter::default()).await, "after {step:?}");
    }
}

/// What is there, or what somebody who is behind believes to be there.
async fn before(model: &MemoryStore, debate: DebateId, behind: u64) -> Vec<Record> {
    let mut records: Vec<Record> = model.load(debate, 0).await.expect("load");
    records.truncate(records.len().saturating_sub(behind as usize));
    records
}

fn build(step: &Step, debate: DebateId, before: &[Record]) -> Append {
    let Step::Append { records, text, session, power, .. } = step else { unreachable!("only appends are built") };
    let records = more_records(debate, before, *records, text);
    let status = |done: bool| if done { Status::Completed } else { Status::Running };
    Append {
        turns: vec![turn_of(records[0].seq, text)],
        session: session.map(|done| Box::new(session_of(debate, "2026", status(done)))),
        durability: if *power { Durability::Power } else { Durability::Process },
        ..append_of(debate, &records)
    }
}
