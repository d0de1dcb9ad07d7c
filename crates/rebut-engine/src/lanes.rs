//! How much may be asked of whom, over all debates of a desk: calls under way, calls and tokens per minute, waits a
//! provider asked for, and a breaker that spares whoever fails too often.

use crate::model::{Allowance, Answer, Fault, FaultKind, Headroom};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// The lanes to all providers.
pub struct Lanes {
    width: usize,
    open: Mutex<HashMap<String, Arc<Lane>>>,
    breakers: Mutex<HashMap<Arc<str>, Breaker>>,
}

/// The lane to one provider; its debates share it.
struct Lane {
    seats: Arc<Semaphore>,
    pace: Mutex<Pace>,
}

/// What was begun in the last minute, and until when nobody may begin.
#[derive(Default)]
struct Pace {
    begun: VecDeque<(Instant, u64)>,
    not_before: Option<Instant>,
}

/// Opens when a model fails too often, and lets one call through from time to time to see.
#[derive(Default)]
struct Breaker {
    recent: VecDeque<(Instant, bool)>,
    open_until: Option<Instant>,
    /// Since when one call is on its way to see.
    probing: Option<Instant>,
}

const MINUTE: Duration = Duration::from_secs(60);
/// Failures are looked at over this time …
const WINDOW: Duration = Duration::from_secs(60);
/// … and only when there were that many calls, of which half or more failed.
const SAMPLES: usize = 6;
/// How long a model is spared.
const SPARED: Duration = Duration::from_secs(20);

impl Lanes {
    /// So many calls per provider, unless the provider's own data says otherwise.
    pub fn new(width: usize) -> Self {
        Self { width: width.max(1), open: Mutex::default(), breakers: Mutex::default() }
    }

    /// Waits for a place among the calls under way at a provider.
    pub async fn seat(&self, provider: &str, allowance: Allowance) -> Option<OwnedSemaphorePermit> {
        let seats = self.lane(provider, allowance).seats.clone();
        // Lanes are never closed; should one be, a call without a permit is better than none.
        seats.acquire_owned().await.ok()
    }

    /// Begins a call of about that many tokens, or says how long to wait before asking again.
    pub fn begin(&self, provider: &str, allowance: Allowance, tokens: u64) -> Result<(), Duration> {
        let lane = self.lane(provider, allowance);
        let mut pace = lock(&lane.pace);
        // Nothing to look at is the usual case.
        if pace.not_before.is_none() && allowance.requests_per_minute.is_none() && allowance.tokens_per_minute.is_none() {
            return Ok(());
        }
        pace.begin(Instant::now(), allowance, tokens)
    }

    /// Whether a model is spared right now, and for how long. A call that is let through must be reported by `ended`.
    pub fn spared(&self, model: &str) -> Option<Duration> {
        let mut breakers = lock(&self.breakers);
        breakers.get_mut(model)?.spared(Instant::now())
    }

    /// Takes in how a call ended: failures for the breaker, waits and headroom for the pace.
    pub fn ended(&self, provider: &str, model: &Arc<str>, result: &Result<Answer, Fault>) {
        let now = Instant::now();
        let (failed, headroom) = match result {
            Ok(answer) => (false, answer.headroom.as_ref()),
            Err(fault) => (is_the_providers(fault.kind), fault.headroom.as_deref()),
        };
        let mut breakers = lock(&self.breakers);
        match breakers.get_mut(model) {
            Some(breaker) => breaker.note(now, failed),
            // A model that never failed needs no breaker.
            None if failed => breakers.entry(model.clone()).or_default().note(now, true),
            None => {}
        }
        drop(breakers);
        let asked = result.as_ref().err().filter(|fault| fault.kind == FaultKind::RateLimited).and_then(|fault| fault.retry_after_ms);
        let wait = [asked.map(Duration::from_millis), headroom.and_then(until_reset)].into_iter().flatten().max();
        let Some(wait) = wait else { return };
        if let Some(lane) = lock(&self.open).get(provider) {
            let mut pace = lock(&lane.pace);
            pace.not_before = pace.not_before.max(Some(now + wait));
        }
    }

    fn lane(&self, provider: &str, allowance: Allowance) -> Arc<Lane> {
        let mut open = lock(&self.open);
        if let Some(lane) = open.get(provider) {
            return lane.clone();
        }
        let width = allowance.concurrency.and_then(|width| usize::try_from(width).ok()).map_or(self.width, |width| width.max(1));
        let lane = Arc::new(Lane { seats: Arc::new(Semaphore::new(width)), pace: Mutex::default() });
        open.insert(provider.to_owned(), lane.clone());
        lane
    }
}

impl Pace {
    fn begin(&mut self, now: Instant, allowance: Allowance, tokens: u64) -> Result<(), Duration> {
        match self.not_before {
            Some(until) if until > now => return Err(until - now),
            _ => self.not_before = None,
        }
        while self.begun.front().is_some_and(|(begun, _)| now.duration_since(*begun) >= MINUTE) {
            self.begun.pop_front();
        }
        let calls = allowance.requests_per_minute.map_or(usize::MAX, |most| usize::try_from(most.max(1)).unwrap_or(usize::MAX));
        let used: u64 = self.begun.iter().map(|(_, tokens)| tokens).sum();
        // A call larger than a whole minute's tokens could never begin; it gets a minute of its own.
        let too_many_tokens = allowance.tokens_per_minute.is_some_and(|most| used > 0 && used.saturating_add(tokens) > most);
        if let Some((oldest, _)) = self.begun.front().filter(|_| self.begun.len() >= calls || too_many_tokens) {
            return Err((*oldest + MINUTE).duration_since(now));
        }
        self.begun.push_back((now, tokens));
        Ok(())
    }
}

