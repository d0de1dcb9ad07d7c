//! Tests that are built: one process for each test, and a pass only when our own last lines ran
//! after it.
//!
//! Where the plan has a worker, the code is a program of its own. Without one it shares the process
//! of the tests, which is weaker: code that reads the memory of its own process can find the nonce.

use super::{
    Prepared, Time,
    pair::ended_words,
    test_log::{Book, Said, tail},
    worker::{self, Worker},
};
use crate::{
    Ended, Given, Jail, Limits, Spec, builds, languages::Toolchain, limits::PROCESSOR_TIME,
};
use rebut_engine::sandbox::{End, Job, Ran, Refused, TestVerdict, Tests, Work};
use tokio::{io::AsyncWriteExt, time::Instant};

/// What is built, and what is run for each test.
pub(super) struct Plan {
    /// The tests, as their text shows them.
    pub names: Vec<String>,
    /// Builds, one after the other; each finds what those before it made.
    pub steps: Vec<Step>,
    /// What runs one test; `{test}` is its name.
    pub run: Vec<String>,
    /// Files that are there then, besides what was built.
    pub files: Vec<Given>,
    /// What says without the code whether the tests can be read; empty where only building tells.
    pub read: Vec<String>,
    /// What lines of its standard error begin with that the runner of the language writes itself.
    pub noise: &'static [&'static str],
    /// The code as a program of its own. With it nothing of the code is in the steps above; without
    /// it the tests run in the code's process.
    pub worker: Option<Worker>,
}

/// The tests that their text shows, or why it cannot be read.
pub(super) async fn list(
    plan: fn(&Job, &Tests, &Toolchain) -> Result<Plan, String>,
    jail: &Jail,
    tools: &Toolchain,
    language: &str,
    tests: &Tests,
) -> Result<Result<Vec<String>, String>, Refused> {
    let nothing = Job {
        language: language.to_owned(),
        code: String::new(),
        work: Work::Tests(tests.clone()),
        seconds: 1,
    };
    let plan = match plan(&nothing, tests, tools) {
        Ok(plan) => plan,
        Err(why) => return Ok(Err(why)),
    };
    if plan.read.is_empty() {
        return Ok(Ok(plan.names));
    }
    let (read_only, folders, env, limits) = (
        plan.files,
        tools.folders.clone(),
        tools.env(),
        tools.build_limits(),
    );
    let ended = jail
        .spawn(Spec {
            argv: plan.read,
            read_only,
            folders,
            env,
            limits,
            ..Spec::default()
        })
        .await?
        .end()
        .await;
    let words = || tail(String::from_utf8_lossy(&ended.stderr).trim(), 1500);
    Ok(if ended.end == End::Exited(0) {
        Ok(plan.names)
    } else {
        Err(format!("the tests cannot be read: {}", words()))
    })
}

pub(super) struct Step {
    pub argv: Vec<String>,
    pub files: Vec<Given>,
    pub makes: Vec<&'static str>,
}

/// Builds the code with its tests and runs each of them.
pub(super) async fn run(
    plan: fn(&Job, &Tests, &Toolchain) -> Result<Plan, String>,
    jail: &Jail,
    tools: &Toolchain,
    job: &Job,
    tests: &Tests,
) -> Result<Ran, Refused> {
    let mut book = Book::default();
    let mut time = Time::new(job.seconds);
    let plan = match plan(job, tests, tools) {
        Ok(plan) => plan,
        Err(why) => {
            book.doubt(&why);
            return Ok(super::ran(
                jail,
                &time,
                Prepared {
                    book,
                    end: End::NotBuilt,
                    stderr: why,
                    shared_process: true,
                },
            ));
        }
    };
    let (plan, built) = build_all(jail, tools, plan).await?;
    let shared_process = plan.worker.is_none();
    book.hear(Said::Collected {
        names: plan.names.clone(),
    });
    let built = match built {
        Ok(built) => built,
        Err(NotBuilt { end, words, doubt }) => {
            if let Some(why) = doubt {
                book.doubt(&why);
            }
            book.give_up(
                TestVerdict::Error,
                &format!("it could not be built:\n{}", tail(&words, 1500)),
            );
            return Ok(super::ran(
                jail,
                &time,
                Prepared {
                    book,
                    end,
                    stderr: words,
                    shared_process,
                },
            ));
        }
    };
    time.start_again();
    let mut stderr = String::new();
    for (number, name) in plan.names.iter().enumerate() {
        if time.is_over() {
            book.give_up(TestVerdict::Timeout, "the time of the whole run was over");
            break;
        }
        book.hear(Said::Begin { number });
        let left = plan.names.len() - number;
        let (verdict, words) = match &plan.worker {
            Some(worker) => {
                worker::one(
                    (jail, tools),
                    (&plan, worker),
                    &built,
                    name,
                    &mut time,
                    left,
                )
                .await?
            }
            None => one(jail, tools, &plan, &built.tests, name, &mut time, left).await?,
        };
        let is_noise = |line: &&str| !plan.noise.iter().any(|start| line.starts_with(start));
        let words = words
            .lines()
            .filter(is_noise)
            .collect::<Vec<_>>()
            .join("\n");
        let output = if verdict == TestVerdict::Pass {
            String::new()
        } else {
            words.clone()
        };
        stderr = tail(&format!("{stderr}{words}"), 8 << 10);
        book.hear(Said::End {
            number,
            verdict,
            output,
            doubted: false,
        });
    }
    book.hear(Said::Done);
    let end = if time.is_over() {
        End::TimedOut
    } else {
        End::Exited(0)
    };
    Ok(super::ran(
        jail,
        &time,
        Prepared {
            book,
            end,
            stderr,
            shared_process,
        },
    ))
}

