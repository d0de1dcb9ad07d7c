//! Debates kept on a PostgreSQL server: every command works as with a file, and the password is
//! told to nobody.

use crate::{
    panel_of_three::Panel,
    rebut::{Output, Rebut, case, script_of, split_then_c},
};
use rebut_testkit::postgres::{Cluster, PASSWORD};
use serde_json::Value;

const EXPIRE: &str = "UPDATE rebut.claims SET expires_at = clock_timestamp() - interval '1 second'";

fn on(url: &str) -> Rebut {
    let mut rebut = Rebut::new();
    rebut.set("REBUT_DATABASE", url);
    rebut.write("debate.md", &script_of(&split_then_c()));
    rebut
}

/// Goes on with a debate whose lease has ended. Whoever holds one has the time of a lease after the
/// start of the database, so that may take a while.
fn resumed(rebut: &Rebut, id: &str) -> Output {
    rebut.user_config("[server]\nlease_seconds = 3\n");
    loop {
        let run = rebut.run(&["resume", id, "--json"]);
        if !run.stderr.contains("is being run by") {
            return run;
        }
    }
}

#[test]
fn a_debate_lives_there_as_it_would_in_a_file() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let file = Rebut::new();
    file.write("debate.md", &script_of(&split_then_c()));
    let expected = file.json(0, &case(&["--json"]));
    let transcript = file.expect(
        0,
        &[
            "show",
            expected["debate_id"].as_str().expect("an id"),
            "--transcript",
        ],
    );

    let rebut = on(&url);
    let mut stuck = split_then_c();
    stuck.last_mut().expect("six turns").1 = "!timeout".to_owned();
    rebut.write("debate.md", &script_of(&stuck));
    let mut run = rebut.start(&case(&[]));
    run.until(|event| event["seq"] == 14);
    let (id, pid) = (run.id.clone(), run.pid());
    run.kill();
    rebut.write("debate.md", &script_of(&split_then_c()));
    let early = rebut.run(&["resume", &id]);
    assert!(
        early.code != 0
            && early
                .stderr
                .contains(&format!("being run by process {pid} on ")),
        "the lease has not ended: {early:?}"
    );
    cluster.ask(&url, EXPIRE);
    let resumed: Value = serde_json::from_str(&resumed(&rebut, &id[..8]).stdout).expect("JSON");
    assert_eq!(
        (&resumed["result"], &resumed["outcome"]),
        (&expected["result"], &expected["outcome"])
    );
    assert_eq!(rebut.expect(0, &["show", &id, "--transcript"]), transcript);
    rebut.expect(0, &["audit", "verify", &id]);
    rebut.expect(0, &["replay", &id]);
    assert!(rebut.expect(0, &["ls"]).contains(&id[..8]));
    assert!(
        !rebut.data().join("rebut.db").exists(),
        "there is no file beside it"
    );

    // From the server to a file and back: the same journal, letter by letter.
    let export = |rebut: &Rebut| {
        rebut.expect(0, &["export", &id, "-o", "j.ndjson"]);
        rebut.read("j.ndjson")
    };
    let exported = export(&rebut);
    rebut.expect(0, &["rm", &id]);
    assert!(!rebut.expect(0, &["ls"]).contains(&id[..8]));
    file.write("in.ndjson", &exported);
    file.expect(0, &["import", "in.ndjson", "--trust"]);
    assert_eq!(file.expect(0, &["show", &id, "--transcript"]), transcript);
    rebut.write("in.ndjson", &export(&file));
    rebut.expect(0, &["import", "in.ndjson"]);
    assert_eq!(export(&rebut), exported);
    assert!(!rebut.holds(PASSWORD), "no file of ours has the password");
}

