//! `sandbox check`, `sandbox run` and `sandbox test`: whether this machine can hold untrusted code,
//! and holding some.

mod test;

use crate::{
    app,
    cli::{JsonArg, SandboxCommand, SandboxRunArgs},
    error::CliError,
    output,
    paint::Paint,
    read_file::text_or_stdin,
    text::padded,
};
use rebut_engine::{
    clean::{for_people, on_one_line},
    sandbox::{End, Job, LANGUAGES, Ran, Refused, Sandbox, Work},
};
use rebut_sandbox::BubbleSandbox;
use serde::Serialize;
use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
};

pub async fn run(command: SandboxCommand) -> Result<u8, CliError> {
    match command {
        SandboxCommand::Check(args) => check(&args).await,
        SandboxCommand::Run(args) => run_file(args).await,
        SandboxCommand::Test(args) => test::run(args).await,
    }
}

/// What holds untrusted code here, or why nothing does.
#[derive(Debug, Serialize)]
pub struct Held {
    /// How strongly: 1 is namespaces and more; null when nothing is run.
    pub tier: Option<u8>,
    /// What bounds memory; null when nothing is run.
    pub memory_bound: Option<String>,
    /// Why nothing is run here; null when it is.
    pub refused: Option<Refused>,
}

impl Held {
    /// Finds out by running a canary.
    pub async fn prove(sandbox: &BubbleSandbox) -> Self {
        match sandbox.jail().await {
            Ok(jail) => Self {
                tier: Some(jail.tier()),
                memory_bound: Some(jail.memory_bound().to_owned()),
                refused: None,
            },
            Err(refused) => Self {
                tier: None,
                memory_bound: None,
                refused: Some(refused),
            },
        }
    }

    pub fn line(&self, paint: Paint) -> String {
        match (&self.refused, self.tier, self.memory_bound.as_deref()) {
            (Some(refused), ..) => format!(
                "{} {}",
                paint.attention("no code is run here:"),
                on_one_line(&refused.to_string())
            ),
            (None, Some(tier), Some("cgroup")) => {
                format!("tier {tier}; memory is bounded for a whole run (cgroup)")
            }
            (None, Some(tier), _) => {
                format!("tier {tier}; memory is bounded for each process of a run (rlimit)")
            }
            (None, None, _) => "unknown".to_owned(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Checked {
    #[serde(flatten)]
    held: Held,
    languages: Vec<Language>,
}

#[derive(Debug, Serialize)]
struct Language {
    name: &'static str,
    version: Option<String>,
    /// Why it cannot be run; null when it can.
    refused: Option<Refused>,
}

async fn check(args: &JsonArg) -> Result<u8, CliError> {
    let sandbox = app::sandbox()?;
    let mut languages = Vec::new();
    for name in LANGUAGES {
        languages.push(match sandbox.toolchain(name).await {
            Ok(toolchain) => Language {
                name,
                version: Some(toolchain.version.clone()),
                refused: None,
            },
            Err(refused) => Language {
                name,
                version: None,
                refused: Some(refused),
            },
        });
    }
    let checked = Checked {
        held: Held::prove(&sandbox).await,
        languages,
    };
    if args.json {
        output::print_json(&checked)?;
    } else {
        output::print(&shown(&checked, Paint::stdout()))?;
    }
    Ok(if checked.held.refused.is_none() {
        0
    } else {
        REFUSED
    })
}

/// The exit code when nothing can be run: like a model that cannot be asked.
const REFUSED: u8 = 4;

fn shown(checked: &Checked, paint: Paint) -> String {
    let mut text = format!("{}{}\n", padded("sandbox", 12), checked.held.line(paint));
    for language in &checked.languages {
        let line = match (&language.version, &language.refused) {
            (Some(version), _) => on_one_line(version),
            (None, Some(refused)) if refused.reason.ends_with("is not installed") => {
                paint.faint(&on_one_line(&format!("missing: {}", refused.fix)))
            }
            (None, Some(refused)) => paint.faint(&on_one_line(&format!("not usable: {refused}"))),
            (None, None) => "unknown".to_owned(),
        };
        text.push_str(&format!("{}{line}\n", padded(language.name, 12)));
    }
    text
}

async fn run_file(args: SandboxRunArgs) -> Result<u8, CliError> {
    check_one_stdin([Some(&args.file), args.stdin.as_ref()])?;
    let code = text_or_stdin(&args.file)?;
    let stdin = args
        .stdin
        .as_deref()
        .map(text_or_stdin)
        .transpose()?
        .unwrap_or_default();
    let job = Job {
        language: args.lang,
        code,
        work: Work::Program {
            stdin,
            args: args.args,
        },
        seconds: args.seconds,
    };
    let ran = app::sandbox()?
        .run(&job)
        .await
        .map_err(|refused| CliError::no_model(refused.reason).hint(refused.fix))?;
    if args.json {
        output::print_json(&ran)?;
    } else {
        pass_on(&ran)?;
    }
    let (code, limit) = exit(&ran.end);
    if let Some(limit) = limit {
        warn_line!("rebut: {limit}");
    }
    Ok(code)
}

/// Standard input can be only one of the files.
fn check_one_stdin<'a>(
    files: impl IntoIterator<Item = Option<&'a PathBuf>>,
) -> Result<(), CliError> {
    if files
        .into_iter()
        .flatten()
        .filter(|file| file.as_os_str() == "-")
        .count()
        > 1
    {
        return Err(CliError::usage("standard input (`-`) is named twice")
            .hint("write one of the two into a file"));
    }
    Ok(())
}

/// Writes what the program wrote. A terminal gets it without what could command it.
fn pass_on(ran: &Ran) -> Result<(), CliError> {
    let is_terminal = std::io::stdout().is_terminal();
    output::print(&if is_terminal {
        for_people(&ran.stdout)
    } else {
        ran.stdout.as_str().into()
    })?;
    let mut errors = std::io::stderr().lock();
    let text = if errors.is_terminal() {
        for_people(&ran.stderr)
    } else {
        ran.stderr.as_str().into()
    };
    errors
        .write_all(text.as_bytes())
        .map_err(|error| CliError::failed(format!("cannot write: {error}")))
}

/// The exit code for an end, and what to say when it was not the program's own.
fn exit(end: &End) -> (u8, Option<String>) {
    match end {
        End::Exited(code) => (u8::try_from(*code).unwrap_or(1), None),
        End::Signalled(signal) => (1, Some(format!("it was ended by the signal {signal}"))),
        End::TimedOut => (1, Some("its time was over (--seconds)".to_owned())),
        End::TooMuchOutput => (1, Some("it wrote too much".to_owned())),
        End::Resource(what) => (1, Some(format!("it met a limit: {}", on_one_line(what)))),
        End::NotBuilt => (1, Some("it could not be built".to_owned())),
    }
}
