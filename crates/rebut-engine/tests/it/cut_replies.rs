//! Replies that were cut: every kind of reply of every format, cut at every byte. A cut reply is
//! nothing, or, where only words around the reply were lost, exactly the reply of the whole text.

use rebut_engine::{
    formats::{baselines, challenge, decide, evaluate, propose, review, solve, triage},
    memory_store::MemoryStore,
    model::{Answer, Fault, Finish, Fits, Model, Price, Request},
    reply::{Reply, extract},
};
use rebut_models::script::ScriptModel;
use rebut_testkit::cases::Case;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// So many different replies of each kind are cut; more would only take longer.
const OF_EACH_KIND: usize = 6;

/// A reply with something around it: the whole text, and where the reply itself ends.
struct Dressed {
    text: String,
    end: usize,
}

impl Dressed {
    fn new(before: &str, reply: &str, after: &str) -> Self {
        Self {
            text: [before, reply, after].concat(),
            end: before.len() + reply.len(),
        }
    }

    /// A reply as models wrap it. What is thought aloud holds a complete reply too, which is none.
    fn all(reply: &str) -> Vec<Self> {
        let reply = reply.trim();
        let with_comma = format!("{},}}", reply.strip_suffix('}').expect("an object"));
        vec![
            Self::new("", reply, "\n"),
            Self::new(
                "Sure! Here it is:\n```json\n",
                reply,
                "\n```\nAnything else?",
            ),
            Self::new(&format!("<think>Perhaps {reply}? No.</think>\n"), reply, ""),
            Self::new("[", reply, "]"),
            Self::new("Between {braces} and prose ", &with_comma, " it stands."),
        ]
    }

    /// Every text that a cut may leave, with its length before it was made readable: a cut may fall
    /// into a character.
    fn cuts(&self) -> impl Iterator<Item = (usize, String)> {
        let bytes = self.text.as_bytes();
        (0..bytes.len()).map(|length| {
            (
                length,
                String::from_utf8_lossy(&bytes[..length]).into_owned(),
            )
        })
    }
}

/// A script whose replies are cut on the way, to see whether the turn would take them.
struct Cutter {
    script: Arc<ScriptModel>,
    kinds: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
}

impl Cutter {
    /// Whether this is a new reply of a kind of which few are known.
    fn is_wanted(&self, kind: &str, text: &str) -> bool {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kinds.entry(kind.to_owned()).or_default();
        known.len() < OF_EACH_KIND && known.insert(text.to_owned())
    }
}

#[async_trait::async_trait]
impl Model for Cutter {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let answer = self.script.ask(request).await?;
        let is_bare = serde_json::from_str::<serde_json::Value>(&answer.text)
            .is_ok_and(|json| json.is_object());
        let is_valid =
            is_bare && answer.finish == Finish::Complete && (request.fits)(&answer.text).is_ok();
        if is_valid && self.is_wanted(request.schema.name, &answer.text) {
            check_cuts(request.turn, &answer.text, request.fits);
        }
        Ok(answer)
    }

    fn price(&self) -> Option<Price> {
        self.script.price()
    }
}

/// No cut reply is taken by the turn it belongs to, with everything that turn checks.
fn check_cuts(turn: &str, reply: &str, fits: &Fits<'_>) {
    for dressed in Dressed::all(reply) {
        assert_eq!(fits(&dressed.text), Ok(()), "{turn}: {}", dressed.text);
        for (length, cut) in dressed.cuts() {
            assert!(
                length >= dressed.end || fits(&cut).is_err(),
                "{turn}: {length} bytes were taken for the reply: {cut}"
            );
        }
    }
}

