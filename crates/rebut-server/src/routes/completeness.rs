//! That nothing is missing: a reading of the kinds it asks for is, word for word, the reading of
//! the whole journal.

use super::{
    code::Versions,
    debates::{STANDING, TURNS, card, detail, may_wait_for_people, standing},
    readings::{Assumptions, Conflicts, Evidence, Positions, Reading, Turns, Verdicts, Votes},
};
use rebut_engine::{
    event::{DebatePaused, Event, EventRedacted, HumanNoted},
    journal_file::Portable,
    record::{Place, Record},
    store::{Head, Picked},
    view::View,
};
use serde_json::{Value, json};

/// What one answer is made of.
struct Row {
    name: &'static str,
    kinds: Vec<&'static str>,
    answer: fn(View) -> Value,
}

fn row<T: Reading>(name: &'static str) -> Row {
    Row {
        name,
        kinds: T::KINDS.to_vec(),
        answer: |view| json!(T::of(view)),
    }
}

fn rows() -> Vec<Row> {
    vec![
        row::<Turns>("turns"),
        row::<Positions>("positions"),
        row::<Conflicts>("conflicts"),
        row::<Votes>("votes"),
        row::<Verdicts>("verdicts"),
        row::<Evidence>("evidence"),
        row::<Assumptions>("assumptions"),
        row::<Versions>("versions"),
        Row {
            name: "card",
            kinds: STANDING.to_vec(),
            answer: |view| json!(view.session().as_ref().map(card)),
        },
        Row {
            name: "detail",
            kinds: [STANDING, TURNS].concat(),
            answer: |view| json!(detail(view)),
        },
        Row {
            name: "status with turns",
            kinds: [STANDING, TURNS].concat(),
            answer: status,
        },
        Row {
            name: "status",
            kinds: STANDING.to_vec(),
            // Else it is asked with turns.
            answer: |view| {
                if may_wait_for_people(&view) {
                    Value::Null
                } else {
                    status(view)
                }
            },
        },
    ]
}

fn status(view: View) -> Value {
    json!(standing(view.id.expect("a debate"), &view, false))
}

fn journals() -> Vec<(&'static str, Vec<Record>)> {
    ["decide", "challenge", "code", "evaluate", "review", "solve"]
        .map(|name| {
            let path = format!(
                "{}/../../examples/{name}/journal.ndjson",
                env!("CARGO_MANIFEST_DIR")
            );
            let file = std::fs::read_to_string(&path).expect("an example");
            (name, Portable::parse(&file).expect("a journal").records)
        })
        .into()
}

fn resumed() -> Event {
    Event::DebateResumed(Box::default())
}

fn then(records: &mut Vec<Record>, event: &Event) {
    let last = records.last().expect("more");
    let record = Record::new(
        last.debate,
        last.seq + 1,
        last.hash,
        last.ts.clone(),
        Place::default(),
        event,
    );
    records.push(record);
}

/// The journal as it is, cut, with a note, paused, gone on with; and without the text of the last
/// event of each kind, before and after that is told.
fn variants(whole: &[Record]) -> Vec<Vec<Record>> {
    let mut variants = vec![
        whole.to_vec(),
        whole[..whole.len() / 2].to_vec(),
        whole[..whole.len() - 1].to_vec(),
    ];
    let mut left = whole[..whole.len() / 2].to_vec();
    for event in [
        Event::HumanNoted(HumanNoted {
            text: "look".to_owned(),
            by: "me".to_owned(),
        }),
        Event::DebatePaused(DebatePaused {
            reason: "later".to_owned(),
            by: None,
        }),
        resumed(),
    ] {
        then(&mut left, &event);
        variants.push(left.clone());
    }
    let mut again = whole.to_vec();
    then(&mut again, &resumed());
    variants.push(again);
    // Where a turn waits, and for a person.
    let asked = whole
        .iter()
        .rposition(|record| record.kind == "turn.started");
    let model = View::of(whole).started.expect("it began").agents[0]
        .model
        .to_string();
    let waits = |record: &Record| Record {
        data: record.data.replace(&model, "human:me"),
        ..record.clone()
    };
    variants.extend(asked.map(|at| whole[..=at].iter().map(waits).collect()));
    let mut kinds: Vec<&str> = whole
        .iter()
        .map(|record| &*record.kind)
        .filter(|kind| *kind != "debate.started")
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let at = whole
            .iter()
            .rposition(|record| record.kind == kind)
            .expect("it is there");
        let mut redacted = whole.to_vec();
        redacted[at] = whole[at].tombstone();
        variants.push(redacted.clone());
        then(
            &mut redacted,
            &Event::EventRedacted(Box::new(EventRedacted::of(&whole[at]))),
        );
        variants.push(redacted);
    }
    variants
}

/// What the desk makes of some kinds.
fn partial(records: &[Record], kinds: &[&str]) -> View {
    let head = records.last().map(|last| Head {
        seq: last.seq,
        ts: last.ts.clone(),
        hash: last.hash,
    });
    let records = records
        .iter()
        .filter(|record| kinds.contains(&&*record.kind))
        .cloned()
        .collect();
    View::picked(Picked { records, head })
}

#[test]
fn the_kinds_of_a_reading_tell_all_of_it() {
    let (mut said, mut waiting) = (0, 0);
    for (name, whole) in journals() {
        for (number, records) in variants(&whole).iter().enumerate() {
            for Row {
                name: reading,
                kinds,
                answer,
            } in rows()
            {
                let expected = answer(View::of(records));
                assert_eq!(
                    answer(partial(records, &kinds)),
                    expected,
                    "{reading} of {name}, variant {number}"
                );
                said += usize::from(expected.to_string().len() > 40);
                waiting += expected["waiting"].as_array().map_or(0, Vec::len);
            }
        }
    }
    assert!(
        said > 500 && waiting > 3,
        "they say something: {said}, and of people: {waiting}"
    );
}
