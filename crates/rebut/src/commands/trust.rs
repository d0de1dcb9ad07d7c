//! `rebut trust`: what a project's file, or a data folder in it,
//! would let leave this machine or start on it, and the user's word that it may.

use crate::{
    app::App,
    cli::{GlobalArgs, TrustArgs},
    config::{Power, Standing, Trust, recorded_powers},
    data_dir::{self, Place},
    error::CliError,
    hint_command::command,
    output,
    serve::Keyring,
};
use rebut_engine::{
    clean::{for_people, on_one_line, shortened},
    event::Event,
    outbox::Outbox,
    store::{Filter, Store},
};
use rebut_store::SqliteStore;
use serde_json::json;
use std::{
    collections::BTreeSet,
    io::{BufRead, IsTerminal},
    path::{Path, PathBuf},
};

pub async fn run(global: &GlobalArgs, args: &TrustArgs) -> Result<u8, CliError> {
    let nowhere = || {
        CliError::usage("there is no place to record whom you trust: HOME is not set")
            .hint("set HOME or XDG_STATE_HOME")
    };
    let trust = data_dir::state_dir()
        .map(|state| Trust::new(&state))
        .ok_or_else(nowhere)?;
    // Both work also where a project's file cannot be read.
    if args.list {
        return list(&trust, args.json);
    }
    if let Some(Some(path)) = &args.revoke {
        return revoke(&trust, &data_dir::whole(path));
    }
    // What is ignored is shown here anyway.
    let app = App::open_untrusted(
        &GlobalArgs {
            quiet: true,
            ..global.clone()
        },
        &[],
    )?;
    if args.revoke.is_some() {
        let project = || {
            app.config.project.as_ref().map_or_else(
                || PathBuf::from("rebut.toml"),
                |project| project.path.clone(),
            )
        };
        return revoke(&trust, &named_data(&app).map_or_else(project, Place::whole));
    }
    let mut asked = match data_folder(&app)? {
        Some(place) => Asked::of_data(place).await?,
        None => Asked::of_project(&app)?,
    };
    if asked.powers.is_empty() {
        warn_line!(
            "{} asks for nothing that needs trust",
            on_one_line(&asked.path.display().to_string())
        );
        asked.say_refused();
        return Ok(0);
    }
    if !args.json {
        output::print(&for_people(&asked.shown()))?;
    }
    asked.say_refused();
    let was_trusted = asked.standing == Standing::Trusted;
    // JSON alone is a look, and asks nobody.
    if !was_trusted && !args.yes && !args.json && !is_confirmed(global)? {
        warn_line!("nothing was changed");
        return Ok(1);
    }
    if !was_trusted && (args.yes || !args.json) {
        asked.record(&trust)?;
    }
    if args.json {
        output::print_json(&asked.document())?;
    } else if was_trusted {
        warn_line!(
            "already trusted; {} takes that back",
            command("trust --revoke")
        );
    } else {
        warn_line!(
            "trusted; after any change of {} you are asked again",
            asked.what.known_by()
        );
    }
    Ok(0)
}

/// The data folder, where trust is about that: it was named with the command,
/// or it waits for trust and nothing else works before.
fn data_folder(app: &App) -> Result<Option<&Place>, CliError> {
    if let Some(place) = named_data(app) {
        return Ok(Some(place));
    }
    let Some(place) = &app.place else {
        return Ok(None);
    };
    let waits = place.standing()? != Standing::Trusted;
    Ok(Some(place).filter(|_| waits))
}

/// The data folder that was typed with the command.
fn named_data(app: &App) -> Option<&Place> {
    app.place.as_ref().filter(|_| app.global.typed.data)
}

/// What waits for trust, and what that would allow.
struct Asked<'a> {
    what: What<'a>,
    path: PathBuf,
    standing: Standing,
    powers: Vec<Power>,
    /// What is never taken, and so not part of what is trusted.
    never: &'a [String],
}

