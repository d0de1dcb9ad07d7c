//! A PostgreSQL server of a test's own: in a folder that vanishes, reached through a socket in it,
//! ended with the test however that ends.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, Command, Output, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};
use tempfile::TempDir;

/// What is in every URL, and must be shown nowhere.
pub const PASSWORD: &str = "pa55word-canary";

/// A server with no database of ours yet.
pub struct Cluster {
    server: Mutex<Option<Child>>,
    databases: AtomicU32,
    programs: PathBuf,
    owner: Option<Owner>,
    /// Where it listens besides its socket: on this port, with TLS.
    port: Option<u16>,
    folder: TempDir,
}

/// Whom the server runs as when we are root, which it refuses to be.
#[derive(Clone, Copy)]
struct Owner {
    user: u32,
    group: u32,
}

impl Cluster {
    /// Makes it and waits until it answers. A commit does not wait for the disk: it survives all
    /// that a test can do to the server.
    pub fn start() -> Self {
        let cluster = Self::make(None);
        cluster.run();
        cluster
    }

    /// The same, and it can be reached at `localhost` with TLS, by whoever trusts
    /// [`Cluster::authority`].
    pub fn start_with_tls() -> Self {
        let free = TcpListener::bind(("localhost", 0))
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let cluster = Self::make(Some(free.port()));
        fs::write(
            cluster.folder.path().join("names"),
            "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n",
        )
        .expect("a file");
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
        for args in [
            format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=rebut-test"),
            format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"),
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out \
             server.pem -extfile names"
                .to_owned(),
        ] {
            let made = cluster
                .command("openssl")
                .args(args.split(' '))
                .output()
                .expect(
                    "openssl \
                starts: install the package `openssl`",
                );
            assert!(
                made.status.success(),
                "openssl {args}: \
                {}",
                String::from_utf8_lossy(&made.stderr)
            );
        }
        cluster.run();
        cluster
    }

    /// The certificate of the authority that vouches for the server.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The URL of the same database, over the network and with TLS.
    pub fn with_tls(&self, database: &str) -> String {
        let (name, port) = (
            database.rsplit('/').next().unwrap_or(database),
            self.port.expect("a server with TLS"),
        );
        format!("postgres://postgres:{PASSWORD}@localhost:{port}/{name}?sslmode=require")
    }

