//! `schema`, `roles`, `completions`, `man`: what rebut says about itself.

use crate::{
    app::App,
    cli::{Cli, CompletionsArgs, GlobalArgs, RolesArgs, SchemaArgs, SchemaOf},
    config::ConfigFile,
    error::CliError,
    output,
    paint::Paint,
    roles::{self, Source},
    text::padded,
};
use clap::CommandFactory;
use rebut_engine::{
    clean::{for_people, on_one_line},
    event,
    formats::FORMATS,
    record::Envelope,
    report::Document,
};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

pub fn schema(args: SchemaArgs) -> Result<u8, CliError> {
    let schema = match args.what {
        SchemaOf::Config => schemars::schema_for!(ConfigFile).to_value(),
        // The form of what is printed: nothing is required that may be left out.
        SchemaOf::Result => SchemaSettings::default()
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<Document>()
            .to_value(),
        SchemaOf::Event => {
            let mut envelope = schemars::schema_for!(Envelope<'static>).to_value();
            let data: serde_json::Map<String, Value> = event::KINDS
                .iter()
                .map(|(kind, schema)| ((*kind).to_owned(), schema().to_value()))
                .collect();
            envelope["x-data-by-type"] = Value::Object(data);
            envelope
        }
        SchemaOf::Reply => {
            let replies = FORMATS.iter().flat_map(|format| (format.replies)());
            let all: serde_json::Map<String, Value> = replies
                .map(|schema| {
                    (
                        schema.name.to_owned(),
                        serde_json::from_str(&schema.json).unwrap_or_default(),
                    )
                })
                .collect();
            json!(all)
        }
    };
    output::print_json(&schema)?;
    Ok(0)
}

pub fn roles(global: &GlobalArgs, args: RolesArgs) -> Result<u8, CliError> {
    let project = App::open(global, &[])?.project();
    if let Some(name) = &args.name {
        let role = roles::find(&project, name)?;
        if args.json {
            output::print_json(&role)?;
        } else {
            output::print(&for_people(&format!(
                "{} ({})\n\n{}\n",
                role.name, role.stance, role.brief
            )))?;
        }
        return Ok(0);
    }
    let all = roles::all(&project)?;
    if args.json {
        output::print_json(&all.values().map(|(role, _)| role).collect::<Vec<_>>())?;
        return Ok(0);
    }
    let paint = Paint::stdout();
    for (role, source) in all.values() {
        let from = match source {
            Source::BuiltIn => String::new(),
            Source::File(path) => format!("  {}", on_one_line(&path.display().to_string())),
        };
        let about = format!(
            "{}  {}{from}",
            padded(&on_one_line(&role.stance), 11),
            on_one_line(&role.about)
        );
        output::print(&format!(
            "{}  {about}\n",
            paint.strong(&padded(&on_one_line(&role.name), 10))
        ))?;
    }
    Ok(0)
}

pub fn completions(args: CompletionsArgs) -> Result<u8, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rebut", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub fn man() -> Result<u8, CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| CliError::failed(error.to_string()))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
