//! A server in its house: a desk over memory with scripted models, two owners with a key of each
//! role, a front.

use crate::wire::{Answer, Connection, request, send};
use rebut_app::request::DebateRequest;
use rebut_engine::{
    DebateId, Desk, DeskOptions, More, Start,
    agent::Agent,
    debate::Debate,
    error::Stop,
    event::Limits,
    formats::{FORMATS, Format, Run},
    gate::Shown,
    memory_store::MemoryStore,
    model::{Answer as Said, Fault, Model, Models, Request},
    observer::Observer,
    outcome::Outcome,
    seal::Seal,
    store::Store,
};
use rebut_server::{
    Metrics, Server, Settings,
    keys::{Key, Keys, Role, digest},
    resolver::{DebateResolver, FormatCard, Inbox, NotTaken, PersonaCard, Refusal, TurnRequest},
    serve,
};
use rebut_testkit::{cases::Case, clock::AheadClock};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
    task::JoinHandle,
};

/// The formats of the house: decide as it is, and decide behind a gate.
const ALL: &[Format] = &[
    FORMATS[0],
    Format {
        name: "gated",
        run: |debate| -> Run<'_> { Box::pin(gated(debate)) },
        ..FORMATS[0]
    },
];

async fn gated(debate: &Debate) -> Result<Outcome, Stop> {
    let outcome = (FORMATS[0].run)(debate).await?;
    debate
        .gate(
            "release",
            Shown::words("ship it?"),
            Some(Duration::from_secs(1800)),
        )
        .await?;
    Ok(outcome)
}

/// A server that runs.
pub struct House {
    pub at: SocketAddr,
    pub desk: Desk,
    pub clock: Arc<AheadClock>,
    pub inbox: Arc<Waiting>,
    pub keys: Keys,
    stop: Option<oneshot::Sender<()>>,
    drained: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

struct Everybody(Arc<dyn Model>);

impl Models for Everybody {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

/// A model that says nothing before it is told to.
struct Held {
    model: Arc<dyn Model>,
    speak: watch::Receiver<bool>,
}

#[async_trait::async_trait]
impl Model for Held {
    async fn ask(&self, request: Request<'_>) -> Result<Said, Fault> {
        self.speak
            .clone()
            .wait_for(|speak| *speak)
            .await
            .expect("somebody tells it to");
        self.model.ask(request).await
    }
}

/// A case of decide.
pub fn case(name: &str) -> Case {
    Case::read(
        &Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../rebut-engine/tests/cases/decide"
        ))
        .join(name),
    )
}

/// The public key of the house's seal.
pub fn seal() -> Seal {
    Seal::from_secret(&[7; 32])
}

impl House {
    /// A house where everybody agrees.
    pub async fn open() -> Self {
        Self::with("unanimous", Settings::default()).await
    }

    /// A house where models follow that case.
    pub async fn with(name: &str, settings: Settings) -> Self {
        let case = case(name);
        Self::of(
            Start {
                initiated_by: String::new(),
                ..case.start.clone()
            },
            case.model(),
            settings,
        )
        .await
    }

    /// A house where nobody speaks before that is set to true: so somebody can watch from the first
    /// word on.
    pub async fn held(start: Start, model: Arc<dyn Model>) -> (Self, watch::Sender<bool>) {
        let (speak, spoken) = watch::channel(false);
        (
            Self::of(
                start,
                Arc::new(Held {
                    model,
                    speak: spoken,
                }),
                Settings::default(),
            )
            .await,
            speak,
        )
    }

    /// A house where debates begin so and this model answers.
    pub async fn of(start: Start, model: Arc<dyn Model>, settings: Settings) -> Self {
        Self::kept_in(Arc::new(MemoryStore::new()), start, model, settings).await
    }

