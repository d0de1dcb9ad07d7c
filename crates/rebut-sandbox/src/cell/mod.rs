//! Cells as the program sees them: proven once, started, waited for, ended.

mod ending;
mod group;
mod start;
pub(crate) mod sweeper;

use crate::{
    probe::{self, Bubblewrap},
    spec::{Ended, Given, Inner, Spec, check_path},
    wire::{self, Entry, Said},
};
use ending::Collected;
use group::{Group, Groups};
use rebut_engine::sandbox::Refused;
use std::{io, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::AsyncReadExt,
    net::unix::{
        OwnedReadHalf, OwnedWriteHalf,
        pipe::{Receiver, Sender},
    },
    process::Child,
    sync::{OwnedSemaphorePermit, Semaphore},
};

/// A machine that was proven to hold cells. Cheap to clone; all clones share the limit on cells at
/// once.
#[derive(Clone, Debug)]
pub struct Jail {
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct Shared {
    inner: Inner,
    bubblewrap: Bubblewrap,
    groups: Option<Groups>,
}

/// Cells at once for each core: while one waits another works.
const CELLS_PER_CORE: usize = 2;
/// How much longer than its wall limit a cell is waited for before its warden is given up.
const GRACE: Duration = Duration::from_secs(10);

impl Jail {
    /// Proves with a real run that a cell holds; says why not otherwise. Nothing is ever run
    /// without a cell.
    pub async fn prove(inner: Inner) -> Result<Self, Refused> {
        let bubblewrap = Bubblewrap::find().await?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let places = Arc::new(Semaphore::new(cores * CELLS_PER_CORE));
        let groups = Groups::find();
        if let Some(groups) = &groups {
            sweeper::start(&inner, groups).map_err(|error| {
                probe::explain(&format!("the sweeper cannot be started: {error}"), "")
            })?;
        }
        let jail = Self {
            shared: Arc::new(Shared {
                inner,
                bubblewrap,
                groups,
            }),
            places,
        };
        probe::canary(&jail).await?;
        Ok(jail)
    }

    /// How strongly cells are held: 1 is namespaces and more.
    pub fn tier(&self) -> u8 {
        1
    }

    /// What bounds memory: `cgroup` for all processes of a cell together, `rlimit` for each of
    /// them.
    pub fn memory_bound(&self) -> &str {
        if self.shared.groups.is_some() {
            "cgroup"
        } else {
            "rlimit"
        }
    }

    /// Starts a program in a new cell; waits in order while too many run.
    pub async fn spawn(&self, spec: Spec) -> Result<Cell, Refused> {
        check(&spec)?;
        let place = self.places.clone().acquire_owned().await;
        let place = place.map_err(|error| probe::explain(&error.to_string(), ""))?;
        start::start(&self.shared, spec, place).await
    }

    /// Two places for as long as the second value lives, and the same jail with these and no
    /// others: a cell that waits for cells which are started later must not wait for their places
    /// too.
    pub(crate) async fn two_places(&self) -> Result<(Self, OwnedSemaphorePermit), Refused> {
        let held = self
            .places
            .clone()
            .acquire_many_owned(2)
            .await
            .map_err(|error| probe::explain(&error.to_string(), ""))?;
        Ok((
            Self {
                shared: self.shared.clone(),
                places: Arc::new(Semaphore::new(2)),
            },
            held,
        ))
    }

    /// How the inner stage is started.
    pub(crate) fn inner(&self) -> &Inner {
        &self.shared.inner
    }

