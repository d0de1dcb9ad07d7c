//! How much may be asked of whom, over all debates of a desk: calls under way, calls and tokens per
//! minute, waits a provider asked for, and a breaker that spares whoever fails too often.

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
    /// Whether one call is on its way to see.
    probing: bool,
    /// What it failed with last, in words.
    last: String,
}

/// A call that wants to begin: to whom, and of about how many tokens.
pub struct Call<'a> {
    pub model: &'a Arc<str>,
    pub allowance: Allowance,
    pub tokens: u64,
}

/// Why a call cannot begin now.
#[derive(Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// So many are under way at the provider that there is no place.
    Full,
    /// It would be too soon: our own pace, or a wait the provider asked for.
    TooSoon(Duration),
    /// The model failed too often just now; with what it failed last.
    Spared(Duration, String),
}

/// The leave to make one call. Who gives it up without a word says nothing about the model.
pub struct Leave<'a> {
    lanes: &'a Lanes,
    model: Arc<str>,
    /// Whether this call is the one that sees how a failing model does.
    probes: bool,
    /// Its place among the calls under way at the provider.
    _seat: OwnedSemaphorePermit,
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
        Self {
            width: width.max(1),
            open: Mutex::default(),
            breakers: Mutex::default(),
        }
    }

    /// Waits for a place among the calls under way at a provider.
    pub async fn seat(&self, call: &Call<'_>) -> OwnedSemaphorePermit {
        let seats = self
            .lane(provider_of(call.model), call.allowance)
            .seats
            .clone();
        seats.acquire_owned().await.expect("lanes are never closed")
    }

    /// Lets a call begin, or says what stands in its way. Whoever has waited for a seat brings it.
    pub fn leave(
        &self,
        call: &Call<'_>,
        seat: Option<OwnedSemaphorePermit>,
    ) -> Result<Leave<'_>, Hindrance> {
        let now = Instant::now();
        let lane = self.lane(provider_of(call.model), call.allowance);
        let mut breakers = lock(&self.breakers);
        let breaker = breakers.get_mut(call.model);
        if let Some((wait, breaker)) = breaker
            .as_ref()
            .and_then(|breaker| Some((breaker.spares(now)?, breaker)))
        {
            return Err(Hindrance::Spared(wait, breaker.last.clone()));
        }
        let mut pace = lock(&lane.pace);
        if let Some(wait) = pace.wait(now, call) {
            return Err(Hindrance::TooSoon(wait));
        }
        let seat = match seat {
            Some(seat) => seat,
            None => lane
                .seats
                .clone()
                .try_acquire_owned()
                .map_err(|_| Hindrance::Full)?,
        };
        pace.note(now, call);
        let probes = breaker.is_some_and(Breaker::begin);
        Ok(Leave {
            lanes: self,
            model: call.model.clone(),
            probes,
            _seat: seat,
        })
    }

    /// How long a model is spared from now on, if it is.
    pub fn spared(&self, model: &str) -> Option<Duration> {
        lock(&self.breakers).get(model)?.spares(Instant::now())
    }

    fn lane(&self, provider: &str, allowance: Allowance) -> Arc<Lane> {
        let mut open = lock(&self.open);
        if let Some(lane) = open.get(provider) {
            return lane.clone();
        }
        let width = allowance
            .concurrency
            .and_then(|width| usize::try_from(width).ok())
            .map_or(self.width, |width| width.max(1));
        let lane = Arc::new(Lane {
            seats: Arc::new(Semaphore::new(width)),
            pace: Mutex::default(),
        });
        open.insert(provider.to_owned(), lane.clone());
        lane
    }
}

impl Leave<'_> {
    /// Takes in how the call ended: failures for the breaker, waits and headroom for the pace.
    pub fn ended(mut self, result: &Result<Answer, Fault>) {
        let now = Instant::now();
        let (failed, headroom) = match result {
            Ok(answer) => (None, answer.headroom.as_ref()),
            Err(fault) => (
                Some(fault).filter(|fault| is_the_providers(fault.kind)),
                fault.headroom.as_deref(),
            ),
        };
        let mut breakers = lock(&self.lanes.breakers);
        match breakers.get_mut(&self.model) {
            Some(breaker) => breaker.note(now, failed, self.probes),
            // A model that never failed needs no breaker.
            None if failed.is_some() => breakers
                .entry(self.model.clone())
                .or_default()
                .note(now, failed, false),
            None => {}
        }
        drop(breakers);
        self.probes = false;
        let asked = result
            .as_ref()
            .err()
            .filter(|fault| fault.kind == FaultKind::RateLimited)
            .and_then(|fault| fault.retry_after_ms);
        let wait = [
            asked.map(Duration::from_millis),
            headroom.and_then(until_reset),
        ]
        .into_iter()
        .flatten()
        .max();
        let Some(wait) = wait else { return };
        if let Some(lane) = lock(&self.lanes.open).get(provider_of(&self.model)) {
            let mut pace = lock(&lane.pace);
            pace.not_before = pace.not_before.max(Some(now + wait));
        }
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        // A cancelled call never tells: another may go and see.
        if self.probes
            && let Some(breaker) = lock(&self.lanes.breakers).get_mut(&self.model)
        {
            breaker.probing = false;
        }
    }
}

