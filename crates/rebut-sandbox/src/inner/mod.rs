//! The inner stage: the first process in a cell. It gives up everything, starts the program, waits
//! for it, and its own end ends all.

mod calls;
pub(crate) mod canary;
mod files;
mod giving_up;
pub(crate) mod harness;
pub(crate) mod stand_in;

use crate::{
    sys,
    wire::{Orders, Reported, Status},
};
use rustix::process::{DumpableBehavior, WaitOptions, set_dumpable_behavior, wait};
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::process::ExitStatusExt,
    process::{Child, Command, ExitCode, ExitStatus},
};

/// The exit code of a stage that could not do all it must.
pub(crate) const REFUSED: u8 = 125;

/// Runs the program that the orders name. The two words are the numbers of the descriptors for
/// orders and reports.
pub(crate) fn main(orders: &str, report: &str) -> ExitCode {
    // Opened again by name: that needs no trust in numbers, and the new ones are not inherited.
    let report_to = OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{report}"));
    let Ok(mut report_to) = report_to else {
        eprintln!("the inner stage has nobody to report to");
        return ExitCode::from(REFUSED);
    };
    match run(orders, &mut report_to) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            if let Err(error) = say(&mut report_to, &Reported::Refused(why)) {
                eprintln!("cannot report: {error}");
            }
            ExitCode::from(REFUSED)
        }
    }
}

fn run(orders: &str, report_to: &mut File) -> Result<(), String> {
    let orders = File::open(format!("/proc/self/fd/{orders}"))
        .map_err(|error| format!("cannot open the orders: {error}"))?;
    let orders: Orders = serde_json::from_reader(io::BufReader::new(orders))
        .map_err(|error| format!("cannot read the orders: {error}"))?;
    sys::close_on_exec_from(3)
        .map_err(|error| format!("cannot close what was inherited: {error}"))?;
    // The program must not be able to look into its first process, which holds the way to report.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| format!("cannot hide the inner stage: {error}"))?;
    // Opened now: of `/proc` nothing may be left to read.
    let own = File::open("/proc/self/stat")
        .map_err(|error| format!("cannot look at the inner stage: {error}"))?;
    giving_up::limits(&orders)?;
    giving_up::capabilities()?;
    giving_up::new_privileges()?;
    files::restrict(&orders.readable)?;
    calls::restrict()?;
    let child = start(&orders)?;
    say(report_to, &Reported::Started).map_err(|error| format!("cannot report: {error}"))?;
    let status =
        wait_for(&child).map_err(|error| format!("cannot wait for the program: {error}"))?;
    let status = if status == KILLED && used_up(own, orders.limits.cpu_seconds()) {
        OUT_OF_TIME
    } else {
        status
    };
    say(report_to, &Reported::Ended(status)).map_err(|error| format!("cannot report: {error}"))
}

fn start(orders: &Orders) -> Result<Child, String> {
    let (program, arguments) = orders.argv.split_first().ok_or("no program is named")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(orders.env.iter().map(|(name, value)| (name, value)))
        .current_dir("/box");
    command.spawn().map_err(|error| {
        format!(
            "cannot start `{}`: {error}",
            rebut_engine::clean::on_one_line(program)
        )
    })
}

/// Waits for the program, and on the way for all whose parents are gone.
fn wait_for(child: &Child) -> io::Result<Status> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_pid().unsigned_abs() == child.id() => {
                return Ok(status_of(ExitStatus::from_raw(status.as_raw())));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn status_of(status: ExitStatus) -> Status {
    status.code().map_or_else(
        || Status::Signalled(status.signal().unwrap_or(0)),
        Status::Exited,
    )
}

const KILLED: Status = Status::Signalled(libc::SIGKILL);
/// How a program ends whose processor time is over, unless it ignores the signal and is killed for
/// the same reason.
const OUT_OF_TIME: Status = Status::Signalled(libc::SIGXCPU);

/// Whether the program used that much processor time, by what the kernel says of its parent now.
fn used_up(own: File, seconds: u64) -> bool {
    const OF_CHILDREN: std::ops::Range<usize> = 13..15;
    let stat = io::read_to_string(own).unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_ascii_whitespace().collect())
        .unwrap_or_default();
    let ticks: u64 = fields
        .get(OF_CHILDREN)
        .into_iter()
        .flatten()
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    ticks >= seconds.saturating_mul(rustix::param::clock_ticks_per_second())
}

fn say(to: &mut File, what: &Reported) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)
}
