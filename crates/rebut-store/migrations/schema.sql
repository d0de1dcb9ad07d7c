-- The journal: the only truth. Rows are only ever added at the end (n), so a commit of many debates touches few pages and
-- text never moves between pages, where a copy of it could outlive its removal. AUTOINCREMENT: numbers are not used again
-- after a removal, so "newer than n" stays a safe question.
CREATE TABLE events (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    debate_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    ts TEXT NOT NULL,
    type TEXT NOT NULL,
    round INTEGER,
    phase TEXT,
    agent TEXT,
    data TEXT NOT NULL,
    salt BLOB,
    digest BLOB NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (debate_id, seq)
);

CREATE TABLE checkpoints (
    debate_id BLOB NOT NULL,
    count INTEGER NOT NULL,
    head BLOB NOT NULL,
    key TEXT NOT NULL,
    signature TEXT NOT NULL
);
CREATE INDEX checkpoints_by_debate ON checkpoints (debate_id);

CREATE TABLE claims (
    debate_id BLOB PRIMARY KEY,
    runner TEXT NOT NULL
) WITHOUT ROWID;

-- From here on: what is derived from the journal, for people and other tools.
CREATE TABLE debate_sessions (
    id TEXT PRIMARY KEY NOT NULL,
    debate_id TEXT NOT NULL,
    topic TEXT NOT NULL,
    status TEXT NOT NULL,
    topology_type TEXT NOT NULL,
    coordination_protocol TEXT NOT NULL,
    config TEXT NOT NULL,
    initiated_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    completed_at TEXT,
    total_rounds INTEGER NOT NULL,
    final_consensus_score REAL,
    outcome TEXT,
    format TEXT NOT NULL,
    rehearsal INTEGER NOT NULL
);
CREATE INDEX debate_sessions_by_age ON debate_sessions (created_at, id);

-- The id is <debate>/<seq>: a range of it is a session, so no second index is needed.
CREATE TABLE debate_turns (
    id TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    phase TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    agent_role TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    content TEXT NOT NULL,
    confidence REAL,
    tool_calls TEXT,
    test_results TEXT,
    reflections TEXT,
    metadata TEXT NOT NULL,
    created_at TEXT NOT NULL,
    response_time_ms INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    turn TEXT NOT NULL
);

CREATE TABLE code_versions (
    id TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL REFERENCES debate_sessions (id),
    turn_id TEXT REFERENCES debate_turns (id),
    language TEXT NOT NULL,
    code TEXT NOT NULL,
    version_number INTEGER NOT NULL,
    quality_score REAL,
    test_pass_rate REAL,
    metrics TEXT,
    diff_from_previous TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX code_versions_by_session ON code_versions (session_id, version_number);
CREATE INDEX code_versions_by_turn ON code_versions (turn_id);

CREATE TABLE debate_logs (
    id TEXT PRIMARY KEY NOT NULL,
    debate_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    entry TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX debate_logs_by_debate ON debate_logs (debate_id);

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

-- Who visits a server with a browser. What a visitor shows is not here, only what it hashes to. Times are seconds since 1970.
CREATE TABLE visits (
    id TEXT PRIMARY KEY NOT NULL,
    sha256 TEXT NOT NULL,
    key TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX visits_by_key ON visits (key, expires_at);
CREATE INDEX visits_by_end ON visits (expires_at);
