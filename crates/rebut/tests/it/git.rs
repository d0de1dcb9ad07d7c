//! `rebut solve --git`: versions become commits of a branch as they come; killed, interrupted,
//! cancelled, in hostile repositories, and with a git that fails. The user's checkout stays as it
//! is, and no debate is lost.

use crate::rebut::{Rebut, script_of};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
    process::Command,
};

const FIRST: &str = "def add(a, b):\n    return a - b\n";
const OTHER: &str = "def add(a, b):\n    return sum((a, b))\n";
const MENDED: &str = "def add(a, b):\n    return a + b\n";

/// Two write and one improves; then both are asked to vote. `improving` is said first by the one
/// that has nothing to improve, `voting` by both: where it is blank nobody votes, and evidence
/// decides.
fn script(improving: &str, voting: &str) -> String {
    let code =
        |text: &str| json!({"approach": "Plain.", "code": text, "confidence": 0.9}).to_string();
    let improved =
        json!({"changed": true, "code": MENDED, "fixed": [], "why": "It added nothing."});
    let fine = json!({"changed": false, "code": "", "fixed": [], "why": "It is fine."});
    let mut said = vec![
        ("proposal 1/generator", code(FIRST)),
        ("proposal 1/implementer", code(OTHER)),
        ("optimization/generator", improved.to_string()),
        ("optimization/implementer", format!("{improving}\n{fine}")),
    ];
    said.extend((!voting.is_empty()).then(|| ("ballot/*", voting.to_owned())));
    script_of(&said)
}

fn solve<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let (usual, phases) = (
        [
            "--judges",
            "generator,implementer",
            "-m",
            "script:../script.md",
        ],
        ["--phases", "proposal,optimization,convergence"],
    );
    let fixed = ["--set", "solve.contrast=false", "--seed", "7"];
    ["solve", "Add two numbers.", "--git"]
        .iter()
        .chain(&usual)
        .chain(&phases)
        .chain(&fixed)
        .chain(more)
        .copied()
        .collect()
}

/// A program in a repository with one commit. The only program on its path is git, as a script that
/// can be told to fail.
struct Stage {
    rebut: Rebut,
}

impl Stage {
    fn new() -> Self {
        let found = Command::new("sh")
            .args(["-c", "command -v git"])
            .output()
            .expect("a shell");
        let git = String::from_utf8(found.stdout)
            .expect("a path")
            .trim()
            .to_owned();
        assert!(!git.is_empty(), "install git: these tests use it");
        let stage = Self {
            rebut: Rebut::new(),
        };
        let (fails, dies) = (stage.at("fails"), stage.at("dies"));
        stage.rebut.program(
            "git",
            &format!(
                "case \" $* \" in\n*' commit-tree '*) if [ -e {fails} ]; then echo 'fatal: no \
                 space left' >&2; exit 128; fi;;\n\
                 *' update-ref '*) if [ -e {dies} ]; then /bin/rm {dies}; {git} \"$@\"; kill -9 \
                 $PPID; fi;;\nesac\nexec {git} \"$@\"",
                fails = fails.display(),
                dies = dies.display(),
            ),
        );
        stage.rebut.write("../script.md", &script("", ""));
        stage.rebut.write("mine.md", "mine\n");
        stage.user(&["init", "-q"]);
        stage.user(&["add", "."]);
        stage.user(&["commit", "-qm", "first"]);
        stage.rebut.write("mine.md", "changed and not committed\n");
        stage
    }

    /// A path beside the repository.
    fn at(&self, name: &str) -> PathBuf {
        self.rebut.path("..").join(name)
    }

