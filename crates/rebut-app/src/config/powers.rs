//! What a project's file may do by itself, what only with the user's trust, and what never.
//!
//! Harmless settings shape a debate: thresholds, rounds, voting, panels over models that the user
//! has. Powerful ones let something leave this machine or start on it.

use super::file::ConfigFile;
use rebut_engine::{clean::on_one_line, model::Price};
use rebut_models::{CliData, ProviderData, address::Address, registry::built_in};
use std::collections::BTreeMap;

/// Sections and keys that never come from a project: where debates are kept, what a server allows,
/// what hooks of coding agents do and pay for, and that models of unknown price count nothing under
/// a cap on money.
const NEVER: &[&[&str]] = &[
    &["defaults", "data"],
    &["defaults", "database"],
    &["server"],
    &["hook"],
    &["budget", "allow_unknown_price"],
];

/// Sections and keys that work at once. What stands in no list waits for trust, so that a new
/// setting does until somebody has thought about it.
const HARMLESS: &[&[&str]] = &[
    &["defaults", "panel"],
    &["defaults", "calls_per_provider"],
    &["panels"],
    &["budget"],
    &["context"],
    &["decide"],
    &["challenge"],
    &["evaluate"],
    &["review"],
    &["debate"],
    &["triage"],
    &["propose"],
    &["single"],
    &["poll"],
    &["society"],
    &["solve", "timeout_per_agent"],
    &["solve", "phases"],
    &["solve", "clarification_rounds"],
    &["solve", "clarification_confidence"],
    &["solve", "clarify_from_words"],
    &["solve", "self_refinements"],
    &["solve", "max_attempts"],
    &["solve", "give_up_below"],
    &["solve", "adversarial_rounds"],
    &["solve", "topology"],
    &["solve", "planning"],
    &["solve", "cognitive_planning"],
    &["solve", "voting"],
    &["solve", "contrast"],
    &["solve", "lessons"],
    &["solve", "similarity"],
    &["solve", "lints"],
    &["solve", "gates"],
    &["solve", "gate_minutes"],
    &["solve", "seconds_per_run"],
    &["solve", "tool_calls"],
];

/// A project's file, divided by what its settings can do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Divided {
    pub harmless: toml::Table,
    /// What works once it is trusted, below the same keys.
    pub powerful: toml::Table,
    pub powers: Vec<Power>,
    /// What is never taken, with the reason where the key alone does not say it.
    pub never: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    pub key: String,
    /// What it would allow, a line each.
    pub allows: Vec<String>,
}

/// Divides a project's table, which is known to be valid. `user` is what the user's own file says.
pub fn divide(mut table: toml::Table, user: &ConfigFile) -> Divided {
    let mut divided = Divided::default();
    for path in NEVER {
        if take(&mut table, path).is_some() {
            divided.never.push(path.join("."));
        }
    }
    for path in HARMLESS {
        if let Some(value) = take(&mut table, path) {
            put(&mut divided.harmless, path, value);
        }
    }
    for (section, value) in table {
        match (section.as_str(), value) {
            ("providers", value) => divided.providers(value, user),
            ("clis", value) => divided.clis(value, user),
            (section, toml::Value::Table(keys)) => {
                for (key, value) in keys.into_iter().filter(|(_, value)| !is_empty(value)) {
                    let words = in_words(&[section, &key], &value);
                    divided.add(&[section, &key], value, words);
                }
            }
            (section, value) => {
                let words = in_words(&[section], &value);
                divided.add(&[section], value, words);
            }
        }
    }
    divided
}

/// What the recorded settings of a debate let leave this machine or start on it, a line each.
/// The settings are JSON.
pub fn recorded(format: &str, config: &str) -> Vec<String> {
    let keys: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(config).unwrap_or_default();
    let keys: toml::Table = keys
        .into_iter()
        .filter_map(|(key, value)| Some((key, in_toml(value)?)))
        .collect();
    let divided = divide(
        toml::Table::from_iter([(format.to_owned(), keys.into())]),
        &ConfigFile::default(),
    );
    divided
        .powers
        .into_iter()
        .flat_map(|power| power.allows)
        .collect()
}

