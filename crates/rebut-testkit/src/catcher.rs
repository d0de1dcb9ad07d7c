//! A loopback HTTP server that takes whatever is posted to it, keeps it, and answers what it is
//! told to: a collector, somebody's web hook.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

/// A running server. Its thread ends with the process.
pub struct Catcher {
    address: SocketAddr,
    caught: Receiver<Caught>,
}

#[derive(Clone, Debug)]
pub struct Caught {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Caught {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Catcher {
    /// Starts one that answers these statuses in turn, the last one for ever.
    pub fn start(statuses: &'static [u16]) -> Self {
        Self::at("127.0.0.1:0", statuses)
    }

    pub fn at(address: &str, statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind(address).expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let (sender, caught) = channel();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let status = statuses[number.min(statuses.len() - 1)];
                // A client that leaves in the middle is no concern of the server's.
                let _ = stream.and_then(|stream| answer(stream, status, &sender));
            }
        });
        Self { address, caught }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next request; waits for it.
    pub fn next(&self) -> Caught {
        self.caught
            .recv_timeout(Duration::from_secs(60))
            .expect("somebody posts something")
    }

    /// Requests that have arrived and were not looked at.
    pub fn rest(&self) -> Vec<Caught> {
        self.caught.try_iter().collect()
    }
}

fn answer(stream: TcpStream, status: u16, sender: &Sender<Caught>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    write!(
        reader.get_mut(),
        "HTTP/1.1 {status} said\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )?;
    // The test may have ended: then nobody looks any more.
    let _ = sender.send(Caught {
        line: line.trim().to_owned(),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    });
    Ok(())
}
