//! `webhooks`: who is told of events, in the database of this machine or at a server. A server over
//! the database delivers.

use crate::{
    app::{App, user},
    cli::{AddWebhookArgs, DeliveriesArgs, GlobalArgs, TestWebhookArgs, WebhooksCommand},
    error::CliError,
    hint_command::command,
    output,
    remote::Remote,
    serve::webhooks::{Hooks, not_done},
    text::padded,
};
use rebut_engine::{
    clean::on_one_line,
    outbox::{Deliveries, Delivery, Webhook},
};
use rebut_server::webhooks::{MadeWebhook, Tested, WebhookRequest, Webhooks, every_kind};
use serde::Deserialize;
use serde_json::json;

pub async fn run(global: &GlobalArgs, command: WebhooksCommand) -> Result<u8, CliError> {
    let kept = Kept::open(&App::open(global, &[])?).await?;
    match command {
        WebhooksCommand::Add(args) => add(global, &kept, args).await,
        WebhooksCommand::Ls(args) => list(&kept, args.json).await,
        WebhooksCommand::Rm(args) => {
            let webhook = kept.find(&args.id).await?;
            kept.remove(&webhook.id).await?;
            warn_line!("removed {}", short(&webhook.id));
            Ok(0)
        }
        WebhooksCommand::Test(args) => test(&kept, args).await,
        WebhooksCommand::Deliveries(args) => deliveries(&kept, args).await,
    }
}

enum Kept {
    /// In this machine's database, those of whoever sits here.
    Here(Box<Hooks>, String),
    /// At a server, those of the key's owner.
    There(Remote),
}

impl Kept {
    async fn open(app: &App) -> Result<Self, CliError> {
        match Remote::named(app)? {
            Some(remote) => Ok(Self::There(remote)),
            None => Ok(Self::Here(
                Box::new(Hooks::new(app, app.database().await?)?),
                user(),
            )),
        }
    }

    async fn add(&self, asked: WebhookRequest) -> Result<MadeWebhook, CliError> {
        match self {
            Self::Here(hooks, owner) => hooks.add(owner, asked).await.map_err(not_done),
            Self::There(remote) => remote.post("/v1/webhooks", &asked).await,
        }
    }

    async fn list(&self) -> Result<Vec<Webhook>, CliError> {
        #[derive(Deserialize)]
        struct List {
            webhooks: Vec<Webhook>,
        }
        match self {
            Self::Here(hooks, owner) => hooks.list(owner).await.map_err(not_done),
            Self::There(remote) => Ok(remote.get::<List>("/v1/webhooks").await?.webhooks),
        }
    }

    /// The webhook whose id starts so.
    async fn find(&self, prefix: &str) -> Result<Webhook, CliError> {
        let mut found = self.list().await?;
        found.retain(|webhook| !prefix.is_empty() && webhook.id.starts_with(prefix));
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(
                CliError::usage(format!("no webhook `{}`", on_one_line(prefix)))
                    .hint(format!("`{}` lists them", command("webhooks ls"))),
            ),
            _ => Err(
                CliError::usage(format!("`{prefix}` could be several webhooks"))
                    .hint("type more of the id"),
            ),
        }
    }

    async fn remove(&self, id: &str) -> Result<(), CliError> {
        match self {
            Self::Here(hooks, owner) => hooks.remove(owner, id).await.map_err(not_done),
            Self::There(remote) => remote.delete(&format!("/v1/webhooks/{id}")).await,
        }
    }

    async fn test(&self, id: &str) -> Result<Tested, CliError> {
        match self {
            Self::Here(hooks, owner) => hooks.test(owner, id).await.map_err(not_done),
            Self::There(remote) => {
                remote
                    .post(&format!("/v1/webhooks/{id}/test"), &json!({}))
                    .await
            }
        }
    }

    async fn deliveries(&self, id: &str, limit: u8) -> Result<Vec<Delivery>, CliError> {
        #[derive(Deserialize)]
        struct List {
            deliveries: Vec<Delivery>,
        }
        match self {
            Self::Here(hooks, owner) => {
                let filter = Deliveries {
                    state: None,
                    limit: limit.into(),
                };
                hooks.deliveries(owner, id, filter).await.map_err(not_done)
            }
            Self::There(remote) => Ok(remote
                .get::<List>(&format!("/v1/webhooks/{id}/deliveries?limit={limit}"))
                .await?
                .deliveries),
        }
    }
}