/// The replies of the case folders, by the name of their form; each was cut while its turn was
/// asked.
async fn replies_by_kind() -> BTreeMap<String, BTreeSet<String>> {
    let kinds = Arc::default();
    for case in Case::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")) {
        let cutter = Cutter {
            script: case.model(),
            kinds: Arc::clone(&kinds),
        };
        let desk = case.desk(Arc::new(MemoryStore::new()), Arc::new(cutter));
        desk.run(case.start.clone())
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
    kinds.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// What a text is read as, whatever the turn would check besides.
fn read<R: Reply>(text: &str) -> Option<R> {
    extract::<R>(text, &|_| Ok(()))
        .ok()
        .map(|found| found.reply)
}

/// How many cuts of these replies were read, all of them as the whole reply.
fn check_values<R: Reply>(replies: &BTreeSet<String>) -> usize {
    let mut checked = 0;
    // A call of a tool has the form's name too, and is none of its replies.
    for (text, whole) in replies
        .iter()
        .filter_map(|text| Some((text, serde_json::to_value(read::<R>(text)?).ok())))
    {
        for dressed in Dressed::all(text) {
            for (length, cut) in dressed.cuts() {
                if let Some(found) = read::<R>(&cut) {
                    assert!(
                        length >= dressed.end,
                        "{}: read out of {length} bytes: {cut}",
                        R::NAME
                    );
                    assert_eq!(
                        serde_json::to_value(found).ok(),
                        whole,
                        "{}: {cut}",
                        R::NAME
                    );
                }
                checked += 1;
            }
        }
    }
    checked
}

type Row = (&'static str, fn(&BTreeSet<String>) -> usize);

fn row<R: Reply>() -> Row {
    (R::NAME, check_values::<R>)
}

/// Every kind of reply there is.
fn rows() -> Vec<Row> {
    vec![
        row::<decide::replies::Recommendation>(),
        row::<decide::replies::Response>(),
        row::<decide::replies::OptionDraft>(),
        row::<challenge::replies::PersonaDraft>(),
        row::<challenge::replies::Ready>(),
        row::<challenge::replies::Opening>(),
        row::<challenge::replies::Critique>(),
        row::<challenge::replies::Confrontation>(),
        row::<challenge::replies::Rebuttal>(),
        row::<challenge::replies::Grounds>(),
        row::<evaluate::replies::Arguments>(),
        row::<evaluate::replies::Answers>(),
        row::<evaluate::replies::Judgement>(),
        row::<evaluate::replies::CategoryScores>(),
        row::<review::replies::Critique>(),
        row::<review::replies::Revision>(),
        row::<review::replies::Argument>(),
        row::<review::replies::Rebuttal>(),
        row::<review::replies::Verdict>(),
        row::<solve::replies::Questions>(),
        row::<solve::replies::Instruction>(),
        row::<solve::replies::Planned>(),
        row::<solve::replies::Draft>(),
        row::<solve::replies::Proposal>(),
        row::<solve::replies::Reflection>(),
        row::<solve::replies::Lesson>(),
        row::<solve::replies::Critique>(),
        row::<solve::replies::Answers>(),
        row::<solve::replies::Improvement>(),
        row::<solve::replies::Attacks>(),
        row::<solve::replies::Defence>(),
        row::<solve::replies::Rulings>(),
        row::<solve::replies::Contrast>(),
        row::<solve::replies::Ranking>(),
        row::<solve::replies::Rubric>(),
        row::<baselines::reply::Answer>(),
        row::<baselines::program::Program>(),
        row::<propose::Proposal>(),
        row::<triage::Verdict>(),
    ]
}

#[tokio::test(start_paused = true)]
async fn no_cut_of_any_reply_counts() {
    let kinds = replies_by_kind().await;
    let rows = rows();
    let unknown: Vec<&String> = kinds
        .keys()
        .filter(|kind| !rows.iter().any(|(name, _)| name == kind))
        .collect();
    assert!(unknown.is_empty(), "no row for {unknown:?}");
    for (name, check) in rows {
        let replies = kinds
            .get(name)
            .unwrap_or_else(|| panic!("no case folder has a valid reply of the kind {name}"));
        assert!(check(replies) > 0, "{name}: nothing was cut");
    }
}
