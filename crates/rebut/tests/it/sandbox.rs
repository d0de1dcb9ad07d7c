//! `rebut sandbox`: what it says of this machine, what a run prints and ends with, and that nothing
//! is run where nothing holds.

use crate::rebut::Rebut;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

/// Where the system's own toolchains are.
const SYSTEM: &str = "/usr/bin:/bin";

fn with_system() -> Rebut {
    let mut rebut = Rebut::new();
    rebut.set("PATH", SYSTEM);
    rebut
}

#[test]
fn check_says_what_holds_and_which_languages_there_are() {
    let text = with_system().expect(0, &["sandbox", "check"]);
    assert!(
        text.starts_with("sandbox     tier 1; memory is bounded"),
        "{text}"
    );
    assert!(
        text.contains("\npython      Python 3") && text.contains("\nshell       GNU bash"),
        "{text}"
    );

    let bare = Rebut::new();
    let text = bare.expect(0, &["sandbox", "check"]);
    assert!(
        text.contains("\npython      missing: install Python 3: `apt install python3`"),
        "{text}"
    );
    let found = bare.json(0, &["sandbox", "check", "--json"]);
    assert_eq!(
        (
            &found["tier"],
            &found["refused"],
            &found["languages"][0]["version"]
        ),
        (&json!(1), &json!(null), &json!(null))
    );
    bare.program("rustc", "echo 'no default is configured' >&2; exit 1");
    bare.program("cc", "true");
    let text = bare.expect(0, &["sandbox", "check"]);
    assert!(
        text.contains("\nrust        not usable: rust cannot be run")
            && text.contains("says: no default is configured"),
        "{text}"
    );
    let refused = &found["languages"][0]["refused"];
    assert_eq!(
        refused["reason"],
        "python cannot be run: `python3` is not installed"
    );
    assert!(
        bare.expect(4, &["doctor"])
            .contains("\nsandbox    tier 1; memory"),
        "the doctor says the same"
    );
}