impl Pace {
    /// How long a call has to wait before it may begin.
    fn wait(&mut self, now: Instant, call: &Call<'_>) -> Option<Duration> {
        match self.not_before {
            Some(until) if until > now => return Some(until - now),
            _ => self.not_before = None,
        }
        while self
            .begun
            .front()
            .is_some_and(|(begun, _)| now.duration_since(*begun) >= MINUTE)
        {
            self.begun.pop_front();
        }
        let allowance = call.allowance;
        let calls = allowance.requests_per_minute.map_or(usize::MAX, |most| {
            usize::try_from(most.max(1)).unwrap_or(usize::MAX)
        });
        let used: u64 = self.begun.iter().map(|(_, tokens)| tokens).sum();
        // A call larger than a whole minute's tokens could never begin; it gets a minute of its
        // own.
        let too_many_tokens = allowance
            .tokens_per_minute
            .is_some_and(|most| used > 0 && used.saturating_add(call.tokens) > most);
        let oldest = self
            .begun
            .front()
            .filter(|_| self.begun.len() >= calls || too_many_tokens);
        oldest.map(|(begun, _)| (*begun + MINUTE).duration_since(now))
    }

    fn note(&mut self, now: Instant, call: &Call<'_>) {
        if call.allowance.requests_per_minute.is_some()
            || call.allowance.tokens_per_minute.is_some()
        {
            self.begun.push_back((now, call.tokens));
        }
    }
}

impl Breaker {
    fn spares(&self, now: Instant) -> Option<Duration> {
        let until = self.open_until?;
        if until > now {
            return Some(until - now);
        }
        // The others wait for what the one on its way finds.
        self.probing.then_some(Duration::from_secs(1))
    }

    /// A call begins; says whether it is the one that sees.
    fn begin(&mut self) -> bool {
        self.probing |= self.open_until.is_some();
        self.probing
    }

    fn note(&mut self, now: Instant, failed: Option<&Fault>, probes: bool) {
        if let Some(fault) = failed {
            self.last = fault.to_string();
        }
        if probes {
            self.recent.clear();
            self.probing = false;
            self.open_until = failed.map(|_| now + SPARED);
            return;
        }
        // What began before it opened and comes late tells nothing new.
        if self.open_until.is_some() {
            return;
        }
        self.recent.push_back((now, failed.is_some()));
        while self
            .recent
            .front()
            .is_some_and(|(at, _)| now.duration_since(*at) > WINDOW)
        {
            self.recent.pop_front();
        }
        let failures = self.recent.iter().filter(|(_, failed)| *failed).count();
        if self.recent.len() >= SAMPLES && failures * 2 >= self.recent.len() {
            self.open_until = Some(now + SPARED);
        }
    }
}

/// The provider's part of a model's name.
pub fn provider_of(model: &str) -> &str {
    model
        .split_once(':')
        .map_or(model, |(provider, _)| provider)
}

/// Whether a fault says something about the provider rather than about what was asked of it.
fn is_the_providers(kind: FaultKind) -> bool {
    use FaultKind::{Incomplete, Insecure, Network, Server, Timeout, Unreachable, Unreadable};
    matches!(
        kind,
        Server | Network | Unreachable | Insecure | Timeout | Incomplete | Unreadable
    )
}

