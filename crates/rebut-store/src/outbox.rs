//! The outbox in SQLite: what is to be sent is written with the event; the rest of it goes through
//! the same writing thread as everything else. The first attempt is due whatever the clock says;
//! waits between attempts are measured by [`waits`](crate::waits).

use crate::{
    rows::{count, int},
    sqlite::SqliteStore,
    transaction::{Change, Lasting, Step},
    waits::{Moment, Waiting, Waits, locked},
};
use rebut_engine::{
    outbox::{
        Claimed, Claiming, Deliveries, Delivery, DeliveryState, NewWebhook, Outbox, Secret,
        Settled, Webhook, message_id,
    },
    record::Record,
    store::StoreError,
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, named_params, params, types::Type};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use uuid::Uuid;

/// Now, in the form of every other time here.
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/// Now, and what a parameter says later or earlier.
fn later(parameter: &str) -> String {
    format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', {parameter})")
}

fn seconds(time: Duration) -> String {
    format!("+{:.3} seconds", time.as_secs_f64())
}

/// Keeps an event for every webhook that asks for it. To be called when the session's row is
/// written. It is due at a time before all others, so that a clock that is set back makes nothing
/// wait that has not been tried; those of before stay in their order.
pub(crate) fn keep(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(&format!(
        "INSERT INTO webhook_deliveries (webhook_id, debate_id, seq, type, state, attempts, \
         created_at, next_at)
         SELECT id, ?1, ?2, ?3, 'waiting', 0, {NOW}, '0' || {NOW} FROM webhooks
         WHERE owner = (SELECT initiated_by FROM debate_sessions WHERE debate_sessions.id = ?1) AND why_off IS NULL
             AND EXISTS (SELECT 1 FROM json_each(events) WHERE value = ?3)"
    ))?;
    statement
        .execute(params![
            record.debate.to_string(),
            int(record.seq),
            record.kind
        ])
        .map(drop)
}

impl SqliteStore {
    /// Changes something beside the journals, and gives what came of it once that is committed.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        lasting: Lasting,
        change: impl Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let came = Arc::new(Mutex::new(None));
        let told = came.clone();
        // It may be done twice, where the first transaction is undone: the last time counts.
        let make = move |connection: &Connection| {
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(change(connection)?);
            Ok(())
        };
        self.write(Step::Change(Change {
            lasting,
            make: Box::new(make),
        }))
        .await?;
        let came = came.lock().unwrap_or_else(PoisonError::into_inner).take();
        came.ok_or_else(|| StoreError::Failed("a change was committed and never made".to_owned()))
    }
}

#[async_trait::async_trait]
impl Outbox for SqliteStore {
    async fn add_webhook(
        &self,
        new: NewWebhook,
        most: usize,
    ) -> Result<Option<Webhook>, StoreError> {
        self.change(Lasting::Cleared, move |connection| {
            add(connection, &new, most)
        })
        .await
    }