    /// The same where debates are kept there.
    pub async fn kept_in(
        store: Arc<dyn Store>,
        start: Start,
        model: Arc<dyn Model>,
        settings: Settings,
    ) -> Self {
        let metrics = Arc::new(Metrics::default());
        let observer: Option<Arc<dyn Observer>> = Some(metrics.clone());
        let clock: Arc<AheadClock> = Arc::default();
        let options = DeskOptions {
            clock: clock.clone(),
            seal: Some(seal()),
            formats: ALL,
            stream_deltas: true,
            observer,
            ..DeskOptions::default()
        };
        let desk = Desk::with_options(store, Arc::new(Everybody(model)), options);
        let inbox = Arc::new(Waiting::default());
        let settings = Settings {
            trusted: vec![seal().public().to_owned()],
            ..settings
        };
        let front = Arc::new(Prepared {
            start,
            inbox: inbox.clone(),
        });
        let keys = Keys::new(keys());
        let server = Server {
            desk: desk.clone(),
            front,
            keys: keys.clone(),
            web_sessions: Arc::new(MemoryStore::new()),
            metrics,
            settings,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let (drained, is_drained) = oneshot::channel();
        let told = |told: oneshot::Receiver<()>| async move {
            let _ = told.await;
        };
        let served = tokio::spawn(serve(
            listener,
            Arc::new(server),
            told(stopped),
            told(is_drained),
        ));
        Self {
            at,
            desk,
            clock,
            inbox,
            keys,
            stop: Some(stop),
            drained: Some(drained),
            served,
        }
    }

    /// Takes a key away, or gives it another role.
    pub fn change_key(&self, name: &str, role: Option<Role>) {
        let others = keys().into_iter().filter(|key| key.name != name);
        let changed = keys()
            .into_iter()
            .filter(|key| key.name == name)
            .filter_map(|key| Some(Key { role: role?, ..key }));
        self.keys.replace(others.chain(changed).collect());
    }

    /// Tells the server to stop.
    pub fn stop(&mut self) {
        let _ = self.stop.take().expect("once").send(());
    }

    /// Waits until it has; nothing is run any more.
    pub async fn stopped(mut self) {
        drop(self.drained.take());
        self.served.await.expect("no panic").expect("no error");
    }

    pub fn host(&self) -> String {
        self.at.to_string()
    }

    /// Asks as whoever holds that token, or that cookie.
    pub async fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> Answer {
        self.ask_with(token, method, path, body, &[]).await
    }

    /// The same with more headers.
    pub async fn ask_with(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
        more: &[(&str, &str)],
    ) -> Answer {
        send(self.at, &self.request(token, method, path, body, more)).await
    }

    pub fn request(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
        more: &[(&str, &str)],
    ) -> Vec<u8> {
        let (host, (name, value)) = (self.host(), credential(token));
        let mut headers = vec![("Host", host.as_str()), (name, value.as_str())];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        if !body.is_empty() {
            headers.push(("Content-Type", "application/json"));
        }
        headers.extend(more);
        request(method, path, &headers, &body)
    }

    pub async fn get(&self, token: &str, path: &str) -> Answer {
        self.ask(token, "GET", path, &Value::Null).await
    }

    /// Opens a session with that token and gives its cookie, as a browser sends it.
    pub async fn web_session(&self, token: &str) -> String {
        let opened = self.ask(token, "POST", "/v1/session", &json!({})).await;
        assert_eq!(opened.status, 204, "{}", opened.body);
        opened
            .header("set-cookie")
            .split(';')
            .next()
            .expect("a cookie")
            .to_owned()
    }

    /// A stream of events, its status and headers.
    pub async fn stream(
        &self,
        token: &str,
        path: &str,
        more: &[(&str, &str)],
    ) -> (u16, Connection) {
        let mut headers = vec![("Accept", "text/event-stream")];
        headers.extend(more);
        let mut connection = Connection::open(
            self.at,
            &self.request(token, "GET", path, &Value::Null, &headers),
        )
        .await;
        let (status, _) = connection.head().await;
        (status, connection)
    }

    /// Starts a debate of alice's in that format.
    pub async fn begin(&self, format: &str) -> DebateId {
        self.begin_with(&json!({ "format": format })).await
    }

    /// Starts a debate of alice's.
    pub async fn begin_with(&self, asked: &Value) -> DebateId {
        let begun = self.ask("alice-admin", "POST", "/v1/debates", asked).await;
        assert_eq!(begun.status, 202, "{}", begun.body);
        begun.json()["id"]
            .as_str()
            .expect("an id")
            .parse()
            .expect("an id")
    }

    /// Starts one that waits at its gate.
    pub async fn begin_gated(&self) -> DebateId {
        let id = self.begin("gated").await;
        self.opened(id).await;
        id
    }

    /// Waits until a debate waits at a gate.
    pub async fn opened(&self, id: DebateId) {
        let mut watch = self.desk.watch(id, 0).await.expect("a watch");
        while watch.next().await.expect("readable").expect("more").kind != "gate.opened" {}
    }

    /// Waits until a debate ended or was left.
    pub async fn over(&self, id: DebateId) {
        let mut watch = self.desk.watch(id, 0).await.expect("a watch");
        while watch.next().await.expect("readable").is_some() {}
    }

    /// Runs one to its end.
    pub async fn run(&self) -> DebateId {
        let id = self.begin("decide").await;
        self.over(id).await;
        id
    }
}

/// The header that shows a token, or a cookie.
pub fn credential(shown: &str) -> (&'static str, String) {
    if shown.starts_with("rebut=") {
        ("Cookie", shown.to_owned())
    } else {
        ("Authorization", format!("Bearer {shown}"))
    }
}

/// For each owner and role a key whose token is its name.
fn keys() -> Vec<Key> {
    let roles = [Role::Viewer, Role::Approver, Role::Admin];
    let owners = ["alice", "bob"]
        .into_iter()
        .flat_map(|owner| roles.map(|role| (owner, role)));
    let key = |(owner, role): (&str, Role)| {
        let name = format!("{owner}-{}", role.as_str());
        Key {
            sha256: digest(&name),
            name,
            owner: owner.to_owned(),
            role,
        }
    };
    owners.map(key).collect()
}

/// A front that starts what its case says, with what the request changes of it.
struct Prepared {
    start: Start,
    inbox: Arc<Waiting>,
}

#[async_trait::async_trait]
impl DebateResolver for Prepared {
    async fn prepare(&self, asked: DebateRequest, by: &str) -> Result<Start, Refusal> {
        let More {
            caps,
            approval_seconds,
            debate_seconds,
        } = asked.limits.into();
        let approval_seconds = approval_seconds.unwrap_or_default();
        let limits = Limits {
            caps,
            approval_seconds,
            debate_seconds: debate_seconds.unwrap_or_default(),
            ..Limits::default()
        };
        let mut start = Start {
            format: asked.format,
            initiated_by: by.to_owned(),
            limits: Some(limits),
            ..self.start.clone()
        };
        for (field, value) in asked.input {
            start.input[field] = value;
        }
        for (agent, new) in start.agents.iter_mut().zip(asked.agents) {
            agent.name = new.name.unwrap_or(new.role).into();
        }
        Ok(start)
    }

