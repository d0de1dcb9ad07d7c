//! The outbox in PostgreSQL: what is to be sent is written with the event; the rest is one
//! statement each, so that no two of them wait for each other in a circle. Every time is the
//! database's.

use super::{
    PostgresStore,
    pool::{Value, value},
    rows::{self, Bad, count, get},
    script::{Statement, held, uuid},
};
use crate::rows::int;
use rebut_engine::{
    outbox::{
        Claimed, Claiming, Deliveries, Delivery, DeliveryState, NewWebhook, Outbox, Secret,
        Settled, Webhook, message_id,
    },
    record::Record,
    store::StoreError,
};
use std::time::Duration;
use tokio_postgres::{Row, types::Type};
use uuid::Uuid;

/// Keeps events for every webhook that asks for them. To be sent after the sessions' rows.
pub(super) fn keeping<'a>(told: &[&'a Record]) -> Statement<'a> {
    let values = vec![
        value(
            told.iter()
                .map(|record| uuid(record.debate))
                .collect::<Vec<_>>(),
            Type::UUID_ARRAY,
        ),
        value(
            told.iter()
                .map(|record| int(record.seq))
                .collect::<Vec<_>>(),
            Type::INT8_ARRAY,
        ),
        value(
            told.iter().map(|record| &*record.kind).collect::<Vec<_>>(),
            Type::TEXT_ARRAY,
        ),
    ];
    let sql = "INSERT INTO webhook_deliveries (webhook_id, debate_id, seq, type, state, attempts, \
        created_at, next_at)
        SELECT webhooks.id, told.debate_id, told.seq, told.type, 'waiting', 0, now(), now()
        FROM unnest($1, $2, $3) AS told (debate_id, seq, type)
            JOIN debate_sessions ON debate_sessions.id = told.debate_id
            JOIN webhooks ON webhooks.owner = debate_sessions.initiated_by
        WHERE webhooks.why_off IS NULL AND told.type = ANY (webhooks.events)";
    Statement {
        sql: sql.into(),
        values,
    }
}

/// A time as a reader has it.
macro_rules! shown {
    ($time:literal) => {
        concat!(
            "to_char(",
            $time,
            " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
        )
    };
}

const WEBHOOK: &str = concat!(
    "id, url, events, ",
    shown!("created_at"),
    ", why_off, ",
    shown!("last_success_at"),
    ", ",
    shown!("last_failure_at"),
    ", last_error"
);

const DELIVERIES: &str = concat!(
    "SELECT debate_id, seq, type, state, attempts, ",
    shown!("webhook_deliveries.created_at"),
    ", ",
    shown!("next_at"),
    ", webhook_deliveries.last_error FROM webhook_deliveries JOIN webhooks ON webhooks.id = \
     webhook_id
     WHERE owner = $1 AND webhook_id = $2 AND ($3 IS NULL OR state = $3)
     ORDER BY webhook_deliveries.created_at DESC, debate_id DESC, seq DESC LIMIT $4"
);

/// Two nodes that look at the same moment see the same rows; whoever locks one first has it, and
/// the other finds it moved on.
const CLAIM: &str = "WITH due AS (
        SELECT id, url, secret FROM webhooks
            CROSS JOIN LATERAL (SELECT min(next_at) AS first FROM webhook_deliveries WHERE webhook_id = id AND state = 'waiting') AS waiting
        WHERE why_off IS NULL AND id <> ALL ($1) AND first <= now() ORDER BY first LIMIT $2
    ), taken AS (
        SELECT due.url, due.secret, one.* FROM due CROSS JOIN LATERAL (
            SELECT webhook_id, debate_id, seq FROM webhook_deliveries WHERE webhook_id = due.id AND state = 'waiting' AND next_at <= now()
            ORDER BY next_at, debate_id, seq LIMIT $3 FOR UPDATE SKIP LOCKED) AS one
    )
    UPDATE webhook_deliveries AS sent SET attempts = sent.attempts + 1, next_at = now() + make_interval(secs => $4)
    FROM taken WHERE sent.webhook_id = taken.webhook_id AND sent.debate_id = taken.debate_id AND sent.seq = taken.seq
    RETURNING sent.webhook_id, taken.url, taken.secret, sent.debate_id, sent.seq, sent.attempts";