    /// Our own executable as the cell sees it, for the canary.
    pub(crate) fn inner_in_cell(&self) -> Vec<String> {
        std::iter::once(crate::warden::INNER.to_owned())
            .chain(self.shared.inner.args.clone())
            .collect()
    }
}

/// Refuses what no cell should be asked to do, before anything is done.
fn check(spec: &Spec) -> Result<(), Refused> {
    let wrong = |reason: &str| Refused {
        reason: reason.to_owned(),
        fix: "name a program and plain values".to_owned(),
    };
    let files = spec
        .read_only
        .iter()
        .chain(&spec.writable)
        .chain(&spec.pinned)
        .map(|file| &file.path);
    files
        .chain(&spec.collect)
        .try_for_each(|path| check_path(path))?;
    let words = spec
        .argv
        .iter()
        .chain(spec.env.iter().flat_map(|(name, value)| [name, value]));
    if spec.argv.first().is_none_or(String::is_empty)
        || words.clone().any(|word| word.contains('\0'))
    {
        return Err(wrong(
            "no program is named, or one of its words cannot be passed on",
        ));
    }
    if spec
        .env
        .iter()
        .any(|(name, _)| name.is_empty() || name.contains('='))
    {
        return Err(wrong("a variable of the environment has no usable name"));
    }
    if spec
        .folders
        .iter()
        .any(|folder| !folder.is_absolute() || folder.parent().is_none())
    {
        return Err(wrong(
            "a folder of the machine is not absolute, or is all of it",
        ));
    }
    Ok(())
}

/// A running cell. Dropping it ends everything in it.
#[derive(Debug)]
pub struct Cell {
    /// To the program's standard input. Closed by [`Cell::end`] unless taken.
    pub stdin: Option<Sender>,
    /// From its standard output. Whoever takes it reads it; else [`Cell::end`] collects it.
    pub stdout: Option<Receiver>,
    /// From its standard error, the same.
    pub stderr: Option<Receiver>,
    warden: Option<Warden>,
    output_bytes: u64,
    wall: Duration,
}

/// The warden of a cell, and what is held for as long as it lives. It ends the cell when the way to
/// it is closed.
#[derive(Debug)]
struct Warden {
    child: Child,
    from: OwnedReadHalf,
    to: Option<OwnedWriteHalf>,
    group: Option<Group>,
    _place: OwnedSemaphorePermit,
}

impl Cell {
    /// Waits for the program's exit or a limit, and ends all that is left. Only this reads the
    /// streams nobody took: call it beside what talks to the program (`tokio::join!`), or the
    /// program may wait for somebody to read.
    pub async fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let mut collected =
            Collected::new(self.stdout.take(), self.stderr.take(), self.output_bytes);
        let Some(mut warden) = self.warden.take() else {
            return ending::without_warden();
        };
        let said = {
            let mut saying = pin!(read(&mut warden.from));
            let mut late = pin!(tokio::time::sleep(self.wall + GRACE));
            loop {
                tokio::select! {
                    said = &mut saying => break said.ok(),
                    () = collected.read(), if collected.is_open() => {}
                    () = &mut late => break None,
                }
                if collected.is_too_much() {
                    // The warden takes it as the wish to end.
                    drop(warden.to.take());
                }
            }
        };
        if said.is_none() {
            // It is stuck or was killed itself. Bubblewrap dies with it, and the cell with
            // bubblewrap.
            let _ = warden.child.start_kill();
        }
        // Nobody in the cell is left; what is in the pipes is all there will be.
        let _ = warden.child.wait().await;
        collected.rest();
        ending::ended(said, collected, warden.group.as_ref().and_then(Group::met))
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let Some(mut warden) = self.warden.take() else {
            return;
        };
        drop(warden.to.take());
        // The warden ends the cell also if nobody looks; looking gives its place and its group back
        // when it is really gone.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = warden.child.wait().await;
                drop(warden);
            });
        }
    }
}

/// The next thing the warden says, with its files.
async fn read(from: &mut OwnedReadHalf) -> io::Result<(Said, Vec<Given>)> {
    let mut head = [0; 4];
    from.read_exact(&mut head).await?;
    let mut json = vec![0; wire::length_of(head)?];
    from.read_exact(&mut json).await?;
    let said: Said = serde_json::from_slice(&json)?;
    let entries: &[Entry] = if let Said::Ended { files, .. } = &said {
        files
    } else {
        &[]
    };
    let mut files = Vec::new();
    for entry in entries {
        let mut bytes = Vec::new();
        if from.take(entry.length).read_to_end(&mut bytes).await? as u64 != entry.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        files.push(Given {
            path: entry.path.clone(),
            bytes,
            executable: entry.executable,
        });
    }
    Ok((said, files))
}
