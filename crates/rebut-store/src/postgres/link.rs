//! A connection under the name that its server has for it, so that a commit that was not answered
//! in time can be asked after: by another connection, whether it is still under way there.

use super::{server::Leading, trouble};
use rebut_engine::store::StoreError;
use std::{
    ops::Deref,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio_postgres::{Client, Error, SimpleQueryMessage, types::Type};

/// The process at the server that serves a connection: numbers come again, so with its start.
macro_rules! name {
    () => {
        "pid || ' ' || extract(epoch FROM backend_start)"
    };
}

const OWN_NAME: &str = concat!(
    "SELECT ",
    name!(),
    ", extract(epoch FROM pg_catalog.pg_postmaster_start_time())",
    " FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid())"
);
const STILL_THERE: &str = concat!(
    "SELECT ",
    name!(),
    " FROM pg_catalog.pg_stat_activity WHERE ",
    name!(),
    " = ANY ($1)"
);

/// A connection with our settings, what its server calls it, and which server that is.
pub(super) struct Link {
    client: Client,
    name: Option<String>,
    server: Option<String>,
    leading: Leading,
}

impl Link {
    /// Makes the settings, and asks for the name. From now on its server is the leading one.
    pub(super) async fn new(
        client: Client,
        settings: &str,
        leading: &Leading,
    ) -> Result<Self, Error> {
        let answers = client
            .simple_query(&format!("{settings}; {OWN_NAME}"))
            .await?;
        let own = answers.iter().rev().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let column = |at| own.and_then(|row| row.get(at)).map(str::to_owned);
        let (name, server) = (column(0), column(1));
        leading.found(&server);
        Ok(Self {
            client,
            name,
            server,
            leading: leading.clone(),
        })
    }

    /// Whether it is closed, or leads to a server that was left for another.
    pub(super) fn is_over(&self) -> bool {
        self.client.is_closed() || !self.leading.is(&self.server)
    }

    /// Waits until its server is left for another.
    pub(super) async fn left(&self) {
        self.leading.is_not(&self.server).await;
    }
}

impl Deref for Link {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Commits that were not answered in time. A commit that waits for a synchronous standby has no end
/// of its own, and cutting it short would acknowledge what the standby does not have. So it is left
/// alone, and while the server has one of ours nothing more is begun there: each would take another
/// connection, until none is left.
#[derive(Default)]
pub(super) struct Unanswered(Mutex<Vec<String>>);

impl Unanswered {
    /// Leaves a connection whose commit was not answered.
    pub(super) fn leave(&self, link: Link) {
        self.names().extend(link.name);
    }

    /// Fails while the server that answers here still has one of them.
    pub(super) async fn check(&self, link: &Link) -> Result<(), StoreError> {
        let asked = self.names().clone();
        if asked.is_empty() {
            return Ok(());
        }
        let doing = "asking for a commit that was not answered";
        let found = link
            .query_typed(STILL_THERE, &[(&asked, Type::TEXT_ARRAY)])
            .await
            .map_err(|error| trouble::of(doing, &error))?;
        let found: Vec<String> = found.iter().filter_map(|row| row.try_get(0).ok()).collect();
        // Another may have been left meanwhile.
        self.names()
            .retain(|name| found.contains(name) || !asked.contains(name));
        if found.is_empty() {
            return Ok(());
        }
        Err(StoreError::Unavailable(
            "the last commit still waits, perhaps for a synchronous standby".to_owned(),
        ))
    }

    fn names(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
