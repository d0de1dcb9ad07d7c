//! Cases that use up the machine: processes, memory, disk, time, output.

use super::{Case, Ends, Program, USUAL};
use rebut_engine::sandbox::End;
use std::time::Duration;

const MIB: u64 = 1 << 20;

pub const CASES: &[Case] = &[
    Case {
        number: 1,
        name: "fork bomb",
        program: Program::Python(
            "count = 0\ntry:\n    while count < 500:\n        if os.fork() == 0: \
             time.sleep(600)\n        count += 1\n\
             except OSError as error: print(name(error.errno), 20 < count < 50, \
             flush=True)\nos._exit(1)",
        ),
        limits: |limits| limits.processes = 32,
        ends: Ends::Met("processes"),
        says: "EAGAIN True\n",
        outside: None,
    },
    Case {
        number: 2,
        name: "thread bomb",
        program: Program::Python(
            "import threading\ncount = 0\ntry:\n    while count < 500:\n        \
             threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n\
             \x20       count += 1\nexcept RuntimeError: print(20 < count < 50, \
             flush=True)\nos._exit(1)",
        ),
        limits: |limits| limits.processes = 32,
        ends: Ends::Met("processes"),
        says: "True\n",
        outside: None,
    },
    Case {
        number: 3,
        name: "memory bomb of one process",
        program: Program::Python(
            "held = []\ntry:\n    while len(held) < 4096: held.append(bytearray(1 << 20))\n\
             except MemoryError:\n    count = len(held); held = None; print(64 < count <= \
             128)\n    sys.exit(1)",
        ),
        limits: |limits| limits.memory = 128 * MIB,
        ends: Ends::With(End::Exited(1)),
        says: "True\n",
        outside: None,
    },
    Case {
        number: 4,
        name: "memory bomb of many processes",
        program: Program::Python(
            "children = []\nfor _ in range(6):\n    child = os.fork()\n    if child == 0:\n        \
             held = bytearray(90 << 20); time.sleep(2); os._exit(0)\n\
             \x20   children.append(child)\nkilled = [os.waitstatus_to_exitcode(os.waitpid(child, \
             0)[1]) for child in children].count(-9)\n\
             print('cgroup' if killed else 'rlimit')\nsys.exit(1)",
        ),
        limits: |limits| limits.memory = 128 * MIB,
        ends: Ends::Met("memory"),
        says: "{bound}\n",
        outside: None,
    },
    Case {
        number: 5,
        name: "disk fill",
        program: Program::Python(
            "total = 0\ndef fill():\n    global total\n    for number in range(64):\n        for \
             folder in ['/box', '/tmp', '/dev/shm']:\n\
             \x20           with open(f'{folder}/{number}', 'wb', 0) as file:\n                for \
             _ in range(4): total += file.write(bytes(1 << 20))\n\
             print(tried(fill), (32 << 20) < total <= (64 << 20))",
        ),
        limits: |limits| limits.memory = 512 * MIB,
        ends: Ends::With(End::Exited(0)),
        says: "ENOSPC True\n",
        outside: None,
    },
    Case {
        number: 6,
        name: "inode bomb",
        program: Program::Python(
            "count = 0\ndef fill():\n    global count\n    while count < 100000:\n        \
             open(f'/tmp/{count}', 'w').close(); count += 1\n\
             print(tried(fill), 3000 < count <= 4096)",
        ),
        limits: USUAL,
        ends: Ends::With(End::Exited(0)),
        says: "ENOSPC True\n",
        outside: None,
    },
    Case {
        number: 7,
        name: "huge sparse file",
        program: Program::Python(
            "file = open('huge', 'wb')\nprint(tried(os.ftruncate, file.fileno(), 1 << 40))",
        ),
        limits: USUAL,
        ends: Ends::With(End::Exited(0)),
        says: "EFBIG\n",
        outside: Some("done"),
    },
    Case {
        number: 7,
        name: "huge written file",
        program: Program::Shell("exec dd if=/dev/zero of=/box/huge bs=1M count=60"),
        limits: USUAL,
        ends: Ends::Limit("file size"),
        says: "",
        outside: None,
    },
    Case {
        number: 22,
        name: "ignores all signals and sleeps forever",
        program: Program::Python(
            "import signal\nfor number in signal.valid_signals() - {signal.SIGKILL, \
             signal.SIGSTOP}:\n\
             \x20   try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): \
             pass\nprint('deaf', flush=True)\nwhile True: time.sleep(600)",
        ),
        limits: |limits| limits.wall = Duration::from_secs(2),
        ends: Ends::With(End::TimedOut),
        says: "deaf\n",
        outside: None,
    },
    Case {
        number: 23,
        name: "burns processor time",
        program: Program::Shell("while :; do :; done"),
        limits: |limits| limits.cpu = Duration::from_secs(1),
        ends: Ends::Limit("processor time"),
        says: "",
        outside: None,
    },
    Case {
        number: 23,
        name: "burns processor time and ignores the signal",
        program: Program::Shell("trap '' XCPU\nwhile :; do :; done"),
        limits: |limits| limits.cpu = Duration::from_secs(1),
        ends: Ends::Limit("processor time"),
        says: "",
        outside: None,
    },
    Case {
        number: 36,
        name: "huge standard output",
        program: Program::Shell("exec yes"),
        limits: |limits| limits.output_bytes = 100_000,
        ends: Ends::With(End::TooMuchOutput),
        says: "",
        outside: None,
    },
    Case {
        number: 36,
        name: "huge standard error",
        program: Program::Shell("exec yes >&2"),
        limits: |limits| limits.output_bytes = 100_000,
        ends: Ends::With(End::TooMuchOutput),
        says: "",
        outside: None,
    },
];
