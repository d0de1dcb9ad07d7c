//! Where the database is, and the way to it. The password in it is never shown.

use super::{link::Link, server::Leading, trouble};
use rebut_engine::store::StoreError;
use rustls_platform_verifier::BuilderVerifierExt;
use std::{future::poll_fn, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc::UnboundedSender,
    time::timeout,
};
use tokio_postgres::{
    AsyncMessage, Config, Connection, NoTls, Notification,
    config::{Host, LoadBalanceHosts, SslMode},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Longest time to make a connection, and to hear of one that is silent, unless the URL says
/// another.
const CONNECT: Duration = Duration::from_secs(10);

/// Everything of ours is in one schema, beside whatever else the database holds. Nothing waits for
/// ever; a node that stops in the middle of a transaction must not keep the others waiting.
/// Whatever is acknowledged is on the disk, and at the synchronous standby where there is one; a
/// server that is set to more keeps that.
const SETTINGS: &str = "SET search_path = rebut; SET client_min_messages = warning; SET \
    statement_timeout = '30s'; SET lock_timeout = '10s'; \
                        SET idle_in_transaction_session_timeout = '10s'; \
                        SELECT set_config('synchronous_commit', 'on', false) WHERE \
                        current_setting('synchronous_commit') <> 'remote_apply'";

const MEANT: &str = "it is written postgres://USER:PASSWORD@HOST:PORT/NAME, and special characters \
    in it as % and two digits (`@` is `%40`)";

#[derive(Clone)]
pub(super) struct Address {
    /// One for each host of the URL, in the order in which they are tried.
    hosts: Vec<Config>,
    /// How long each of them may take.
    patience: Duration,
    shown: String,
    tls: Option<MakeRustlsConnect>,
    leading: Leading,
}

impl Address {
    /// Reads the URL. `sslmode=require` asks for TLS with a certificate that this machine trusts.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let mut config = read(url)
            .ok_or_else(|| no_place(HIDDEN, &format!("its URL cannot be read: {MEANT}")))?;
        let shown = show(&config);
        if config.get_hosts().is_empty() {
            return Err(no_place(&shown, &format!("the URL names no host: {MEANT}")));
        }
        set_defaults(&mut config, url);
        let tls = match config.get_ssl_mode() {
            SslMode::Require => Some(
                trusting_this_machine()
                    .map_err(|error| no_place(&shown, &format!("TLS: {error}")))?,
            ),
            _ => None,
        };
        let hosts: Vec<Config> = (0..config.get_hosts().len())
            .map(|at| only(&config, at))
            .collect();
        // As everywhere with PostgreSQL, a time in the URL is for each host; ours is for all of
        // them together.
        let patience = config
            .get_connect_timeout()
            .copied()
            .unwrap_or(CONNECT / u32::try_from(hosts.len()).unwrap_or(u32::MAX));
        Ok(Self {
            hosts,
            patience,
            shown,
            tls,
            leading: Leading::default(),
        })
    }

    /// The URL for people: who and where, no password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The first connection: whatever refuses it says that the address is wrong.
    pub(super) async fn connect(&self) -> Result<Link, StoreError> {
        self.open(None).await
    }

    /// A further connection: the place was the right one, so that whatever refuses it now may let
    /// it in again. A backup that is restored drops the database before it makes it anew.
    pub(super) async fn reconnect(&self) -> Result<Link, StoreError> {
        self.open(None).await.map_err(|error| match error {
            StoreError::NoPlace { path, why } => {
                StoreError::Unavailable(format!("connecting to {path}: {why}"))
            }
            away => away,
        })
    }

    /// A new connection whose notifications are sent on. The channel closes when it breaks.
    pub(super) async fn connect_and_hear(
        &self,
        heard: UnboundedSender<Notification>,
    ) -> Result<Link, StoreError> {
        self.open(Some(heard)).await
    }

    /// Tries one host after the other, each for its share of the time: one that is silent leaves
    /// the others theirs.
    async fn open(&self, heard: Option<UnboundedSender<Notification>>) -> Result<Link, StoreError> {
        let mut why: Option<StoreError> = None;
        for host in self.in_order() {
            match self.open_at(host, heard.clone()).await {
                Ok(link) => return Ok(link),
                // One that may be back is worth more words than one that refuses: it may be the
                // right one.
                Err(error)
                    if matches!(why, Some(StoreError::Unavailable(_)))
                        && !matches!(error, StoreError::Unavailable(_)) => {}
                Err(error) => why = Some(error),
            }
        }
        Err(why.unwrap_or_else(|| trouble::silent(&format!("connecting to {}", self.shown))))
    }

    fn in_order(&self) -> Vec<&Config> {
        let mut hosts: Vec<&Config> = self.hosts.iter().collect();
        if self.hosts[0].get_load_balance_hosts() == LoadBalanceHosts::Random {
            // Any chance will do; ids have enough of it.
            let first = uuid::Uuid::new_v4().as_u128() % hosts.len() as u128;
            hosts.rotate_left(usize::try_from(first).unwrap_or_default());
        }
        hosts
    }

    async fn open_at(
        &self,
        host: &Config,
        heard: Option<UnboundedSender<Notification>>,
    ) -> Result<Link, StoreError> {
        let connecting = async {
            let client = match &self.tls {
                Some(tls) => host
                    .connect(tls.clone())
                    .await
                    .map(|(client, connection)| {
                        drive(connection, heard);
                        client
                    })?,
                None => host.connect(NoTls).await.map(|(client, connection)| {
                    drive(connection, heard);
                    client
                })?,
            };
            Link::new(client, SETTINGS, &self.leading).await
        };
        let doing = format!("connecting to {}", show(host));
        match timeout(self.patience, connecting).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(error)) => Err(match trouble::at_first(&doing, &error) {
                StoreError::Failed(_) => no_place(&self.shown, &trouble::words(&error)),
                away => away,
            }),
            Err(_) => Err(trouble::silent(&doing)),
        }
    }
}