    fn make(port: Option<u16>) -> Self {
        let cluster = Self::prepare(port);
        let args = [
            "-D",
            "data",
            "-U",
            "postgres",
            "-A",
            "trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ];
        let made = cluster
            .command("initdb")
            .args(args)
            .output()
            .expect("initdb starts");
        assert!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        cluster
    }

    /// A standby of this server, which follows what that writes and can be read. It waits until it
    /// has what is there.
    pub fn standby(&self) -> Self {
        let standby = Self::prepare(None);
        let primary = self.folder.path();
        let args = [
            "-D",
            "data",
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
            "-U",
            "postgres",
            "-h",
        ];
        let made = standby
            .command("pg_basebackup")
            .args(args)
            .arg(primary)
            .output()
            .expect("pg_basebackup starts");
        assert!(
            made.status.success(),
            "pg_basebackup: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        standby.run();
        standby.follow(self);
        standby
    }

    /// Waits until a standby has everything that its primary wrote so far.
    pub fn follow(&self, primary: &Self) {
        let written = primary.ask("postgres", "SELECT pg_current_wal_insert_lsn()");
        // Each look takes a process of its own.
        while self.ask(
            "postgres",
            &format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{written}', false)"),
        ) != "t"
        {}
    }

    /// Makes a standby blind for what its primary writes from now on, as a broken network would.
    pub fn cut_off(&self) {
        self.ask("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
        self.ask("postgres", "SELECT pg_reload_conf()");
        while self.ask("postgres", "SELECT count(*) FROM pg_stat_wal_receiver") != "0" {}
    }

    pub fn promote(&self) {
        let promoted = self
            .command("pg_ctl")
            .args(["-D", "data", "-w", "promote"])
            .output()
            .expect("pg_ctl starts");
        assert!(
            promoted.status.success(),
            "pg_ctl promote: {}",
            String::from_utf8_lossy(&promoted.stdout)
        );
    }

    /// The URL of the same database at whichever of the two servers can be written to.
    pub fn or(&self, database: &str, standby: &Self) -> String {
        let name = database.rsplit('/').next().unwrap_or(database);
        format!(
            "postgres://postgres:{PASSWORD}@{},{}/{name}?target_session_attrs=read-write",
            self.host(),
            standby.host()
        )
    }

    /// Its socket's folder, as a URL has it.
    fn host(&self) -> String {
        self.folder
            .path()
            .to_str()
            .expect("a path in UTF-8")
            .replace('/', "%2F")
    }

    fn prepare(port: Option<u16>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("pg")
            .tempdir()
            .expect("a folder");
        let owner = rustix::process::getuid().is_root().then(owner);
        if let Some(owner) = owner {
            chown(folder.path(), Some(owner.user), Some(owner.group))
                .expect("the folder can be given away");
        }
        Self {
            server: Mutex::new(None),
            databases: AtomicU32::new(0),
            programs: programs(),
            owner,
            port,
            folder,
        }
    }

    /// The URL of a new, empty database.
    pub fn database(&self) -> String {
        self.database_with("")
    }

    /// The same, made with these options of `CREATE DATABASE`.
    pub fn database_with(&self, options: &str) -> String {
        let name = format!("debates{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.ask("postgres", &format!("CREATE DATABASE {name} {options}"));
        format!(
            "postgres://postgres:{PASSWORD}@{}:{}/{name}",
            self.host(),
            self.port.unwrap_or(5432)
        )
    }

    /// What a stranger is told who asks a database (its URL or name) for one value. Anything that
    /// fails, fails the test.
    pub fn ask(&self, database: &str, sql: &str) -> String {
        let output = self
            .psql(database)
            .args(["-c", sql])
            .output()
            .expect("psql starts");
        assert!(
            output.status.success(),
            "{sql}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout)
            .expect("UTF-8")
            .trim_end()
            .to_owned()
    }

    fn psql(&self, database: &str) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        self.at(&mut psql, name_of(database));
        psql
    }

    /// Tells a program where a database is.
    fn at(&self, program: &mut Command, name: &str) {
        program
            .args(["-U", "postgres", "-d", name, "-h"])
            .arg(self.folder.path());
        program.args(["-p", &self.port.unwrap_or(5432).to_string()]);
    }

    /// A backup of everything in a database.
    pub fn back_up(&self, database: &str) -> Backup {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let backup = Backup {
            file: self.folder.path().join(format!("backup{number}")),
        };
        self.run_at(database, "pg_dump", &["-Fc", "-f"], &backup);
        backup
    }

    /// Restores one section of a backup into a database: `pre-data` are the tables, `data` what is
    /// in them, `post-data` their keys.
    pub fn restore(&self, database: &str, backup: &Backup, section: &str) {
        self.run_at(
            database,
            "pg_restore",
            &["-e", "--section", section],
            backup,
        );
    }

    fn run_at(&self, database: &str, program: &str, args: &[&str], backup: &Backup) {
        let mut command = self.command(program);
        self.at(command.args(args).arg(&backup.file), name_of(database));
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(
            output.status.success(),
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Does something in a transaction that stays open, as whoever holds a lock does.
    pub fn hold(&self, database: &str, sql: &str) -> Held {
        let mut psql = self.psql(database);
        let mut psql = psql
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql starts");
        let mut says = psql.stdin.take().expect("piped");
        writeln!(says, "BEGIN;\n{sql};\n\\echo held").expect("it reads");
        let mut heard = BufReader::new(psql.stdout.take().expect("piped")).lines();
        assert!(
            heard.any(|line| line.is_ok_and(|line| line == "held")),
            "{sql} does not succeed"
        );
        Held { psql, says }
    }

    /// Ends the server at once, as a crash would.
    pub fn crash(&self) {
        if let Some(stopped) = self.stop() {
            assert!(
                stopped.status.success(),
                "pg_ctl stop: {}",
                String::from_utf8_lossy(&stopped.stdout)
            );
        }
    }

    /// What came of ending the server, if it ran.
    fn stop(&self) -> Option<Output> {
        let mut server = self
            .server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        let stopped = self
            .command("pg_ctl")
            .args(["-D", "data", "-m", "immediate", "-w", "stop"])
            .output()
            .expect("pg_ctl starts");
        if !stopped.status.success() {
            server
                .kill()
                .expect("a server that does not stop can be killed");
        }
        server.wait().expect("its end");
        Some(stopped)
    }

    /// Starts the server (again), and waits until it answers.
    pub fn run(&self) {
        let mut server = self.command("setpriv");
        // Whatever happens to the test: the server ends with the thread that started it.
        server
            .args(["--pdeathsig", "QUIT", "--"])
            .arg(self.programs.join("postgres"));
        server
            .args(["-D", "data", "-F", "-c", "max_connections=200", "-k"])
            .arg(self.folder.path());
        match self.port {
            Some(port) => server.args(["-h", "localhost", "-p", &port.to_string(), "-c", "ssl=on"]),
            None => server.args(["-h", ""]),
        };
        server.args([
            "-c",
            "ssl_cert_file=../server.pem",
            "-c",
            "ssl_key_file=../server.key",
        ]);
        let mut server = server
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("setpriv starts: install util-linux");
        await_ready(server.stderr.take().expect("piped"));
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
    }

    /// A program in the server's folder, as the server's user.
    fn command(&self, program: &str) -> Command {
        let ours = self.programs.join(program);
        let mut command = Command::new(if ours.exists() {
            ours
        } else {
            PathBuf::from(program)
        });
        command
            .current_dir(self.folder.path())
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        if let Some(owner) = self.owner {
            command.uid(owner.user).gid(owner.group);
        }
        command
    }
}

/// A backup of a database, which goes with its server.
pub struct Backup {
    file: PathBuf,
}

/// The name of a database in its URL.
fn name_of(database: &str) -> &str {
    database
        .rsplit('/')
        .next()
        .and_then(|name| name.split('?').next())
        .unwrap_or(database)
}

pub struct Held {
    psql: Child,
    says: ChildStdin,
}

impl Held {
    /// Commits the transaction, which frees its locks.
    pub fn release(self) {
        let Self { mut psql, mut says } = self;
        writeln!(says, "COMMIT;").expect("it reads");
        drop(says);
        assert!(psql.wait().expect("its end").success());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // After it the folder goes. What a test found out is said already.
        self.stop();
    }
}

/// Reads what the server says until it answers, and on, so that it never waits for a reader.
fn await_ready(said: ChildStderr) {
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    let mut before = Vec::new();
    loop {
        match lines.next() {
            Some(line) if line.contains("database system is ready to accept") => break,
            Some(line) => before.push(line),
            None => panic!("the server does not start:\n{}", before.join("\n")),
        }
    }
    std::thread::spawn(move || lines.for_each(drop));
}

/// The newest PostgreSQL of this machine.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = |folder: &Path| {
        folder
            .parent()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str()?.parse::<u32>().ok())
    };
    let mut versions: Vec<PathBuf> = versions
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    versions.sort_by_key(|folder| named(folder));
    let found = versions
        .pop()
        .or_else(|| std::env::split_paths(&path).find(|folder| folder.join("initdb").exists()));
    found.expect("PostgreSQL is needed: install the package `postgresql`")
}

/// The user that the package made for the server, or nobody.
fn owner() -> Owner {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let owner = users
        .lines()
        .find(|line| line.starts_with("postgres:"))
        .and_then(|line| {
            let mut fields = line.split(':').skip(2);
            Some(Owner {
                user: fields.next()?.parse().ok()?,
                group: fields.next()?.parse().ok()?,
            })
        });
    owner.unwrap_or(Owner {
        user: 65534,
        group: 65534,
    })
}