async fn add(global: &GlobalArgs, kept: &Kept, args: AddWebhookArgs) -> Result<u8, CliError> {
    let events = if args.events.is_empty() {
        every_kind()
    } else {
        args.events
    };
    let made = kept
        .add(WebhookRequest {
            url: args.url,
            events,
        })
        .await?;
    if args.json {
        output::print_json(&made)?;
        return Ok(0);
    }
    output::print(&format!("{}\n", made.secret))?;
    if !global.quiet {
        let id = short(&made.webhook.id);
        warn_line!(
            "that is the secret of webhook {id}, shown this once; try it with: {}",
            command(format_args!("webhooks test {id}"))
        );
        if matches!(kept, Kept::Here(..)) {
            warn_line!(
                "events are delivered while `rebut serve` runs over this database; what happens \
                 meanwhile is kept for it"
            );
        }
    }
    Ok(0)
}

async fn list(kept: &Kept, json: bool) -> Result<u8, CliError> {
    let webhooks = kept.list().await?;
    if json {
        output::print_json(&webhooks)?;
        return Ok(0);
    }
    if webhooks.is_empty() {
        warn_line!("no webhooks yet; make one: {}", command("webhooks add URL"));
    }
    for webhook in &webhooks {
        let state = if webhook.why_off.is_some() {
            "off"
        } else {
            "on"
        };
        let mut text = format!(
            "{}  {}  {}\n",
            short(&webhook.id),
            padded(state, 3),
            on_one_line(&webhook.url)
        );
        text.push_str(&format!("  {}\n", webhook.events.join(" ")));
        let failed = webhook.last_failure_at.as_deref().filter(|when| {
            webhook
                .last_success_at
                .as_deref()
                .is_none_or(|last| last < *when)
        });
        if let (Some(when), Some(why)) = (failed, &webhook.last_error) {
            text.push_str(&format!("  failed {when}: {}\n", on_one_line(why)));
        }
        output::print(&text)?;
    }
    Ok(0)
}

async fn test(kept: &Kept, args: TestWebhookArgs) -> Result<u8, CliError> {
    let webhook = kept.find(&args.webhook.id).await?;
    let tested = kept.test(&webhook.id).await?;
    if args.json {
        output::print_json(&tested)?;
    } else {
        let came = match (&tested.error, tested.status) {
            (Some(error), _) => format!("not taken: {}", on_one_line(error)),
            (None, status) => format!("taken with status {}", status.unwrap_or_default()),
        };
        output::print(&format!("{came}, after {} ms\n", tested.ms))?;
    }
    Ok(u8::from(!tested.delivered))
}

async fn deliveries(kept: &Kept, args: DeliveriesArgs) -> Result<u8, CliError> {
    let webhook = kept.find(&args.webhook.id).await?;
    let deliveries = kept.deliveries(&webhook.id, args.limit).await?;
    if args.json {
        output::print_json(&deliveries)?;
        return Ok(0);
    }
    if deliveries.is_empty() {
        warn_line!("nothing was to be sent yet");
    }
    for one in &deliveries {
        let error = one
            .last_error
            .as_deref()
            .map(|why| format!("  {}", on_one_line(why)))
            .unwrap_or_default();
        let state = one.state.as_str();
        let line = format!(
            "{}  {}  {} {}",
            padded(state, 9),
            padded(&one.kind, 16),
            one.debate_id.short(),
            one.seq
        );
        output::print(&format!("{line}  attempts {}{error}\n", one.attempts))?;
    }
    Ok(0)
}

/// As much of an id as people type.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
