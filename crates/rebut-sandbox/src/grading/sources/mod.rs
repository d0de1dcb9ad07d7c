//! How code and tests of compiled languages are made into one program: the names of the tests from
//! their text, and our own main around them.

pub(super) mod c;
pub(super) mod go;
pub(super) mod rust;
pub(super) mod script;
pub(super) mod shell;
pub(super) mod shell_origins;
mod shell_words;
mod tokens;