    /// Git as the user calls it, with no program of the repository's own.
    fn user(&self, args: &[&str]) -> String {
        let usual = [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "user.name=t",
            "user.email=t@example.org",
            "init.defaultBranch=main",
        ];
        let done = Command::new("git")
            .args(usual.iter().flat_map(|setting| ["-c", setting]))
            .args(args)
            .current_dir(self.rebut.path(""))
            .envs([
                ("HOME", "/nowhere"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_OPTIONAL_LOCKS", "0"),
            ])
            .output()
            .expect("git is installed");
        assert!(
            done.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// The commits of a branch since the first one, oldest first: author and subject.
    fn commits(&self, branch: &str) -> Vec<String> {
        self.user(&[
            "log",
            "--reverse",
            "--format=%an: %s",
            &format!("main..{branch}"),
        ])
        .lines()
        .map(str::to_owned)
        .collect()
    }

    /// What there is in the place of worktrees, by its ending.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.rebut.state().join("worktrees"))
            .into_iter()
            .flatten();
        let ending = |entry: fs::DirEntry| {
            entry
                .path()
                .extension()
                .map_or("folder".to_owned(), |ending| {
                    ending.to_string_lossy().into_owned()
                })
        };
        entries
            .map(|entry| ending(entry.expect("an entry")))
            .collect()
    }

    /// Everything below the repository but git's objects, the branches of debates, and what is said
    /// to be left out: kind, mode and content.
    fn everything(&self, but: &[&str]) -> BTreeMap<String, (u32, Vec<u8>)> {
        let top = self.rebut.path("");
        let own = [
            ".git/objects",
            ".git/refs/heads/debate",
            ".git/logs/refs/heads/debate",
        ];
        let (mut found, mut folders) = (BTreeMap::new(), vec![top.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a directory") {
                let path = entry.expect("an entry").path();
                let name = path
                    .strip_prefix(&top)
                    .expect("below")
                    .display()
                    .to_string();
                let known = path.symlink_metadata().expect("an entry");
                if own.iter().chain(but).any(|left_out| *left_out == name) {
                    continue;
                }
                let content = match () {
                    () if known.is_dir() => Vec::new(),
                    () if known.is_symlink() => fs::read_link(&path)
                        .expect("a link")
                        .into_os_string()
                        .into_encoded_bytes(),
                    () => fs::read(&path).expect("a file"),
                };
                if known.is_dir() {
                    folders.push(path);
                }
                found.insert(name, (known.mode(), content));
            }
        }
        found
    }
}

fn all_commits(winner: &str) -> Vec<String> {
    vec![
        "generator: Version 1 of generator, proposal: nothing was run".to_owned(),
        "implementer: Version 2 of implementer, proposal: nothing was run".to_owned(),
        "generator: Version 3 of generator, optimization: nothing was run".to_owned(),
        format!("{winner}: Version 4 of {winner}, convergence: nothing was run"),
        format!("rebut: Won: version 4 of {winner}: nothing was run"),
    ]
}

/// Who won, and the code that did.
fn winner(stage: &Stage, id: &str) -> (String, &'static str) {
    let result = stage.rebut.json(0, &["show", id, "--json"])["result"].clone();
    let name = result["winner"].as_str().expect("a winner").to_owned();
    let code = if name == "generator" { MENDED } else { OTHER };
    assert_eq!(result["code"], code);
    (name, code)
}

/// The branch holds all of the debate, once; the worktree is gone; and the journal alone gives the
/// very same commits again.
fn check_complete(stage: &Stage, id: &str, file: &str) {
    let branch = format!("debate/{id}");
    let (name, code) = winner(stage, id);
    assert_eq!(stage.commits(&branch), all_commits(&name));
    assert_eq!(stage.user(&["show", &format!("{branch}:{file}")]), code);
    assert_eq!(
        stage.user(&["diff", "--name-only", "main", &branch]).trim(),
        file,
        "candidates' files are gone at the end"
    );
    assert_eq!(stage.user(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(stage.left(), [""; 0]);
    let tip = stage.user(&["rev-parse", &branch]);
    stage.user(&["branch", "-q", "-D", &branch]);
    stage.rebut.expect(0, &["code", id, "--branch", file]);
    assert_eq!(stage.user(&["rev-parse", &branch]), tip);
}

/// Ways in which a repository, or a user's settings, have programs run. Each leaves its own mark in
/// `marks`.
fn set_traps(stage: &Stage) {
    let script = stage.at("trap.sh");
    fs::create_dir(stage.at("marks")).expect("a directory");
    fs::write(
        &script,
        format!(
            "#!/bin/sh\n: > {}/$1\n/bin/cat\n",
            stage.at("marks").display()
        ),
    )
    .expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    let trap = |name: &str| format!("{} {name}", script.display());
    let repo = |name: &str| stage.rebut.path(name);
    fs::write(
        repo(".gitattributes"),
        "* filter=trap diff=trap merge=trap\n*.py filter=tr=a.p\n",
    )
    .expect("a file");
    fs::write(
        repo(".gitmodules"),
        format!(
            "[submodule \"s\"]\n\tpath = s\n\turl = .\n\tupdate = !{}\n",
            trap("module")
        ),
    )
    .expect("a file");
    symlink(stage.at("marks"), repo("linked")).expect("a link");
    stage.user(&["add", "."]);
    stage.user(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},s", stage.user(&["rev-parse", "HEAD"]).trim()),
    ]);
    stage.user(&["commit", "-qm", "traps"]);
    for hook in [
        "post-checkout",
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "pre-auto-gc",
    ] {
        let file = repo(".git/hooks").join(hook);
        fs::create_dir_all(repo(".git/hooks")).expect("a directory");
        fs::write(&file, format!("#!/bin/sh\n{} </dev/null\n", trap(hook))).expect("a hook");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    for (key, value) in [
        ("core.fsmonitor", trap("fsmonitor")),
        ("core.sshCommand", trap("ssh")),
        ("core.pager", trap("pager")),
        ("core.editor", trap("editor")),
        ("filter.trap.smudge", trap("smudge")),
        ("filter.trap.clean", trap("clean")),
        ("filter.trap.process", trap("process")),
        ("filter.trap.required", "true".to_owned()),
        ("diff.external", trap("external")),
        ("diff.trap.textconv", trap("textconv")),
        ("merge.trap.driver", trap("merge")),
        ("commit.gpgSign", "true".to_owned()),
        ("gpg.program", script.display().to_string()),
        ("submodule.recurse", "true".to_owned()),
        ("submodule.s.update", format!("!{}", trap("update"))),
        ("submodule.s.active", "true".to_owned()),
        ("remote.far.url", format!("ext::{}", trap("remote"))),
        ("remote.far.promisor", "true".to_owned()),
        ("gc.auto", "1".to_owned()),
        ("alias.worktree", format!("!{}", trap("alias"))),
        ("filter.tr=a.p.smudge", trap("included")),
        ("filter.tr=a.p.clean", trap("included")),
        ("filter.tr=a.p.required", "true".to_owned()),
    ] {
        stage.user(&["config", key, &value]);
    }
    // The user's own settings are the home's of the program.
    fs::write(
        stage.at(".gitconfig"),
        format!("[core]\n\thooksPath = {}\n", repo(".git/hooks").display()),
    )
    .expect("a file");
    let marks = || {
        fs::read_dir(stage.at("marks"))
            .expect("a directory")
            .map(|mark| mark.expect("a mark").path())
    };
    marks().for_each(|mark| fs::remove_file(mark).expect("a mark"));
    // They are real: used as usual, the repository runs them.
    let naive = Command::new("git")
        .args(["worktree", "add", "-q", "--detach", "../naive"])
        .current_dir(repo(""))
        .output();
    drop(naive.expect("git is installed"));
    let sprung: Vec<PathBuf> = marks().collect();
    for name in ["reference-transaction", "process"] {
        assert!(
            sprung.contains(&stage.at("marks").join(name)),
            "{name} is no trap; there are {sprung:?}"
        );
    }
    marks().for_each(|mark| fs::remove_file(mark).expect("a mark"));
    fs::remove_dir_all(stage.at("naive")).unwrap_or_default();
    stage.user(&["worktree", "prune"]);
    marks().for_each(|mark| fs::remove_file(mark).expect("a mark"));
}

#[test]
fn each_version_is_a_commit_and_a_hostile_repository_runs_nothing_and_stays_as_it_was() {
    let stage = Stage::new();
    set_traps(&stage);
    let before = stage.everything(&[]);
    let seen = |but: &[&str]| {
        let marks: Vec<_> = fs::read_dir(stage.at("marks"))
            .expect("a directory")
            .map(|mark| mark.expect("a mark").file_name())
            .collect();
        assert_eq!(marks, [""; 0], "nothing of the repository's ran");
        stage.everything(but)
    };
    stage.rebut.expect(0, &solve(&["--dry-run"]));
    stage.rebut.expect(0, &solve(&["--estimate"]));
    assert_eq!(
        (seen(&[]), stage.user(&["branch", "--list", "debate/*"])),
        (before.clone(), String::new()),
        "nothing is made"
    );
    assert_eq!(stage.left(), [""; 0]);
    let mut running =
        stage
            .rebut
            .start(&solve(&["--git-file", "src/add.py", "--gate", "proposal"]));
    let id = running.id.clone();
    running.until(|event| event["type"] == "gate.opened");
    assert_eq!(
        seen(&[".git/worktrees"]),
        before,
        "nor is anything touched while it runs"
    );
    // Another process leaves the worktree of one that lives alone.
    stage.rebut.expect(0, &["approve", &id]);
    let (code, said) = running.finish();
    assert_eq!(code, 0, "{said}");
    assert_eq!(seen(&[]), before);
    let branch = format!("debate/{id}");
    for expected in [
        format!("branch {branch}: 5 commits"),
        format!("git log -p {branch}"),
        format!("git branch -D {branch}"),
    ] {
        assert!(said.contains(&expected), "{expected} is not in\n{said}");
    }
    let (name, _) = winner(&stage, &id);
    let quiet = ["-c", "diff.trap.textconv=", "-c", "diff.external="];
    let blame = stage.user(
        &[
            &quiet[..],
            &["blame", "--no-textconv", &branch, "--", "src/add.py"],
        ]
        .concat(),
    );
    assert!(
        blame.lines().count() == 2
            && blame
                .lines()
                .all(|line| line.contains(&format!("({name} "))),
        "{blame}"
    );
    let message = stage.user(&["log", "-1", "--format=%B", &format!("{branch}~2")]);
    assert!(
        message.contains("Turn: optimization/generator\nDebate-Version: 3"),
        "{message}"
    );
    for setting in [
        "filter.trap.process",
        "filter.trap.clean",
        "filter.trap.smudge",
        "diff.external",
        "alias.worktree",
    ] {
        stage.user(&["config", "--unset", setting]);
    }
    stage.user(&["config", "filter.trap.required", "false"]);
    check_complete(&stage, &id, "src/add.py");
}

#[test]
fn what_git_cannot_hold_is_refused_before_anybody_is_asked() {
    let stage = Stage::new();
    let refused = |args: &[&str], expected: &str| {
        let ran = stage.rebut.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert_eq!(
            stage.rebut.json(0, &["ls", "--json"]),
            json!([]),
            "{args:?}"
        );
    };
    let file = |name: &'static str| solve(&["--git-file", name]);
    refused(&file("../x.py"), "cannot be the name");
    refused(&file(".git/hooks/pre-commit"), "belongs to git");
    refused(&file("mine.md/x.py"), "`mine.md` is no folder");
    refused(&["solve", "x", "--git-file", "x.py"], "--git");
    stage.user(&["branch", "debate"]);
    refused(&solve(&[]), "git branch -m debate");
    stage.user(&["branch", "-D", "-q", "debate"]);
    let repository = stage.rebut.path(".git");
    fs::rename(&repository, stage.at("elsewhere")).expect("moved");
    refused(&solve(&[]), "git init");
    stage.user(&["init", "-q"]);
    refused(&solve(&[]), "no commit yet");
    fs::remove_dir_all(&repository).expect("removed");
    stage.user(&["init", "-q", "--bare", "."]);
    refused(&solve(&[]), "is bare");
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn a_killed_debate_goes_on_with_its_branch_and_commits_nothing_twice() {
    for last_seen in ["debate.started", "1", "2", "3", "update-ref"] {
        let stage = Stage::new();
        let before = stage.everything(&[]);
        stage.rebut.write("../script.md", &script("", "!timeout"));
        if last_seen == "update-ref" {
            fs::write(stage.at("dies"), "").expect("a file");
        }
        let mut run = stage.rebut.start(&solve(&[]));
        let id = run.id.clone();
        let branch = format!("debate/{id}");
        match last_seen {
            "debate.started" => run.kill(),
            // The process is dead when the commit is made and before it is noted.
            "update-ref" => drop(run.finish()),
            version => {
                run.until(|event| {
                    event["type"] == "code.recorded"
                        && event["data"]["version"].as_u64() == version.parse().ok()
                });
                run.kill();
            }
        }
        // Whatever is done next removes what the dead one left; its commits stay.
        stage.rebut.expect(0, &["ls"]);
        assert_eq!(
            stage.left(),
            ["branch"],
            "{last_seen}: only where to go on is kept"
        );
        assert_eq!(
            stage.user(&["worktree", "list"]).lines().count(),
            1,
            "{last_seen}"
        );
        assert_eq!(stage.everything(&[]), before, "{last_seen}");
        let made = stage.user(&["branch", "--list", &branch]);
        let commits = if made.is_empty() {
            Vec::new()
        } else {
            stage.commits(&branch)
        };
        assert_eq!(commits, all_commits("")[..commits.len()], "{last_seen}");
        assert_eq!(
            made.is_empty(),
            commits.is_empty(),
            "{last_seen}: a branch without a commit is none"
        );
        assert!(
            last_seen != "update-ref" || commits.len() == 1,
            "{commits:?}"
        );
        stage.rebut.write("../script.md", &script("", ""));
        stage.rebut.expect(0, &["resume", &id]);
        check_complete(&stage, &id, "solution.py");
    }
}

#[test]
fn interrupted_cancelled_and_forgotten_debates_leave_no_worktree() {
    let stage = Stage::new();
    stage
        .rebut
        .write("../script.md", &script("!delay 700ms", ""));
    let start = |version: u32| {
        let mut run = stage.rebut.start(&solve(&[]));
        run.until(|event| event["type"] == "code.recorded" && event["data"]["version"] == version);
        run
    };
    // The turn under way is finished, and with it the third version comes.
    let mut run = start(2);
    run.until(|event| event["type"] == "turn.started");
    let id = run.id.clone();
    run.signal("INT");
    let (code, said) = run.finish();
    assert_eq!(code, 130, "{said}");
    assert!(
        said.contains(&format!("branch debate/{id}: 3 commits")),
        "{said}"
    );
    assert_eq!(
        (
            stage.left(),
            stage.user(&["worktree", "list"]).lines().count()
        ),
        (vec!["branch".to_owned()], 1)
    );
    stage.rebut.expect(0, &["resume", "--all"]);
    check_complete(&stage, &id, "solution.py");

    stage.rebut.write("../script.md", &script("", "!timeout"));
    let run = start(3);
    let id = run.id.clone();
    stage.rebut.expect(0, &["cancel", &id]);
    let (code, said) = run.finish();
    assert_eq!((code, stage.left()), (130, Vec::new()), "{said}");
    let branch = format!("debate/{id}");
    assert_eq!(stage.commits(&branch), all_commits("")[..3]);
    let folder = format!("debate-{}", &id[..8]);
    let files = stage.user(&["diff", "--name-only", "main", &branch]);
    assert_eq!(
        files,
        format!("{folder}/generator.py\n{folder}/implementer.py\n"),
        "nothing has won: both are there"
    );

    // Nothing was written: there is no branch. What was left is known only as long as the debate
    // is.
    stage
        .rebut
        .write("../script.md", &script_of(&[("*", "!timeout".to_owned())]));
    let mut run = stage.rebut.start(&solve(&[]));
    let id = run.id.clone();
    run.until(|event| event["type"] == "turn.started");
    stage.rebut.expect(0, &["cancel", &id]);
    let (_, said) = run.finish();
    assert!(
        said.contains("no code was written, so there is no branch"),
        "{said}"
    );
    assert_eq!(
        stage.user(&["branch", "--list", &format!("debate/{id}")]),
        ""
    );
    let mut run = stage.rebut.start(&solve(&[]));
    run.until(|event| event["type"] == "turn.started");
    let id = run.id.clone();
    run.kill();
    stage.rebut.expect(0, &["rm", &id]);
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn a_git_that_fails_costs_no_debate_and_what_is_missing_can_be_written_later() {
    let stage = Stage::new();
    let before = stage.everything(&[]);
    fs::write(stage.at("fails"), "").expect("a file");
    let ran = stage.rebut.run(&solve(&["--json"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ended: serde_json::Value = serde_json::from_str(&ran.stdout).expect("a document");
    let id = ended["debate_id"].as_str().expect("an id");
    assert_eq!(ended["outcome"], "completed");
    assert_eq!(
        ran.stderr
            .matches("git could not commit: no space left")
            .count(),
        1,
        "said once:\n{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains(&format!("rebut code {} --branch", &id[..8])),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("nothing could be committed, so there is no branch"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        (
            stage.everything(&[]),
            stage.user(&["branch", "--list", "debate/*"])
        ),
        (before, String::new())
    );
    fs::remove_file(stage.at("fails")).expect("removed");
    let again = stage.rebut.run(&["resume", id]);
    assert!(
        again.code == 2 && again.stderr.contains("5 commits") && again.stderr.contains("has ended"),
        "{}",
        again.stderr
    );
    check_complete(&stage, id, "solution.py");
    // One that fails for a while is tried again.
    let mut run = stage
        .rebut
        .start(&solve(&["--gate", "proposal", "--gate", "optimization"]));
    let id = run.id.clone();
    run.until(|event| event["type"] == "gate.opened");
    fs::write(stage.at("fails"), "").expect("a file");
    stage.rebut.expect(0, &["approve", &id]);
    run.until(|event| event["type"] == "gate.opened");
    run.await_stderr("no space left");
    fs::remove_file(stage.at("fails")).expect("removed");
    stage.rebut.expect(0, &["approve", &id]);
    run.finish();
    check_complete(&stage, &id, "solution.py");
}
