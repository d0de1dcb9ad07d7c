//! Case 41: many cells at once all end, and nothing is left of cells whose program was killed.

use crate::{inner, users};
use rebut_engine::sandbox::End;
use rebut_sandbox::{Cell, Jail, Limits, Spec};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

/// Tells this test that it is the process which holds cells.
const HOLDER: &str = "REBUT_TEST_HOLDS_CELLS";
/// Looks at `/proc` until everything must be gone: the pauses between them make up the two seconds that are promised.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

fn shell(script: &str) -> Spec {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    Spec { argv, limits: Limits { wall: Duration::from_secs(300), ..Limits::default() }, ..Spec::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_two_cells_at_once_all_end() {
    let jail = Jail::prove(inner()).await.expect("this machine holds cells");
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let jail = jail.clone();
            tokio::spawn(async move {
                let script = format!("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo {number} > /tmp/x; cat /tmp/x; exit {number}");
                jail.spawn(shell(&script)).await.expect("a cell").end().await
            })
        })
        .collect();
    for (number, task) in (0..32).zip(tasks) {
        let ended = task.await.expect("it ends");
        assert_eq!((ended.end, ended.stdout), (End::Exited(number), format!("{number}\n").into_bytes()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_cell_is_gone_and_gives_its_place_back() {
    let jail = Jail::prove(inner()).await.expect("this machine holds cells");
    // More than there are places: the last can only start when dropped ones are gone.
    for number in 0..3 * 2 * std::thread::available_parallelism().map_or(1, usize::from) {
        let cell = jail.spawn(shell("sleep 600")).await.unwrap_or_else(|refused| panic!("cell {number}: {refused}"));
        drop(cell);
    }
    wait_until_gone(&descendants(std::process::id()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_whose_warden_was_killed_is_gone_and_says_so() {
    let jail = Jail::prove(inner()).await.expect("this machine holds cells");
    let cell = jail.spawn(shell("sleep 600")).await.expect("a cell");
    let held = descendants(std::process::id());
    let is_warden = |pid: &&u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with("warden\0"));
    let warden = held.keys().find(is_warden).expect("a warden");
    let warden = rustix::process::Pid::from_raw(i32::try_from(*warden).expect("a number")).expect("not zero");
    rustix::process::kill_process(warden, rustix::process::Signal::KILL).expect("it was alive");
    assert_eq!(cell.end().await.end, End::Resource("the cell was ended from outside".to_owned()));
    wait_until_gone(&held);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_process_that_was_killed() {
    if std::env::var_os(HOLDER).is_some() {
        hold().await;
    }
    let mut command = Command::new(std::env::current_exe().expect("a test knows itself"));
    command.args(["--exact", "many::nothing_is_left_of_a_process_that_was_killed", "--nocapture"]).env(HOLDER, "1");
    let mut holder = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("this test again");
    let output = BufReader::new(holder.stdout.take().expect("its output"));
    assert!(output.lines().map_while(Result::ok).any(|line| line == "holding"), "no cells were held");
    let held = descendants(holder.id());
    let deep = held.keys().filter(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("600"))).count();
    assert!(deep >= 4, "four cells run: {held:?}");
    holder.kill().and_then(|()| holder.wait()).expect("it was alive");
    wait_until_gone(&held);
    // Control groups of the dead are removed by the next that needs some.
    Jail::prove(inner()).await.expect("this machine holds cells");
    let name = format!("rebut-cell-{}-", holder.id());
    assert_eq!(groups().into_iter().filter(|group| group.starts_with(&name)).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn nothing_is_left_of_an_ordinary_users_process_that_was_killed() {
    users::as_ordinary_user("many::nothing_is_left_of_a_process_that_was_killed");
}

/// Holds four cells, one with a daemon in it, until somebody kills this process.
async fn hold() -> ! {
    let jail = Jail::prove(inner()).await.expect("this machine holds cells");
    let mut cells: Vec<Cell> = Vec::new();
    for _ in 0..4 {
        cells.push(jail.spawn(shell("trap '' TERM HUP INT; (setsid sleep 600 &) ; sleep 600")).await.expect("a cell"));
    }
    println!("\nholding");
    std::future::pending::<()>().await;
    unreachable!("{} cells are held forever", cells.len())
}

/// All processes below that one, with the moment each started.
fn descendants(of: u32) -> BTreeMap<u32, String> {
    let all: BTreeMap<u32, (u32, String)> = fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| Some((pid, parent_and_start(pid)?)))
        .collect();
    let mut found = BTreeMap::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        for (pid, (_, start)) in all.iter().filter(|(_, (its, _))| *its == parent) {
            found.insert(*pid, start.clone());
            parents.push(*pid);
        }
    }
    found
}

fn parent_and_start(pid: u32) -> Option<(u32, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some((fields.get(1)?.parse().ok()?, (*fields.get(19)?).to_owned()))
}

fn wait_until_gone(processes: &BTreeMap<u32, String>) {
    let left = || processes.iter().filter(|(pid, start)| parent_and_start(**pid).is_some_and(|(_, now)| now == **start)).count();
    for _ in 0..LOOKS {
        if left() == 0 {
            return;
        }
        std::thread::sleep(BETWEEN_LOOKS); // tidy: between two of a bounded number of looks
    }
    panic!("{} of {processes:?} are left", left());
}

/// The names of all control groups of cells.
fn groups() -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        {
            names.extend(entry.file_name().into_string().ok());
            folders.push(entry.path());
        }
    }
    names
}
