//! How much of what one key may do: requests in a while, watchers at a time; and how many ballots
//! are counted at once.

use crate::problem::Problem;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// What a key has left of its requests. Decisions have a bucket of their own: whoever reads much
/// can still decide.
#[derive(Default)]
pub struct Buckets(Mutex<HashMap<(String, bool), Bucket>>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    /// Takes one request, or says after how many seconds there is one again.
    fn take(self, now: Instant, per_minute: u32) -> (Self, Result<(), u64>) {
        let (most, per_second) = (f64::from(per_minute), f64::from(per_minute) / 60.0);
        let left = (self.left + now.duration_since(self.at).as_secs_f64() * per_second).min(most);
        if left >= 1.0 {
            return (
                Self {
                    left: left - 1.0,
                    at: now,
                },
                Ok(()),
            );
        }
        let wait = if per_second > 0.0 {
            ((1.0 - left) / per_second).ceil()
        } else {
            60.0
        };
        (Self { left, at: now }, Err((wait as u64).max(1)))
    }
}

impl Buckets {
    /// Takes one request of this key.
    pub fn take(&self, key: &str, decides: bool, per_minute: u32) -> Result<(), Problem> {
        let now = Instant::now();
        let mut buckets = lock(&self.0);
        let full = Bucket {
            left: f64::from(per_minute),
            at: now,
        };
        let bucket = buckets.entry((key.to_owned(), decides)).or_insert(full);
        let (next, taken) = bucket.take(now, per_minute);
        *bucket = next;
        taken.map_err(|seconds| {
            Problem::too_many(
                format!("more than {per_minute} requests in a minute; wait {seconds} s"),
                seconds,
            )
        })
    }
}

pub struct Watchers {
    of_key: Mutex<HashMap<String, usize>>,
    all: watch::Sender<usize>,
}

/// A watcher's place; it is free again when this is dropped.
pub struct Place {
    watchers: Arc<Watchers>,
    key: String,
}

impl Default for Watchers {
    fn default() -> Self {
        Self {
            of_key: Mutex::default(),
            all: watch::Sender::new(0),
        }
    }
}

impl Watchers {
    /// A place for one more watcher of this key.
    pub fn enter(self: &Arc<Self>, key: &str, most: usize) -> Result<Place, Problem> {
        let mut of_key = lock(&self.of_key);
        let count = of_key.entry(key.to_owned()).or_default();
        if *count >= most {
            return Err(Problem::too_many(
                format!("this key watches {most} debates already; close one of them"),
                10,
            ));
        }
        *count += 1;
        self.all.send_modify(|all| *all += 1);
        Ok(Place {
            watchers: self.clone(),
            key: key.to_owned(),
        })
    }

    pub fn count(&self) -> usize {
        *self.all.borrow()
    }

    /// Waits until there is nobody left.
    pub async fn all_left(&self) {
        // The sender lives as long as this.
        let _ = self.all.subscribe().wait_for(|all| *all == 0).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut of_key = lock(&self.watchers.of_key);
        if let Some(count) = of_key.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                of_key.remove(&self.key);
            }
        }
        self.watchers.all.send_modify(|all| *all -= 1);
    }
}

/// So many counts may wait for each that is under way.
const WAITING_PER_COUNT: usize = 2;
/// Seconds after which a count that found no room may be asked for again.
const COUNT_AGAIN_AFTER: u64 = 2;

/// Counts of ballots: few at once, few that wait. A count takes a core and memory for every pair of
/// candidates.
pub struct Counts {
    /// Those under way and those that wait.
    room: Arc<Semaphore>,
    under_way: Arc<Semaphore>,
    at_once: usize,
}

/// Leave to count; it ends when this is dropped.
pub struct Leave {
    _room: OwnedSemaphorePermit,
    _under_way: OwnedSemaphorePermit,
}

impl Counts {
    pub fn new(at_once: usize) -> Self {
        let at_once = at_once.max(1);
        Self {
            room: Arc::new(Semaphore::new(at_once * (1 + WAITING_PER_COUNT))),
            under_way: Arc::new(Semaphore::new(at_once)),
            at_once,
        }
    }

    /// Waits for its turn, if there is room to wait. Since every count is bounded, so is the wait.
    pub async fn enter(&self) -> Result<Leave, Problem> {
        let Ok(room) = self.room.clone().try_acquire_owned() else {
            let (at_once, waiting) = (self.at_once, self.at_once * WAITING_PER_COUNT);
            let detail = format!(
                "this server counts {at_once} elections at once, and {waiting} more wait already"
            );
            return Err(Problem::too_many(detail, COUNT_AGAIN_AFTER));
        };
        // Nobody closes it.
        let under_way = self
            .under_way
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| Problem::stopping())?;
        Ok(Leave {
            _room: room,
            _under_way: under_way,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The maps are whole between any two statements that hold the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_gives_what_it_has_and_fills_again() {
        let start = Instant::now();
        let mut bucket = Bucket {
            left: 3.0,
            at: start,
        };
        // Seconds since the start, and what becomes of a request then, with 3 a minute.
        let rows = [
            (0, Ok(())),
            (0, Ok(())),
            (0, Ok(())),
            (0, Err(20)),
            (5, Err(15)),
            (20, Ok(())),
            (21, Err(19)),
            (400, Ok(())),
            (400, Ok(())),
        ];
        for (second, expected) in rows {
            let (next, taken) = bucket.take(start + Duration::from_secs(second), 3);
            assert_eq!(taken, expected, "after {second} s");
            bucket = next;
        }
        assert!(
            Bucket {
                left: 0.0,
                at: start
            }
            .take(start, 0)
            .1
            .is_err(),
            "none are none"
        );
    }

    #[tokio::test]
    async fn few_count_at_once_and_few_wait() {
        let counts = Arc::new(Counts::new(1));
        let first = counts.enter().await.expect("nobody counts");
        let waits: Vec<_> = (0..WAITING_PER_COUNT)
            .map(|_| {
                let mut wait = Box::pin({
                    let counts = counts.clone();
                    async move { counts.enter().await }
                });
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(
                    wait.as_mut().poll(&mut context).is_pending(),
                    "one at a time"
                );
                wait
            })
            .collect();
        let refused = counts.enter().await.err().expect("no room to wait");
        assert_eq!(
            (refused.status, refused.retry_after),
            (429, Some(COUNT_AGAIN_AFTER))
        );
        drop(first);
        for wait in waits {
            assert!(wait.await.is_ok(), "whoever waited counts next");
        }
        assert!(counts.enter().await.is_ok(), "all leave was given back");
    }

    #[test]
    fn places_are_counted_by_key_and_given_back() {
        let watchers = Arc::new(Watchers::default());
        let first = watchers.enter("a", 2).expect("room");
        let _second = watchers.enter("a", 2).expect("room");
        assert_eq!(
            watchers.enter("a", 2).err().map(|problem| problem.status),
            Some(429)
        );
        let _other = watchers.enter("b", 2).expect("another key's room");
        drop(first);
        assert!(watchers.enter("a", 2).is_ok());
        assert_eq!(watchers.count(), 2);
    }
}
