//! Cases that ask the kernel for what no cell may have.

use super::{Case, Ends, Program, USUAL};
use rebut_engine::sandbox::End;

const fn denied(
    number: u8,
    name: &'static str,
    program: Program,
    says: &'static str,
    outside: Option<&'static str>,
) -> Case {
    Case {
        number,
        name,
        program,
        limits: USUAL,
        ends: Ends::With(End::Exited(0)),
        says,
        outside,
    }
}

pub const CASES: &[Case] = &[
    denied(
        24,
        "programs that give rights",
        Program::Shell(
            "cp /usr/bin/id x; chmod 4755 x; ./x -u\nsu root -c id </dev/null >/dev/null 2>&1 && \
             echo became root\ngrep NoNewPrivs /proc/self/status",
        ),
        "1000\nNoNewPrivs:\t1\n",
        None,
    ),
    denied(
        25,
        "setting the clock",
        Program::C(
            "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); \
             TRY(clock_settime(CLOCK_REALTIME, &t)); TRY(syscall(SYS_settimeofday, 0, 0));",
        ),
        "EPERM\nEPERM\n",
        None,
    ),
    denied(
        26,
        "keys of the kernel",
        Program::C(
            "TRY(syscall(SYS_add_key, \"user\", \"x\", \"y\", 1, -2)); TRY(syscall(SYS_keyctl, 0, \
             -3, 1)); \
            TRY(syscall(SYS_request_key, \"user\", \"x\", 0, 0));",
        ),
        "EPERM\nEPERM\nEPERM\n",
        Some("done"),
    ),
    denied(
        27,
        "io_uring",
        Program::C("char p[120] = {0}; TRY(syscall(SYS_io_uring_setup, 1, p));"),
        "EPERM\n",
        Some("done"),
    ),
    denied(
        28,
        "namespaces inside",
        Program::C(
            "TRY(unshare(CLONE_NEWUSER)); TRY(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, \
             0)); \
            TRY(syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0));\n\
             unsigned long args[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD}; TRY(syscall(SYS_clone3, \
             args, sizeof args)); TRY(syscall(SYS_setns, 0, 0));",
        ),
        "EPERM\nEPERM\nEPERM\nENOSYS\nEPERM\n",
        None,
    ),
    denied(
        29,
        "typing into a terminal",
        Program::Python(
            "import fcntl\nmaster, slave = os.openpty()\nfor request in [0x5412, 0x541c, 0x5423]: \
             print(tried(fcntl.ioctl, slave, request, b'x'))\n\
             libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, \
             ctypes.c_char_p]\nprint(called(libc.ioctl(slave, 0x100005412, b'x')))\n\
             print(tried(os.open, '/dev/tty', os.O_RDWR))",
        ),
        "EPERM\nEPERM\nEPERM\nEPERM\nENXIO\n",
        None,
    ),
    denied(
        30,
        "mounts, devices, another root",
        Program::C(
            "TRY(mount(\"none\", \"/tmp\", \"tmpfs\", 0, 0)); TRY(umount2(\"/in\", 2)); \
            TRY(mknod(\"/box/d\", S_IFBLK | 0666, makedev(8, 0))); TRY(chroot(\"/tmp\"));\n\
             TRY(syscall(SYS_pivot_root, \"/tmp\", \"/tmp\")); TRY(syscall(SYS_fsopen, \"tmpfs\", \
             0)); TRY(syscall(SYS_open_tree, -100, \"/\", 1));",
        ),
        "EPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\n",
        None,
    ),
    denied(
        30,
        "calls newer than the list of calls",
        // open_tree_attr, file_getattr, and numbers that no kernel has yet; then those that look at
        // mounts and other processes.
        Program::C(
            "TRY(syscall(467, -100, \"/\", 0, 0, 0)); TRY(syscall(468, -100, \"/\", 0, 0, 0)); \
             TRY(syscall(600)); TRY(syscall(4000));\n\
             TRY(syscall(457, 0, 0, 0, 0)); TRY(syscall(458, 0, 0, 0, 0)); TRY(syscall(SYS_kcmp, \
             1, 1, 0, 0, 0));\n\
             TRY(syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0)); TRY(syscall(SYS_pidfd_getfd, 0, \
             0, 0)); TRY(syscall(SYS_mount_setattr, 0, 0, 0, 0, 0));",
        ),
        "ENOSYS\nENOSYS\nENOSYS\nENOSYS\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\n",
        Some("done"),
    ),
    #[cfg(target_arch = "x86_64")]
    Case {
        number: 33,
        name: "calls of the 32-bit kind",
        program: Program::C(
            "long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); puts(\"called\");",
        ),
        limits: USUAL,
        ends: Ends::With(End::Signalled(31)),
        says: "",
        outside: Some("called"),
    },
    #[cfg(target_arch = "x86_64")]
    Case {
        number: 33,
        name: "calls of the x32 kind",
        program: Program::C("syscall(0x40000000 | SYS_getpid); puts(\"called\");"),
        limits: USUAL,
        ends: Ends::With(End::Signalled(31)),
        says: "",
        outside: Some("called"),
    },
    #[cfg(not(target_arch = "x86_64"))]
    denied(
        33,
        "calls of another kind do not exist here",
        Program::Shell(":"),
        "",
        None,
    ),
    denied(
        34,
        "parts of the kernel with a history",
        Program::C(
            "char a[128] = {0}; TRY(syscall(SYS_bpf, 0, a, sizeof a)); \
             TRY(syscall(SYS_perf_event_open, a, 0, -1, -1, 0)); TRY(syscall(SYS_userfaultfd, \
             1));\n\
             TRY(syscall(447, 0)); TRY(syscall(SYS_personality, 0x0040000)); \
             TRY(syscall(SYS_open_by_handle_at, -100, a, 0)); \
             TRY(syscall(SYS_syslog, 3, a, 10));",
        ),
        "EPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\n",
        Some("done"),
    ),
    denied(
        35,
        "a place before everybody else",
        Program::Python(
            "print(tried(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)), \
             tried(os.setpriority, os.PRIO_PROCESS, 0, -5))",
        ),
        "EPERM EACCES\n",
        None,
    ),
];