    async fn webhooks(&self, owner: Option<&str>) -> Result<Vec<Webhook>, StoreError> {
        let owner = owner.map(str::to_owned);
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "{WEBHOOK} WHERE ?1 IS NULL OR owner = ?1 ORDER BY created_at, id"
            ))?;
            statement.query_map([&owner], webhook)?.collect()
        })
        .await
    }

    async fn webhook_secret(&self, owner: &str, id: &str) -> Result<Option<Secret>, StoreError> {
        let of = (owner.to_owned(), id.to_owned());
        self.read(move |connection| {
            let mut statement = connection
                .prepare_cached("SELECT secret FROM webhooks WHERE owner = ?1 AND id = ?2")?;
            statement
                .query_row((&of.0, &of.1), |row| row.get(0).map(Secret::new))
                .optional()
        })
        .await
    }

    async fn replace_webhook(
        &self,
        owner: &str,
        id: &str,
        url: &str,
        events: &[String],
    ) -> Result<bool, StoreError> {
        let values = [owner, id, url].map(str::to_owned);
        let events = list(events);
        self.change(Lasting::Cleared, move |connection| {
            let [owner, id, url] = &values;
            let sql = "UPDATE webhooks SET url = ?3, events = ?4, why_off = NULL WHERE owner = ?1 \
                AND id = ?2";
            Ok(connection.execute(sql, (owner, id, url, &events))? > 0)
        })
        .await
    }

    async fn remove_webhook(&self, owner: &str, id: &str) -> Result<bool, StoreError> {
        let of = (owner.to_owned(), id.to_owned());
        self.change(Lasting::Cleared, move |connection| {
            let removed = connection.execute(
                "DELETE FROM webhooks WHERE owner = ?1 AND id = ?2",
                (&of.0, &of.1),
            )?;
            if removed > 0 {
                connection.execute(
                    "DELETE FROM webhook_deliveries WHERE webhook_id = ?1",
                    [&of.1],
                )?;
            }
            Ok(removed > 0)
        })
        .await
    }

    async fn deliveries(
        &self,
        owner: &str,
        id: &str,
        filter: Deliveries,
    ) -> Result<Vec<Delivery>, StoreError> {
        let of = (owner.to_owned(), id.to_owned());
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT debate_id, seq, type, state, attempts, created_at, iif(attempts = 0, \
                 created_at, next_at), last_error FROM webhook_deliveries
                 WHERE webhook_id = (SELECT id FROM webhooks WHERE owner = ?1 AND id = ?2) AND (?3 IS NULL OR state = ?3)
                 ORDER BY created_at DESC, debate_id DESC, seq DESC LIMIT ?4",
            )?;
            let state = filter.state.map(DeliveryState::as_str);
            statement.query_map(params![of.0, of.1, state, int(filter.limit as u64)], delivery)?.collect()
        })
        .await
    }

    async fn claim_deliveries(&self, asked: &Claiming) -> Result<Vec<Claimed>, StoreError> {
        let (asked, looked) = (asked.clone(), asked.clone());
        // Usually nothing is due: then nobody who writes is kept waiting.
        let was_set = self.waits().clock_was_set();
        if !was_set
            && self
                .read(move |connection| due(connection, &looked))
                .await?
                .is_empty()
        {
            return Ok(Vec::new());
        }
        let waits = self.waits.clone();
        let (followed, claimed) = self
            .change(Lasting::Process, move |connection| {
                let followed = follow_clock(connection, &waits)?;
                let claimed = claim(connection, &asked)?;
                claimed
                    .iter()
                    .for_each(|one| locked(&waits).note(one, asked.lease));
                Ok((followed, claimed))
            })
            .await?;
        if let Some(when) = followed {
            self.waits().followed(when);
        }
        Ok(claimed)
    }

    async fn settle_delivery(&self, claimed: &Claimed, came: &Settled) -> Result<(), StoreError> {
        let (claimed, came, waits) = (claimed.clone(), came.clone(), self.waits.clone());
        self.change(Lasting::Process, move |connection| {
            settle(connection, &claimed, &came)?;
            match &came {
                Settled::Failed {
                    again: Some(wait), ..
                } => locked(&waits).note(&claimed, *wait),
                Settled::Failed { again: None, .. } | Settled::Delivered | Settled::Gone { .. } => {
                    locked(&waits).forget(&claimed)
                }
            }
            Ok(())
        })
        .await
    }

    async fn waiting_deliveries(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'";
        self.read(move |connection| {
            connection
                .prepare_cached(sql)?
                .query_row([], |row| count(row, 0))
        })
        .await
    }

    async fn sweep_deliveries(&self, older: Duration) -> Result<(), StoreError> {
        let before = format!("-{:.3} seconds", older.as_secs_f64());
        let sql = format!(
            "DELETE FROM webhook_deliveries WHERE state <> 'waiting' AND settled_at <= {}",
            later("?1")
        );
        self.waits().tidy();
        self.change(Lasting::Process, move |connection| {
            connection.execute(&sql, [&before]).map(drop)
        })
        .await
    }
}

