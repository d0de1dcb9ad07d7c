//! Cases that reach for the machine around the cell: its network, files, environment, descriptors,
//! processes.

use super::{Case, Ends, Program, USUAL};
use rebut_engine::sandbox::End;
use std::{
    cell::RefCell,
    fs::File,
    net::TcpListener,
    os::{
        fd::OwnedFd,
        linux::net::SocketAddrExt,
        unix::{
            fs::PermissionsExt,
            net::{SocketAddr, UnixListener},
        },
    },
    process::{Child, Command, Stdio},
};

/// What a cell could reach if it did not hold: all of it is really there.
pub struct Host {
    folder: tempfile::TempDir,
    abstract_name: String,
    tcp: TcpListener,
    victim: RefCell<Child>,
    shared_memory: String,
    _held: (UnixListener, UnixListener, OwnedFd),
}

impl Host {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
            .expect("a folder for all");
        std::fs::write(folder.path().join("secret"), "a secret of the machine").expect("a secret");
        let path_socket = UnixListener::bind(folder.path().join("socket")).expect("a socket");
        std::fs::set_permissions(
            folder.path().join("socket"),
            std::fs::Permissions::from_mode(0o777),
        )
        .expect("a socket for all");
        let abstract_name = format!("rebut-abuse-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("a name");
        let abstract_socket = UnixListener::bind_addr(&address).expect("an abstract socket");
        // A descriptor that is inherited by whatever is started, with a number nothing else has.
        let secret = File::open(folder.path().join("secret")).expect("the secret");
        let leaking = rustix::io::fcntl_dupfd_cloexec(&secret, 900).expect("a free descriptor");
        rustix::io::fcntl_setfd(&leaking, rustix::io::FdFlags::empty())
            .expect("a descriptor that leaks");
        let victim = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("cat");
        Self {
            abstract_name,
            tcp: TcpListener::bind(("127.0.0.1", 0)).expect("a port"),
            victim: RefCell::new(victim),
            shared_memory: shared_memory(),
            _held: (path_socket, abstract_socket, leaking),
            folder,
        }
    }

    /// What every program is told: a port, an abstract socket, a socket, a secret, a process, all
    /// of the machine.
    pub fn arguments(&self) -> Vec<String> {
        let in_folder = |name: &str| self.folder.path().join(name).display().to_string();
        let port = self.tcp.local_addr().expect("a port").port();
        vec![
            port.to_string(),
            self.abstract_name.clone(),
            in_folder("socket"),
            in_folder("secret"),
            self.victim.borrow().id().to_string(),
        ]
    }

    /// Whether all is as it was.
    pub fn is_unharmed(&self) -> bool {
        let victim = self.victim.borrow().id();
        let is_running = || {
            std::fs::read_to_string(format!("/proc/{victim}/stat"))
                .is_ok_and(|stat| !stat.contains(") T"))
        };
        let lives = matches!(self.victim.borrow_mut().try_wait(), Ok(None)) && is_running();
        let is_left = std::path::Path::new("/dev/shm/rebut-abuse").exists();
        lives && !is_left && shared_memory() == self.shared_memory
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let victim = self.victim.get_mut();
        victim
            .kill()
            .and_then(|()| victim.wait())
            .expect("the victim was alive");
    }
}

/// Which segments of shared memory there are: keys and ids, not who is attached.
fn shared_memory() -> String {
    let text = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    text.lines()
        .filter(|line| line.split_ascii_whitespace().next() == Some("1380008532"))
        .collect()
}

