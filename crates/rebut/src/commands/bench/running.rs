//! Running a bench: every problem in every arm once, several at a time, within what all of it may
//! use together.

use super::{
    arms::{self, Debated},
    book::{Book, Key, Row},
    scoring::{self, Verdict},
};
use crate::{
    app::{App, user},
    budget::Budget,
    cli::SuiteArgs,
    commands::progress::Interrupts,
    error::CliError,
    hint_command::command,
    problems::Problem,
};
use futures_util::{StreamExt, stream};
use rebut_engine::{
    DebateId, Desk, More, Start,
    agent::Agent,
    budget::Caps,
    clean::on_one_line,
    error::{DeskError, Stop},
    outcome::{Ending, Outcome},
    sandbox::{Refused, Sandbox, shared_note},
    view::View,
};
use rebut_sandbox::BubbleSandbox;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

pub struct Cell<'a> {
    pub problem: &'a Problem,
    pub arm: &'static str,
    pub source: Source<'a>,
}

pub enum Source<'a> {
    Code(String),
    Debate {
        debated: &'a Debated,
        input: Value,
        config: &'a Value,
        agents: &'a [Agent],
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Complete,
    /// What it may use was used up.
    Limit(String),
    Broke(String),
    Interrupted,
}

impl End {
    /// The process's exit code. How many passed is a result, not an error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::Broke(_) => 1,
            Self::Limit(_) => Ending::Stopped.exit_code(),
            Self::Interrupted => Ending::Cancelled.exit_code(),
        }
    }
}

/// A sandbox that holds, and all languages, or a refusal: nothing that cannot be run is ever
/// scored.
pub async fn prove(sandbox: &BubbleSandbox, languages: BTreeSet<&str>) -> Result<(), CliError> {
    sandbox.jail().await.map_err(refused)?;
    for language in languages {
        sandbox.toolchain(language).await.map_err(refused)?;
    }
    Ok(())
}

fn refused(refused: Refused) -> CliError {
    CliError::no_model(format!("nothing can be scored: {}", refused.reason)).hint(refused.fix)
}

pub struct Runner<'a> {
    desk: Option<Desk>,
    sandbox: Arc<BubbleSandbox>,
    args: &'a SuiteArgs,
    budget: Budget,
    began: Instant,
    quiet: bool,
    book: Mutex<Book>,
    live: Mutex<BTreeSet<DebateId>>,
    ending: Mutex<Option<End>>,
    /// What it could not go on with.
    pub broke: Mutex<Option<CliError>>,
    done: AtomicUsize,
}

/// A debate that ended, and what it took.
struct Debate {
    id: DebateId,
    view: View,
    outcome: Arc<Outcome>,
}

/// What became of a debate that was begun earlier.
enum Begun {
    /// It ended, and was not scored yet.
    Ended(Box<Debate>),
    /// It was cut, or met a limit, and can go on.
    Cut(DebateId),
    /// Its id was written down, and no more.
    Announced(DebateId),
    /// There is none, or none that counts.
    No,
}

impl<'a> Runner<'a> {
    /// Begins with what is known already.
    pub fn new(
        app: &App,
        desk: Option<Desk>,
        sandbox: Arc<BubbleSandbox>,
        args: &'a SuiteArgs,
        budget: Budget,
        book: Book,
    ) -> Self {
        Self {
            desk,
            sandbox,
            args,
            budget,
            began: Instant::now(),
            quiet: app.global.quiet,
            book: Mutex::new(book),
            live: Mutex::default(),
            ending: Mutex::default(),
            broke: Mutex::default(),
            done: AtomicUsize::new(0),
        }
    }

    pub fn rows(&mut self) -> &BTreeMap<Key, Row> {
        &self
            .book
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .rows
    }