/// Moves what waits along with a clock that was set, so that it waits as long as was said. Like
/// everything that makes a delivery wait this is done where rows are written: were a row written
/// and its wait noted apart, a clock that is set in between would leave the row behind.
fn follow_clock(connection: &Connection, waits: &Mutex<Waits>) -> rusqlite::Result<Option<Moment>> {
    let Some((when, waiting)) = locked(waits).left_behind() else {
        return Ok(None);
    };
    waiting
        .iter()
        .try_for_each(|one| move_along(connection, one))?;
    Ok(Some(when))
}

fn move_along(connection: &Connection, one: &Waiting) -> rusqlite::Result<()> {
    // Whoever took it since has counted another attempt.
    let mut statement = connection.prepare_cached(&format!(
        "UPDATE webhook_deliveries SET next_at = {} WHERE webhook_id = ?2 AND debate_id = ?3 AND \
         seq = ?4 AND attempts = ?5 AND state = 'waiting'",
        later("?1")
    ))?;
    let (debate, seq) = (one.debate.to_string(), int(one.seq));
    statement
        .execute(params![
            seconds(one.left),
            one.webhook,
            debate,
            seq,
            one.attempt
        ])
        .map(drop)
}

const WEBHOOK: &str = "SELECT id, url, events, created_at, why_off, last_success_at, \
    last_failure_at, last_error FROM webhooks";

fn list(events: &[String]) -> String {
    serde_json::to_string(events).expect("words are always JSON")
}

fn webhook(row: &Row<'_>) -> rusqlite::Result<Webhook> {
    let events: String = row.get(2)?;
    Ok(Webhook {
        id: row.get(0)?,
        url: row.get(1)?,
        events: serde_json::from_str(&events).map_err(|error| unreadable(2, error))?,
        created_at: row.get(3)?,
        why_off: row.get(4)?,
        last_success_at: row.get(5)?,
        last_failure_at: row.get(6)?,
        last_error: row.get(7)?,
    })
}

fn add(
    connection: &Connection,
    new: &NewWebhook,
    most: usize,
) -> rusqlite::Result<Option<Webhook>> {
    let has: u64 = connection.query_row(
        "SELECT count(*) FROM webhooks WHERE owner = ?1",
        [&new.owner],
        |row| count(row, 0),
    )?;
    if has >= most as u64 {
        return Ok(None);
    }
    let id = Uuid::new_v4().to_string();
    let sql = format!(
        "INSERT INTO webhooks (id, owner, url, events, secret, created_at) VALUES (?1, ?2, ?3, ?4, \
         ?5, {NOW})"
    );
    connection.execute(
        &sql,
        params![
            id,
            new.owner,
            new.url,
            list(&new.events),
            new.secret.reveal()
        ],
    )?;
    connection
        .query_row(&format!("{WEBHOOK} WHERE id = ?1"), [&id], webhook)
        .map(Some)
}

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let (debate, state): (String, String) = (row.get(0)?, row.get(3)?);
    let debate = debate.parse().map_err(|error| unreadable(0, error))?;
    let state = DeliveryState::parse(&state)
        .ok_or_else(|| unreadable(3, std::io::Error::other("unknown state")))?;
    let seq = count(row, 1)?;
    Ok(Delivery {
        id: message_id(debate, seq),
        debate_id: debate,
        seq,
        kind: row.get(2)?,
        state,
        attempts: row.get(4)?,
        created_at: row.get(5)?,
        next_at: (state == DeliveryState::Waiting)
            .then(|| row.get(6))
            .transpose()?,
        last_error: row.get(7)?,
    })
}

/// The webhooks for which something is due: id, address and secret.
fn due(
    connection: &Connection,
    asked: &Claiming,
) -> rusqlite::Result<Vec<(String, String, String)>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id, url, secret FROM (
             SELECT id, url, secret, (SELECT min(next_at) FROM webhook_deliveries WHERE webhook_id = id AND state = 'waiting') AS first
             FROM webhooks WHERE why_off IS NULL AND id NOT IN (SELECT value FROM json_each(?1)))
         WHERE first <= {NOW} ORDER BY first LIMIT ?2"
    ))?;
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    statement
        .query_map((list(&asked.except), int(asked.webhooks as u64)), read)?
        .collect()
}

