//! `rebut trust`: what a project's file, or a data folder in it, would let leave this machine or start on it, and the user's word that it may.

use crate::{
    app::App,
    cli::{GlobalArgs, TrustArgs},
    config::{Power, Standing, Trust},
    error::CliError,
    output,
    place::{self, Place},
    serve::Keyring,
};
use rebut_engine::{
    clean::{for_people, on_one_line},
    store::Filter,
};
use serde_json::json;
use std::{
    io::{BufRead, IsTerminal},
    path::{Path, PathBuf},
};

/// `rebut trust`.
pub async fn run(global: &GlobalArgs, args: &TrustArgs) -> Result<u8, CliError> {
    // What is ignored is shown here anyway.
    let app = App::open_untrusted(&GlobalArgs { quiet: true, ..global.clone() }, &[])?;
    let nowhere = || CliError::usage("there is no place to record whom you trust: HOME is not set").hint("set HOME or XDG_STATE_HOME");
    let trust = app.origin.trust().ok_or_else(nowhere)?;
    if args.list {
        return list(&trust, args.json);
    }
    if let Some(file) = &args.revoke {
        return revoke(&app, &trust, file.as_deref());
    }
    let asked = match data_folder(&app)? {
        Some(place) => Asked::of_data(&app, place).await?,
        None => Asked::of_project(&app)?,
    };
    if asked.powers.is_empty() {
        eprintln!("{} asks for nothing that needs trust", asked.path.display());
        asked.say_refused();
        return Ok(0);
    }
    if args.json {
        output::print_json(&asked.document())?;
    } else {
        output::print(&for_people(&asked.shown()))?;
    }
    asked.say_refused();
    if asked.standing == Standing::Trusted {
        eprintln!("it is trusted as it is; `rebut trust --revoke` takes that back");
        return Ok(0);
    }
    if !args.yes && !is_confirmed(global)? {
        eprintln!("nothing was changed");
        return Ok(1);
    }
    match asked.what {
        What::Project(text) => trust.record(&asked.path, text, lines(&asked.powers))?,
        What::Data(place) => place.trust_it(lines(&asked.powers))?,
    }
    eprintln!("trusted; any change of {} asks again", asked.what.known_by());
    Ok(0)
}

/// The data folder, where that waits for trust: nothing else works before.
fn data_folder(app: &App) -> Result<Option<&Place>, CliError> {
    let Some(place) = &app.place else { return Ok(None) };
    let waits = place.standing()? != Standing::Trusted;
    Ok(Some(place).filter(|_| waits))
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
            let why = if named { "a file that you name with --config needs no trust" } else { "there is no rebut.toml of a project here" };
            return Err(CliError::usage(why).hint("go to a folder of the project"));
        };
        let (path, powers) = (project.path.clone(), project.divided.powers.clone());
        Ok(Self { what: What::Project(&project.text), path, standing: project.standing, powers, never: &project.divided.never })
    }

    async fn of_data(app: &'a App, place: &'a Place) -> Result<Self, CliError> {
        let (standing, powers) = (place.standing()?, brought(app, place).await?);
        Ok(Self { what: What::Data(place), path: place.whole(), standing, powers, never: &[] })
    }

    fn say_refused(&self) {
        if !self.never.is_empty() {
            eprintln!("never taken from a project, trusted or not: {}", on_one_line(&self.never.join(", ")));
        }
    }

    /// Everything it would allow, for people.
    fn shown(&self) -> String {
        let changed = if self.standing == Standing::Changed { ", which has changed since you trusted it," } else { "" };
        let mut text = format!("{}{changed} would allow:\n", self.path.display());
        for power in &self.powers {
            text.push_str(&format!("  {}\n", power.key));
            power.allows.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
        text
    }

    fn document(&self) -> serde_json::Value {
        let powers: Vec<_> = self.powers.iter().map(|power| json!({"key": power.key, "allows": power.allows})).collect();
        json!({
            "file": self.path,
            "trusted": self.standing == Standing::Trusted,
            "changed": self.standing == Standing::Changed,
            "powers": powers,
            "never": self.never,
        })
    }
}

/// What a data folder that somebody brought would allow: its debates go on, its webhooks are told, its keys open a server.
async fn brought(app: &App, place: &Place) -> Result<Vec<Power>, CliError> {
    let keys = Keyring::of(place).read()?;
    let keys = keys.iter().map(|key| format!("`{}` of {} may use a server that is started over it", key.name, key.owner)).collect();
    let (mut debates, mut webhooks) =
        (vec!["a debate goes on with the models, tests and hooks that it has recorded".to_owned()], Vec::new());
    if !place.is_new() {
        let database = app.database().await?;
        let open = database.sessions(&Filter::default()).await?.into_iter().filter(|session| session.status.is_open());
        debates.extend(open.map(|session| format!("{} is open: {}", session.id, on_one_line(&session.topic))));
        let told = database.webhooks(None).await?;
        webhooks
            .extend(told.iter().map(|webhook| format!("a server that is started over it posts events to {}", on_one_line(&webhook.url))));
    }
    let all = [("debates", debates), ("webhooks", webhooks), ("server.keys", keys)];
    Ok(all.into_iter().filter(|(_, allows)| !allows.is_empty()).map(|(key, allows)| Power { key: key.to_owned(), allows }).collect())
}

fn lines(powers: &[Power]) -> Vec<String> {
    powers.iter().map(|power| format!("{}: {}", power.key, power.allows.join(", "))).collect()
}

fn list(trust: &Trust, json: bool) -> Result<u8, CliError> {
    let entries = trust.entries()?;
    if json {
        output::print_json(&entries)?;
        return Ok(0);
    }
    for (file, entry) in &entries {
        let path = Path::new(file);
        let state = match place::known_by(path) {
            None => "  (not there any more)",
            Some(text) if trust.standing(path, &text)? == Standing::Trusted => "",
            Some(_) => "  (changed since: not trusted)",
        };
        let allows: String = entry.allows.iter().map(|line| format!("    {}\n", on_one_line(line))).collect();
        output::print(&for_people(&format!("{file}{state}\n{allows}")))?;
    }
    if entries.is_empty() {
        eprintln!("no project is trusted");
    }
    Ok(0)
}

fn revoke(app: &App, trust: &Trust, file: Option<&Path>) -> Result<u8, CliError> {
    let path = match file {
        Some(file) => place::whole(file),
        None => app.config.project.as_ref().map_or_else(|| PathBuf::from("rebut.toml"), |project| project.path.clone()),
    };
    if trust.revoke(&path)? {
        eprintln!("{} is not trusted any more", path.display());
        return Ok(0);
    }
    Err(CliError::usage(format!("{} is not trusted", path.display())).hint("`rebut trust --list` shows what is"))
}

/// Asks whether what was shown may be. Where nobody can be asked, that has to be said beforehand.
fn is_confirmed(global: &GlobalArgs) -> Result<bool, CliError> {
    if global.no_input || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CliError::usage("nobody can be asked here whether this may be").hint("read it, then say so: rebut trust --yes"));
    }
    eprint!("Do you trust it? [y/N] ");
    let mut said = String::new();
    std::io::stdin().lock().read_line(&mut said).map_err(|error| CliError::failed(error.to_string()))?;
    Ok(matches!(said.trim().to_lowercase().as_str(), "y" | "yes"))
}