/// A JSON value in TOML, without its nulls. Nothing else is left out: a number that TOML does not
/// have becomes its text.
fn in_toml(value: serde_json::Value) -> Option<toml::Value> {
    use serde_json::Value;
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => value.into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(real)) => real.into(),
            (None, None) => number.to_string().into(),
        },
        Value::String(text) => text.into(),
        Value::Array(items) => items
            .into_iter()
            .filter_map(in_toml)
            .collect::<Vec<_>>()
            .into(),
        Value::Object(keys) => keys
            .into_iter()
            .filter_map(|(key, value)| Some((key, in_toml(value)?)))
            .collect::<toml::Table>()
            .into(),
    })
}

impl Divided {
    fn add(&mut self, path: &[&str], value: toml::Value, mut allows: Vec<String>) {
        // Nothing is trusted that was not shown.
        if allows.is_empty() {
            allows.push(on_one_line(&format!("sets {} to {value}", path.join("."))));
        }
        put(&mut self.powerful, path, value);
        self.powers.push(Power {
            key: on_one_line(&path.join(".")),
            allows,
        });
    }

    fn providers(&mut self, value: toml::Value, user: &ConfigFile) {
        let given: BTreeMap<String, ProviderData> = value.try_into().unwrap_or_default();
        for (name, data) in given {
            if !is_plain(&name) {
                self.never
                    .push(format!("providers.{} ({PLAIN_NAMES})", on_one_line(&name)));
                continue;
            }
            let known = known_provider(&name, user);
            if known.is_none() && is_taken(&usual_key(&name), user) {
                self.never.push(format!(
                    "providers.{name} (its key {} is another provider's)",
                    usual_key(&name)
                ));
                continue;
            }
            match checked(&name, data, known.as_ref(), &mut self.never) {
                Ok(data) => {
                    let words = provider_in_words(&data, known.as_ref());
                    if let Ok(value) = toml::Value::try_from(&data) {
                        self.add(&["providers", &name], value, words);
                    }
                }
                Err(why) => self
                    .never
                    .push(format!("providers.{} ({why})", on_one_line(&name))),
            }
        }
    }

    fn clis(&mut self, value: toml::Value, user: &ConfigFile) {
        let given: BTreeMap<String, CliData> = value.try_into().unwrap_or_default();
        for (name, data) in given {
            if !is_plain(&name) {
                self.never
                    .push(format!("clis.{} ({PLAIN_NAMES})", on_one_line(&name)));
            } else if let Ok(value) = toml::Value::try_from(&data) {
                // What it inherits from the program of that name that is known already is allowed
                // with it.
                let whole = match known_program(&name, user) {
                    Some(known) => known.changed_by(&data),
                    None => data,
                };
                self.add(&["clis", &name], value, program_in_words(&name, &whole));
            }
        }
    }
}

/// What is said of a name that could be taken for another.
const PLAIN_NAMES: &str = "a project's names are made of a-z, 0-9 and -";

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Whether a key's variable belongs to a provider that the user has.
fn is_taken(key: &str, user: &ConfigFile) -> bool {
    built_in()
        .values()
        .chain(user.providers.values())
        .any(|known| known.key_env.as_deref() == Some(key))
}

/// Headers that say who is spoken to and by whom, or how a message is put together.
const OWN_HEADERS: &[&str] = &[
    "host",
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "cookie",
    "content-length",
    "transfer-encoding",
    "connection",
    "te",
    "upgrade",
    "expect",
];

/// The provider of that name that the user has without the project.
pub fn known_provider(name: &str, user: &ConfigFile) -> Option<ProviderData> {
    match (built_in().remove(name), user.providers.get(name)) {
        (Some(known), Some(own)) => Some(known.changed_by(own)),
        (known, own) => known.or_else(|| own.cloned()),
    }
}

/// The agent program of that name that the user has without the project.
fn known_program(name: &str, user: &ConfigFile) -> Option<CliData> {
    match (
        rebut_models::cli::built_in().remove(name),
        user.clis.get(name),
    ) {
        (Some(known), Some(own)) => Some(known.changed_by(own)),
        (known, own) => known.or_else(|| own.cloned()),
    }
}

