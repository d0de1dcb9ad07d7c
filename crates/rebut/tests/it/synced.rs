//! What is said is on the disk: keys, seals and their folders before a command ends, and what a
//! server acknowledges before it does. Seen in the calls that the program makes to the system.

use crate::{rebut::Rebut, served::Served};
use serde_json::json;
use std::{fs, path::Path, process::Command};

/// Calls of a program to the system, in their order.
struct Calls(Vec<String>);

impl Calls {
    fn read(file: &Path) -> Self {
        Self(
            fs::read_to_string(file)
                .expect("a trace")
                .lines()
                .map(str::to_owned)
                .collect(),
        )
    }

    /// The place of the first call from `from` on that holds all of these words.
    fn find(&self, from: usize, words: &[&str]) -> Option<usize> {
        (from..self.0.len()).find(|at| words.iter().all(|word| self.0[*at].contains(word)))
    }

    /// That a file came into its place under that name: its bytes were synced, then it was named,
    /// then its folder was synced.
    fn assert_placed(&self, name: &str, folder: &str) {
        let part = format!("/.{name}.");
        let synced = self
            .find(0, &["fsync(", &part])
            .unwrap_or_else(|| panic!("the bytes of {name}:\n{}", self.0.join("\n")));
        let to = format!("\"{name}\"");
        let named = ["renameat", "linkat"]
            .iter()
            .find_map(|call| self.find(synced, &[call, &to]));
        let named = named.unwrap_or_else(|| {
            panic!("the name of {name} after its bytes:\n{}", self.0.join("\n"))
        });
        let kept = self.find(named, &["fsync(", &format!("{folder}>")]);
        assert!(
            kept.is_some(),
            "the folder of {name} after its name:\n{}",
            self.0.join("\n")
        );
    }
}

const TRACED: &str =
    "trace=fsync,fdatasync,renameat,renameat2,linkat,write,writev,pwrite64,sendto,sendmsg";

/// A small debate that asks nobody.
const DECIDE: &str = "decide Offline? -O A=Yes -O B=No -m rehearsal -q";

#[test]
fn keys_and_seals_are_on_the_disk_when_a_command_ends() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.program("strace", "exec /usr/bin/strace \"$@\"");
    let trace = rebut.path("../trace");
    let run = |line: &str| {
        let said = rebut.shell(&format!(
            "strace -f -y -e {TRACED} -o '{}' rebut {line}",
            trace.display()
        ));
        assert_eq!(
            said.code, 0,
            "install the package `strace`? {}",
            said.stderr
        );
        Calls::read(&trace)
    };
    run("keys add anna --owner tester").assert_placed("server.keys", "/data");
    let made = run(DECIDE);
    made.assert_placed("seal.key", "/data");
}

#[test]
fn an_empty_sealing_key_says_what_to_do() {
    let rebut = Rebut::new();
    rebut.user_config("");
    rebut.expect(0, &DECIDE.split(' ').collect::<Vec<_>>());
    let key = rebut.data().join("seal.key");
    fs::write(&key, "").expect("a file");
    let refused = rebut.run(&["ls"]);
    assert!(
        refused.code == 1
            && refused.stderr.contains("is empty")
            && refused.stderr.contains("remove it"),
        "{}",
        refused.stderr
    );
    fs::remove_file(&key).expect("it is there");
    rebut.expect(0, &["ls"]);
    let other = rebut.run(&["audit", "verify", "last"]);
    assert_ne!(
        other.code, 0,
        "nobody vouches for what the lost key sealed: {}",
        other.stdout
    );
}

#[test]
fn what_a_server_acknowledges_is_on_the_disk() {
    let rebut = Rebut::new();
    rebut.user_config("[server]\nrequests_per_minute = 1000000\n");
    let served = Served::start(&rebut, &[]);
    let trace = rebut.path("../trace");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-y", "-s", "16", "-e", TRACED, "-o"])
        .arg(&trace)
        .args(["-p", &served.pid().to_string()]);
    let mut strace = strace
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("strace starts: install the package `strace`");
    let mut said = std::io::BufReader::new(strace.stderr.take().expect("piped"));
    let mut attached = String::new();
    std::io::BufRead::read_line(&mut said, &mut attached).expect("a line");
    assert!(attached.contains("attached"), "{attached}");
    // The session first: a debate that runs writes on.
    let opened = served.ask("POST", "/v1/session", None);
    let judges =
        ["risk", "value", "effort"].map(|role| json!({"role": role, "model": "human:anna"}));
    let options = ["A", "B"].map(|id| json!({"id": id, "label": id}));
    let debate = json!({"format": "decide", "agents": judges, "input": {"question": "Offline \
        support?", "options": options}});
    let begun = served.ask("POST", "/v1/debates", Some(&debate));
    assert_eq!((begun.status, opened.status), (202, 204));
    served.signal("TERM");
    assert_eq!(served.finish().0, 0);
    strace.wait().expect("it ends with what it looks at");
    let calls = Calls::read(&trace);
    let mut from = 0;
    for status in ["204", "202"] {
        let answered = calls
            .find(from, &[&format!("\"HTTP/1.1 {status}")])
            .unwrap_or_else(|| panic!("{status}:\n{}", calls.0.join("\n")));
        let written = calls
            .find(from, &["pwrite64(", "rebut.db-wal"])
            .filter(|written| *written < answered);
        let synced = written
            .and_then(|written| calls.find(written, &["sync(", "rebut.db-wal"]))
            .filter(|synced| *synced < answered);
        assert!(
            synced.is_some(),
            "{status} before what it tells of is on the disk:\n{}",
            calls.0.join("\n")
        );
        from = answered + 1;
    }
}
