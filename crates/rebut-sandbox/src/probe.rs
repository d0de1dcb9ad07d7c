//! Whether this machine can hold cells: bubblewrap is found, a canary is run in a real cell, and a
//! refusal says what to do about it.

use crate::{cell::Jail, inner::canary::DONE, limits::Limits, spec::Spec};
use rebut_engine::{
    clean::on_one_line,
    sandbox::{End, Refused},
};
use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

#[derive(Clone, Debug)]
pub(crate) struct Bubblewrap {
    pub path: PathBuf,
    /// Whether it can forbid user namespaces inside; older ones leave that to our list of system
    /// calls.
    pub can_disable_userns: bool,
}

/// Only places of the system: never one that a project or its search path names.
const PLACES: &[&str] = &[
    "/usr/bin/bwrap",
    "/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
];
const INSTALL: &str = "install it: `apt install bubblewrap` (Debian, Ubuntu), `dnf install \
    bubblewrap` (Fedora), `apk add bubblewrap` (Alpine)";
const LISTING: Duration = Duration::from_secs(10);

impl Bubblewrap {
    /// Looks for it where systems put it.
    pub(crate) async fn find() -> Result<Self, Refused> {
        let path = PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
        let path = path.ok_or_else(|| Refused {
            reason: "bubblewrap is not installed".to_owned(),
            fix: INSTALL.to_owned(),
        })?;
        let mut command = tokio::process::Command::new(&path);
        command
            .arg("--help")
            .env_clear()
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let said = tokio::time::timeout(LISTING, command.output()).await;
        let said = said.map_err(|_| explain("bubblewrap does not answer", ""))?;
        let said =
            said.map_err(|error| explain(&format!("bubblewrap cannot be started: {error}"), ""))?;
        let can_disable_userns = String::from_utf8_lossy(&[said.stdout, said.stderr].concat())
            .contains("--disable-userns");
        Ok(Self {
            path,
            can_disable_userns,
        })
    }
}

/// Runs the canary in a cell. Nothing it could do, and that it tried everything, is the proof.
pub(crate) async fn canary(jail: &Jail) -> Result<(), Refused> {
    let listener = TcpListener::bind(("127.0.0.1", 0));
    let port = listener
        .as_ref()
        .ok()
        .and_then(|listener| listener.local_addr().ok())
        .map_or(1, |address| address.port());
    let here = [
        std::env::current_dir().ok(),
        std::env::var_os("HOME").map(PathBuf::from),
        Some(jail.inner().program.clone()),
    ];
    let hidden = here
        .into_iter()
        .flatten()
        .filter(|path| is_outside(path))
        .map(|path| path.display().to_string());
    let argv = jail
        .inner_in_cell()
        .into_iter()
        .chain(["canary".to_owned(), port.to_string()])
        .chain(hidden);
    let spec = Spec {
        argv: argv.collect(),
        limits: Limits {
            wall: Duration::from_secs(30),
            ..Limits::default()
        },
        ..Spec::default()
    };
    let ended = jail.spawn(spec).await?.end().await;
    drop(listener);
    judge(&ended.end, &String::from_utf8_lossy(&ended.stdout))
}