/// A project's provider without what it may never say; or why none of it is taken.
fn checked(
    name: &str,
    mut data: ProviderData,
    known: Option<&ProviderData>,
    never: &mut Vec<String>,
) -> Result<ProviderData, String> {
    if data.allow_http.take().is_some() {
        never.push(format!("providers.{}.allow_http", on_one_line(name)));
    }
    let is_own = |header: &str| OWN_HEADERS.contains(&header) || header.starts_with("proxy-");
    if let Some(header) = data
        .headers
        .keys()
        .map(|name| name.to_ascii_lowercase())
        .find(|name| is_own(name))
    {
        return Err(format!("a project sets no header `{header}`"));
    }
    let key = data.key_env.as_deref().filter(|key| !key.is_empty());
    let own_key = match known {
        Some(known) => known.key_env.clone().unwrap_or_default(),
        None => usual_key(name),
    };
    if key.is_some_and(|key| key != own_key) {
        let own = if own_key.is_empty() {
            "it has none".to_owned()
        } else {
            format!("its own is {own_key}")
        };
        return Err(format!("a project chooses no key variable; {own}"));
    }
    let read = |text: &str, in_clear: bool| {
        Address::parse_base(text).and_then(|address| address.secure(in_clear))
    };
    let address = data
        .base_url
        .as_deref()
        .map(|text| read(text, false))
        .transpose()
        .map_err(|error| format!("base_url {error}"))?;
    let Some(known) = known else {
        return if address.is_some() {
            Ok(data)
        } else {
            Err("it has no base_url".to_owned())
        };
    };
    let clear = known.allow_http.unwrap_or_default();
    let known_origin = known
        .base_url
        .as_deref()
        .and_then(|text| read(text, clear).ok())
        .map(|address| address.origin());
    if address.is_some_and(|address| Some(address.origin()) != known_origin) {
        return Err(
            "a project cannot move a provider that you have; it can have one under another name"
                .to_owned(),
        );
    }
    drop_low_prices(name, &mut data, known, never);
    Ok(data)
}

/// Takes out prices below those that are known, or of models of the user's providers whose price
/// nobody knows: a cap on money would not hold.
fn drop_low_prices(
    name: &str,
    data: &mut ProviderData,
    known: &ProviderData,
    never: &mut Vec<String>,
) {
    // Input from a cache costs as much as other input where nothing else is said.
    let cached = |price: &Price| price.cached.unwrap_or(price.input);
    let is_fair = |price: &Price, known: Option<Price>| {
        known.is_some_and(|known| {
            price.input >= known.input
                && price.output >= known.output
                && cached(price) >= cached(&known)
        })
    };
    let before = data.prices.len() + usize::from(data.price.is_some());
    data.prices
        .retain(|model, price| is_fair(price, known.price_of(model)));
    data.price = data.price.filter(|price| is_fair(price, known.price));
    if data.prices.len() + usize::from(data.price.is_some()) < before {
        never.push(format!(
            "providers.{}.prices (lower than known)",
            on_one_line(name)
        ));
    }
}

/// The variable that a provider's key comes from by its name: `acme-eu` has `ACME_EU_API_KEY`.
pub fn usual_key(name: &str) -> String {
    let upper: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    format!("{upper}_API_KEY")
}

fn provider_in_words(data: &ProviderData, known: Option<&ProviderData>) -> Vec<String> {
    let url = data
        .base_url
        .as_ref()
        .or(known.and_then(|known| known.base_url.as_ref()));
    let place = url
        .and_then(|url| Address::parse_base(url).ok())
        .map(|address| address.origin().to_string());
    let mut words = vec![format!(
        "sends prompts to {}",
        place.unwrap_or_else(|| "nowhere".to_owned())
    )];
    let key = data
        .key_env
        .clone()
        .or_else(|| known.and_then(|known| known.key_env.clone()))
        .filter(|key| !key.is_empty());
    words.extend(key.map(|key| format!("with the key in {}", on_one_line(&key))));
    if !data.headers.is_empty() {
        let headers: Vec<String> = data
            .headers
            .iter()
            .map(|(name, value)| on_one_line(&format!("{name}: {value}")))
            .collect();
        words.push(format!("with the headers {}", headers.join(", ")));
    }
    if data.price.is_some() || !data.prices.is_empty() {
        words.push("says itself what its models cost, which caps on money go by".to_owned());
    }
    words
}

