//! `rebut trust`: what a project's file would let leave this machine or start on it, and the user's word that it may.

use crate::{
    app::App,
    cli::{GlobalArgs, TrustArgs},
    config::{Power, Project, Standing, Trust},
    error::CliError,
    output,
};
use rebut_engine::clean::{for_people, on_one_line};
use serde_json::json;
use std::{
    io::{BufRead, IsTerminal},
    path::{Path, PathBuf},
};

/// `rebut trust`.
pub fn run(global: &GlobalArgs, args: &TrustArgs) -> Result<u8, CliError> {
    // What is ignored is shown here anyway.
    let app = App::open(&GlobalArgs { quiet: true, ..global.clone() }, &[])?;
    let nowhere = || CliError::usage("there is no place to record whom you trust: HOME is not set").hint("set HOME or XDG_STATE_HOME");
    let trust = app.origin.trust().ok_or_else(nowhere)?;
    if args.list {
        return list(&trust, args.json);
    }
    if let Some(file) = &args.revoke {
        return revoke(&app, &trust, file.as_deref());
    }
    let Some(project) = app.config.project.as_ref() else {
        let named = app.origin.named.is_some();
        let why = if named { "a file that you name with --config needs no trust" } else { "there is no rebut.toml of a project here" };
        return Err(CliError::usage(why).hint("go to a folder of the project"));
    };
    if project.divided.powers.is_empty() {
        eprintln!("{} asks for nothing that needs trust", project.path.display());
        refused(project);
        return Ok(0);
    }
    if args.json {
        output::print_json(&document(project))?;
    } else {
        output::print(&for_people(&shown(project)))?;
    }
    refused(project);
    if project.standing == Standing::Trusted {
        eprintln!("it is trusted as it is; `rebut trust --revoke` takes that back");
        return Ok(0);
    }
    if !args.yes && !is_confirmed(global)? {
        eprintln!("nothing was changed");
        return Ok(1);
    }
    trust.record(&project.path, &project.text, lines(&project.divided.powers))?;
    eprintln!("trusted; any change of the file asks again");
    Ok(0)
}

/// What is never taken, and so not part of what is trusted.
fn refused(project: &Project) {
    if !project.divided.never.is_empty() {
        eprintln!("never taken from a project, trusted or not: {}", on_one_line(&project.divided.never.join(", ")));
    }
}

/// Everything the file would allow, for people.
fn shown(project: &Project) -> String {
    let changed = if project.standing == Standing::Changed { ", which has changed since you trusted it," } else { "" };
    let mut text = format!("{}{changed} would allow:\n", project.path.display());
    for power in &project.divided.powers {
        text.push_str(&format!("  {}\n", power.key));
        power.allows.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
    }
    text
}

fn document(project: &Project) -> serde_json::Value {
    let powers: Vec<_> = project.divided.powers.iter().map(|power| json!({"key": power.key, "allows": power.allows})).collect();
    json!({
        "file": project.path,
        "trusted": project.standing == Standing::Trusted,
        "changed": project.standing == Standing::Changed,
        "powers": powers,
        "never": project.divided.never,
    })
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
        let state = match std::fs::read_to_string(file) {
            Err(_) => "  (not there any more)",
            Ok(text) if trust.standing(Path::new(file), &text)? == Standing::Trusted => "",
            Ok(_) => "  (changed since: not trusted)",
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
        Some(file) => std::path::absolute(file).map_err(|error| CliError::file("find", file, &error))?,
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
