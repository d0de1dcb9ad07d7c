//! What the program and the warden of a cell say to each other: frames of JSON, each followed by
//! the bytes of its files.

use crate::{limits::Limits, spec::Given};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{self, Read, Write},
    path::PathBuf,
};

/// All a warden needs to know to run one cell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub limits: Limits,
    /// Processes it may have, as the limit of the kernel on each user has it.
    pub processes_by_rlimit: u32,
    pub read_only: Vec<Entry>,
    pub writable: Vec<Entry>,
    pub folders: Vec<PathBuf>,
    pub collect: Vec<String>,
    pub judges: bool,
    /// Files below `/box` that nobody in the cell can change.
    pub pinned: Vec<Entry>,
    /// Whether all that is below `/box` is wanted afterwards.
    pub collect_all: bool,
    pub bubblewrap: PathBuf,
    /// Whether it can forbid user namespaces inside.
    pub can_disable_userns: bool,
    pub inner: PathBuf,
    pub inner_args: Vec<String>,
    /// How many control groups the cell is put in; as many descriptors to enter, then to leave
    /// them, come with the order.
    pub groups: usize,
}

/// A file whose bytes follow the frame.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub path: String,
    pub executable: bool,
    /// How many bytes are its own.
    pub length: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// The cell could not be made, or the program not be started in it.
    Refused(String),
    Started,
    /// Everything in the cell is gone.
    Ended {
        /// How the program ended; `None` when the cell was ended around it.
        status: Option<Status>,
        is_late: bool,
        ms: u64,
        /// The wanted files that were there.
        files: Vec<Entry>,
    },
}

/// What the first process in the cell says to the warden, one per line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reported {
    /// Something could not be applied, or the program not be started.
    Refused(String),
    /// All is applied and the program runs.
    Started,
    Ended(Status),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Status {
    Exited(i32),
    Signalled(i32),
}

/// What the first process in the cell is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub limits: Limits,
    pub processes_by_rlimit: u32,
    /// What can be read in the cell.
    pub readable: Vec<PathBuf>,
}

/// The largest frame that is believed.
const LARGEST: u32 = 16 << 20;

/// Files as they are announced in a frame.
pub(crate) fn entries(files: &[Given]) -> Vec<Entry> {
    files
        .iter()
        .map(|file| Entry {
            path: file.path.clone(),
            executable: file.executable,
            length: file.bytes.len() as u64,
        })
        .collect()
}

/// A frame: its length, its JSON, the bytes of its files.
pub(crate) fn frame<'a>(
    said: &impl Serialize,
    files: impl IntoIterator<Item = &'a Given>,
) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(said)?;
    let length = u32::try_from(json.len())
        .ok()
        .filter(|length| *length <= LARGEST);
    let length = length.ok_or_else(|| io::Error::other("too much is asked of a cell at once"))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(json);
    files
        .into_iter()
        .for_each(|file| bytes.extend_from_slice(&file.bytes));
    Ok(bytes)
}

/// How long the JSON of a frame is, by its first bytes.
pub(crate) fn length_of(head: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(head);
    if length > LARGEST {
        Err(io::Error::other("a frame is too large"))
    } else {
        Ok(length as usize)
    }
}

/// Reads one frame, without the bytes of its files.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let mut json = vec![0; length_of(head)?];
    from.read_exact(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

/// Reads the bytes of the files a frame announced.
pub(crate) fn read_files(from: &mut impl Read, entries: &[Entry]) -> io::Result<Vec<Given>> {
    let one = |entry: &Entry, from: &mut dyn Read| {
        let mut bytes = Vec::new();
        let read = from.take(entry.length).read_to_end(&mut bytes)?;
        if read as u64 != entry.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Given {
            path: entry.path.clone(),
            bytes,
            executable: entry.executable,
        })
    };
    entries.iter().map(|entry| one(entry, from)).collect()
}

pub(crate) fn write<'a>(
    to: &mut impl Write,
    said: &impl Serialize,
    files: impl IntoIterator<Item = &'a Given>,
) -> io::Result<()> {
    to.write_all(&frame(said, files)?)
}
