//! What every outbox must do, as a table of checks: what is kept for whom, who is given what, and
//! what is left when something goes.

use super::{append_of, more_records, session_of};
use futures_util::future::{BoxFuture, join_all};
use rebut_engine::{
    DebateId,
    outbox::{
        Claimed, Claiming, Database, Deliveries, Delivery, DeliveryState, NewWebhook, Secret,
        Settled, Webhook, message_id,
    },
    record::Record,
    store::{Append, Status, StoreError},
};
use std::{borrow::Cow, collections::BTreeSet, sync::Arc, time::Duration};

/// One thing an outbox must do. Panics if it does not.
pub struct Check {
    pub name: &'static str,
    /// Tries it on a fresh database.
    pub run: fn(Arc<dyn Database>) -> BoxFuture<'static, ()>,
}

macro_rules! checks {
    ($($name:ident),* $(,)?) => {
        /// Every check.
        pub const CHECKS: &[Check] = &[$(Check { name: stringify!($name), run: |database| Box::pin($name(database)) }),*];
    };
}

checks! {
    keeps_events_for_whoever_asks,
    gives_each_to_one_until_its_time_is_over,
    records_what_came_of_attempts,
    switches_off_and_on,
    goes_with_its_debate_or_webhook,
    is_its_owners_alone,
    gives_a_few_at_a_time,
    forgets_what_was_settled,
    many_at_once_are_given_each_once,
}

const LONG: Duration = Duration::from_secs(3600);
const GATE: &str = "gate.opened";
const END: &str = "debate.completed";

fn new(owner: &str, url: &str, events: &[&str]) -> NewWebhook {
    let secret = Secret::new(format!("whsec_of {url}"));
    NewWebhook {
        owner: owner.to_owned(),
        url: url.to_owned(),
        events: events.iter().map(|kind| (*kind).to_owned()).collect(),
        secret,
    }
}

async fn add(database: &Arc<dyn Database>, owner: &str, url: &str, events: &[&str]) -> Webhook {
    database
        .add_webhook(new(owner, url, events), 20)
        .await
        .expect("added")
        .expect("there is room")
}

