//! `policy insights` and `policy propose`: what judges say of reviewers, and better words for one
//! of them. A role's own file is never written.

use super::{
    prepare::Prepared,
    progress::{self, Interrupts},
};
use crate::{
    app::App,
    casting,
    cli::{GlobalArgs, InsightsArgs, OutputArgs, PanelArgs, PolicyCommand, ProposeArgs, RunArgs},
    debates::Debates,
    error::CliError,
    output,
    paint::Paint,
    panel::Panel,
    proposals::{self, Place},
    resolve::value,
    roles,
};
use rebut_engine::{
    clean::{for_people, on_one_line},
    formats::{
        propose,
        review::{self, DebateLog, exact_log},
    },
    policy::{PolicyInsights, insights},
    store::Filter,
    view::View,
};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc};

const WRITER: &str = "neutral";

pub async fn run(global: &GlobalArgs, command: PolicyCommand) -> Result<u8, CliError> {
    match command {
        PolicyCommand::Insights(args) => show(global, args).await,
        PolicyCommand::Propose(args) => propose(global, *args).await,
    }
}

struct Heard {
    roles: BTreeMap<String, PolicyInsights>,
    debates: usize,
    /// How many of them the built-in rehearsal spoke in.
    rehearsals: usize,
}

async fn show(global: &GlobalArgs, args: InsightsArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let heard = heard(&Debates::open(&app).await?, args.days).await?;
    if args.json {
        output::print_json(&heard.roles)?;
        return Ok(0);
    }
    let paint = Paint::stdout();
    if heard.roles.is_empty() {
        output::print(&format!(
            "no judge has said anything of a reviewer in the last {} days\n",
            args.days
        ))?;
        if !global.quiet {
            warn_line!(
                "  hint: reviews are debated and judged with `rebut review … --set \
                 review.debate.enabled=true`"
            );
        }
        return Ok(0);
    }
    for (role, known) in &heard.roles {
        let verdict = if known.needs_update {
            paint.attention("needs better words")
        } else {
            paint.good("good")
        };
        let debates = format!(
            "{} debate{}",
            known.debates,
            if known.debates == 1 { "" } else { "s" }
        );
        let labels = known
            .common_labels
            .iter()
            .map(|label| on_one_line(label))
            .collect::<Vec<_>>()
            .join(", ");
        let line = format!(
            "{}  {:.2} of 10 over {debates}  {verdict}",
            paint.strong(&on_one_line(role)),
            known.avg_argument_quality
        );
        output::print(&format!(
            "{line}\n  labels  {labels}\n  signal  {}\n",
            on_one_line(&known.policy_signal)
        ))?;
    }
    warn_of_rehearsals(&app, &heard);
    Ok(0)
}

fn warn_of_rehearsals(app: &App, heard: &Heard) {
    if heard.rehearsals > 0 && !app.global.quiet {
        warn_line!(
            "{} of {} judged reviews were rehearsals: the built-in speaker judged, not a model",
            heard.rehearsals,
            heard.debates
        );
    }
}

/// What the judged reviews of the last days say, oldest first.
async fn heard(debates: &Debates, days: u32) -> Result<Heard, CliError> {
    let since = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * i64::from(days));
    let mut sessions = debates
        .sessions(&Filter {
            format: Some(review::FORMAT.name.to_owned()),
            ..Filter::default()
        })
        .await?;
    let is_recent = |at: &str| at.parse::<jiff::Timestamp>().is_ok_and(|at| at >= since);
    sessions.retain(|session| is_recent(&session.created_at));
    sessions.sort_by(|one, other| {
        (&one.created_at, one.id.to_string()).cmp(&(&other.created_at, other.id.to_string()))
    });
    let (mut logs, mut rehearsals): (Vec<DebateLog>, usize) = (Vec::new(), 0);
    for session in sessions {
        let log = exact_log(&debates.view(session.id).await?);
        rehearsals += usize::from(session.rehearsal && log.is_some());
        logs.extend(log);
    }
    Ok(Heard {
        roles: insights(&logs),
        debates: logs.len(),
        rehearsals,
    })
}

