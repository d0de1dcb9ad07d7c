//! The prompts of challenge, made from its input, settings and personas and from what was said
//! so far.

use super::{
    config::{Casting, Config},
    input::Input,
    personas::{Cast, Persona, domain_of},
    replies::{Confrontation, Critique, Grounds, Opening, PersonaDraft, Ready, Rebuttal},
    state::Ledger,
};
use crate::{
    agent::{Agent, Role},
    clean,
    debate::{Ask, Debate, Step},
    error::Stop,
    event::{ClaimId, Event},
    facts::PersonaRecorded,
    formats::question::context_of,
    prompt,
    prompt::Template,
    reply::Schema,
};
use std::sync::Arc;

macro_rules! part_prompt {
    ($(#[$doc:meta])* $name:ident, $file:literal { $($(#[$hole_doc:meta])* $hole:ident: $kind:ident),* $(,)? }) => {
        prompt!(
            $(#[$doc])*
            $name, $file {
                /// Who is asked: the persona, or the proposer's role text.
                persona: Part,
                /// What is debated.
                question: Data,
                /// What is known.
                context: Data,
                /// Notes of people.
                notes: Notes,
                $($(#[$hole_doc])* $hole: $kind),*
            }
        );
    };
}

prompt!(
    /// Asks for personas.
    Personas, "challenge/personas.md" {
        /// The writer's role text.
        persona: Part,
        /// What is debated.
        question: Data,
        /// What is known.
        context: Data,
        /// The field of the topic.
        domain: Word,
        /// The challengers and their roles, one a line.
        challengers: Data,
    }
);

prompt!(
    /// Asks a challenger to prove that it has read its persona.
    Preflight, "challenge/preflight.md" {
        /// The persona.
        persona: Part,
    }
);

part_prompt!(
    /// Asks the proposer for its position.
    Open, "challenge/opening.md" {}
);

part_prompt!(
    /// Asks a challenger for its verdict.
    Challenge, "challenge/critique.md" {
        /// The position with its reasons.
        position: Data,
        /// The names of the challenger's aspects, one a line.
        aspects: Data,
    }
);

part_prompt!(
    /// Asks the proposer to answer the objections.
    Confront, "challenge/confront.md" {
        /// The number of the position.
        version: Word,
        /// The position.
        position: Data,
        /// What is objected, by name.
        objections: Data,
    }
);

part_prompt!(
    /// Asks a dissenter what it makes of the answers.
    Rebut, "challenge/rebut.md" {
        /// The number of the position.
        version: Word,
        /// The position.
        position: Data,
        /// The dissenter's objections and the answers to them.
        answers: Data,
        /// The names of the challenger's aspects, one a line.
        aspects: Data,
    }
);

part_prompt!(
    /// Asks a party what its side rests on.
    Rest, "challenge/assumptions.md" {
        /// The position.
        position: Data,
        /// What was not resolved.
        objections: Data,
        /// Which side it is on.
        side: Word,
    }
);

/// A challenger: the agent that speaks with its persona, and the persona.
#[derive(Clone, Debug, PartialEq)]
pub struct Challenger {
    /// The agent, with its persona as what it is told.
    pub agent: Agent,
    pub persona: Persona,
}

/// The setup of a debate: its input and settings, checked, and what prompts need of them.
pub struct Setup {
    pub topic: String,
    pub config: Config,
    pub proposer: Agent,
    pub challengers: Vec<Challenger>,
    pub cast: Cast,
}

impl Setup {
    /// Gives every challenger its persona first.
    pub async fn of(debate: &Debate, input: Input, config: Config) -> Result<Self, Stop> {
        let started = debate.started();
        let (proposer, others) = started
            .agents
            .split_first()
            .ok_or_else(|| Stop::Broken("there is no proposer".to_owned()))?;
        let domain = domain_of(&input.topic, &input.context);
        let cast = match config.personas {
            Casting::Auto if !started.rehearsal => {
                written(debate, &input.topic, domain, proposer, others).await?
            }
            _ => Cast::built_in(domain, others, String::new()),
        };
        let mut challengers = Vec::new();
        for (agent, persona) in others.iter().zip(&cast.personas) {
            let brief = persona.brief(agent);
            let recorded = PersonaRecorded {
                domain: domain.to_owned(),
                title: persona.title.clone(),
                text: brief.to_string(),
                generated: cast.generated,
            };
            debate
                .note(
                    Step::once("personas", 0).place(Some(&agent.name)),
                    Event::PersonaRecorded(Arc::new(recorded)),
                )
                .await?;
            challengers.push(Challenger {
                agent: Agent {
                    brief,
                    ..agent.clone()
                },
                persona: persona.clone(),
            });
        }
        Ok(Self {
            topic: input.topic,
            config,
            proposer: proposer.clone(),
            challengers,
            cast,
        })
    }

    pub fn challenger(&self, name: &str) -> Option<&Challenger> {
        self.challengers
            .iter()
            .find(|challenger| &*challenger.agent.name == name)
    }

    /// The proof that a challenger is there and has read its persona.
    pub fn preflight(&self, debate: &Debate, agent: &Agent) -> Ask<Ready> {
        let prompt = Preflight {
            persona: &agent.brief,
        }
        .render(debate.fence());
        let persona = self.persona_of(agent);
        Ask {
            prompt,
            schema: Schema::of::<Ready>(),
            check: Box::new(move |reply: &mut Ready| reply.check(&persona)),
        }
    }

    pub fn opening(&self, debate: &Debate, agent: &Agent, notes: &str) -> Ask<Opening> {
        let prompt = Open {
            persona: &agent.brief,
            question: &self.topic,
            context: context_of(debate),
            notes,
        };
        Ask {
            prompt: prompt.render(debate.fence()),
            schema: Schema::of::<Opening>(),
            check: Box::new(Opening::check),
        }
    }

    pub fn critique(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        ledger: &Ledger,
    ) -> Ask<Critique> {
        let persona = self.persona_of(agent);
        let prompt = Challenge {
            persona: &agent.brief,
            question: &self.topic,
            context: context_of(debate),
            notes,
            position: &ledger.opening_text(),
            aspects: &persona.aspect_names("\n"),
        };
        Ask {
            prompt: prompt.render(debate.fence()),
            schema: Schema::of::<Critique>(),
            check: Box::new(move |reply: &mut Critique| reply.check(&persona)),
        }
    }

    /// The proposer's answer to every open objection.
    pub fn confront(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        ledger: &Ledger,
    ) -> Ask<Confrontation> {
        let before = ledger.position().to_owned();
        let prompt = Confront {
            persona: &agent.brief,
            question: &self.topic,
            context: context_of(debate),
            notes,
            version: ledger.version().into(),
            position: &clean::for_people(&before),
            objections: &ledger.open_text(),
        }
        .render(debate.fence());
        let open: Vec<ClaimId> = ledger
            .objections
            .open()
            .map(|objection| objection.id.clone())
            .collect();
        let check = Box::new(move |reply: &mut Confrontation| reply.check(&open, &before));
        Ask {
            prompt,
            schema: Schema::of::<Confrontation>(),
            check,
        }
    }

    /// What a dissenter makes of the answers.
    pub fn rebut(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        ledger: &Ledger,
    ) -> Ask<Rebuttal> {
        let persona = self.persona_of(agent);
        let prompt = Rebut {
            persona: &agent.brief,
            question: &self.topic,
            context: context_of(debate),
            notes,
            version: ledger.version().into(),
            position: &clean::for_people(ledger.position()),
            answers: &ledger.answers_text(&agent.name),
            aspects: &persona.aspect_names("\n"),
        }
        .render(debate.fence());
        let own: Vec<ClaimId> = ledger
            .objections
            .open_by(&agent.name)
            .map(|objection| objection.id.clone())
            .collect();
        let check = Box::new(move |reply: &mut Rebuttal| reply.check(&own, &persona));
        Ask {
            prompt,
            schema: Schema::of::<Rebuttal>(),
            check,
        }
    }

    /// What a party's side rests on.
    pub fn grounds(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        ledger: &Ledger,
    ) -> Ask<Grounds> {
        let proposes = agent.name == self.proposer.name;
        let side = if proposes {
            "you proposed the position and hold it"
        } else {
            "you challenge the position"
        };
        let prompt = Rest {
            persona: &agent.brief,
            question: &self.topic,
            context: context_of(debate),
            notes,
            position: &clean::for_people(ledger.position()),
            objections: &ledger.open_text(),
            side: side.into(),
        };
        Ask {
            prompt: prompt.render(debate.fence()),
            schema: Schema::of::<Grounds>(),
            check: Box::new(Grounds::check),
        }
    }

    fn persona_of(&self, agent: &Agent) -> Persona {
        let found = self
            .challenger(&agent.name)
            .map(|challenger| challenger.persona.clone());
        found.expect("only challengers of this debate are asked as challengers")
    }
}

/// Personas by a model; the built-in ones, with the reason, where it gives none that can be used.
async fn written(
    debate: &Debate,
    topic: &str,
    domain: &'static str,
    proposer: &Agent,
    challengers: &[Agent],
) -> Result<Cast, Stop> {
    let role = Role::built_in("persona-writer")
        .ok_or_else(|| Stop::Broken("the role `persona-writer` is missing".to_owned()))?;
    let writer = Agent {
        fallbacks: proposer.fallbacks.clone(),
        ..role.played_by(proposer.model.clone())
    };
    let listed: Vec<String> = challengers
        .iter()
        .map(|agent| format!("- {}: {}", agent.name, clean::on_one_line(&agent.brief)))
        .collect();
    let prompt = Personas {
        persona: &writer.brief,
        question: topic,
        context: context_of(debate),
        domain: domain.into(),
        challengers: &listed.join("\n"),
    }
    .render(debate.fence());
    let own = challengers.to_vec();
    let check = Box::new(move |reply: &mut PersonaDraft| {
        Cast::generated(domain, &own, &reply.personas).map(drop)
    });
    let ask = Ask {
        prompt,
        schema: Schema::of::<PersonaDraft>(),
        check,
    };
    Ok(
        match debate
            .turn(&Step::once("personas", 0), &writer, ask)
            .await?
        {
            Ok(said) => {
                Cast::generated(domain, challengers, &said.reply.personas).map_err(Stop::Broken)?
            }
            Err(absence) => {
                let why = format!(
                    "{}: {}",
                    absence.reason,
                    clean::on_one_line(&absence.detail)
                );
                Cast::built_in(domain, challengers, why)
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::mismatches;

    #[test]
    fn prompts_and_their_structs_agree() {
        let all = [
            mismatches::<Personas>(),
            mismatches::<Preflight>(),
            mismatches::<Open>(),
            mismatches::<Challenge>(),
            mismatches::<Confront>(),
            mismatches::<Rebut>(),
            mismatches::<Rest>(),
        ];
        assert_eq!(all.concat(), Vec::<String>::new());
    }

    /// A challenger's context file is made of it, and must stay the same over all rounds.
    #[test]
    fn the_system_part_is_the_same_in_every_phase() {
        let system = |source: &'static str| source.split_once("\n[user]\n").expect("two parts").0;
        for source in [
            Open::SOURCE,
            Challenge::SOURCE,
            Confront::SOURCE,
            Rebut::SOURCE,
            Rest::SOURCE,
        ] {
            assert_eq!(system(source), system(Preflight::SOURCE));
        }
    }
}