/// The code, its language, further arguments, the exit code, standard output, the end of standard
/// error.
type Row<'a> = (&'a str, &'a str, &'a [&'a str], i32, &'a str, &'a str);

#[test]
fn a_run_prints_what_the_program_prints_and_ends_as_it_ends() {
    let rebut = with_system();
    rebut.write("input", "some words");
    let rows: &[Row<'_>] = &[
        ("print(6 * 7)", "python", &[], 0, "42\n", ""),
        (
            "cat; echo \"$1$2\"; echo oh >&2; exit 7",
            "shell",
            &["--stdin", "input", "--", "-a", "b c"],
            7,
            "some words-ab c\n",
            "oh\n",
        ),
        (
            "echo before; sleep 600",
            "shell",
            &["--seconds", "1"],
            1,
            "before\n",
            "rebut: its time was over (--seconds)\n",
        ),
        (
            "kill -SEGV $$",
            "shell",
            &[],
            1,
            "",
            "rebut: it was ended by the signal 11\n",
        ),
        (
            "exec dd if=/dev/zero of=huge bs=1M count=99",
            "shell",
            &[],
            1,
            "",
            "rebut: it met a limit: file size\n",
        ),
        (
            "int main() { return x; }",
            "c",
            &[],
            1,
            "",
            "rebut: it could not be built\n",
        ),
        (
            "ls /home /root; cat /etc/shadow",
            "shell",
            &[],
            1,
            "",
            "No such file or directory\n",
        ),
    ];
    for (code, language, arguments, exit, stdout, stderr) in rows {
        rebut.write("code", code);
        let mut words = vec!["sandbox", "run", "--lang", language, "code"];
        words.extend(*arguments);
        let ran = rebut.run(&words);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (*exit, *stdout),
            "{code}: {}",
            ran.stderr
        );
        assert!(ran.stderr.ends_with(stderr), "{code}: {}", ran.stderr);
    }
    // `-` is standard input: the code, or what it reads, and not both.
    for (words, stdout) in [
        (["-", "--stdin", "code"], "some words"),
        (["code", "--stdin", "-"], "some words"),
    ] {
        rebut.write("code", if words[0] == "-" { "some words" } else { "cat" });
        rebut.write("piped", if words[0] == "-" { "cat" } else { "some words" });
        let mut command =
            rebut.command(&[&["sandbox", "run", "--lang", "shell"], &words[..]].concat());
        let output = command
            .stdin(fs::File::open(rebut.path("piped")).expect("a file"))
            .output()
            .expect("the program runs");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            stdout,
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    rebut.write("code", "printf '\\033[2J'; exit 3");
    let ran = rebut.json(3, &["sandbox", "run", "--lang", "shell", "code", "--json"]);
    assert_eq!(
        (&ran["tier"], &ran["end"], &ran["stdout"]),
        (&json!(1), &json!({ "exited": 3 }), &json!("\u{1b}[2J"))
    );
}

#[test]
fn what_cannot_be_is_said_before_anything_is_run() {
    let rebut = Rebut::new();
    rebut.write("code", "print(1)");
    fs::write(rebut.path("bytes"), b"\xff\xfe").expect("a file");
    fs::File::create(rebut.path("large"))
        .and_then(|file| file.set_len((16 << 20) + 1))
        .expect("a file");
    let rows: &[(&[&str], i32, &str)] = &[
        (
            &["--lang", "cobol", "code"],
            2,
            "possible values: python, javascript, rust, go, c, cpp, shell",
        ),
        (&["--lang", "python", "missing"], 2, "cannot read missing"),
        (
            &["--lang", "python", "code", "--stdin", "missing"],
            2,
            "cannot read missing",
        ),
        (
            &["--lang", "python", "code", "--seconds", "0"],
            2,
            "1..=3600",
        ),
        (
            &["--lang", "python", "/dev/zero"],
            2,
            "/dev/zero holds more than 16 MiB",
        ),
        (
            &["--lang", "python", "code", "--stdin", "/dev/zero"],
            2,
            "/dev/zero holds more than 16 MiB",
        ),
        (&["--lang", "python", "."], 2, "it is a folder"),
        (&["--lang", "python", "bytes"], 2, "it is not text"),
        (&["--lang", "python", "large"], 2, "holds more than 16 MiB"),
        (&["--lang", "python", "-", "--stdin", "-"], 2, "named twice"),
        (&["--lang", "python", "code"], 4, "hint: install Python 3"),
    ];
    for (arguments, code, words) in rows {
        let ran = rebut.run(&[&["sandbox", "run"], *arguments].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (*code, ""),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
}

/// Runs a script of the shell as an ordinary user who may do everything in a user namespace of
/// their own; `$REBUT` is the program.
fn in_namespace(mapped: &str, script: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let open =
        |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    open(folder.path());
    // A copy, because the folder of the project may be root's own.
    let program = folder.path().join("rebut");
    fs::copy(env!("CARGO_BIN_EXE_rebut"), &program).expect("a copy");
    fs::write(
        folder.path().join("code"),
        "echo it ran > /tmp/ran; echo it ran",
    )
    .expect("a file");
    let unshare = [
        "unshare",
        "--user",
        mapped,
        "--keep-caps",
        "--mount",
        "sh",
        "-c",
        script,
    ];
    let as_nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let words: Vec<&str> = as_nobody
        .into_iter()
        .filter(|_| is_root)
        .chain(unshare)
        .collect();
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/")
        .env("REBUT", program);
    command
        .env("REBUT_DATA", folder.path().join("data"))
        .current_dir(folder.path());
    command
        .output()
        .expect("setpriv and unshare: install util-linux")
}

#[test]
fn nothing_is_run_where_nothing_holds() {
    let no_namespaces = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv \
        --inh-caps=-all --ambient-caps=-all";
    let no_bubblewrap = "mount --bind /dev/null \"$(command -v bwrap)\" && exec env";
    let rows = [
        (
            "--map-current-user",
            no_namespaces,
            "cannot make a user namespace",
            "user.max_user_namespaces=15000",
        ),
        (
            "--map-root-user",
            no_bubblewrap,
            "bubblewrap is not installed",
            "apt install bubblewrap",
        ),
    ];
    for (mapped, before, reason, fix) in rows {
        for what in ["check", "run --lang shell code"] {
            let output = in_namespace(mapped, &format!("{before} \"$REBUT\" sandbox {what}"));
            let said =
                String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert_eq!(output.status.code(), Some(4), "{what}: {said}");
            assert!(
                said.contains(reason) && said.contains(fix) && !said.contains("it ran"),
                "{what}: {said}"
            );
        }
    }
    // The same without anything in the way: the rows above can fail. Also as the root of a
    // namespace that knows nobody else.
    for (mapped, before) in [
        (
            "--map-current-user",
            "setpriv --inh-caps=-all --ambient-caps=-all",
        ),
        ("--map-root-user", "env"),
    ] {
        let output = in_namespace(
            mapped,
            &format!("exec {before} \"$REBUT\" sandbox run --lang shell code"),
        );
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "it ran\n",
            "{mapped}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
