//! Disks that fail under the real program: full ones, with room again later; a database that is
//! taken away; folders that take no changes.

use crate::{
    panel_of_three::{Panel, Turn, debate},
    rebut::{Output, Rebut, case, script_of, split_then_c},
    served::{Answer, Served},
};
use rebut_testkit::disk::{SmallDisk, has_own_mounts, make_read_only};
use serde_json::Value;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::Command,
};

/// Seconds within which a command must have ended, whatever its disk does.
const ENDS_WITHIN: &str = "10";

/// Runs the program, and kills it when that takes longer than it may.
fn run(rebut: &Rebut, args: &[&str]) -> Output {
    let output = within(
        "/usr/bin/timeout",
        &["-s", "KILL", ENDS_WITHIN],
        &rebut.command(args),
    );
    assert_ne!(
        output.code, 137,
        "{args:?} was killed after {ENDS_WITHIN} s: {}",
        output.stderr
    );
    output
}

/// Runs a command by another program.
fn within(program: &str, words: &[&str], command: &Command) -> Output {
    let mut outer = Command::new(program);
    outer
        .args(words)
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    outer.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = outer
        .current_dir(command.get_current_dir().expect("a directory"))
        .output()
        .expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("what is printed is UTF-8");
    // A process that was killed has no code.
    Output {
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        code: output.status.code().unwrap_or(137),
    }
}

