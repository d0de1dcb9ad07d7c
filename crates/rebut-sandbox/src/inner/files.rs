//! Landlock: which files a cell may read and write, besides what its mounts show.

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use std::path::PathBuf;

/// Where a cell may write anything.
const WRITABLE: &[&str] = &["/box", "/tmp", "/dev/shm"];
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];
/// What must be there; newer kernels add to it, and what they add is used.
const REQUIRED: ABI = ABI::V1;
const NEWEST: ABI = ABI::V6;

/// Allows what is listed, and nothing else from now on.
pub(super) fn restrict(readable: &[PathBuf]) -> Result<(), String> {
    let status = rules(readable)
        .and_then(|rules| rules.restrict_self().map_err(|error| error.to_string()))
        .map_err(|error| format!("Landlock cannot be applied: {error}"))?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("Landlock is not applied by this kernel".to_owned()),
        _ => Ok(()),
    }
}

fn rules(readable: &[PathBuf]) -> Result<RulesetCreated, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))
        .map_err(|error| said(&error))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(|error| said(&error))?;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let rows = readable
        .iter()
        .map(|path| (path.clone(), AccessFs::from_read(NEWEST)));
    let rows = rows.chain(
        WRITABLE
            .iter()
            .map(|path| (PathBuf::from(path), AccessFs::from_all(NEWEST))),
    );
    let rows = rows.chain(DEVICES.iter().map(|path| (PathBuf::from(path), device)));
    for (path, mut access) in rows.filter(|(path, _)| path.exists()) {
        if !path.is_dir() {
            access &= AccessFs::from_file(NEWEST);
        }
        let opened = PathFd::new(&path).map_err(|error| said(&error))?;
        rules = rules
            .add_rule(PathBeneath::new(opened, access))
            .map_err(|error| said(&error))?;
    }
    Ok(rules)
}