/// The next events of a debate of that owner, of these kinds.
async fn happen(
    database: &Arc<dyn Database>,
    debate: DebateId,
    owner: &str,
    kinds: &[&'static str],
) {
    database
        .append(events(database, debate, owner, kinds).await)
        .await
        .expect("append");
}

async fn events(
    database: &Arc<dyn Database>,
    debate: DebateId,
    owner: &str,
    kinds: &[&'static str],
) -> Append {
    let before = database.load(debate, 0).await.expect("load");
    let records = more_records(debate, &before, kinds.len(), "text")
        .into_iter()
        .zip(kinds);
    let records: Vec<Record> = records
        .map(|(record, kind)| Record {
            kind: Cow::Borrowed(kind),
            ..record
        })
        .collect();
    let mut session = session_of(debate, "2026-01-01T00:00:00.000Z", Status::Running);
    session.initiated_by = owner.to_owned();
    Append {
        session: Some(Box::new(session)),
        ..append_of(debate, &records)
    }
}

fn all(lease: Duration) -> Claiming {
    Claiming {
        except: Vec::new(),
        webhooks: 100,
        each: 100,
        lease,
    }
}

async fn claim(database: &Arc<dyn Database>, asked: Claiming) -> Vec<Claimed> {
    database.claim_deliveries(&asked).await.expect("a claim")
}

async fn listed(database: &Arc<dyn Database>, owner: &str, webhook: &Webhook) -> Vec<Delivery> {
    database
        .deliveries(
            owner,
            &webhook.id,
            Deliveries {
                state: None,
                limit: 100,
            },
        )
        .await
        .expect("a list")
}

/// What was given, as a reader can compare it: address, debate, number, attempt.
fn shown(claimed: &[Claimed]) -> BTreeSet<(String, DebateId, u64, u32)> {
    let shown: BTreeSet<_> = claimed
        .iter()
        .map(|one| (one.url.clone(), one.debate, one.seq, one.attempt))
        .collect();
    assert_eq!(
        shown.len(),
        claimed.len(),
        "one was given twice: {claimed:?}"
    );
    shown
}

async fn keeps_events_for_whoever_asks(database: Arc<dyn Database>) {
    let debate = DebateId::new();
    happen(&database, debate, "ann", &[GATE]).await;
    let both = add(&database, "ann", "https://both", &[GATE, END]).await;
    add(&database, "ann", "https://end", &[END]).await;
    add(&database, "bob", "https://bob", &[GATE, END]).await;
    assert_eq!(claim(&database, all(LONG)).await, [], "nothing from before");
    let late = events(&database, debate, "ann", &[END]).await;
    happen(
        &database,
        debate,
        "ann",
        &["human.noted", GATE, "turn.completed", END],
    )
    .await;
    // What is refused, or was brought here from elsewhere, tells nobody.
    assert!(matches!(
        database.append(late).await,
        Err(StoreError::Conflict { .. })
    ));
    let import = events(&database, DebateId::new(), "ann", &[GATE, END]).await;
    database
        .append(Append {
            is_news: false,
            ..import
        })
        .await
        .expect("append");
    happen(&database, DebateId::new(), "nobody", &[END]).await;
    assert_eq!(database.waiting_deliveries().await, Ok(3));
    let claimed = claim(&database, all(LONG)).await;
    let url = |text: &str| text.to_owned();
    let expected = BTreeSet::from([
        (url("https://both"), debate, 3, 1),
        (url("https://both"), debate, 5, 1),
        (url("https://end"), debate, 5, 1),
    ]);
    assert_eq!(shown(&claimed), expected);
    for one in &claimed {
        assert_eq!(one.secret.reveal(), format!("whsec_of {}", one.url));
        assert!(
            !format!("{one:?}").contains("whsec_"),
            "secrets are not printed"
        );
    }
    let listed = listed(&database, "ann", &both).await;
    let rows: Vec<_> = listed
        .iter()
        .map(|one| (&*one.kind, one.seq, one.state, one.attempts))
        .collect();
    assert_eq!(
        rows,
        [
            (END, 5, DeliveryState::Waiting, 1),
            (GATE, 3, DeliveryState::Waiting, 1)
        ],
        "newest first"
    );
    assert!(
        listed
            .iter()
            .all(|one| one.id == message_id(debate, one.seq)
                && one.debate_id == debate
                && one.next_at.is_some())
    );
}

async fn gives_each_to_one_until_its_time_is_over(database: Arc<dyn Database>) {
    let (debate, webhook) = (
        DebateId::new(),
        add(&database, "ann", "https://a", &[END]).await,
    );
    happen(&database, debate, "ann", &[END]).await;
    let first = claim(&database, all(Duration::ZERO)).await;
    let second = claim(&database, all(LONG)).await;
    assert_eq!(
        (first[0].attempt, second[0].attempt, second.len()),
        (1, 2, 1),
        "its time was over at once"
    );
    assert_eq!(
        claim(&database, all(LONG)).await,
        [],
        "the second has an hour"
    );
    // The first wakes up: its failure is old news, its success is not.
    let failed = Settled::Failed {
        why: "late".to_owned(),
        again: Some(Duration::ZERO),
    };
    database
        .settle_delivery(&first[0], &failed)
        .await
        .expect("settled");
    assert_eq!(claim(&database, all(LONG)).await, []);
    assert_eq!(listed(&database, "ann", &webhook).await[0].last_error, None);
    database
        .settle_delivery(&first[0], &Settled::Delivered)
        .await
        .expect("settled");
    database
        .settle_delivery(&second[0], &failed)
        .await
        .expect("settled");
    let listed = listed(&database, "ann", &webhook).await;
    assert_eq!(
        (listed[0].state, &listed[0].next_at, &listed[0].last_error),
        (DeliveryState::Delivered, &None, &None)
    );
    assert_eq!(
        (
            claim(&database, all(LONG)).await,
            database.waiting_deliveries().await
        ),
        (vec![], Ok(0))
    );
}

async fn records_what_came_of_attempts(database: Arc<dyn Database>) {
    let (debate, webhook) = (
        DebateId::new(),
        add(&database, "ann", "https://a", &[END]).await,
    );
    assert_eq!(
        (
            &webhook.why_off,
            &webhook.last_success_at,
            &webhook.last_failure_at
        ),
        (&None, &None, &None)
    );
    happen(&database, debate, "ann", &[END, END, END]).await;
    let claimed = claim(&database, all(LONG)).await;
    let of = |seq: u64| claimed.iter().find(|one| one.seq == seq).expect("claimed");
    let failed = |why: &str, again| Settled::Failed {
        why: why.to_owned(),
        again,
    };
    for (seq, came) in [
        (1, failed("500", Some(LONG))),
        (2, failed("zero \0", Some(Duration::ZERO))),
        (3, failed("never", None)),
    ] {
        database
            .settle_delivery(of(seq), &came)
            .await
            .expect("settled");
    }
    let again = claim(&database, all(LONG)).await;
    assert_eq!(
        shown(&again),
        BTreeSet::from([("https://a".to_owned(), debate, 2, 2)]),
        "what waits an hour is not due"
    );
    database
        .settle_delivery(&again[0], &Settled::Delivered)
        .await
        .expect("settled");
    let rows: Vec<_> = listed(&database, "ann", &webhook)
        .await
        .into_iter()
        .map(|one| (one.seq, one.state, one.attempts))
        .collect();
    assert_eq!(
        rows,
        [
            (3, DeliveryState::GivenUp, 1),
            (2, DeliveryState::Delivered, 2),
            (1, DeliveryState::Waiting, 1)
        ]
    );
    let given_up = Deliveries {
        state: Some(DeliveryState::GivenUp),
        limit: 100,
    };
    let given_up = database
        .deliveries("ann", &webhook.id, given_up)
        .await
        .expect("a list");
    assert_eq!(
        given_up
            .iter()
            .map(|one| (one.seq, one.last_error.as_deref()))
            .collect::<Vec<_>>(),
        [(3, Some("never"))]
    );
    assert_eq!(
        database
            .deliveries(
                "ann",
                &webhook.id,
                Deliveries {
                    state: None,
                    limit: 2
                }
            )
            .await
            .expect("a list")
            .len(),
        2
    );
    let webhook = database
        .webhooks(Some("ann"))
        .await
        .expect("a list")
        .remove(0);
    assert!(
        webhook.last_success_at.is_some()
            && webhook.last_failure_at.is_some()
            && webhook.why_off.is_none()
    );
    assert_eq!(webhook.last_error.as_deref(), Some("never"));
}

async fn switches_off_and_on(database: Arc<dyn Database>) {
    let (debate, webhook) = (
        DebateId::new(),
        add(&database, "ann", "https://a", &[END]).await,
    );
    happen(&database, debate, "ann", &[END, END]).await;
    let one = claim(
        &database,
        Claiming {
            each: 1,
            ..all(LONG)
        },
    )
    .await
    .remove(0);
    database
        .settle_delivery(
            &one,
            &Settled::Gone {
                why: "410".to_owned(),
            },
        )
        .await
        .expect("settled");
    happen(&database, debate, "ann", &[END]).await;
    assert_eq!(
        database.webhooks(Some("ann")).await.expect("a list")[0]
            .why_off
            .as_deref(),
        Some("410")
    );
    let listed = listed(&database, "ann", &webhook).await;
    assert_eq!(
        listed
            .iter()
            .map(|one| (one.seq, one.state))
            .collect::<Vec<_>>(),
        [(2, DeliveryState::GivenUp), (1, DeliveryState::GivenUp)]
    );
    assert_eq!(claim(&database, all(LONG)).await, []);
    assert_eq!(
        database
            .replace_webhook("ann", &webhook.id, "https://b", &[GATE.to_owned()])
            .await,
        Ok(true)
    );
    happen(&database, debate, "ann", &[END, GATE]).await;
    assert_eq!(
        shown(&claim(&database, all(LONG)).await),
        BTreeSet::from([("https://b".to_owned(), debate, 5, 1)])
    );
    let replaced = database
        .webhooks(Some("ann"))
        .await
        .expect("a list")
        .remove(0);
    assert_eq!(
        (&replaced.why_off, &replaced.events[..], replaced.created_at),
        (&None, &[GATE.to_owned()][..], webhook.created_at)
    );
}

async fn goes_with_its_debate_or_webhook(database: Arc<dyn Database>) {
    let (gone, stays) = (DebateId::new(), DebateId::new());
    let (a, b) = (
        add(&database, "ann", "https://a", &[END]).await,
        add(&database, "ann", "https://b", &[END]).await,
    );
    happen(&database, gone, "ann", &[END]).await;
    happen(&database, stays, "ann", &[END]).await;
    let claimed = claim(&database, all(Duration::ZERO)).await;
    database.remove(gone).await.expect("removed");
    for one in claimed.iter().filter(|one| one.debate == gone) {
        database
            .settle_delivery(one, &Settled::Delivered)
            .await
            .expect("nothing is left to be settled");
    }
    assert_eq!(
        database.webhooks(Some("ann")).await.expect("a list")[0].last_success_at,
        None
    );
    assert_eq!(database.remove_webhook("ann", &a.id).await, Ok(true));
    assert_eq!(database.remove_webhook("ann", &a.id).await, Ok(false));
    assert_eq!(
        shown(&claim(&database, all(LONG)).await),
        BTreeSet::from([("https://b".to_owned(), stays, 1, 2)])
    );
    assert_eq!(
        (
            listed(&database, "ann", &a).await,
            listed(&database, "ann", &b).await.len()
        ),
        (vec![], 1)
    );
    assert_eq!(database.webhook_secret("ann", &a.id).await, Ok(None));
}

async fn is_its_owners_alone(database: Arc<dyn Database>) {
    let webhook = add(&database, "ann", "https://a", &[END]).await;
    happen(&database, DebateId::new(), "ann", &[END]).await;
    for (owner, id) in [
        ("bob", &*webhook.id),
        ("", &*webhook.id),
        ("ann", "nothing"),
        ("ann", "00000000-0000-4000-8000-000000000000"),
    ] {
        assert_eq!(
            database.webhook_secret(owner, id).await,
            Ok(None),
            "{owner} {id}"
        );
        assert_eq!(
            database.replace_webhook(owner, id, "https://b", &[]).await,
            Ok(false),
            "{owner} {id}"
        );
        assert_eq!(
            database.remove_webhook(owner, id).await,
            Ok(false),
            "{owner} {id}"
        );
        let listed = database
            .deliveries(
                owner,
                id,
                Deliveries {
                    state: None,
                    limit: 9,
                },
            )
            .await;
        assert_eq!(listed, Ok(vec![]), "{owner} {id}");
    }
    assert_eq!(database.webhooks(Some("bob")).await, Ok(vec![]));
    assert_eq!(
        database.webhooks(Some("ann")).await,
        Ok(vec![webhook.clone()]),
        "nothing was changed"
    );
    let secret = database
        .webhook_secret("ann", &webhook.id)
        .await
        .expect("a look")
        .expect("its own");
    assert_eq!(secret.reveal(), "whsec_of https://a");
    assert_eq!(
        database
            .add_webhook(new("ann", "https://b", &[END]), 1)
            .await,
        Ok(None),
        "there is room for one"
    );
    assert!(
        database
            .add_webhook(new("bob", "https://b", &[END]), 1)
            .await
            .expect("added")
            .is_some(),
        "others are not counted"
    );
    let all = database.webhooks(None).await.expect("a list");
    assert_eq!(
        all.iter().map(|webhook| &*webhook.url).collect::<Vec<_>>(),
        ["https://a", "https://b"],
        "without an owner: everybody's"
    );
}

async fn gives_a_few_at_a_time(database: Arc<dyn Database>) {
    let mut webhooks = Vec::new();
    for url in ["https://a", "https://b", "https://c"] {
        webhooks.push(add(&database, "ann", url, &[END]).await);
    }
    happen(&database, DebateId::new(), "ann", &[END; 5]).await;
    let of = |claimed: &[Claimed], url: &str| claimed.iter().filter(|one| one.url == url).count();
    let except = vec![webhooks[1].id.clone()];
    let claimed = claim(
        &database,
        Claiming {
            except,
            each: 2,
            ..all(LONG)
        },
    )
    .await;
    assert_eq!(
        ["https://a", "https://b", "https://c"].map(|url| of(&claimed, url)),
        [2, 0, 2]
    );
    let claimed = claim(
        &database,
        Claiming {
            webhooks: 1,
            ..all(LONG)
        },
    )
    .await;
    assert_eq!(
        claimed.len(),
        of(&claimed, &claimed[0].url),
        "of one webhook only"
    );
    let rest = claim(&database, all(LONG)).await;
    assert_eq!(claimed.len() + rest.len(), 11, "everything else");
}

async fn forgets_what_was_settled(database: Arc<dyn Database>) {
    let (debate, webhook) = (
        DebateId::new(),
        add(&database, "ann", "https://a", &[END]).await,
    );
    happen(&database, debate, "ann", &[END, END, END]).await;
    let claimed = claim(&database, all(LONG)).await;
    let given_up = Settled::Failed {
        why: "no".to_owned(),
        again: None,
    };
    for (one, came) in claimed.iter().zip([Settled::Delivered, given_up]) {
        database.settle_delivery(one, &came).await.expect("settled");
    }
    for (older, left) in [(LONG, 3), (Duration::ZERO, 1)] {
        database.sweep_deliveries(older).await.expect("swept");
        assert_eq!(
            listed(&database, "ann", &webhook).await.len(),
            left,
            "{older:?}"
        );
    }
    assert_eq!(
        database.waiting_deliveries().await,
        Ok(1),
        "what waits stays"
    );
}

async fn many_at_once_are_given_each_once(database: Arc<dyn Database>) {
    let mut debates = BTreeSet::new();
    add(&database, "ann", "https://a", &[END]).await;
    add(&database, "ann", "https://b", &[END]).await;
    for _ in 0..20 {
        let debate = DebateId::new();
        happen(&database, debate, "ann", &[END, END]).await;
        debates.insert(debate);
    }
    let claimer = |database: Arc<dyn Database>| async move {
        let mut mine = Vec::new();
        loop {
            let claimed = claim(
                &database,
                Claiming {
                    each: 3,
                    ..all(LONG)
                },
            )
            .await;
            if claimed.is_empty() {
                return mine;
            }
            mine.extend(claimed);
        }
    };
    let claimers: Vec<_> = (0..6)
        .map(|_| tokio::spawn(claimer(database.clone())))
        .collect();
    let claimed: Vec<Claimed> = join_all(claimers)
        .await
        .into_iter()
        .flat_map(|ended| ended.expect("a claimer"))
        .collect();
    assert_eq!((shown(&claimed).len(), claimed.len()), (80, 80));
    assert!(
        claimed
            .iter()
            .all(|one| one.attempt == 1 && debates.contains(&one.debate))
    );
}
