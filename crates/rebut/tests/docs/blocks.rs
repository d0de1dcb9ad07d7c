//! Reading the `console` blocks of a Markdown file.

/// Commands that share a folder and a database, in order.
#[derive(Debug, PartialEq)]
pub struct Block {
    /// Where it stands, for messages.
    pub place: String,
    /// The commands.
    pub steps: Vec<Step>,
    /// The exit code of the last command.
    pub exit: i32,
}

/// One command and what is shown of its output.
#[derive(Debug, Default, PartialEq)]
pub struct Step {
    /// What stands behind `$ `.
    pub command: String,
    /// Lines below it.
    pub shown: Vec<String>,
}

/// Every block of a page. Its info string is `console`, or `console exit=3`.
pub fn of(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let Some(info) = line.strip_prefix("```console") else {
            continue;
        };
        let place = format!("{page}:{number}");
        let exit = match info.trim() {
            "" => 0,
            words => words
                .strip_prefix("exit=")
                .and_then(|code| code.parse().ok())
                .unwrap_or_else(|| panic!("{place}: `{words}`?")),
        };
        let body: Vec<&str> = lines
            .by_ref()
            .map(|(line, _)| line)
            .take_while(|line| !line.starts_with("```"))
            .collect();
        blocks.push(Block {
            steps: steps(&place, &body),
            place,
            exit,
        });
    }
    blocks
}

fn steps(place: &str, body: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in body {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (_, Some(step)) if is_open(&step.command) => {
                step.command = format!("{}\n{line}", step.command)
            }
            (Some(command), _) => steps.push(Step {
                command: command.to_owned(),
                shown: Vec::new(),
            }),
            (None, Some(step)) => step.shown.push(line.trim().to_owned()),
            (None, None) => panic!("{place}: output before any command: {line}"),
        }
    }
    assert!(
        !steps.is_empty(),
        "{place}: a console block without a command"
    );
    steps
}

/// Whether a command goes on in the next line: after a backslash, or inside `<<'END'`.
fn is_open(command: &str) -> bool {
    let end = command
        .split_once("<<'")
        .and_then(|(_, rest)| rest.split('\'').next());
    command.ends_with('\\') || end.is_some_and(|end| !command.lines().any(|line| line == end))
}

/// Whether a shown line is in the output. `…` stands for any text within a line, such as ids and
/// times.
pub fn is_shown(shown: &str, output: &str) -> bool {
    let pieces: Vec<&str> = shown.split('…').map(str::trim).collect();
    if pieces.iter().all(|piece| piece.is_empty()) {
        return true;
    }
    output.lines().any(|line| {
        let mut rest = line;
        pieces.iter().all(|piece| match rest.find(piece) {
            Some(at) => {
                rest = &rest[at + piece.len()..];
                true
            }
            None => false,
        })
    })
}

#[test]
fn blocks_are_read_as_documented() {
    let page = "text\n```console exit=3\n$ one \\\n  more\nout\n\n$ two <<'END'\n$ \
        in\nEND\n```\n```toml\n$ no\n```\n";
    let step = |command: &str, shown: &[&str]| Step {
        command: command.to_owned(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    let steps = vec![
        step("one \\\n  more", &["out", ""]),
        step("two <<'END'\n$ in\nEND", &[]),
    ];
    assert_eq!(
        of("p.md", page),
        [Block {
            place: "p.md:2".to_owned(),
            steps,
            exit: 3
        }]
    );
    for (shown, found) in [
        ("b c", true),
        ("a … d", true),
        ("d … a", false),
        ("…", true),
        ("x", false),
        ("2 … 3", false),
    ] {
        assert_eq!(is_shown(shown, "1 2\na b c d\n3"), found, "{shown}");
    }
}
