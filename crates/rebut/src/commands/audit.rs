//! `audit verify` and `audit redact`.

use super::keep::read_damaged;
use crate::{
    app::{App, user},
    cli::{AuditCommand, GlobalArgs, RedactArgs, VerifyArgs},
    error::CliError,
    output,
    paint::Paint,
};
use rebut_engine::{
    audit::{self, Audit, Problem, ProblemKind},
    record::Hash,
    store::Filter,
};

/// Runs an audit command.
pub async fn run(global: &GlobalArgs, command: AuditCommand) -> Result<u8, CliError> {
    match command {
        AuditCommand::Verify(args) => verify(global, args).await,
        AuditCommand::Redact(args) => redact(global, args).await,
    }
}

async fn verify(global: &GlobalArgs, args: VerifyArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let trusted = app.place.trusted()?;
    let mut audits = Vec::new();
    match args.what.as_deref() {
        Some(what) => audits.push(match read_damaged(what)? {
            Some((file, announced)) => audit::verify_file(&file, announced, &trusted),
            None => {
                let desk = app.desk().await?;
                let id = desk.find(what).await?.id;
                desk.verify(id, &trusted).await?
            }
        }),
        None => {
            let desk = app.desk().await?;
            for session in desk.sessions(&Filter::default()).await? {
                audits.push(desk.verify(session.id, &trusted).await?);
            }
        }
    }
    if let Some(head) = &args.head {
        for audit in &mut audits {
            check_head(audit, head)?;
        }
    }
    if args.json {
        output::print_json(&audits)?;
    } else {
        for audit in &audits {
            output::print(&report(audit, Paint::stdout(global.color)))?;
        }
    }
    Ok(u8::from(audits.iter().any(|audit| !audit.ok)))
}

fn check_head(audit: &mut Audit, head: &str) -> Result<(), CliError> {
    let expected = Hash::parse(head.trim()).ok_or_else(|| CliError::usage("--head takes 64 hexadecimal digits"))?;
    if audit.head != expected {
        let detail = format!("the last event has the hash {}, not the one noted", audit.head);
        audit.problems.push(Problem { seq: audit.events, kind: ProblemKind::Truncated, detail });
        audit.ok = false;
    }
    Ok(())
}

fn report(audit: &Audit, paint: Paint) -> String {
    if audit.ok {
        let redacted = if audit.redacted.is_empty() { String::new() } else { format!(", {} redacted", audit.redacted.len()) };
        return format!(
            "{} {}  {} events, sealed to {}{redacted}, head {}\n",
            audit.debate_id.short(),
            paint.good("ok"),
            audit.events,
            audit.sealed,
            audit.head
        );
    }
    let mut text = format!("{} {}\n", audit.debate_id.short(), paint.bad("DAMAGED"));
    for problem in &audit.problems {
        let kind = serde_json::to_value(problem.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
        text.push_str(&format!("  at event {}: {kind}: {}\n", problem.seq, problem.detail));
    }
    text
}

async fn redact(global: &GlobalArgs, args: RedactArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let desk = app.desk().await?;
    let id = desk.find(&args.id.id).await?.id;
    let quoting = desk.redact(id, args.seq, &args.reason, &user()).await?;
    app.place.forget_vectors()?;
    eprintln!("event {} of {} is redacted; exports made earlier still hold it", args.seq, id.short());
    if !quoting.is_empty() {
        let events = quoting.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        eprintln!("events {events} still quote it: redact them too, or remove the debate (`rebut rm {}`)", id.short());
    }
    Ok(0)
}
