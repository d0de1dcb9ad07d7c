//! Tests against code that may want to forge their results: a result per test that the code has no
//! say in.

mod command;
mod isolated;
mod pair;
mod program;
mod shared;
mod sources;
mod test_log;
mod worker;

use crate::{Jail, check_style, languages::Toolchain};
use isolated::Kit;
use rebut_engine::sandbox::{End, Job, Ran, Refused, Style, Tests};
use shared::Plan;
use std::time::Duration;
use test_log::Book;
use tokio::time::Instant;

/// Runs the tests of a job. Nothing is a pass that did not run to its end, and no test is no pass.
pub async fn run(jail: &Jail, tools: &Toolchain, job: &Job, tests: &Tests) -> Result<Ran, Refused> {
    check_style(&job.language, tests.style)?;
    if tests.style == Some(Style::Command) {
        return command::run(jail, tools, job, &tests.text).await;
    }
    match &way_of(&job.language)?.how {
        How::Apart(kit) => isolated::run(kit, jail, tools, job, tests).await,
        How::Shared(plan) => shared::run(*plan, jail, tools, job, tests).await,
        How::Program { holds_apart, plan } if holds_apart(&tests.text) => {
            program::run(*plan, jail, tools, job, tests).await
        }
        How::Program { plan, .. } => shared::run(*plan, jail, tools, job, tests).await,
    }
}

/// What stands in a file without any test.
const NO_TEST: &str = "no test was found in the file";

/// The tests a text shows, or why there can be none in it; nothing of any code is needed or run.
pub(crate) async fn list(
    jail: &Jail,
    tools: &Toolchain,
    language: &str,
    tests: &Tests,
) -> Result<Result<Vec<String>, String>, Refused> {
    if let Err(refused) = check_style(language, tests.style) {
        return Ok(Err(refused.to_string()));
    }
    if tests.style == Some(Style::Command) {
        return Ok(command::words(&tests.text)
            .map(|_| vec![command::name(&tests.text)])
            .ok_or_else(|| command::NOTHING.to_owned()));
    }
    let listed = match &way_of(language)?.how {
        How::Apart(kit) => isolated::list(kit, jail, tools, tests).await?,
        How::Shared(plan) | How::Program { plan, .. } => {
            shared::list(*plan, jail, tools, language, tests).await?
        }
    };
    Ok(listed.and_then(|names| {
        if names.is_empty() {
            Err(NO_TEST.to_owned())
        } else {
            Ok(names)
        }
    }))
}

/// One language: how its tests are run.
struct Way {
    language: &'static str,
    how: How,
}

enum How {
    /// In a cell of their own; the code answers from another.
    Apart(Kit),
    /// In the process of the code, one process for each test.
    Shared(fn(&Job, &Tests, &Toolchain) -> Result<Plan, String>),
    /// In a cell of their own, and the code in another for each call, where the text of the tests
    /// shows that they only call it as a program; else as [`How::Shared`].
    Program {
        holds_apart: fn(&str) -> bool,
        plan: fn(&Job, &Tests, &Toolchain) -> Result<Plan, String>,
    },
}

const WAYS: &[Way] = &[
    Way {
        language: "python",
        how: How::Apart(PYTHON),
    },
    Way {
        language: "javascript",
        how: How::Apart(JAVASCRIPT),
    },
    Way {
        language: "rust",
        how: How::Shared(sources::rust::plan),
    },
    Way {
        language: "go",
        how: How::Shared(sources::go::plan),
    },
    Way {
        language: "c",
        how: How::Shared(sources::c::plan_c),
    },
    Way {
        language: "cpp",
        how: How::Shared(sources::c::plan_cpp),
    },
    Way {
        language: "shell",
        how: How::Program {
            holds_apart: sources::script::holds_apart,
            plan: sources::shell::plan,
        },
    },
];

