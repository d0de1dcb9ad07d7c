//! One attempt to deliver a message: where it may go is checked, it is signed and posted, and the
//! status of the answer is all that is read.

use super::{
    signing::{Unusable, signature},
    ssrf_guard::{Closed, Places},
};
use crate::error::{AppError, innermost};
use rebut_engine::outbox::Secret;
use rebut_models::{
    address::OnlyPublic,
    http::{build, client_builder},
    status::retry_after_ms,
};
use reqwest::{Client, StatusCode, header};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub const ATTEMPT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Poster {
    places: Places,
    /// Its names lead to public addresses only.
    public: Client,
    listed: Client,
}

pub struct Message<'a> {
    /// The name it is known by, in every attempt.
    pub id: &'a str,
    pub body: &'a str,
    pub secret: &'a Secret,
}

/// Why a message was not taken. Holds neither the path of the address nor a secret.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotTaken {
    /// It may not be posted there.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The event cannot be read.
    #[error("the event cannot be read: {0}")]
    Unread(String),
    /// It cannot be signed.
    #[error(transparent)]
    Unsigned(#[from] Unusable),
    /// There was no answer.
    #[error("{0}")]
    NoAnswer(String),
    /// The answer was none of success.
    #[error("the receiver answered {status}")]
    Status {
        /// With this status.
        status: u16,
        /// How long it asks us to wait.
        wait: Option<Duration>,
    },
}

impl NotTaken {
    /// Whether the receiver wants nothing any more.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Status { status: 410, .. })
    }

    /// How long the receiver asks us to wait.
    pub fn wait(&self) -> Option<Duration> {
        if let Self::Status { wait, .. } = self {
            *wait
        } else {
            None
        }
    }
}

pub struct Posted {
    /// The status of a success, or why it is none.
    pub came: Result<u16, NotTaken>,
    pub within: Duration,
}

impl Poster {
    pub fn new(places: Places) -> Result<Self, AppError> {
        // Nothing is kept open: a name is looked up, and what it leads to looked at, for each
        // attempt.
        let builder = || client_builder(ATTEMPT).pool_max_idle_per_host(0);
        let failed = |fault: rebut_engine::model::Fault| AppError::failed(fault.message);
        let public = build(builder().dns_resolver(Arc::new(OnlyPublic))).map_err(failed)?;
        Ok(Self {
            places,
            public,
            listed: build(builder()).map_err(failed)?,
        })
    }

    pub fn places(&self) -> &Places {
        &self.places
    }

    pub async fn post(&self, url: &str, message: Message<'_>) -> Posted {
        let begun = Instant::now();
        let came = self.attempt(url, message).await;
        Posted {
            came,
            within: begun.elapsed(),
        }
    }

    async fn attempt(
        &self,
        url: &str,
        Message { id, body, secret }: Message<'_>,
    ) -> Result<u16, NotTaken> {
        let target = self.places.check(url)?;
        let now = jiff::Timestamp::now().as_second();
        let signed = signature(secret, id, now, body)?;
        let client = if target.is_listed {
            &self.listed
        } else {
            &self.public
        };
        let request = client
            .post(target.address.url().clone())
            .timeout(ATTEMPT)
            .header(header::CONTENT_TYPE, "application/json")
            .header(
                header::USER_AGENT,
                concat!("rebut/", env!("CARGO_PKG_VERSION")),
            )
            .header("webhook-id", id)
            .header("webhook-timestamp", now)
            .header("webhook-signature", signed)
            .body(body.to_owned());
        let answer = request
            .send()
            .await
            .map_err(|error| NotTaken::NoAnswer(why(error)))?;
        // The body of an answer is never read: it could be of any size, and says nothing to us.
        match answer.status() {
            status if status.is_success() => Ok(status.as_u16()),
            status => Err(NotTaken::Status {
                status: status.as_u16(),
                wait: asked_wait(status, answer.headers()),
            }),
        }
    }
}

/// The wait that an answer asks for, where it is one that may pass.
fn asked_wait(status: StatusCode, headers: &header::HeaderMap) -> Option<Duration> {
    let may_pass = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    retry_after_ms(headers)
        .filter(|_| may_pass)
        .map(Duration::from_millis)
}

/// Why there was no answer, without the address.
fn why(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", ATTEMPT.as_secs());
    }
    format!("no answer: {}", innermost(&error.without_url()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServerSection;
    use rebut_testkit::catcher::Catcher;
    use std::net::TcpListener;

    fn poster(hosts: &[String]) -> Poster {
        let server = ServerSection {
            webhook_hosts: hosts.to_vec(),
            ..ServerSection::default()
        };
        Poster::new(Places::of(&server)).expect("a client")
    }

    fn message(secret: &Secret) -> Message<'_> {
        Message {
            id: "evt_1",
            body: "{}",
            secret,
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_connected_to() {
        let inside = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = inside.local_addr().expect("an address").port();
        let poster = poster(&[]);
        // As a name that was public when it was checked and is not any more.
        let answer = poster
            .public
            .post(format!("https://localhost:{port}/"))
            .send()
            .await;
        assert!(why(answer.expect_err("refused")).contains("no public address"));
        // An address that is checked at every attempt, not only when it was asked for.
        let secret = super::super::signing::new_secret().expect("randomness");
        let posted = poster
            .post(&format!("https://127.0.0.1:{port}/"), message(&secret))
            .await;
        assert_eq!(
            posted.came,
            Err(NotTaken::Closed(Closed::NotPublic(format!(
                "127.0.0.1:{port}"
            ))))
        );
        inside.set_nonblocking(true).expect("a socket");
        assert_eq!(
            inside.accept().map(drop).map_err(|error| error.kind()),
            Err(std::io::ErrorKind::WouldBlock),
            "nobody came"
        );
    }

    #[tokio::test]
    async fn only_a_success_is_one_and_nothing_is_followed() {
        let secret = super::super::signing::new_secret().expect("randomness");
        for status in [200, 204, 299, 301, 302, 307, 400, 410, 429, 500] {
            let statuses: &'static [u16] = Box::leak(Box::new([status]));
            let catcher = Catcher::start(statuses);
            let place = catcher.url().trim_start_matches("http://").to_owned();
            let posted = poster(&[place])
                .post(&format!("{}/hook?token=1", catcher.url()), message(&secret))
                .await;
            let expected = if status < 300 {
                Ok(status)
            } else {
                Err(NotTaken::Status { status, wait: None })
            };
            assert_eq!(posted.came, expected);
            assert_eq!(posted.came.is_err_and(|why| why.is_gone()), status == 410);
            let caught = catcher.next();
            assert_eq!(
                (&*caught.line, &*caught.body),
                ("POST /hook?token=1 HTTP/1.1", "{}")
            );
            assert_eq!(
                (caught.header("webhook-id"), caught.header("content-type")),
                (Some("evt_1"), Some("application/json"))
            );
            assert!(catcher.rest().is_empty(), "{status}");
        }
    }
}
