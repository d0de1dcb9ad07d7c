//! The case of a decide debate: its input and settings, and the prompts made from them.

use super::{
    replies::{OptionDraft, Recommendation, Response},
    state::Ledger,
};
use crate::{
    agent::{Agent, Role},
    debate::{Ask, Debate, Step},
    error::Stop,
    formats::{
        peer_view::others_text,
        question::{Choice, Input, context_of, options_text},
        timeouts::check_seconds,
        weights::Weights,
    },
    prompt,
    prompt::{Template, Word},
    reply::Schema,
    topology::{Kind, Topology},
    view::View,
    voting::Threshold,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

prompt!(
    /// What a judge reads in the blind round.
    Recommend, "decide/recommend.md" {
        /// The judge's attitude.
        stance: Word,
        /// The judge's role text.
        brief: Part,
        /// What is decided.
        question: Data,
        /// The options, one a line.
        options: Data,
        /// What is known.
        context: Data,
        /// Notes of people.
        notes: Notes,
    }
);

prompt!(
    /// What a judge reads in a later round.
    Challenge, "decide/challenge.md" {
        /// The judge's attitude.
        stance: Word,
        /// The judge's role text.
        brief: Part,
        /// What is decided.
        question: Data,
        /// The options, one a line.
        options: Data,
        /// What is known.
        context: Data,
        /// Notes of people.
        notes: Notes,
        /// The judge's own last word.
        own: Data,
        /// The others' last words.
        others: Data,
        /// Whether the lens must be kept.
        stance_rule: Word,
    }
);

prompt!(
    /// Asks for options.
    Draft, "decide/draft.md" {
        /// The drafter's role text.
        brief: Part,
        /// What is decided.
        question: Data,
        /// What is known.
        context: Data,
    }
);

/// The settings of decide, with the defaults of its preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rounds at most; the first is blind.
    pub max_rounds: u32,
    /// The share the leading option needs.
    pub consensus_threshold: f64,
    /// Seconds a judge has for one turn.
    pub timeout_per_judge: u64,
    /// A judge keeps its lens even when it changes its option.
    pub require_stance_maintenance: bool,
    /// A change that names no valid claim of another judge does not count.
    pub require_change_documentation: bool,
    /// Judges that must have answered; 0 is more than half.
    pub min_judges: usize,
    /// What each judge's vote counts; equal if left out.
    #[serde(default, skip_serializing_if = "Weights::is_empty")]
    pub weights: Weights,
    /// Who hears whom in later rounds.
    pub topology: Kind,
    /// Later rounds are spared when one changed nothing.
    pub stop_when_stable: bool,
}

impl Default for Config {
    fn default() -> Self {
        toml::from_str(super::FORMAT.preset).expect("the compiled-in preset is tested to be valid")
    }
}

impl Config {
    /// How many of so many judges must answer.
    pub fn quorum(&self, judges: usize) -> usize {
        if self.min_judges == 0 {
            judges / 2 + 1
        } else {
            self.min_judges
        }
    }

    /// Reads settings and checks their ranges.
    pub fn parse(config: &Value) -> Result<Self, String> {
        let config = Self::deserialize(config).map_err(|error| format!("decide: {error}"))?;
        Threshold::new(config.consensus_threshold)
            .map_err(|problem| format!("consensus_threshold {problem}"))?;
        check_seconds("timeout_per_judge", config.timeout_per_judge)?;
        match config.max_rounds {
            1..=20 => Ok(config),
            rounds => Err(format!("max_rounds must be 1 to 20, not {rounds}")),
        }
    }

    /// The threshold with its precision.
    pub fn threshold(&self) -> Threshold {
        Threshold::new(self.consensus_threshold).expect("checked when the settings were read")
    }
}

/// What stands between two rounds: what everybody said, and who hears it.
pub struct Hall<'a> {
    /// What was said.
    pub ledger: &'a Ledger,
    /// Who hears whom.
    pub topology: &'a Topology,
}

/// The case while it is debated.
pub struct Case {
    /// The input, with drafted options where it had none, and without its context.
    pub input: Input,
    /// The settings.
    pub config: Config,
    ids: Arc<[String]>,
    options_text: String,
    judges: usize,
    recommend_schema: Schema,
    respond_schema: Schema,
}

impl Case {
    /// The case of a debate. Drafts options first when there are none.
    pub async fn of(debate: &Debate) -> Result<Self, Stop> {
        let started = debate.started();
        let mut input = Input::parse(&started.input).map_err(Stop::Broken)?;
        let config = Config::parse(&started.config).map_err(Stop::Broken)?;
        if input.options.is_empty() {
            input.options = draft_options(debate, &input).await?;
        }
        input.context = String::new();
        let ids: Vec<&str> = input
            .options
            .iter()
            .map(|option| option.id.as_str())
            .collect();
        Ok(Self {
            options_text: options_text(&input.options),
            judges: started.agents.len(),
            recommend_schema: Schema::with_choices::<Recommendation>(&["option", "ranking"], &ids),
            respond_schema: Schema::with_choices::<Response>(&["option", "ranking"], &ids),
            ids: ids.into_iter().map(str::to_owned).collect(),
            input,
            config,
        })
    }

    /// How many judges must answer.
    pub fn quorum(&self) -> usize {
        self.config.quorum(self.judges)
    }

    /// An option by its id.
    pub fn option(&self, id: &str) -> Option<&Choice> {
        self.input.options.iter().find(|option| option.id == id)
    }