#[async_trait::async_trait]
impl Outbox for PostgresStore {
    async fn add_webhook(
        &self,
        new: NewWebhook,
        most: usize,
    ) -> Result<Option<Webhook>, StoreError> {
        // Two who add at the same moment may both find room: a limit for order, not for safety.
        let sql = format!(
            "INSERT INTO webhooks (id, owner, url, events, secret, created_at) SELECT $1, $2, $3, \
             $4, $5, now()
             WHERE (SELECT count(*) FROM webhooks WHERE owner = $2) < $6 RETURNING {WEBHOOK}"
        );
        let values = [
            value(Uuid::new_v4(), Type::UUID),
            value(held(&new.owner), Type::TEXT),
            value(&*new.url, Type::TEXT),
            value(&*new.events, Type::TEXT_ARRAY),
            value(new.secret.reveal(), Type::TEXT),
            value(int(most as u64), Type::INT8),
        ];
        Ok(read_all(&self.pool.change(&sql, &values).await?, webhook)?.pop())
    }

    async fn webhooks(&self, owner: Option<&str>) -> Result<Vec<Webhook>, StoreError> {
        let sql = format!(
            "SELECT {WEBHOOK} FROM webhooks WHERE $1 IS NULL OR owner = $1 ORDER BY \
             webhooks.created_at, id"
        );
        self.all(&sql, &[value(owner.map(held), Type::TEXT)], webhook)
            .await
    }

    async fn webhook_secret(&self, owner: &str, id: &str) -> Result<Option<Secret>, StoreError> {
        let Some(of) = of_owner(owner, id) else {
            return Ok(None);
        };
        let found = self
            .all(
                "SELECT secret FROM webhooks WHERE owner = $1 AND id = $2",
                &of,
                |row| get::<String>(row, 0),
            )
            .await?;
        Ok(found.into_iter().next().map(Secret::new))
    }

    async fn replace_webhook(
        &self,
        owner: &str,
        id: &str,
        url: &str,
        events: &[String],
    ) -> Result<bool, StoreError> {
        let Some(of) = of_owner(owner, id) else {
            return Ok(false);
        };
        let sql = "UPDATE webhooks SET url = $3, events = $4, why_off = NULL WHERE owner = $1 AND \
            id = $2 RETURNING 1";
        let values: Vec<Value<'_>> = of
            .into_iter()
            .chain([value(url, Type::TEXT), value(events, Type::TEXT_ARRAY)])
            .collect();
        Ok(!self.pool.change(sql, &values).await?.is_empty())
    }

    async fn remove_webhook(&self, owner: &str, id: &str) -> Result<bool, StoreError> {
        let Some(of) = of_owner(owner, id) else {
            return Ok(false);
        };
        let is_gone = !self
            .pool
            .change(
                "DELETE FROM webhooks WHERE owner = $1 AND id = $2 RETURNING 1",
                &of,
            )
            .await?
            .is_empty();
        if is_gone {
            // Nobody is given them any more; what an append adds at this very moment is swept
            // later.
            self.pool
                .change("DELETE FROM webhook_deliveries WHERE webhook_id = $2", &of)
                .await?;
        }
        Ok(is_gone)
    }

    async fn deliveries(
        &self,
        owner: &str,
        id: &str,
        filter: Deliveries,
    ) -> Result<Vec<Delivery>, StoreError> {
        let Some(of) = of_owner(owner, id) else {
            return Ok(Vec::new());
        };
        let state = filter.state.map(DeliveryState::as_str);
        let values: Vec<Value<'_>> = of
            .into_iter()
            .chain([
                value(state, Type::TEXT),
                value(int(filter.limit as u64), Type::INT8),
            ])
            .collect();
        self.all(DELIVERIES, &values, delivery).await
    }

    async fn claim_deliveries(&self, asked: &Claiming) -> Result<Vec<Claimed>, StoreError> {
        let except: Vec<Uuid> = asked
            .except
            .iter()
            .filter_map(|id| Uuid::parse_str(id).ok())
            .collect();
        let values = [
            value(except, Type::UUID_ARRAY),
            value(int(asked.webhooks as u64), Type::INT8),
            value(int(asked.each as u64), Type::INT8),
            value(asked.lease.as_secs_f64(), Type::FLOAT8),
        ];
        read_all(&self.pool.change(CLAIM, &values).await?, claimed)
    }

