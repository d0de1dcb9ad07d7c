//! A watcher of server-sent events that remembers what it saw, and comes back with the last number
//! when the connection ends.

use crate::served::Served;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

/// Follows one debate, over as many connections as it takes.
pub struct Follower {
    pub id: String,
    /// The numbers of all events so far, in the order in which they came.
    pub seen: Vec<u64>,
    /// The type of the last event, numbered or not.
    pub last: String,
    stream: Option<BufReader<TcpStream>>,
}

impl Follower {
    /// Begins at the first event.
    pub fn new(id: &str, served: &Served) -> Self {
        let mut follower = Self {
            id: id.to_owned(),
            seen: Vec::new(),
            last: String::new(),
            stream: None,
        };
        assert_eq!(follower.connect(served), 200);
        follower
    }

    /// Goes on behind the last event that was seen. Gives the status.
    pub fn connect(&mut self, served: &Served) -> u16 {
        let last = self
            .seen
            .last()
            .map(|seq| format!("Last-Event-ID: {seq}\r\n"))
            .unwrap_or_default();
        // HTTP/1.0: what comes is the stream itself, without the lengths of its pieces.
        let head = format!(
            "GET /v1/debates/{}/events HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {}\r\nAccept: \
             text/event-stream\r\n{last}\r\n",
            self.id, served.address, served.token
        );
        let mut stream = TcpStream::connect(&served.address).expect("a server that listens");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).expect("an answer");
        let mut line = status.clone();
        while !line.trim().is_empty() {
            line.clear();
            lines.read_line(&mut line).expect("a head");
        }
        self.stream = Some(lines);
        status
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or_else(|| panic!("no status: {status:?}"))
    }

    /// The next recorded event, or `None` when the connection ends, however it ends.
    pub fn next(&mut self) -> Option<Value> {
        let lines = self.stream.as_mut().expect("connected");
        let (mut id, mut data) = (None::<u64>, String::new());
        loop {
            let mut line = String::new();
            // A server that was killed resets the connection; an event that is cut off was not
            // seen.
            if !lines
                .read_line(&mut line)
                .is_ok_and(|read| read > 0 && line.ends_with('\n'))
            {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", number)) => id = Some(number.parse().expect("a number")),
                Some(("event", kind)) => kind.clone_into(&mut self.last),
                Some(("data", json)) => json.clone_into(&mut data),
                _ if line.trim_end().is_empty() && id.is_some() => break,
                _ => {}
            }
        }
        self.seen.extend(id);
        Some(serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}")))
    }

    /// Reads on until an event fits; the connection must not end before.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) {
        while !fits(&self.next().unwrap_or_else(|| {
            panic!(
                "the stream of {} ended after {:?}: {}",
                self.id, self.seen, self.last
            )
        })) {}
    }

    /// Reads on to the end of the debate, coming back as often as it takes; then all events were
    /// seen once, in order.
    pub fn read_to_the_end(&mut self, served: &Served) {
        loop {
            while self.next().is_some() {}
            if self.last == "debate.completed" {
                break;
            }
            let status = self.connect(served);
            assert!(
                status == 200 || status == 503,
                "{}: {status} after {:?}",
                self.id,
                self.seen
            );
        }
        let events = served.events(&self.id).len() as u64;
        assert_eq!(self.seen, (1..=events).collect::<Vec<_>>(), "{}", self.id);
    }
}
