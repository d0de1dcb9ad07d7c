//! `[server]`: what a server lets requests choose, and what it keeps.

use crate::webhooks::ssrf_guard::is_place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Debates over HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSection {
    /// The models that debates may use; without a list, those of the panels, what is found on the
    /// machine where no panel is the usual one, the rehearsal, and people. `human` allows everybody
    /// who is called `human:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<String>>,
    /// Ended debates are removed after so many days; without a number they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_days: Option<u32>,
    /// So many seconds is a person waited for who is an agent.
    pub human_seconds: u64,
    /// So many seconds may turns under way take to finish when the server is told to stop.
    pub drain_seconds: u64,
    /// So many seconds after it was last heard of, the debates of a server are gone on with by
    /// another over the same PostgreSQL database.
    pub lease_seconds: u64,
    /// So many requests may one key make per minute.
    pub requests_per_minute: u32,
    /// So many connections of one key may follow debates at a time.
    pub watchers: usize,
    /// Whether webhooks may be posted to any public address, over https.
    pub webhook_public: bool,
    /// Places that webhooks may be posted to besides, as `host:port`: also over http, also inside a
    /// private network.
    pub webhook_hosts: Vec<String>,
    /// So many seconds are waited before each further attempt to deliver an event; after the last
    /// one it is given up.
    pub webhook_waits: Vec<u64>,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            models: None,
            keep_days: None,
            human_seconds: 1800,
            drain_seconds: 20,
            lease_seconds: 15,
            requests_per_minute: 6_000,
            watchers: 2_000,
            webhook_public: true,
            webhook_hosts: Vec::new(),
            // About a day altogether.
            webhook_waits: vec![5, 30, 120, 600, 3600, 10_800, 21_600, 43_200],
        }
    }
}

impl ServerSection {
    /// What is wrong with it, in words.
    pub fn check(&self) -> Result<(), String> {
        if let Some(place) = self.webhook_hosts.iter().find(|place| !is_place(place)) {
            return Err(format!(
                "[server] webhook_hosts has `{place}`; a place is written host:port"
            ));
        }
        if self.webhook_waits.len() > 20 || self.webhook_waits.iter().any(|wait| *wait > 604_800) {
            return Err(
                "[server] webhook_waits has 20 waits at most, each of 604800 s at most, a week"
                    .to_owned(),
            );
        }
        match (&self.models, self.keep_days, self.drain_seconds) {
            (Some(models), _, _) if models.is_empty() => Err(
                "[server] models is empty; leave it out for the models of the panels".to_owned(),
            ),
            (_, Some(0), _) => {
                Err("[server] keep_days must be 1 or more; leave it out to keep debates".to_owned())
            }
            _ if self.requests_per_minute == 0 || self.watchers == 0 => {
                Err("[server] requests_per_minute and watchers must be 1 or more".to_owned())
            }
            _ if !(3..=3600).contains(&self.lease_seconds) => {
                Err("[server] lease_seconds must be 3 to 3600".to_owned())
            }
            _ if !(1..=604_800).contains(&self.human_seconds) => {
                Err("[server] human_seconds must be 1 to 604800, a week".to_owned())
            }
            (_, _, 601..) => Err("[server] drain_seconds must be 600 at most".to_owned()),
            _ => Ok(()),
        }
    }
}