/// A provider that says nothing is left is not asked before its window begins anew.
fn until_reset(headroom: &Headroom) -> Option<Duration> {
    let used_up = headroom.requests == Some(0) || headroom.tokens == Some(0);
    // Nobody is waited for longer than a minute on such a hint alone.
    headroom
        .resets_in
        .filter(|_| used_up)
        .map(|wait| wait.min(MINUTE))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while holding one; should it ever, the numbers in it still make sense.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(model: &Arc<str>, allowance: Allowance, tokens: u64) -> Call<'_> {
        Call {
            model,
            allowance,
            tokens,
        }
    }

    /// How a call fares that wants to begin now and has nothing to say at its end.
    fn hindrance(
        lanes: &Lanes,
        model: &str,
        allowance: Allowance,
        tokens: u64,
    ) -> Option<Hindrance> {
        lanes
            .leave(&call(&model.into(), allowance, tokens), None)
            .err()
    }

    fn spared(lanes: &Lanes, model: &str) -> Option<Duration> {
        match hindrance(lanes, model, Allowance::default(), 0) {
            None => None,
            Some(Hindrance::Spared(wait, _)) => Some(wait),
            Some(other) => panic!("{other:?}"),
        }
    }

    fn begun<'a>(lanes: &'a Lanes, model: &str) -> Leave<'a> {
        lanes
            .leave(&call(&model.into(), Allowance::default(), 0), None)
            .unwrap_or_else(|why| panic!("{model}: {why:?}"))
    }

    fn failed(kind: FaultKind) -> Result<Answer, Fault> {
        Err(Fault::new(kind, "x"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_breaker_opens_on_the_providers_failures_and_closes_after_one_good_probe() {
        let lanes = Lanes::new(64);
        let (late, later) = (begun(&lanes, "p:m"), begun(&lanes, "p:m"));
        for _ in 0..20 {
            begun(&lanes, "p:m").ended(&failed(FaultKind::BadRequest));
        }
        assert_eq!(
            spared(&lanes, "p:m"),
            None,
            "the caller's own mistakes never open it"
        );
        for kind in [
            FaultKind::Server,
            FaultKind::Network,
            FaultKind::Timeout,
            FaultKind::Incomplete,
            FaultKind::Server,
        ] {
            begun(&lanes, "p:m").ended(&failed(kind));
        }
        assert_eq!(spared(&lanes, "p:m"), None, "too few calls to judge");
        begun(&lanes, "p:m").ended(&Err(Fault::new(FaultKind::Server, "no room")));
        let why = hindrance(&lanes, "p:m", Allowance::default(), 0);
        assert_eq!(
            why,
            Some(Hindrance::Spared(
                SPARED,
                "provider failed: no room".to_owned()
            )),
            "the cause is not lost"
        );
        assert_eq!(
            spared(&lanes, "p:other"),
            None,
            "another model is not its business"
        );
        tokio::time::advance(SPARED).await;
        let probe = begun(&lanes, "p:m");
        assert!(spared(&lanes, "p:m").is_some(), "one may see, and only one");
        late.ended(&Ok(Answer::default()));
        assert!(
            spared(&lanes, "p:m").is_some(),
            "a call of before is not the one that sees"
        );
        probe.ended(&failed(FaultKind::Server));
        assert_eq!(
            spared(&lanes, "p:m"),
            Some(SPARED),
            "a failed probe opens it again"
        );
        tokio::time::advance(SPARED).await;
        let probe = begun(&lanes, "p:m");
        later.ended(&failed(FaultKind::Timeout));
        probe.ended(&Ok(Answer::default()));
        let both = (begun(&lanes, "p:m"), begun(&lanes, "p:m"));
        drop(both);
        for _ in 0..SAMPLES {
            begun(&lanes, "p:m").ended(&failed(FaultKind::Server));
        }
        tokio::time::advance(SPARED).await;
        let cancelled = begun(&lanes, "p:m");
        assert!(spared(&lanes, "p:m").is_some());
        drop(cancelled);
        assert_eq!(
            spared(&lanes, "p:m"),
            None,
            "a probe that never came back does not close the lane for ever"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn pace_is_kept_for_all_callers_of_a_provider() {
        let lanes = Lanes::new(9);
        let too_soon = |seconds| Some(Hindrance::TooSoon(Duration::from_secs(seconds)));
        let twice = Allowance {
            requests_per_minute: Some(2),
            ..Allowance::default()
        };
        assert_eq!(
            [
                hindrance(&lanes, "p:m", twice, 1),
                hindrance(&lanes, "p:n", twice, 1)
            ],
            [None, None]
        );
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(hindrance(&lanes, "p:m", twice, 1), too_soon(40));
        assert_eq!(
            hindrance(&lanes, "q:m", twice, 1),
            None,
            "another provider has its own"
        );
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(hindrance(&lanes, "p:m", twice, 1), None);

        let tokens = Allowance {
            tokens_per_minute: Some(100),
            ..Allowance::default()
        };
        let large_then_small = [
            hindrance(&lanes, "t:m", tokens, 500),
            hindrance(&lanes, "t:m", tokens, 1),
        ];
        assert_eq!(
            large_then_small,
            [None, too_soon(60)],
            "even a large one gets its turn"
        );

        let mut limited = Fault::new(FaultKind::RateLimited, "slow down");
        limited.retry_after_ms = Some(5000);
        let before = begun(&lanes, "q:n");
        begun(&lanes, "q:m").ended(&Err(limited));
        assert_eq!(
            hindrance(&lanes, "q:m", Allowance::default(), 1),
            too_soon(5),
            "one refusal holds everybody back"
        );
        let spent = Headroom {
            requests: Some(0),
            resets_in: Some(Duration::from_secs(600)),
            ..Headroom::default()
        };
        before.ended(&Ok(Answer {
            headroom: Some(spent),
            ..Answer::default()
        }));
        assert_eq!(
            hindrance(&lanes, "q:m", Allowance::default(), 1),
            too_soon(60)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_lane_has_so_many_places_and_a_leave_takes_one() {
        let (lanes, model) = (Lanes::new(1), Arc::from("p:m"));
        let first = begun(&lanes, "p:m");
        let second = call(&model, Allowance::default(), 0);
        assert_eq!(lanes.leave(&second, None).err(), Some(Hindrance::Full));
        drop(first);
        let seat = lanes.seat(&second).await;
        assert_eq!(
            hindrance(&lanes, "p:n", Allowance::default(), 0),
            Some(Hindrance::Full),
            "whoever waited has the place"
        );
        assert!(lanes.leave(&second, Some(seat)).is_ok());
    }
}
