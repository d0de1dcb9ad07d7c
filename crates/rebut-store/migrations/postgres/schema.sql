-- The journal: the only truth. The data is kept as the text it was hashed as, never as JSONB, which would write it anew.
CREATE TABLE events (
    debate_id UUID NOT NULL,
    seq BIGINT NOT NULL,
    ts TEXT NOT NULL,
    type TEXT NOT NULL,
    round BIGINT,
    phase TEXT,
    agent TEXT,
    data TEXT NOT NULL,
    salt BYTEA,
    digest BYTEA NOT NULL,
    prev BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (debate_id, seq)
);

CREATE TABLE checkpoints (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    debate_id UUID NOT NULL,
    count BIGINT NOT NULL,
    head BYTEA NOT NULL,
    key TEXT NOT NULL,
    signature TEXT NOT NULL
);
CREATE INDEX checkpoints_by_debate ON checkpoints (debate_id);

-- Leases: who runs a debate, until when by the clock of this database. The node is new for every process; the epoch counts how often the
-- debate was taken.
CREATE TABLE claims (
    debate_id UUID PRIMARY KEY,
    node UUID NOT NULL,
    holder TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX claims_by_node ON claims (node);

-- From here on: what is derived from the journal, for people and other tools. Columns whose text comes back to the program are JSON, which
-- keeps it as it is; `column::jsonb` has operators and indexes. Times are texts, as in the journal.
CREATE TABLE debate_sessions (
    id UUID PRIMARY KEY,
    debate_id TEXT NOT NULL,
    topic TEXT NOT NULL,
    status TEXT NOT NULL,
    topology_type TEXT NOT NULL,
    coordination_protocol TEXT NOT NULL,
    config JSON NOT NULL,
    initiated_by TEXT NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    completed_at TEXT COLLATE "C",
    total_rounds BIGINT NOT NULL,
    final_consensus_score DOUBLE PRECISION,
    outcome JSON,
    format TEXT NOT NULL,
    rehearsal BOOLEAN NOT NULL
);
CREATE INDEX debate_sessions_by_age ON debate_sessions (created_at, id);
CREATE INDEX debate_sessions_running ON debate_sessions (created_at, id) WHERE status = 'running';

CREATE TABLE debate_turns (
    id TEXT COLLATE "C" PRIMARY KEY,
    session_id UUID NOT NULL,
    round BIGINT NOT NULL,
    phase TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    agent_role TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    content TEXT NOT NULL,
    confidence DOUBLE PRECISION,
    tool_calls JSON,
    test_results JSON,
    reflections JSON,
    metadata JSONB NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    response_time_ms BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    turn TEXT NOT NULL
);
CREATE INDEX debate_turns_by_session ON debate_turns (session_id, seq);

CREATE TABLE code_versions (
    id TEXT COLLATE "C" PRIMARY KEY,
    session_id UUID NOT NULL REFERENCES debate_sessions (id),
    turn_id TEXT COLLATE "C" REFERENCES debate_turns (id),
    language TEXT NOT NULL,
    code TEXT NOT NULL,
    version_number BIGINT NOT NULL,
    quality_score DOUBLE PRECISION,
    test_pass_rate DOUBLE PRECISION,
    metrics JSON,
    diff_from_previous TEXT,
    created_at TEXT COLLATE "C" NOT NULL
);
CREATE INDEX code_versions_by_session ON code_versions (session_id, version_number);
CREATE INDEX code_versions_by_turn ON code_versions (turn_id);

CREATE TABLE debate_logs (
    id TEXT PRIMARY KEY,
    debate_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    entry JSON NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL
);
CREATE INDEX debate_logs_by_debate ON debate_logs (debate_id);

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

-- Who visits a server with a browser. What a visitor shows is not here, only what it hashes to. Times are seconds since 1970, of the node that
-- let them in.
CREATE TABLE visits (
    id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    key TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX visits_by_key ON visits (key, expires_at);
CREATE INDEX visits_by_end ON visits (expires_at);
