//! Worktrees of repositories, also of hostile ones: nothing of theirs runs, nothing of the user's
//! changes, nothing is left behind.

use super::{safely::output, *};
use std::{collections::BTreeMap, fs, process::Command};
use tempfile::TempDir;

/// A repository with two commits, and a place for worktrees.
struct Stage {
    dir: TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self {
            dir: tempfile::tempdir().expect("a directory"),
        };
        fs::create_dir_all(stage.repo().join("src")).expect("a directory");
        fs::create_dir_all(stage.at("marks")).expect("a directory");
        stage.user(&["init", "-q"]);
        for (text, message) in [
            ("def f():\n    return 1\n", "first"),
            ("def f():\n    return 2\n", "second"),
        ] {
            fs::write(stage.repo().join("src/f.py"), text).expect("a file");
            stage.user(&["add", "."]);
            stage.user(&["commit", "-qm", message]);
        }
        stage
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn repo(&self) -> PathBuf {
        self.at("repo")
    }

    fn home(&self) -> PathBuf {
        self.at("home/worktrees")
    }

    /// Git as the user calls it.
    fn user(&self, args: &[&str]) -> String {
        let identity = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "init.defaultBranch=main",
        ];
        let mut command = Command::new("git");
        command
            .args(identity)
            .args(args)
            .current_dir(self.repo())
            .env("HOME", self.at(""))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let done = command.output().expect("git is installed");
        assert!(
            done.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    fn found(&self) -> Repository {
        Repository::find(&self.repo()).expect("a repository")
    }

    fn worktree(&self) -> Worktree {
        Worktree::create(&self.home(), self.found(), DebateId::new(), Branch::Remove)
            .expect("a worktree")
    }

    /// Every file below the repository but git's objects and logs, which only grow.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.repo()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a directory") {
                let path = entry.expect("an entry").path();
                let name = path
                    .strip_prefix(self.repo())
                    .expect("below")
                    .display()
                    .to_string();
                match path.is_dir() {
                    true if [".git/objects", ".git/logs"].contains(&name.as_str()) => {}
                    true => folders.push(path),
                    false => drop(found.insert(name, fs::read(&path).unwrap_or_default())),
                }
            }
        }
        found
    }

    fn marks(&self) -> Vec<String> {
        let mut marks: Vec<String> = fs::read_dir(self.at("marks"))
            .expect("a directory")
            .map(|mark| {
                mark.expect("a mark")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        marks.sort();
        marks
    }
}

fn step(name: &str, code: Option<&str>, message: &str) -> Step {
    let files = vec![(name.to_owned(), code.map(str::to_owned))];
    Step {
        files,
        message: format!("{message}\n"),
        author: "ada".to_owned(),
        at: 1_700_000_000,
    }
}

#[test]
fn snapshots_are_commits_of_a_branch_of_their_own_and_all_of_it_goes() {
    let stage = Stage::new();
    let before = stage.files();
    let mut worktree = stage.worktree();
    let branch = worktree.branch().to_owned();
    assert!(branch.starts_with("debate/") && worktree.path().join("src/f.py").is_file());
    let code = "def f():\n    return 3\n";
    for step in [
        step("src/f.py", Some(code), "version 1"),
        step("src/f.py", Some(code), "the same again"),
        step("src/deep/new.py", Some("x = 1\n"), "version 2"),
        step("gone.py", Some("x = 1\n"), "a file"),
        step("gone.py", None, "and gone"),
    ] {
        worktree.commit(&step).expect("a commit");
    }
    assert_eq!(
        worktree
            .messages()
            .expect("messages")
            .lines()
            .filter(|line| line.starts_with("commit "))
            .count(),
        5
    );
    let diff = stage.user(&["diff", "HEAD", &branch]);
    assert!(
        diff.contains("-    return 2\n+    return 3\n")
            && diff.contains("+++ b/src/deep/new.py")
            && !diff.contains("gone.py"),
        "{diff}"
    );
    let blame = stage.user(&["blame", &branch, "--", "src/f.py"]);
    let authors: Vec<bool> = blame
        .lines()
        .map(|line| line.contains("(ada ") && line.contains("2023-11-14"))
        .collect();
    assert_eq!(authors, [false, true], "{blame}");
    assert_eq!(
        fs::read_to_string(worktree.path().join("src/f.py")).expect("a file"),
        "def f():\n    return 3\n"
    );
    assert_eq!(
        stage.user(&["log", "--format=%s", &branch]).lines().count(),
        7
    );
    assert_eq!(
        stage.user(&["--no-optional-locks", "status", "--porcelain"]),
        "",
        "the user's checkout is as it was"
    );
    assert_eq!(
        stage.user(&["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/main"
    );
    let path = worktree.path();
    worktree.remove(Branch::Remove).expect("removed");
    assert!(!path.exists());
    assert_eq!(
        stage.files(),
        before,
        "nothing is left, and nothing changed"
    );
    assert_eq!(fs::read_dir(stage.home()).expect("a directory").count(), 0);
}

#[test]
fn a_branch_is_kept_on_request_and_where_others_use_it() {
    let stage = Stage::new();
    let mut worktree = stage.worktree();
    let branch = worktree.branch().to_owned();
    worktree
        .commit(&step("a.py", Some("1\n"), "one"))
        .expect("a commit");
    worktree.remove(Branch::Keep).expect("removed");
    assert_eq!(stage.user(&["show", &format!("{branch}:a.py")]), "1\n");
    // Somebody else commits to the branch of another debate: its commit stays.
    let worktree = stage.worktree();
    let branch = worktree.branch().to_owned();
    let other = stage
        .user(&["commit-tree", "-p", "HEAD", "-m", "mine", "HEAD^{tree}"])
        .trim()
        .to_owned();
    stage.user(&["update-ref", &format!("refs/heads/{branch}"), &other]);
    worktree.remove(Branch::Remove).expect("removed");
    assert_eq!(stage.user(&["rev-parse", &branch]).trim(), other);
}

#[test]
fn what_a_dead_process_left_is_removed_at_the_next_start() {
    let stage = Stage::new();
    let before = stage.files();
    assert_eq!(clean_up(&stage.home()).expect("nothing to do"), 0);
    let mut dead = stage.worktree();
    dead.commit(&step("a.py", Some("1\n"), "one"))
        .expect("a commit");
    let living = stage.worktree();
    assert_eq!(clean_up(&stage.home()).expect("both live"), 0);
    let path = dead.path();
    // The lock goes with the process; here with the handle.
    drop(dead);
    assert_eq!(clean_up(&stage.home()).expect("cleaned"), 1);
    assert!(!path.exists() && living.path().exists());
    living.remove(Branch::Remove).expect("removed");
    assert_eq!(stage.files(), before);
    // Its files are gone already, or its repository, or the file says nothing: no reason to fail.
    let gone = stage.worktree();
    fs::remove_dir_all(gone.path()).expect("gone");
    drop(gone);
    fs::write(stage.home().join("odd.owner"), "what?").expect("a file");
    assert_eq!(clean_up(&stage.home()).expect("cleaned"), 1);
    assert_eq!(stage.files(), before);
    drop(stage.worktree());
    fs::remove_dir_all(stage.repo()).expect("gone");
    assert_eq!(clean_up(&stage.home()).expect("cleaned"), 1);
}

#[test]
fn a_branch_of_a_dead_process_goes_on_with_what_it_holds() {
    let stage = Stage::new();
    let id = DebateId::new();
    let create =
        || Worktree::create(&stage.home(), stage.found(), id, Branch::Keep).expect("a worktree");
    let base = stage.files();
    drop(create());
    assert_eq!(clean_up(&stage.home()).expect("cleaned"), 1);
    assert_eq!(
        stage.files(),
        base,
        "a branch to which nothing was committed goes too"
    );
    let mut dead = create();
    dead.commit(&step("a.py", Some("1\n"), "one"))
        .expect("a commit");
    let branch = dead.branch().to_owned();
    drop(dead);
    clean_up(&stage.home()).expect("cleaned");
    assert_eq!(stage.user(&["worktree", "list"]).lines().count(), 1);
    let mut again = Worktree::reopen(&stage.home(), stage.found(), id).expect("it is there");
    assert!(again.messages().expect("messages").contains("\none\n"));
    again
        .commit(&step("a.py", Some("2\n"), "two"))
        .expect("a commit");
    // Somebody moves the branch meanwhile: what is there stays, and it is an error.
    let other = stage
        .user(&[
            "commit-tree",
            "-p",
            &branch,
            "-m",
            "mine",
            &format!("{branch}^{{tree}}"),
        ])
        .trim()
        .to_owned();
    stage.user(&["update-ref", &format!("refs/heads/{branch}"), &other]);
    assert!(again.commit(&step("a.py", Some("3\n"), "three")).is_err());
    again.remove(Branch::Keep).expect("removed");
    assert_eq!(
        stage
            .user(&["log", "--format=%s", &branch])
            .lines()
            .take(3)
            .collect::<Vec<_>>(),
        ["mine", "two", "one"]
    );
    // Where somebody works on it, it is left alone; where it is gone, it begins anew.
    stage.user(&["worktree", "add", "-q", "../other", &branch]);
    assert!(Worktree::reopen(&stage.home(), stage.found(), id).is_err());
    assert_eq!(stage.user(&["rev-parse", &branch]).trim(), other);
    stage.user(&["worktree", "remove", "../other"]);
    stage.user(&["branch", "-q", "-D", &branch]);
    let anew = Worktree::reopen(&stage.home(), stage.found(), id).expect("a new one");
    assert_eq!(anew.messages().expect("messages"), "");
    anew.remove(Branch::Keep).expect("removed");
    assert_eq!(stage.files(), base);
}

#[test]
fn what_cannot_be_a_repository_or_a_name_is_refused() {
    let stage = Stage::new();
    stage.user(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let refused = |dir: &Path| {
        Repository::find(dir)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    assert!(refused(&stage.at("marks")).contains("git could not find the repository"));
    let empty = stage.at("empty");
    fs::create_dir(&empty).expect("a directory");
    output(
        Command::new("git").args(["init", "-q"]).current_dir(&empty),
        b"",
    )
    .expect("git");
    assert!(refused(&empty).contains("no commit yet"));
    assert!(refused(&stage.at("bare.git")).contains("is bare"));
    stage.user(&["branch", "debate"]);
    assert!(refused(&stage.repo()).contains("git branch -m debate"));
    stage.user(&["branch", "-D", "-q", "debate"]);
    let id = DebateId::new();
    stage.user(&["branch", &format!("debate/{id}")]);
    let taken = Worktree::create(&stage.home(), stage.found(), id, Branch::Remove)
        .err()
        .expect("taken")
        .to_string();
    assert!(taken.contains("git branch -D"), "{taken}");
    let long = "x".repeat(201);
    let names = [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        "./a",
        ".git/hooks/pre-commit",
        "a/.GIT/config",
        "GIT~1/config",
        ".gitmodules",
        ".gitattributes",
        "-rf",
        "~/x",
        "a\0b",
        "a\nb",
        "a\u{202e}b",
        "CON",
        "nul.py",
        "com1.txt",
        "a\\b",
        "C:x",
        "a.",
        "a ",
        " a",
        "a*",
        &long,
    ];
    let mut worktree = stage.worktree();
    for name in names {
        for refused in [
            worktree.commit(&step(name, Some("x"), "x")).err(),
            stage.found().check_place(name).err(),
        ] {
            let error = refused.unwrap_or_else(|| panic!("{name:?} was taken"));
            assert!(
                error.is_usage() && error.to_string().contains("cannot be the name"),
                "{name:?}: {error}"
            );
        }
    }
    for name in [
        "solution.py",
        "src/a b.py",
        "Zürich/東京.py",
        "console.py",
        "gitter.py",
    ] {
        stage
            .found()
            .check_place(name)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        worktree
            .commit(&step(name, Some("x\n"), name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    worktree.remove(Branch::Remove).expect("removed");
}

/// Every way known to us in which a repository has programs run, each with its own mark.
fn set_traps(stage: &Stage) {
    let script = stage.at("trap.sh");
    fs::write(
        &script,
        format!("touch {}/$1\ncat\n", stage.at("marks").display()),
    )
    .expect("a script");
    let trap = |name: &str| format!("sh {} {name}", script.display());
    fs::write(
        stage.repo().join(".gitattributes"),
        "* filter=trap diff=trap merge=trap\n*.py filter=tr=a.p diff=trap\n",
    )
    .expect("a file");
    fs::write(
        stage.repo().join(".gitmodules"),
        format!(
            "[submodule \"s\"]\n\tpath = s\n\turl = {}\n\tupdate = !{}\n",
            stage.repo().display(),
            trap("submodule")
        ),
    )
    .expect("a file");
    std::os::unix::fs::symlink(stage.at("marks"), stage.repo().join("linked")).expect("a link");
    stage.user(&["add", "."]);
    stage.user(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},s", stage.user(&["rev-parse", "HEAD"]).trim()),
    ]);
    stage.user(&["commit", "-qm", "traps"]);
    let hooks = stage.repo().join(".git/hooks");
    fs::create_dir_all(&hooks).expect("a directory");
    for hook in [
        "post-checkout",
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "post-rewrite",
        "pre-auto-gc",
        "fsmonitor-watchman",
        "post-merge",
        "update",
    ] {
        fs::write(
            hooks.join(hook),
            format!("#!/bin/sh\n{} </dev/null\n", trap(&format!("hook-{hook}"))),
        )
        .expect("a hook");
        fs::set_permissions(
            hooks.join(hook),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .expect("a mode");
    }
    let settings = [
        ("core.fsmonitor", trap("fsmonitor")),
        ("core.pager", trap("pager")),
        ("core.editor", trap("editor")),
        ("core.sshCommand", trap("ssh")),
        ("core.gitProxy", trap("proxy")),
        ("core.askPass", script.display().to_string()),
        ("core.alternateRefsCommand", trap("alternates")),
        ("filter.trap.smudge", trap("smudge")),
        ("filter.trap.clean", trap("clean")),
        ("filter.trap.process", trap("process")),
        ("filter.trap.required", "true".to_owned()),
        ("diff.external", trap("diff-external")),
        ("diff.trap.command", trap("diff-command")),
        ("diff.trap.textconv", trap("textconv")),
        ("merge.trap.driver", trap("merge")),
        ("commit.gpgSign", "true".to_owned()),
        ("log.showSignature", "true".to_owned()),
        ("gpg.program", script.display().to_string()),
        ("credential.helper", format!("!{}", trap("credential"))),
        ("submodule.recurse", "true".to_owned()),
        (
            "submodule.s.update",
            format!("!{}", trap("submodule-update")),
        ),
        ("submodule.s.active", "true".to_owned()),
        ("protocol.ext.allow", "always".to_owned()),
        ("remote.far.url", format!("ext::{}", trap("remote"))),
        ("remote.far.uploadpack", trap("uploadpack")),
        ("remote.far.promisor", "true".to_owned()),
        ("uploadpack.packObjectsHook", trap("pack-objects")),
        ("branch.autoSetupMerge", "always".to_owned()),
        ("gc.auto", "1".to_owned()),
        ("alias.worktree", format!("!{}", trap("alias"))),
        ("alias.log", format!("!{}", trap("alias"))),
        ("filter.tr=a.p.smudge", trap("smudge-2")),
        ("filter.tr=a.p.clean", trap("clean-2")),
        ("filter.tr=a.p.required", "true".to_owned()),
    ];
    for (key, value) in &settings {
        stage.user(&[
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "config",
            key,
            value,
        ]);
    }
    for mark in stage.marks() {
        fs::remove_file(stage.at("marks").join(mark)).expect("a mark");
    }
}

/// Puts something odd at a path.
type Make = fn(&Path);

#[test]
fn files_of_another_folder_are_not_a_repositorys_own() {
    let stage = Stage::new();
    stage.user(&[
        "config",
        "core.worktree",
        &stage.at("marks").display().to_string(),
    ]);
    let refused = Repository::find(&stage.repo())
        .expect_err("files are elsewhere")
        .to_string();
    assert!(refused.contains("its files are in"), "{refused}");
    stage.user(&["config", "--unset", "core.worktree"]);
    fs::create_dir(stage.at("other")).expect("a directory");
    fs::write(
        stage.at("other/.git"),
        format!("gitdir: {}\n", stage.repo().join(".git").display()),
    )
    .expect("a file");
    let refused = Repository::find(&stage.at("other"))
        .expect_err("another's repository")
        .to_string();
    assert!(refused.contains("which knows nothing of it"), "{refused}");
    // Neither links nor pipes stand among a repository's own files, and its settings hold
    // everywhere.
    let odd: [(&str, Make); 3] = [
        (".git/refs/heads/linked", |at| {
            std::os::unix::fs::symlink("/tmp", at).expect("a link")
        }),
        (".git/objects/zz", |at| {
            std::os::unix::fs::symlink("/tmp", at).expect("a link")
        }),
        (".git/info/grafts", |at| {
            assert!(
                Command::new("mkfifo")
                    .arg(at)
                    .status()
                    .expect("mkfifo is there")
                    .success()
            )
        }),
    ];
    for (name, make) in odd {
        make(&stage.repo().join(name));
        let refused = Repository::find(&stage.repo()).expect_err(name).to_string();
        assert!(
            refused.contains("is no regular file or folder"),
            "{name}: {refused}"
        );
        fs::remove_file(stage.repo().join(name)).expect("gone");
    }
    stage.user(&["config", "includeIf.onbranch:debate/**.path", "evil.inc"]);
    let refused = Repository::find(&stage.repo())
        .expect_err("settings for some branches")
        .to_string();
    assert!(refused.contains("its settings include others"), "{refused}");
    stage.user(&["config", "--unset", "includeIf.onbranch:debate/**.path"]);
    // A worktree is named by its repository, as a submodule is.
    stage.user(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "beside",
        &stage.at("beside").display().to_string(),
    ]);
    assert!(Repository::find(&stage.at("beside")).is_ok());
}

#[test]
fn nothing_of_a_hostile_repository_runs() {
    let stage = Stage::new();
    set_traps(&stage);
    // The traps are real: used as usual, the repository runs them.
    let naive = Command::new("git")
        .args(["worktree", "add", "-q", "-b", "naive"])
        .arg(stage.at("naive"))
        .current_dir(stage.repo())
        .output();
    drop(naive.expect("git is installed"));
    let sprung = stage.marks();
    for trap in ["hook-reference-transaction", "process"] {
        assert!(
            sprung.iter().any(|mark| mark == trap),
            "{trap} is no trap; there are {sprung:?}"
        );
    }
    for mark in sprung {
        fs::remove_file(stage.at("marks").join(mark)).expect("a mark");
    }
    let (config, index) = (
        stage.repo().join(".git/config"),
        stage.repo().join(".git/index"),
    );
    let before = (
        fs::read(&config).expect("settings"),
        fs::read(&index).expect("an index"),
    );
    let mut worktree = stage.worktree();
    assert!(
        !worktree.path().join("linked").is_symlink(),
        "a link is a plain file here"
    );
    for number in 1..=2 {
        let code = format!("def f():\n    return 'hostile {number}'\n");
        worktree
            .commit(&step("src/f.py", Some(&code), &format!("version {number}")))
            .expect("a commit");
    }
    assert!(
        worktree
            .commit(&step("linked/x", Some("x"), "through a link"))
            .is_err(),
        "a link leads nowhere"
    );
    for (name, why) in [
        ("linked/x", "`linked` is no folder"),
        ("linked", "is no plain file"),
        ("s/x.py", "`s` is no folder"),
        ("src", "is no plain file"),
    ] {
        let refused = stage
            .found()
            .check_place(name)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(refused.contains(why), "{name}: {refused}");
    }
    assert!(worktree.messages().expect("messages").contains("version 2"));
    drop(worktree);
    assert_eq!(clean_up(&stage.home()).expect("cleaned"), 1);
    assert_eq!(stage.marks(), [""; 0], "not one of them ran");
    assert_eq!(
        (
            fs::read(&config).expect("settings"),
            fs::read(&index).expect("an index")
        ),
        before
    );
}
