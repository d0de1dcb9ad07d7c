//! C and C++: the code and the tests are compiled apart and linked to a main of ours that calls one
//! test by its name. Code that takes and gives plain data is a program of its own, and stubs of our
//! own making stand for it beside the tests.

mod own;
mod process;
mod stubs;
mod surface;
mod types;

use super::{
    super::{
        shared::{Plan, Step},
        worker::Worker,
    },
    tokens::{Dialect, Token, tokens},
};
use crate::{Given, languages::Toolchain};
use rebut_engine::sandbox::{Job, Style, Tests};
use std::collections::BTreeSet;

/// What is built and run for C.
pub(in super::super) fn plan_c(
    job: &Job,
    tests: &Tests,
    tools: &Toolchain,
) -> Result<Plan, String> {
    plan(job, tests, tools, "c", &["-std=gnu17"])
}

pub(in super::super) fn plan_cpp(
    job: &Job,
    tests: &Tests,
    tools: &Toolchain,
) -> Result<Plan, String> {
    plan(job, tests, tools, "cpp", &["-std=c++20"])
}

/// Headers under whose names tests may include the code.
const INCLUDES: &[&str] = &[
    "solution.c",
    "solution.h",
    "solution.cpp",
    "solution.hpp",
    "solution.cc",
];

/// Tests in C that hand over another kind of pointer than the code takes are not built apart:
/// the stub would write what the code said over
/// what they have. (C++ has no such conversions.)
const STRICT: &[&str] = &[
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=discarded-qualifiers",
];

fn plan(
    job: &Job,
    tests: &Tests,
    tools: &Toolchain,
    ending: &str,
    flags: &[&str],
) -> Result<Plan, String> {
    let words = tokens(&tests.text, Dialect::C);
    let functions = functions(&words);
    let main = functions.iter().find(|function| function.name == "main");
    let style = tests.style.unwrap_or(if main.is_some() {
        Style::Program
    } else {
        Style::Asserts
    });
    let (names, calls) = match (style, main) {
        (Style::Program, Some(main)) => {
            let call = if main.takes_nothing {
                "rebut_tests_main()"
            } else {
                "rebut_tests_main(count, words)"
            };
            (
                vec!["main".to_owned()],
                format!("    (void)name; return {call};\n"),
            )
        }
        (Style::Program, None) => return Err("a test program needs a function `main`".to_owned()),
        _ => {
            let names: Vec<String> = functions
                .iter()
                .filter(|function| function.name.starts_with("test"))
                .map(|function| function.name.clone())
                .collect();
            let calls = names
                .iter()
                .map(|name| {
                    format!("    if (rebut_same(name, \"{name}\")) {{ {name}(); return 0; }}\n")
                })
                .collect::<String>();
            (
                names,
                format!("    (void)count; (void)words;\n{calls}    return 3;\n"),
            )
        }
    };
    let included = INCLUDES
        .iter()
        .any(|name| tests.text.contains(&format!("\"{name}\"")));
    let source = format!(
        "{}\n{}",
        tests.text,
        include_str!("dispatch.c.txt").replace("    // tests\n", &calls)
    );
    let build = Build {
        job,
        tests,
        tools,
        ending,
        flags,
        included,
    };
    let run = |steps| Plan {
        names: names.clone(),
        steps,
        run: vec!["/in/harness".to_owned(), "{test}".to_owned()],
        files: Vec::new(),
        read: Vec::new(),
        noise: &[],
        worker: None,
    };
    let macros = if included {
        check_macros(&job.code, &words)
    } else {
        Ok(())
    };
    let shared = macros.map(|()| run(build.shared(source.clone())));
    let Some(surface) =
        surface::surface(&job.code, &tests.text, ending == "cpp").filter(|found| !found.is_empty())
    else {
        return shared;
    };
    let worker = Worker {
        steps: vec![build.code_side(&surface)],
        run: vec!["/in/worker".to_owned()],
        files: Vec::new(),
        otherwise: shared.map(Box::new),
    };
    let within_std =
        words.iter().any(|word| word.text == "using") || included && job.code.contains("using");
    Ok(Plan {
        worker: Some(worker),
        ..run(vec![build.tests_side(&surface, &source, within_std)])
    })
}

struct Build<'a> {
    job: &'a Job,
    tests: &'a Tests,
    tools: &'a Toolchain,
    ending: &'a str,
    flags: &'a [&'a str],
    /// Whether the tests take the code in.
    included: bool,
}