/// What was built: the tests' program, and the code's where it is another.
pub(super) struct Built {
    pub tests: Vec<Given>,
    pub code: Vec<Given>,
}

struct NotBuilt {
    end: End,
    words: String,
    /// Why the code is not to be believed besides.
    doubt: Option<String>,
}

/// Builds what a plan says. Where code and tests cannot be built apart, the plan's other way is
/// taken, and its words are told.
async fn build_all(
    jail: &Jail,
    tools: &Toolchain,
    mut plan: Plan,
) -> Result<(Plan, Result<Built, NotBuilt>), Refused> {
    loop {
        let code_steps = plan.worker.as_ref().map_or(&[][..], |worker| &worker.steps);
        // What holds code and tests, and a name that was never used before, is not built again.
        let keeps = plan.worker.is_some();
        let (tests, code) = tokio::try_join!(
            build(jail, tools, &plan.steps, keeps),
            build(jail, tools, code_steps, keeps)
        )?;
        let failed = match (tests, code) {
            (Ok(tests), Ok(code)) => return Ok((plan, Ok(Built { tests, code }))),
            (_, Err(failed)) | (Err(failed), _) => failed,
        };
        match plan.worker.take().map(|worker| worker.otherwise) {
            Some(Ok(otherwise)) => plan = *otherwise,
            Some(Err(why)) => {
                return Ok((
                    plan,
                    Err(NotBuilt {
                        doubt: Some(why),
                        ..failed
                    }),
                ));
            }
            None => return Ok((plan, Err(failed))),
        }
    }
}

async fn build(
    jail: &Jail,
    tools: &Toolchain,
    steps: &[Step],
    keeps: bool,
) -> Result<Result<Vec<Given>, NotBuilt>, Refused> {
    let mut made: Vec<Given> = Vec::new();
    for step in steps {
        let writable: Vec<Given> = step.files.iter().chain(&made).cloned().collect();
        let key = builds::key(&step.argv, &writable);
        if let Some(known) = tools.builds.find(&key) {
            made.extend(known);
            continue;
        }
        let collect: Vec<String> = step.makes.iter().map(|name| (*name).to_owned()).collect();
        let (folders, env, limits) = (tools.folders.clone(), tools.env(), tools.build_limits());
        let spec = Spec {
            argv: step.argv.clone(),
            writable,
            folders,
            env,
            limits,
            collect,
            ..Spec::default()
        };
        let ended = jail.spawn(spec).await?.end().await;
        if ended.end != End::Exited(0) || ended.files.len() != step.makes.len() {
            let words =
                String::from_utf8_lossy(&[ended.stderr, ended.stdout].concat()).into_owned();
            let end = if matches!(ended.end, End::Exited(_)) {
                End::NotBuilt
            } else {
                ended.end
            };
            return Ok(Err(NotBuilt {
                end,
                words,
                doubt: None,
            }));
        }
        if keeps {
            tools.builds.keep(key, &ended.files);
        }
        made.extend(ended.files);
    }
    Ok(Ok(made))
}

