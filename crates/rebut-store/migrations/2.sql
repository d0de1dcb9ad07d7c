-- Who wants word of events. The secret has to be here in the clear: messages are signed with it.
CREATE TABLE webhooks (
    id TEXT PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    secret TEXT NOT NULL,
    created_at TEXT NOT NULL,
    why_off TEXT,
    last_success_at TEXT,
    last_failure_at TEXT,
    last_error TEXT
);
CREATE INDEX webhooks_by_owner ON webhooks (owner, created_at);

-- What is to be sent to them, written with the event itself; the event is read from the journal when it is sent. `next_at` is when it
-- may be taken: whoever takes it moves that on.
CREATE TABLE webhook_deliveries (
    webhook_id TEXT NOT NULL,
    debate_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    next_at TEXT NOT NULL,
    settled_at TEXT,
    last_error TEXT,
    PRIMARY KEY (webhook_id, debate_id, seq)
) WITHOUT ROWID;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_by_debate ON webhook_deliveries (debate_id);
CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (settled_at) WHERE state <> 'waiting';

-- Debates that are gone. Whoever asks for the same one once more must not get another under its id.
CREATE TABLE removed (
    debate_id BLOB PRIMARY KEY NOT NULL
) WITHOUT ROWID;
