//! Which server the connections lead to. A switchover need not break any: the old primary goes on
//! answering whoever reads, and only refuses changes. Whoever connects anew finds the new one, and
//! from then on nobody stays with the old one.

use std::sync::Arc;
use tokio::sync::watch;

/// The server of the newest connection, by its start.
#[derive(Clone, Default)]
pub(super) struct Leading(Arc<watch::Sender<Option<String>>>);

impl Leading {
    /// A connection was made to this one.
    pub(super) fn found(&self, server: &Option<String>) {
        self.0.send_if_modified(|leading| {
            let is_other = leading != server;
            if is_other {
                leading.clone_from(server);
            }
            is_other
        });
    }

    pub(super) fn is(&self, server: &Option<String>) -> bool {
        *self.0.borrow() == *server
    }

    pub(super) async fn is_not(&self, server: &Option<String>) {
        // The other end lives as long as this.
        let _ = self
            .0
            .subscribe()
            .wait_for(|leading| leading != server)
            .await;
    }
}
