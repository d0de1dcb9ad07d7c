//! Requests that change something are seen through, whatever becomes of the connection they came
//! by: the client may hang up at any moment, and nothing is left half done.

use std::sync::Arc;
use tokio::sync::watch;

/// The requests under way that change something.
pub struct Changes {
    count: watch::Sender<usize>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            count: watch::Sender::new(0),
        }
    }
}

impl Changes {
    /// Does something in a task of its own and waits for it; whoever stops waiting does not stop
    /// it. `None` where the task was dropped, as it is when the process ends.
    pub async fn see_through<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let counted = Counted::enter(self.clone());
        let task = tokio::spawn(async move {
            let _counted = counted;
            work.await
        });
        match task.await.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(done) => Some(done),
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => None,
        }
    }

    pub async fn all_done(&self) {
        // The sender lives as long as this.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Does something as long as somebody waits for it, and drops it then: for what comes before
/// anything is changed. Otherwise requests whose clients are gone would pile up where the database
/// hangs, and begin long after.
pub async fn while_waited_for<T>(
    left: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = left => None,
    }
}

/// One that is counted until it is dropped.
struct Counted(Arc<Changes>);

impl Counted {
    fn enter(changes: Arc<Changes>) -> Self {
        changes.count.send_modify(|count| *count += 1);
        Self(changes)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::panic::AssertUnwindSafe;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_nobody_waits_for_is_done_and_waited_for_at_the_end() {
        let changes: Arc<Changes> = Arc::default();
        let (go, gone) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let work = async move {
            gone.await.expect("a word");
            done.send(()).expect("somebody who listens");
        };
        assert!(
            changes.see_through(work).now_or_never().is_none(),
            "it takes its time"
        );
        assert!(
            changes.all_done().now_or_never().is_none(),
            "it is under way though nobody waits for it"
        );
        go.send(()).expect("it goes on");
        changes.all_done().await;
        is_done.await.expect("it was done");
        assert_eq!(changes.see_through(async { 7 }).await, Some(7));
        let panics = AssertUnwindSafe(changes.see_through(async { panic!("a mistake") }))
            .catch_unwind()
            .await;
        assert!(panics.is_err(), "whoever waits learns of it");
        changes.all_done().await;
    }

    #[tokio::test]
    async fn what_comes_before_a_change_ends_with_whoever_waits_for_it() {
        let (held, freed) = oneshot::channel::<()>();
        let hangs = async move {
            let _held = held;
            std::future::pending::<()>().await;
        };
        let (leaves, left) = oneshot::channel::<()>();
        let waiting = while_waited_for(left.map(drop), hangs);
        let leaving = async { drop(leaves) };
        assert_eq!(tokio::join!(waiting, leaving).0, None);
        assert!(freed.await.is_err(), "and nothing of it is kept");
        assert_eq!(
            while_waited_for(std::future::pending(), async { 7 }).await,
            Some(7)
        );
    }
}
