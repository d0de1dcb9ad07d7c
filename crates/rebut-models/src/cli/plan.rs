//! From data and a request to the exact command: arguments, environment, files, standard input.

use super::{
    Cli,
    data::{Arg, Home, Stdin},
    place::Paths,
    running::MARK,
};
use rebut_engine::{
    clean,
    model::{Fault, FaultKind, Request},
    secrets::BLANK,
};
use std::{collections::BTreeMap, path::PathBuf};

/// One call of a CLI, before anything is started.
pub(super) struct Plan {
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub stdin: Option<String>,
    pub files: Vec<PlannedFile>,
}

/// A file to write first.
pub(super) struct PlannedFile {
    pub place: FilePlace,
    pub path: String,
    pub text: String,
}

/// Where a file goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FilePlace {
    Work,
    Home,
    /// Beside both, where no agent looks by itself.
    Root,
}

impl FilePlace {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Home => "home",
            Self::Root => "",
        }
    }

    /// Whether a change is the agent's doing. CLIs rewrite their own settings.
    pub(super) fn is_guarded(self) -> bool {
        self != Self::Home
    }
}

/// Larger values never become arguments: Linux takes 128 KiB for one.
const LARGEST_ARG: usize = 100_000;

/// The names of values that texts may hold.
const NAMES: &[&str] = &[
    "prompt",
    "system",
    "schema_file",
    "schema",
    "model",
    "effort",
    "dir",
    "home",
];

type Values<'a> = BTreeMap<&'static str, &'a str>;

