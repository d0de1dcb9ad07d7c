//! `init` and `config show|validate|path`.

use crate::{
    app::App,
    atomic_file::replace,
    cli::{ConfigCommand, GlobalArgs, InitArgs},
    data_dir::Place,
    error::CliError,
    output,
};
use rebut_engine::clean::json_for_terminal;

const TEMPLATE: &str = include_str!("../../templates/rebut.toml");

pub fn init(global: &GlobalArgs, args: InitArgs) -> Result<u8, CliError> {
    let dir = std::env::current_dir()
        .map_err(|error| CliError::failed(format!("cannot tell where we are: {error}")))?;
    let file = dir.join("rebut.toml");
    if file.symlink_metadata().is_ok() && !args.force {
        return Err(CliError::usage("there is a rebut.toml here already")
            .hint("`rebut init --force` replaces it"));
    }
    replace(&file, TEMPLATE.as_bytes())?;
    App::open(global, &[])?;
    warn_line!(
        "wrote rebut.toml; `rebut config show` prints every setting, `rebut doctor` what can be \
         used"
    );
    Ok(0)
}

pub fn run(global: &GlobalArgs, command: ConfigCommand) -> Result<u8, CliError> {
    match command {
        ConfigCommand::Show(args) => {
            let app = App::open(global, &[])?;
            // A header or variable in it may be a secret.
            let text = app.scrubber(&app.registry()?).scrub(app.config.to_toml()?);
            if args.json {
                let table: toml::Table =
                    toml::from_str(&text).map_err(|error| CliError::failed(error.to_string()))?;
                output::print_json(&table)?;
            } else {
                output::print(&json_for_terminal(&text))?;
            }
        }
        ConfigCommand::Validate { file } => {
            // A file that is named is looked at as `--config FILE` would use it.
            let global = GlobalArgs {
                config: file.or_else(|| global.config.clone()),
                ..global.clone()
            };
            let app = App::open(&global, &[])?;
            app.config.decide()?;
            let problems = app.config.problems(&app.registry()?, &app.project());
            if !problems.is_empty() {
                return Err(CliError::usage(problems.join("\n"))
                    .hint("`rebut schema config` shows every key"));
            }
            for layer in &app.config.layers {
                warn_line!("{} is valid", layer.path.display());
            }
            if app.config.layers.is_empty() {
                warn_line!("no configuration file; the presets are in use");
            }
        }
        ConfigCommand::Path => {
            let app = App::open(global, &[])?;
            let shown = |path: Option<std::path::PathBuf>| {
                path.map_or_else(|| "(none)".to_owned(), |path| path.display().to_string())
            };
            let state = |path: Option<std::path::PathBuf>| {
                if path.as_ref().is_some_and(|path| path.is_file()) {
                    ""
                } else {
                    "  (not there)"
                }
            };
            let project = app
                .config
                .layers
                .iter()
                .find(|layer| layer.is_project)
                .map(|layer| layer.path.clone());
            let user = app.origin.user_file();
            output::print(&format!("project  {}\n", shown(project)))?;
            output::print(&format!(
                "user     {}{}\n",
                shown(user.clone()),
                state(user)
            ))?;
            output::print(&format!(
                "data     {}\n",
                shown(app.place.as_ref().map(|place| place.dir().to_owned()))
            ))?;
            if let Some(server) = app.place.as_ref().and_then(Place::shown_server) {
                output::print(&format!("database {server}\n"))?;
            }
        }
    }
    Ok(0)
}
