//! Finding models without being told: endpoints with a key, and servers on this machine.

use crate::{http, registry::Registry};
use std::time::Duration;

/// A server on this machine answers at once or is not there.
const PATIENCE: Duration = Duration::from_millis(400);

impl Registry {
    /// Models that can be asked right now, one per provider first, so that a panel is as mixed as it can be.
    pub async fn find_models(&self) -> Vec<String> {
        let mut found: Vec<Vec<String>> = Vec::new();
        for endpoint in self.endpoints().filter(|endpoint| endpoint.is_ready) {
            let models = match (endpoint.key_env, endpoint.auto_model) {
                (Some(_), Some(model)) => vec![model.to_owned()],
                (Some(_), None) => Vec::new(),
                (None, _) => self.installed(endpoint.name, endpoint.base_url).await,
            };
            found.push(models.into_iter().map(|model| format!("{}:{model}", endpoint.name)).collect());
        }
        let longest = found.iter().map(Vec::len).max().unwrap_or(0);
        (0..longest).flat_map(|turn| found.iter().filter_map(move |models| models.get(turn).cloned())).collect()
    }

    /// The models a server says it has; none if it is not there or is something else.
    async fn installed(&self, name: &str, base_url: &str) -> Vec<String> {
        // Nobody at the door is the usual case, and loading certificates to find out would cost more than the answer.
        let Some(address) = base_url.strip_prefix("http://").and_then(|rest| rest.split('/').next()) else { return Vec::new() };
        if !matches!(tokio::time::timeout(PATIENCE, tokio::net::TcpStream::connect(address)).await, Ok(Ok(_))) {
            return Vec::new();
        }
        let Ok(endpoint) = self.endpoint(name) else { return Vec::new() };
        let Ok(client) = self.client(&endpoint) else { return Vec::new() };
        let listed = http::list(client, endpoint, PATIENCE).await.unwrap_or_default();
        listed.into_iter().filter(|model| !model.contains("embed")).collect()
    }
}
