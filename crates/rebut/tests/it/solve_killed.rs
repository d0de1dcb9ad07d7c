//! `kill -9` of `rebut solve` while untrusted code runs: nothing of it is left, and `resume` ends
//! as if nothing had happened.

use crate::{
    crash::{check_turns, completed},
    rebut::{Rebut, Started, script_of},
};
use rebut_testkit::processes::{Family, adopt_orphans, wait_until_alone};
use serde_json::{Value, json};
use std::{
    fs::{self, File, OpenOptions},
    path::PathBuf,
    process::Command,
};

/// When the program is killed.
#[derive(Debug)]
enum Moment {
    /// As soon as the record says so of a run.
    Told(&'static str, &'static str),
    /// While the code of that run waits at the gate of that number, a deaf child beside it.
    Inside(&'static str, u32),
}

use Moment::{Inside, Told};

const MOMENTS: &[Moment] = &[
    Told("run.started", "given-tests 1/generator"),
    Inside("given-tests 1/generator", 1),
    Told("run.completed", "given-tests 1/generator"),
    Inside("attack-test A1/generator", 7),
];

#[test]
fn a_killed_solve_leaves_nothing_and_goes_on() {
    adopt_orphans();
    let whole = Machine::new();
    let expected = whole.rebut.json(0, &solve(&["--json"]));
    let id = expected["debate_id"].as_str().expect("an id");
    let transcript = whole.rebut.expect(0, &["show", id, "--transcript"]);
    assert_eq!(expected["result"]["tests"]["passed"], 1, "{expected}");

    for moment in MOMENTS {
        let machine = Machine::new();
        let rebut = &machine.rebut;
        let (id, pid) = machine.killed_at(moment);
        assert_eq!(machine.temporary(), Vec::<PathBuf>::new(), "{moment:?}");
        assert_eq!(groups_of(pid), Vec::<String>::new(), "{moment:?}");
        let before = rebut.events(&id);
        let recorded = completed(&before);

        machine.open_gates();
        let (code, stderr) = rebut.start(&["resume", &id]).finish();
        assert_eq!(code, 0, "{moment:?}: {stderr}");
        let shown = rebut.json(0, &["show", &id, "--json"]);
        assert_eq!(
            (&shown["result"], &shown["outcome"]),
            (&expected["result"], &expected["outcome"]),
            "{moment:?}"
        );
        assert_eq!(
            rebut.expect(0, &["show", &id, "--transcript"]),
            transcript,
            "{moment:?}"
        );
        let events = rebut.events(&id);
        check_turns(&events, &recorded, moment);
        check_runs(&events, before.len(), moment);
        rebut.expect(0, &["audit", "verify", &id]);
        rebut.expect(0, &["replay", &id]);
        wait_until_alone();
        assert_eq!(machine.temporary(), Vec::<PathBuf>::new(), "{moment:?}");
    }
}

/// Every run begins once and ends once, whatever happened between; what was under way at the kill
/// ends after it.
fn check_runs(events: &[Value], before: usize, moment: &Moment) {
    let of = |events: &[Value], kind: &str| -> Vec<String> {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .map(|event| event["data"]["run"].as_str().expect("a name").to_owned())
            .collect()
    };
    let (mut started, mut ended) = (of(events, "run.started"), of(events, "run.completed"));
    started.sort();
    ended.sort();
    assert_eq!(started, ended, "{moment:?}");
    started.dedup();
    assert_eq!(started.len(), ended.len(), "{moment:?}: each once");
    assert_eq!(events[before]["type"], "debate.resumed", "{moment:?}");
    let (earlier, later) = events.split_at(before);
    let under_way: Vec<String> = of(earlier, "run.started")
        .into_iter()
        .filter(|run| !of(earlier, "run.completed").contains(run))
        .collect();
    assert!(
        under_way
            .iter()
            .all(|run| of(later, "run.completed").contains(run)
                && !of(later, "run.started").contains(run)),
        "{moment:?}"
    );
    match moment {
        Inside(run, _) => assert_eq!(under_way, [*run], "{moment:?}"),
        Told("run.completed", run) => assert!(
            !of(later, "run.completed").contains(&(*run).to_owned()),
            "{moment:?}: not run again"
        ),
        Told(..) => {}
    }
}

/// An installation whose Python lives in a folder of its own. Code in a cell sees that folder, so
/// it can be made to wait there.
struct Machine {
    rebut: Rebut,
}

impl Machine {
    fn new() -> Self {
        let mut rebut = Rebut::new();
        rebut.write("script.md", &script());
        rebut.write("t.py", "assert add(1, 2) == 3\n");
        let folder = rebut.path("../python");
        fs::create_dir_all(folder.join("bin")).expect("a folder");
        let folder = folder.canonicalize().expect("it exists");
        rebut.program(
            "../python/bin/python3",
            &format!(
                "[ \"$2\" = -c ] && exec echo {}\nexec /usr/bin/python3 \"$@\"",
                folder.display()
            ),
        );
        rebut.set("PATH", &format!("{}/bin:/usr/bin:/bin", folder.display()));
        Self { rebut }
    }

    fn gate(&self, number: u32) -> PathBuf {
        self.rebut.path(&format!("../python/bin/gate-{number}"))
    }