#[test]
fn the_password_is_shown_nowhere() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let rebut = Rebut::new();
    rebut.user_config(&format!("[defaults]\ndatabase = \"{url}\"\n"));
    // As it is for most people: no directory is named, and the file says where.
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let output = rebut
            .command(args)
            .env_remove("REBUT_DATA")
            .envs(variables.iter().copied())
            .output()
            .expect("it runs");
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!said.contains(PASSWORD), "{args:?}: {said}");
        (output.status.code().unwrap_or(-1), said)
    };
    let shown = rebut_store::shown_postgres_url(&url);
    assert_eq!(run(&["ls"], &[]).0, 0);
    for args in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["config", "path"],
        &["doctor"],
        &["doctor", "--json"],
    ] {
        let (_, said) = run(args, &[]);
        assert!(
            said.contains(&shown),
            "{args:?} tells where debates are: {said}"
        );
    }
    let away = "postgres://ada:pa55word-canary@127.0.0.1:9/debates";
    for (url, expected) in [
        (away, "cannot be reached"),
        ("postgres://ada:x@pa55word-canary@db/x", "cannot be read"),
        ("mysql://ada:pa55word-canary@db/x", "not named by a URL"),
        (&format!("{url}?sslmode=require"), "TLS"),
    ] {
        let (code, said) = run(&["ls"], &[("REBUT_DATABASE", url)]);
        assert!(code != 0 && said.contains(expected), "{said}");
        run(&["doctor"], &[("REBUT_DATABASE", url)]);
    }
    // A project may not send debates elsewhere, nor does a mistake in the file quote it.
    rebut.write(
        "rebut.toml",
        &format!("[defaults]\ndatabase = \"{away}\"\n"),
    );
    let (code, said) = run(&["ls"], &[]);
    assert!(
        code == 0 && said.contains("never taken from a project: defaults.database"),
        "{said}"
    );
    rebut.write("rebut.toml", &format!("[defaults]\ndatabase = \"{away}\n"));
    assert_eq!(run(&["ls"], &[]).0, 2);
    std::fs::remove_file(rebut.path("rebut.toml")).expect("it was there");
    // A directory that is named by hand is meant.
    rebut.expect(0, &["ls"]);
    assert!(rebut.data().join("rebut.db").exists());
}

#[test]
fn a_server_over_the_network_is_believed_with_a_certificate_we_trust() {
    let cluster = Cluster::start_with_tls();
    let socket = cluster.database();
    let mut rebut = on(&cluster.with_tls(&socket));
    let strange = rebut.run(&["ls"]);
    assert!(
        strange.code != 0
            && strange.stderr.contains("certificate")
            && !strange.stderr.contains(PASSWORD),
        "{strange:?}"
    );
    rebut.set(
        "SSL_CERT_FILE",
        cluster.authority().to_str().expect("a path in UTF-8"),
    );
    let id = rebut.json(0, &case(&["--json"]))["debate_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(
        on(&socket).expect(0, &["ls"]).contains(&id[..8]),
        "the same database, another way to it"
    );
}

#[test]
fn one_that_was_stopped_cannot_write_into_what_another_took_over() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let rebut = on(&url);
    let mut late = split_then_c();
    let last = &mut late.last_mut().expect("six turns").1;
    // Long enough to be stopped in, on any machine.
    *last = format!("!delay 10s\n{last}");
    rebut.write("debate.md", &script_of(&late));
    let mut stopped = rebut.start(&case(&[]));
    stopped.until(|event| {
        event["type"] == "turn.started" && event["data"]["turn"] == "challenge 2/effort"
    });
    let id = stopped.id.clone();
    stopped.signal("STOP");
    cluster.ask(&url, EXPIRE);
    rebut.write("debate.md", &script_of(&split_then_c()));
    assert_eq!(resumed(&rebut, &id).code, 0);
    let ended = rebut.events(&id);
    stopped.signal("CONT");
    let (code, said) = stopped.finish();
    assert!(
        code != 0 && said.contains("another process"),
        "{code}: {said}"
    );
    assert_eq!(rebut.events(&id), ended, "nothing of it was written");
    rebut.expect(0, &["audit", "verify", &id]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_that_come_while_the_server_is_away_are_kept_by_the_command_that_asked() {
    let cluster = Cluster::start();
    let mut panel = Panel::start(|_| true).await;
    let mut rebut = panel.installation("");
    rebut.set("REBUT_DATABASE", &cluster.database());
    // A number at which each judge stands by its own.
    let question = ["decide", "Question 0001?", "-m", "mine:risk"];
    let options = ["-O", "A=one", "-O", "B=two"];
    let run = rebut.start(&[&question[..], &options[..]].concat());
    panel.until_asked(3).await;
    cluster.crash();
    panel.let_go();
    // It takes a server longer to be back than it takes a reply to come.
    cluster.run();
    let (code, said) = run.finish();
    assert_eq!(code, 0, "{said}");
    assert_eq!(panel.asked().into_values().collect::<Vec<_>>(), [3]);
}
