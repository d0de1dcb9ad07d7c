//! A store with something between it and its user: a crash, a slow disk, a database that cannot be
//! reached, or one with a clock of its own.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rebut_engine::{
    DebateId,
    clock::Clock,
    projection::Tables,
    record::Record,
    seal::Checkpoint,
    store::{Append, Changed, Filter, Pick, Picked, Session, Store, StoreError},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::Notify;

type OnAppend =
    dyn Fn(Arc<dyn Store>, Append) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync;
type OnLoad = dyn Fn() -> Result<(), StoreError> + Send + Sync;
type Current = dyn Fn() -> Arc<dyn Store> + Send + Sync;
type OnGiveUp = dyn Fn() -> BoxFuture<'static, ()> + Send + Sync;

/// A store whose appends go through a function, whose reads may be refused by another, and which
/// counts the records it gives.
pub struct Interposed {
    store: Arc<dyn Store>,
    on_append: Box<OnAppend>,
    on_load: Option<Box<OnLoad>>,
    current: Option<Box<Current>>,
    clock: Option<Arc<dyn Clock>>,
    news: Option<Arc<Notify>>,
    on_give_up: Option<Box<OnGiveUp>>,
    given: AtomicUsize,
}

impl Interposed {
    /// Nothing is in between but the count.
    pub fn counting(store: impl Store) -> Self {
        Self::new(store, |store, append| {
            Box::pin(async move { store.append(append).await })
        })
    }

    pub fn new(
        store: impl Store,
        on_append: impl Fn(Arc<dyn Store>, Append) -> BoxFuture<'static, Result<(), StoreError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self::over(Arc::new(store), on_append)
    }

    /// The same for a store that others use too.
    pub fn over(
        store: Arc<dyn Store>,
        on_append: impl Fn(Arc<dyn Store>, Append) -> BoxFuture<'static, Result<(), StoreError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            store,
            on_append: Box::new(on_append),
            on_load: None,
            current: None,
            clock: None,
            news: None,
            on_give_up: None,
            given: AtomicUsize::new(0),
        }
    }

    /// The same; everything but appends is asked of the store that `current` gives at that moment.
    #[must_use]
    pub fn reading(self, current: impl Fn() -> Arc<dyn Store> + Send + Sync + 'static) -> Self {
        Self {
            current: Some(Box::new(current)),
            ..self
        }
    }

    /// The same; `on_load` is asked before each reading, and users are warned that the store may be
    /// unreachable.
    #[must_use]
    pub fn unreachable(
        self,
        on_load: impl Fn() -> Result<(), StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            on_load: Some(Box::new(on_load)),
            ..self
        }
    }

    /// The same with a clock that all its users share, as a database has one.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock: Some(clock),
            ..self
        }
    }

    /// The same; its users are told that anything may have changed elsewhere, each time `news` is
    /// notified.
    #[must_use]
    pub fn hearing(self, news: Arc<Notify>) -> Self {
        Self {
            news: Some(news),
            ..self
        }
    }

    /// The same; `on_give_up` is waited for before a debate is given up.
    #[must_use]
    pub fn giving_up(
        self,
        on_give_up: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            on_give_up: Some(Box::new(on_give_up)),
            ..self
        }
    }

    /// How many records were read from it since this was asked last.
    pub fn given(&self) -> usize {
        self.given.swap(0, Ordering::SeqCst)
    }

    fn store(&self) -> Arc<dyn Store> {
        self.current
            .as_ref()
            .map_or_else(|| self.store.clone(), |current| current())
    }

    fn may_read(&self) -> Result<(), StoreError> {
        self.on_load.as_ref().map_or(Ok(()), |on_load| on_load())
    }

    fn count(&self, records: &[Record]) {
        self.given.fetch_add(records.len(), Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Store for Interposed {
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        (self.on_append)(self.store.clone(), append).await
    }

    async fn page(
        &self,
        debate: DebateId,
        after: u64,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.may_read()?;
        let records = self.store().page(debate, after, most).await?;
        self.count(&records);
        Ok(records)
    }

    async fn pick(&self, debate: DebateId, pick: &Pick) -> Result<Picked, StoreError> {
        self.may_read()?;
        let picked = self.store().pick(debate, pick).await?;
        self.count(&picked.records);
        Ok(picked)
    }

    async fn checkpoints(&self, debate: DebateId) -> Result<Vec<Checkpoint>, StoreError> {
        self.store().checkpoints(debate).await
    }

    async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        self.store().sessions(filter).await
    }

    async fn tables(&self, debate: DebateId) -> Result<Tables, StoreError> {
        self.store().tables(debate).await
    }

    async fn redact(&self, tombstone: Record, append: Append) -> Result<(), StoreError> {
        self.store().redact(tombstone, append).await
    }

    async fn remove(&self, debate: DebateId) -> Result<(), StoreError> {
        self.store().remove(debate).await
    }

    async fn is_removed(&self, debate: DebateId) -> Result<bool, StoreError> {
        self.store().is_removed(debate).await
    }

    async fn runner(&self, debate: DebateId) -> Result<Option<String>, StoreError> {
        self.store().runner(debate).await
    }

    async fn held_here(&self) -> Result<Vec<DebateId>, StoreError> {
        self.may_read()?;
        self.store.held_here().await
    }

    async fn give_up(&self, debate: DebateId, why: &str) -> Result<(), StoreError> {
        if let Some(on_give_up) = &self.on_give_up {
            on_give_up().await;
        }
        self.store.give_up(debate, why).await
    }

    async fn given_up(&self, debates: &[DebateId]) -> Result<Vec<(DebateId, String)>, StoreError> {
        self.store.given_up(debates).await
    }

    async fn changed_elsewhere(&self) -> Result<Changed, StoreError> {
        match &self.news {
            Some(news) => {
                news.notified().await;
                Ok(Changed::Anything)
            }
            None => self.store().changed_elsewhere().await,
        }
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        self.store.check_writable().await
    }

    fn now(&self) -> Option<Timestamp> {
        self.clock
            .as_ref()
            .map(|clock| clock.now())
            .or_else(|| self.store.now())
    }

    async fn ask_now(&self) -> Result<Option<Timestamp>, StoreError> {
        self.may_read()?;
        match &self.clock {
            Some(clock) => Ok(Some(clock.now())),
            None => self.store.ask_now().await,
        }
    }

    fn may_be_unreachable(&self) -> bool {
        self.on_load.is_some() || self.store.may_be_unreachable()
    }
}
