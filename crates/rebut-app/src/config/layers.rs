//! Finding, reading and joining configuration files; errors name the file, the line and the nearest
//! known key.

use super::{
    file::{BudgetSection, ConfigFile},
    limits,
    powers::{self, Divided},
    project::{self, Found},
    shape,
    trust::{Standing, Trust},
};
use crate::{beneath::Typed, context::is_denied, error::AppError};
use rebut_engine::{clean::on_one_line, formats::FORMATS, suggest::suggest};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default)]
pub struct Origin {
    pub current_dir: PathBuf,
    pub user_dir: Option<PathBuf>,
    /// A file named on the command line, instead of the project's.
    pub named: Option<PathBuf>,
    /// The user's home, above which no project's file is looked for.
    pub home: Option<PathBuf>,
    /// The user's own folder for notes, where it is recorded which projects are trusted.
    pub state_dir: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct Layer {
    pub path: PathBuf,
    /// Whether it is the project's rather than the user's.
    pub is_project: bool,
    pub table: toml::Table,
}

impl Origin {
    pub fn user_file(&self) -> Option<PathBuf> {
        self.user_dir
            .as_ref()
            .map(|dir| dir.join("rebut").join("config.toml"))
    }

    /// What the user trusts; `None` where there is no place to record it.
    pub fn trust(&self) -> Option<Trust> {
        self.state_dir.as_deref().map(Trust::new)
    }
}

#[derive(Debug, Default)]
pub struct Read {
    /// The files and what of them is used, strongest last.
    pub layers: Vec<Layer>,
    /// The project's file as it is, unless one was named on the command line: that is the user's
    /// choice.
    pub project: Option<Project>,
    /// A project's file that is not used, and why.
    pub passed_over: Option<(PathBuf, &'static str)>,
}

#[derive(Clone, Debug)]
pub struct Project {
    pub path: PathBuf,
    /// What it says, byte for byte.
    pub text: String,
    /// What of it can do what.
    pub divided: Divided,
    pub standing: Standing,
}

/// Reads the user's and the project's file, each checked on its own.
pub fn read(origin: &Origin) -> Result<Read, AppError> {
    let mut read = Read::default();
    let mut user = ConfigFile::default();
    // A folder of that name cannot be read, and whoever made it should be told so.
    if let Some(path) = origin.user_file().filter(|file| file.exists()) {
        let layer = parse(path.clone(), &crate::read_file::own_text(&path)?, false)?;
        user = typed(&path.display().to_string(), &layer.table)?;
        read.layers.push(layer);
    }
    if let Some(path) = origin.named.clone() {
        let text = crate::read_file::text(&path)?;
        read.layers.push(parse(path, &text, true)?);
        return Ok(read);
    }
    match project::find(origin)? {
        Found::Nothing => {}
        Found::PassedOver { path, why } => read.passed_over = Some((path, why)),
        Found::File { path, text } => {
            let layer = parse(path.clone(), &text, true)?;
            let mut divided = powers::divide(layer.table, &user);
            drop_odd_panels(&mut divided);
            if let Some(own) = read.layers.first() {
                divided
                    .never
                    .extend(limits::hold(&mut divided.harmless, &own.table));
            }
            let standing = origin
                .trust()
                .map_or(Ok(Standing::Unknown), |trust| trust.standing(&path, &text))?;
            let mut table = divided.harmless.clone();
            if standing == Standing::Trusted {
                merge(&mut table, divided.powerful.clone());
            }
            read.layers.push(Layer {
                path: path.clone(),
                is_project: true,
                table,
            });
            read.project = Some(Project {
                path,
                text,
                divided,
                standing,
            });
        }
    }
    Ok(read)
}

/// Checks a file's text and reads it.
fn parse(path: PathBuf, text: &str, is_project: bool) -> Result<Layer, AppError> {
    check(Some(&path), text)?;
    let table = toml::from_str(text).map_err(|error| in_file(&path, &error))?;
    Ok(Layer {
        path,
        is_project,
        table,
    })
}

/// So many members has a project's panel at most: each is asked, and paid for.
const MOST_MEMBERS: usize = 32;

/// Takes out panels of a project that are dear beyond sense, or let a file speak which is not the
/// project's own: what it holds would be told to the other judges.
fn drop_odd_panels(divided: &mut Divided) {
    let Some(panels) = divided
        .harmless
        .get_mut("panels")
        .and_then(toml::Value::as_table_mut)
    else {
        return;
    };
    let is_foreign = |model: &str| {
        let Some(file) = model.strip_prefix("script:").map(Path::new) else {
            return false;
        };
        let leads_out = file.is_absolute()
            || file
                .components()
                .any(|part| part == std::path::Component::ParentDir);
        leads_out || is_denied(file, &[]) || Typed::new(file).and_then(|file| file.check()).is_err()
    };
    panels.retain(|name, panel| {
        let members = panel
            .get("members")
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten();
        let models = members.flat_map(|member| {
            let fallbacks = member
                .get("fallbacks")
                .and_then(toml::Value::as_array)
                .into_iter()
                .flatten();
            member
                .get("model")
                .into_iter()
                .chain(fallbacks)
                .filter_map(toml::Value::as_str)
        });
        let count = panel
            .get("members")
            .and_then(toml::Value::as_array)
            .map_or(0, Vec::len);
        let why = match () {
            () if count > MOST_MEMBERS => "too many members",
            () if models.into_iter().any(is_foreign) => "its script is not the project's own",
            () => return true,
        };
        divided.never.push(format!(
            "panels.{} ({why})",
            rebut_engine::clean::on_one_line(name)
        ));
        false
    });
}

/// The presets of all formats as one table.
pub fn presets() -> Result<toml::Table, AppError> {
    let section =
        |preset: &str| toml::from_str(preset).map_err(|error| AppError::failed(error.to_string()));
    FORMATS
        .iter()
        .map(|format| {
            Ok((
                format.name.to_owned(),
                toml::Value::Table(section(format.preset)?),
            ))
        })
        .collect()
}

/// `[debate]` is short for `[review.debate]`; where a file has both, the longer name counts.
pub fn with_long_names(mut table: toml::Table) -> toml::Table {
    let Some(debate) = table.remove("debate") else {
        return table;
    };
    let mut renamed = below(
        "review",
        below("debate", debate.as_table().cloned().unwrap_or_default()),
    );
    merge(&mut renamed, table);
    renamed
}

fn below(key: &str, table: toml::Table) -> toml::Table {
    toml::Table::from_iter([(key.to_owned(), toml::Value::Table(table))])
}

/// Puts `over` on top: tables are joined, everything else is replaced. A panel is replaced as a
/// whole.
pub fn merge(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) if key != "members" => {
                merge(below, above)
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Puts settings over others: sections key by key, all else as a whole.
pub fn merge_json(
    under: &mut serde_json::Map<String, serde_json::Value>,
    over: &serde_json::Map<String, serde_json::Value>,
) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(serde_json::Value::Object(below)), serde_json::Value::Object(above)) => {
                merge_json(below, above)
            }
            _ => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The caps of all files, and which of them two files set.
pub fn budget(layers: &[Layer]) -> Result<(BudgetSection, Vec<&'static str>), AppError> {
    let (mut joined, mut shared) = (BudgetSection::default(), Vec::new());
    for layer in layers {
        let file: ConfigFile = typed(&layer.path.display().to_string(), &layer.table)?;
        shared.extend(joined.shared_with(&file.budget));
        joined = joined.tightened_by(file.budget);
    }
    Ok((joined, shared))
}

/// What is never sent: what any file or flag says, so that no file takes away what another denies.
pub fn denied(layers: &[Layer], last: Vec<String>) -> Result<Vec<String>, AppError> {
    let mut all = Vec::new();
    for layer in layers {
        let file: ConfigFile = typed(&layer.path.display().to_string(), &layer.table)?;
        all.extend(file.context.deny);
    }
    all.extend(last);
    let mut known = std::collections::BTreeSet::new();
    all.retain(|pattern| known.insert(pattern.clone()));
    Ok(all)
}

pub fn override_table(text: &str) -> Result<toml::Table, AppError> {
    let bad = || {
        AppError::usage(format!(
            "`--set {text}` should look like `--set decide.max_rounds=3`"
        ))
    };
    let (path, value) = text.split_once('=').ok_or_else(bad)?;
    // What is not a TOML value as it stands is meant as text.
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut table| table.remove("value"));
    let mut value = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    for key in path.rsplit('.') {
        if key.trim().is_empty() {
            return Err(bad());
        }
        value = toml::Value::Table(toml::Table::from_iter([(key.trim().to_owned(), value)]));
    }
    let table = toml::Table::try_from(value).map_err(|_| bad())?;
    let text = toml::to_string(&table).map_err(|error| AppError::usage(error.to_string()))?;
    check(None, &text)?;
    Ok(table)
}

/// Changes from the command line as one table, each checked by itself.
pub fn override_tables(texts: &[String]) -> Result<toml::Table, AppError> {
    let mut all = toml::Table::new();
    for text in texts {
        merge(&mut all, with_long_names(override_table(text)?));
    }
    Ok(all)
}

/// The typed form of a table.
pub fn typed<T: DeserializeOwned>(what: &str, table: &toml::Table) -> Result<T, AppError> {
    table.clone().try_into().map_err(|error| {
        AppError::usage(format!(
            "{what}: {}",
            with_suggestion(&toml_message(&error))
        ))
    })
}

/// Whether a text is a valid configuration. The error names the file's line; what was typed as a
/// flag has none.
fn check(file: Option<&Path>, text: &str) -> Result<(), AppError> {
    let wrong = |error: toml::de::Error| match file {
        Some(path) => in_file(path, &error),
        None => AppError::usage(with_suggestion(error.message())),
    };
    let table: toml::Table = toml::from_str(text).map_err(wrong)?;
    if let Some(key) = shape::list_for_table(&schemars::schema_for!(ConfigFile).to_value(), &table)
    {
        let place = file
            .map(|path| format!("{}: ", path.display()))
            .unwrap_or_default();
        let message = format!(
            "{place}{} is a list, and a table with named keys belongs there",
            on_one_line(&key)
        );
        return Err(AppError::usage(message).hint("`rebut schema config` shows every key"));
    }
    toml::from_str::<ConfigFile>(text).map_err(wrong)?;
    let section = |name: &str| table.get(name).and_then(toml::Value::as_table).cloned();
    let of_formats = FORMATS
        .iter()
        .filter_map(|format| Some((format.name, section(format.name)?)));
    let of_debate = section("debate").map(|debate| ("review", below("debate", debate)));
    for (format, given) in of_formats.chain(of_debate) {
        // Key by key over the defaults: a section may leave keys out, and the key that is wrong is
        // known.
        for (key, value) in given {
            let Err(problem) = check_setting(format, &key, value)? else {
                continue;
            };
            let named = if problem.contains(&key) {
                problem
            } else {
                format!("{key}: {problem}")
            };
            let place = file
                .map(|path| format!("{}: {}", path.display(), line_of(text, format, &key)))
                .unwrap_or_default();
            return Err(AppError::usage(format!(
                "{place}{}",
                with_suggestion(&named)
            )));
        }
    }
    Ok(())
}

/// Whether one setting of a format is valid when everything else has its default.
fn check_setting(
    format: &str,
    key: &str,
    value: toml::Value,
) -> Result<Result<(), String>, AppError> {
    let mut complete = presets()?;
    let setting = toml::Table::from_iter([(key.to_owned(), value)]);
    merge(
        &mut complete,
        toml::Table::from_iter([(format.to_owned(), toml::Value::Table(setting))]),
    );
    let json = serde_json::to_value(complete.remove(format))
        .map_err(|error| AppError::failed(error.to_string()))?;
    let Some(rules) = FORMATS.iter().find(|known| known.name == format) else {
        return Ok(Ok(()));
    };
    Ok((rules.check_config)(&json).map_err(|problem| {
        problem
            .trim_start_matches(&format!("{format}: "))
            .to_owned()
    }))
}

fn in_file(path: &Path, error: &toml::de::Error) -> AppError {
    let message = hidden_urls(&with_suggestion(&error.to_string()));
    AppError::usage(format!("{}: {message}", path.display()))
        .hint("`rebut schema config` shows every key")
}

/// A line that is quoted from a file, without the URL of a database: it holds a password.
fn hidden_urls(message: &str) -> String {
    let hidden = |line: &str| match line.find("postgres://").or(line.find("postgresql://")) {
        Some(at) => format!("{}postgres://…", &line[..at]),
        None => line.to_owned(),
    };
    message.lines().map(hidden).collect::<Vec<_>>().join("\n")
}

fn toml_message(error: &toml::de::Error) -> String {
    error.message().to_owned()
}

/// What was expected, by the names that parsers use for it.
const KINDS: [(&str, &str); 7] = [
    ("expected f64", "expected a number"),
    ("expected u8", "expected a whole number"),
    ("expected u16", "expected a whole number"),
    ("expected u32", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected usize", "expected a whole number"),
    ("expected a boolean", "expected true or false"),
];

/// The message in plain words, with the nearest known key where one is unknown.
pub fn with_suggestion(message: &str) -> String {
    let message = KINDS
        .iter()
        .fold(message.to_owned(), |message, (kind, words)| {
            message.replace(kind, words)
        });
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(unknown) = quoted.next().filter(|_| message.contains("unknown field")) else {
        return message.trim_end().to_owned();
    };
    match suggest(unknown, quoted) {
        Some(known) => format!("{}\ndid you mean `{known}`?", message.trim_end()),
        None => message.trim_end().to_owned(),
    }
}

/// The line on which a key of a section stands, in words.
fn line_of(text: &str, section: &str, key: &str) -> String {
    let start = || {
        let file = toml::de::DeTable::parse(text).ok()?;
        let section = file.get_ref().get(section)?.get_ref().as_table()?;
        let (key, _) = section.get_key_value(key)?;
        Some(key.span().start)
    };
    start()
        .map(|at| format!("line {}: ", 1 + text[..at].matches('\n').count()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_schema_of_a_section_lists_the_keys_that_its_format_takes() {
        let schema = schemars::schema_for!(ConfigFile).to_value();
        for format in FORMATS {
            let refused = check_setting(format.name, "no_such_key", toml::Value::Boolean(true))
                .expect("a preset")
                .expect_err("a refusal");
            let taken: BTreeSet<&str> = refused
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|word| *word != "no_such_key")
                .collect();
            let section = &schema["properties"][format.name];
            let listed = section["properties"]
                .as_object()
                .unwrap_or_else(|| panic!("{}: its keys are not here: {section}", format.name));
            assert_eq!(
                listed.keys().map(String::as_str).collect::<BTreeSet<_>>(),
                taken,
                "{}",
                format.name
            );
            assert_eq!(
                (&section["additionalProperties"], section.get("required")),
                (&false.into(), None),
                "{}",
                format.name
            );
        }
    }
}
