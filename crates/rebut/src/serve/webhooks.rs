//! Webhooks: who is told of events of an owner's debates. What is to be sent is kept by the
//! database; a server sends it (`serve/delivering.rs`).

use crate::{
    app::App,
    error::CliError,
    hint_command::command,
    webhooks::{
        posting::{self, Message, Posted, Poster},
        signing,
        ssrf_guard::{self, Places},
    },
};
use rebut_engine::{
    DebateId,
    outbox::{Database, Deliveries, Delivery, NewWebhook, Webhook},
};
use rebut_server::webhooks::{MadeWebhook, NotDone, Tested, WebhookRequest, Webhooks};
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// The most webhooks of one owner.
const MOST: usize = 20;

/// The webhooks of a database, and how they are posted to.
pub struct Hooks {
    database: Arc<dyn Database>,
    poster: Poster,
    /// How many deliveries waited, and when that was counted.
    waiting: Mutex<Option<(Instant, u64)>>,
}

/// Counting asks the database, so it is not done each time that somebody wants to know.
const FRESH: Duration = Duration::from_secs(5);

impl Hooks {
    /// Those of a database, within what the configuration allows.
    pub fn new(app: &App, database: Arc<dyn Database>) -> Result<Self, CliError> {
        Ok(Self {
            database,
            poster: Poster::new(Places::of(&app.config.server))?,
            waiting: Mutex::default(),
        })
    }

    pub fn poster(&self) -> &Poster {
        &self.poster
    }

    /// What was asked for, checked, with its address in the usual form.
    fn checked(&self, asked: WebhookRequest) -> Result<WebhookRequest, NotDone> {
        asked.check_kinds()?;
        let refused = |closed: ssrf_guard::Closed| NotDone::Refused {
            message: closed.to_string(),
            hint: closed.hint().map(str::to_owned),
        };
        let target = self.poster.places().check(&asked.url).map_err(refused)?;
        Ok(WebhookRequest {
            url: target.address.url().to_string(),
            ..asked
        })
    }
}

/// What could not be done with a webhook, as a command tells it.
pub fn not_done(not_done: NotDone) -> CliError {
    let message = not_done.to_string();
    match not_done {
        NotDone::Missing | NotDone::TooMany(_) => {
            CliError::usage(message).hint(format!("`{}` lists them", command("webhooks ls")))
        }
        NotDone::Refused {
            hint: Some(hint), ..
        } => CliError::usage(message).hint(hint),
        NotDone::Refused { hint: None, .. } => CliError::usage(message),
        NotDone::Store(error) => error.into(),
        NotDone::Failed(_) => CliError::failed(message),
    }
}

#[async_trait::async_trait]
impl Webhooks for Hooks {
    async fn add(&self, owner: &str, asked: WebhookRequest) -> Result<MadeWebhook, NotDone> {
        let WebhookRequest { url, events } = self.checked(asked)?;
        let secret =
            signing::new_secret().map_err(|error| NotDone::Failed(error.message().to_owned()))?;
        let new = NewWebhook {
            owner: owner.to_owned(),
            url,
            events,
            secret: secret.clone(),
        };
        let webhook = self
            .database
            .add_webhook(new, MOST)
            .await?
            .ok_or(NotDone::TooMany(MOST))?;
        Ok(MadeWebhook {
            webhook,
            secret: secret.reveal().to_owned(),
        })
    }

    async fn list(&self, owner: &str) -> Result<Vec<Webhook>, NotDone> {
        Ok(self.database.webhooks(Some(owner)).await?)
    }

    async fn replace(
        &self,
        owner: &str,
        id: &str,
        asked: WebhookRequest,
    ) -> Result<Webhook, NotDone> {
        // What is not there is not there, whatever it should become.
        self.show(owner, id).await?;
        let WebhookRequest { url, events } = self.checked(asked)?;
        self.database
            .replace_webhook(owner, id, &url, &events)
            .await?;
        self.show(owner, id).await
    }

    async fn remove(&self, owner: &str, id: &str) -> Result<(), NotDone> {
        if self.database.remove_webhook(owner, id).await? {
            Ok(())
        } else {
            Err(NotDone::Missing)
        }
    }

    async fn test(&self, owner: &str, id: &str) -> Result<Tested, NotDone> {
        let webhook = self.show(owner, id).await?;
        let secret = self
            .database
            .webhook_secret(owner, id)
            .await?
            .ok_or(NotDone::Missing)?;
        let body = json!({"type": "webhook.test", "ts": format!("{:.3}", jiff::Timestamp::now()), "webhook": id}).to_string();
        // A name of its own each time: otherwise the second test would be dropped as a repetition.
        let name = format!("test_{}", DebateId::new());
        let Posted { came, within } = self
            .poster
            .post(
                &webhook.url,
                Message {
                    id: &name,
                    body: &body,
                    secret: &secret,
                },
            )
            .await;
        let status = match &came {
            Ok(status) | Err(posting::NotTaken::Status { status, .. }) => Some(*status),
            Err(_) => None,
        };
        let ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        Ok(Tested {
            delivered: came.is_ok(),
            status,
            error: came.err().map(|why| why.to_string()),
            ms,
        })
    }

    async fn deliveries(
        &self,
        owner: &str,
        id: &str,
        filter: Deliveries,
    ) -> Result<Vec<Delivery>, NotDone> {
        Ok(self.database.deliveries(owner, id, filter).await?)
    }

    async fn waiting(&self) -> Result<u64, NotDone> {
        let mut waiting = self.waiting.lock().await;
        match *waiting {
            Some((when, count)) if when.elapsed() < FRESH => Ok(count),
            _ => {
                let count = self.database.waiting_deliveries().await?;
                *waiting = Some((Instant::now(), count));
                Ok(count)
            }
        }
    }
}
