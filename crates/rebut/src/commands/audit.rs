//! `audit verify` and `audit redact`.

use super::archive::{Named, or_file, read_damaged};
use crate::{
    app::App,
    cli::{AuditCommand, GlobalArgs, RedactArgs, VerifyArgs},
    data_dir::Place,
    debates::Debates,
    error::CliError,
    hint_command::command,
    output,
    paint::Paint,
};
use rebut_engine::{
    DebateId,
    audit::{self, Audit, Problem, ProblemKind},
    journal_file::Portable,
    record::Hash,
    store::Filter,
};

pub async fn run(global: &GlobalArgs, command: AuditCommand) -> Result<u8, CliError> {
    match command {
        AuditCommand::Verify(args) => verify(global, args).await,
        AuditCommand::Redact(args) => redact(global, args).await,
    }
}

async fn verify(global: &GlobalArgs, args: VerifyArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let trusted = app
        .place
        .as_ref()
        .map(Place::trusted)
        .transpose()?
        .unwrap_or_default();
    let mut audits = Vec::new();
    match args.what.as_deref().map(Named::new) {
        Some(Named::File(file)) => {
            let (file, announced) = read_damaged(file)?;
            audits.push(audit::verify_file(&file, announced, &trusted));
        }
        Some(Named::Debate(word)) => {
            let debates = Debates::open(&app).await?;
            let id = debates
                .find(word)
                .await
                .map_err(|error| or_file(error, word))?;
            audits.push(audited(&app, &debates, id, &trusted).await?);
        }
        None => {
            let debates = Debates::open(&app).await?;
            for session in debates.sessions(&Filter::default()).await? {
                audits.push(audited(&app, &debates, session.id, &trusted).await?);
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
            output::print(&report(audit, Paint::stdout()))?;
        }
    }
    Ok(u8::from(audits.iter().any(|audit| !audit.ok)))
}

/// The audit of a debate. One at a server is checked here where its seals are of keys that are
/// trusted here; else it is the server's own word, and that is said.
async fn audited(
    app: &App,
    debates: &Debates,
    id: DebateId,
    trusted: &[String],
) -> Result<Audit, CliError> {
    let remote = match debates {
        Debates::Here(desk) => return Ok(desk.verify(id, trusted).await?),
        Debates::There(remote) => remote,
    };
    let says = |what: &str| {
        if !app.global.quiet {
            warn_line!("{}: {what}", id.short());
        }
    };
    let journal = Portable::parse_uncounted(&debates.journal(id).await?);
    let Some((file, announced)) = journal.ok().filter(|(file, _)| file.debate == id) else {
        says(
            "what the server sends is no journal of this debate; this is what it says itself of \
             the one it has",
        );
        return remote.audit(id).await;
    };
    let keys: Vec<String> = file
        .checkpoints
        .iter()
        .map(|checkpoint| checkpoint.key.clone())
        .collect();
    match keys.iter().find(|key| !trusted.contains(key)) {
        None => {
            says("checked here");
            Ok(audit::verify_file(&file, announced, trusted))
        }
        Some(key) => {
            // Whoever sealed it, the chain must hold.
            let chain = audit::verify_file(&file, announced, &keys);
            if !chain.ok {
                says("checked here");
                return Ok(chain);
            }
            says(&format!(
                "the chain was checked here, the seals are the server's own word: {key} is not \
                 trusted here \
                 (compare it with its owner, then write it into trusted.keys in the data folder)"
            ));
            remote.audit(id).await
        }
    }
}

fn check_head(audit: &mut Audit, head: &str) -> Result<(), CliError> {
    let expected = Hash::parse(head.trim())
        .ok_or_else(|| CliError::usage("--head takes 64 hexadecimal digits"))?;
    if audit.head != expected {
        let detail = format!(
            "the last event has the hash {}, not the one noted",
            audit.head
        );
        audit.problems.push(Problem {
            seq: audit.events,
            kind: ProblemKind::Truncated,
            detail,
        });
        audit.ok = false;
    }
    Ok(())
}

fn report(audit: &Audit, paint: Paint) -> String {
    if audit.ok {
        let redacted = if audit.redacted.is_empty() {
            String::new()
        } else {
            format!(", {} redacted", audit.redacted.len())
        };
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
        let kind = serde_json::to_value(problem.kind)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default();
        text.push_str(&format!(
            "  at event {}: {kind}: {}\n",
            problem.seq, problem.detail
        ));
    }
    text
}

async fn redact(global: &GlobalArgs, args: RedactArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let debates = Debates::open(&app).await?;
    let id = debates.find(&args.id.id).await?;
    let quoting = debates.redact(id, args.seq, &args.reason).await?;
    if matches!(debates, Debates::Here(_)) {
        app.place()?.forget_vectors()?;
    }
    warn_line!(
        "event {} of {} is redacted; exports made earlier still hold it",
        args.seq,
        id.short()
    );
    if !quoting.is_empty() {
        let events = quoting
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        warn_line!(
            "events {events} still quote it: redact them too, or remove the debate (`{}`)",
            command(format_args!("rm {}", id.short()))
        );
    }
    Ok(0)
}