    async fn estimate(&self, asked: DebateRequest, by: &str) -> Result<Value, Refusal> {
        match asked.format.as_str() {
            "decide" => Ok(json!({ "calls": 3, "for": by })),
            other => Err(Refusal {
                message: format!("no {other}"),
                hint: Some("decide".to_owned()),
                is_request: true,
            }),
        }
    }

    fn formats(&self) -> Vec<FormatCard> {
        let card = |format: &Format| FormatCard {
            name: format.name.to_owned(),
            about: format.about.to_owned(),
            input: json!({ "type": "object" }),
            config: json!({ "type": "object" }),
        };
        ALL.iter().map(card).collect()
    }

    fn personas(&self) -> Result<Vec<PersonaCard>, Refusal> {
        let card = |agent: &Agent| PersonaCard {
            name: agent.role.to_string(),
            stance: agent.stance.to_string(),
            about: String::new(),
            is_built_in: true,
        };
        Ok(self.start.agents.iter().map(card).collect())
    }

    fn panels(&self) -> Result<Value, Refusal> {
        Ok(json!({}))
    }

    async fn providers(&self) -> Value {
        json!([])
    }

    fn inbox(&self) -> Option<Arc<dyn Inbox>> {
        Some(self.inbox.clone())
    }
}

/// One turn of every debate waits for a person until it is answered.
#[derive(Default)]
pub struct Waiting(pub Mutex<Vec<(DebateId, String, String)>>);

pub const WAITING: &str = "recommend 1/human";

#[async_trait::async_trait]
impl Inbox for Waiting {
    async fn waiting(&self, debate: DebateId) -> Vec<TurnRequest> {
        let is_answered = self
            .0
            .lock()
            .expect("whole")
            .iter()
            .any(|(known, ..)| *known == debate);
        let turn = TurnRequest {
            turn: WAITING.to_owned(),
            agent: "human".to_owned(),
            system: String::new(),
            user: String::new(),
            schema: json!({}),
            asked_at: "2026-01-01T00:00:00.000Z".to_owned(),
            until: "2026-01-01T00:30:00.000Z".to_owned(),
        };
        if is_answered { Vec::new() } else { vec![turn] }
    }

    async fn answer(
        &self,
        debate: DebateId,
        turn: &str,
        by: &str,
        text: String,
    ) -> Result<(), NotTaken> {
        if !self
            .waiting(debate)
            .await
            .iter()
            .any(|waits| waits.turn == turn)
        {
            return Err(NotTaken::Gone);
        }
        if text == "wrong" {
            return Err(NotTaken::Wrong("`option` is missing".to_owned()));
        }
        self.0
            .lock()
            .expect("whole")
            .push((debate, by.to_owned(), text));
        Ok(())
    }
}
