//! Code and tests: stubs that say what they are. They do nothing and claim nothing.

use rebut_engine::{
    agent::Agent,
    clean::{on_one_line, shortened},
    prompt::Prompt,
};

/// What the code is said to be.
pub fn approach(agent: &Agent, prompt: &Prompt) -> String {
    let task = prompt
        .part("task")
        .or_else(|| prompt.part("question"))
        .unwrap_or_default();
    let task = on_one_line(task);
    format!(
        "REHEARSAL by {}: a stub, not a solution of: {}",
        agent.role,
        shortened(&task, 100)
    )
}

/// By language: a file that does nothing (`{}` stands for what it says of itself), and a test that
/// cannot hold.
const STUBS: [(&str, &str, &str); 7] = [
    (
        "python",
        "# {}\nraise NotImplementedError(\"rehearsal\")\n",
        "def test_rehearsal():\n    assert False, 'a rehearsal writes no code'\n",
    ),
    ("shell", "#!/bin/sh\n# {}\nexit 1\n", "exit 1\n"),
    (
        "javascript",
        "// {}\nthrow new Error(\"rehearsal\");\n",
        "require(\"node:test\")(\"rehearsal\", () => { throw new Error(\"rehearsal\"); });\n",
    ),
    (
        "go",
        "package solution\n\n// {}\n",
        "package solution\n\nimport \"testing\"\n\nfunc TestRehearsal(t *testing.T) \
         {\n\tt.Fatal(\"rehearsal\")\n}\n",
    ),
    (
        "rust",
        "// {}\n",
        "#[test]\nfn rehearsal() {\n    panic!(\"rehearsal\");\n}\n",
    ),
    (
        "c",
        "// {}\n",
        "#include <stdlib.h>\nvoid test_rehearsal(void) { abort(); }\n",
    ),
    (
        "cpp",
        "// {}\n",
        "#include <stdlib.h>\nvoid test_rehearsal(void) { abort(); }\n",
    ),
];

/// Code and test of the language that a prompt names.
fn stubs(prompt: &Prompt) -> (&'static str, &'static str) {
    let language = prompt.part("language").or_else(|| {
        let (_, rest) = prompt.user.rsplit_once("Language: ")?;
        Some(rest.split_once('.')?.0)
    });
    let known = STUBS.iter().find(|(name, ..)| Some(*name) == language);
    known.map_or(("// {}\n", "exit 1\n"), |(_, code, test)| (code, test))
}

/// A file that says what it is and does nothing; where a prompt names what is called, it is
/// defined.
pub fn stub(agent: &Agent, prompt: &Prompt) -> String {
    let said = approach(agent, prompt);
    match (prompt.part("language"), prompt.part("entry")) {
        (Some("python"), Some(entry)) => {
            format!("def {entry}(*given, **named):\n    # {said}\n    return None\n")
        }
        _ => stubs(prompt).0.replace("{}", &said),
    }
}

pub fn test(prompt: &Prompt) -> String {
    stubs(prompt).1.to_owned()
}
