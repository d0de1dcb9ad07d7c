//! What can be typed about webhooks.

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use rebut_engine::outbox::TOLD;

/// What can be done with webhooks.
#[derive(Subcommand, Debug)]
pub enum WebhooksCommand {
    /// Have events of your debates posted to an address; the secret they are signed with is printed
    /// once
    Add(AddWebhookArgs),
    /// List webhooks
    Ls(ListWebhooksArgs),
    /// Remove a webhook, with everything that was to be sent to it
    Rm(WebhookArg),
    /// Post a signed test message now, and say what came back
    Test(TestWebhookArgs),
    /// List what waits, was taken, or was given up
    Deliveries(DeliveriesArgs),
}

/// Which webhook.
#[derive(Args, Debug)]
pub struct WebhookArg {
    /// The webhook's id, or enough of its beginning
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `webhooks add`.
#[derive(Args, Debug)]
pub struct AddWebhookArgs {
    /// Where events are posted
    pub url: String,
    /// Only events of this kind; repeat. Without it, every kind
    #[arg(long = "event", value_name = "KIND", value_parser = PossibleValuesParser::new(TOLD.iter().map(|(kind, _)| *kind)))]
    pub events: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `webhooks ls`.
#[derive(Args, Debug)]
pub struct ListWebhooksArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `webhooks test`.
#[derive(Args, Debug)]
pub struct TestWebhookArgs {
    /// Which one
    #[command(flatten)]
    pub webhook: WebhookArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `webhooks deliveries`.
#[derive(Args, Debug)]
pub struct DeliveriesArgs {
    /// Which one
    #[command(flatten)]
    pub webhook: WebhookArg,
    /// At most so many, the newest first
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub limit: u8,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
