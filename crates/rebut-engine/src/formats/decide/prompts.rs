//! The prompts of decide, made from its input and settings and from what was said so far.

use super::{
    config::Config,
    input::{Choice, Input, draft_options},
    replies::{Recommendation, Response},
    state::Ledger,
};
use crate::{
    agent::Agent,
    debate::{Ask, Debate},
    error::Stop,
    formats::{
        peer_view::others_text,
        question::{context_of, options_text},
    },
    prompt,
    prompt::{Template, Word},
    reply::Schema,
    topology::Topology,
};
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

/// What stands between two rounds: what everybody said, and who hears it.
pub struct Hall<'a> {
    pub ledger: &'a Ledger,
    pub topology: &'a Topology,
}

/// The setup of a debate: its input and settings, checked, and what prompts need of them.
pub struct Setup {
    /// The input, with drafted options where it had none, and without its context.
    pub input: Input,
    pub config: Config,
    ids: Arc<[String]>,
    options_text: String,
    judges: usize,
    recommend_schema: Schema,
    respond_schema: Schema,
}

impl Setup {
    /// Drafts options first when there are none.
    pub async fn of(debate: &Debate, mut input: Input, config: Config) -> Result<Self, Stop> {
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
            judges: debate.agents().len(),
            recommend_schema: Schema::with_choices::<Recommendation>(&["option", "ranking"], &ids),
            respond_schema: Schema::with_choices::<Response>(&["option", "ranking"], &ids),
            ids: ids.into_iter().map(str::to_owned).collect(),
            input,
            config,
        })
    }

    pub fn quorum(&self) -> usize {
        self.config.quorum(self.judges)
    }

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
}