impl Breaker {
    fn spared(&mut self, now: Instant) -> Option<Duration> {
        let until = self.open_until?;
        if until > now {
            return Some(until - now);
        }
        // The others wait for what it finds. One whose debate was cancelled never tells.
        if self.probing.is_some_and(|since| now.duration_since(since) < SPARED) {
            return Some(Duration::from_secs(1));
        }
        self.probing = Some(now);
        None
    }

    fn note(&mut self, now: Instant, failed: bool) {
        if self.probing.take().is_some() {
            self.recent.clear();
            self.open_until = failed.then(|| now + SPARED);
            return;
        }
        self.recent.push_back((now, failed));
        while self.recent.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.recent.pop_front();
        }
        let failures = self.recent.iter().filter(|(_, failed)| *failed).count();
        if self.recent.len() >= SAMPLES && failures * 2 >= self.recent.len() {
            self.open_until = Some(now + SPARED);
        }
    }
}

/// Whether a fault says something about the provider rather than about what was asked of it.
fn is_the_providers(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Server | FaultKind::Network | FaultKind::Timeout | FaultKind::Incomplete)
}

/// A provider that says nothing is left is not asked before its window begins anew.
fn until_reset(headroom: &Headroom) -> Option<Duration> {
    let used_up = headroom.requests == Some(0) || headroom.tokens == Some(0);
    // Nobody is waited for longer than a minute on such a hint alone.
    headroom.resets_in.filter(|_| used_up).map(|wait| wait.min(MINUTE))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while holding one; should it ever, the numbers in it still make sense.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: FaultKind) -> Result<Answer, Fault> {
        Err(Fault::new(kind, "x"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_breaker_opens_on_the_providers_failures_and_closes_after_one_good_probe() {
        let (lanes, model) = (Lanes::new(1), Arc::from("p:m"));
        for _ in 0..20 {
            lanes.ended("p", &model, &failed(FaultKind::BadRequest));
        }
        assert_eq!(lanes.spared("p:m"), None, "the caller's own mistakes never open it");
        for kind in [FaultKind::Server, FaultKind::Network, FaultKind::Timeout, FaultKind::Incomplete, FaultKind::Server] {
            lanes.ended("p", &model, &failed(kind));
        }
        assert_eq!(lanes.spared("p:m"), None, "too few calls to judge");
        lanes.ended("p", &model, &failed(FaultKind::Server));
        assert_eq!(lanes.spared("p:m"), Some(SPARED));
        assert_eq!(lanes.spared("p:other"), None, "another model is not its business");
        tokio::time::advance(SPARED).await;
        assert_eq!(lanes.spared("p:m"), None, "one may see");
        assert!(lanes.spared("p:m").is_some(), "and only one");
        lanes.ended("p", &model, &failed(FaultKind::Server));
        assert_eq!(lanes.spared("p:m"), Some(SPARED), "a failed probe opens it again");
        tokio::time::advance(SPARED).await;
        assert_eq!(lanes.spared("p:m"), None);
        lanes.ended("p", &model, &Ok(Answer::default()));
        assert_eq!((lanes.spared("p:m"), lanes.spared("p:m")), (None, None), "a good one closes it");
        for _ in 0..SAMPLES {
            lanes.ended("p", &model, &failed(FaultKind::Server));
        }
        tokio::time::advance(SPARED).await;
        assert_eq!((lanes.spared("p:m"), lanes.spared("p:m").is_some()), (None, true));
        tokio::time::advance(SPARED).await;
        assert_eq!(lanes.spared("p:m"), None, "a probe that never came back does not close the lane for ever");
    }

    #[tokio::test(start_paused = true)]
    async fn pace_is_kept_for_all_callers_of_a_provider() {
        let lanes = Lanes::new(9);
        let twice = Allowance { requests_per_minute: Some(2), ..Allowance::default() };
        assert_eq!([lanes.begin("p", twice, 1), lanes.begin("p", twice, 1)], [Ok(()), Ok(())]);
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(lanes.begin("p", twice, 1), Err(Duration::from_secs(40)));
        assert_eq!(lanes.begin("q", twice, 1), Ok(()), "another provider has its own");
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(lanes.begin("p", twice, 1), Ok(()));

        let tokens = Allowance { tokens_per_minute: Some(100), ..Allowance::default() };
        assert_eq!([lanes.begin("t", tokens, 500), lanes.begin("t", tokens, 1)], [Ok(()), Err(MINUTE)], "even a large one gets its turn");

        let mut limited = Fault::new(FaultKind::RateLimited, "slow down");
        limited.retry_after_ms = Some(5000);
        lanes.ended("q", &Arc::from("q:m"), &Err(limited));
        assert_eq!(lanes.begin("q", Allowance::default(), 1), Err(Duration::from_secs(5)), "one refusal holds everybody back");
        let spent = Headroom { requests: Some(0), resets_in: Some(Duration::from_secs(600)), ..Headroom::default() };
        lanes.ended("q", &Arc::from("q:m"), &Ok(Answer { headroom: Some(spent), ..Answer::default() }));
        assert_eq!(lanes.begin("q", Allowance::default(), 1), Err(MINUTE));
    }
}
