//! A challenge without a model: every reply has the asked form, quotes the text, and another text
//! gives another debate.

use super::cases;
use rebut_engine::{
    agent::{Agent, Role},
    event::ClaimId,
    formats::challenge::{
        personas::{Cast, Persona, domain_of},
        replies::{Confrontation, Critique, Grounds, Opening, Ready, Rebuttal, Rejoinder},
    },
    model::{Deltas, Model, Request, anything_fits},
    prompt::{Fence, Hole, Pieces, Template},
    reply::{Reply, Schema, extract},
};
use rebut_models::rehearsal::RehearsalModel;
use std::{pin::pin, sync::OnceLock, task, time::Duration};

/// What a turn is told; the holes are those of the format's prompts.
#[derive(Clone, Copy, Default)]
struct Told<'a> {
    question: &'a str,
    context: &'a str,
    position: &'a str,
    objections: &'a str,
    answers: &'a str,
    side: &'a str,
}

impl Template for Told<'_> {
    const FILE: &'static str = "test.md";
    const SOURCE: &'static str = "[system]\nSpeak.\n[user]\n{{question}}\n\n{{context}}\n\n{{position}}\n\n{{objections}}\n\n{{answers}}\n\n{{side}}";
    const HOLES: &'static [(&'static str, Hole)] = &[
        ("question", Hole::Data),
        ("context", Hole::Data),
        ("position", Hole::Data),
        ("objections", Hole::Data),
        ("answers", Hole::Data),
        ("side", Hole::Word),
    ];

    fn value(&self, hole: usize) -> &str {
        [
            self.question,
            self.context,
            self.position,
            self.objections,
            self.answers,
            self.side,
        ][hole]
    }

    fn pieces() -> &'static Pieces {
        static PIECES: OnceLock<Pieces> = OnceLock::new();
        PIECES.get_or_init(Pieces::of::<Told<'_>>)
    }
}

/// A reply that passes the format's own check.
fn say<R: Reply>(
    agent: &Agent,
    told: &Told<'_>,
    check: impl Fn(&mut R) -> Result<(), String> + Send + Sync,
) -> R {
    let (prompt, schema, deltas) = (
        told.render(&Fence::new("f00d")),
        Schema::of::<R>(),
        Deltas::default(),
    );
    let (deltas, time_left, fits) = (&deltas, Duration::from_secs(9), &anything_fits);
    let (now, turn, prompt, schema) = (jiff::Timestamp::UNIX_EPOCH, "t/x", &prompt, &schema);
    let request = Request {
        debate: None,
        turn,
        attempt: 1,
        agent,
        prompt,
        schema,
        fits,
        now,
        time_left,
        deltas,
    };
    let task::Poll::Ready(answer) =
        pin!(RehearsalModel.ask(request)).poll(&mut task::Context::from_waker(task::Waker::noop()))
    else {
        panic!("the rehearsal waited for something")
    };
    let text = answer.expect("an answer").text;
    extract::<R>(&text, &check)
        .unwrap_or_else(|problem| panic!("{problem}: {text}"))
        .reply
}

struct Played {
    opening: Opening,
    critiques: Vec<Critique>,
    answers: Option<Confrontation>,
    rebuttals: Vec<Rebuttal>,
}

fn challengers(topic: &str, context: &str) -> Vec<(Agent, Persona)> {
    let agents: Vec<Agent> = ["architect", "operator", "adversary"]
        .iter()
        .map(|role| Role::built_in(role).expect("a role").played_by("rehearsal"))
        .collect();
    let cast = Cast::built_in(domain_of(topic, context), &agents, String::new());
    agents
        .into_iter()
        .zip(cast.personas)
        .map(|(agent, persona)| {
            (
                Agent {
                    brief: persona.brief(&agent),
                    ..agent
                },
                persona,
            )
        })
        .collect()
}

