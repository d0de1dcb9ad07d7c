//! A command in place of a file of tests: it finds the code beside it, and its exit code is the one
//! test.

use super::{pair::ended_words, test_log::tail};
use crate::{Jail, languages::Toolchain, running};
use rebut_engine::sandbox::{Command, End, Job, Ran, Refused, TestRun, TestVerdict};
use std::time::Duration;

/// Runs the command. It holds when it ends itself with 0.
pub(super) async fn run(
    jail: &Jail,
    tools: &Toolchain,
    job: &Job,
    text: &str,
) -> Result<Ran, Refused> {
    let argv = words(text).ok_or_else(|| Refused {
        reason: NOTHING.to_owned(),
        fix: "name a program and its words".to_owned(),
    })?;
    let command = Command {
        argv,
        files: Vec::new(),
    };
    let mut ran = running::beside(
        jail,
        tools,
        job,
        &command,
        Duration::from_secs(job.seconds.into()),
    )
    .await?;
    let verdict = verdict(&ran.end);
    let said = format!(
        "{}\n{}\n{}",
        ran.stdout.trim(),
        ran.stderr.trim(),
        ended_words(&ran.end)
    );
    let output = if verdict == TestVerdict::Pass {
        String::new()
    } else {
        tail(said.trim(), 2000)
    };
    // Nobody but the command's author knows whether it runs the code.
    ran.shared_process = true;
    ran.tests = vec![TestRun {
        name: name(text),
        verdict,
        output,
    }];
    Ok(ran)
}

/// Why an empty command is refused.
pub(super) const NOTHING: &str = "the command is empty";

/// The words of a command, split at blanks; nothing of none.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

/// What the one test is called.
pub(super) fn name(text: &str) -> String {
    rebut_engine::clean::on_one_line(text.trim())
}

fn verdict(end: &End) -> TestVerdict {
    match end {
        End::Exited(0) => TestVerdict::Pass,
        End::Exited(_) => TestVerdict::Fail,
        End::TimedOut => TestVerdict::Timeout,
        End::Signalled(_) | End::TooMuchOutput | End::Resource(_) | End::NotBuilt => {
            TestVerdict::Error
        }
    }
}
