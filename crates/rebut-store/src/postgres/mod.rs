//! The store over PostgreSQL: several nodes share one database. Each debate is leased to one of
//! them, and each hears what the others append.

mod address;
mod beats;
mod clock;
mod deciding;
mod leases;
mod link;
mod listening;
mod outbox;
mod pool;
mod probe;
mod rows;
mod schema;
mod script;
mod script_derived;
mod server;
mod transaction;
mod trouble;
mod web_session;
mod writer;

pub use address::{is_url, password, shown};

use crate::transaction::Work;
use address::Address;
use beats::Beats;
use clock::DatabaseClock;
use jiff::Timestamp;
use leases::Task;
use link::Unanswered;
use listening::Heard;
use pool::{Pool, value};
use rebut_engine::{
    DebateId,
    projection::Tables,
    record::Record,
    seal::Checkpoint,
    store::{Append, Changed, Claim, Filter, Pick, Picked, Session, Store, StoreError},
};
use script::uuid;
use std::{
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::{Duration, Instant},
};
use tokio_postgres::{Row, types::Type};
use uuid::Uuid;
use writer::Writer;

/// The shortest wait for one's own beats.
const SHORTEST: Duration = Duration::from_millis(50);

/// The first half of every advisory lock of ours.
const LOCKS: i32 = 0x7265_6275;

/// Journals in a PostgreSQL database, which several processes may use. Must be used inside a tokio
/// runtime.
pub struct PostgresStore {
    node: Arc<Node>,
    pool: Arc<Pool>,
    clock: Arc<DatabaseClock>,
    writer: Writer,
    heard: Arc<Heard>,
    listener: OnceLock<Task>,
    _renewal: Task,
    _time: Task,
}

#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// How long the debates of a node that is not heard of stay its own.
    pub lease: Duration,
    /// How long an answer may take. The server gives up before that; this is for one that is
    /// silent.
    pub answer_within: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            answer_within: Duration::from_secs(60),
        }
    }
}

/// This process as the database knows it.
struct Node {
    /// New for every store that is opened, so a lease is never mistaken for an earlier process's.
    id: Uuid,
    words: String,
    lease: Duration,
    answer_within: Duration,
    /// Whether it ever took a debate.
    runs: AtomicBool,
    beats: Beats,
    unanswered: Arc<Unanswered>,
    address: Arc<Address>,
}

impl Node {
    /// The time of a lease as a value.
    fn lease_seconds<'a>(&self) -> pool::Value<'a> {
        pool::value(
            self.lease.as_secs_f64(),
            tokio_postgres::types::Type::FLOAT8,
        )
    }

    /// Whether it may take a lease of another that has expired.
    fn may_take(&self) -> bool {
        self.until_steady().is_zero()
    }

    fn until_steady(&self) -> Duration {
        self.beats.until_steady(Instant::now(), self.lease)
    }

    /// Whether leases may have expired only since nobody could renew them.
    fn doubts(&self) -> bool {
        self.beats.doubts(Instant::now(), self.lease)
    }
}

impl PostgresStore {
    /// Connects to `postgres://USER:PASSWORD@HOST:PORT/NAME` and brings its schema up to date.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, PostgresOptions::default()).await
    }

    pub async fn connect_with(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let address = Arc::new(Address::parse(url)?);
        let link = address.connect().await?;
        schema::prepare(&link, address.shown()).await?;
        let asked = Instant::now();
        let time = link
            .query_typed(clock::QUESTION, &[])
            .await
            .map_err(|error| trouble::of("asking the database for the time", &error))?;
        let clock = Arc::new(DatabaseClock::new(asked, &time)?);
        let host = whoami::hostname().unwrap_or_else(|_| "an unknown host".to_owned());
        let words = format!("process {} on {host}", std::process::id());
        let unanswered = Arc::new(Unanswered::default());
        let node = Arc::new(Node {
            id: Uuid::new_v4(),
            words,
            lease: options.lease,
            answer_within: options.answer_within,
            runs: AtomicBool::new(false),
            beats: Beats::default(),
            unanswered: unanswered.clone(),
            address: address.clone(),
        });
        let pool = Arc::new(Pool::new(address, options.answer_within, unanswered));
        let writer = Writer::start(node.clone(), link);
        Ok(Self {
            heard: Arc::new(Heard::default()),
            listener: OnceLock::new(),
            _renewal: Task::start(leases::renew(node.clone(), writer.renewing())),
            writer,
            _time: Task::start(clock::follow(pool.clone(), clock.clone())),
            clock,
            node,
            pool,
        })
    }

    /// Does a work that takes a debate or needs that nobody runs it. A command that has just started
    /// has not been heard of for the time of a lease either: it waits so long before it takes what
    /// nobody seems to run, unless something tells that somebody may.
    async fn in_time(&self, debate: DebateId, work: impl Fn() -> Work) -> Result<(), StoreError> {
        loop {
            let is_new = !self.node.may_take();
            match self.writer.work(work()).await {
                Err(held @ (StoreError::Held { .. } | StoreError::Lost { .. })) if is_new => {
                    if self.runner(debate).await?.is_some() {
                        return Err(held);
                    }
                    tokio::time::sleep(self.node.until_steady().max(SHORTEST)).await;
                }
                other => return other,
            }
        }
    }

    async fn of_debate(&self, sql: &str, debate: DebateId) -> Result<Vec<Row>, StoreError> {
        self.pool.ask(sql, &[value(uuid(debate), Type::UUID)]).await
    }
}