    /// Runs until that moment, kills, and waits until nobody is left. Which debate, and who ran it.
    fn killed_at(&self, moment: &Moment) -> (String, u32) {
        if let Inside(_, number) = moment {
            let made = Command::new("mkfifo")
                .args(["-m", "644"])
                .arg(self.gate(*number))
                .status();
            assert!(made.expect("mkfifo: install coreutils").success());
        }
        let mut started = self.rebut.start(&solve(&[]));
        let (id, pid) = (started.id.clone(), started.pid());
        let _held_open = self.reach(&mut started, moment);
        let family = Family::below(pid);
        if matches!(moment, Inside(..)) {
            // One cell holds the code and its deaf child, the other one the tests.
            for (who, count) in [
                (" warden", 2),
                ("bwrap", 2),
                ("/in/worker.py", 2),
                ("/in/grader.py", 1),
            ] {
                assert!(family.count(who) >= count, "{moment:?}: {who}: {family:?}");
            }
        }
        started.kill();
        family.wait_until_gone();
        wait_until_alone();
        (id, pid)
    }

    /// Comes back when the moment is there. The code waits until the file is closed.
    fn reach(&self, started: &mut Started, moment: &Moment) -> Option<File> {
        let of = |event: &Value, kind: &str, run: &str| {
            event["type"] == kind && event["data"]["run"] == run
        };
        match moment {
            Told(kind, run) => {
                started.until(|event| of(event, kind, run));
                None
            }
            Inside(run, number) => {
                started.until(|event| of(event, "run.started", run));
                // This waits until somebody reads the other end.
                Some(
                    OpenOptions::new()
                        .write(true)
                        .open(self.gate(*number))
                        .expect("the code opens its side"),
                )
            }
        }
    }

    fn open_gates(&self) {
        let gates = MOMENTS.iter().filter_map(|moment| {
            if let Inside(_, number) = moment {
                Some(self.gate(*number))
            } else {
                None
            }
        });
        gates
            .filter(|gate| gate.exists())
            .for_each(|gate| fs::remove_file(gate).expect("a gate to remove"));
    }

    /// What is in the folder for temporary files.
    fn temporary(&self) -> Vec<PathBuf> {
        fs::read_dir(self.rebut.path("../tmp"))
            .expect("the folder")
            .flatten()
            .map(|entry| entry.path())
            .collect()
    }
}

fn solve<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let usual = [
        "solve",
        "Add two numbers.",
        "--tests",
        "t.py",
        "--entry",
        "add",
        "--judges",
        "generator,red-team,judge",
        "--seed",
        "7",
    ];
    // Nothing but the kill can end code that waits.
    let held = [
        "--phases",
        "proposal,adversarial,convergence",
        "--set",
        "solve.seconds_per_run=600",
        "-m",
        "script:script.md",
        "-q",
    ];
    usual.iter().chain(&held).chain(more).copied().collect()
}

/// Code that waits where there is a gate for its first number; a child of it hears no signal and is
/// in no group of its parent.
fn code(operator: &str) -> String {
    format!(
        "import os, signal\n\
         def add(a, b):\n    \
             gate = os.environ['PATH'].split(':')[0] + '/gate-' + str(a)\n    \
             if os.path.exists(gate):\n        \
                 if os.fork() == 0:\n            \
                     os.setsid()\n            \
                     for number in range(1, 32):\n                \
                         if number not in (signal.SIGKILL, signal.SIGSTOP): signal.signal(number, \
                         signal.SIG_IGN)\n            \
                     while True: signal.pause()\n        \
                 open(gate).read()\n    \
             return a {operator} b\n"
    )
}

fn script() -> String {
    let proposal = |operator| {
        json!({"approach": "Plain.", "code": code(operator), "confidence": 0.9}).to_string()
    };
    let reflection = json!({"root_cause": "I \
        subtracted.", "what_went_wrong": "1 - 2 is \
            -1.", "what_to_change": "Add.", "confidence": 0.9});
    let attack = json!({"attacks": [{"candidate": "C1", "claim": "Larger numbers break \
        it.", "test": "assert add(7, 1) == 8\n"}]});
    let rated = json!({"candidate": "C1", "correctness": 1, "maintainability": 1, "performance": 1, "security": 1, "test_coverage": 0.5, "reason": "Plain."});
    script_of(&[
        ("proposal 1/generator", proposal("-")),
        ("reflection 1/generator", reflection.to_string()),
        ("proposal 2/generator", proposal("+")),
        (
            "lesson/generator",
            json!({"lesson": "Read the verb.", "applies_to": "arithmetic"}).to_string(),
        ),
        ("attack 1/red-team", attack.to_string()),
        ("rubric/judge", json!({"scores": [rated]}).to_string()),
    ])
}

/// Control groups that a process made for its cells and that are still there.
fn groups_of(pid: u32) -> Vec<String> {
    let ours = format!("rebut-cell-{pid}-");
    let mut names = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            names.extend(
                entry
                    .file_name()
                    .into_string()
                    .ok()
                    .filter(|name| name.starts_with(&ours)),
            );
            folders.push(entry.path());
        }
    }
    names
}