/// An installation with one debate that has ended, and a script for more.
fn installed() -> (Rebut, String) {
    let rebut = Rebut::new();
    rebut.write("debate.md", &script_of(&split_then_c()));
    let id = rebut.json(0, &case(&["--json"]))["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    (rebut, id)
}

/// Room for so many pages is left when a debate begins. It ends soon, and says how it goes on when
/// there is room again.
fn full_under_a_command(left: u64) {
    let rebut = Rebut::new();
    let disk = SmallDisk::mount(&rebut.data(), 4096);
    rebut.write("debate.md", &script_of(&split_then_c()));
    rebut.expect(0, &case(&[]));
    disk.fill(left);
    let ended = run(&rebut, &case(&["--stream-json"]));
    let told: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event a line"))
        .collect();
    let listed = run(&rebut, &["ls", "--json"]);
    assert_eq!(
        listed.code, 0,
        "{left} pages left: what is there can be read: {}",
        listed.stderr
    );
    disk.free();
    let all: Vec<Value> = serde_json::from_str(&listed.stdout).expect("JSON");
    match told.first() {
        None => {
            assert_eq!(ended.code, 1, "{left} pages left: {}", ended.stderr);
            assert_eq!(
                all.len(),
                1,
                "{left} pages left: nothing is left of a debate that could not begin"
            );
        }
        Some(first) => {
            let id = first["debate_id"].as_str().expect("an id");
            if ended.code != 0 {
                assert_eq!(ended.code, 1, "{left} pages left: {}", ended.stderr);
                assert!(
                    ended.stderr.contains(&format!("rebut resume {}", &id[..8])),
                    "{left} pages left: {}",
                    ended.stderr
                );
                rebut.expect(0, &["resume", id]);
            }
            let events = rebut.events(id);
            assert_eq!(
                events[..told.len()],
                told,
                "{left} pages left: what was told of stays"
            );
            assert_eq!(
                events.last().map(|event| &event["type"]),
                Some(&"debate.completed".into()),
                "{left} pages left"
            );
        }
    }
    assert_eq!(
        ended.code == 1,
        ended.stderr.contains("cannot be"),
        "{left} pages left: {}",
        ended.stderr
    );
    verify_all(&rebut);
}

/// Verifies every debate that is kept.
fn verify_all(rebut: &Rebut) {
    for kept in rebut.json(0, &["ls", "--json"]).as_array().expect("a list") {
        rebut.expect(0, &["audit", "verify", kept["id"].as_str().expect("an id")]);
    }
}

#[test]
fn a_command_whose_disk_is_full_ends_soon_and_its_debate_goes_on_later() {
    if !has_own_mounts("disk::a_command_whose_disk_is_full_ends_soon_and_its_debate_goes_on_later")
    {
        return;
    }
    let rows = [
        0, 1, 2, 4, 9, 10, 12, 14, 17, 20, 24, 28, 34, 40, 50, 60, 80, 120,
    ];
    // They wait most of the time.
    for part in rows.chunks(6) {
        std::thread::scope(|scope| {
            part.iter()
                .for_each(|left| drop(scope.spawn(|| full_under_a_command(*left))))
        });
    }
}

const DEBATES: usize = 6;

/// Waits until the server says of itself that it is ready, or is not; nobody writes anything
/// meanwhile.
fn until_ready(served: &Served, is_ready: bool) -> Answer {
    loop {
        let answer = served.ask_with("", "GET", "/readyz", None, "");
        if (answer.status == 200) == is_ready {
            return answer;
        }
    }
}

/// Every last judge of a first round is held, so that a debate stands in the middle of it.
fn holds((_, turn): &Turn) -> bool {
    turn == "recommend/effort"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_disk_is_full_says_so_and_goes_on_when_it_has_room() {
    if !has_own_mounts("disk::a_server_whose_disk_is_full_says_so_and_goes_on_when_it_has_room") {
        return;
    }
    for left in [0, 2, 7, 20] {
        let mut panel = Panel::start(holds).await;
        let rebut = panel.installation("");
        let disk = SmallDisk::mount(&rebut.data(), 8192);
        let mut served = Served::start(&rebut, &[]);
        let ids: Vec<String> = (0..DEBATES)
            .map(|number| served.begin(&debate(number)))
            .collect();
        panel.until_asked(DEBATES * 3).await;
        until_ready(&served, true);
        disk.fill(left);
        panel.let_go();
        let red = until_ready(&served, false);
        assert_eq!(
            (red.status, red.head.contains("retry-after")),
            (503, true),
            "{left} pages left: {red:?}"
        );
        assert!(
            red.json()["detail"]
                .as_str()
                .is_some_and(|why| why.contains("cannot be written")),
            "{red:?}"
        );
        let start = served.ask("POST", "/v1/debates", Some(&debate(900)));
        assert_eq!(
            (start.status, start.head.contains("retry-after")),
            (503, true),
            "{left} pages left: {start:?}"
        );
        assert!(
            start.json()["detail"]
                .as_str()
                .is_some_and(|why| why.contains("nothing of this was recorded")),
            "{start:?}"
        );
        assert_eq!(
            served.ask_with("", "GET", "/healthz", None, "").status,
            200,
            "it lives"
        );
        let listed = served.ask("GET", "/v1/debates", None).json();
        assert_eq!(
            listed["debates"].as_array().map(Vec::len),
            Some(DEBATES),
            "{left} pages left: nothing is left of that start"
        );
        disk.free();
        until_ready(&served, true);
        for _ in 0..DEBATES {
            served.until("debate.completed");
        }
        served.begin(&debate(901));
        served.until("debate.completed");
        for id in &ids {
            assert_eq!(
                served
                    .ask("GET", &format!("/v1/debates/{id}/audit"), None)
                    .json()["ok"],
                true,
                "{left} pages left: {id}"
            );
            assert!(
                served
                    .events(id)
                    .iter()
                    .all(|event| event["type"] != "debate.resumed"),
                "{left} pages left: it was never left"
            );
        }
        assert!(
            panel.asked().values().all(|count| *count == 1),
            "{left} pages left: nobody was asked twice"
        );
        served.signal("TERM");
        let (code, log) = served.finish();
        assert_eq!(code, 0, "{log}");
        verify_all(&rebut);
    }
}

#[test]
fn a_database_that_is_taken_away_under_a_server_is_refused() {
    let (rebut, first) = installed();
    rebut.user_config("[server]\nrequests_per_minute = 1000000\nmodels = [\"rehearsal\"]\n");
    let database = rebut.data().join("rebut.db");
    let backup = fs::read(&database).expect("bytes");
    let served = Served::start(&rebut, &[]);
    let mut asked = debate(1);
    asked["agents"]
        .as_array_mut()
        .expect("agents")
        .iter_mut()
        .for_each(|agent| agent["model"] = "rehearsal".into());
    for (what, replacement) in [("deleted", None), ("replaced", Some(&backup))] {
        let away = rebut.data().join("away.db");
        until_ready(&served, true);
        fs::rename(&database, &away).expect("a file");
        if let Some(bytes) = replacement {
            fs::write(&database, bytes).expect("another file");
        }
        let refused = served.ask("POST", "/v1/debates", Some(&asked));
        assert_eq!(refused.status, 503, "{what}: {refused:?}");
        assert!(
            refused.json()["detail"]
                .as_str()
                .is_some_and(|why| why.contains("deleted or replaced")),
            "{what}: {refused:?}"
        );
        let red = until_ready(&served, false);
        assert!(
            red.json()["detail"]
                .as_str()
                .is_some_and(|why| why.contains("deleted or replaced")),
            "{what}: {red:?}"
        );
        assert_eq!(served.ask("GET", "/v1/debates", None).status, 503, "{what}");
        if let Some(bytes) = replacement {
            assert_eq!(
                &fs::read(&database).expect("bytes"),
                bytes,
                "it is left alone"
            );
        }
        fs::rename(&away, &database).expect("a file");
        until_ready(&served, true);
        served.begin(&asked);
    }
    served.signal("TERM");
    assert_eq!(served.finish().0, 0);
    assert_eq!(
        rebut.json(0, &["ls", "--json"]).as_array().map(Vec::len),
        Some(3)
    );
    rebut.expect(0, &["audit", "verify", &first]);
}

/// What only reads works; what would write says why it does not.
fn check_reading(rebut: &Rebut, id: &str, what: &str, run: &dyn Fn(&[&str]) -> Output) {
    let reads: [&[&str]; 6] = [
        &["ls"],
        &["ls", "--json"],
        &["show", id],
        &["audit", "verify", id],
        &["export", id],
        &["replay", id],
    ];
    for args in reads {
        let output = run(args);
        assert_eq!(
            output.code, 0,
            "{what}: {args:?}: {}{}",
            output.stdout, output.stderr
        );
    }
    for args in [
        &case(&[])[..],
        &["answer", id, "A"],
        &["rm", id, "--yes"],
        &["keys", "add", "ann", "--owner", "ann"],
    ] {
        let output = run(args);
        assert!(
            output.code == 1 || output.code == 2,
            "{what}: {args:?}: {}",
            output.stderr
        );
        assert!(
            output.stderr.contains("error:"),
            "{what}: {args:?}: {}",
            output.stderr
        );
    }
    let begun = run(&case(&[]));
    assert!(
        begun.stderr.contains("cannot be ") && begun.stderr.contains("--data DIR"),
        "{what}: {}",
        begun.stderr
    );
    assert!(!rebut.data().join("anything").exists());
}

#[test]
fn a_folder_that_takes_no_changes_can_be_read() {
    if !has_own_mounts("disk::a_folder_that_takes_no_changes_can_be_read") {
        return;
    }
    let (rebut, id) = installed();
    let mode = |folder: u32, file: u32| {
        for entry in fs::read_dir(rebut.data())
            .expect("a folder")
            .flatten()
            .filter(|entry| entry.path().is_file())
        {
            fs::set_permissions(entry.path(), Permissions::from_mode(file)).expect("a mode");
        }
        fs::set_permissions(rebut.data(), Permissions::from_mode(folder)).expect("a mode");
    };
    // Whoever may do everything is held by no permissions: without that power it is an ordinary
    // user.
    let ordinary = [
        "--bounding-set=-dac_override,-dac_read_search",
        "--inh-caps=-all",
    ];
    mode(0o500, 0o400);
    check_reading(&rebut, &id, "by its permissions", &|args| {
        within("/usr/bin/setpriv", &ordinary, &rebut.command(args))
    });
    mode(0o700, 0o600);
    make_read_only(&rebut.data());
    check_reading(&rebut, &id, "by its mount", &|args| rebut.run(args));
}