    /// Runs what has no result yet.
    pub async fn run(&mut self, cells: &[Cell<'_>]) -> Result<End, CliError> {
        let this = &*self;
        let open: Vec<&Cell<'_>> = cells
            .iter()
            .filter(|cell| !this.book().rows.contains_key(&key(cell)))
            .collect();
        let count = open.len();
        if !this.quiet && count < cells.len() {
            warn_line!(
                "{} of {} are there already",
                cells.len() - count,
                cells.len()
            );
        }
        // What is left of a limit is known only when the one before has ended.
        let jobs = if this.budget.caps.is_empty() {
            this.args.jobs.into()
        } else {
            1
        };
        let mut results = stream::iter(open)
            .map(|cell| this.cell(cell, count))
            .buffer_unordered(jobs);
        let mut interrupts = Interrupts::listen()?;
        loop {
            tokio::select! {
                next = results.next() => match next {
                    Some(Ok(())) => {}
                    Some(Err(error)) => this.break_off(error),
                    None => break,
                },
                () = interrupts.next() => this.interrupt().await,
            }
        }
        Ok(lock(&this.ending).clone().unwrap_or(End::Complete))
    }

    /// Nothing new begins; what is under way is brought to its end, so that nothing paid is lost.
    /// The first reason counts.
    fn break_off(&self, error: CliError) {
        let why = error.to_string();
        lock(&self.ending)
            .get_or_insert_with(|| End::Broke(on_one_line(why.lines().next().unwrap_or_default())));
        lock(&self.broke).get_or_insert(error);
    }

    /// The first time: what is under way is saved. The second time everything stops at once; the
    /// journal has what there is.
    async fn interrupt(&self) {
        let before = lock(&self.ending).replace(End::Interrupted);
        if before == Some(End::Interrupted) {
            if let Some(desk) = &self.desk {
                desk.stop_all().await;
            }
            std::process::exit(Ending::Cancelled.exit_code().into());
        }
        warn_line!(
            "interrupted: finishing the turns under way, then saving (once more to stop now)"
        );
        for id in lock(&self.live).iter() {
            if let Some(Err(error)) = self.desk.as_ref().map(|desk| desk.pause(*id)) {
                // It ended in this very moment.
                warn_line!("{error}");
            }
        }
    }

    async fn cell(&self, cell: &Cell<'_>, of: usize) -> Result<(), CliError> {
        if lock(&self.ending).is_some() || self.is_late() {
            return Ok(());
        }
        let began = Instant::now();
        let row = match &cell.source {
            Source::Code(code) => self.score(cell, code.clone(), None, began).await?,
            Source::Debate { debated, .. } => {
                let Some(debate) = self.debate(cell).await? else {
                    return Ok(());
                };
                match (debated.program)(&debate.outcome.result) {
                    Some(program) => {
                        self.score(
                            cell,
                            arms::whole(cell.problem, program),
                            Some(&debate),
                            began,
                        )
                        .await?
                    }
                    None => row(
                        cell,
                        (Verdict::NoProgram, on_one_line(&debate.outcome.summary)),
                        Some(&debate),
                        began,
                    ),
                }
            }
        };
        let verdict = match row.verdict {
            Verdict::Passed => format!("passed{}", shared_note(row.passed, row.shared_process)),
            other => format!("{}: {}", other.in_words(), row.why),
        };
        let line = format!("{} {} {verdict}", row.arm, on_one_line(&row.problem));
        self.book().add(row)?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.quiet {
            warn_line!("[{done}/{of}] {line}");
        }
        Ok(())
    }

    async fn score(
        &self,
        cell: &Cell<'_>,
        code: String,
        debate: Option<&Debate>,
        began: Instant,
    ) -> Result<Row, CliError> {
        let ran = self
            .sandbox
            .run(&scoring::job(cell.problem, code, self.args.seconds))
            .await
            .map_err(refused)?;
        let (passed, tests, shared_process) = (ran.passed(), ran.tests.len(), ran.shared_process);
        Ok(Row {
            passed,
            tests,
            shared_process,
            ..row(cell, scoring::verdict(&ran), debate, began)
        })
    }

    /// The debate of a cell, to its end; nothing when it stopped before. One that was begun earlier
    /// is found by its id and goes on.
    async fn debate(&self, cell: &Cell<'_>) -> Result<Option<Debate>, CliError> {
        let desk = self
            .desk
            .as_ref()
            .ok_or_else(|| CliError::failed("there is no desk"))?;
        let Some((caps, seconds)) = self.left() else {
            return Ok(None);
        };
        let more = More {
            caps,
            debate_seconds: seconds,
            ..More::default()
        };
        let (id, running) = match self.begun(desk, cell).await? {
            Begun::Ended(debate) => return Ok(Some(*debate)),
            Begun::Cut(id) => (id, desk.resume_with(id, more).await?),
            Begun::Announced(id) => (
                id,
                desk.start_as(id, self.start(cell, caps, seconds)?).await?,
            ),
            Begun::No => {
                let id = DebateId::new();
                self.book().begin(&key(cell), id)?;
                (
                    id,
                    desk.start_as(id, self.start(cell, caps, seconds)?).await?,
                )
            }
        };
        lock(&self.live).insert(id);
        let ended = running.outcome().await;
        lock(&self.live).remove(&id);
        let outcome = match ended {
            Err(DeskError::Halted(Stop::Paused)) => return Ok(None),
            ended => ended?,
        };
        self.may_go_on(&outcome)?;
        if lock(&self.ending).is_some() && outcome.outcome == Ending::Stopped {
            return Ok(None);
        }
        Ok(Some(Debate {
            id,
            view: desk.view(id).await?,
            outcome,
        }))
    }

    /// What became of the debate that an earlier run began for this cell.
    async fn begun(&self, desk: &Desk, cell: &Cell<'_>) -> Result<Begun, CliError> {
        let Some(id) = self.book().begun.get(&key(cell)).copied() else {
            return Ok(Begun::No);
        };
        let view = match desk.view(id).await {
            Err(DeskError::NotFound(_)) => return Ok(Begun::Announced(id)),
            view => view?,
        };
        let Some(outcome) = view.outcome.clone() else {
            return Ok(Begun::Cut(id));
        };
        Ok(match outcome.outcome {
            Ending::Stopped => Begun::Cut(id),
            // They say nothing of the problem, and cannot go on.
            Ending::NoModel | Ending::Cancelled => Begun::No,
            _ => Begun::Ended(Box::new(Debate {
                id,
                view,
                outcome: outcome.into(),
            })),
        })
    }

    fn start(&self, cell: &Cell<'_>, caps: Caps, seconds: Option<u64>) -> Result<Start, CliError> {
        let Source::Debate {
            debated,
            input,
            config,
            agents,
        } = &cell.source
        else {
            return Err(CliError::failed("nobody is asked here"));
        };
        let limits = Budget {
            caps,
            seconds,
            ..Budget::default()
        }
        .limits(debated.format, config)?;
        Ok(Start {
            format: debated.format.to_owned(),
            input: input.clone(),
            config: (*config).clone(),
            agents: agents.to_vec(),
            seed: self.args.seed,
            initiated_by: user(),
            limits: Some(limits),
        })
    }

    /// What a debate may use of what is left for all; nothing when nothing is left.
    fn left(&self) -> Option<(Caps, Option<u64>)> {
        let caps = left_of(self.budget.caps, self.book().rows.values());
        let over = [
            (
                caps.cost_usd.is_some_and(|left| left <= 0.0),
                "the money is used up",
            ),
            (caps.tokens == Some(0), "the tokens are used up"),
            (caps.calls == Some(0), "the calls are used up"),
        ];
        match over.into_iter().find(|(over, _)| *over) {
            Some((_, why)) => {
                lock(&self.ending).get_or_insert(End::Limit(why.to_owned()));
                None
            }
            None => Some((caps, self.seconds_left())),
        }
    }

    fn seconds_left(&self) -> Option<u64> {
        self.budget.seconds.map(|seconds| {
            Duration::from_secs(seconds)
                .saturating_sub(self.began.elapsed())
                .as_secs()
        })
    }

    /// Whether the time of all is over; then nothing new begins.
    fn is_late(&self) -> bool {
        let late = self.seconds_left() == Some(0);
        if late {
            lock(&self.ending).get_or_insert(End::Limit("the time is over".to_owned()));
        }
        late
    }

    /// Whether an ending says something of one problem only. Without a model nothing can be
    /// measured, and what was limited for all stops all.
    fn may_go_on(&self, outcome: &Outcome) -> Result<(), CliError> {
        match outcome.outcome {
            Ending::NoModel => Err(CliError::no_model(outcome.summary.clone()).hint(format!(
                "`{}` shows which models can be used",
                command("doctor")
            ))),
            Ending::Stopped if !self.budget.is_empty() => {
                lock(&self.ending).get_or_insert(End::Limit(outcome.summary.clone()));
                Ok(())
            }
            Ending::Cancelled => {
                lock(&self.ending).get_or_insert(End::Interrupted);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }
}

/// The caps of all less what was used.
fn left_of<'a>(caps: Caps, rows: impl Iterator<Item = &'a Row>) -> Caps {
    let (cost, tokens, calls) = rows.fold((0.0, 0, 0), |(cost, tokens, calls), row| {
        (
            cost + row.cost.unwrap_or_default(),
            tokens + row.tokens,
            calls + u64::from(row.calls),
        )
    });
    Caps {
        cost_usd: caps.cost_usd.map(|cap| (cap - cost).max(0.0)),
        tokens: caps.tokens.map(|cap| cap.saturating_sub(tokens)),
        calls: caps.calls.map(|cap| cap.saturating_sub(calls)),
        ..caps
    }
}

fn row(
    cell: &Cell<'_>,
    (verdict, why): (Verdict, String),
    debate: Option<&Debate>,
    began: Instant,
) -> Row {
    let spent = debate.map(|debate| debate.view.spent()).unwrap_or_default();
    Row {
        problem: cell.problem.id.clone(),
        arm: cell.arm.to_owned(),
        debate: debate.map(|debate| debate.id),
        verdict,
        why,
        passed: 0,
        tests: 0,
        shared_process: false,
        calls: spent.calls,
        tokens: spent.input_tokens + spent.cached_tokens + spent.output_tokens,
        cost: if debate.is_some() {
            spent.cost_usd
        } else {
            Some(0.0)
        },
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn key(cell: &Cell<'_>) -> Key {
    (cell.problem.id.clone(), cell.arm.to_owned())
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    // What it guards is whole between any two statements.
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