enum What<'a> {
    /// A project's file, by its text.
    Project(&'a str),
    /// A data folder in a project.
    Data(&'a Place),
}

impl What<'_> {
    /// What must stay as it is for the trust to last.
    fn known_by(&self) -> &'static str {
        match self {
            Self::Project(_) => "the file",
            Self::Data(_) => "its sealing key",
        }
    }
}

impl<'a> Asked<'a> {
    fn of_project(app: &'a App) -> Result<Self, CliError> {
        let Some(project) = app.config.project.as_ref() else {
            let named = app.origin.named.is_some();
            let why = if named {
                "a file that you name with --config needs no trust"
            } else {
                "there is no rebut.toml of a project here"
            };
            return Err(CliError::usage(why).hint("go to a folder of the project"));
        };
        let (path, powers) = (project.path.clone(), project.divided.powers.clone());
        Ok(Self {
            what: What::Project(&project.text),
            path,
            standing: project.standing,
            powers,
            never: &project.divided.never,
        })
    }

    async fn of_data(place: &'a Place) -> Result<Self, CliError> {
        place.check_untracked()?;
        let standing = place.standing()?;
        let powers = if place.may_be_brought()? {
            brought(place).await?
        } else {
            Vec::new()
        };
        Ok(Self {
            what: What::Data(place),
            path: place.whole(),
            standing,
            powers,
            never: &[],
        })
    }

    fn record(&mut self, trust: &Trust) -> Result<(), CliError> {
        match self.what {
            What::Project(text) => trust.record(&self.path, text, lines(&self.powers))?,
            What::Data(place) => place.trust_it(lines(&self.powers))?,
        }
        self.standing = Standing::Trusted;
        Ok(())
    }

    fn say_refused(&self) {
        if !self.never.is_empty() {
            warn_line!(
                "never taken from a project, trusted or not: {}",
                on_one_line(&self.never.join(", "))
            );
        }
    }

    /// Everything it would allow, for people.
    fn shown(&self) -> String {
        let allows = match self.standing {
            Standing::Trusted => "allows",
            Standing::Changed => "has changed since you trusted it, and would allow",
            Standing::Unknown => "would allow",
        };
        let mut text = format!(
            "{} {allows}:\n",
            on_one_line(&self.path.display().to_string())
        );
        for power in &self.powers {
            text.push_str(&format!("  {}\n", power.key));
            power
                .allows
                .iter()
                .for_each(|line| text.push_str(&format!("    {line}\n")));
        }
        text
    }

    fn document(&self) -> serde_json::Value {
        let powers: Vec<_> = self
            .powers
            .iter()
            .map(|power| json!({"key": power.key, "allows": power.allows}))
            .collect();
        json!({
            "file": self.path,
            "trusted": self.standing == Standing::Trusted,
            "changed": self.standing == Standing::Changed,
            "powers": powers,
            "never": self.never,
        })
    }
}

/// What a data folder that somebody brought would allow: its debates go on, its webhooks are told,
/// its keys open a server.
async fn brought(place: &Place) -> Result<Vec<Power>, CliError> {
    let keys = Keyring::of(place).read()?;
    let keys = keys.iter().map(|key| {
        on_one_line(&format!(
            "`{}` of {} may use a server that is started over it",
            key.name, key.owner
        ))
    });
    let mut all = vec![("server.keys", keys.collect::<Vec<_>>())];
    if let Some((_copy, database)) = place.copied_database()? {
        let told = database.webhooks(None).await?;
        let told = told.iter().map(|webhook| {
            on_one_line(&format!(
                "a server that is started over it posts events to {}",
                webhook.url
            ))
        });
        all.extend([
            ("debates", debates(&database).await?),
            ("webhooks", told.collect()),
        ]);
    }
    all.sort();
    let all = all.into_iter().filter(|(_, allows)| !allows.is_empty());
    let all: Vec<Power> = all
        .map(|(key, allows)| Power {
            key: key.to_owned(),
            allows,
        })
        .collect();
    // What holds nothing of ours yet may be used too, and trust is about the place.
    Ok(if all.is_empty() {
        vec![Power {
            key: "debates".to_owned(),
            allows: vec!["keeps your debates there".to_owned()],
        }]
    } else {
        all
    })
}

