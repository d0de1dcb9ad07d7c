//! Where the database is, and the way to it. The password in it is never shown.

use super::trouble;
use rebut_engine::store::StoreError;
use rustls_platform_verifier::BuilderVerifierExt;
use std::{future::poll_fn, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc::UnboundedSender,
    time::timeout,
};
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, NoTls, Notification,
    config::{Host, SslMode},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Longest time to make a connection, and to hear of one that is silent.
const CONNECT: Duration = Duration::from_secs(10);

/// Everything of ours is in one schema, beside whatever else the database holds. Nothing waits for ever; a node that stops in the middle of a
/// transaction must not keep the others waiting.
const SETTINGS: &str = "SET search_path = rebut; SET client_min_messages = warning; SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
                        SET idle_in_transaction_session_timeout = '10s'";

const MEANT: &str =
    "it is written postgres://USER:PASSWORD@HOST:PORT/NAME, and special characters in it as % and two digits (`@` is `%40`)";

/// A database, by its URL.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    shown: String,
    tls: Option<MakeRustlsConnect>,
}

impl Address {
    /// Reads the URL. `sslmode=require` asks for TLS with a certificate that this machine trusts.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let mut config = read(url).ok_or_else(|| no_place(HIDDEN, &format!("its URL cannot be read: {MEANT}")))?;
        let shown = show(&config);
        if config.get_hosts().is_empty() {
            return Err(no_place(&shown, &format!("the URL names no host: {MEANT}")));
        }
        config.connect_timeout(CONNECT).keepalives_idle(CONNECT).keepalives_interval(CONNECT).keepalives_retries(3);
        if config.get_application_name().is_none() {
            config.application_name("rebut");
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Require => Some(trusting_this_machine().map_err(|error| no_place(&shown, &format!("TLS: {error}")))?),
            _ => None,
        };
        Ok(Self { config, shown, tls })
    }

    /// The URL for people: who and where, no password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// A new connection.
    pub(super) async fn connect(&self) -> Result<Client, StoreError> {
        self.open(None).await
    }

    /// A new connection whose notifications are sent on. The channel closes when it breaks.
    pub(super) async fn connect_and_hear(&self, heard: UnboundedSender<Notification>) -> Result<Client, StoreError> {
        self.open(Some(heard)).await
    }

    async fn open(&self, heard: Option<UnboundedSender<Notification>>) -> Result<Client, StoreError> {
        let connecting = async {
            let client = match &self.tls {
                Some(tls) => self.config.connect(tls.clone()).await.map(|(client, connection)| {
                    drive(connection, heard);
                    client
                })?,
                None => self.config.connect(NoTls).await.map(|(client, connection)| {
                    drive(connection, heard);
                    client
                })?,
            };
            client.batch_execute(SETTINGS).await?;
            Ok(client)
        };
        let doing = format!("connecting to {}", self.shown);
        match timeout(CONNECT, connecting).await {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(match trouble::of(&doing, &error) {
                StoreError::Failed(_) => no_place(&self.shown, &trouble::words(&error)),
                away => away,
            }),
            Err(_) => Err(trouble::silent(&doing)),
        }
    }
}

/// A URL for people: who and where, no password. One that cannot be read is not shown at all: any part of it may be the password.
pub fn shown(url: &str) -> String {
    read(url).map_or_else(|| HIDDEN.to_owned(), |config| show(&config))
}

/// The password in a URL, for whoever keeps it out of sight.
pub fn password(url: &str) -> Option<String> {
    read(url)?.get_password().map(|password| String::from_utf8_lossy(password).into_owned())
}

/// Whether a text is the URL of a PostgreSQL database.
pub fn is_url(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const HIDDEN: &str = "postgres://…";

fn read(url: &str) -> Option<Config> {
    if !is_url(url) {
        return None;
    }
    // We verify whenever we encrypt.
    let config: Config = url.replace("sslmode=verify-full", "sslmode=require").parse().ok()?;
    // An `@` further on means that the password held one, and that a part of it was taken for something else.
    let is_clear = |text: &str| !text.contains('@');
    (config.get_hosts().iter().all(|host| is_clear(&host_text(host))) && config.get_dbname().is_none_or(is_clear)).then_some(config)
}

fn show(config: &Config) -> String {
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let port = |at: usize| config.get_ports().get(at).or(config.get_ports().first()).map(|port| format!(":{port}")).unwrap_or_default();
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(|(at, host)| host_text(host) + &port(at)).collect();
    let shown = format!("postgres://{user}{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default());
    rebut_engine::clean::on_one_line(&shown)
}

fn host_text(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    }
}

fn no_place(shown: &str, why: &str) -> StoreError {
    StoreError::NoPlace { path: shown.to_owned(), why: why.to_owned() }
}

fn trusting_this_machine() -> Result<MakeRustlsConnect, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(MakeRustlsConnect::new(builder.with_platform_verifier()?.with_no_client_auth()))
}

/// Moves the connection's bytes until it ends. Whoever waits for an answer is told of a failure there.
fn drive<S, T>(mut connection: Connection<S, T>, heard: Option<UnboundedSender<Notification>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let (AsyncMessage::Notification(news), Some(heard)) = (message, &heard) {
                // Nobody listens any more: the client is gone too, and ends the connection.
                let _ = heard.send(news);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_ever_shown() {
        let rows = [
            ("postgres://ada:s3cret@db.example:5433/debates", "postgres://ada@db.example:5433/debates"),
            ("postgresql://ada:s3cret@one,two/debates?sslmode=verify-full", "postgres://ada@one:5432,two:5432/debates"),
            ("postgres://ada@db/x?password=s3cret&application_name=s3cret", "postgres://ada@db:5432/x"),
            ("postgres://ada:s3/c?ret@db/x", "postgres://ada@db:5432/x"),
            ("postgres://ada:x@s3cret@db/x", HIDDEN),
            ("postgres://ada:x@a/s3cret@db/x", HIDDEN),
            ("postgres://ada:pw@db:s3cret/x", HIDDEN),
            ("postgres://ada:pw@db/x?s3cret", HIDDEN),
            ("host=db password=s3cret", HIDDEN),
        ];
        for (url, expected) in rows {
            assert_eq!(shown(url), expected, "{url}");
            let error = Address::parse(url).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!error.contains("s3cret"), "{url}: {error}");
            assert_eq!(error.is_empty(), expected != HIDDEN, "{url}: {error}");
        }
    }
}
