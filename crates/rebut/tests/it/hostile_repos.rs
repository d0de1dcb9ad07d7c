//! Every hostile repository in `tests/hostile`, met by every command: nothing of the user's is
//! read, written, deleted, sent or started, and the user's own question is answered all the same.
//! Each folder's `make.sh` says in its first line what the attacker tries.

mod checks;
mod foreign_host;
mod running;
mod snapshot;
mod stage;
mod users;

use crate::rebut::recommends;
use foreign_host::ForeignHost;
use rebut_testkit::model_server::{Behaviour, ModelServer, Seen};
use running::{Ran, USUAL, served, typed, usual};
use stage::{Notes, Stage};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folders' names begin with one of these; each is a test, so that several run at once.
const GROUPS: &[&str] = &[
    "config", "data", "file", "git", "limits", "output", "program", "role", "url",
];

macro_rules! groups {
    ($($name:ident),*) => {$(
        mod $name {
            /// As whoever runs the tests.
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn repositories_do_no_harm() {
                super::meet(stringify!($name)).await;
            }

            #[test]
            fn repositories_do_no_harm_to_an_ordinary_user() {
                super::users::as_ordinary_user(concat!("hostile_repos::", stringify!($name), "::repositories_do_no_harm"));
            }
        }
    )*};
}
groups!(config, data, file, git, limits, output, program, role, url);

/// The program under test.
fn binary() -> &'static Path {
    variable(users::BINARY, env!("CARGO_BIN_EXE_rebut"))
}

/// The folder of hostile repositories.
fn folder() -> &'static Path {
    variable(
        users::FOLDER,
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile"),
    )
}

/// The recorded examples.
fn examples() -> &'static Path {
    variable(
        users::EXAMPLES,
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"),
    )
}

/// A path that another user is given a copy of.
fn variable(name: &str, usual: &'static str) -> &'static Path {
    std::env::var(name).map_or(Path::new(usual), |path| {
        Path::new(Box::leak(path.into_boxed_str()))
    })
}

/// Every hostile repository, sorted.
fn repositories() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder())
        .expect("the folder of hostile repositories")
        .map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// A folder's name.
fn name_of(repository: &Path) -> String {
    repository
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[test]
fn there_are_many_and_each_says_what_it_tries() {
    let all = repositories();
    assert!(all.len() >= 35, "only {} hostile repositories", all.len());
    for repository in all {
        let name = name_of(&repository);
        assert!(
            GROUPS.contains(&name.split('-').next().unwrap_or_default()),
            "{name} is in no group, so nobody meets it"
        );
        let script = fs::read_to_string(repository.join("make.sh")).expect("a make.sh");
        let first = script.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("# ") && first.ends_with('.') && first.len() > 40,
            "{name} does not say what it tries: {first}"
        );
    }
}

