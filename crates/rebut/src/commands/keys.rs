//! `keys`: who a server lets in.

use crate::{
    app::App,
    cli::{AddKeyArgs, GlobalArgs, KeyRole, KeysCommand, ListKeysArgs},
    error::CliError,
    hint_command::command,
    output,
    serve::Keyring,
    text::padded,
};
use rebut_engine::clean::on_one_line;
use rebut_server::keys::Role;
use serde_json::json;

pub fn run(global: &GlobalArgs, command: KeysCommand) -> Result<u8, CliError> {
    let keyring = Keyring::of(App::open(global, &[])?.place()?);
    match command {
        KeysCommand::Add(args) => add(global, &keyring, &args)?,
        KeysCommand::Ls(args) => list(&keyring, &args)?,
        KeysCommand::Rm(args) => {
            keyring.remove(&args.name)?;
            warn_line!("removed {}", on_one_line(&args.name));
        }
    }
    Ok(0)
}

fn add(global: &GlobalArgs, keyring: &Keyring, args: &AddKeyArgs) -> Result<(), CliError> {
    let role = match args.role {
        KeyRole::Viewer => Role::Viewer,
        KeyRole::Approver => Role::Approver,
        KeyRole::Admin => Role::Admin,
    };
    let token = keyring.add(&args.name, &args.owner, role)?;
    output::print(&format!("{token}\n"))?;
    if !global.quiet {
        warn_line!(
            "that is its token, shown this once; keep it where only {} reads it",
            on_one_line(&args.name)
        );
    }
    Ok(())
}

fn list(keyring: &Keyring, args: &ListKeysArgs) -> Result<(), CliError> {
    let keys = keyring.read()?;
    if args.json {
        // Hashes are of no use to anybody but the server.
        let rows: Vec<_> = keys
            .iter()
            .map(|key| json!({"name": key.name, "owner": key.owner, "role": key.role}))
            .collect();
        return output::print_json(&rows);
    }
    if keys.is_empty() {
        warn_line!(
            "no keys yet; the first `rebut serve` makes one, or: {}",
            command("keys add NAME --owner OWNER")
        );
    }
    for key in &keys {
        let role = json!(key.role);
        let line = format!(
            "{}  {}  {}\n",
            padded(&on_one_line(&key.name), 16),
            padded(role.as_str().unwrap_or_default(), 9),
            on_one_line(&key.owner)
        );
        output::print(&line)?;
    }
    Ok(())
}
