//! One call of a script that runs in a cell of its own: what goes there and what comes back. Plain
//! data, bounded, and nothing else.

use crate::{
    harvest::{MOST_BYTES, MOST_FILES},
    spec::{Given, check_path},
    wire::{self, Entry},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read, Write},
    path::Path,
};

/// The script under test, as the tests call it.
pub(crate) const SCRIPT: &str = "solution.sh";
/// The working folder, in the cell of the tests and in those of the calls.
pub(crate) const FOLDER: &str = "/box";
/// Where temporary files are: in the working folder, so that those that are named in arguments go
/// along.
pub(crate) const TEMPORARY: &str = ".tmp";
/// How the name of a file begins that is being written.
const HALF_WRITTEN: &str = ".tmp-";
pub(crate) const LARGEST: usize = 16 << 20;
/// The most that a script is given on its standard input.
const MOST_INPUT: u64 = 4 << 20;

/// What a script is called with.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Call {
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub stdin: Vec<u8>,
    /// The plain files of the working folder.
    pub files: Vec<Given>,
    pub folders: Vec<String>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub exit: u8,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Files that are new or have changed.
    pub files: Vec<Given>,
    pub folders: Vec<String>,
    pub removed: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    args: Vec<String>,
    env: Vec<(String, String)>,
    exit: u8,
    folders: Vec<String>,
    removed: Vec<String>,
    files: Vec<Entry>,
}

/// The path within the working folder that a word means: nothing where it leads elsewhere, and no
/// path at all for the folder itself.
pub(crate) fn inside(word: &str) -> Option<String> {
    let below = match word.strip_prefix(FOLDER) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ if word.starts_with('/') => return None,
        _ => word,
    };
    let mut parts = Vec::new();
    for part in below.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A stream beside the files of a message.
fn stream(bytes: &[u8]) -> Given {
    Given::text("stream", bytes)
}

fn written(head: Head, files: &[Given]) -> io::Result<Vec<u8>> {
    wire::frame(
        &Head {
            files: wire::entries(files),
            ..head
        },
        files,
    )
}

/// The head of a message and its files, of which the first are streams.
fn read(mut bytes: &[u8], streams: usize) -> io::Result<(Head, Vec<Given>)> {
    let head: Head = wire::read(&mut bytes)?;
    let files = wire::read_files(&mut bytes, &head.files)?;
    if files.len() < streams || !bytes.is_empty() {
        return Err(io::Error::other("a message is not whole"));
    }
    Ok((head, files))
}

