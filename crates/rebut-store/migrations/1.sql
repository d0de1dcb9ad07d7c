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
