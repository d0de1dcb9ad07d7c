//! The form of `rebut.toml`. Unknown keys are errors.

use super::{HookSection, ServerSection};
use crate::budget::Span;
use rebut_engine::{
    agent::Effort,
    formats::{
        baselines::{poll, single, society},
        challenge, decide, evaluate, review, solve,
        timeouts::OneTurn,
    },
};
use rebut_models::{CliData, ProviderData};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A configuration file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    /// What the command line uses when not told otherwise.
    pub defaults: Defaults,
    /// Named sets of agents.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub panels: BTreeMap<String, PanelSection>,
    /// OpenAI-compatible endpoints by name; built-in ones can be changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderData>,
    /// Agent programs by name; built-in ones can be changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub clis: BTreeMap<String, CliData>,
    /// What a debate may use at most.
    pub budget: BudgetSection,
    /// What may be sent.
    pub context: ContextSection,
    /// What happens when a coding agent calls.
    pub hook: HookSection,
    /// What a server allows and keeps.
    pub server: ServerSection,
    /// Settings of decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decide: Option<Partial<decide::Config>>,
    /// Settings of challenge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Partial<challenge::Config>>,
    /// Settings of evaluate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate: Option<Partial<evaluate::Config>>,
    /// Settings of review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Partial<review::Config>>,
    /// Settings of solve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solve: Option<Partial<solve::Config>>,
    /// The same as `[review.debate]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate: Option<Partial<review::DebateConfig>>,
    /// Settings of triage with a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triage: Option<Partial<OneTurn>>,
    /// Settings of `policy propose`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propose: Option<Partial<OneTurn>>,
    /// Settings of single.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single: Option<Partial<single::Config>>,
    /// Settings of poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Partial<poll::Config>>,
    /// Settings of society.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub society: Option<Partial<society::Config>>,
}

/// What a debate may use at most; what is left out has no cap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetSection {
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Tokens, input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Calls, retries included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// Time for a whole run, e.g. `10m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Span>,
    /// Whether models of unknown price may run under `max_cost`, where they count nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_unknown_price: Option<bool>,
}

/// A section in which every key may be missing, but no unknown one may stand.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partial<T> {
    keys: toml::Table,
    #[serde(skip)]
    of: std::marker::PhantomData<T>,
}

impl<T: JsonSchema> JsonSchema for Partial<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        format!("Partial<{}>", T::schema_id()).into()
    }

    // The settings of all formats are called `Config`; a section is written out where it stands, so
    // that none is taken for another's.
    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("required");
        schema
    }
}

/// What the command line uses when not told otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// The panel's name; `auto` looks for models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panel: Option<String>,
    /// Where debates are kept: a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Where debates are kept instead: `postgres://USER:PASSWORD@HOST:PORT/NAME`. Only in your own
    /// file, never in a project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Calls under way at one provider at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_provider: Option<usize>,
}

/// A named set of agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PanelSection {
    /// Who takes part.
    pub members: Vec<Member>,
}

/// One member of a panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The role: a built-in one, or a file in `.rebut/roles/` or `.claude/agents/`.
    pub role: String,
    /// Its name in the debate; the role's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its attitude; the role's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<String>,
    /// `provider:model`.
    pub model: String,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Most tokens per turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How hard its model should think: minimal, low, medium or high.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Models that answer in its place when its own cannot, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
}

/// What may be sent to models.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContextSection {
    /// Files never to be sent, as patterns; a built-in list always applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}
