//! Reading a part of a journal: pages, kinds, the end, each against its definition.

use super::{append_of, more_records};
use rebut_engine::{
    DebateId,
    record::Record,
    store::{Head, Pick, Picked, Store},
};
use std::{borrow::Cow, sync::Arc};

/// Kinds of the records here, one after the other; nothing in them is a wildcard.
const KINDS: [&str; 4] = [
    "turn.started",
    "turn.completed",
    "turn.completed",
    "gate.opened",
];

/// Records of several kinds, beside those of another debate.
async fn written(store: &Arc<dyn Store>, count: usize) -> (DebateId, Vec<Record>) {
    let (debate, other) = (DebateId::new(), DebateId::new());
    let kinds = KINDS.into_iter().cycle();
    let records: Vec<Record> = more_records(debate, &[], count, "mine")
        .into_iter()
        .zip(kinds)
        .map(|(record, kind)| Record {
            kind: Cow::Borrowed(kind),
            ..record
        })
        .collect();
    let theirs = more_records(other, &[], 5, "theirs");
    store
        .append(append_of(other, &theirs))
        .await
        .expect("append");
    store
        .append(append_of(debate, &records))
        .await
        .expect("append");
    store
        .append(append_of(other, &more_records(other, &theirs, 20, "more")))
        .await
        .expect("append");
    (debate, records)
}

pub(super) async fn gives_a_page(store: Arc<dyn Store>) {
    let (debate, records) = written(&store, 12).await;
    for after in [0, 1, 9, 11, 12, 13, u64::MAX] {
        for most in [0, 1, 2, 11, 12, 13, usize::MAX] {
            let rest = &records[usize::try_from(after).unwrap_or(12).min(12)..];
            assert_eq!(
                store.page(debate, after, most).await.as_deref(),
                Ok(&rest[..rest.len().min(most)]),
                "{most} after {after}"
            );
        }
    }
    assert_eq!(
        store.page(DebateId::new(), 0, 9).await,
        Ok(vec![]),
        "an unknown debate has no records"
    );
}

fn defined(records: &[Record], pick: &Pick) -> Picked {
    let fits = |record: &&Record| {
        record.seq > pick.after
            && pick
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.iter().any(|kind| *kind == record.kind))
    };
    let fitting: Vec<Record> = records.iter().filter(fits).cloned().collect();
    let most = pick.most.unwrap_or(usize::MAX).min(fitting.len());
    let picked = if pick.from_end {
        &fitting[fitting.len() - most..]
    } else {
        &fitting[..most]
    };
    Picked {
        records: picked.to_vec(),
        head: records.last().map(|last| Head {
            seq: last.seq,
            ts: last.ts.clone(),
            hash: last.hash,
        }),
    }
}

pub(super) async fn picks_what_fits(store: Arc<dyn Store>) {
    let (debate, mut records) = written(&store, 12).await;
    let report = more_records(debate, &records, 1, "report");
    store
        .redact(records[5].tombstone(), append_of(debate, &report))
        .await
        .expect("redact");
    records[5] = records[5].tombstone();
    records.extend(report);
    let kinds: [Option<&[&str]>; 7] = [
        None,
        Some(&[]),
        Some(&["turn.completed"]),
        Some(&["gate.opened", "turn.started"]),
        Some(&["no.such"]),
        Some(&["turn.%", "turn_started", "TURN.STARTED"]),
        Some(&["human.noted"]),
    ];
    for kinds in kinds {
        for after in [0, 5, 12, 13, u64::MAX] {
            for most in [None, Some(0), Some(1), Some(3), Some(13)] {
                for from_end in [false, true] {
                    let kinds =
                        kinds.map(|kinds| kinds.iter().map(|kind| (*kind).to_owned()).collect());
                    let pick = Pick {
                        after,
                        kinds,
                        most,
                        from_end,
                    };
                    assert_eq!(
                        store.pick(debate, &pick).await,
                        Ok(defined(&records, &pick)),
                        "{pick:?}"
                    );
                }
            }
        }
    }
    for gone in [DebateId::new(), debate] {
        if gone == debate {
            store.remove(debate).await.expect("remove");
        }
        assert_eq!(
            store.pick(gone, &Pick::default()).await,
            Ok(Picked::default()),
            "no journal has no end"
        );
    }
}

/// Whoever picks everything while somebody writes has all of it up to the end that is told.
pub(super) async fn picks_at_one_moment(store: Arc<dyn Store>) {
    let debate = DebateId::new();
    let records = more_records(debate, &[], 300, "on");
    store
        .append(append_of(debate, &records[..1]))
        .await
        .expect("append");
    let (writer, rest) = (store.clone(), records.clone());
    let writing = tokio::spawn(async move {
        for record in &rest[1..] {
            let append = append_of(debate, std::slice::from_ref(record));
            writer.append(append).await.expect("append");
            tokio::task::yield_now().await;
        }
    });
    let mut end = 0;
    while end < records.len() {
        let Picked {
            records: picked,
            head,
        } = store
            .pick(
                debate,
                &Pick {
                    after: 0,
                    ..Pick::default()
                },
            )
            .await
            .expect("pick");
        let head = usize::try_from(head.expect("it has begun").seq).expect("few");
        assert!(
            head >= end && picked == records[..head],
            "{} records up to {head}",
            picked.len()
        );
        end = head;
        tokio::task::yield_now().await;
    }
    writing.await.expect("no panic");
}
