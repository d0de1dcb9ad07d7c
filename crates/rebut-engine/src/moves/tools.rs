//! A turn in which an agent may use tools: it calls one, is told what it said, and is asked again,
//! until it gives its reply or may call no more. Every call is a turn and an event of its own, so a
//! debate goes on after a crash where it was.

mod spoken;

use crate::{
    agent::Agent,
    debate::{Ask, Debate, ReplyFrom, Round, Step, absence, all_or_halt},
    error::Stop,
    event::Event,
    facts::ToolCalled,
    model::FaultKind,
    outcome::Absence,
    prompt::{Prompt, Template, Word},
    reply::{Check, Reply},
    sandbox::Work,
    tools::{MOST_SAID, Plan, Tool, Toolbox, bounded, in_words},
};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use spoken::{Call, Spoken, check_form, with_tools};
use std::sync::Arc;

/// One agent speaks, and may use the tools that its role names and the box holds. A call by one
/// that is given none of those its role names, such as a judge, is refused. Its turns are
/// `step/agent`, `step/agent/tool 1`, …: the last one holds its reply. Several agents may do so at
/// one step.
pub async fn turn_with_tools<R: Reply>(
    debate: &Debate,
    step: &Step,
    agent: &Agent,
    ask: Ask<R>,
    toolbox: &Toolbox,
) -> Result<Result<ReplyFrom<R>, Absence>, Stop> {
    let first = step.turn(&agent.name);
    debate.enter_turn(&first)?;
    let given = toolbox.given_to(agent);
    let Ask {
        mut prompt,
        schema,
        check,
    } = ask;
    if !toolbox.may_be_called_by(agent) {
        return debate
            .turn_named(step, agent, first, &prompt, &schema, &*check)
            .await;
    }
    check_form::<R>()?;
    // Whoever has none does not hear of any.
    let form_with_tools = if given.is_empty() {
        schema.clone()
    } else {
        with_tools(&schema, &given)?
    };
    let check: Box<Check<'static, Spoken<R>>> = Box::new(move |said| match said {
        Spoken::Reply(reply) => check(reply),
        Spoken::Call(_) => Ok(()),
    });
    if !given.is_empty() {
        prompt = prompt.followed_by(&offer(debate, &given, toolbox.calls));
    }
    let mut turn = first.clone();
    for number in 0..=toolbox.calls {
        let left = toolbox.calls - number;
        let form = if left == 0 { &schema } else { &form_with_tools };
        let said = match debate
            .turn_named(step, agent, turn.clone(), &prompt, form, &*check)
            .await?
        {
            Ok(said) => said,
            Err(absence) => return Ok(Err(absence)),
        };
        let call = match said.reply {
            Spoken::Reply(reply) => {
                return Ok(Ok(ReplyFrom {
                    agent: said.agent,
                    turn: said.turn,
                    reply,
                }));
            }
            Spoken::Call(call) => call,
        };
        let called = use_tool(
            debate,
            step,
            agent,
            (&turn, number + 1),
            call,
            (toolbox, &given, left),
        )
        .await?;
        prompt = prompt.followed_by(&tell(
            debate,
            &called,
            if given.is_empty() {
                0
            } else {
                left.saturating_sub(1)
            },
        ));
        debate
            .note(
                step.place(Some(&agent.name)),
                Event::ToolCalled(Arc::new(called)),
            )
            .await?;
        if left == 0 {
            break;
        }
        turn = format!("{first}/tool {}", number + 1).into();
    }
    let missing = absence(
        agent,
        &turn,
        FaultKind::InvalidReply,
        "it asked for a tool although it had no call left",
    );
    debate.note_absences(step, [&missing]);
    Ok(Err(missing))
}

/// A round in which agents may use tools; where nobody has one it is like any other.
pub async fn round_with_tools<R: Reply>(
    debate: &Debate,
    step: &Step,
    agents: &[&Agent],
    ask: impl Fn(&Agent, &str) -> Ask<R> + Sync,
    toolbox: &Toolbox,
) -> Result<Round<R>, Stop> {
    if !agents.iter().any(|agent| toolbox.may_be_called_by(agent)) {
        return debate.round(step, agents.iter().copied(), ask).await;
    }
    let notes = debate.begin_round(step, agents).await?;
    let spoken = join_all(
        agents
            .iter()
            .map(|agent| turn_with_tools(debate, step, agent, ask(agent, &notes), toolbox)),
    )
    .await;
    debate.close_round(step, all_or_halt(spoken)?).await
}

