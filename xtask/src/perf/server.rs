//! The model server: OpenAI's chat completions on loopback, in a process of its own, as cheap as
//! can be.
//!
//! It answers so that every debate takes six calls: each stance sticks to its own option in both
//! rounds.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, SystemTime},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

use super::reply;

/// The hidden command that starts it.
pub const SERVER: &str = "perf-server";

/// A client has some 28,000 ports of its own for each port of ours.
const PORTS: usize = 4;
const BACKLOG: u32 = 4096;

/// The running server, as perf holds it. It ends with this value, or with the process that holds
/// it.
pub struct Server {
    child: Child,
    alive: Option<ChildStdin>,
    ports: Vec<u16>,
}

/// What the server has seen since it was last asked to forget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Calls that came.
    pub calls: u64,
    /// The size of their bodies together.
    pub bytes: u64,
    /// When the first one came, in nanoseconds of the Unix era; 0 is never.
    pub first: u64,
}

impl Server {
    /// Starts it and waits until it listens.
    pub fn spawn() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        let spawned = command
            .arg(SERVER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child =
            spawned.map_err(|error| format!("cannot start the model server: {error}"))?;
        let mut line = String::new();
        let alive = child.stdin.take();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(|error| error.to_string())?;
        }
        let ports: Result<Vec<u16>, _> = line.split_whitespace().map(str::parse).collect();
        match ports {
            Ok(ports) if ports.len() == PORTS => Ok(Self {
                child,
                alive,
                ports,
            }),
            _ => Err(format!(
                "the model server did not name its ports but `{line}`"
            )),
        }
    }

    /// Base addresses that answer after that time, one per port.
    pub fn endpoints(&self, latency: Duration) -> Vec<String> {
        self.ports
            .iter()
            .map(|port| format!("http://127.0.0.1:{port}/after/{}/v1", latency.as_millis()))
            .collect()
    }

    /// Forgets what it has seen.
    pub fn forget(&self) -> Result<(), String> {
        self.get("/forget").map(drop)
    }

    /// What it has seen.
    pub fn seen(&self) -> Result<Seen, String> {
        let body = self.get("/seen")?;
        let numbers: Vec<u64> = body
            .split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect();
        match numbers[..] {
            [calls, bytes, first] => Ok(Seen {
                calls,
                bytes,
                first,
            }),
            _ => Err(format!("the model server said `{body}`")),
        }
    }

    fn get(&self, path: &str) -> Result<String, String> {
        let ask = || -> std::io::Result<String> {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.ports[0]))?;
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
            )?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = ask().map_err(|error| format!("the model server does not answer: {error}"))?;
        Ok(answer
            .split_once("\r\n\r\n")
            .map(|(_, body)| body.to_owned())
            .unwrap_or_default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server leaves when its input ends.
        drop(self.alive.take());
        let _ = self.child.wait();
    }
}

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static FIRST: AtomicU64 = AtomicU64::new(0);

/// Runs the server until standard input ends.
pub fn serve(_: &[String]) -> Result<(), String> {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    // One thread: the other core belongs to those who are measured.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime
        .block_on(listen())
        .map_err(|error| error.to_string())
}

async fn listen() -> std::io::Result<()> {
    let mut ports = Vec::new();
    for _ in 0..PORTS {
        let socket = TcpSocket::new_v4()?;
        socket.bind(([127, 0, 0, 1], 0).into())?;
        let listener = socket.listen(BACKLOG)?;
        ports.push(listener.local_addr()?.port().to_string());
        tokio::spawn(accept(listener));
    }
    println!("{}", ports.join(" "));
    std::future::pending().await
}

async fn accept(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(async {
                // A client that leaves is no concern of the server's.
                let _ = converse(stream).await;
            })),
            // Out of descriptors, most likely: others must close theirs first.
            Err(error) => {
                eprintln!("model server: {error}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// Answers one request after the other until the client leaves.
async fn converse(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(8 << 10);
    loop {
        let Some(head) = read_head(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        while buffer.len() < head.end {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let body = match head.latency {
            None => control(&buffer[..head.body]),
            Some(latency) => {
                count(head.end - head.body);
                let answer = reply::completion(&buffer[head.body..head.end]);
                if !latency.is_zero() {
                    tokio::time::sleep(latency).await;
                }
                answer
            }
        };
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        answer.push_str(&body);
        stream.write_all(answer.as_bytes()).await?;
        if head.latency.is_none() {
            return Ok(());
        }
        buffer.drain(..head.end);
    }
}

/// Where a request's parts lie, and after which time it wants its answer; `None` for one to the
/// server itself.
#[derive(Debug, PartialEq)]
struct Head {
    body: usize,
    end: usize,
    latency: Option<Duration>,
}

async fn read_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Head>> {
    loop {
        if let Some(head) = parse_head(buffer) {
            return Ok(Some(head));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse_head(buffer: &[u8]) -> Option<Head> {
    let body = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&buffer[..body]);
    let length = head.lines().skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    let latency = head
        .lines()
        .next()
        .and_then(|line| line.split("/after/").nth(1))
        .and_then(|rest| rest.split('/').next()?.parse().ok());
    Some(Head {
        body,
        end: body + length.unwrap_or(0),
        latency: latency.map(Duration::from_millis),
    })
}

fn count(bytes: usize) {
    if CALLS.fetch_add(1, Relaxed) == 0 {
        FIRST.store(now(), Relaxed);
    }
    BYTES.fetch_add(bytes as u64, Relaxed);
}

fn control(head: &[u8]) -> String {
    if head.starts_with(b"GET /forget ") {
        [&CALLS, &BYTES, &FIRST]
            .into_iter()
            .for_each(|counter| counter.store(0, Relaxed));
    }
    format!(
        "{} {} {}",
        CALLS.load(Relaxed),
        BYTES.load(Relaxed),
        FIRST.load(Relaxed)
    )
}

/// Nanoseconds of the Unix era: a clock that two processes share.
pub fn now() -> u64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let rows: &[(&str, Option<Head>)] = &[
            (
                "POST /after/50/v1/chat HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
                Some(Head {
                    body: 54,
                    end: 56,
                    latency: ms(50),
                }),
            ),
            (
                "POST /after/0/v1/chat HTTP/1.1\r\ncontent-length: 2\r\n\r\n",
                Some(Head {
                    body: 53,
                    end: 55,
                    latency: ms(0),
                }),
            ),
            (
                "GET /seen HTTP/1.1\r\n\r\n",
                Some(Head {
                    body: 22,
                    end: 22,
                    latency: None,
                }),
            ),
            ("GET /seen HTTP/1.1\r\nhost", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_head(text.as_bytes()), *expected, "{text}");
        }
    }
}
