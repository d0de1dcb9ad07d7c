//! The warden of one cell: a process of our own between the program and bubblewrap. It makes the
//! cell's files in memory, watches, and ends all.

mod bubble;
mod stage;
mod watch;

pub(crate) use bubble::INNER;

use crate::{
    harvest,
    wire::{self, Order, Orders, Said},
};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::{FdFlags, fcntl_setfd},
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    pipe::{PipeFlags, pipe_with},
    process::{DumpableBehavior, Gid, Uid, geteuid, set_child_subreaper},
};
use std::{
    fs::File,
    io::{self, IoSliceMut, Seek, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Child, Command, ExitCode, Stdio},
};

/// Who a cell is when rebut runs as root: an id that no system gives to anybody.
const NOBODY_ELSE: u32 = 65_411;
/// The same for a cell whose program judges others: no process of the code is ever its user.
const JUDGE: u32 = 65_412;
/// The most descriptors that come with an order: three streams, and two for each of at most four
/// control groups.
const MOST_DESCRIPTORS: usize = 11;

/// Runs one cell, as told over the socket that is our standard input.
pub(crate) fn main() -> ExitCode {
    match io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(UnixStream::from)
    {
        Ok(mut control) => match run(&mut control) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => refuse(&mut control, &why),
        },
        Err(error) => {
            eprintln!("the warden has nobody to talk to: {error}");
            ExitCode::from(125)
        }
    }
}

/// Says why there is no cell.
fn refuse(control: &mut UnixStream, why: &str) -> ExitCode {
    // If nobody listens any more there is nobody to tell.
    if let Err(error) = wire::write(control, &Said::Refused(why.to_owned()), []) {
        eprintln!("{why} ({error})");
    }
    ExitCode::from(125)
}

fn during<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String + '_ {
    move |error| format!("{what}: {error}")
}

fn run(control: &mut UnixStream) -> Result<(), String> {
    let descriptors = receive(control).map_err(during("cannot take the streams"))?;
    let order: Order = wire::read(control).map_err(during("cannot read the order"))?;
    let read_only =
        wire::read_files(control, &order.read_only).map_err(during("cannot read the files"))?;
    let writable =
        wire::read_files(control, &order.writable).map_err(during("cannot read the files"))?;
    let pinned =
        wire::read_files(control, &order.pinned).map_err(during("cannot read the files"))?;
    let mut streams = Streams::sort(descriptors, order.groups)?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let owner = Owner::choose(order.judges)?;
    let stage = stage::build(
        &order,
        &owner,
        &stage::Files {
            read_only: &read_only,
            writable: &writable,
            pinned: &pinned,
        },
    )?;
    become_owner(&owner)?;
    set_child_subreaper(Some(rustix::process::getpid())).map_err(during("cannot adopt orphans"))?;
    let (reports, report_to) =
        pipe_with(PipeFlags::CLOEXEC).map_err(during("cannot make a pipe"))?;
    streams.enter()?;
    let child = start(&order, &stage, streams.take(), report_to)?;
    streams.leave()?;
    let seen = watch::watch(control, child, File::from(reports), order.limits.wall)?;
    let mut files = harvest::collect(&stage.box_folder, &order.collect, &order.limits);
    if order.collect_all {
        files.extend(harvest::collect_all(&stage.box_folder));
    }
    let said = Said::Ended {
        status: seen.status,
        is_late: seen.is_late,
        ms: seen.ms,
        files: wire::entries(&files),
    };
    // The program may have died meanwhile; then nobody wants to know.
    wire::write(control, &said, &files).map_err(during("cannot say how it ended"))
}

pub(crate) struct Owner {
    pub id: u32,
    /// Whether we are root and become somebody else.
    pub is_dropped: bool,
}

impl Owner {
    fn choose(judges: bool) -> Result<Self, String> {
        let own = geteuid();
        let id = if judges { JUDGE } else { NOBODY_ELSE };
        let (users, groups) = (read("uid_map"), read("gid_map"));
        if own.is_root()
            && [&users, &groups]
                .iter()
                .all(|map| outside(map, id).is_some())
        {
            return Ok(Self {
                id,
                is_dropped: true,
            });
        }
        // Root of a user namespace without such an id stays who it is if it is an ordinary user
        // outside, and never if it is root there too.
        if own.is_root() && outside(&users, 0).is_none_or(|id| id == 0) {
            return Err(ALONE.to_owned());
        }
        Ok(Self {
            id: own.as_raw(),
            is_dropped: false,
        })
    }
}

/// Why root cannot give up what it is in a namespace where there is nobody else.
pub(crate) const ALONE: &str = "root cannot become another user: this user namespace has no other, \
    and its root is root outside of it too";

fn read(file: &str) -> String {
    std::fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default()
}

