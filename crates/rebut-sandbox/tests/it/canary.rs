//! The canary where no cell holds it: it notices everything, so what it does not say in a cell is a
//! proof.

use crate::inner;
use std::{net::TcpListener, process::Command};

/// What it must notice where only writing to the machine is kept from it.
const COULD: &[&str] = &[
    "see /etc/passwd",
    "see /var",
    "see /sys",
    "write /dev/canary",
    "reach a port of the machine",
    "see the variable REBUT_SECRET",
    "have another Seccomp: than it must",
    "make a namespace",
    "see network devices",
];

#[test]
fn outside_of_a_cell_the_canary_says_what_it_could_do() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string();
    let mut command = Command::new("bwrap");
    // Its files cannot be written, because this is a machine somebody needs.
    command.args([
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--",
    ]);
    command
        .arg(inner().program)
        .args(inner().args)
        .args(["canary", &port, "/etc/passwd"])
        .env("REBUT_SECRET", "x");
    let output = command.output().expect("bwrap: install bubblewrap");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let missed: Vec<_> = COULD
        .iter()
        .filter(|what| !said.lines().any(|line| line == **what))
        .collect();
    assert!(
        missed.is_empty(),
        "it missed {missed:?}:\n{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        (output.status.code(), said.lines().next_back()),
        (Some(1), Some("tried everything")),
        "{said}"
    );
}
