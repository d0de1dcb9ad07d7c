//! How much of what one key may do: requests in a while, watchers at a time.

use crate::problem::Problem;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::sync::watch;

/// What a key has left of its requests. Decisions have a bucket of their own: whoever reads much can still decide.
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
            return (Self { left: left - 1.0, at: now }, Ok(()));
        }
        let wait = if per_second > 0.0 { ((1.0 - left) / per_second).ceil() } else { 60.0 };
        (Self { left, at: now }, Err((wait as u64).max(1)))
    }
}

impl Buckets {
    /// Takes one request of this key.
    pub fn take(&self, key: &str, decides: bool, per_minute: u32) -> Result<(), Problem> {
        let now = Instant::now();
        let mut buckets = lock(&self.0);
        let full = Bucket { left: f64::from(per_minute), at: now };
        let bucket = buckets.entry((key.to_owned(), decides)).or_insert(full);
        let (next, taken) = bucket.take(now, per_minute);
        *bucket = next;
        taken.map_err(|seconds| Problem::too_many(format!("more than {per_minute} requests in a minute; wait {seconds} s"), seconds))
    }
}

/// Who watches now, by key.
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
        Self { of_key: Mutex::default(), all: watch::Sender::new(0) }
    }
}

impl Watchers {
    /// A place for one more watcher of this key.
    pub fn enter(self: &Arc<Self>, key: &str, most: usize) -> Result<Place, Problem> {
        let mut of_key = lock(&self.of_key);
        let count = of_key.entry(key.to_owned()).or_default();
        if *count >= most {
            return Err(Problem::too_many(format!("this key watches {most} debates already; close one of them"), 10));
        }
        *count += 1;
        self.all.send_modify(|all| *all += 1);
        Ok(Place { watchers: self.clone(), key: key.to_owned() })
    }

    /// How many there are.
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
        let mut bucket = Bucket { left: 3.0, at: start };
        // Seconds since the start, and what becomes of a request then, with 3 a minute.
        let rows =
            [(0, Ok(())), (0, Ok(())), (0, Ok(())), (0, Err(20)), (5, Err(15)), (20, Ok(())), (21, Err(19)), (400, Ok(())), (400, Ok(()))];
        for (second, expected) in rows {
            let (next, taken) = bucket.take(start + Duration::from_secs(second), 3);
            assert_eq!(taken, expected, "after {second} s");
            bucket = next;
        }
        assert!(Bucket { left: 0.0, at: start }.take(start, 0).1.is_err(), "none are none");
    }

    #[test]
    fn places_are_counted_by_key_and_given_back() {
        let watchers = Arc::new(Watchers::default());
        let first = watchers.enter("a", 2).expect("room");
        let _second = watchers.enter("a", 2).expect("room");
        assert_eq!(watchers.enter("a", 2).err().map(|problem| problem.status), Some(429));
        let _other = watchers.enter("b", 2).expect("another key's room");
        drop(first);
        assert!(watchers.enter("a", 2).is_ok());
        assert_eq!(watchers.count(), 2);
    }
}