/// What debates would do when they go on or are forked, by their journals:
/// tables beside them may say anything.
async fn debates(database: &SqliteStore) -> Result<Vec<String>, CliError> {
    let sessions = database.sessions(&Filter::default()).await?;
    let mut models = BTreeSet::new();
    let mut lines = Vec::new();
    for session in &sessions {
        let first = database.page(session.id, 0, 1).await?.into_iter().next();
        // Read as the engine reads it: what cannot be read here does not go on there either.
        let Some(Ok(Some(Event::DebateStarted(begun)))) = first.map(|first| first.event()) else {
            lines.push(format!(
                "{}: its first event cannot be read, so it does not go on",
                session.id
            ));
            continue;
        };
        models.extend(begun.agents.iter().map(|agent| agent.model.to_string()));
        models.extend(
            begun
                .agents
                .iter()
                .flat_map(|agent| agent.fallbacks.clone()),
        );
        let powers = recorded_powers(&begun.format, &begun.config.to_string());
        if !powers.is_empty() {
            lines.push(format!(
                "{}: {}",
                session.id,
                shortened(&on_one_line(&begun.topic), 120)
            ));
            lines.extend(powers.into_iter().map(|line| format!("  {line}")));
        }
    }
    let models = models.into_iter().collect::<Vec<_>>().join(", ");
    let count = sessions.len();
    lines.insert(
        0,
        on_one_line(&format!(
            "{count} of them go on, or are forked, with the models, tests and \
            commands that they recorded: {models}"
        )),
    );
    Ok(if count == 0 { Vec::new() } else { lines })
}

fn lines(powers: &[Power]) -> Vec<String> {
    powers
        .iter()
        .map(|power| format!("{}: {}", power.key, power.allows.join(", ")))
        .collect()
}

fn list(trust: &Trust, json: bool) -> Result<u8, CliError> {
    let entries = trust.entries()?;
    if json {
        output::print_json(&entries)?;
        return Ok(0);
    }
    for (file, entry) in &entries {
        let path = Path::new(file);
        let state = match data_dir::known_by(path) {
            None => "  (not there any more)",
            Some(text) if trust.standing(path, &text)? == Standing::Trusted => "",
            Some(_) => "  (changed since: not trusted)",
        };
        let state = if state.is_empty() && entry.allows.is_empty() {
            "  (made by you)"
        } else {
            state
        };
        let allows: String = entry
            .allows
            .iter()
            .map(|line| format!("    {}\n", on_one_line(line)))
            .collect();
        output::print(&for_people(&format!(
            "{}{state}\n{allows}",
            on_one_line(file)
        )))?;
    }
    if entries.is_empty() {
        warn_line!("nothing is trusted");
    }
    Ok(0)
}

fn revoke(trust: &Trust, path: &Path) -> Result<u8, CliError> {
    if trust.revoke(path)? {
        warn_line!("{} is not trusted any more", path.display());
        return Ok(0);
    }
    Err(
        CliError::usage(format!("{} is not trusted", path.display()))
            .hint("`rebut trust --list` shows what is"),
    )
}

/// Asks whether what was shown may be. Where nobody can be asked, that has to be said beforehand.
fn is_confirmed(global: &GlobalArgs) -> Result<bool, CliError> {
    if global.no_input || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let hint = format!(
            "if you agree with what is shown: {}",
            command("trust --yes")
        );
        return Err(CliError::usage("nobody can be asked: this is not a terminal").hint(hint));
    }
    warn_text!("Do you trust it? [y/N] ");
    let mut said = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut said)
        .map_err(|error| CliError::failed(error.to_string()))?;
    Ok(matches!(said.trim().to_lowercase().as_str(), "y" | "yes"))
}
