-- Who visits a server with a browser. What a visitor shows is not here, only what it hashes to. Times are seconds since 1970.
CREATE TABLE visits (
    id TEXT PRIMARY KEY NOT NULL,
    sha256 TEXT NOT NULL,
    key TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX visits_by_key ON visits (key, expires_at);
CREATE INDEX visits_by_end ON visits (expires_at);