crate::prompt!(
    /// Says which tools there are.
    Offer, "kernel/tools.md" {
        /// A line each.
        tools: Word,
        /// How often they may be used.
        calls: Word,
    }
);

crate::prompt!(
    /// Says what a tool said.
    PromptSource, "kernel/tool-result.md" {
        /// The call, as it was understood.
        call: Data,
        /// What it said, or why it was refused.
        result: Data,
        /// Whether there are more.
        what_now: Word,
    }
);

fn offer(debate: &Debate, given: &[&Tool], calls: u32) -> Prompt {
    let tools = given.iter().enumerate().flat_map(|(at, tool)| {
        [
            if at == 0 { "- `" } else { "\n- `" },
            tool.name,
            "` ",
            tool.about,
        ]
    });
    Offer {
        tools: Word::all(tools.map(Word::from)),
        calls: times(calls),
    }
    .render(debate.fence())
}

fn tell(debate: &Debate, called: &ToolCalled, left: u32) -> Prompt {
    let call = json!({"tool": called.tool, "arguments": called.arguments}).to_string();
    let refused = called.refused.as_ref().map(|why| format!("refused: {why}"));
    let result = refused
        .or_else(|| called.result.clone())
        .unwrap_or_else(|| "nothing".to_owned());
    let what_now = match left {
        0 => "You have no call left. Give your reply now, in the form described above.".into(),
        left => {
            let after = " more. Use one, or give your reply in the form described above.";
            Word::all(["You may use tools ".into(), times(left), after.into()])
        }
    };
    PromptSource {
        call: &call,
        result: &result,
        what_now,
    }
    .render(debate.fence())
}

fn times(calls: u32) -> Word {
    if calls == 1 {
        "once".into()
    } else {
        Word::all([calls.into(), " times".into()])
    }
}

/// Does what was called for, if it may be done.
async fn use_tool(
    debate: &Debate,
    step: &Step,
    agent: &Agent,
    (turn, number): (&Arc<str>, u32),
    call: Call,
    (toolbox, given, left): (&Toolbox, &[&Tool], u32),
) -> Result<ToolCalled, Stop> {
    let planned = match left {
        0 => Err("you have no call left".to_owned()),
        _ => toolbox.plan(given, &call.tool, &call.arguments),
    };
    let said = match planned {
        Err(why) => Err(why),
        Ok(Plan::Say(said)) => Ok(said),
        Ok(Plan::Run(job)) => {
            let ran = debate
                .run(step, &format!("{}/tool {number}", agent.name), &job)
                .await?;
            let is_test = matches!(job.work, Work::Tests(_));
            ran.result()
                .map(|ran| in_words(ran, is_test))
                .map_err(|refused| refused.to_string())
        }
    };
    let scrubbed = |text: String| bounded(&debate.scrubber.scrub(text));
    let (result, refused) = match said {
        Ok(said) => (Some(scrubbed(said)), None),
        Err(why) => (None, Some(scrubbed(why))),
    };
    Ok(ToolCalled {
        turn: turn.clone(),
        tool: bounded_name(&call.tool),
        arguments: kept(call.arguments),
        result,
        refused,
    })
}

fn bounded_name(name: &str) -> String {
    crate::clean::shortened(&crate::clean::on_one_line(name), 60).into_owned()
}

/// The arguments with long texts cut: the turn's own record holds them whole.
fn kept(arguments: Value) -> Value {
    let kept = cut(arguments);
    let whole = kept.to_string();
    // Many short texts are long too.
    if whole.len() > 4 * MOST_SAID {
        Value::String(bounded(&whole))
    } else {
        kept
    }
}

fn cut(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(bounded(&text)),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (key, cut(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.into_iter().map(cut).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::mismatches;

    #[test]
    fn prompts_and_their_holes_agree() {
        assert_eq!(
            [mismatches::<Offer>(), mismatches::<PromptSource>()].concat(),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_a_tool_was_given_is_kept_in_bounds() {
        let long = "x".repeat(9_000);
        let rows = [
            json!({"code": long}),
            json!({"list": [long.clone(), long.clone(), long]}),
            (0..9_000).map(|n| n.to_string()).collect(),
        ];
        for arguments in rows {
            assert!(kept(arguments).to_string().len() <= 4 * MOST_SAID + 2);
        }
        assert_eq!(
            kept(json!({"code": "short", "from": 3})),
            json!({"code": "short", "from": 3})
        );
    }
}