    /// The blind question to one judge.
    pub fn recommend(&self, debate: &Debate, judge: &Agent, notes: &str) -> Ask<Recommendation> {
        let prompt = Recommend {
            stance: judge.stance_word(),
            brief: &judge.brief,
            question: &self.input.question,
            options: &self.options_text,
            context: context_of(debate),
            notes,
        }
        .render(debate.fence());
        let ids = self.ids.clone();
        let check = Box::new(move |reply: &mut Recommendation| reply.check(&ids));
        Ask {
            prompt,
            schema: self.recommend_schema.clone(),
            check,
        }
    }

    /// Who hears whom, while nobody is missing.
    pub fn topology(&self, debate: &Debate) -> Result<Topology, Stop> {
        Topology::of_panel(self.config.topology, debate.agents())
            .map_err(|error| Stop::Broken(error.to_string()))
    }

    /// The question to one judge who has heard those it hears in the topology.
    pub fn challenge(
        &self,
        debate: &Debate,
        judge: &Agent,
        notes: &str,
        hall: &Hall<'_>,
        round: u32,
    ) -> Ask<Response> {
        let Hall { ledger, topology } = hall;
        let others = ledger.others_for(
            &judge.name,
            topology,
            debate.agents(),
            debate.started().seed,
            round,
        );
        let prompt = Challenge {
            stance: judge.stance_word(),
            brief: &judge.brief,
            question: &self.input.question,
            options: &self.options_text,
            context: context_of(debate),
            notes,
            own: &ledger.own_words(&judge.name),
            others: &others_text(&others),
            stance_rule: Word::from(if self.config.require_stance_maintenance {
                "Keep your lens: whatever you recommend, argue it from your own stance."
            } else {
                "You may leave your stance if the case demands it."
            }),
        }
        .render(debate.fence());
        let ids = self.ids.clone();
        let expected: Vec<(usize, usize)> = others
            .iter()
            .map(|other| (other.number, other.position.claims.len()))
            .collect();
        let check = Box::new(move |reply: &mut Response| reply.check(&ids, &expected));
        Ask {
            prompt,
            schema: self.respond_schema.clone(),
            check,
        }
    }
}

/// The options of a debate as far as its journal tells: given, or drafted.
pub fn options_of(view: &View) -> Vec<Choice> {
    let given = view
        .started
        .as_ref()
        .and_then(|started| Input::parse(&started.input).ok())
        .map(|input| input.options)
        .unwrap_or_default();
    if !given.is_empty() {
        return given;
    }
    let mut drafts = view
        .turns
        .iter()
        .rev()
        .filter(|turn| turn.turn.starts_with("draft/"));
    drafts
        .find_map(|turn| view.reply(turn, &OptionDraft::check))
        .map(lettered)
        .unwrap_or_default()
}

async fn draft_options(debate: &Debate, input: &Input) -> Result<Vec<Choice>, Stop> {
    let model = debate
        .agents()
        .first()
        .map(|agent| agent.model.clone())
        .unwrap_or_default();
    let drafter = Role::built_in("drafter")
        .ok_or_else(|| Stop::Broken("the role `drafter` is missing".to_owned()))?
        .played_by(model);
    let prompt = Draft {
        brief: &drafter.brief,
        question: &input.question,
        context: context_of(debate),
    }
    .render(debate.fence());
    let ask = Ask {
        prompt,
        schema: Schema::of::<OptionDraft>(),
        check: Box::new(OptionDraft::check),
    };
    match debate.turn(&Step::once("draft", 0), &drafter, ask).await? {
        Ok(said) => Ok(lettered(said.reply)),
        Err(absence) => Err(Stop::NoQuorum {
            step: "draft".to_owned(),
            answered: 0,
            needed: 1,
            absent: vec![absence],
        }),
    }
}

fn lettered(draft: OptionDraft) -> Vec<Choice> {
    let letters = ('A'..='Z').map(|letter| letter.to_string());
    letters
        .zip(draft.options)
        .map(|(id, option)| Choice {
            id,
            label: option.label,
            description: option.description,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::mismatches;

    #[test]
    fn prompts_and_their_structs_agree() {
        let all = [
            mismatches::<Recommend>(),
            mismatches::<Challenge>(),
            mismatches::<Draft>(),
            mismatches::<crate::turn::Clarify>(),
        ]
        .concat();
        assert_eq!(all, Vec::<String>::new());
    }

    #[test]
    fn who_hears_nobody_is_told_so_and_has_nobody_to_answer() {
        assert!(others_text(&[]).contains("no words of other judges"));
        let text = r#"{"option": "A", "confidence": 1, "summary": "s", "claims": ["c"], "challenges": []}"#;
        let mut reply: Response = serde_json::from_str(text).expect("a response");
        assert_eq!(reply.check(&["A".to_owned()], &[]), Ok(()));
    }

    #[test]
    fn the_preset_is_complete() {
        let preset: toml::Table = toml::from_str(super::super::FORMAT.preset).expect("TOML");
        let schema = schemars::schema_for!(Config);
        let known = schema
            .get("properties")
            .and_then(Value::as_object)
            .expect("an object");
        assert_eq!(
            preset.keys().collect::<std::collections::BTreeSet<_>>(),
            known.keys().collect()
        );
        assert_eq!(Config::default().max_rounds, 2);
    }
}
