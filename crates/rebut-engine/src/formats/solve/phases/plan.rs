//! A plan is made before the first code, where that is wanted.

use crate::{
    agent::Agent,
    clean::on_one_line,
    debate::{Debate, Step},
    error::Stop,
    formats::solve::{
        config::{Phase, Planning},
        prompts::Setup,
    },
    moves::tools::round_with_tools,
    planning::{Features, Protocol, Style},
    topology::Topology,
};

/// Planning: one plans for all, or everybody for itself. Without a plan the work goes on.
pub async fn plan(debate: &Debate, setup: &mut Setup) -> Result<(), Stop> {
    let protocol = match setup.config.planning {
        Planning::Off => return Ok(()),
        Planning::Adaptive => Protocol::Adaptive,
        Planning::Cpde => Protocol::Always(Style::Cpde),
        Planning::Dpde => Protocol::Always(Style::Dpde),
    };
    let chosen = protocol.style(&features(setup, debate.agents().len()));
    let topology = Topology::of_panel(setup.config.topology, debate.agents())
        .map_err(|error| Stop::Broken(error.to_string()))?;
    let named = chosen.what.planners(&topology, Phase::Proposal.name());
    // Of those who plan for themselves only who writes matters.
    let is_planner = |agent: &&Agent| match chosen.what {
        Style::Cpde => named.contains(&agent.name),
        Style::Dpde => setup
            .roles
            .makers
            .iter()
            .any(|maker| maker.name == agent.name),
    };
    let planners: Vec<&Agent> = debate.agents().iter().filter(is_planner).collect();
    let planning = Step::once("plan", 1);
    let ask = |agent: &Agent, notes: &str| {
        setup.make_plan(debate, agent, notes, chosen.what == Style::Cpde)
    };
    let heard = round_with_tools(debate, &planning, &planners, ask, &setup.toolbox()).await?;
    let mut lines = Vec::new();
    for said in &heard.said {
        let plan = said.reply.plan().map_err(Stop::Broken)?;
        lines.push(format!(
            "{} by {} ({})",
            chosen.what, said.agent, chosen.why
        ));
        for (stage, number) in plan.stages().iter().zip(1..) {
            let tasks: Vec<String> = stage.iter().map(|task| on_one_line(&task.name)).collect();
            lines.push(format!("{number}. {}", tasks.join("; ")));
        }
    }
    if !lines.is_empty() {
        setup.plan = lines.join("\n");
    }
    Ok(())
}

/// What is known of the task without reading it: long ones with tests are complex and clear,
/// without tests they are open.
fn features(setup: &Setup, agents: usize) -> Features {
    let words = setup.input.task.split_whitespace().count();
    let complexity = (words as f64 / 200.0).min(1.0);
    let ambiguity = if setup.input.tests.trim().is_empty() {
        0.7
    } else {
        0.2
    };
    Features {
        complexity,
        ambiguity,
        agents,
        ..Features::default()
    }
}