    async fn settle_delivery(&self, claimed: &Claimed, came: &Settled) -> Result<(), StoreError> {
        let Ok(webhook) = Uuid::parse_str(&claimed.webhook) else {
            return Ok(());
        };
        let (why, wait) = match came {
            Settled::Delivered => ("", None),
            Settled::Failed { why, again } => (why.as_str(), *again),
            Settled::Gone { why } => (why.as_str(), None),
        };
        let values = [
            value(webhook, Type::UUID),
            value(held(why), Type::TEXT),
            value(uuid(claimed.debate), Type::UUID),
            value(int(claimed.seq), Type::INT8),
            value(i64::from(claimed.attempt), Type::INT8),
            value(wait.unwrap_or_default().as_secs_f64(), Type::FLOAT8),
        ];
        let of_delivery = match came {
            Settled::Delivered => "state = 'delivered', settled_at = now() WHERE true",
            Settled::Failed { again: Some(_), .. } => {
                "last_error = $2, next_at = now() + make_interval(secs => $6) WHERE attempts = $5"
            }
            _ => "last_error = $2, state = 'given_up', settled_at = now() WHERE attempts = $5",
        };
        let of = "webhook_id = $1 AND debate_id = $3 AND seq = $4 AND state = 'waiting'";
        let sql = format!("UPDATE webhook_deliveries SET {of_delivery} AND {of} RETURNING 1");
        if self.pool.change(&sql, &values).await?.is_empty() {
            return Ok(());
        }
        let of_webhook: &[&str] = match came {
            Settled::Delivered => &["UPDATE webhooks SET last_success_at = now() WHERE id = $1"],
            Settled::Failed { .. } => {
                &["UPDATE webhooks SET last_failure_at = now(), last_error = $2 WHERE id = $1"]
            }
            Settled::Gone { .. } => &[
                "UPDATE webhooks SET last_failure_at = now(), last_error = $2, why_off = $2 WHERE \
                 id = $1",
                "UPDATE webhook_deliveries SET last_error = $2, state = 'given_up', settled_at = \
                 now() WHERE webhook_id = $1 AND state = 'waiting'",
            ],
        };
        for sql in of_webhook {
            self.pool.change(sql, &values).await?;
        }
        Ok(())
    }

    async fn waiting_deliveries(&self) -> Result<u64, StoreError> {
        let found = self
            .all(
                "SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'",
                &[],
                |row| count(row, 0),
            )
            .await?;
        Ok(found.first().copied().unwrap_or(0))
    }

    async fn sweep_deliveries(&self, older: Duration) -> Result<(), StoreError> {
        let sql = "DELETE FROM webhook_deliveries WHERE (state <> 'waiting' AND settled_at <= \
            now() - make_interval(secs => $1))
            OR NOT EXISTS (SELECT FROM webhooks WHERE webhooks.id = webhook_id)";
        self.pool
            .change(sql, &[value(older.as_secs_f64(), Type::FLOAT8)])
            .await
            .map(drop)
    }
}

impl PostgresStore {
    /// Asks and reads every row of the answer.
    async fn all<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl Fn(&Row) -> Result<T, Bad>,
    ) -> Result<Vec<T>, StoreError> {
        read_all(&self.pool.ask(sql, values).await?, read)
    }
}

fn read_all<T>(rows: &[Row], read: impl Fn(&Row) -> Result<T, Bad>) -> Result<Vec<T>, StoreError> {
    let failed = |why| StoreError::Failed(format!("reading the outbox: {why}"));
    rows.iter().map(|row| read(row).map_err(failed)).collect()
}

/// Owner and webhook as values; nothing where the text is no id, so that there is no such webhook.
fn of_owner<'a>(owner: &'a str, id: &str) -> Option<[Value<'a>; 2]> {
    let id = Uuid::parse_str(id)
        .ok()
        .filter(|parsed| parsed.to_string() == id)?;
    Some([value(held(owner), Type::TEXT), value(id, Type::UUID)])
}

fn webhook(row: &Row) -> Result<Webhook, Bad> {
    Ok(Webhook {
        id: get::<Uuid>(row, 0)?.to_string(),
        url: get(row, 1)?,
        events: get(row, 2)?,
        created_at: get(row, 3)?,
        why_off: get(row, 4)?,
        last_success_at: get(row, 5)?,
        last_failure_at: get(row, 6)?,
        last_error: get(row, 7)?,
    })
}

fn delivery(row: &Row) -> Result<Delivery, Bad> {
    let (debate, seq) = (rows::debate(get(row, 0)?), count(row, 1)?);
    let state: &str = get(row, 3)?;
    let state = DeliveryState::parse(state).ok_or_else(|| format!("unknown state `{state}`"))?;
    Ok(Delivery {
        id: message_id(debate, seq),
        debate_id: debate,
        seq,
        kind: get(row, 2)?,
        state,
        attempts: count(row, 4)?,
        created_at: get(row, 5)?,
        next_at: (state == DeliveryState::Waiting)
            .then(|| get(row, 6))
            .transpose()?,
        last_error: get(row, 7)?,
    })
}

fn claimed(row: &Row) -> Result<Claimed, Bad> {
    Ok(Claimed {
        webhook: get::<Uuid>(row, 0)?.to_string(),
        url: get(row, 1)?,
        secret: Secret::new(get(row, 2)?),
        debate: rows::debate(get(row, 3)?),
        seq: count(row, 4)?,
        attempt: count(row, 5)?,
    })
}
