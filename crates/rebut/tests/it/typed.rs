//! What people are told to type works as it is printed, in the shell in which the command was
//! typed.

use crate::{
    rebut::{CASE, Output, Rebut, case, recommends, responds, script, script_of, split_then_c},
    served::Served,
};

/// What is printed between a word and the end of its line.
fn told(output: &Output, word: &str) -> String {
    let said = format!("{}{}", output.stdout, output.stderr);
    let line = said
        .lines()
        .find_map(|line| Some(line.split_once(word)?.1.trim().to_owned()));
    line.unwrap_or_else(|| panic!("nothing is told after {word:?}:\n{said}"))
}

/// The word before a command, the case that leads to it, what replaces placeholders in it, and how
/// the command ends.
struct Row {
    told_by: &'static str,
    script: String,
    flags: &'static [&'static str],
    code: i32,
    fill_in: (&'static str, &'static str),
    ends: i32,
}

#[test]
fn commands_that_are_told_name_the_place_that_was_typed() {
    let split = || script_of(&split_then_c());
    let contested = || {
        let said = [("A", "risk"), ("B", "value"), ("C", "effort")];
        let blind = said.map(|(option, who)| (format!("recommend/{who}"), recommends(option)));
        let later = said.map(|(option, who)| (format!("challenge 2/{who}"), responds(option, &[])));
        let all: Vec<_> = blind
            .iter()
            .chain(&later)
            .map(|(heading, reply)| (heading.as_str(), reply.as_str()))
            .collect();
        script(&all)
    };
    let rows = [
        Row {
            told_by: "→  ",
            script: split(),
            flags: &[],
            code: 0,
            fill_in: ("", ""),
            ends: 0,
        },
        Row {
            told_by: "go on ",
            script: split(),
            flags: &["--max-calls", "4"],
            code: 5,
            fill_in: ("", ""),
            ends: 0,
        },
        Row {
            told_by: "go on with:",
            script: split(),
            flags: &["--max-calls", "4", "--json"],
            code: 5,
            fill_in: ("", ""),
            ends: 0,
        },
        Row {
            told_by: "choose ",
            script: contested(),
            flags: &[],
            code: 3,
            fill_in: ("A|B|C", "B"),
            ends: 0,
        },
    ];
    let rebut = Rebut::new();
    rebut.write("it's mine.toml", "[decide]\nmax_rounds = 2\n");
    for row in rows {
        rebut.write("debate.md", &row.script);
        let output = rebut.run(&case(
            &[
                &["--data", "my debates", "--config", "it's mine.toml"],
                row.flags,
            ]
            .concat(),
        ));
        assert_eq!(
            output.code, row.code,
            "{}: {}{}",
            row.told_by, output.stdout, output.stderr
        );
        let command = told(&output, row.told_by);
        assert!(
            command.ends_with(r"--data 'my debates' --config 'it'\''s mine.toml'"),
            "{command}"
        );
        let typed = rebut.shell(&command.replace(row.fill_in.0, row.fill_in.1));
        assert_eq!(typed.code, row.ends, "{command}: {}", typed.stderr);
    }
    let unknown = rebut.run(&["show", "1234", "--data", "my debates"]);
    assert!(
        unknown
            .stderr
            .contains("`rebut ls --data 'my debates'` lists the debates"),
        "{}",
        unknown.stderr
    );
    // What a variable says is said to the next command too.
    rebut.write("debate.md", &split());
    assert!(!rebut.expect(0, CASE).contains("--data"));
}

#[test]
fn an_interrupted_debate_of_another_place_goes_on_as_told() {
    let rebut = Rebut::new();
    let mut replies = split_then_c();
    replies[2].1 = format!("!delay 700ms\n{}", replies[2].1);
    rebut.write("debate.md", &script_of(&replies));
    let mut run = rebut.start(&case(&["--data", "my debates"]));
    run.until(|event| event["type"] == "turn.completed");
    run.signal("INT");
    let (code, stderr) = run.finish();
    assert_eq!(code, 130, "{stderr}");
    let resumed = rebut.shell(&told(
        &Output {
            stdout: String::new(),
            stderr,
            code,
        },
        "go on with:",
    ));
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
}

#[test]
fn a_server_that_was_typed_is_named_with_its_key() {
    let house = Rebut::new();
    house.write("debate.md", &script(&[("*", &recommends("A"))]));
    let served = Served::start(&house, &["--allow-scripts"]);
    let client = Rebut::new();
    client.write("the token", &served.token);
    let url = served.url();
    let output = client.run(&case(&["--server", &url, "--token-file", "the token"]));
    assert_eq!(output.code, 0, "{}", output.stderr);
    let typed = client.shell(&told(&output, "→  "));
    assert!(
        typed.code == 0 && typed.stdout.contains("RECOMMENDED  A"),
        "{}{}",
        typed.stdout,
        typed.stderr
    );
}