impl Build<'_> {
    /// Without a word about what is only doubtful.
    fn compile(&self, words: &[&str]) -> Vec<String> {
        self.compile_with(&["-w", "-O1"], words)
    }

    fn compile_with(&self, first: &[&str], words: &[&str]) -> Vec<String> {
        let always = ["-g0", "-UNDEBUG"];
        let program = self.tools.program.display().to_string();
        let all = first.iter().chain(&always).chain(self.flags).chain(words);
        std::iter::once(program)
            .chain(all.map(|word| (*word).to_owned()))
            .collect()
    }

    fn named(&self, name: &str) -> String {
        format!("{name}.{}", self.ending)
    }

    fn wire(&self) -> Vec<Given> {
        vec![
            Given::text(self.named("rebut_wire"), include_str!("c/wire.c.txt")),
            Given::text("rebut_wire.h", include_str!("c/wire.h.txt")),
            Given::text("rebut_wire.hpp", include_str!("c/wire.hpp.txt")),
        ]
    }

    fn code_side(&self, surface: &[surface::Function]) -> Step {
        let (code, wire) = (self.named("solution"), self.named("rebut_wire"));
        let mut files = self.wire();
        files.push(Given::text(
            code.clone(),
            format!(
                "{}{}",
                self.job.code,
                stubs::answers(surface, self.ending == "cpp")
            ),
        ));
        let argv = self.compile(&[
            "-Dmain=rebut_code_main",
            "-o",
            "worker",
            &code,
            &wire,
            "-lm",
            "-lpthread",
        ]);
        Step {
            argv,
            files,
            makes: vec!["worker"],
        }
    }

    /// The program of the tests: nothing in it is a word of the code but its plain names.
    fn tests_side(&self, surface: &[surface::Function], source: &str, within_std: bool) -> Step {
        let cpp = self.ending == "cpp";
        let (tests, wire) = (self.named("tests"), self.named("rebut_wire"));
        let (harness, stubs, names) = (
            self.named("rebut_harness"),
            self.named("rebut_stubs"),
            self.named("rebut_names"),
        );
        let mut files = self.wire();
        let declared = stubs::prototypes(surface);
        // In C++ the declarations of the tests must come first: functions of one name and other
        // parameters would stand beside them.
        let only = if self.included {
            stubs::only_meanings(surface)
        } else {
            String::new()
        };
        let text = if cpp {
            format!("{source}\n{declared}{only}")
        } else {
            format!("{declared}#line 1 \"{tests}\"\n{source}")
        };
        files.push(Given::text(tests.clone(), text));
        files.push(Given::text(
            harness.clone(),
            include_str!("c/harness.c.txt"),
        ));
        files.push(Given::text(stubs.clone(), stubs::stubs(surface, cpp)));
        let header = if self.included {
            stubs::header(&self.job.code, cpp)
        } else {
            String::new()
        };
        let taken = [&self.tests.text, &header]
            .into_iter()
            .flat_map(|text| own::includes(text).unwrap_or_default());
        let taken: Vec<String> = taken
            .filter(|name| !INCLUDES.contains(&name.as_str()))
            .collect();
        files.push(Given::text(
            names.clone(),
            stubs::names(surface, &taken, cpp, within_std),
        ));
        if self.included {
            files.extend(
                INCLUDES
                    .iter()
                    .map(|name| Given::text(*name, format!("{header}{declared}"))),
            );
        }
        // Hidden, so that no library of the system takes a stub for one of its own functions.
        let first = [
            "-DREBUT_TESTS",
            "-Dmain=rebut_tests_main",
            "-fvisibility=hidden",
            "-o",
            "harness",
        ];
        let rest = [&harness, &stubs, &wire, &names, &tests].map(String::as_str);
        let words = [&first[..], &rest, &["-lm", "-lpthread"]].concat();
        // What the tests hand on through helpers of theirs is seen once those are taken in where
        // they are called.
        let level: &[&str] = if surface.iter().any(surface::Function::is_bounded) {
            &["-O2", "-finline-limit=2000"]
        } else {
            &["-O1"]
        };
        let argv = self.compile_with(
            &[if cpp { &["-w"] } else { STRICT }, level].concat(),
            &words,
        );
        Step {
            argv,
            files,
            makes: vec!["harness"],
        }
    }

    /// Code and tests in one program.
    fn shared(&self, source: String) -> Vec<Step> {
        let (code, tests, harness) = (
            self.named("solution"),
            self.named("tests"),
            self.named("harness"),
        );
        let mut made = Vec::new();
        let mut seen = vec![Given::text(tests.clone(), source)];
        if self.included {
            seen.extend(
                INCLUDES
                    .iter()
                    .map(|name| Given::text(*name, self.job.code.as_str())),
            );
        } else {
            let argv = self.compile(&["-Dmain=rebut_code_main", "-c", "-o", "solution.o", &code]);
            made.push(Step {
                argv,
                files: vec![Given::text(code, self.job.code.as_str())],
                makes: vec!["solution.o"],
            });
        }
        let argv = self.compile(&["-Dmain=rebut_tests_main", "-c", "-o", "tests.o", &tests]);
        made.push(Step {
            argv,
            files: seen,
            makes: vec!["tests.o"],
        });
        let mut link = vec!["-o", "harness", &harness, "tests.o"];
        link.extend((!self.included).then_some("solution.o"));
        link.extend(["-lm", "-lpthread"]);
        made.push(Step {
            argv: self.compile(&link),
            files: vec![Given::text(harness.clone(), include_str!("harness.c.txt"))],
            makes: vec!["harness"],
        });
        made
    }
}

