//! Whether anything can be written: finds out by writing next to nothing, or, after the disk was
//! full, as much as a debate needs.

use super::link::Link;
use tokio_postgres::{Error, types::Type};
use uuid::Uuid;

/// Changes no row and is refused where nothing can be changed; its commit waits as every commit
/// does.
const SMALL: &str = "WITH none AS (UPDATE claims SET expires_at = expires_at WHERE debate_id = \
    '00000000-0000-0000-0000-000000000000')
    SELECT pg_logical_emit_message(true, 'rebut', '')";

/// Needs a new page of the table; rolled back at once.
const LARGE: &str = "INSERT INTO events (debate_id, seq, ts, type, data, digest, prev, hash)
    VALUES ('00000000-0000-0000-0000-000000000000', 0, '', '', $1, '', '', '')";

/// Ids in the large one: 64 KiB that cannot be compressed to nothing, so that no page of a table
/// has room for them by chance.
const IDS: usize = 2048;

/// Fails where nothing can be written; a large one also where there is no room.
pub(super) async fn write(link: &Link, is_large: bool) -> Result<(), Error> {
    if !is_large {
        return link.query_typed(SMALL, &[]).await.map(drop);
    }
    let text: String = (0..IDS)
        .map(|_| Uuid::new_v4().simple().to_string())
        .collect();
    link.batch_execute("BEGIN").await?;
    link.execute_typed(LARGE, &[(&text, Type::TEXT)]).await?;
    link.batch_execute("ROLLBACK").await
}