/// What an id of this user namespace is outside of it, by its map: first id inside, first id
/// outside, how many. A map that cannot be read has none.
fn outside(map: &str, id: u32) -> Option<u64> {
    let id = u64::from(id);
    map.lines().find_map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
        let (first, outside, count) = (
            numbers.next()?.ok()?,
            numbers.next()?.ok()?,
            numbers.next()?.ok()?,
        );
        (first..first + count)
            .contains(&id)
            .then(|| outside + (id - first))
    })
}

/// Root gives up all it is before a cell is made; anybody else stays who they are.
fn become_owner(owner: &Owner) -> Result<(), String> {
    if !owner.is_dropped {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(owner.id), Gid::from_raw(owner.id));
    let dropped = rustix::thread::set_thread_groups(&[])
        .and_then(|()| rustix::thread::set_thread_res_gid(group, group, group))
        .and_then(|()| rustix::thread::set_thread_res_uid(user, user, user));
    dropped.map_err(|error| format!("root cannot become the user {}: {error}", owner.id))?;
    if rustix::thread::set_thread_uid(Uid::ROOT).is_ok() {
        return Err("root could be taken back".to_owned());
    }
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(during("cannot hide the warden"))
}

/// The descriptors that come with the first byte.
fn receive(control: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut buffer = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0; 1];
    recvmsg(
        control,
        &mut [IoSliceMut::new(&mut byte)],
        &mut buffer,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let messages = buffer.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(messages.flatten().collect())
}

/// The program's streams and the doors of its control groups.
struct Streams {
    program: Option<[OwnedFd; 3]>,
    enter: Vec<OwnedFd>,
    leave: Vec<OwnedFd>,
}

impl Streams {
    fn sort(mut all: Vec<OwnedFd>, groups: usize) -> Result<Self, String> {
        let wanted = 3 + 2 * groups;
        if all.len() != wanted {
            return Err(format!(
                "{} descriptors came instead of {wanted}",
                all.len()
            ));
        }
        let leave = all.split_off(3 + groups);
        let enter = all.split_off(3);
        let program = all
            .try_into()
            .map_err(|_| "the streams are not three".to_owned())?;
        Ok(Self {
            program: Some(program),
            enter,
            leave,
        })
    }

    /// What is started now is in the cell's control groups.
    fn enter(&self) -> Result<(), String> {
        move_to(&self.enter).map_err(during("cannot enter the control group"))
    }

    /// The warden itself is not held to the cell's limits.
    fn leave(&self) -> Result<(), String> {
        move_to(&self.leave).map_err(during("cannot leave the control group"))
    }

    fn take(&mut self) -> Option<[OwnedFd; 3]> {
        self.program.take()
    }
}

fn move_to(groups: &[OwnedFd]) -> io::Result<()> {
    groups
        .iter()
        .try_for_each(|group| rustix::io::write(group, b"0\n").map(drop))
        .map_err(io::Error::from)
}

/// Starts bubblewrap with the inner stage in it. Orders and reports travel by descriptors that only
/// the inner stage inherits.
fn start(
    order: &Order,
    stage: &stage::Stage,
    streams: Option<[OwnedFd; 3]>,
    report_to: OwnedFd,
) -> Result<Child, String> {
    let [stdin, stdout, stderr] = streams.ok_or("the streams are gone")?;
    let orders = Orders {
        argv: order.argv.clone(),
        env: order.env.clone(),
        limits: order.limits.clone(),
        processes_by_rlimit: order.processes_by_rlimit,
        readable: bubble::readable(&order.folders, order.judges),
    };
    let orders_from =
        in_memory(&serde_json::to_vec(&orders).map_err(during("cannot write the orders"))?)
            .map_err(during("cannot keep the orders in memory"))?;
    for inherited in [orders_from.as_fd(), report_to.as_fd()] {
        fcntl_setfd(inherited, FdFlags::empty()).map_err(during("cannot pass a descriptor"))?;
    }
    let mut command = Command::new(&order.bubblewrap);
    command
        .env_clear()
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .current_dir("/");
    command.args(bubble::arguments(order, stage));
    command.arg("--").arg(bubble::INNER).args(&order.inner_args);
    command.args([
        "cell".to_owned(),
        orders_from.as_raw_fd().to_string(),
        report_to.as_raw_fd().to_string(),
    ]);
    command.spawn().map_err(during("cannot start bubblewrap"))
}

fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("orders", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_in_a_namespace_whose_map_holds_it() {
        let rows = [
            ("         0          0 4294967295\n", Some(0), Some(65_411)),
            ("         0       1000          1\n", Some(1000), None),
            ("0 1000 1\n1 100000 65536\n", Some(1000), Some(165_410)),
            ("0 1000 1\n1 100000 65410\n", Some(1000), None),
            ("", None, None),
            ("nonsense", None, None),
        ];
        for (map, root, other) in rows {
            assert_eq!(
                (outside(map, 0), outside(map, NOBODY_ELSE)),
                (root, other),
                "{map:?}"
            );
        }
    }
}