/// What a canary's end and words prove. Only one that tried everything, could do nothing and ended
/// well proves that a cell holds.
fn judge(end: &End, said: &str) -> Result<(), Refused> {
    let mut could: Vec<&str> = said.lines().collect();
    let tried_everything = could.pop_if(|last| *last == DONE).is_some();
    let mut wrong = Vec::new();
    if !could.is_empty() {
        wrong.push(format!(
            "a program in it could {}",
            on_one_line(&could.join(", "))
        ));
    }
    if !tried_everything {
        wrong.push("the canary did not try everything".to_owned());
    }
    if *end != End::Exited(0) {
        wrong.push(format!("the canary ended as {end:?}"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Refused {
        reason: format!(
            "the sandbox does not hold on this machine: {}",
            wrong.join("; ")
        ),
        fix: "no code is run here; please report this with your kernel and distribution".to_owned(),
    })
}

/// Whether a path of the machine is none that a cell shows on purpose.
fn is_outside(path: &Path) -> bool {
    let shown = [
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/proc", "/dev", "/tmp",
        "/in", "/box",
    ];
    path.is_absolute()
        && path.parent().is_some()
        && !shown.iter().any(|folder| path.starts_with(folder))
}

/// What of this machine is in the way, as far as it tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    is_root: bool,
    apparmor_restricts: bool,
    no_user_namespaces: bool,
    not_for_users: bool,
    in_container: bool,
}

impl Facts {
    fn gather() -> Self {
        let says = |file: &str, value: &str| {
            std::fs::read_to_string(file).is_ok_and(|text| text.trim() == value)
        };
        Self {
            is_root: rustix::process::geteuid().is_root(),
            apparmor_restricts: says(
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                "1",
            ),
            no_user_namespaces: says("/proc/sys/user/max_user_namespaces", "0"),
            not_for_users: says("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            in_container: Path::new("/.dockerenv").exists()
                || Path::new("/run/.containerenv").exists(),
        }
    }
}

/// A refusal in words for people: what went wrong, what bubblewrap said of it, and what to do.
pub(crate) fn explain(why: &str, said: &str) -> Refused {
    let words: Vec<String> = [why, said]
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| on_one_line(text))
        .collect();
    Refused {
        reason: words.join(": "),
        fix: fix(why, Facts::gather()).to_owned(),
    }
}

/// What to do about it. The first that fits; what the machine itself tells counts before what is
/// guessed from words.
fn fix(why: &str, facts: Facts) -> &'static str {
    if why.contains("cannot start `") {
        return "install it, or name another program";
    }
    if why.contains(crate::warden::ALONE) {
        return "run rebut as an ordinary user, or in a namespace that has more users (`unshare \
            --map-root-user --map-auto`)";
    }
    if why.contains("Landlock") {
        return "use a kernel (5.13 or newer) with Landlock: add `landlock` to `lsm=` on its \
            command line";
    }
    let rows = [
        (
            facts.no_user_namespaces,
            "allow user namespaces: `sysctl user.max_user_namespaces=15000` as root",
        ),
        (
            facts.not_for_users && !facts.is_root,
            "allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1` as root",
        ),
        (
            facts.apparmor_restricts && !facts.is_root,
            "AppArmor (Ubuntu 24.04) keeps user namespaces from programs without a profile: give \
             rebut one with `userns,`, or \
             `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root",
        ),
        (
            facts.in_container,
            "start the container with `--security-opt seccomp=unconfined --security-opt \
             apparmor=unconfined --security-opt systempaths=unconfined`",
        ),
    ];
    let fallback =
        "see whether `bwrap --unshare-all --ro-bind / / true` works here, and what it says if not";
    rows.into_iter()
        .find_map(|(fits, fix)| fits.then_some(fix))
        .unwrap_or(fallback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_that_does_not_prove_everything_is_refused_by_name() {
        let failed = End::Exited(1);
        let rows: &[(&End, &str, &[&str])] = &[
            (
                &failed,
                "see /etc/shadow\ntried everything\n",
                &["could see /etc/shadow", "Exited(1)"],
            ),
            (
                &End::Exited(0),
                "write /usr/canary\ntried everything\n",
                &["could write /usr/canary"],
            ),
            (
                &failed,
                "reach a port of the machine\ntried everything\n",
                &["could reach a port of the machine"],
            ),
            (
                &failed,
                "see the variable OPENAI_API_KEY\ntried everything\n",
                &["could see the variable OPENAI_API_KEY"],
            ),
            (
                &failed,
                "see the environment of the first process\ntried everything\n",
                &["the environment of the first process"],
            ),
            (
                &failed,
                "have another Seccomp: than it must\ntried everything\n",
                &["could have another Seccomp: than it must"],
            ),
            (
                &failed,
                "make a namespace\ntried everything\n",
                &["could make a namespace"],
            ),
            (
                &failed,
                "see /home\nsee /var\ntried everything\n",
                &["could see /home, see /var"],
            ),
            (
                &failed,
                "see \u{1b}[2J/home\ntried everything\n",
                &["could see /home;"],
            ),
            (
                &End::Exited(0),
                "tried everything\u{1b}[0m\n",
                &["did not try everything"],
            ),
            (&End::Exited(0), "", &["did not try everything"]),
            (
                &End::Exited(0),
                "tried every",
                &["could tried every", "did not try everything"],
            ),
            (
                &End::Exited(0),
                "tried everything\nsee /home\n",
                &["see /home", "did not try everything"],
            ),
            (
                &End::Exited(0),
                "tried everything\ntried everything\n",
                &["a program in it could"],
            ),
            (
                &End::Exited(1),
                "tried everything\n",
                &["ended as Exited(1)"],
            ),
            (
                &End::Signalled(31),
                "tried everything\n",
                &["ended as Signalled(31)"],
            ),
            (
                &End::TimedOut,
                "",
                &["did not try everything", "ended as TimedOut"],
            ),
            (
                &End::Resource("memory".to_owned()),
                "tried everything\n",
                &["memory"],
            ),
        ];
        for (end, said, expected) in rows {
            let refused = judge(end, said).expect_err(said);
            assert!(
                refused.reason.starts_with("the sandbox does not hold") && !refused.fix.is_empty(),
                "{refused:?}"
            );
            assert!(
                expected.iter().all(|words| refused.reason.contains(words)),
                "{said:?}: {}",
                refused.reason
            );
        }
        assert_eq!(judge(&End::Exited(0), "tried everything\n"), Ok(()));
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let none = Facts::default();
        let rows = [
            ("cannot start `ghc`: not found", none, "install it"),
            ("Landlock is not applied by this kernel", none, "lsm="),
            (
                crate::warden::ALONE,
                Facts {
                    in_container: true,
                    is_root: true,
                    ..none
                },
                "--map-auto",
            ),
            (
                "cannot make a namespace",
                Facts {
                    no_user_namespaces: true,
                    ..none
                },
                "user.max_user_namespaces",
            ),
            (
                "cannot make a namespace",
                Facts {
                    no_user_namespaces: true,
                    is_root: true,
                    ..none
                },
                "user.max_user_namespaces",
            ),
            (
                "cannot make a namespace",
                Facts {
                    not_for_users: true,
                    ..none
                },
                "unprivileged_userns_clone",
            ),
            (
                "cannot mount",
                Facts {
                    apparmor_restricts: true,
                    ..none
                },
                "AppArmor (Ubuntu 24.04)",
            ),
            (
                "cannot make a namespace",
                Facts {
                    in_container: true,
                    ..none
                },
                "--security-opt",
            ),
            (
                "something else",
                Facts {
                    not_for_users: true,
                    is_root: true,
                    ..none
                },
                "bwrap --unshare-all",
            ),
        ];
        for (why, facts, expected) in rows {
            assert!(
                fix(why, facts).contains(expected),
                "{why} {facts:?}: {}",
                fix(why, facts)
            );
        }
    }
}