async fn propose(global: &GlobalArgs, args: ProposeArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    proposals::check_name(&args.role)?;
    let project = app.project();
    let role = roles::find(&project, &args.role)?;
    let heard = heard(&Debates::open(&app).await?, args.days).await?;
    let Some(known) = heard.roles.get(&args.role) else {
        let message = format!(
            "no judge has said anything of `{}` in the last {} days; nobody was asked",
            args.role, args.days
        );
        return Err(CliError::usage(message).hint(
            "`rebut policy insights` shows of whom judges spoke; --days N looks further back",
        ));
    };
    warn_of_rehearsals(&app, &heard);
    // Before anybody is asked and paid.
    let place = Place::find(&project, &args.role)?;
    let input = propose::Input {
        role: args.role.clone(),
        current: role.brief.clone(),
        insights: known.clone(),
    };
    let run = run_args(&args);
    let registry = Arc::new(app.registry()?);
    let panel = casting::panel(&app, &registry, &(&run.panel).into(), &[WRITER]).await?;
    let config = app.config.format(propose::FORMAT.name)?;
    let writer = Panel {
        agents: panel.agents.into_iter().take(1).collect(),
        ..panel
    };
    let prepared = Prepared::new(
        &app,
        registry,
        &run,
        (propose::FORMAT.name, value(&input)?, config),
        writer,
    )?;
    if let Some(code) = prepared.foresee(&app, &run).await? {
        return Ok(code);
    }
    let desk = prepared.desk(&app).await?;
    let running = desk.start(prepared.start).await?;
    let mut interrupts = Interrupts::listen()?;
    // Nothing of it is the result of this command, so it goes where progress goes.
    let Some((view, outcome)) =
        progress::to_the_end(&app, &desk, running, &run.output, &mut interrupts).await?
    else {
        return Ok(rebut_engine::outcome::Ending::Cancelled.exit_code());
    };
    match propose::Proposal::deserialize(&outcome.result) {
        Ok(proposal) => written(&app, &place, &role.brief, &proposal, &view),
        Err(_) => {
            warn_line!("no proposal: {}", on_one_line(&outcome.summary));
            outcome
                .degraded
                .iter()
                .for_each(|gone| warn_line!("  {}: {}", gone.reason, on_one_line(&gone.detail)));
            Ok(outcome.outcome.exit_code())
        }
    }
}

/// Writes the proposal and prints what it would change.
fn written(
    app: &App,
    place: &Place,
    current: &str,
    proposal: &propose::Proposal,
    view: &View,
) -> Result<u8, CliError> {
    let text = format!("{}\n", for_people(proposal.text.trim()));
    place.write(&text)?;
    let shown = place.shown();
    let current = format!("{}\n", current.trim());
    let diff = similar::TextDiff::from_lines(&current, &text)
        .unified_diff()
        .header("the role's text", &shown)
        .to_string();
    output::print(&for_people(&if diff.is_empty() {
        "the proposal is the text as it is\n".to_owned()
    } else {
        diff
    }))?;
    if !app.global.quiet {
        warn_line!("wrote {shown}: {}", on_one_line(&proposal.why));
        warn_line!("read it; no role was changed. To use it, put it into .rebut/roles/ yourself");
        if view
            .started
            .as_ref()
            .is_some_and(|started| started.rehearsal)
        {
            warn_line!("{}", Paint::stderr().attention(crate::text::REHEARSAL));
        }
    }
    Ok(0)
}

fn run_args(args: &ProposeArgs) -> RunArgs {
    RunArgs {
        panel: PanelArgs {
            models: args.model.clone().into_iter().collect(),
            judges: vec![WRITER.to_owned()],
            ..PanelArgs::default()
        },
        dry_run: args.dry_run,
        estimate: args.estimate,
        budget: args.budget.clone(),
        output: OutputArgs::default(),
        seed: None,
        approve_within: None,
    }
}
