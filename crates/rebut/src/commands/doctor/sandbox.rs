//! What this machine has for running untrusted code. It is only reported.

use serde::Serialize;
use std::path::PathBuf;

/// What could hold untrusted code.
#[derive(Debug, Default, Serialize)]
pub struct Sandbox {
    /// Where bubblewrap is; null when it is not installed.
    pub bubblewrap: Option<PathBuf>,
    /// Whether the kernel lets users make namespaces; null when it does not tell.
    pub user_namespaces: Option<bool>,
}

/// Files in which a kernel says that users may not make namespaces, and what they then hold.
const REFUSALS: &[(&str, &str)] = &[
    ("/proc/sys/user/max_user_namespaces", "0"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
];

impl Sandbox {
    /// Looks for it along that search path.
    pub fn look(path: &str) -> Self {
        let bubblewrap = std::env::split_paths(path).map(|dir| dir.join("bwrap")).find(|file| file.is_file());
        let told: Vec<bool> =
            REFUSALS.iter().filter_map(|(file, refused)| Some(std::fs::read_to_string(file).ok()?.trim() != *refused)).collect();
        Self { bubblewrap, user_namespaces: (!told.is_empty()).then(|| told.iter().all(|allowed| *allowed)) }
    }
}
