//! The two system calls that no safe library offers. The only file with `unsafe` in it.
#![allow(unsafe_code)]

use rustix::thread::UnshareFlags;
use std::io;

/// Marks all descriptors from that one on to be closed when another program is started.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: the call takes plain numbers and touches no memory. It closes nothing now, so that
    // every descriptor somebody owns in this process stays theirs.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Gives this process a mount namespace of its own, and with `user` a user namespace around it.
pub(crate) fn leave_namespaces(user: bool) -> io::Result<()> {
    let flags = if user {
        UnshareFlags::NEWNS | UnshareFlags::NEWUSER
    } else {
        UnshareFlags::NEWNS
    };
    // SAFETY: what makes the call unsafe is leaving a shared table of descriptors
    // (`UnshareFlags::FILES`); it is not asked for.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}