/// Reads each row; the first that cannot be read is named by its number.
fn read<T>(
    debate: DebateId,
    rows: &[Row],
    one: impl Fn(&Row) -> Result<T, rows::Bad>,
) -> Result<Vec<T>, StoreError> {
    let read = |row| {
        one(row).map_err(|why| StoreError::Unreadable {
            debate,
            seq: rows::count(row, 0).unwrap_or(0),
            why,
        })
    };
    rows.iter().map(read).collect()
}

#[async_trait::async_trait]
impl Store for PostgresStore {
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        if append.claim == Claim::Take && !self.node.may_take() {
            return self
                .in_time(append.debate, || Work::Append(append.clone()))
                .await;
        }
        self.writer.work(Work::Append(append)).await
    }

    async fn page(
        &self,
        debate: DebateId,
        after: u64,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let [after, most] =
            [after, most as u64].map(|number| value(crate::rows::int(number), Type::INT8));
        let rows = self
            .pool
            .ask(
                rows::EVENTS,
                &[value(uuid(debate), Type::UUID), after, most],
            )
            .await?;
        read(debate, &rows, |row| rows::record(debate, row))
    }

    async fn pick(&self, debate: DebateId, pick: &Pick) -> Result<Picked, StoreError> {
        let question = rows::pick(debate, pick);
        let mut rows = self.pool.ask(&question.sql, &question.values).await?;
        let incomplete = || StoreError::Unavailable(transaction::INCOMPLETE.to_owned());
        let head = read(debate, &rows[..rows.len().min(1)], rows::head)?
            .pop()
            .ok_or_else(incomplete)?;
        rows.retain(|row| rows::has_record(row) != Ok(false));
        Ok(Picked {
            records: read(debate, &rows, |row| rows::record(debate, row))?,
            head,
        })
    }

    async fn checkpoints(&self, debate: DebateId) -> Result<Vec<Checkpoint>, StoreError> {
        read(
            debate,
            &self.of_debate(rows::CHECKPOINTS, debate).await?,
            rows::checkpoint,
        )
    }

    async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        let Some(question) = rows::sessions(filter) else {
            return Ok(Vec::new());
        };
        let found = self.pool.ask(&question.sql, &question.values).await?;
        let failed = |why| StoreError::Failed(format!("reading the sessions: {why}"));
        found
            .iter()
            .map(|row| rows::session(row).map_err(failed))
            .collect()
    }

    async fn tables(&self, debate: DebateId) -> Result<Tables, StoreError> {
        Ok(Tables {
            code: read(
                debate,
                &self.of_debate(rows::CODE, debate).await?,
                rows::code,
            )?,
            turns: read(
                debate,
                &self.of_debate(rows::LISTS, debate).await?,
                rows::lists,
            )?,
        })
    }

    async fn redact(&self, tombstone: Record, append: Append) -> Result<(), StoreError> {
        self.in_time(append.debate, || {
            Work::Redact(Box::new(tombstone.clone()), append.clone())
        })
        .await
    }

    async fn remove(&self, debate: DebateId) -> Result<(), StoreError> {
        self.in_time(debate, || Work::Remove(debate)).await
    }

    async fn is_removed(&self, debate: DebateId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM removed WHERE debate_id = $1 AND NOT EXISTS (SELECT FROM events \
            WHERE events.debate_id = $1)";
        Ok(!self
            .pool
            .ask(
                sql,
                &[pool::value(
                    script::uuid(debate),
                    tokio_postgres::types::Type::UUID,
                )],
            )
            .await?
            .is_empty())
    }

    async fn runner(&self, debate: DebateId) -> Result<Option<String>, StoreError> {
        leases::runner(&self.pool, &self.node, debate).await
    }

    async fn held_here(&self) -> Result<Vec<DebateId>, StoreError> {
        leases::held(&self.pool, &self.node).await
    }

    async fn give_up(&self, debate: DebateId, why: &str) -> Result<(), StoreError> {
        leases::give_up(&self.pool, &self.node, debate, why).await
    }

    async fn given_up(&self, debates: &[DebateId]) -> Result<Vec<(DebateId, String)>, StoreError> {
        leases::given_up(&self.pool, debates).await
    }

    async fn changed_elsewhere(&self) -> Result<Changed, StoreError> {
        self.listener
            .get_or_init(|| Task::start(listening::listen(self.node.clone(), self.heard.clone())));
        loop {
            match self.heard.changed().await? {
                // Where nothing can be read either, nothing can be looked at.
                Changed::Unheard(_) if self.pool.ask("SELECT", &[]).await.is_err() => {}
                changed => return Ok(changed),
            }
        }
    }

    fn may_be_unreachable(&self) -> bool {
        true
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        self.writer.check().await
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.clock.now())
    }

    async fn ask_now(&self) -> Result<Option<Timestamp>, StoreError> {
        self.clock.ask(&self.pool).await.map(Some)
    }

    async fn abandoned(&self, most: usize) -> Result<Vec<DebateId>, StoreError> {
        leases::abandoned(&self.pool, &self.node, most).await
    }
}
