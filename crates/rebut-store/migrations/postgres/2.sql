-- Who wants word of events. The secret has to be here in the clear: messages are signed with it.
CREATE TABLE webhooks (
    id UUID PRIMARY KEY,
    owner TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT[] NOT NULL,
    secret TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    why_off TEXT,
    last_success_at TIMESTAMPTZ,
    last_failure_at TIMESTAMPTZ,
    last_error TEXT
);
CREATE INDEX webhooks_by_owner ON webhooks (owner, created_at);

-- What is to be sent to them, written with the event itself; the event is read from the journal when it is sent. `next_at` is when it
-- may be taken, by the clock of this database: whoever takes it moves that on. No row refers to a webhook by a key: an append must not fail
-- or wait because somebody removes one. What is left behind then is swept.
CREATE TABLE webhook_deliveries (
    webhook_id UUID NOT NULL,
    debate_id UUID NOT NULL,
    seq BIGINT NOT NULL,
    type TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    next_at TIMESTAMPTZ NOT NULL,
    settled_at TIMESTAMPTZ,
    last_error TEXT,
    PRIMARY KEY (webhook_id, debate_id, seq)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_by_debate ON webhook_deliveries (debate_id);
CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (settled_at) WHERE state <> 'waiting';

-- Debates that are gone. Whoever asks for the same one once more must not get another under its id.
CREATE TABLE removed (
    debate_id UUID PRIMARY KEY
);