impl Call {
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let files: Vec<Given> = std::iter::once(stream(&self.stdin))
            .chain(self.files.iter().cloned())
            .collect();
        let (args, env, folders) = (self.args.clone(), self.env.clone(), self.folders.clone());
        written(
            Head {
                args,
                env,
                exit: 0,
                folders,
                removed: Vec::new(),
                files: Vec::new(),
            },
            &files,
        )
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        let (head, mut files) = read(bytes, 1)?;
        let stdin = files.remove(0).bytes;
        Ok(Self {
            args: head.args,
            env: head.env,
            stdin,
            files,
            folders: head.folders,
        })
    }

    /// The call that a process in the tests' cell makes: its arguments, its environment but what
    /// every cell has of its own, its standard input, and the working folder.
    pub(crate) fn gathered(
        args: &[String],
        stdin: impl Read,
        folder: &Path,
    ) -> Result<Self, String> {
        const OWN: &[&str] = &["PATH", "HOME", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_"];
        let text = |word: std::ffi::OsString| {
            word.into_string()
                .map_err(|word| format!("{} is no text", word.to_string_lossy()))
        };
        let mut call = Self {
            args: args.to_vec(),
            ..Self::default()
        };
        for (name, value) in std::env::vars_os() {
            let name = text(name)?;
            if !OWN.contains(&name.as_str()) {
                call.env.push((name, text(value)?));
            }
        }
        stdin
            .take(MOST_INPUT + 1)
            .read_to_end(&mut call.stdin)
            .map_err(|error| format!("its input cannot be read: {error}"))?;
        if call.stdin.len() as u64 > MOST_INPUT {
            return Err(format!("its input is larger than {MOST_INPUT} bytes"));
        }
        call.take_folder(folder, "")?;
        Ok(call)
    }

    /// The paths within the working folder that this call names, in its arguments or in a variable.
    pub(crate) fn named(&self) -> BTreeSet<String> {
        let words = self
            .args
            .iter()
            .chain(self.env.iter().map(|(_, value)| value));
        let parts = words.flat_map(|word| {
            word.split([' ', '\t', '\n', '=', ':', ',', ';', '"', '\'', '@'])
                .chain([word.as_str()])
        });
        parts
            .filter(|part| !part.is_empty())
            .filter_map(inside)
            .collect()
    }

    /// Takes the plain files and the folders; what is neither stays where it is.
    fn take_folder(&mut self, root: &Path, below: &str) -> Result<(), String> {
        let unreadable = |error: io::Error| format!("the working folder cannot be read: {error}");
        for entry in fs::read_dir(root.join(below)).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            let name = entry
                .file_name()
                .into_string()
                .map_err(|name| format!("the file name {} is no text", name.to_string_lossy()))?;
            let path = format!("{below}{name}");
            if path == SCRIPT
                || path.starts_with(HALF_WRITTEN)
                || !(kind.is_file() || kind.is_dir())
            {
                continue;
            }
            check_path(&path).map_err(|refused| refused.to_string())?;
            if kind.is_dir() {
                self.folders.push(path.clone());
                self.take_folder(root, &format!("{path}/"))?;
            } else {
                use std::os::unix::fs::PermissionsExt;
                let executable =
                    entry.metadata().map_err(unreadable)?.permissions().mode() & 0o111 != 0;
                let bytes = fs::read(entry.path())
                    .map_err(|error| format!("{path} cannot be read: {error}"))?;
                self.files.push(Given {
                    path,
                    bytes,
                    executable,
                });
            }
            let bytes: usize = self.files.iter().map(|file| file.bytes.len()).sum();
            if self.files.len() + self.folders.len() > MOST_FILES || bytes as u64 > MOST_BYTES {
                return Err(format!(
                    "the working folder holds more than {MOST_FILES} files, or more than \
                     {MOST_BYTES} bytes"
                ));
            }
        }
        Ok(())
    }
}