/// One round of a debate, and the answers to it.
fn play(topic: &str, context: &str) -> Played {
    let proposer = Role::built_in("proposer")
        .expect("a role")
        .played_by("rehearsal");
    let told = Told {
        question: topic,
        context,
        ..Told::default()
    };
    let opening: Opening = say(&proposer, &told, Opening::check);
    let told = Told {
        position: &opening.position,
        ..told
    };
    let others = challengers(topic, context);
    let (mut critiques, mut lines) = (Vec::new(), Vec::new());
    for (agent, persona) in &others {
        say::<Ready>(agent, &told, |reply: &mut Ready| reply.check(persona));
        let critique: Critique = say(agent, &told, |reply: &mut Critique| reply.check(persona));
        let named = critique.objections.iter().enumerate();
        lines.extend(named.map(|(at, objection)| {
            (
                ClaimId::new(&agent.name, 1, at + 1),
                objection.aspect.clone(),
                objection.text.clone(),
            )
        }));
        critiques.push(critique);
    }
    let open: Vec<ClaimId> = lines.iter().map(|(id, ..)| id.clone()).collect();
    let listed: Vec<String> = lines
        .iter()
        .map(|(id, aspect, text)| format!("{id} ({aspect}): {text}"))
        .collect();
    let listed = listed.join("\n");
    let told = Told {
        objections: &listed,
        ..told
    };
    let answers: Option<Confrontation> = (!open.is_empty()).then(|| {
        say(&proposer, &told, |reply: &mut Confrontation| {
            reply.check(&open, &opening.position)
        })
    });
    let mut rebuttals = Vec::new();
    for (agent, persona) in &others {
        let own: Vec<&(ClaimId, String, String)> = lines
            .iter()
            .filter(|(id, ..)| id.0.starts_with(&*agent.name))
            .collect();
        let Some(answers) = answers.as_ref().filter(|_| !own.is_empty()) else {
            continue;
        };
        let answered: Vec<String> = own
            .iter()
            .map(|(id, aspect, text)| {
                let answer = answers
                    .answers
                    .iter()
                    .find(|answer| answer.objection == id.0)
                    .expect("answered");
                format!(
                    "{id} ({aspect}): {text}\n  {}: {}",
                    answer.verdict.as_str(),
                    answer.why
                )
            })
            .collect();
        let ids: Vec<ClaimId> = own.iter().map(|(id, ..)| id.clone()).collect();
        let answered = answered.join("\n");
        rebuttals.push(say(
            agent,
            &Told {
                answers: &answered,
                ..told
            },
            |reply: &mut Rebuttal| reply.check(&ids, persona),
        ));
        say::<Grounds>(
            agent,
            &Told {
                side: "you challenge the position",
                ..told
            },
            Grounds::check,
        );
    }
    Played {
        opening,
        critiques,
        answers,
        rebuttals,
    }
}

#[test]
fn every_reply_has_the_asked_form_and_quotes_only_what_is_there() {
    let mut quotes = 0;
    let mut endings = Vec::new();
    for (name, case) in cases::ALL {
        let played = play(case.question, case.context);
        let source = case
            .context
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        for text in played
            .critiques
            .iter()
            .flat_map(|critique| &critique.objections)
            .map(|objection| &objection.text)
        {
            let quote = text
                .split_once('“')
                .and_then(|(_, rest)| rest.split_once('”'))
                .expect("a quotation")
                .0;
            assert!(
                source.contains(quote.trim_end_matches('…')),
                "{name}: “{quote}” is made up"
            );
            quotes += 1;
        }
        assert!(
            played
                .critiques
                .iter()
                .all(|critique| !critique.checked.is_empty()),
            "{name}"
        );
        let maintained = played
            .rebuttals
            .iter()
            .filter(|rebuttal| rebuttal.verdict != Rejoinder::Accept)
            .count();
        endings.push((played.answers.is_some(), maintained > 0));
    }
    assert!(quotes > 8, "only {quotes} objections");
    assert!(
        endings.contains(&(false, false)),
        "somebody convinces at once: {endings:?}"
    );
    assert!(
        endings.contains(&(true, false)),
        "somebody is met: {endings:?}"
    );
}

#[test]
fn the_same_text_gives_the_same_debate_and_another_one_does_not() {
    let mut openings = std::collections::BTreeSet::new();
    for (name, case) in cases::ALL {
        let (once, again) = (
            play(case.question, case.context),
            play(case.question, case.context),
        );
        assert_eq!(
            (
                &once.opening,
                &once.critiques,
                &once.answers,
                &once.rebuttals
            ),
            (
                &again.opening,
                &again.critiques,
                &again.answers,
                &again.rebuttals
            )
        );
        assert!(
            openings.insert(once.opening.position.clone()),
            "{name}: {}",
            once.opening.position
        );
    }
    let odd = play("", "");
    assert!(!odd.opening.position.is_empty());
}