/// Meets every repository of a group with every command, and tells all that was broken.
async fn meet(group: &str) {
    let mut broken = Vec::new();
    let only = std::env::var("REBUT_HOSTILE").unwrap_or_default();
    for repository in repositories()
        .into_iter()
        .filter(|path| name_of(path).starts_with(&format!("{group}-{only}")))
    {
        let rows = fs::read_to_string(repository.join("rows")).unwrap_or_default();
        let mut rows: Vec<Option<&str>> = if rows.is_empty() {
            vec![None]
        } else {
            rows.lines().map(Some).collect()
        };
        // Root has met them all: what differs for an ordinary user are rights,
        // and not how an address is spelled.
        rows.truncate(if users::is_second_run() {
            1
        } else {
            rows.len()
        });
        for row in rows {
            broken.extend(meet_one(&repository, row).await);
        }
    }
    assert!(
        broken.is_empty(),
        "{} promises were broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

/// Everything that was broken by one repository: its name, the command, what.
async fn meet_one(repository: &Path, row: Option<&str>) -> Vec<String> {
    let server = ModelServer::start(|_, seen| answer(seen))
        .await
        .expect("a model server");
    // By name, as people write it, and so that an address of the loopback is not simply the same
    // host.
    let provider = server.base_url().replace("127.0.0.1", "localhost");
    let host = ForeignHost::start();
    let stage = Stage::new(repository, row, &provider);
    let name = row.map_or_else(
        || name_of(repository),
        |row| format!("{} [{row}]", name_of(repository)),
    );
    let notes = match stage.make(&host, &provider) {
        Ok(notes) => notes,
        Err(why) => return vec![format!("{name} · {why}")],
    };
    if let Some(why) = &notes.not_here {
        println!("{name}: not applicable here: {}", why.trim_end());
        return Vec::new();
    }
    let mut met = Met {
        stage: &stage,
        notes: &notes,
        server: &server,
        host: &host,
        before: stage.snapshot(),
        asked: 0,
        broken: Vec::new(),
    };
    // make.sh may have tried its own traps.
    host.visitors();
    met.asked = server.seen().len();
    met.all();
    let kept = checks::kept(&stage)
        .into_iter()
        .map(|what| format!("at the end: {what}"));
    met.broken
        .into_iter()
        .chain(kept)
        .map(|what| format!("{name} · {what}"))
        .collect()
}

/// What the user's own model server says.
fn answer(seen: &Seen) -> Behaviour {
    let (model, body) = (seen.json()["model"].to_string(), &seen.body);
    Behaviour::Say(match () {
        () if model.contains("broken") => return Behaviour::json(404, r#"{"error":{"message":"no such model"}}"#),
        () if body.contains("came without options") => {
            r#"{"options":[{"label":"One","description":"The first."},{"label":"Two","description":"The second."}]}"#.to_owned()
        }
        () if body.contains("operations on the \
            text") => r#"{"summary":"Nothing to change.","operations":[]}"#.to_owned(),
        () => recommends("A"),
    })
}

/// A repository while it is met.
struct Met<'a> {
    stage: &'a Stage,
    notes: &'a Notes,
    server: &'a ModelServer,
    host: &'a ForeignHost,
    before: (snapshot::Snapshot, snapshot::Snapshot),
    /// Requests of the user's provider that were looked at.
    asked: usize,
    broken: Vec<String>,
}

impl Met<'_> {
    /// Runs every command.
    fn all(&mut self) {
        let is_wanted = |name: &str| {
            self.notes.only.is_empty() || self.notes.only.iter().any(|only| only == name)
        };
        for command in USUAL.iter().filter(|(name, ..)| is_wanted(name)) {
            let ran = usual(self.stage, self.notes, *command);
            let asked = self.server.seen().len() - self.asked;
            let own = if ran.name == "own-question" {
                checks::answered(&ran, asked, self.notes)
            } else {
                Vec::new()
            };
            self.check(&ran, own, &[]);
        }
        if is_wanted("serve") {
            let ran = served(self.stage, self.notes);
            self.check(&ran, Vec::new(), &[]);
        }
        for line in &self.notes.also {
            let ran = typed(self.stage, self.notes, line);
            self.check(&ran, Vec::new(), &self.notes.may_write);
        }
        for (codes, line) in &self.notes.must_end {
            let ran = typed(self.stage, self.notes, line);
            let is_right = codes
                .iter()
                .any(|code| ran.ending == running::Ending::Code(*code));
            let own = (!is_right)
                .then(|| format!("ends with {:?}, not with one of {codes:?}", ran.ending));
            self.check(&ran, own.into_iter().collect(), &self.notes.may_write);
        }
    }

    /// Notes everything that a command has broken.
    fn check(&mut self, ran: &Ran, own: Vec<String>, may_write: &[String]) {
        let mut found = own;
        found.extend(checks::ended(ran));
        found.extend(checks::printed(ran, self.notes));
        let seen = self.server.seen();
        for request in &seen[self.asked..] {
            found.extend(checks::sent(request, self.notes));
        }
        self.asked = seen.len();
        found.extend(checks::visited(&self.host.visitors()));
        let now = self.stage.snapshot();
        let changes = [
            self.before.0.changes_to(&now.0),
            self.before.1.changes_to(&now.1),
        ]
        .concat();
        found.extend(checks::changed(self.stage, changes, may_write));
        self.before = now;
        let mut known = std::collections::BTreeSet::new();
        found.retain(|what| known.insert(what.clone()));
        self.broken.extend(
            found
                .into_iter()
                .map(|what| format!("{} · {what}", ran.name)),
        );
    }
}
