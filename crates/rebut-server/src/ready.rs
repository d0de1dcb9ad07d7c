//! Whether the server can work. Anybody may ask that without a key, so the database is looked at once a second at most, whoever asks.

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
pub struct Readiness(Mutex<Option<(Instant, bool)>>);

impl Readiness {
    /// Whether the database answers: what was found a moment ago, or what `look` finds now.
    pub async fn known_or(&self, look: impl Future<Output = bool>) -> bool {
        let mut found = self.0.lock().await;
        if let Some((_, answers)) = found.filter(|(when, _)| when.elapsed() < HOLDS) {
            return answers;
        }
        let answers = timeout(PATIENCE, look).await.unwrap_or(false);
        *found = Some((Instant::now(), answers));
        answers
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
            assert_eq!(ready.known_or(async { answers }).await, expected, "{what}");
        }
        tokio::time::advance(HOLDS).await;
        assert!(!ready.known_or(std::future::pending()).await, "one that hangs does not answer");
    }
}