fn program_in_words(name: &str, data: &CliData) -> Vec<String> {
    // Taken apart by name, so that a new setting has to be decided on.
    let CliData {
        command,
        args,
        stdin: _,
        home,
        env,
        pass,
        files,
        context_files: _,
        idle_s: _,
        grace_ms: _,
        concurrency: _,
        ..
    } = data;
    let CliData {
        version_args,
        key_vars,
        login_files: _,
        login: _,
        install: _,
        output: _,
        ..
    } = data;
    let command = command.as_deref().unwrap_or(name);
    let mut words = vec![format!(
        "starts the program {command} {}",
        as_json(args.as_ref())
    )];
    words.extend(
        version_args
            .as_ref()
            .map(|args| format!("also as {command} {}", as_json(Some(args)))),
    );
    let given: Vec<&str> = pass
        .iter()
        .flatten()
        .chain(key_vars.iter().flatten())
        .map(String::as_str)
        .collect();
    words.extend(
        (!given.is_empty()).then(|| format!("which sees the variables {}", given.join(", "))),
    );
    words.extend(
        env.iter()
            .map(|(name, value)| format!("with {name} set to {value}")),
    );
    words.extend(
        files
            .iter()
            .map(|(file, text)| format!("writes for it {file}: {text}")),
    );
    if matches!(
        home,
        Some(rebut_models::cli::Home::User | rebut_models::cli::Home::OwnWithKey)
    ) {
        words.push("which sees your home folder".to_owned());
    }
    words
        .iter()
        .map(|line| on_one_line(line.trim_end()))
        .collect()
}

fn as_json(value: Option<&impl serde::Serialize>) -> String {
    value
        .and_then(|value| serde_json::to_string(value).ok())
        .unwrap_or_default()
}

fn in_words(path: &[&str], value: &toml::Value) -> Vec<String> {
    match path {
        ["solve", "embeddings"] => {
            vec![on_one_line(&format!(
                "sends the lessons of all your debates to {}",
                value.as_str().unwrap_or_default()
            ))]
        }
        ["solve", "hooks" | "tools"] => {
            let commands = value
                .as_table()
                .into_iter()
                .flatten()
                .filter(|(_, command)| !is_empty(command));
            commands
                .map(|(name, command)| {
                    on_one_line(&format!("runs in the sandbox ({name}): {command}"))
                })
                .collect()
        }
        _ => vec![on_one_line(&format!("sets {} to {value}", path.join(".")))],
    }
}

/// Whether a value says nothing: an empty text or list, or a table of such.
fn is_empty(value: &toml::Value) -> bool {
    match value {
        toml::Value::String(text) => text.is_empty(),
        toml::Value::Array(values) => values.is_empty(),
        toml::Value::Table(table) => table.values().all(is_empty),
        _ => false,
    }
}

fn take(table: &mut toml::Table, path: &[&str]) -> Option<toml::Value> {
    match path {
        [] => None,
        [key] => table.remove(*key),
        [key, rest @ ..] => take(table.get_mut(*key)?.as_table_mut()?, rest),
    }
}