impl Answer {
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let files: Vec<Given> = [stream(&self.stdout), stream(&self.stderr)]
            .into_iter()
            .chain(self.files.iter().cloned())
            .collect();
        let (folders, removed) = (self.folders.clone(), self.removed.clone());
        written(
            Head {
                args: Vec::new(),
                env: Vec::new(),
                exit: self.exit,
                folders,
                removed,
                files: Vec::new(),
            },
            &files,
        )
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        let (head, mut files) = read(bytes, 2)?;
        let (stdout, stderr) = (files.remove(0).bytes, files.remove(0).bytes);
        Ok(Self {
            exit: head.exit,
            stdout,
            stderr,
            files,
            folders: head.folders,
            removed: head.removed,
        })
    }

    pub(crate) fn none(why: &str) -> Self {
        Self {
            exit: super::inner::REFUSED,
            stderr: format!("{why}\n").into_bytes(),
            ..Self::default()
        }
    }

    /// Sets what the working folder holds after a call: the files that are new, have changed or are
    /// gone. Those with a name that is not plain, and whatever would stand where the script stands,
    /// also in another folder, are left out.
    pub(crate) fn compare(&mut self, before: &Call, after: Vec<Given>) {
        let is_own = |path: &str| {
            path.split('/').any(|part| part == SCRIPT) || path.starts_with(HALF_WRITTEN)
        };
        let is_plain = |path: &str| check_path(path).is_ok() && !is_own(path);
        let (folders, files): (Vec<Given>, Vec<Given>) =
            after.into_iter().partition(|file| file.path.ends_with('/'));
        let folders = folders
            .into_iter()
            .map(|folder| folder.path.trim_end_matches('/').to_owned());
        self.folders = folders
            .filter(|path| is_plain(path) && !before.folders.contains(path))
            .collect();
        self.removed = before
            .files
            .iter()
            .filter(|file| !files.iter().any(|left| left.path == file.path))
            .map(|file| file.path.clone())
            .collect();
        self.files = files
            .into_iter()
            .filter(|file| is_plain(&file.path) && !before.files.contains(file))
            .collect();
    }

    /// Leaves out a folder and all that is in it.
    pub(crate) fn leave_out(&mut self, folder: &str) {
        let is_within = |path: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.folders.retain(|path| !is_within(path));
        self.files.retain(|file| !is_within(&file.path));
    }

    /// Does to the working folder of the tests what the call did to its own. A link that stands
    /// there is replaced, never followed.
    pub(crate) fn enter(&self, folder: &Path) -> io::Result<()> {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        for path in &self.removed {
            match fs::remove_file(folder.join(path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        for path in &self.folders {
            match fs::create_dir(folder.join(path)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        for file in &self.files {
            let mode = if file.executable { 0o755 } else { 0o644 };
            // Several calls may end at once.
            let new = folder.join(format!("{HALF_WRITTEN}{}", std::process::id()));
            let mut made = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&new)?;
            made.write_all(&file.bytes)?;
            made.set_permissions(fs::Permissions::from_mode(mode))?;
            fs::rename(&new, folder.join(&file.path))?;
        }
        Ok(())
    }
}

pub(crate) fn send(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len())
        .ok()
        .filter(|length| *length as usize <= LARGEST);
    let length = length.ok_or_else(|| io::Error::other("a message is too large"))?;
    to.write_all(&length.to_be_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

pub(crate) fn receive(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes(head) as usize;
    if length > LARGEST {
        return Err(io::Error::other("a message is too large"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let call = Call {
            args: vec!["ä b".to_owned(), String::new()],
            env: vec![("A".to_owned(), "1\n2".to_owned())],
            stdin: vec![0, 255],
            files: vec![Given {
                path: "in/x".to_owned(),
                bytes: b"1".to_vec(),
                executable: true,
            }],
            folders: vec!["in".to_owned()],
        };
        assert_eq!(
            Call::from_bytes(&call.to_bytes().expect("it is small")).expect("it is whole"),
            call
        );
        let answer = Answer {
            exit: 3,
            stdout: b"a".to_vec(),
            files: call.files.clone(),
            removed: vec!["y".to_owned()],
            ..Answer::default()
        };
        assert_eq!(
            Answer::from_bytes(&answer.to_bytes().expect("it is small")).expect("it is whole"),
            answer
        );
        let bytes = call.to_bytes().expect("it is small");
        assert!(
            Call::from_bytes(&bytes[..bytes.len() - 1]).is_err(),
            "a message that was cut"
        );
        assert!(
            Call::from_bytes(&[bytes, vec![0]].concat()).is_err(),
            "a message with something behind it"
        );
    }

    #[test]
    fn files_are_named_by_arguments_and_variables() {
        let call = Call {
            args: [
                "./in.txt",
                "--out=dir/../out.txt",
                "/box/.tmp/x",
                "a b.txt",
                "../up",
                "/etc/x",
            ]
            .map(str::to_owned)
            .to_vec(),
            env: vec![("A".to_owned(), "one:two".to_owned())],
            ..Call::default()
        };
        let found: Vec<String> = call.named().into_iter().collect();
        assert_eq!(
            found.join(" | "),
            "--out | .tmp/x | a | a b.txt | b.txt | in.txt | one | one:two | out.txt | two"
        );
        assert_eq!(
            (inside("."), inside("/box"), inside("/boxes")),
            (Some(String::new()), Some(String::new()), None)
        );
    }

    #[test]
    fn only_plain_files_beside_the_script_come_back() {
        let file = |path: &str, bytes: &str| Given::text(path, bytes);
        let before = Call {
            files: vec![file("same", "1"), file("changed", "1"), file("gone", "1")],
            ..Call::default()
        };
        let odd = [
            "solution.sh",
            "solution.sh/x",
            "dir/solution.sh",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "-rf",
            ".git/config",
            "a\nb",
            "",
        ];
        let after = [
            file("same", "1"),
            file("changed", "2"),
            file("new", ""),
            file("dir/", ""),
            file("solution.sh/", ""),
        ];
        let mut answer = Answer::default();
        answer.compare(
            &before,
            after
                .into_iter()
                .chain(odd.map(|path| file(path, "x")))
                .collect(),
        );
        assert_eq!(answer.files, [file("changed", "2"), file("new", "")]);
        assert_eq!(
            (answer.folders, answer.removed),
            (vec!["dir".to_owned()], vec!["gone".to_owned()])
        );
    }
}