const PYTHON: Kit = Kit {
    worker: concat!(
        include_str!("python/wire.py"),
        "\n\n",
        include_str!("python/values.py"),
        "\n\n",
        include_str!("python/own.py"),
        "\n\n",
        include_str!("python/given.py"),
        "\n\n",
        include_str!("python/worker.py")
    ),
    grader: concat!(
        include_str!("python/wire.py"),
        "\n\n",
        include_str!("python/values.py"),
        "\n\n",
        include_str!("python/looked_at.py"),
        "\n\n",
        include_str!("python/stand_ins.py"),
        "\n\n",
        include_str!("python/reading.py"),
        "\n\n",
        include_str!("python/grants.py"),
        "\n\n",
        include_str!("python/grader.py"),
        "\n\n",
        include_str!("python/styles.py")
    ),
    code_files: &["solution.py"],
    ending: ".py",
    // Nothing of the environment or a user's folders is looked at.
    arguments: &["-I", "-B", "-X", "utf8"],
    aside: false,
    others: &["/usr/bin/python3"],
    install: |what| {
        format!(
            "install it for the Python that is used (Debian: apt install python3-{what}), or write \
             the tests as plain functions or asserts"
        )
    },
};

const JAVASCRIPT: Kit = Kit {
    worker: concat!(
        include_str!("javascript/wire.js"),
        "\n",
        include_str!("javascript/values.js"),
        "\n",
        include_str!("javascript/own.js"),
        "\n",
        include_str!("javascript/given.js"),
        "\n",
        include_str!("javascript/worker.js")
    ),
    grader: concat!(
        include_str!("javascript/wire.js"),
        "\n",
        include_str!("javascript/values.js"),
        "\n",
        include_str!("javascript/stand_ins.js"),
        "\n",
        include_str!("javascript/reading.js"),
        "\n",
        include_str!("javascript/grants.js"),
        "\n",
        include_str!("javascript/grader.js"),
        "\n",
        include_str!("javascript/styles.js")
    ),
    code_files: &["solution.cjs", "solution.mjs"],
    ending: ".js",
    arguments: &[],
    aside: true,
    others: &[],
    install: |what| format!("write the tests without {what}"),
};

fn way_of(language: &str) -> Result<&'static Way, Refused> {
    WAYS.iter()
        .find(|way| way.language == language)
        .ok_or_else(|| Refused {
            reason: format!(
                "tests of code in {:?} cannot be run",
                rebut_engine::clean::on_one_line(language)
            ),
            fix: format!(
                "use one of: {}",
                rebut_engine::sandbox::LANGUAGES.join(", ")
            ),
        })
}

fn nonce() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// The time of a run: all of it, and what one test may use of it.
struct Time {
    start: Instant,
    end: Instant,
}

impl Time {
    fn new(seconds: u32) -> Self {
        let start = Instant::now();
        Self {
            start,
            end: start + Duration::from_secs(u64::from(seconds.max(1))),
        }
    }

    /// Building is over: only now the time of the tests begins.
    fn start_again(&mut self) {
        let all = self.end - self.start;
        self.start = Instant::now();
        self.end = self.start + all;
    }

    /// Waiting for a place is not the code's time.
    fn excuse(&mut self, waited: Duration) {
        self.end += waited;
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Until when loading the code, or anything between tests, may take: half of what is left.
    fn for_loading(&self) -> Instant {
        Instant::now() + self.left() / 2
    }

    /// Until when a test may take: its part of what is left, or a quarter if that is more. One that
    /// hangs leaves most to the others.
    fn for_test(&self, tests_left: usize) -> Instant {
        let part = u32::try_from(tests_left).unwrap_or(u32::MAX).clamp(1, 4);
        Instant::now() + self.left() / part
    }
}

/// What a run of tests came to, before it is told.
struct Prepared {
    book: Book,
    end: End,
    stderr: String,
    /// Whether the code ran in the process that judged it, or had a say there.
    shared_process: bool,
}

fn ran(jail: &Jail, time: &Time, prepared: Prepared) -> Ran {
    let (tests, distrust) = prepared.book.close();
    Ran {
        tier: jail.tier(),
        memory_bound: jail.memory_bound().to_owned(),
        end: prepared.end,
        ms: u64::try_from(time.start.elapsed().as_millis()).unwrap_or(u64::MAX),
        stdout: String::new(),
        stderr: prepared.stderr,
        tests,
        distrust,
        shared_process: prepared.shared_process,
    }
}
