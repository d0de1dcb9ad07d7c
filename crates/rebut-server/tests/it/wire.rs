//! A small HTTP client that sends exactly what a test says, and reads what comes, piece by piece
//! where it must.

use serde_json::Value;
use std::{collections::HashMap, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// How long anything may take before a test says that it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map(String::as_str)
            .unwrap_or_default()
    }
}

/// Sends these bytes and reads one answer.
pub async fn send(at: SocketAddr, bytes: &[u8]) -> Answer {
    let mut connection = Connection::open(at, bytes).await;
    let (status, headers) = connection.head().await;
    let mut body = String::new();
    while let Some(piece) = connection.piece().await {
        body.push_str(&piece);
    }
    Answer {
        status,
        headers,
        body,
    }
}

/// The bytes of a request that ends its connection.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// One connection whose answer comes in pieces.
pub struct Connection {
    reader: BufReader<TcpStream>,
    left: Left,
    text: String,
}

/// How the rest of the body comes.
enum Left {
    Chunks,
    Bytes(usize),
    Nothing,
}

impl Connection {
    pub async fn open(at: SocketAddr, bytes: &[u8]) -> Self {
        let mut stream = TcpStream::connect(at).await.expect("the server listens");
        stream.write_all(bytes).await.expect("it takes the request");
        Self {
            reader: BufReader::new(stream),
            left: Left::Nothing,
            text: String::new(),
        }
    }

    /// Status and headers.
    pub async fn head(&mut self) -> (u16, HashMap<String, String>) {
        let first = self.line().await;
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("an answer, not `{first}`"));
        let mut headers = HashMap::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        self.left = match headers.get("content-length") {
            Some(length) => Left::Bytes(length.parse().expect("a number")),
            None if headers
                .get("transfer-encoding")
                .is_some_and(|coding| coding == "chunked") =>
            {
                Left::Chunks
            }
            None => Left::Nothing,
        };
        (status, headers)
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.reader.read_line(&mut line))
            .await
            .expect("it answers");
        read.expect("readable");
        line.trim_end().to_owned()
    }

    /// The next piece of the body; nothing after the last.
    pub async fn piece(&mut self) -> Option<String> {
        let size = match self.left {
            Left::Nothing | Left::Bytes(0) => return None,
            Left::Bytes(size) => {
                self.left = Left::Nothing;
                size
            }
            Left::Chunks => usize::from_str_radix(&self.line().await, 16)
                .ok()
                .filter(|size| *size > 0)?,
        };
        let mut bytes = vec![0; size];
        let read = tokio::time::timeout(PATIENCE, self.reader.read_exact(&mut bytes))
            .await
            .expect("it answers");
        read.expect("as much as was announced");
        if matches!(self.left, Left::Chunks) {
            self.line().await;
        }
        Some(String::from_utf8(bytes).expect("text"))
    }

    /// Whatever comes until the connection is closed.
    pub async fn rest(&mut self) -> String {
        let mut text = String::new();
        let read = tokio::time::timeout(PATIENCE, self.reader.read_to_string(&mut text))
            .await
            .expect("it is closed");
        read.expect("text");
        text
    }

    /// The next block of a stream of events, without its empty line.
    pub async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let piece = self.piece().await?;
            self.text.push_str(&piece);
        }
    }

    /// The next event with data; heartbeats are passed over.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            let event = Event::parse(&self.block().await?);
            if event.data.is_some() {
                return Some(event);
            }
        }
    }

    /// Every event to the end of the stream.
    pub async fn events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }
}

/// One server-sent event as a browser reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    pub id: Option<u64>,
    pub name: Option<String>,
    pub data: Option<Value>,
    pub fields: Vec<(String, String)>,
}

impl Event {
    /// Any of the three line ends that the standard knows ends a line.
    fn parse(block: &str) -> Self {
        let mut event = Self::default();
        for line in block
            .split(['\n', '\r'])
            .filter(|line| !line.is_empty() && !line.starts_with(':'))
        {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => event.id = Some(value.parse().expect("a number")),
                "event" => event.name = Some(value.to_owned()),
                "data" => {
                    event.data =
                        Some(serde_json::from_str(value).expect("data is JSON on one line"))
                }
                "retry" => {}
                other => panic!("a field that nobody sends: {other} in {block:?}"),
            }
            event.fields.push((field.to_owned(), value.to_owned()));
        }
        event
    }
}
