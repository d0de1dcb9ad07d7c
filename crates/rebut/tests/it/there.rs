//! The command line at a server: each command here and there on the same input prints and writes
//! the same, and what cannot be done there is refused.

use crate::{
    rebut::{Output, Rebut, case, recommends, script, script_of, split_then_c},
    served::Served,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// Where git and the sandbox's own programs are.
const SYSTEM: &str = "/usr/bin:/bin";
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const GOOD: &str = "def add(a, b):\n    return a + b\n";

/// A machine that debates itself, and one that has a server debate.
struct Worlds {
    here: World,
    there: World,
    served: Served,
    /// The machine of the server.
    house: Rebut,
}

struct World {
    rebut: Rebut,
    /// Debates in the order they began.
    ids: Vec<String>,
}

/// What a command left.
#[derive(Debug, PartialEq)]
struct Left {
    code: i32,
    stdout: String,
    files: Vec<(String, String)>,
}

/// Scripts of all formats; both machines and the server have them.
fn furnish(rebut: &mut Rebut) {
    rebut.set("PATH", SYSTEM);
    rebut.user_config("[server]\nrequests_per_minute = 1000000\n");
    rebut.write("debate.md", &script_of(&split_then_c()));
    let example = |name: &str| fs::read_to_string(Path::new(EXAMPLES).join(name)).expect(name);
    let quick = |text: String| {
        text.lines()
            .filter(|line| !line.starts_with("!delay"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    for format in ["challenge", "evaluate", "review", "solve"] {
        rebut.write(
            &format!("{format}.md"),
            &quick(example(&format!("{format}/script.md"))),
        );
    }
    rebut.write("prompt.md", &example("review/prompt.md"));
    rebut.write(
        "idea.md",
        "# Ward handover\n\nNurses lose 40 minutes a shift to handover on \
        paper. Three clinics asked for a pilot.\n",
    );
    rebut.write("notes.md", "Half of our users travel.\n");
    let answer = |option: &str| {
        json!({"reasons": ["so"], "answer": option, "confidence": 0.8, "summary": "it is"})
            .to_string()
    };
    rebut.write(
        "arms.md",
        &script(&[("*/risk", &answer("A")), ("*", &answer("B"))]),
    );
    let code = json!({"approach": "Plain.", "code": GOOD, "confidence": 0.9}).to_string();
    rebut.write("code.md", &script(&[("proposal 1/generator", &code)]));
    rebut.write("t.py", "assert add(1, 2) == 3\n");
}

impl Worlds {
    fn new() -> Self {
        let [mut here, mut there, mut house] = [(); 3].map(|()| Rebut::new());
        [&mut here, &mut there, &mut house]
            .into_iter()
            .for_each(furnish);
        // The key has the user's name, so that what people do is on record under the same name.
        let token = house
            .expect(
                0,
                &[
                    "keys", "add", "tester", "--owner", "tester", "--role", "admin",
                ],
            )
            .trim()
            .to_owned();
        let mut served = Served::start(&house, &["--allow-scripts"]);
        served.token.clone_from(&token);
        there.set("REBUT_SERVER", &served.url());
        there.set("REBUT_TOKEN", &token);
        for (rebut, name) in [(&here, "here"), (&there, "there")] {
            repository(rebut, name);
        }
        let world = |rebut: Rebut| World {
            rebut,
            ids: Vec::new(),
        };
        Self {
            here: world(here),
            there: world(there),
            served,
            house,
        }
    }

    /// Runs a command in both worlds: it must leave the same. Says what does not.
    fn differs(&mut self, args: &[&str], files: &[&str], code: i32) -> Option<String> {
        let (mut left, mut said): (Vec<Left>, Vec<Output>) = (Vec::new(), Vec::new());
        for world in [&mut self.here, &mut self.there] {
            files
                .iter()
                .for_each(|file| drop(fs::remove_file(world.rebut.path(file))));
            let output = world.rebut.run(args);
            world.learn();
            let text = |file: &str| {
                fs::read_to_string(world.rebut.path(file))
                    .unwrap_or_else(|error| format!("({error})"))
            };
            let read = |file: &&str| ((*file).to_owned(), world.settled(&text(file)));
            left.push(Left {
                code: output.code,
                stdout: world.settled(&output.stdout),
                files: files.iter().map(read).collect(),
            });
            said.push(output);
        }
        let (here, there) = (&left[0], &left[1]);
        let is_written = there
            .files
            .iter()
            .all(|(_, text)| !text.starts_with("(No such file"));
        let told = || {
            format!(
                "{args:?} expected {code}\nhere: {here:#?}\n{}\nthere: {there:#?}\n{}",
                said[0].stderr, said[1].stderr
            )
        };
        (here != there || ![AS_IT_RUNS, there.code].contains(&code) || !is_written).then(told)
    }
}

impl World {
    /// Takes note of debates that are new.
    fn learn(&mut self) {
        let listed = self.rebut.json(0, &["ls", "-n", "0", "--json"]);
        let ids = listed
            .as_array()
            .expect("a list")
            .iter()
            .rev()
            .map(|row| row["id"].as_str().expect("an id").to_owned());
        let new: Vec<String> = ids.filter(|id| !self.ids.contains(id)).collect();
        self.ids.extend(new);
    }

    /// A text without what differs between two runs: ids, times, hashes.
    fn settled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (number, id) in self.ids.iter().enumerate() {
            text = text
                .replace(id.as_str(), &format!("ID-{number}"))
                .replace(&id[..8], &format!("ID-{number}"));
        }
        text.split_inclusive('\n').map(without_times).collect()
    }
}

/// What separates words in texts, JSON and HTML.
const BETWEEN: [char; 10] = [' ', '"', ',', '(', ')', '\n', '|', '`', '<', '>'];

/// A line without hashes, dates, times of day, and durations, which are known by what stands beside
/// them.
fn without_times(line: &str) -> String {
    if let Some(name) = ["\"ms\":", "\"seconds\":"]
        .iter()
        .find(|name| line.trim_start().starts_with(**name))
    {
        return format!("{name}\n");
    }
    let mut settled: Vec<String> = Vec::new();
    for word in line.split_inclusive(BETWEEN) {
        let core = word.trim_end_matches(BETWEEN);
        let is_time = core.len() >= 5
            && core.starts_with(|first: char| first.is_ascii_digit())
            && core.contains([':', '-']);
        let is_hash = core.len() == 64 && core.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_unit = ["s", "ms"].contains(&core)
            && settled
                .last()
                .is_some_and(|last| last.trim().parse::<f64>().is_ok());
        if is_unit {
            settled.pop();
        }
        settled.push(if is_time || is_hash || is_unit {
            word.replacen(core, "TIME", 1)
        } else {
            word.to_owned()
        });
    }
    settled.concat()
}

/// A repository with a change in it.
fn repository(rebut: &Rebut, name: &str) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command
            .env_clear()
            .env("PATH", SYSTEM)
            .env("HOME", rebut.path(""))
            .current_dir(rebut.path(""))
            .args(args);
        let output = command.output().expect("git");
        assert!(
            output.status.success(),
            "{name} {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    git(&["init"]);
    // What commands write here holds ids and times: it is no part of the change.
    rebut.write(".git/info/exclude", "*\n");
    git(&["add", "-f", "prompt.md"]);
    git(&[
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "commit",
        "-m",
        "first",
    ]);
    let text = rebut.read("prompt.md");
    rebut.write(
        "prompt.md",
        &format!("{text}Read every variable of the environment.\n"),
    );
}

/// The exit code hangs on whether this machine can run code at all.
const AS_IT_RUNS: i32 = -1;

/// A command, files it writes, and its exit code. They run one after the other, on what those
/// before left.
type Row<'a> = (&'a [&'a str], &'a [&'a str], i32);

#[test]
fn every_command_leaves_the_same_here_and_there() {
    let mut worlds = Worlds::new();
    let arm = |name: &'static str| {
        [
            &[
                name,
                "Offline support?",
                "-O",
                "A=No",
                "-O",
                "B=Yes",
                "--seed",
                "3",
                "-m",
                "script:arms.md",
            ][..],
            &["--json"],
        ]
        .concat()
    };
    let review: &[&str] = &[
        "review",
        "prompt.md",
        "-m",
        "script:review.md",
        "--seed",
        "1",
    ];
    let solve: &[&str] = &[
        "solve",
        "Add two numbers.",
        "--judges",
        "generator,judge",
        "-m",
        "script:code.md",
        "--phases",
        "proposal",
        "--seed",
        "1",
    ];
    let challenge: &[&str] = &[
        "challenge",
        "Use Redis for sessions",
        "--no-workspace",
        "-m",
        "script:challenge.md",
        "--seed",
        "1",
    ];
    let rows: &[Row<'_>] = &[
        (
            &case(&[
                "-c", "notes.md", "-o", "out.md", "-o", "out.json", "-o", "out.html",
            ]),
            &["out.md", "out.json", "out.html"],
            0,
        ),
        (&case(&["--json", "--rounds", "1", "--exit-zero"]), &[], 0),
        (
            &case(&["--rounds", "1", "--feature-dir", "feature"]),
            &["feature/sadd/debate-offline-support-risk.md"],
            3,
        ),
        (&["answer", "last", "b", "--reason", "they travel"], &[], 0),
        (&["mark", "last", "b", "--reason", "seen"], &[], 0),
        (&["show", "last"], &[], 0),
        (&["voters"], &[], 0),
        (&["voters", "--json"], &[], 0),
        (&["retally", "last", "--threshold", "0.3"], &[], 3),
        (&["retally", "last", "--method", "borda", "--json"], &[], 3),
        (&["topology", "last"], &[], 0),
        (&["topology", "last", "--mermaid"], &[], 0),
        (
            &[
                "fork",
                "last",
                "--at",
                "recommend",
                "--threshold",
                "0.3",
                "-o",
                "fork.md",
            ],
            &["fork.md"],
            3,
        ),
        (
            &case(&["--max-calls", "3", "-o", "later.md"]),
            &["later.md"],
            5,
        ),
        (&["resume", "last", "--max-calls", "20"], &["later.md"], 0),
        (&["resume", "last"], &[], 2),
        (
            &[
                "decide",
                "What about Sundays?",
                "--follow",
                "last",
                "-m",
                "script:debate.md",
                "--seed",
                "2",
            ],
            &[],
            0,
        ),
        (
            &[
                "Offline support?",
                "-O",
                "A=No",
                "-O",
                "B=Yes",
                "-O",
                "C=Some",
                "-m",
                "script:debate.md",
                "--seed",
                "7",
            ],
            &[],
            0,
        ),
        (&arm("single"), &[], 0),
        (&arm("poll"), &[], 0),
        (&arm("society"), &[], 0),
        (challenge, &[], 0),
        (&["export", "last", "-f", "markdown"], &[], 0),
        (
            &[
                "evaluate",
                "idea.md",
                "-m",
                "rehearsal",
                "--seed",
                "1",
                "--fail-on",
                "9.9",
            ],
            &["analysis/debate.md", "analysis/debate.json"],
            6,
        ),
        (
            &[
                review,
                &["--write", "out", "-o", "r.sarif", "-o", "r.comment.md"],
            ]
            .concat(),
            &[
                "out/prompt.merged.md",
                "out/prompt.diff",
                "r.sarif",
                "r.comment.md",
            ],
            0,
        ),
        (
            &[
                review,
                &[
                    "--debate",
                    "--fail-on",
                    "low",
                    "--reviewers",
                    "security,testing",
                ],
            ]
            .concat(),
            &[],
            6,
        ),
        (
            &[
                "review",
                "--diff",
                "HEAD",
                "-m",
                "rehearsal",
                "--seed",
                "1",
                "--no-edit",
            ],
            &[],
            0,
        ),
        (&["policy", "insights"], &[], 0),
        (&["policy", "insights", "--json", "--days", "2"], &[], 0),
        (
            &[solve, &["--tests", "t.py", "--code", "won.py"]].concat(),
            &["won.py"],
            AS_IT_RUNS,
        ),
        (&["code", "last"], &[], 0),
        (&["code", "last", "--history", "--json"], &[], 0),
        (&["code", "last", "--apply", "again.py"], &["again.py"], 0),
        (&["replay", "last"], &[], 0),
        (&["audit", "verify", "last", "--json"], &[], 0),
        (
            &["audit", "redact", "last", "4", "--reason", "private"],
            &[],
            0,
        ),
        (&["audit", "verify", "--all"], &[], 0),
        (&["show", "last", "--transcript"], &[], 0),
        (&["ls"], &[], 0),
        (&["ls", "-n", "3", "--json"], &[], 0),
        (&["ls", "--status", "completed", "-n", "2"], &[], 0),
        (&["ls", "--status", "consensus", "-n", "2"], &[], 0),
        (&case(&["--estimate"]), &[], 0),
        (&case(&["--estimate", "--json"]), &[], 0),
        (&["rm", "last"], &[], 0),
        (&["rm", "--older-than", "1", "--yes"], &[], 0),
        (&["resume", "--all"], &[], 0),
        (&["gates"], &[], 0),
        (&["show", "ffff"], &[], 2),
        (&["show", "no-id"], &[], 2),
        (&case(&["-o", "x.sarif"]), &[], 2),
        (&case(&["--set", "decide.max_round=2"]), &[], 2),
    ];
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(args, files, code)| worlds.differs(args, files, *code))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(
        !worlds.there.rebut.data().join("rebut.db").exists(),
        "nothing is kept here of what is there"
    );
    // Of more debates than there are digits, two begin alike.
    (0..3).for_each(|_| drop(worlds.there.rebut.expect(0, &arm("single"))));
    let ids = worlds.there.rebut.json(0, &["ls", "-n", "0", "--json"]);
    let firsts: Vec<&str> = ids
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|row| row["id"].as_str()?.get(..1))
        .collect();
    assert!(firsts.len() > 16, "{firsts:?}");
    let twice = firsts
        .iter()
        .find(|first| firsts.iter().filter(|other| other == first).count() > 1)
        .expect("two that begin alike");
    let unclear = worlds.there.rebut.run(&["show", twice]);
    assert!(
        unclear.code == 2
            && unclear.stderr.contains(" or ")
            && unclear.stderr.contains("type more of the id"),
        "{}",
        unclear.stderr
    );
    assert_eq!(
        worlds.house.expect(0, &["ls", "-n", "0"]),
        worlds.there.rebut.expect(0, &["ls", "-n", "0"])
    );
    worlds.served.signal("TERM");
    assert_eq!(worlds.served.finish().0, 0);
}

/// A client of a server, and the server's machine.
fn client(house: &Rebut, served: &Served) -> Rebut {
    let mut client = Rebut::new();
    furnish(&mut client);
    client.set("REBUT_SERVER", &served.url());
    client.set("REBUT_TOKEN", &served.token);
    assert!(house.data().exists());
    client
}

#[test]
fn what_cannot_be_done_there_is_refused_before_anything_is_sent() {
    let mut house = Rebut::new();
    furnish(&mut house);
    let served = Served::start(&house, &["--allow-scripts"]);
    let client = client(&house, &served);
    let rows: &[(&[&str], &str)] = &[
        (
            &["import", "x.ndjson"],
            "only whoever runs the server can say whose seals count there",
        ),
        (
            &["policy", "propose", "risk"],
            "it words a role file of this machine",
        ),
        (
            &case(&["--dry-run"]),
            "--dry-run cannot be used with a server",
        ),
        (
            &case(&["--baseline", "poll"]),
            "--baseline cannot be used with a server",
        ),
        (
            &case(&["--weights", "learned"]),
            "--weights cannot be used with a server",
        ),
        (
            &case(&["--allow-unknown-price"]),
            "--allow-unknown-price cannot be used with a server",
        ),
        (
            &case(&["--set", "budget.max_calls=3"]),
            "`--set budget.…` belongs to whoever runs the server",
        ),
        (
            &["challenge", "Use Redis", "--debates", "d"],
            "--debates cannot be used with a server",
        ),
        (
            &["solve", "Add.", "--git"],
            "--git cannot be used with a server",
        ),
        (
            &["solve", "Add.", "--hook", "post-proposal=sh"],
            "--hook cannot be used with a server",
        ),
        (
            &["solve", "Add.", "--set", "solve.embeddings=\"a:b\""],
            "`config.embeddings` cannot be said in a request",
        ),
        (
            &["resume", "last", "--allow-unknown-price"],
            "--allow-unknown-price cannot be used with a server",
        ),
        (
            &case(&["-m", "openai:gpt-5"]),
            "not among the models of this server",
        ),
        (&case(&["--judges", "nobody"]), "there is no role"),
        (&case(&["--panel", "none"]), "there is no panel"),
    ];
    for (args, why) in rows {
        let refused = client.run(args);
        assert!(
            refused.code == 2 && refused.stderr.contains(why),
            "{args:?}: {}",
            refused.stderr
        );
    }
    assert_eq!(
        served.ask("GET", "/v1/debates", None).json()["debates"],
        json!([]),
        "nothing of it began"
    );
    let without = house.run(&["turns", "last"]);
    assert!(
        without.code == 2 && without.stderr.contains("rebut --server URL turns ID"),
        "{}",
        without.stderr
    );
    // What is about this machine stays so.
    client.expect(0, &["schema", "config"]);
    client.expect(0, &["config", "path"]);
}

#[test]
fn foreign_debates_wrong_keys_and_servers_that_are_away_are_told_apart() {
    let mut house = Rebut::new();
    furnish(&mut house);
    let key = |name: &str, owner: &str, role: &str| {
        house
            .expect(0, &["keys", "add", name, "--owner", owner, "--role", role])
            .trim()
            .to_owned()
    };
    let (mine, reads, others) = (
        key("mine", "tester", "admin"),
        key("reads", "tester", "viewer"),
        key("others", "others", "admin"),
    );
    let mut served = Served::start(&house, &["--allow-scripts"]);
    served.token = mine;
    let mut client = client(&house, &served);
    client.expect(0, &case(&[]));
    let id = client.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let commands: &[&[&str]] = &[
        &["show"],
        &["code"],
        &["replay"],
        &["retally"],
        &["rm"],
        &["resume"],
        &["fork", "--at", "end"],
        &["audit", "verify"],
        &["turns"],
    ];
    client.set("REBUT_TOKEN", &others);
    for command in commands {
        for given in [&id[..], &id[..8]] {
            let refused = client.run(&[command, &[given][..]].concat());
            let told = ["there is no such thing here", "no debate `"]
                .iter()
                .any(|words| refused.stderr.contains(words));
            assert!(
                refused.code == 2 && told && refused.stderr.contains("rebut ls"),
                "{command:?} {given}: {}",
                refused.stderr
            );
        }
    }
    client.set("REBUT_TOKEN", &reads);
    client.expect(0, &["show", &id]);
    for command in [
        &["rm", &id][..],
        &["resume", &id],
        &["mark", &id, "A"],
        &["audit", "redact", &id, "3", "--reason", "r"],
        &case(&[]),
    ] {
        let refused = client.run(command);
        assert!(
            refused.code == 2 && refused.stderr.contains("this one is `viewer`"),
            "{command:?}: {}",
            refused.stderr
        );
    }
    client.set("REBUT_TOKEN", "rebut_0");
    let unknown = client.run(&["voters"]);
    assert!(
        unknown.code == 2 && unknown.stderr.contains("does not know this key"),
        "{}",
        unknown.stderr
    );
    drop(served);
    for command in [&["voters"][..], &case(&[]), &["turns", &id], &["rm", &id]] {
        let away = client.run(command);
        let told = ["does not answer", "Connection refused"]
            .iter()
            .all(|words| away.stderr.contains(words));
        assert!(away.code == 1 && told, "{command:?}: {}", away.stderr);
    }
}

#[test]
fn whoever_stops_watching_is_told_how_to_go_on_and_gets_the_files_then() {
    let mut house = Rebut::new();
    furnish(&mut house);
    house.write("agree.md", &script(&[("*", &recommends("A"))]));
    let served = Served::start(&house, &["--allow-scripts"]);
    let client = client(&house, &served);
    let answer = json!({
        "option": "A", "ranking": ["A", "B"], "confidence": 0.8, "summary": "it \
            is", "claims": ["so"], "flips_if": "never",
    });
    client.write("answer.json", &answer.to_string());
    // A person is waited for, so that it goes on as long as is needed.
    let panel = [
        "-m",
        "script:agree.md",
        "-m",
        "effort=human",
        "-o",
        "out.md",
    ];
    let mut run = client.start(
        &[
            &["decide", "Offline?", "-O", "A=No", "-O", "B=Yes"][..],
            &panel,
        ]
        .concat(),
    );
    let id = run.id.clone();
    run.until(|event| event["type"] == "turn.completed");
    run.signal("INT");
    let (code, stderr) = run.finish();
    assert_eq!(code, 130, "{stderr}");
    assert!(
        stderr.contains("the debate goes on at the server")
            && stderr.contains(&format!("rebut resume {}", &id[..8])),
        "{stderr}"
    );
    assert!(!client.path("out.md").exists());
    let resumed = client.start(&["resume", &id]);
    client.expect(
        0,
        &["turns", &id, "recommend/effort", "--reply", "answer.json"],
    );
    let (code, stderr) = resumed.finish();
    assert_eq!(code, 0, "{stderr}");
    assert!(
        client.read("out.md").contains("Offline?"),
        "what was to be done at its end is done then"
    );
    assert_eq!(
        served
            .events(&id)
            .iter()
            .filter(|event| event["type"] == "debate.resumed")
            .count(),
        0,
        "it was never interrupted"
    );
    // Once more there is nothing left to do.
    let again = client.run(&["resume", &id]);
    assert!(
        again.code == 2 && again.stderr.contains("nothing to resume"),
        "{}",
        again.stderr
    );
}

#[test]
fn what_was_paused_there_is_gone_on_with_and_ends_as_it_was_to() {
    let mut house = Rebut::new();
    furnish(&mut house);
    let mut replies = split_then_c();
    for slow in [1, 2] {
        replies[slow].1 = format!("!delay 4s\n{}", replies[slow].1);
    }
    house.write("debate.md", &script_of(&replies));
    let served = Served::start(&house, &["--allow-scripts"]);
    let client = client(&house, &served);
    let paused = |file: &str| {
        let mut run = client.start(&case(&["-o", file]));
        let id = run.id.clone();
        run.until(|event| event["type"] == "turn.completed");
        assert_eq!(
            served
                .ask("POST", &format!("/v1/debates/{id}/pause"), Some(&json!({})))
                .status,
            202
        );
        let (code, stderr) = run.finish();
        assert!(
            code == 130
                && stderr.contains(&format!(
                    "left at the server before its end; go on with: rebut resume {}",
                    &id[..8]
                )),
            "{stderr}"
        );
        id
    };
    let ids = [paused("one.md"), paused("two.md"), paused("three.md")];
    assert_eq!(
        client
            .json(0, &["ls", "--status", "paused", "--json"])
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    let one = client.run(&["resume", &ids[0][..8], "--json"]);
    assert!(
        one.code == 0 && one.stdout.contains("\"consensus\""),
        "{}{}",
        one.stdout,
        one.stderr
    );
    let all = client.expect(0, &["resume", "--all"]);
    assert!(
        ids[1..]
            .iter()
            .all(|id| all.contains(&format!("{}  consensus  ", &id[..8]))),
        "{all}"
    );
    for file in ["one.md", "two.md", "three.md"] {
        assert!(client.read(file).contains("Offline support?"), "{file}");
    }
}

#[test]
fn limits_of_this_machine_hold_there_too_and_those_of_the_server_hold_anyway() {
    let mut house = Rebut::new();
    furnish(&mut house);
    house.user_config("[budget]\nmax_calls = 5\n");
    let served = Served::start(&house, &["--allow-scripts"]);
    let client = client(&house, &served);
    for (own, typed, calls) in [
        ("", "9", 5),
        ("", "4", 4),
        ("[budget]\nmax_calls = 3\n", "4", 4),
        ("[budget]\nmax_calls = 3\n", "", 3),
    ] {
        client.user_config(own);
        let more: &[&str] = if typed.is_empty() {
            &[]
        } else {
            &["--max-calls", typed]
        };
        client.expect(5, &case(more));
        let id = client.json(0, &["ls", "-n", "1", "--json"])[0]["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let pinned = served.ask("GET", &format!("/v1/debates/{id}"), None).json()["limits"]["caps"]
            ["calls"]
            .clone();
        assert_eq!(pinned, calls, "{own:?} {typed}");
    }
}

#[test]
fn a_journal_is_checked_here_where_its_seals_are_trusted_here() {
    let mut house = Rebut::new();
    furnish(&mut house);
    let served = Served::start(&house, &["--allow-scripts"]);
    let client = client(&house, &served);
    client.expect(0, &case(&[]));
    let [unknown, told] = [
        &["audit", "verify", "last"][..],
        &["audit", "verify", "--all", "--json"],
    ]
    .map(|args| client.run(args));
    assert!(
        unknown.code == 0
            && unknown
                .stderr
                .contains("the seals are the server's own word"),
        "{}",
        unknown.stderr
    );
    let audits: Value = serde_json::from_str(&told.stdout).expect("JSON");
    let key = audits[0]["key"]
        .as_str()
        .unwrap_or_else(|| panic!("{audits}"));
    fs::write(client.data().join("trusted.keys"), key).expect("a file");
    let known = client.run(&["audit", "verify", "last"]);
    assert!(
        known.code == 0 && known.stderr.contains("checked here") && known.stdout == unknown.stdout,
        "{}",
        known.stderr
    );
    assert!(!known.stderr.contains("own word"), "{}", known.stderr);
    let wrong_head = client.run(&["audit", "verify", "last", "--head", &"0".repeat(64)]);
    assert!(
        wrong_head.code == 1 && wrong_head.stdout.contains("DAMAGED"),
        "{}",
        wrong_head.stdout
    );

    let database = rusqlite::Connection::open(house.data().join("rebut.db")).expect("the database");
    let changed = database.execute(
        "UPDATE events SET data = replace(data, '0.8', '0.9') WHERE seq = 6",
        [],
    );
    assert_eq!(changed.expect("valid SQL"), 1);
    drop(database);
    let damaged = client.run(&["audit", "verify", "last"]);
    assert!(
        damaged.code == 1
            && damaged.stdout.contains("DAMAGED")
            && damaged.stdout.contains("at event 6"),
        "{}{}",
        damaged.stdout,
        damaged.stderr
    );
}

#[test]
fn a_person_answers_a_turn_of_a_server_from_a_file_or_a_pipe() {
    let mut house = Rebut::new();
    furnish(&mut house);
    house.write(
        "debate.md",
        &script(&[
            ("recommend/risk", &recommends("A")),
            ("recommend/value", &recommends("B")),
        ]),
    );
    let served = Served::start(&house, &["--allow-scripts"]);
    let client = client(&house, &served);
    let asked = [
        "decide",
        "Offline support?",
        "-O",
        "A=No",
        "-O",
        "B=Yes",
        "--rounds",
        "1",
        "-m",
        "script:debate.md",
        "-m",
        "effort=human:anna",
    ];
    let mut run = client.start(&asked);
    let (id, turn) = (run.id.clone(), "recommend/effort");
    run.await_stderr(&format!("rebut turns {} {turn}", &id[..8]));
    // Between the intent and the question there is none.
    while client.expect(0, &["turns", &id, "-q"]).is_empty() {}
    let listed = client.run(&["turns", &id[..8]]);
    assert!(
        listed
            .stdout
            .starts_with("recommend/effort  effort, until ")
            && listed.stderr.contains("answer with: rebut turns"),
        "{listed:?}"
    );
    assert_eq!(client.json(0, &["turns", &id, "--json"])[0]["turn"], turn);
    let shown = client.json(0, &["turns", &id, turn, "--json"]);
    assert!(
        shown["schema"]["properties"]["option"].is_object(),
        "{shown}"
    );
    let told = client.expect(0, &["turns", &id, turn]);
    assert!(
        told.contains("Offline support?")
            && told.contains("The form of the reply:")
            && told.contains("\"confidence\""),
        "{told}"
    );

    client.write("wrong.json", r#"{"option": "Z"}"#);
    client.write("prose.txt", "B, of course");
    for (file, why) in [
        ("wrong.json", "are missing"),
        ("prose.txt", "the text is not JSON"),
    ] {
        let refused = client.run(&["turns", &id, turn, "--reply", file]);
        assert!(
            refused.code == 2 && refused.stderr.contains(why),
            "{file}: {}",
            refused.stderr
        );
    }
    let reply = json!({"option": "B", "ranking": ["B"], "confidence": 0.9, "summary": "I \
        know", "claims": ["I was there"], "flips_if": "never"});
    let mut answering = client
        .command(&["turns", &id, turn, "--reply", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rebut");
    answering
        .stdin
        .take()
        .expect("piped")
        .write_all(reply.to_string().as_bytes())
        .expect("it reads");
    let answered = answering.wait_with_output().expect("an end");
    assert!(
        answered.status.success()
            && String::from_utf8_lossy(&answered.stderr).contains("taken: recommend/effort"),
        "{answered:?}"
    );
    let (code, stderr) = run.finish();
    assert_eq!(code, 0, "{stderr}");
    let late = client.run(&["turns", &id, turn, "--reply", "wrong.json"]);
    assert!(
        late.code == 2 && late.stderr.contains("answered already"),
        "{}",
        late.stderr
    );
    let nobody = client.run(&["turns", &id]);
    assert!(
        nobody.code == 0 && nobody.stderr.contains("waits for a person"),
        "{}",
        nobody.stderr
    );
}