/// A function that is defined at the top level.
struct Function {
    name: String,
    takes_nothing: bool,
}

fn functions(words: &[Token<'_>]) -> Vec<Function> {
    let (mut found, mut depth) = (Vec::new(), 0_usize);
    for (index, word) in words.iter().enumerate() {
        match word.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "(" if depth == 0 && index > 0 => {
                let Some(close) = words[index..]
                    .iter()
                    .position(|word| word.text == ")")
                    .map(|at| index + at)
                else {
                    continue;
                };
                if words.get(close + 1).is_some_and(|next| next.text == "{") {
                    let inner: Vec<&str> = words[index + 1..close]
                        .iter()
                        .map(|word| word.text)
                        .collect();
                    found.push(Function {
                        name: words[index - 1].text.to_owned(),
                        takes_nothing: inner.is_empty() || inner == ["void"],
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// Code that the tests include must not give another meaning to a word of theirs.
fn check_macros(code: &str, tests: &[Token<'_>]) -> Result<(), String> {
    let joined = code
        .replace("\\\n", "")
        .replace("\\\r\n", "")
        .replace("??=", "#")
        .replace("%:", "#");
    let used: BTreeSet<&str> = tests
        .iter()
        .map(|token| token.text)
        .chain(["NDEBUG", "assert", "return", "if", "main"])
        .collect();
    let words = tokens(&joined, Dialect::C);
    let directives = words
        .windows(3)
        .filter(|three| three[0].text == "#" && matches!(three[1].text, "define" | "undef"));
    match directives
        .map(|three| three[2].text)
        .find(|name| used.contains(name))
    {
        Some(name) => Err(format!(
            "the code defines the macro `{name}`, which is a word of the tests; declare what they \
             need instead of including the code"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_where_they_are_defined() {
        let text = "int add(int, int);\nstatic void test_a(void) { if (x) { y(); } }\nvoid \
            test_b() {\n}\nint main(int argc, char **argv) { return 0; }";
        let found: Vec<(String, bool)> = functions(&tokens(text, Dialect::C))
            .into_iter()
            .map(|function| (function.name, function.takes_nothing))
            .collect();
        assert_eq!(
            found,
            [("test_a", true), ("test_b", true), ("main", false)]
                .map(|(name, nothing)| (name.to_owned(), nothing))
        );
    }

    #[test]
    fn included_code_gives_no_word_of_the_tests_another_meaning() {
        let tests = tokens(
            "#include <assert.h>\nvoid test_a() { assert(add(1, 2) == 3); }",
            Dialect::C,
        );
        let rows = [
            ("#define LIMIT 3", true),
            ("#define NDEBUG", false),
            ("# /**/ define add(a, b) 3", false),
            ("#de\\\nfine assert(x)", false),
            ("??=define test_a x", false),
        ];
        for (code, fine) in rows {
            assert_eq!(check_macros(code, &tests).is_ok(), fine, "{code}");
        }
    }
}
