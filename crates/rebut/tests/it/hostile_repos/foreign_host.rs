//! The foreign host: it listens wherever a hostile repository's addresses lead to, notes everybody
//! who connects, and refuses them.

use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The address that stands for a foreign machine: on the loopback, so that no test leaves this
/// machine, but nobody's usual one.
const FOREIGN: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 66, 66, 66));

/// A connection: from where, and the first bytes that came.
#[derive(Clone, Debug)]
struct Met {
    /// Of the connection: ours and theirs.
    ends: (SocketAddr, SocketAddr),
    said: String,
}

#[derive(Default)]
struct Book {
    met: Mutex<Vec<Met>>,
    more: Condvar,
    ended: AtomicBool,
}

/// Listens until it is dropped.
pub struct ForeignHost {
    book: Arc<Book>,
    listening: Vec<SocketAddr>,
}

impl ForeignHost {
    pub fn start() -> Self {
        let listeners = listeners();
        let book = Arc::<Book>::default();
        let listening = listeners
            .iter()
            .map(|listener| listener.local_addr().expect("an address"))
            .collect();
        for listener in listeners {
            let book = book.clone();
            std::thread::spawn(move || book.listen(&listener));
        }
        Self { book, listening }
    }

    /// `host:port` of the foreign machine.
    pub fn address(&self) -> String {
        format!("{FOREIGN}:{}", self.port())
    }

    pub fn port(&self) -> u16 {
        self.listening[0].port()
    }

    /// Whoever connected since the last time, in the first bytes they sent. Connections are
    /// accepted in their order, so one of our own shows that all earlier ones are noted.
    pub fn visitors(&self) -> Vec<String> {
        let own: Vec<TcpStream> = self
            .listening
            .iter()
            .map(|address| TcpStream::connect(address).expect("a listener"))
            .collect();
        // The system may give the same port to two of them, since they lead to different addresses.
        let ends = |stream: &TcpStream| {
            (
                stream.peer_addr().expect("an address"),
                stream.local_addr().expect("an address"),
            )
        };
        let own: Vec<(SocketAddr, SocketAddr)> = own.iter().map(ends).collect();
        let all_noted = |met: &mut Vec<Met>| {
            own.iter()
                .all(|ends| met.iter().any(|one| one.ends == *ends))
        };
        let mut met = self
            .book
            .more
            .wait_while(self.book.lock(), |met| !all_noted(met))
            .unwrap_or_else(PoisonError::into_inner);
        met.retain(|one| !own.contains(&one.ends));
        met.drain(..).map(|one| one.said).collect()
    }
}

impl Drop for ForeignHost {
    fn drop(&mut self) {
        self.book.ended.store(true, Ordering::SeqCst);
        // Wakes the listeners, which then end.
        self.listening
            .iter()
            .for_each(|address| drop(TcpStream::connect(address)));
    }
}

impl Book {
    fn lock(&self) -> MutexGuard<'_, Vec<Met>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming().map_while(Result::ok) {
            if self.ended.load(Ordering::SeqCst) {
                return;
            }
            let (Ok(at), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else {
                continue;
            };
            self.lock().push(Met {
                ends: (at, peer),
                said: "(said nothing yet)".to_owned(),
            });
            self.more.notify_all();
            let book = self.clone();
            std::thread::spawn(move || book.refuse(stream, (at, peer)));
        }
    }

    /// Notes what is said and refuses it, so that the program under test comes to its end soon.
    fn refuse(&self, mut stream: TcpStream, ends: (SocketAddr, SocketAddr)) {
        let mut bytes = [0; 2048];
        // Who says nothing is refused too; a failure means that nobody is there any more.
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        let count = stream.read(&mut bytes).unwrap_or(0);
        let said = String::from_utf8_lossy(&bytes[..count]).into_owned();
        if let Some(one) = self.lock().iter_mut().find(|one| one.ends == ends) {
            one.said = said;
        }
        let _ = stream.write_all(
            b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        );
    }
}

/// Ports that the system gives to nobody by itself: a client of another test, whose server has
/// gone, does not knock here by accident.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// Listeners on one port of the foreign address, and of this machine's usual ones: other spellings
/// lead there.
fn listeners() -> Vec<TcpListener> {
    // Tests that run at once begin at different places.
    let apart = std::process::id() as usize * 97 % PORTS.len();
    for port in PORTS.cycle().skip(apart).take(PORTS.len()) {
        let Ok(first) = TcpListener::bind((FOREIGN, port)) else {
            continue;
        };
        let Ok(second) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) else {
            continue;
        };
        let third = TcpListener::bind((Ipv6Addr::LOCALHOST, port));
        // A machine may have no IPv6 at all.
        return [first, second].into_iter().chain(third.ok()).collect();
    }
    panic!("no port is free on all addresses of the loopback");
}
