//! Finding models without being told: endpoints with a key, and servers on this machine.

use crate::{address::Address, http, registry::Registry};
use futures_util::future::join_all;
use std::time::Duration;

/// A server on this machine answers at once or is not there.
const PATIENCE: Duration = Duration::from_millis(400);

/// An endpoint that needs no key, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub address: Address,
    /// The models it has, without those that only embed; `None` when nobody answers.
    pub models: Option<Vec<String>>,
}

impl Registry {
    /// The usual model of each provider whose key is set, as `provider:model`. Nobody is asked.
    pub fn keyed_models(&self) -> Vec<String> {
        let keyed = self
            .endpoints()
            .filter(|endpoint| endpoint.key_env.is_some() && endpoint.is_ready);
        keyed
            .filter_map(|endpoint| Some(format!("{}:{}", endpoint.name, endpoint.auto_model?)))
            .collect()
    }

    /// Every endpoint that needs no key and has an `http://` address, each asked what it has, all
    /// at once.
    pub async fn servers(&self) -> Vec<Server> {
        let open = self
            .endpoints()
            .filter(|endpoint| endpoint.key_env.is_none());
        let open = open.filter_map(|endpoint| {
            Some((
                endpoint.name,
                endpoint
                    .address
                    .filter(|address| address.scheme() == "http")?,
            ))
        });
        join_all(open.map(async |(name, address)| Server {
            name: name.to_owned(),
            address: address.clone(),
            models: self.installed(name, address).await,
        }))
        .await
    }

    /// The models a server says it has; `None` if it is not there or is something else.
    async fn installed(&self, name: &str, address: &Address) -> Option<Vec<String>> {
        // Nobody at the door is the usual case, and loading certificates to find out would cost
        // more than the answer.
        tokio::time::timeout(PATIENCE, tokio::net::TcpStream::connect(address.place()))
            .await
            .ok()?
            .ok()?;
        let endpoint = self.endpoint(name).ok()?;
        let listed = http::list(self.client(&endpoint).ok()?, endpoint, PATIENCE)
            .await
            .ok()?;
        Some(
            listed
                .into_iter()
                .filter(|model| !model.contains("embed"))
                .collect(),
        )
    }
}
