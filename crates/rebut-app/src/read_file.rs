//! Reading the files that a user names: so much of them at most, and text; `-` is standard input
//! where that is offered.

use crate::{beneath::Typed, error::AppError};
use flate2::read::MultiGzDecoder;
use std::{fs::File, io::Read, path::Path};

/// The text of a file that a user named.
pub fn text(path: &Path) -> Result<String, AppError> {
    let bytes = bytes(path)?;
    String::from_utf8(bytes).map_err(|_| not_text(&path.display().to_string()))
}

/// The text of a file at a place of the user's own, such as their configuration: a link there is
/// theirs.
pub fn own_text(path: &Path) -> Result<String, AppError> {
    let failed = |error: std::io::Error| AppError::file("read", path, &error);
    let file = File::open(path).map_err(failed)?; // tidy: a place of the user's own
    let bytes = bounded(file, &path.display().to_string(), MOST_BYTES, failed)?;
    String::from_utf8(bytes).map_err(|_| not_text(&path.display().to_string()))
}

/// The same for a file that need not be there.
pub fn text_if_there(path: &Path) -> Result<Option<String>, AppError> {
    match Typed::new(path).and_then(|path| path.open()) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        _ => text(path).map(Some),
    }
}

/// The same; `-` is standard input.
pub fn text_or_stdin(path: &Path) -> Result<String, AppError> {
    if path.as_os_str() == "-" {
        stdin()
    } else {
        text(path)
    }
}

/// All of standard input, within the same bound.
pub fn stdin() -> Result<String, AppError> {
    let failed =
        |error: std::io::Error| AppError::failed(format!("cannot read standard input: {error}"));
    let bytes = bounded(
        std::io::stdin().lock(),
        "standard input",
        MOST_BYTES,
        failed,
    )?;
    String::from_utf8(bytes).map_err(|_| not_text("standard input"))
}

/// The largest file that is read.
const MOST_BYTES: u64 = 16 << 20;

/// The same for journals and recorded answers, which grow with what was said.
pub const MOST_BYTES_OF_RECORDS: u64 = 1 << 30;

/// The bytes of a file that a user named. It may be a pipe, as a shell's `<(…)` is; one that never
/// ends is left at the bound.
pub fn bytes(path: &Path) -> Result<Vec<u8>, AppError> {
    bounded(
        open(path)?,
        &path.display().to_string(),
        MOST_BYTES,
        |error| AppError::file("read", path, &error),
    )
}

/// The text of a file of records that a user named, such as a journal, of so many bytes at most;
/// one whose name ends in `.gz` is unpacked, and may be far larger inside.
pub fn records(path: &Path, most: u64) -> Result<String, AppError> {
    let file = open(path)?;
    let packed = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("gz"));
    let source: Box<dyn Read> = if packed {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let name = path.display().to_string();
    let bytes = bounded(source, &name, most, |error| {
        AppError::file("read", path, &error)
    })?;
    String::from_utf8(bytes).map_err(|_| not_text(&name))
}

/// The bytes of a script, which was named in `dir`.
pub fn script(dir: &Path, name: &str) -> std::io::Result<Vec<u8>> {
    let file = Typed::typed_in(dir, Path::new(name)).and_then(|path| path.open_regular())?;
    let mut bytes = Vec::new();
    match file.take(MOST_BYTES + 1).read_to_end(&mut bytes)? as u64 {
        0..=MOST_BYTES => Ok(bytes),
        _ => Err(std::io::Error::other(format!(
            "it holds more than {} MiB",
            MOST_BYTES >> 20
        ))),
    }
}

/// Opens a file that a user named, to read.
fn open(path: &Path) -> Result<File, AppError> {
    let failed = |error: std::io::Error| AppError::file("read", path, &error);
    let is_folder = || {
        AppError::usage(format!("cannot read {}: it is a folder", path.display()))
            .hint("name a file")
    };
    let file = match Typed::new(path).and_then(|path| path.open()) {
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => return Err(is_folder()),
        file => file.map_err(failed)?,
    };
    if file.metadata().map_err(failed)?.is_dir() {
        Err(is_folder())
    } else {
        Ok(file)
    }
}

fn bounded(
    source: impl Read,
    name: &str,
    most: u64,
    failed: impl Fn(std::io::Error) -> AppError,
) -> Result<Vec<u8>, AppError> {
    let mut bytes = Vec::new();
    // One byte more than allowed shows that there is more.
    source
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(
            AppError::usage(format!("{name} holds more than {} MiB", most >> 20))
                .hint("give a smaller file"),
        );
    }
    Ok(bytes)
}

fn not_text(name: &str) -> AppError {
    AppError::usage(format!("cannot read {name}: it is not text")).hint("write it as UTF-8")
}
