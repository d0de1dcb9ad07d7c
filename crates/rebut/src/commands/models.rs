//! `models`: what providers, agent programs and servers offer, with price, family and what the auto
//! panel takes.

use crate::{
    app::App,
    cli::{GlobalArgs, ModelsArgs},
    error::CliError,
    hint_command::command,
    model_discovery, output,
    paint::Paint,
    panel::JUDGES,
    text::padded,
};
use futures_util::{StreamExt, stream};
use rebut_engine::{
    clean::{on_one_line, shortened_reason},
    family::family_of,
    model::Price,
    secrets::Scrubber,
    suggest::suggest,
};
use rebut_models::{Registry, registry::EndpointInfo};
use serde::Serialize;
use std::time::Duration;

/// One provider and what it has.
#[derive(Debug, Serialize)]
struct Offer {
    provider: String,
    /// Whether it can be asked right now.
    ready: bool,
    source: ListedBy,
    /// Why it could not be asked for its list; null when it was, or need not be.
    problem: Option<String>,
    models: Vec<Row>,
}

/// Where a list of models comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ListedBy {
    Provider,
    /// The built-in table of prices and the configuration.
    Table,
}

#[derive(Debug, Serialize)]
struct Row {
    model: String,
    family: String,
    /// US dollars per million tokens; null when nobody knows.
    price: Option<Price>,
    /// Whether the auto panel takes it now.
    auto: bool,
}

/// A list is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How many providers are asked at once.
const AT_ONCE: usize = 6;
/// How many models of each are shown to people when they asked for all providers.
const SHOWN: usize = 12;

pub async fn run(global: &GlobalArgs, args: ModelsArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let registry = app.registry()?;
    let offers = offers(&app, &registry, args.provider.as_deref()).await?;
    if args.json {
        output::print_json(&offers)?;
        return Ok(0);
    }
    let shown = if args.provider.is_some() {
        usize::MAX
    } else {
        SHOWN
    };
    let paint = Paint::stdout();
    for offer in &offers {
        output::print(&words(offer, shown, paint))?;
    }
    Ok(0)
}

async fn offers(
    app: &App,
    registry: &Registry,
    only: Option<&str>,
) -> Result<Vec<Offer>, CliError> {
    let servers = registry.servers().await;
    let picked: Vec<String> = model_discovery::pick(
        model_discovery::among(registry, &app.clis, &servers).candidates,
        JUDGES.len(),
        &[],
    )
    .into_iter()
    .map(|candidate| candidate.model)
    .collect();
    let scrubber = app.scrubber(registry);
    let wanted = registry
        .endpoints()
        .filter(|endpoint| only.is_none_or(|name| name == endpoint.name));
    let asked = wanted.map(|endpoint| {
        let gone = servers
            .iter()
            .any(|server| server.name == endpoint.name && server.models.is_none());
        offer(registry, endpoint, gone, &picked, &scrubber)
    });
    let mut offers: Vec<Offer> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    if only.is_none_or(|name| name == "cli") {
        offers.push(programs(app, &picked));
    }
    if let (Some(name), true) = (only, offers.is_empty()) {
        let known: Vec<&str> = registry
            .endpoints()
            .map(|endpoint| endpoint.name)
            .chain(["cli"])
            .collect();
        let meant = suggest(name, known.iter().copied())
            .map(|meant| format!("did you mean `{meant}`? "))
            .unwrap_or_default();
        let hint = format!("{meant}Known: {}", known.join(", "));
        return Err(CliError::usage(format!("there is no provider `{name}`")).hint(hint));
    }
    Ok(offers)
}

/// What one endpoint has: by its own word where it can be asked, else what the tables know.
async fn offer(
    registry: &Registry,
    endpoint: EndpointInfo<'_>,
    gone: bool,
    picked: &[String],
    scrubber: &Scrubber,
) -> Offer {
    let provider = endpoint.name;
    let row = |model: String| {
        let model = format!("{provider}:{model}");
        Row {
            family: family_of(&model).into_owned(),
            price: registry.price_of(&model),
            auto: picked.contains(&model),
            model,
        }
    };
    let listed = match (endpoint.is_ready, gone) {
        (true, false) => Some(tokio::time::timeout(PATIENCE, registry.list_models(provider)).await),
        _ => None,
    };
    let problem = match (listed, endpoint.key_env) {
        (Some(Ok(Ok(models))), _) => {
            let models = models
                .into_iter()
                .map(|model| row(scrubber.scrub(model)))
                .collect();
            return Offer {
                provider: provider.to_owned(),
                ready: true,
                source: ListedBy::Provider,
                problem: None,
                models,
            };
        }
        (Some(Ok(Err(fault))), _) => {
            shortened_reason(&on_one_line(&scrubber.scrub(fault.to_string())), 200).into_owned()
        }
        (Some(Err(_)), _) => format!("no list within {} s", PATIENCE.as_secs()),
        (None, Some(variable)) => format!("{variable} is not set"),
        (None, None) => "nobody answers".to_owned(),
    };
    let mut known = registry.priced_models(provider);
    known.extend(
        endpoint
            .auto_model
            .filter(|model| !known.iter().any(|known| known == model))
            .map(str::to_owned),
    );
    let models = known.into_iter().map(row).collect();
    Offer {
        provider: provider.to_owned(),
        ready: false,
        source: ListedBy::Table,
        problem: Some(problem),
        models,
    }
}

/// Agent programs that are installed. Which models they have is theirs to know: `cli:NAME/MODEL`
/// names one.
fn programs(app: &App, picked: &[String]) -> Offer {
    let found = app.clis.found();
    let ready = found.iter().any(|cli| cli.signed_in == Some(true));
    let rows = found
        .into_iter()
        .map(|cli| format!("cli:{}", cli.name))
        .map(|model| Row {
            family: family_of(&model).into_owned(),
            price: None,
            auto: picked.contains(&model),
            model,
        });
    let models: Vec<Row> = rows.collect();
    let problem = models.is_empty().then(|| "none is installed".to_owned());
    Offer {
        provider: "cli".to_owned(),
        ready,
        source: ListedBy::Table,
        problem,
        models,
    }
}

fn words(offer: &Offer, most: usize, paint: Paint) -> String {
    let problem = offer
        .problem
        .as_ref()
        .map(|problem| paint.faint(&format!("  {problem}")))
        .unwrap_or_default();
    let mut text = format!("{}{problem}\n", paint.strong(&on_one_line(&offer.provider)));
    for row in offer.models.iter().take(most) {
        let price = row.price.map_or_else(
            || "n/a".to_owned(),
            |price| format!("${} in  ${} out", price.input, price.output),
        );
        let auto = if row.auto {
            paint.good("  auto panel")
        } else {
            String::new()
        };
        let (model, family) = (on_one_line(&row.model), on_one_line(&row.family));
        text.push_str(&format!(
            "  {} {} {price}{auto}\n",
            padded(&model, 40),
            padded(&family, 10)
        ));
    }
    if let Some(more @ 1..) = offer.models.len().checked_sub(most) {
        text.push_str(&paint.faint(&format!(
            "  and {more} more: {}\n",
            command(format_args!("models {}", offer.provider))
        )));
    }
    text
}
