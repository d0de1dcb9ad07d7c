//! Case 41: many cells at once all end, and nothing is left of cells whose program was killed.

use crate::{inner, users};
use rebut_engine::sandbox::End;
use rebut_sandbox::{Cell, Jail, Limits, Spec};
use rebut_testkit::processes::Family;
use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

/// Tells this test that it is the process which holds cells.
const HOLDER: &str = "REBUT_TEST_HOLDS_CELLS";

fn shell(script: &str) -> Spec {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    Spec {
        argv,
        limits: Limits {
            wall: Duration::from_secs(300),
            ..Limits::default()
        },
        ..Spec::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_two_cells_at_once_all_end() {
    let jail = Jail::prove(inner())
        .await
        .expect("this machine holds cells");
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let jail = jail.clone();
            tokio::spawn(async move {
                let script = format!(
                    "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo \
                    {number} > /tmp/x; cat /tmp/x; exit {number}"
                );
                jail.spawn(shell(&script))
                    .await
                    .expect("a cell")
                    .end()
                    .await
            })
        })
        .collect();
    for (number, task) in (0..32).zip(tasks) {
        let ended = task.await.expect("it ends");
        assert_eq!(
            (ended.end, ended.stdout),
            (End::Exited(number), format!("{number}\n").into_bytes())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_cell_is_gone_and_gives_its_place_back() {
    let jail = Jail::prove(inner())
        .await
        .expect("this machine holds cells");
    let mut held = Vec::new();
    // More than there are places: the last can only start when dropped ones are gone.
    for number in 0..3 * 2 * std::thread::available_parallelism().map_or(1, usize::from) {
        let cell = jail
            .spawn(shell("sleep 600"))
            .await
            .unwrap_or_else(|refused| panic!("cell {number}: {refused}"));
        held.push(cells_here());
        drop(cell);
    }
    assert!(
        held.iter().all(|family| family.count("sleep 600") > 0),
        "each was alive: {held:?}"
    );
    held.iter().for_each(Family::wait_until_gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_whose_warden_was_killed_is_gone_and_says_so() {
    let jail = Jail::prove(inner())
        .await
        .expect("this machine holds cells");
    let cell = jail.spawn(shell("sleep 600")).await.expect("a cell");
    let held = cells_here();
    held.kill(" warden");
    assert_eq!(
        cell.end().await.end,
        End::Resource("the cell was ended from outside".to_owned())
    );
    held.wait_until_gone();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_process_that_was_killed() {
    if std::env::var_os(HOLDER).is_some() {
        hold().await;
    }
    let mut command = Command::new(std::env::current_exe().expect("a test knows itself"));
    command
        .args([
            "--exact",
            "many::nothing_is_left_of_a_process_that_was_killed",
            "--nocapture",
        ])
        .env(HOLDER, "1");
    let mut holder = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this test again");
    let output = BufReader::new(holder.stdout.take().expect("its output"));
    assert!(
        output
            .lines()
            .map_while(Result::ok)
            .any(|line| line == "holding"),
        "no cells were held"
    );
    let held = Family::below(holder.id());
    assert!(held.count("600") >= 4, "four cells run: {held:?}");
    holder
        .kill()
        .and_then(|()| holder.wait())
        .expect("it was alive");
    held.wait_until_gone();
    let name = format!("rebut-cell-{}-", holder.id());
    assert_eq!(
        groups()
            .into_iter()
            .filter(|group| group.starts_with(&name))
            .collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}

#[test]
fn nothing_is_left_of_an_ordinary_users_process_that_was_killed() {
    users::as_ordinary_user("many::nothing_is_left_of_a_process_that_was_killed");
}

/// Holds four cells, one with a daemon in it, until somebody kills this process.
async fn hold() -> ! {
    let jail = Jail::prove(inner())
        .await
        .expect("this machine holds cells");
    let mut cells: Vec<Cell> = Vec::new();
    for _ in 0..4 {
        cells.push(
            jail.spawn(shell(
                "trap '' TERM HUP INT; (setsid sleep 600 &) ; sleep 600",
            ))
            .await
            .expect("a cell"),
        );
    }
    println!("\nholding");
    std::future::pending::<()>().await;
    unreachable!("{} cells are held forever", cells.len())
}

/// All processes of this test's cells. The sweeper stays as long as the test itself.
fn cells_here() -> Family {
    Family::below(std::process::id()).without(" sweeper ")
}

/// The names of all control groups of cells.
fn groups() -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        {
            names.extend(entry.file_name().into_string().ok());
            folders.push(entry.path());
        }
    }
    names
}
