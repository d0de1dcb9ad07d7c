//! Untrusted code in a cell: bubblewrap and namespaces around it, Landlock and seccomp inside, a
//! warden that leaves nothing behind.

mod builds;
mod languages;
mod limits;
mod running;
mod spec;
mod styles;

#[cfg(target_os = "linux")]
mod call;
#[cfg(target_os = "linux")]
mod cell;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
mod cell;
#[cfg(target_os = "linux")]
pub mod grading;
#[cfg(target_os = "linux")]
mod harvest;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod warden;
#[cfg(target_os = "linux")]
mod wire;

pub use cell::{Cell, Jail};
pub use languages::{Language, Toolchain, find as find_toolchain, language};
pub use limits::Limits;
pub use spec::{Ended, Given, Inner, Spec, check_path};
pub use styles::{check_style, style_name, styles_of};

use rebut_engine::sandbox::{Job, LANGUAGES, Ran, Refused, Sandbox, Tests};
use std::{collections::BTreeMap, process::ExitCode};
use tokio::sync::OnceCell;

/// The sandbox of this machine. It is proven at its first use, and what is found (also that it does
/// not hold) stays found.
#[derive(Debug)]
pub struct BubbleSandbox {
    inner: Inner,
    jail: OnceCell<Result<Jail, Refused>>,
    toolchains: BTreeMap<&'static str, OnceCell<Result<Toolchain, Refused>>>,
}

impl BubbleSandbox {
    /// A sandbox whose inner stage is started like that; nothing is looked at yet.
    pub fn new(inner: Inner) -> Self {
        let toolchains = LANGUAGES
            .iter()
            .map(|name| (*name, OnceCell::new()))
            .collect();
        Self {
            inner,
            jail: OnceCell::new(),
            toolchains,
        }
    }

    /// The proven jail, or why there is none.
    pub async fn jail(&self) -> Result<&Jail, Refused> {
        self.jail
            .get_or_init(|| Jail::prove(self.inner.clone()))
            .await
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The toolchain of a language, or what to install.
    pub async fn toolchain(&self, name: &str) -> Result<&Toolchain, Refused> {
        language(name)?;
        let unknown = || Refused {
            reason: format!("`{name}` has no toolchain"),
            fix: format!("use one of {}", LANGUAGES.join(", ")),
        };
        let found = self.toolchains.get(name).ok_or_else(unknown)?;
        found
            .get_or_init(|| find_toolchain(name))
            .await
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The tests a text shows, without any code; or why there can be none in it. Refused where this
    /// machine cannot look.
    pub async fn list_tests(
        &self,
        language: &str,
        tests: &Tests,
    ) -> Result<Result<Vec<String>, String>, Refused> {
        let toolchain = self.toolchain(language).await?;
        running::list_tests(self.jail().await?, toolchain, language, tests).await
    }
}

#[async_trait::async_trait]
impl Sandbox for BubbleSandbox {
    async fn run(&self, job: &Job) -> Result<Ran, Refused> {
        let toolchain = self.toolchain(&job.language).await?;
        running::run(self.jail().await?, toolchain, job).await
    }
}

/// The word by which the program knows that it is the inner stage of a sandbox.
pub const INNER: &str = "__sandbox-inner";

/// What `main` calls when its first argument is [`INNER`], before anything else; `args` are those
/// behind it.
#[cfg(target_os = "linux")]
pub fn inner_main(args: impl Iterator<Item = String>) -> ExitCode {
    let args: Vec<String> = args.collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["warden"] => warden::main(),
        ["cell", orders, report] => inner::main(orders, report),
        ["sweeper", of, ..] => cell::sweeper::main(of, &args[2..]),
        ["canary", port, ..] => inner::canary::main(port, &args[2..]),
        ["tests", ..] => inner::harness::main(&args[1..]),
        ["call", ..] => inner::stand_in::main(&args[1..]),
        _ => {
            eprintln!("this is a part of the sandbox, and nothing to start by hand");
            ExitCode::from(inner::REFUSED)
        }
    }
}

/// What `main` calls when its first argument is [`INNER`]; there are no cells on this system.
#[cfg(not(target_os = "linux"))]
pub fn inner_main(_args: impl Iterator<Item = String>) -> ExitCode {
    ExitCode::from(125)
}