fn claim(connection: &Connection, asked: &Claiming) -> rusqlite::Result<Vec<Claimed>> {
    let mut taking = connection.prepare_cached(&format!(
        "UPDATE webhook_deliveries SET attempts = attempts + 1, next_at = {}
         WHERE (webhook_id, debate_id, seq) IN (SELECT webhook_id, debate_id, seq FROM webhook_deliveries
             WHERE webhook_id = ?1 AND state = 'waiting' AND next_at <= {NOW} ORDER BY next_at, debate_id, seq LIMIT ?2)
         RETURNING debate_id, seq, attempts",
        later("?3")
    ))?;
    let mut taken = Vec::new();
    for (webhook, url, secret) in due(connection, asked)? {
        let read = |row: &Row<'_>| {
            let debate: String = row.get(0)?;
            Ok(Claimed {
                webhook: webhook.clone(),
                url: url.clone(),
                secret: Secret::new(secret.clone()),
                debate: debate.parse().map_err(|error| unreadable(0, error))?,
                seq: count(row, 1)?,
                attempt: row.get(2)?,
            })
        };
        let rows = taking.query_map(
            params![webhook, int(asked.each as u64), seconds(asked.lease)],
            read,
        )?;
        taken.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    Ok(taken)
}

fn settle(connection: &Connection, claimed: &Claimed, came: &Settled) -> rusqlite::Result<()> {
    let (why, wait) = match came {
        Settled::Delivered => ("", None),
        Settled::Failed { why, again } => (why.as_str(), *again),
        Settled::Gone { why } => (why.as_str(), None),
    };
    let wait = seconds(wait.unwrap_or_default());
    let values = named_params! {
        ":webhook": claimed.webhook, ":debate": claimed.debate.to_string(), ":seq": int(claimed.seq), ":attempt": claimed.attempt,
        ":why": why, ":wait": wait,
    };
    let of_delivery = match came {
        Settled::Delivered => format!("state = 'delivered', settled_at = {NOW} WHERE true"),
        Settled::Failed { again: Some(_), .. } => format!(
            "last_error = :why, next_at = {} WHERE attempts = :attempt",
            later(":wait")
        ),
        _ => format!(
            "last_error = :why, state = 'given_up', settled_at = {NOW} WHERE attempts = :attempt"
        ),
    };
    let of = "webhook_id = :webhook AND debate_id = :debate AND seq = :seq AND state = 'waiting'";
    if run(
        connection,
        &format!("UPDATE webhook_deliveries SET {of_delivery} AND {of}"),
        values,
    )? == 0
    {
        return Ok(());
    }
    let of_webhook = match came {
        Settled::Delivered => format!("last_success_at = {NOW}"),
        Settled::Failed { .. } => format!("last_failure_at = {NOW}, last_error = :why"),
        Settled::Gone { .. } => {
            format!("last_failure_at = {NOW}, last_error = :why, why_off = :why")
        }
    };
    run(
        connection,
        &format!("UPDATE webhooks SET {of_webhook} WHERE id = :webhook"),
        values,
    )?;
    if let Settled::Gone { .. } = came {
        let given_up = format!("state = 'given_up', settled_at = {NOW}, last_error = :why");
        run(
            connection,
            &format!(
                "UPDATE webhook_deliveries SET {given_up} WHERE webhook_id = :webhook AND state = \
                 'waiting'"
            ),
            values,
        )?;
    }
    Ok(())
}

/// Runs a statement with those of the values that it names.
fn run(
    connection: &Connection,
    sql: &str,
    values: &[(&str, &dyn ToSql)],
) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(sql)?;
    for (name, value) in values {
        if let Some(index) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    statement.raw_execute()
}

fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
