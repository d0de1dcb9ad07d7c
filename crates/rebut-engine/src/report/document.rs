//! The machine-readable result: one object for every format and every end.

use crate::{
    DebateId,
    event::{GateOpened, HumanAnswered, HumanMarked},
    family::families,
    formats::{Shortfall, baselines::ArmResult, decide::result::DebateResult, weights::Weights},
    model_mismatch::{Switch, switches},
    outcome::{Absence, Ending, Substitution},
    retally::{Robustness, robustness},
    view::{Spent, View},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What `--json` prints.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Document {
    /// Which debate.
    pub debate_id: DebateId,
    /// Its format.
    pub format: String,
    /// What was debated.
    pub topic: String,
    /// How it ended; null while it has not.
    pub outcome: Option<Ending>,
    /// What a completed debate lacks of what was asked: `tests_fail` or `not_shown`; left out when
    /// it lacks nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<&'static str>,
    /// The end in one sentence.
    pub summary: String,
    /// Who was missing, and why.
    pub degraded: Vec<Absence>,
    /// Whose model could not answer, and who answered instead.
    pub substituted: Vec<Substitution>,
    /// Who was answered as another model than the one that was asked; left out where nobody was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<Switch>,
    /// The families of the models that answered; one only means that they may err together.
    pub families: Vec<String>,
    /// The format's own result.
    pub result: Value,
    /// How firmly a decision stands; null where nothing was decided.
    pub robustness: Option<Robustness>,
    /// The gate at which it waits, with what is to be approved; left out where it waits at none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_gate: Option<GateOpened>,
    /// What it cost.
    pub usage: Spent,
    /// Whether the built-in rehearsal spoke instead of models.
    pub rehearsal: bool,
    /// A person's choice after a contested end.
    pub answer: Option<HumanAnswered>,
    /// Which option turned out right, as a person marked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<HumanMarked>,
    /// What each vote counts, where they do not all count the same.
    #[serde(skip_serializing_if = "Weights::is_empty")]
    pub weights: Weights,
    /// Rounds completed.
    pub rounds: usize,
    /// Events in the journal when this was made.
    pub events: u64,
    /// Events whose text was taken out: what they said is missing here. Left out where there is
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<u64>,
    /// The debate this one is compared with, where it is a control arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_of: Option<String>,
}

/// The result document of a debate; `None` before its first event.
pub fn document(view: &View) -> Option<Document> {
    let started = view.started.as_ref()?;
    let outcome = view.outcome.as_ref();
    Some(Document {
        debate_id: view.id?,
        format: started.format.clone(),
        topic: started.topic.clone(),
        outcome: outcome.map(|outcome| outcome.outcome),
        shortfall: outcome
            .and_then(|outcome| Shortfall::of(&started.format, outcome))
            .map(Shortfall::as_str),
        summary: outcome
            .map(|outcome| outcome.summary.clone())
            .unwrap_or_default(),
        degraded: outcome
            .map(|outcome| outcome.degraded.clone())
            .unwrap_or_default(),
        substituted: outcome
            .map(|outcome| outcome.substituted.clone())
            .unwrap_or_default(),
        switched: switches(view),
        families: families(&view.voices()),
        result: outcome
            .map(|outcome| outcome.result.clone())
            .unwrap_or_default(),
        robustness: robustness(view),
        open_gate: view.open_gate.clone(),
        usage: view.spent(),
        rehearsal: started.rehearsal,
        answer: view.answer.clone(),
        marked: view.marked.clone(),
        weights: Weights::of_debate(started),
        rounds: view.rounds.iter().filter(|round| round.completed).count(),
        events: view.events,
        redacted: view.redacted.clone(),
        baseline_of: started
            .input
            .get("baseline_of")
            .and_then(Value::as_str)
            .map(str::to_owned),
    })
}

/// The result as YAML under the key `debate_result`; an error in words when the debate has none.
pub fn yaml(view: &View) -> Result<String, String> {
    #[derive(Serialize)]
    struct Wrapped<T> {
        debate_result: T,
    }
    let outcome = view
        .outcome
        .as_ref()
        .ok_or("the debate has not ended; there is no result yet")?;
    if outcome.result.is_null() {
        return Err(format!(
            "the debate ended without a result: {}",
            outcome.summary
        ));
    }
    // Through the type, so that the keys come in their own order.
    let text = match serde_json::from_value::<DebateResult>(outcome.result.clone()) {
        Ok(result) => serde_saphyr::to_string(&Wrapped {
            debate_result: result,
        }),
        Err(_) => match serde_json::from_value::<ArmResult>(outcome.result.clone()) {
            Ok(result) => serde_saphyr::to_string(&Wrapped {
                debate_result: result,
            }),
            Err(_) => serde_saphyr::to_string(&Wrapped {
                debate_result: &outcome.result,
            }),
        },
    };
    text.map_err(|error| error.to_string())
}
