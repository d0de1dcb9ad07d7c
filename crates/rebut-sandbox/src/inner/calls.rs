//! seccomp: the system calls a cell has no use for, or that namespaces do not cover.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op,
    SeccompCondition as Condition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
    sock_filter,
};
use std::collections::BTreeMap;

/// Calls that tell how this machine's file systems are mounted. Their numbers are the same
/// everywhere.
const SYS_STATMOUNT: libc::c_long = 457;
const SYS_LISTMOUNT: libc::c_long = 458;
/// The first call that was added after this list was looked through (`open_tree_attr`). From here
/// on no call is there, whatever it may do.
const UNHEARD_OF: u32 = 467;
/// Calls that fail as if the right to them were missing.
const DENIED: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    SYS_STATMOUNT,
    SYS_LISTMOUNT,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_personality,
    libc::SYS_memfd_secret,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
];
/// The same, where the machine has them.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[libc::c_long] = &[
    libc::SYS_modify_ldt,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[libc::c_long] = &[];

/// Requests to a terminal that write into it or change what it is.
const TERMINAL: &[u64] = &[
    0x5412, /* TIOCSTI */
    0x541c, /* TIOCLINUX */
    0x5423, /* TIOCSETD */
];
/// New namespaces: mount, cgroup, uts, ipc, user, pid, net. The bit for time namespaces means
/// something else to `clone`.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// The only families of sockets there are.
const FAMILIES: &[libc::c_int] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Applies all filters to this process and all it starts.
pub(super) fn restrict() -> Result<(), String> {
    let filters =
        filters().map_err(|error| format!("the system calls cannot be listed: {error}"))?;
    filters
        .iter()
        .try_for_each(|filter| apply_filter(filter))
        .map_err(|error| format!("seccomp cannot be applied: {error}"))
}

fn filters() -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut denied: Rules = DENIED
        .iter()
        .chain(DENIED_HERE)
        .map(|call| (*call, Vec::new()))
        .collect();
    denied.insert(
        libc::SYS_clone,
        one_of(
            0,
            NAMESPACES
                .iter()
                .map(|flag| (*flag as u64, Op::MaskedEq(*flag as u64))),
        )?,
    );
    denied.insert(
        libc::SYS_ioctl,
        one_of(1, TERMINAL.iter().map(|request| (*request, Op::Eq)))?,
    );
    let family = || -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        let none_of = FAMILIES
            .iter()
            .map(|family| Condition::new(0, Length::Dword, Op::Ne, *family as u64));
        Ok(vec![SeccompRule::new(none_of.collect::<Result<_, _>>()?)?])
    };
    let families: Rules = [
        (libc::SYS_socket, family()?),
        (libc::SYS_socketpair, family()?),
    ]
    .into();
    // Its flags are in memory, where no filter can look. Libraries then use `clone`.
    let unknown: Rules = [(libc::SYS_clone3, Vec::new())].into();
    Ok(vec![
        filter(denied, libc::EPERM)?,
        filter(families, libc::EAFNOSUPPORT)?,
        filter(unknown, libc::ENOSYS)?,
        other_numbers(),
    ])
}

fn one_of(
    argument: u8,
    values: impl Iterator<Item = (u64, Op)>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    values
        .map(|(value, how)| {
            SeccompRule::new(vec![Condition::new(argument, Length::Dword, how, value)?])
        })
        .collect()
}

/// A filter that lets those calls fail; calls of another architecture kill.
fn filter(rules: Rules, error: libc::c_int) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error.unsigned_abs()),
        arch,
    )?
    .try_into()
}

/// Kills whoever uses the second set of numbers (x32) that some kernels have for the same calls.
/// Calls newer than the list are not there.
fn other_numbers() -> BpfProgram {
    const LOAD_NUMBER: sock_filter = sock_filter {
        code: 0x20,
        jt: 0,
        jf: 0,
        k: 0,
    };
    const IF_OTHER: sock_filter = sock_filter {
        code: 0x35,
        jt: 0,
        jf: 1,
        k: 0x4000_0000,
    };
    const KILL: sock_filter = sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0x8000_0000,
    };
    const IF_NEWER: sock_filter = sock_filter {
        code: 0x35,
        jt: 0,
        jf: 1,
        k: UNHEARD_OF,
    };
    const NOT_THERE: sock_filter = sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0x0005_0000 | libc::ENOSYS.unsigned_abs(),
    };
    const ALLOW: sock_filter = sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0x7fff_0000,
    };
    vec![LOAD_NUMBER, IF_OTHER, KILL, IF_NEWER, NOT_THERE, ALLOW]
}
