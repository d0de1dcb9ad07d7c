//! The schema in the database, made by one process at a time.

use super::{LOCKS, trouble};
use rebut_engine::store::StoreError;
use tokio_postgres::{Client, Error, types::Type};

const SCHEMA: &str = include_str!("../../migrations/postgres/schema.sql");

/// The version of that schema. A database of another version is refused.
const VERSION: i64 = 3;

/// The lock of whoever changes the schema; those of debates are not negative.
const CHANGING: i32 = -1;

/// Makes the schema where there is none, and refuses a database that has another one.
pub(super) async fn prepare(client: &Client, shown: &str) -> Result<(), StoreError> {
    let no_place = |why: String| StoreError::NoPlace {
        path: shown.to_owned(),
        why,
    };
    let failed = |error: Error| match trouble::at_first("preparing the database", &error) {
        StoreError::Failed(_) => no_place(trouble::words(&error)),
        away => away,
    };
    let encoding = client
        .query_typed("SELECT pg_catalog.getdatabaseencoding()", &[])
        .await
        .map_err(failed)?;
    let encoding: &str = encoding
        .first()
        .map(|row| row.try_get(0))
        .transpose()
        .map_err(failed)?
        .unwrap_or_default();
    if encoding != "UTF8" {
        return Err(no_place(format!(
            "its encoding is {encoding}; make one with ENCODING 'UTF8' TEMPLATE template0"
        )));
    }
    // Usually nothing is to be done: no lock, and no right to change anything is needed.
    let found = version(client).await.map_err(failed)?;
    if StoreError::refuse_schema(found, VERSION)? {
        let made = make(client).await;
        if made.is_err() {
            // The connection may be gone; then so is the transaction.
            let _ = client.batch_execute("ROLLBACK").await;
        }
        made.map_err(failed)?;
        StoreError::refuse_schema(version(client).await.map_err(failed)?, VERSION)?;
    }
    Ok(())
}

/// Makes the schema, in one transaction.
async fn make(client: &Client) -> Result<(), Error> {
    client.batch_execute("BEGIN").await?;
    client
        .execute_typed(
            "SELECT pg_advisory_xact_lock($1, $2)",
            &[(&LOCKS, Type::INT4), (&CHANGING, Type::INT4)],
        )
        .await?;
    // Another process may have come before us.
    if version(client).await? == 0 {
        // Asked for only if it is not there: even "if not exists" needs the right to make one.
        if !is_there(
            client,
            "SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'rebut'",
        )
        .await?
        {
            client.batch_execute("CREATE SCHEMA rebut").await?;
        }
        client
            .batch_execute(&format!(
                "CREATE TABLE rebut.schema_version (version BIGINT NOT NULL);
                 INSERT INTO rebut.schema_version VALUES ({VERSION})"
            ))
            .await?;
        client.batch_execute(SCHEMA).await?;
    }
    client.batch_execute("COMMIT").await
}

/// The version of the schema in the database; 0 when there is none.
async fn version(client: &Client) -> Result<i64, Error> {
    let table = "SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'rebut' AND tablename = \
        'schema_version'";
    if !is_there(client, table).await? {
        return Ok(0);
    }
    let rows = client
        .query_typed("SELECT version FROM rebut.schema_version", &[])
        .await?;
    rows.first().map_or(Ok(0), |row| row.try_get(0))
}

/// Whether a question has any answer. Asked of the catalogue itself: functions such as
/// `to_regclass` may remember what was before a lock.
async fn is_there(client: &Client, sql: &str) -> Result<bool, Error> {
    Ok(!client.query_typed(sql, &[]).await?.is_empty())
}