const fn held(
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
    held(
        8,
        "TCP to the machine",
        Program::Python("print(tried(socket.create_connection, ('127.0.0.1', port), 5))"),
        "ECONNREFUSED\n",
        Some("done"),
    ),
    held(
        8,
        "UDP to the world",
        Program::Python(
            "print(tried(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b'x', \
             ('192.0.2.1', 9)))",
        ),
        "ENETUNREACH\n",
        None,
    ),
    held(
        9,
        "loopback inside",
        Program::Python(
            "server = socket.create_server(('127.0.0.1', 0)); client = \
             socket.create_connection(server.getsockname())\n\
             server.accept()[0].sendall(b'works'); print(client.recv(5).decode())",
        ),
        "works\n",
        Some("works"),
    ),
    held(
        10,
        "abstract socket of the machine",
        Program::Python("print(tried(socket.socket(socket.AF_UNIX).connect, '\\0' + abstract))"),
        "ECONNREFUSED\n",
        Some("done"),
    ),
    held(
        11,
        "socket of the machine by its path",
        Program::Python("print(tried(socket.socket(socket.AF_UNIX).connect, path))"),
        "ENOENT\n",
        Some("done"),
    ),
    held(
        12,
        "socket to the hypervisor",
        Program::Python("print(tried(socket.socket, 40))"),
        "EAFNOSUPPORT\n",
        None,
    ),
    held(
        13,
        "netlink, packet and crypto sockets",
        Program::Python(
            "for family in [16, 17, 38]: print(tried(socket.socket, family, socket.SOCK_RAW))",
        ),
        "EAFNOSUPPORT\nEAFNOSUPPORT\nEAFNOSUPPORT\n",
        Some("done"),
    ),
    held(
        14,
        "files of the machine",
        Program::Python(
            "for file in [secret, '/etc/shadow', '/root', '/home', '/var/log', '/etc/hostname', \
             '/proc/1/root/etc/shadow', '/sys/kernel']:\n\
             \x20   if tried(os.stat, file) == 'done': print(file)",
        ),
        "",
        Some("secret"),
    ),
    held(
        14,
        "facts of the machine in /proc",
        Program::Python(
            "known = 'cpuinfo filesystems loadavg meminfo mounts net self stat sys sysvipc \
             thread-self uptime version'.split()\n\
             for entry in sorted(os.listdir('/proc')) + ['sys/kernel/random/boot_id']:\n\
             \x20   look = os.listdir if os.path.isdir('/proc/' + entry) else lambda file: \
             open(file, 'rb').read(1)\n\
             \x20   if not entry.isdigit() and entry not in known and tried(look, '/proc/' + \
             entry) == 'done': print(entry)\n\
             print(open('/proc/meminfo').read(8), tried(os.listdir, '/proc/self/fd'))",
        ),
        "MemTotal done\n",
        Some("cmdline"),
    ),
    held(
        15,
        "environment of the machine",
        Program::Python(
            "print(*sorted(os.environ))\nfor process in filter(str.isdigit, \
             os.listdir('/proc')):\n    try: seen = open(f'/proc/{process}/environ').read()\n\
             \x20   except OSError: continue\n    if 'CARGO' in seen or 'NEXTEST' in seen or \
             'CANARY' in seen: print('seen in', process)",
        ),
        "HOME LANG PATH TMPDIR\n",
        Some("REBUT_CANARY"),
    ),
    held(
        16,
        "inherited descriptors",
        Program::Python(
            "print([number for number in range(3, 1024) if tried(os.fstat, number) == 'done'])",
        ),
        "[]\n",
        Some("900"),
    ),
    held(
        17,
        "looking into processes of the machine",
        Program::Python(
            "print(called(libc.ptrace(16, pid, 0, 0)), called(libc.process_vm_readv(pid, 0, 0, 0, \
             0, 0)), tried(open, f'/proc/{pid}/mem'))\n\
             print(called(libc.ptrace(16, 1, 0, 0)), tried(open, '/proc/1/mem'), tried(os.listdir, \
             '/proc/1/fd'))",
        ),
        "EPERM EPERM ENOENT\nEPERM EACCES EACCES\n",
        None,
    ),
    held(
        18,
        "signals to the machine and to its own keeper",
        Program::Python(
            "print(tried(os.kill, pid, 9))\nfor number in [19, 9]: tried(os.kill, os.getppid(), \
             number); tried(os.kill, -1, number)\nprint('alive')",
        ),
        "ESRCH\nalive\n",
        None,
    ),
    held(
        19,
        "limits of processes of the machine",
        Program::Python(
            "import resource\nprint(tried(resource.prlimit, pid, resource.RLIMIT_NOFILE, (1, 1)))",
        ),
        "ESRCH\n",
        Some("done"),
    ),
    held(
        20,
        "settings of the kernel",
        Program::Python(
            "for file, text in [('/proc/sys/kernel/core_pattern', '|/box/x'), \
             ('/proc/sysrq-trigger', 'h'), ('/proc/self/oom_score_adj', '-1000'),\n\
             \x20       ('/proc/sys/kernel/hostname', 'x'), ('/proc/sys/vm/drop_caches', '1')]:\n\
             \x20   def write():\n        with open(file, 'w') as opened: opened.write(text)\n    \
             if tried(write) == 'done': print(file)",
        ),
        "",
        None,
    ),
    held(
        32,
        "memory that outlives its makers",
        Program::Python(
            "print(called(libc.shmget(0x52414254, 4096, 0o1666)))\nopen('/dev/shm/rebut-abuse', \
             'w').write('x')\nprint(os.listdir('/dev/shm'))",
        ),
        "done\n['rebut-abuse']\n",
        None,
    ),
];