impl Cli {
    /// What one request becomes.
    pub(super) fn plan(
        &self,
        model: Option<&str>,
        request: &Request<'_>,
        paths: &Paths,
    ) -> Result<Plan, Fault> {
        let prompt = self.prompt(request);
        let by_stdin = match self.data.stdin.unwrap_or_default() {
            Stdin::Always => true,
            Stdin::Large => prompt.len() > LARGEST_ARG,
            Stdin::Never if prompt.len() > LARGEST_ARG => {
                let message = format!(
                    "{} takes its prompt as an argument, and this one is too long ({} bytes)",
                    self.name,
                    prompt.len()
                );
                return Err(Fault::new(FaultKind::TooLong, message));
            }
            Stdin::Never => false,
        };
        let mut values: Values<'_> = [
            ("dir", paths.dir.as_str()),
            ("home", &paths.home),
            ("schema_file", &paths.schema_file),
        ]
        .into();
        let optional = [
            ("system", Some(&*request.prompt.system)),
            ("schema", Some(&*request.schema.json)),
            ("model", model),
            ("effort", request.agent.effort.map(|effort| effort.as_str())),
            ("prompt", Some(prompt.as_str()).filter(|_| !by_stdin)),
        ];
        values.extend(
            optional
                .into_iter()
                .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?))),
        );
        Ok(Plan {
            args: self.args(&values),
            env: self.env(&values, paths),
            files: self.files(&values, request),
            stdin: by_stdin.then_some(prompt),
        })
    }

    /// The user's part, after the system part where the CLI has no place for that.
    fn prompt(&self, request: &Request<'_>) -> String {
        let system = &request.prompt.system;
        let in_file = self
            .data
            .files
            .values()
            .any(|text| text.contains("{system}"));
        let in_args = system.len() <= LARGEST_ARG && self.mentions("{system}");
        if system.is_empty() || in_file || in_args {
            request.prompt.user.clone()
        } else {
            format!("{system}\n\n{}", request.prompt.user)
        }
    }

    fn mentions(&self, hole: &str) -> bool {
        let mut texts = self.data.args.iter().flatten().flat_map(|arg| arg.texts());
        texts.any(|text| text.contains(hole))
    }

    fn args(&self, values: &Values<'_>) -> Vec<String> {
        let small: Values<'_> = values
            .iter()
            .filter(|(_, value)| value.len() <= LARGEST_ARG)
            .map(|(name, value)| (*name, *value))
            .collect();
        let wanted =
            |arg: &&Arg| !matches!(arg, Arg::When { var, .. } if !self.passed.contains_key(var));
        let groups = self.data.args.iter().flatten().filter(wanted);
        groups
            .filter_map(|arg| {
                arg.texts()
                    .iter()
                    .map(|text| filled(text, &small))
                    .collect::<Option<Vec<_>>>()
            })
            .flatten()
            .collect()
    }

    /// Nothing of ours but what is named: keys of other providers stay here.
    fn env(&self, values: &Values<'_>, paths: &Paths) -> BTreeMap<String, String> {
        let home = if self.has_own_home() {
            Some(paths.home.as_str())
        } else {
            self.user_home.as_deref()
        };
        let fixed = [
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("NO_COLOR", "1"),
            ("TMPDIR", &paths.tmp),
            ("HOME", home.unwrap_or(&paths.home)),
        ];
        let mut env: BTreeMap<String, String> = fixed
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        env.extend(self.passed.clone());
        env.extend(
            self.data
                .env
                .iter()
                .filter_map(|(name, text)| Some((name.clone(), filled(text, values)?))),
        );
        // Last: nobody may take it away, since all processes of a call are found by it.
        env.insert(MARK.to_owned(), paths.mark().to_owned());
        env
    }

    fn files(&self, values: &Values<'_>, request: &Request<'_>) -> Vec<PlannedFile> {
        let mut files: Vec<PlannedFile> = Vec::new();
        for (path, text) in &self.data.files {
            let Some(text) = filled(text, values) else {
                continue;
            };
            match path.strip_prefix("~/") {
                None => files.push(PlannedFile {
                    place: FilePlace::Work,
                    path: path.clone(),
                    text,
                }),
                Some(path) if self.has_own_home() => files.push(PlannedFile {
                    place: FilePlace::Home,
                    path: path.to_owned(),
                    text,
                }),
                Some(_) => {}
            }
        }
        if self.mentions("{schema_file}") {
            files.push(PlannedFile {
                place: FilePlace::Root,
                path: "schema.json".to_owned(),
                text: request.schema.json.to_string(),
            });
        }
        files
    }

    /// Whether it gets a home of its own. Without a home of the user's there is no choice.
    pub(super) fn has_own_home(&self) -> bool {
        match self.data.home.unwrap_or_default() {
            Home::Own => true,
            Home::User => self.user_home.is_none(),
            Home::OwnWithKey => self.user_home.is_none() || self.has_key(),
        }
    }

    /// A plan for people: everything exact but secrets.
    pub(super) fn shown(&self, plan: &Plan, paths: &Paths) -> String {
        let program = self.program().map_or_else(
            |_| self.command.clone(),
            |path| path.to_string_lossy().into_owned(),
        );
        let argv: Vec<String> = std::iter::once(&program)
            .chain(&plan.args)
            .map(|arg| quoted(arg))
            .collect();
        let is_secret = |value: &str| self.secrets.iter().any(|secret| secret == value.trim());
        let value = |value: &str| {
            if is_secret(value) {
                BLANK.to_owned()
            } else {
                quoted(value)
            }
        };
        let env: Vec<String> = plan
            .env
            .iter()
            .map(|(name, text)| format!("{name}={}", value(text)))
            .collect();
        let mut text = format!(
            "{}\n\nenvironment, and nothing else:\n{}\n",
            argv.join(" "),
            env.join("\n")
        );
        text.push_str(&format!(
            "\ndirectory {} (new for each call, with other letters at its end; removed after it)\n",
            paths.dir
        ));
        for file in &plan.files {
            let path: PathBuf = [&paths.root, file.place.name(), &file.path]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect();
            text.push_str(&format!("\nfile {}:\n{}\n", path.display(), file.text));
        }
        match &plan.stdin {
            Some(stdin) => text.push_str(&format!(
                "\nstandard input ({} bytes):\n{stdin}",
                stdin.len()
            )),
            None => text.push_str("\nstandard input: closed"),
        }
        self.scrubber.scrub(text)
    }
}

impl Arg {
    fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Group(texts) | Self::When { args: texts, .. } => texts,
        }
    }
}

/// The text with its values, or `None` when one is absent. Values are not looked into: a prompt may
/// say `{model}`.
fn filled(text: &str, values: &Values<'_>) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        result.push_str(before);
        let name = NAMES.iter().find(|name| {
            after
                .strip_prefix(**name)
                .is_some_and(|tail| tail.starts_with('}'))
        });
        match name {
            Some(name) => {
                result.push_str(values.get(name)?);
                rest = &after[name.len() + 1..];
            }
            None => {
                result.push('{');
                rest = after;
            }
        }
    }
    result.push_str(rest);
    Some(result)
}

/// An argument as a shell would take it.
fn quoted(arg: &str) -> String {
    let plain = !arg.is_empty()
        && arg
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./:=@,+{}".contains(c));
    if plain {
        arg.to_owned()
    } else {
        format!("'{}'", clean::for_people(arg).replace('\'', r"'\''"))
    }
}