/// What the URL does not say.
fn set_defaults(config: &mut Config, url: &str) {
    let says = |key: &str| {
        url.split_once('?').is_some_and(|(_, rest)| {
            rest.split('&')
                .any(|pair| pair.starts_with(&format!("{key}=")))
        })
    };
    if !says("keepalives_idle") {
        config.keepalives_idle(CONNECT);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(CONNECT);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(3);
    }
    if config.get_application_name().is_none() {
        config.application_name("rebut");
    }
}

/// The same with one of its hosts only.
fn only(config: &Config, at: usize) -> Config {
    let mut one = Config::new();
    match &config.get_hosts()[at] {
        Host::Tcp(name) => one.host(name),
        #[cfg(unix)]
        Host::Unix(path) => one.host_path(path),
    };
    // One port may be meant for all.
    if let Some(port) = config.get_ports().get(at).or(config.get_ports().first()) {
        one.port(*port);
    }
    if let Some(address) = config.get_hostaddrs().get(at) {
        one.hostaddr(*address);
    }
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(time) = config.get_connect_timeout() {
        one.connect_timeout(*time);
    }
    if let Some(time) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*time);
    }
    if let Some(time) = config.get_keepalives_interval() {
        one.keepalives_interval(time);
    }
    if let Some(times) = config.get_keepalives_retries() {
        one.keepalives_retries(times);
    }
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle());
    one.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding());
    one.target_session_attrs(config.get_target_session_attrs())
        .load_balance_hosts(config.get_load_balance_hosts());
    one
}

/// A URL for people: who and where, no password. One that cannot be read is not shown at all: any
/// part of it may be the password.
pub fn shown(url: &str) -> String {
    read(url).map_or_else(|| HIDDEN.to_owned(), |config| show(&config))
}

/// The password in a URL, for whoever keeps it out of sight.
pub fn password(url: &str) -> Option<String> {
    read(url)?
        .get_password()
        .map(|password| String::from_utf8_lossy(password).into_owned())
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
    let config: Config = url
        .replace("sslmode=verify-full", "sslmode=require")
        .parse()
        .ok()?;
    // An `@` further on means that the password held one, and that a part of it was taken for
    // something else.
    let is_clear = |text: &str| !text.contains('@');
    (config
        .get_hosts()
        .iter()
        .all(|host| is_clear(&host_text(host)))
        && config.get_dbname().is_none_or(is_clear))
    .then_some(config)
}

fn show(config: &Config) -> String {
    let user = config
        .get_user()
        .map(|user| format!("{user}@"))
        .unwrap_or_default();
    let port = |at: usize| {
        config
            .get_ports()
            .get(at)
            .or(config.get_ports().first())
            .map(|port| format!(":{port}"))
            .unwrap_or_default()
    };
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| host_text(host) + &port(at))
        .collect();
    let shown = format!(
        "postgres://{user}{}/{}",
        hosts.join(","),
        config.get_dbname().unwrap_or_default()
    );
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
    StoreError::NoPlace {
        path: shown.to_owned(),
        why: why.to_owned(),
    }
}

fn trusting_this_machine() -> Result<MakeRustlsConnect, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?;
    Ok(MakeRustlsConnect::new(
        builder.with_platform_verifier()?.with_no_client_auth(),
    ))
}

