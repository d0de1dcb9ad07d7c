//! Jobs in cells: a program is built and run, a command is run beside the code.

use crate::{Cell, Ended, Given, Jail, Spec, languages::Toolchain};
use rebut_engine::sandbox::{Command, End, Job, Ran, Refused, Tests, Work};
use std::time::Duration;

/// The most seconds a job may ask for.
const LONGEST: u32 = 3600;

/// Runs one job with the toolchain of its language.
pub(crate) async fn run(jail: &Jail, toolchain: &Toolchain, job: &Job) -> Result<Ran, Refused> {
    let wall = wall(job.seconds)?;
    match &job.work {
        Work::Program { stdin, args } => program(jail, toolchain, job, stdin, args, wall).await,
        Work::Command(command) => beside(jail, toolchain, job, command, wall).await,
        #[cfg(target_os = "linux")]
        Work::Tests(tests) => crate::grading::run(jail, toolchain, job, tests).await,
        #[cfg(not(target_os = "linux"))]
        Work::Tests(_) => Err(Refused {
            reason: "tests run in cells, and this system has none".to_owned(),
            fix: "use Linux".to_owned(),
        }),
    }
}

/// The tests a text shows, or why there can be none in it.
pub(crate) async fn list_tests(
    jail: &Jail,
    toolchain: &Toolchain,
    language: &str,
    tests: &Tests,
) -> Result<Result<Vec<String>, String>, Refused> {
    #[cfg(target_os = "linux")]
    {
        crate::grading::list(jail, toolchain, language, tests).await
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (jail, toolchain, language, tests);
        Err(Refused {
            reason: "tests run in cells, and this system has none".to_owned(),
            fix: "use Linux".to_owned(),
        })
    }
}

/// The time a job may take; none is no time at all.
fn wall(seconds: u32) -> Result<Duration, Refused> {
    if (1..=LONGEST).contains(&seconds) {
        return Ok(Duration::from_secs(seconds.into()));
    }
    Err(Refused {
        reason: format!("{seconds} seconds is no time for a run"),
        fix: format!("give it 1 to {LONGEST} seconds"),
    })
}

async fn program(
    jail: &Jail,
    toolchain: &Toolchain,
    job: &Job,
    stdin: &str,
    args: &[String],
    wall: Duration,
) -> Result<Ran, Refused> {
    let files = match build(jail, toolchain, &job.code).await? {
        Ok(files) => files,
        Err(ended) => return Ok(ran(jail, ended)),
    };
    let argv = toolchain
        .run()
        .into_iter()
        .chain(args.iter().cloned())
        .collect();
    let (folders, env, limits) = (
        toolchain.folders.clone(),
        toolchain.env(),
        toolchain.run_limits(wall),
    );
    let cell = jail
        .spawn(Spec {
            argv,
            writable: files,
            folders,
            env,
            limits,
            ..Spec::default()
        })
        .await?;
    Ok(ran(jail, feed(cell, stdin).await))
}

/// The files a program is run from: the code as it is, or what was made of it; else how the
/// building ended.
pub(crate) async fn build(
    jail: &Jail,
    toolchain: &Toolchain,
    code: &str,
) -> Result<Result<Vec<Given>, Ended>, Refused> {
    let code = Given::text(toolchain.language.file.clone(), code);
    let argv = toolchain.build();
    if argv.is_empty() {
        return Ok(Ok(vec![code]));
    }
    let (folders, env, limits) = (
        toolchain.folders.clone(),
        toolchain.env(),
        toolchain.build_limits(),
    );
    let spec = Spec {
        argv,
        writable: vec![code],
        folders,
        env,
        limits,
        collect: vec!["solution".to_owned()],
        ..Spec::default()
    };
    let mut ended = jail.spawn(spec).await?.end().await;
    match ended.end {
        End::Exited(0) if !ended.files.is_empty() => {
            return Ok(Ok(std::mem::take(&mut ended.files)));
        }
        // A compiler that says no, or that made nothing; other ends say themselves what they are.
        End::Exited(_) => ended.end = End::NotBuilt,
        _ => {}
    }
    Ok(Err(ended))
}

pub(crate) async fn beside(
    jail: &Jail,
    toolchain: &Toolchain,
    job: &Job,
    command: &Command,
    wall: Duration,
) -> Result<Ran, Refused> {
    let code = Given::text(toolchain.language.file.clone(), job.code.as_str());
    let files = command
        .files
        .iter()
        .map(|(path, text)| Given::text(path.clone(), text.as_str()));
    let writable = std::iter::once(code).chain(files).collect();
    let argv = command
        .argv
        .iter()
        .map(|word| word.replace("{code}", &toolchain.language.file))
        .collect();
    let mut limits = toolchain.build_limits();
    (limits.wall, limits.cpu) = (wall, wall);
    let (folders, env) = (toolchain.folders.clone(), toolchain.env());
    let cell = jail
        .spawn(Spec {
            argv,
            writable,
            folders,
            env,
            limits,
            ..Spec::default()
        })
        .await?;
    Ok(ran(jail, cell.end().await))
}

/// Gives the program its input while it runs; it need not read all of it.
#[cfg(target_os = "linux")]
async fn feed(mut cell: Cell, text: &str) -> Ended {
    use tokio::io::AsyncWriteExt;
    let input = cell.stdin.take();
    let feeding = async move {
        if let Some(mut input) = input {
            // Whoever does not read its input to the end is not wrong.
            let _ = input.write_all(text.as_bytes()).await;
        }
    };
    tokio::join!(feeding, cell.end()).1
}

#[cfg(not(target_os = "linux"))]
async fn feed(cell: Cell, _text: &str) -> Ended {
    cell.end().await
}

/// A cell's end in the engine's words.
pub(crate) fn ran(jail: &Jail, ended: Ended) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran {
        tier: jail.tier(),
        memory_bound: jail.memory_bound().to_owned(),
        end: ended.end,
        ms: ended.ms,
        stdout: text(ended.stdout),
        stderr: text(ended.stderr),
        tests: Vec::new(),
        distrust: None,
        shared_process: false,
    }
}
