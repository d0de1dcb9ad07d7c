//! What holds for a whole process: where things are, and how much is said.

use crate::{beneath, hint_command::Typed};
use rebut_engine::model::{Fault, Model};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Asks the person at this process, `human` or `human:NAME`: given the name, and whether anybody
/// may be asked at all. How they are asked is the surface's business.
pub type OpenHuman = fn(&str, bool) -> Result<Arc<dyn Model>, Fault>;

/// What a surface was started with.
#[derive(Clone, Debug)]
pub struct Global {
    /// The data directory, where one was named.
    pub data: Option<PathBuf>,
    /// The configuration file, where one was named instead of the project's.
    pub config: Option<PathBuf>,
    /// The server that holds debates, where not this machine.
    pub server: Option<String>,
    /// The file with the token for it.
    pub token_file: Option<PathBuf>,
    pub quiet: bool,
    /// Whether nobody may be asked, also on a terminal.
    pub no_input: bool,
    /// Which of them were typed, of those that say where debates are.
    pub typed: Typed,
    /// The folder in which they were typed, where that is not the current one any more.
    pub typed_in: Option<PathBuf>,
    pub human: OpenHuman,
}

impl Global {
    /// Where the path of one of them leads.
    pub fn path(&self, path: &Path) -> std::io::Result<beneath::Typed> {
        match &self.typed_in {
            Some(dir) => beneath::Typed::typed_in(dir, path),
            None => beneath::Typed::new(path),
        }
    }
}