/// Runs one test in a cell of its own.
async fn one(
    jail: &Jail,
    tools: &Toolchain,
    plan: &Plan,
    built: &[Given],
    name: &str,
    time: &mut Time,
    left: usize,
) -> Result<(TestVerdict, String), Refused> {
    let wall = time
        .for_test(left)
        .saturating_duration_since(Instant::now());
    let argv = plan
        .run
        .iter()
        .map(|word| word.replace("{test}", name))
        .collect();
    let read_only = plan.files.iter().chain(built).cloned().collect();
    let limits = Limits {
        wall,
        ..tools.run_limits(wall)
    };
    let asked = Instant::now();
    let mut cell = jail
        .spawn(Spec {
            argv,
            read_only,
            folders: tools.folders.clone(),
            env: tools.env(),
            limits,
            ..Spec::default()
        })
        .await?;
    time.excuse(asked.elapsed());
    let nonce = super::nonce();
    let line = format!("{nonce}\n");
    let input = cell.stdin.take();
    let telling = async move {
        if let Some(mut input) = input {
            // A process that is gone already has no use for it, and its end says why.
            let _ = input.write_all(line.as_bytes()).await;
        }
    };
    let ended = tokio::join!(telling, cell.end()).1;
    Ok(judge(&ended, &nonce))
}

/// What the end of a test's process says. A pass is nothing but the nonce and the word, from a
/// process that ended well.
fn judge(ended: &Ended, nonce: &str) -> (TestVerdict, String) {
    let words = tail(&String::from_utf8_lossy(&ended.stderr), 1800);
    let told = String::from_utf8_lossy(&ended.stdout);
    let said = told
        .strip_prefix(nonce)
        .and_then(|rest| rest.strip_prefix(' '))
        .and_then(|rest| rest.strip_suffix('\n'));
    let with = |why: String| format!("{words}\n{why}").trim().to_owned();
    match (&ended.end, said) {
        (End::Exited(0), Some("pass")) => (TestVerdict::Pass, words),
        (End::Exited(0), Some("fail")) => (TestVerdict::Fail, words),
        (End::Exited(0), Some("early")) => (
            TestVerdict::Error,
            with(
                "the script ended before its last line: the code that it takes in called `exit`, \
                 or it did so itself (leave that out)"
                    .to_owned(),
            ),
        ),
        (End::Exited(0), Some("skip")) => (TestVerdict::Error, with("it was skipped".to_owned())),
        (End::TimedOut, _) => (
            TestVerdict::Timeout,
            with("it did not end in time".to_owned()),
        ),
        (End::Resource(what), _) if what == PROCESSOR_TIME => (
            TestVerdict::Timeout,
            with(
                "it used \
            up its processor time"
                    .to_owned(),
            ),
        ),
        // What `assert` and `abort` do.
        (End::Signalled(6), _) => (TestVerdict::Fail, with("it aborted".to_owned())),
        (end, _) => (
            TestVerdict::Error,
            with(format!(
                "it did not come to the end of the test: \
            {}",
                ended_words(end)
            )),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_nonce_of_this_run_after_the_test_is_a_pass() {
        use TestVerdict::{Error, Fail, Pass, Timeout};
        let rows: &[(End, &str, TestVerdict)] = &[
            (End::Exited(0), "n pass\n", Pass),
            (End::Exited(0), "n fail\n", Fail),
            (End::Exited(0), "n skip\n", Error),
            (End::Exited(0), "n early\n", Error),
            (End::Exited(0), "", Error),
            (End::Exited(0), "pass\n", Error),
            (End::Exited(0), "ok\nn pass\n", Error),
            (End::Exited(0), "n pass\nn pass\n", Error),
            (End::Exited(0), "m pass\n", Error),
            (End::Exited(1), "n pass\n", Error),
            (End::Signalled(6), "", Fail),
            (End::Signalled(11), "n pass\n", Error),
            (End::TimedOut, "n pass\n", Timeout),
            (End::TooMuchOutput, "n pass\n", Error),
        ];
        for (end, stdout, verdict) in rows {
            let ended = Ended {
                end: end.clone(),
                ms: 1,
                stdout: stdout.as_bytes().to_vec(),
                stderr: Vec::new(),
                files: Vec::new(),
            };
            assert_eq!(judge(&ended, "n").0, *verdict, "{end:?} {stdout:?}");
        }
    }
}
