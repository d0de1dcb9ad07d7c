//! Whether the server can work: its database can be read and written. Anybody may ask that without
//! a key, so it is looked at once a second at most, whoever asks.

use std::{future::Future, time::Duration};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

/// What was found holds so long.
const HOLDS: Duration = Duration::from_secs(1);

/// A database that takes longer does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was found last, and when. Whoever asks while somebody looks waits for that.
#[derive(Default)]
pub struct Readiness(Mutex<Option<(Instant, Found)>>);

/// Nothing, or why the database cannot be used now.
type Found = Result<(), String>;

impl Readiness {
    /// Why the database cannot be used, if so: what was found a moment ago, or what `look` finds
    /// now.
    pub async fn known_or(&self, look: impl Future<Output = Found>) -> Found {
        let mut known = self.0.lock().await;
        if let Some((_, found)) = known.as_ref().filter(|(when, _)| when.elapsed() < HOLDS) {
            return found.clone();
        }
        let found = timeout(PATIENCE, look)
            .await
            .unwrap_or_else(|_| Err("the database does not answer".to_owned()));
        *known = Some((Instant::now(), found.clone()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_database_is_looked_at_once_a_second_and_not_waited_for_long() {
        let ready = Readiness::default();
        let rows = [
            (0, true, true, "the first look"),
            (500, false, true, "half a second later that still holds"),
            (500, false, false, "then it is looked at again"),
            (999, true, false, "which holds as long"),
            (1, true, true, "and it is back"),
        ];
        for (later, answers, expected, what) in rows {
            tokio::time::advance(Duration::from_millis(later)).await;
            let look = async {
                if answers {
                    Ok(())
                } else {
                    Err("it is full".to_owned())
                }
            };
            assert_eq!(ready.known_or(look).await.is_ok(), expected, "{what}");
        }
        tokio::time::advance(HOLDS).await;
        let hangs = ready.known_or(std::future::pending()).await;
        assert_eq!(hangs, Err("the database does not answer".to_owned()));
    }
}
