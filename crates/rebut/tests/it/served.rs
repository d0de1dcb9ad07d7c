//! A server of the real binary in a process of its own, and the little HTTP that a test needs to
//! speak to it.

use crate::rebut::Rebut;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError, mpsc::Receiver},
};

/// A server that runs.
pub struct Served {
    child: Child,
    /// Behind a lock, so that several clients can ask at once.
    log: Mutex<Receiver<String>>,
    said: String,
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// The token of its first key.
    pub token: String,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Served {
    /// Starts a server on a free port and waits until it listens.
    pub fn start(rebut: &Rebut, more: &[&str]) -> Self {
        let args = [&["serve", "--listen", "127.0.0.1:0", "--log", "json"], more].concat();
        let mut child = rebut
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let errors = BufReader::new(child.stderr.take().expect("piped"));
        let (lines, log) = std::sync::mpsc::channel();
        // Read beside the test, so that the pipe cannot fill up; it ends with the process.
        std::thread::spawn(move || {
            errors
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| lines.send(line))
        });
        let mut served = Self {
            child,
            log: Mutex::new(log),
            said: String::new(),
            address: String::new(),
            token: String::new(),
        };
        let listening = served.until("listening");
        let url = listening["url"].as_str().expect("a url");
        served.address = url.strip_prefix("http://").expect("http").to_owned();
        served.token = fs::read_to_string(rebut.data().join("server.token"))
            .map(|token| token.trim().to_owned())
            .unwrap_or_default();
        served
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until the log tells of an event.
    pub fn until(&mut self, event: &str) -> Value {
        loop {
            let log = self.log.get_mut().unwrap_or_else(PoisonError::into_inner);
            let line = log
                .recv()
                .unwrap_or_else(|_| panic!("`{event}` was never told:\n{}", self.said));
            self.said.push_str(&format!("{line}\n"));
            let told: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if told["event"] == event {
                return told;
            }
        }
    }

    /// Asks with the first key.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_with(&self.token, method, path, body, "")
    }

    /// Asks with that token and these further lines in the head.
    pub fn ask_with(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
        more: &str,
    ) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let key = if token.is_empty() {
            String::new()
        } else {
            format!("Authorization: Bearer {token}\r\n")
        };
        let kind = if body.is_empty() {
            ""
        } else {
            "Content-Type: application/json\r\n"
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: \
             {}\r\n{kind}{key}{more}\r\n",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).expect("a server that listens");
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .expect("it reads");
        let mut text = String::new();
        stream
            .read_to_string(&mut text)
            .expect("it answers and closes");
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or_else(|| panic!("no status: {head}"));
        Answer {
            status,
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// Follows a debate until an event fits, and gives that.
    pub fn follow(&self, id: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let head = format!(
            "GET /v1/debates/{id}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer \
             {}\r\nAccept: text/event-stream\r\n\r\n",
            self.address, self.token
        );
        let mut stream = TcpStream::connect(&self.address).expect("a server that listens");
        stream.write_all(head.as_bytes()).expect("it reads");
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let mut events = lines.filter_map(|line| {
            serde_json::from_str::<Value>(line.strip_prefix("data:")?.trim()).ok()
        });
        events.find(|event| fits(event)).unwrap_or_else(|| {
            panic!(
                "the stream of {id} ended without the awaited event: {:?}",
                self.events(id)
            )
        })
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts a debate and gives its id.
    pub fn begin(&self, asked: &Value) -> String {
        let answer = self.ask("POST", "/v1/debates", Some(asked));
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["id"].as_str().expect("an id").to_owned()
    }

    /// The events of a debate.
    pub fn events(&self, id: &str) -> Vec<Value> {
        let answer = self.ask("GET", &format!("/v1/debates/{id}/events"), None);
        answer.json()["events"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer:?}"))
            .clone()
    }

    pub fn kill(mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("a killed process");
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", self.child.id())])
            .status();
        assert!(sent.expect("a shell").success());
    }

    /// Waits for its end; gives exit code and everything it logged.
    pub fn finish(mut self) -> (i32, String) {
        let code = self.child.wait().expect("a process").code().unwrap_or(-1);
        let rest: Vec<String> = self
            .log
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .collect();
        (code, format!("{}{}\n", self.said, rest.join("\n")))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A test that failed must not leave a process behind; one that has ended cannot be killed,
        // which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
