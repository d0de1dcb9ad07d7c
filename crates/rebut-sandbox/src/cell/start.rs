//! Starting a cell: its streams, its warden, its order.

use super::{Cell, Group, Shared, Warden, read};
use crate::{
    probe::explain,
    spec::Spec,
    wire::{self, Order, Said},
};
use rebut_engine::sandbox::Refused;
use rustix::{
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    pipe::{PipeFlags, pipe_with},
};
use std::{
    io::{self, IoSlice},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::Stdio,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe::{Receiver, Sender},
    process::{Child, Command},
    sync::OwnedSemaphorePermit,
};

/// The environment of every cell, unless a program needs another value.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/box"),
    ("TMPDIR", "/tmp"),
    ("LANG", "C.UTF-8"),
];
/// Where a control group counts processes, the kernel's own limit stands a little higher, so that
/// the group's is met and seen.
const BESIDE_GROUP: u32 = 16;
/// How much of a refusal's words are read.
const WORDS: u64 = 4096;
/// As many descriptors as an order can come with.
const MOST_DESCRIPTORS: usize = 11;

/// Starts the warden, gives it the order, and waits until the program runs.
pub(super) async fn start(
    shared: &Shared,
    spec: Spec,
    place: OwnedSemaphorePermit,
) -> Result<Cell, Refused> {
    let failed =
        |what: &'static str| move |error: io::Error| explain(&format!("{what}: {error}"), "");
    let group = shared
        .groups
        .as_ref()
        .map(|groups| groups.make(&spec.limits))
        .transpose()
        .map_err(failed("no control group can be made"))?;
    let (theirs, ours) = streams().map_err(failed("no pipe can be made"))?;
    let (child, control) = warden(shared).map_err(failed("the warden cannot be started"))?;
    send(&control, &theirs, group.as_ref()).map_err(failed("the streams cannot be passed on"))?;
    drop(theirs);
    let control = control
        .set_nonblocking(true)
        .and_then(|()| tokio::net::UnixStream::from_std(control));
    let (from, to) = control
        .map_err(failed("the warden cannot be talked to"))?
        .into_split();
    let (stdin, stdout, mut stderr) = ours;
    let mut warden = Warden {
        child,
        from,
        to: Some(to),
        group,
        _place: place,
    };
    let told = tell(&mut warden, shared, &spec).await;
    let said = read(&mut warden.from).await;
    match said {
        Ok((Said::Started, _)) => {
            let (output_bytes, wall) = (spec.limits.output_bytes, spec.limits.wall);
            Ok(Cell {
                stdin: Some(stdin),
                stdout: Some(stdout),
                stderr: Some(stderr),
                warden: Some(warden),
                output_bytes,
                wall,
            })
        }
        Ok((Said::Refused(why), _)) => Err(explain(&why, &words(&mut stderr).await)),
        Ok((Said::Ended { .. }, _)) => Err(explain("the cell ended before it began", "")),
        Err(error) => {
            let mut own = String::new();
            if let Some(stderr) = warden.child.stderr.take() {
                // Whatever it said before it died is better than nothing.
                let _ = stderr.take(WORDS).read_to_string(&mut own).await;
            }
            let error = told.err().unwrap_or(error);
            Err(explain(&format!("the warden ended: {error}"), &own))
        }
    }
}

type Ours = (Sender, Receiver, Receiver);

/// The program's ends of its three streams, and ours.
fn streams() -> io::Result<([OwnedFd; 3], Ours)> {
    let (stdin_from, stdin_to) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stdout_from, stdout_to) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr_from, stderr_to) = pipe_with(PipeFlags::CLOEXEC)?;
    let ours = (
        Sender::from_owned_fd(stdin_to)?,
        Receiver::from_owned_fd(stdout_from)?,
        Receiver::from_owned_fd(stderr_from)?,
    );
    Ok(([stdin_from, stdout_to, stderr_to], ours))
}

/// A warden has no environment, so that no secret of ours is in any process around a cell. It lives
/// as long as somebody holds the other end of its socket: that also outlasts the thread that
/// started it, unlike a signal at the death of a parent.
fn warden(shared: &Shared) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(&shared.inner.program);
    command
        .args(&shared.inner.args)
        .arg("warden")
        .env_clear()
        .current_dir("/")
        .process_group(0);
    command
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    Ok((command.spawn()?, ours))
}

/// Passes the program's streams and the doors of the control groups on, with one byte that carries
/// them.
fn send(control: &UnixStream, streams: &[OwnedFd; 3], group: Option<&Group>) -> io::Result<()> {
    let doors = group
        .into_iter()
        .flat_map(|group| group.enter.iter().chain(&group.leave));
    let all: Vec<BorrowedFd<'_>> = streams
        .iter()
        .map(AsFd::as_fd)
        .chain(doors.map(AsFd::as_fd))
        .collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut buffer = SendAncillaryBuffer::new(&mut space);
    if !buffer.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(
        control,
        &[IoSlice::new(b".")],
        &mut buffer,
        SendFlags::empty(),
    )?;
    Ok(())
}

async fn tell(warden: &mut Warden, shared: &Shared, spec: &Spec) -> io::Result<()> {
    let set = |name: &str| spec.env.iter().any(|(own, _)| own == name);
    let usual = ENVIRONMENT
        .iter()
        .filter(|(name, _)| !set(name))
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let groups = warden.group.as_ref().map_or(0, |group| group.enter.len());
    let order = Order {
        argv: spec.argv.clone(),
        env: usual.chain(spec.env.iter().cloned()).collect(),
        limits: spec.limits.clone(),
        processes_by_rlimit: spec.limits.processes + if groups > 0 { BESIDE_GROUP } else { 0 },
        read_only: wire::entries(&spec.read_only),
        writable: wire::entries(&spec.writable),
        folders: spec.folders.clone(),
        collect: spec.collect.clone(),
        judges: spec.judges,
        pinned: wire::entries(&spec.pinned),
        collect_all: spec.collect_all,
        bubblewrap: shared.bubblewrap.path.clone(),
        can_disable_userns: shared.bubblewrap.can_disable_userns,
        inner: shared.inner.program.clone(),
        inner_args: shared.inner.args.clone(),
        groups,
    };
    let frame = wire::frame(
        &order,
        spec.read_only
            .iter()
            .chain(&spec.writable)
            .chain(&spec.pinned),
    )?;
    match warden.to.as_mut() {
        Some(to) => to.write_all(&frame).await,
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// What bubblewrap said on the program's standard error, when there was no program.
async fn words(stderr: &mut Receiver) -> String {
    let mut bytes = Vec::new();
    // Everybody who could write is gone, so this ends.
    let _ = stderr.take(WORDS).read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