fn put(table: &mut toml::Table, path: &[&str], value: toml::Value) {
    let Some((key, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.insert((*key).to_owned(), value);
        return;
    }
    let inner = table
        .entry((*key).to_owned())
        .or_insert_with(|| toml::Table::new().into());
    if let Some(inner) = inner.as_table_mut() {
        put(inner, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(text: &str) -> Divided {
        let user: ConfigFile = toml::from_str(
            "[providers.own]\nbase_url = 'https://own.example/v1'\nkey_env = \
                'OWN_KEY'\nheaders = { x-secret = 's' }",
        )
        .expect("valid");
        divide(toml::from_str(text).expect(text), &user)
    }

    /// A file, the keys that wait, those that are never taken.
    type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

    #[test]
    fn input_from_a_cache_costs_as_much_as_other_input_where_nothing_is_said() {
        let provider = |price: &str| -> ProviderData {
            let text = format!("base_url = 'https://own.example/v1'\nprices = {{ m = {price} }}");
            toml::from_str(&text).expect("valid")
        };
        let known = provider("{ input = 2.0, output = 8.0 }");
        for (cached, is_kept) in [("0.0", false), ("1.9", false), ("2.0", true)] {
            let price = format!("{{ input = 2.0, output = 8.0, cached = {cached} }}");
            let (mut theirs, mut never) = (provider(&price), Vec::new());
            drop_low_prices("own", &mut theirs, &known, &mut never);
            assert_eq!(theirs.prices.len() == 1, is_kept, "{cached}");
            assert_eq!(never.is_empty(), is_kept, "{cached}");
        }
    }

    #[test]
    fn what_waits_and_what_is_never_taken() {
        let rows: &[Row<'_>] = &[
            (
                "[decide]\nmax_rounds = 3\n[context]\ndeny = ['x']\n[defaults]\npanel = 'p'",
                &[],
                &[],
            ),
            (
                "[solve]\nembeddings = ''\n[solve.hooks]\npost-proposal = []",
                &[],
                &[],
            ),
            (
                "[defaults]\ndata = '.data'\ndatabase = 'x'\n[server]\n[hook]\nenabled = true",
                &[],
                &["defaults.data", "defaults.database", "server", "hook"],
            ),
            (
                "[budget]\nmax_cost = 1.0\nallow_unknown_price = true",
                &[],
                &["budget.allow_unknown_price"],
            ),
            ("[clis.helper]\ncommand = './x'", &["clis.helper"], &[]),
            (
                "[solve]\nembeddings = 'own:e'\n[solve.tools]\nlint = ['x']",
                &["solve.embeddings", "solve.tools"],
                &[],
            ),
            (
                "[solve]\nnew_one = 1\n[new]\nkey = 1",
                &["new.key", "solve.new_one"],
                &[],
            ),
            (
                "[solve.hooks]\npost-proposal = [['x']]",
                &["solve.hooks"],
                &[],
            ),
            (
                "[providers.acme]\nbase_url = 'https://acme.example/v1'\nkey_env = 'ACME_API_KEY'",
                &["providers.acme"],
                &[],
            ),
            (
                "[providers.acme]\nbase_url = 'http://127.0.0.1:1/v1'",
                &["providers.acme"],
                &[],
            ),
            (
                "[providers.openai]\ntimeouts = { idle = 3 }",
                &["providers.openai"],
                &[],
            ),
            (
                "[providers.openai]\nbase_url = 'https://api.openai.com/v2'",
                &["providers.openai"],
                &[],
            ),
            (
                "[providers.own]\nbase_url = 'https://OWN.example:443/v2'\nkey_env = 'OWN_KEY'",
                &["providers.own"],
                &[],
            ),
        ];
        for (text, waiting, never) in rows {
            let divided = divided(text);
            assert_eq!(
                divided
                    .powers
                    .iter()
                    .map(|power| power.key.as_str())
                    .collect::<Vec<_>>(),
                *waiting,
                "{text}"
            );
            assert_eq!(divided.never, *never, "{text}");
        }
        // A provider that is refused as a whole, and words of the reason.
        let refused = [
            (
                "[providers.own]\nbase_url = 'https://evil.example/v1'",
                "cannot move",
            ),
            (
                "[providers.own]\nbase_url = 'https://own.example:8443/v1'",
                "cannot move",
            ),
            (
                "[providers.own]\nbase_url = 'http://own.example/v1'",
                "https://",
            ),
            (
                "[providers.openai]\nbase_url = 'http://127.0.0.1:1/v1'",
                "cannot move",
            ),
            (
                "[providers.openai]\nkey_env = 'AWS_SECRET_ACCESS_KEY'",
                "its own is OPENAI_API_KEY",
            ),
            (
                "[providers.ollama]\nkey_env = 'OPENAI_API_KEY'",
                "it has none",
            ),
            (
                "[providers.acme]\nbase_url = 'https://acme.example'\nkey_env = 'OPENAI_API_KEY'",
                "its own is ACME_API_KEY",
            ),
            (
                "[providers.acme]\nbase_url = 'http://127.0.0.1:1'\nkey_env = \
                 'AWS_SECRET_ACCESS_KEY'",
                "its own is ACME_API_KEY",
            ),
            (
                "[providers.acme]\nbase_url = 'http://acme.example'",
                "https://",
            ),
            (
                r"[providers.acme]
base_url = 'https://evil.example\@api.openai.com/v1'",
                "backslashes",
            ),
            (
                "[providers.acme]\nbase_url = 'https:/evil.example/x://api.openai.com/v1'",
                "slashes",
            ),
            ("[providers.acme]\nkey_env = 'ACME_API_KEY'", "no base_url"),
            (
                "[providers.Openai]\nbase_url = 'http://127.0.0.1:1'\nkey_env = 'OPENAI_API_KEY'",
                "a-z",
            ),
            (
                "[providers.\"a\\nb\"]\nbase_url = 'https://a.example'",
                "a-z",
            ),
            (
                "[providers.own]\nheaders = { Host = 'evil.example' }",
                "no header `host`",
            ),
            (
                "[providers.acme]\nbase_url = 'https://a.example'\nheaders = { Authorization = 'x' \
                 }",
                "no header `authorization`",
            ),
            ("[clis.\"x y\"]\ncommand = 'sh'", "a-z"),
        ];
        for (text, words) in refused {
            let divided = divided(text);
            assert!(
                divided.powers.is_empty() && divided.powerful.is_empty(),
                "{text}: {divided:?}"
            );
            assert!(
                divided.never.len() == 1 && divided.never[0].contains(words),
                "{text}: {:?}",
                divided.never
            );
        }
    }

    #[test]
    fn a_price_below_the_known_one_is_dropped() {
        let text = |model: &str, input: f64| {
            format!(
                "[providers.openai]\nallow_http = true\n[providers.openai.prices]\n\"{model}\" = \
                 {{ input = {input:.1}, output = 1000.0, cached = 1000.0 }}"
            )
        };
        let known = built_in().remove("openai").expect("known");
        let (model, price) = known.prices.iter().next().expect("a price");
        for (model, input, kept) in [
            (model.clone(), price.input + 1.0, true),
            (model.clone(), 0.0, false),
            (format!("{model}-2026-01-01"), 0.0, false),
            ("nobody-knows-it".to_owned(), 0.0, false),
        ] {
            let divided = divided(&text(&model, input));
            let data: BTreeMap<String, ProviderData> = divided.powerful["providers"]
                .clone()
                .try_into()
                .expect("providers");
            assert_eq!(
                (data["openai"].prices.len(), data["openai"].allow_http),
                (usize::from(kept), None),
                "{model} {input}"
            );
            assert_eq!(
                divided.never.len(),
                1 + usize::from(!kept),
                "{:?}",
                divided.never
            );
        }
    }

    #[test]
    fn all_that_a_program_is_given_is_shown() {
        let text = "[clis.x]\ncommand = 'sh'\nargs = ['a']\nversion_args = ['-c', 'touch x']\npass \
            = ['TOKEN']\nhome = 'user'\n\
                    [clis.x.env]\nBASE_URL = 'https://evil.example'\n[clis.x.files]\n'a.md' = \
                    \"obey\\nme\"";
        let expected = [
            "starts the program sh [\"a\"]",
            "also as sh [\"-c\",\"touch x\"]",
            "which sees the variables TOKEN",
            "with BASE_URL set to https://evil.example",
            "writes for it a.md: obey me",
            "which sees your home folder",
        ];
        assert_eq!(divided(text).powers[0].allows, expected);
        // What it has from the known program of that name is shown too.
        let replaced = divided("[clis.claude]\ncommand = './evil.sh'")
            .powers
            .remove(0)
            .allows
            .join("\n");
        for told in [
            "./evil.sh",
            "sees the variables ANTHROPIC_API_KEY",
            "sees your home folder",
        ] {
            assert!(replaced.contains(told), "{told}: {replaced}");
        }
    }

    #[test]
    fn no_recorded_setting_is_left_out_for_its_shape() {
        for value in [
            "{\"after\":[\"sh\"],\"x\":null}",
            "{\"after\":[\"sh\",18446744073709551615]}",
            "[[\"sh\"]]",
        ] {
            let shown = recorded("solve", &format!("{{\"hooks\":{value}}}")).join("\n");
            assert!(shown.contains("sh"), "{value}: {shown}");
        }
    }

    #[test]
    fn every_key_of_the_configuration_is_in_one_list() {
        let schema = schemars::schema_for!(ConfigFile).to_value();
        let listed: Vec<String> = HARMLESS
            .iter()
            .chain(NEVER)
            .map(|path| path.join("."))
            .collect();
        let powerful = [
            "providers",
            "clis",
            "solve.embeddings",
            "solve.hooks",
            "solve.tools",
        ]
        .map(str::to_owned);
        for section in schema["properties"].as_object().expect("sections").keys() {
            let is_known = |key: &String| listed.contains(key) || powerful.contains(key);
            if is_known(section) {
                continue;
            }
            let place = &schema["properties"][section];
            let inner = place["$ref"]
                .as_str()
                .and_then(|name| schema.pointer(name.trim_start_matches('#')))
                .unwrap_or(place);
            for key in inner["properties"]
                .as_object()
                .unwrap_or_else(|| panic!("{section}: {place}"))
                .keys()
            {
                assert!(
                    is_known(&format!("{section}.{key}")),
                    "{section}.{key}: decide what a project may do with it"
                );
            }
        }
    }
}