/// Moves the connection's bytes until it ends. Whoever waits for an answer is told of a failure
/// there.
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
            (
                "postgres://ada:s3cret@db.example:5433/debates",
                "postgres://ada@db.example:5433/debates",
            ),
            (
                "postgresql://ada:s3cret@one,two/debates?sslmode=verify-full",
                "postgres://ada@one:5432,two:5432/debates",
            ),
            (
                "postgres://ada@db/x?password=s3cret&application_name=s3cret",
                "postgres://ada@db:5432/x",
            ),
            ("postgres://ada:s3/c?ret@db/x", "postgres://ada@db:5432/x"),
            ("postgres://ada:x@s3cret@db/x", HIDDEN),
            ("postgres://ada:x@a/s3cret@db/x", HIDDEN),
            ("postgres://ada:pw@db:s3cret/x", HIDDEN),
            ("postgres://ada:pw@db/x?s3cret", HIDDEN),
            ("host=db password=s3cret", HIDDEN),
        ];
        for (url, expected) in rows {
            assert_eq!(shown(url), expected, "{url}");
            let error = Address::parse(url)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert!(!error.contains("s3cret"), "{url}: {error}");
            assert_eq!(error.is_empty(), expected != HIDDEN, "{url}: {error}");
        }
    }

    #[test]
    fn the_url_s_own_settings_hold() {
        let seconds = Duration::from_secs;
        // The time for each host, and the keepalive: how long after the last word, how often, how
        // many times.
        let rows = [
            (
                "postgres://db/x",
                seconds(10),
                (seconds(10), seconds(10), 3),
            ),
            (
                "postgres://one,two/x",
                seconds(5),
                (seconds(10), seconds(10), 3),
            ),
            (
                "postgres://one,two/x?connect_timeout=3",
                seconds(3),
                (seconds(10), seconds(10), 3),
            ),
            (
                "postgres://db/x?connect_timeout=60",
                seconds(60),
                (seconds(10), seconds(10), 3),
            ),
            (
                "postgres://db/x?keepalives_idle=7200&keepalives_interval=4&keepalives_retries=9",
                seconds(10),
                (seconds(7200), seconds(4), 9),
            ),
        ];
        for (url, patience, keepalive) in rows {
            let address = Address::parse(url).expect(url);
            assert_eq!(address.patience, patience, "{url}");
            for host in &address.hosts {
                let found = (
                    host.get_keepalives_idle(),
                    host.get_keepalives_interval(),
                    host.get_keepalives_retries(),
                );
                assert_eq!(
                    found,
                    (keepalive.0, Some(keepalive.1), Some(keepalive.2)),
                    "{url}"
                );
            }
        }
    }

    #[test]
    fn each_host_has_everything_but_the_other_hosts() {
        let url = "postgres://ada:pw@one:1,two:2,%2Frun%2Fpg:3/x?hostaddr=10.0.0.1,10.0.0.2,10.0.0.3&options=-c%20a%3Db&application_name=me&connect_timeout=7\
                   &tcp_user_timeout=8&keepalives=0&keepalives_idle=9&keepalives_interval=10&keepalives_retries=11&target_session_attrs=read-write\
                   &channel_binding=disable&load_balance_hosts=random&sslmode=prefer&sslnegotiation=postgres";
        let whole = read(url).expect("a URL");
        let hosts = Address::parse(url).expect("a URL").hosts;
        let mut together = Config::new();
        for (at, host) in hosts.iter().enumerate() {
            assert_eq!(
                (host.get_hosts().len(), host.get_ports()),
                (1, &[at as u16 + 1][..])
            );
            // What is common to all, with the hosts of all, is the whole again.
            let mut rest = host.clone();
            if at == 0 {
                together = std::mem::take(&mut rest);
                continue;
            }
            match &host.get_hosts()[0] {
                Host::Tcp(name) => together.host(name),
                Host::Unix(path) => together.host_path(path),
            };
            together
                .port(host.get_ports()[0])
                .hostaddr(host.get_hostaddrs()[0]);
        }
        assert_eq!(together, whole);
    }

    #[tokio::test]
    async fn a_silent_host_leaves_the_others_their_time() {
        // One takes connections and says nothing; the other hangs up, which is an answer.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let other = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let ports =
            [&silent, &other].map(|listener| listener.local_addr().expect("an address").port());
        let url = format!(
            "postgres://ada@127.0.0.1:{},127.0.0.1:{}/x?connect_timeout=1",
            ports[0], ports[1]
        );
        let address = Address::parse(&url).expect("a URL");
        let (tried, connected) = tokio::join!(other.accept(), address.connect());
        drop(tried.expect("the second host is tried"));
        assert!(
            matches!(connected, Err(StoreError::Unavailable(_))),
            "nobody there is a server"
        );
    }
}
