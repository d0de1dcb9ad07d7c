//! Disks that fail: one that is full and has room again, a file that was taken away, a medium that
//! takes no changes, a sync that fails.

use crate::{ask, database, journal, open};
use rebut_engine::{
    DebateId,
    record::Record,
    store::{Append, Claim, Durability, Filter, Status, Store, StoreError},
};
use rebut_store::SqliteStore;
use rebut_testkit::{
    conformance::{append_of, more_records, session_of},
    disk::{SmallDisk, has_own_mounts, make_read_only},
};
use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// The next append of a debate that is run here.
fn next(debate: DebateId, written: &[Record], round: usize) -> Append {
    let records = more_records(
        debate,
        written,
        1 + round % 3,
        &"text ".repeat(200 * (round % 5)),
    );
    let durability = if round.is_multiple_of(2) {
        Durability::Power
    } else {
        Durability::Process
    };
    let session = Some(Box::new(session_of(debate, "2026", Status::Running)));
    Append {
        durability,
        session,
        claim: if round == 0 { Claim::Take } else { Claim::Hold },
        ..append_of(debate, &records)
    }
}

/// Waits until the store says of itself that it can be written; nobody writes anything meanwhile.
async fn until_writable(store: &SqliteStore) {
    let hang_guard = Instant::now();
    while let Err(error) = store.check_writable().await {
        assert!(
            hang_guard.elapsed() < Duration::from_secs(30),
            "it never works again: {error}"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_works_again_when_it_has_room() {
    if !has_own_mounts("disk::a_full_disk_loses_nothing_and_works_again_when_it_has_room") {
        return;
    }
    let (folder, _) = database();
    for left in 0..30 {
        let disk = SmallDisk::mount(&folder.path().join(left.to_string()), 2048);
        let path = folder.path().join(left.to_string()).join("rebut.db");
        let store = open(&path);
        let (debate, other) = (DebateId::new(), DebateId::new());
        let mut written = Vec::new();
        for round in 0..3 {
            let append = next(debate, &written, round);
            written.extend(append.records.clone());
            store.append(append).await.expect("there is room");
        }
        disk.fill(left);
        let refused = loop {
            let append = next(debate, &written, written.len());
            match store.append(append.clone()).await {
                Ok(()) => written.extend(append.records),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(refused, StoreError::Unwritable(_)),
            "{left} pages left: {refused:?}"
        );
        let start = store.append(next(other, &[], 0)).await;
        assert!(
            matches!(start, Err(StoreError::Unwritable(_))),
            "{left} pages left: {start:?}"
        );
        let check = store.check_writable().await;
        assert!(
            matches!(check, Err(StoreError::Unwritable(_))),
            "{left} pages left: {check:?}"
        );
        assert_eq!(
            journal(&store, debate).await,
            written,
            "{left} pages left: what was acknowledged can be read"
        );
        assert_eq!(
            store.runner(debate).await,
            Ok(Some(format!("process {}", std::process::id()))),
            "and is still run here"
        );
        disk.free();
        until_writable(&store).await;
        for round in 3..6 {
            let append = next(debate, &written, round);
            written.extend(append.records.clone());
            store.append(append).await.expect("there is room again");
        }
        assert_eq!(
            journal(&store, other).await,
            [],
            "nothing is left of a start that was refused"
        );
        drop(store);
        assert_eq!(
            journal(&open(&path), debate).await,
            written,
            "{left} pages left"
        );
        assert_eq!(
            ask(
                &path,
                "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
            ),
            0
        );
    }
}

#[tokio::test]
async fn a_disk_that_is_full_from_the_start_is_told_of_and_can_be_read() {
    if !has_own_mounts("disk::a_disk_that_is_full_from_the_start_is_told_of_and_can_be_read") {
        return;
    }
    let (folder, _) = database();
    let place = folder.path().join("disk");
    let disk = SmallDisk::mount(&place, 1024);
    let path = place.join("rebut.db");
    let debate = DebateId::new();
    let records = more_records(debate, &[], 2, "kept");
    open(&path)
        .append(append_of(debate, &records))
        .await
        .expect("append");
    for left in 0..12 {
        disk.fill(left);
        match SqliteStore::open(&path) {
            Ok(store) => assert_eq!(journal(&store, debate).await, records, "{left} pages left"),
            Err(why) => {
                assert!(
                    matches!(why, StoreError::Unwritable(_) | StoreError::NoPlace { .. }),
                    "{left} pages left: {why:?}"
                );
                let store =
                    SqliteStore::open_read_only(&path, why.clone()).expect("it can be read");
                assert_eq!(journal(&store, debate).await, records, "{left} pages left");
                assert_eq!(store.append(next(DebateId::new(), &[], 0)).await, Err(why));
            }
        }
        disk.free();
    }
}

/// What can become of the files of a database, and whether one who reads may go on as if nothing
/// had happened.
type Harm = (&'static str, fn(&Path), bool);

#[tokio::test]
async fn a_file_that_was_taken_away_is_neither_written_nor_read() {
    let moved = |path: &Path, end: &str| {
        let name = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
        fs::rename(name(end), name(&format!("{end}.away"))).expect("a file");
    };
    let harms: [Harm; 4] = [
        ("deleted", |_| {}, false),
        (
            "replaced by a backup",
            |path| assert!(fs::copy(path.with_extension("backup"), path).is_ok()),
            false,
        ),
        ("log deleted", |_| {}, true),
        ("index of the log deleted", |_| {}, true),
    ];
    for (at, (what, harm, only_writing)) in harms.into_iter().enumerate() {
        let (_folder, path) = database();
        drop(open(&path));
        fs::copy(&path, path.with_extension("backup")).expect("a backup");
        let store = open(&path);
        let debate = DebateId::new();
        let first = next(debate, &[], 0);
        store.append(first.clone()).await.expect("append");
        let end = ["", "", "-wal", "-shm"][at];
        moved(&path, end);
        harm(&path);
        let before = fs::read(&path).ok();
        let second = next(debate, &first.records, 1);
        for answer in [
            store.append(second.clone()).await,
            store.check_writable().await,
            store.append(next(DebateId::new(), &[], 0)).await,
        ] {
            assert_eq!(
                answer,
                Err(StoreError::Replaced(format!("{}{end}", path.display()))),
                "{what}"
            );
        }
        let read = store.load(debate, 0).await;
        assert!(
            read.is_err() || (only_writing && read == Ok(first.records.clone())),
            "{what}: {read:?}"
        );
        assert_eq!(
            fs::read(&path).ok(),
            before,
            "{what}: what is there now is left alone"
        );
        // Put back, it is what it was.
        fs::rename(
            format!("{}{end}.away", path.display()),
            format!("{}{end}", path.display()),
        )
        .expect("a file");
        store
            .append(second.clone())
            .await
            .expect("the file that was opened");
        assert_eq!(
            journal(&store, debate).await,
            [first.records, second.records].concat(),
            "{what}"
        );
        drop(store);
        assert_eq!(journal(&open(&path), debate).await.len(), 3, "{what}");
    }
}

#[tokio::test]
async fn what_lies_on_a_medium_without_changes_can_be_read() {
    if !has_own_mounts("disk::what_lies_on_a_medium_without_changes_can_be_read") {
        return;
    }
    for what in ["closed", "with its log", "with a living writer"] {
        let (folder, _) = database();
        // A name with everything that means something in an address.
        let place = folder.path().join("a b%20?immutable=0#é");
        let path = place.join("rebut.db");
        let debate = DebateId::new();
        let append = next(debate, &[], 0);
        let store = open(&path);
        store.append(append.clone()).await.expect("append");
        let mut living = None;
        match what {
            "with its log" => {
                let copies = ["", "-wal"].map(|end| {
                    (
                        end,
                        fs::read(format!("{}{end}", path.display())).expect("bytes"),
                    )
                });
                drop(store);
                copies.iter().for_each(|(end, bytes)| {
                    fs::write(format!("{}{end}", path.display()), bytes).expect("a copy")
                });
            }
            "with a living writer" => living = Some(store),
            _ => drop(store),
        }
        make_read_only(&place);
        let names = || fs::read_dir(&place).expect("a folder").count();
        let before = names();
        // Beside a living writer nothing has to be made to read it.
        let opened = SqliteStore::open(&path);
        assert_eq!(opened.is_ok(), living.is_some(), "{what}");
        let store = opened.or_else(|why| {
            assert!(
                matches!(why, StoreError::NoPlace { .. } | StoreError::Unwritable(_)),
                "{what}: {why:?}"
            );
            SqliteStore::open_read_only(&path, why)
        });
        let store = store.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(journal(&store, debate).await, append.records, "{what}");
        assert_eq!(
            store
                .sessions(&Filter::default())
                .await
                .expect("sessions")
                .len(),
            1,
            "{what}"
        );
        store.check().await.expect("whole");
        let refused = store.append(next(debate, &append.records, 1)).await;
        assert!(
            matches!(
                refused,
                Err(StoreError::NoPlace { .. } | StoreError::Unwritable(_))
            ),
            "{what}: {refused:?}"
        );
        drop((store, living));
        assert_eq!(names(), before, "{what}: nothing is made beside it");
    }
}

const DATABASE: &str = "REBUT_TEST_FAILING_DATABASE";

/// A library whose syncs fail while a file is there: always if that is empty, otherwise as often as
/// it has bytes. While another is there, a quota is used up.
const FAILING: &str = r#"
    #include <errno.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/stat.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    static int fails(void) {
        const char *f = getenv("REBUT_TEST_FAILS");
        struct stat s;
        if (!f || stat(f, &s) != 0) return 0;
        if (s.st_size == 1) return unlink(f) == 0;
        return s.st_size == 0 || truncate(f, s.st_size - 1) == 0;
    }
    int fsync(int fd) { if (fails()) { errno = EIO; return -1; } return syscall(SYS_fsync, fd); }
    int fdatasync(int fd) { if (fails()) { errno = EIO; return -1; } return syscall(SYS_fdatasync, fd); }
    static int is_over_quota(void) {
        char name[4096];
        const char *f = getenv("REBUT_TEST_FAILS");
        return f && snprintf(name, sizeof name, "%s.quota", f) > 0 && access(name, F_OK) == 0;
    }
    ssize_t pwrite64(int fd, const void *from, size_t count, off_t at) {
        if (is_over_quota()) { errno = EDQUOT; return -1; }
        return syscall(SYS_pwrite64, fd, from, count, at);
    }
    ssize_t pwrite(int fd, const void *from, size_t count, off_t at) { return pwrite64(fd, from, count, at); }
"#;

/// Runs one of the children below on a disk that fails when it says so.
fn run_on_failing_disk(child: &str) {
    let (folder, path) = database();
    let source = folder.path().join("failing.c");
    let library = folder.path().join("failing.so");
    fs::write(&source, FAILING).expect("a file");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()
        .expect("a C compiler");
    assert!(compiled.success());
    let mut command = Command::new(env::current_exe().expect("this test"));
    command.args(["--exact", child, "--nocapture"]);
    command
        .env(DATABASE, &path)
        .env("LD_PRELOAD", &library)
        .env("REBUT_TEST_FAILS", folder.path().join("fails"));
    let output = command.output().expect("a child");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The database of a child, and the file that makes its disk fail.
fn in_child() -> Option<(PathBuf, PathBuf)> {
    let (Ok(path), Ok(switch)) = (env::var(DATABASE), env::var("REBUT_TEST_FAILS")) else {
        return None;
    };
    Some((path.into(), switch.into()))
}

/// A sync that fails leaves open what is on the disk: whoever wrote is told that nobody knows,
/// everything is read anew, and it goes on.
#[test]
fn after_a_sync_that_failed_the_log_is_read_anew() {
    run_on_failing_disk("disk::child_whose_disk_fails");
}

/// Not a test by itself: what the child above does. Half of the time somebody watches for changes
/// by others, as every server does.
#[tokio::test]
async fn child_whose_disk_fails() {
    let Some((path, switch)) = in_child() else {
        return;
    };
    let store = open(&path);
    let debate = DebateId::new();
    let mut written = Vec::new();
    for round in 0..6 {
        if round == 3 {
            // What it tells is not of interest: a commit of ours of which nobody knew may count as
            // another's.
            drop(tokio::time::timeout(Duration::ZERO, store.changed_elsewhere()).await);
        }
        for round in [1, 0] {
            let append = next(
                debate,
                &written,
                if written.is_empty() { 0 } else { 1 + round },
            );
            written.extend(append.records.clone());
            store.append(append).await.expect("append");
        }
        fs::write(&switch, "").expect("the switch");
        let append = Append {
            durability: Durability::Power,
            ..next(debate, &written, 1)
        };
        let answer = store.append(append.clone()).await;
        assert!(
            matches!(answer, Err(StoreError::Unavailable(_))),
            "round {round}: whether it happened is not known: {answer:?}"
        );
        let later = store
            .append(Append {
                durability: Durability::Power,
                ..next(DebateId::new(), &[], 0)
            })
            .await;
        assert!(
            later.as_ref().is_err_and(StoreError::is_passing),
            "round {round}: {later:?}"
        );
        fs::remove_file(&switch).expect("the switch");
        until_writable(&store).await;
        let there = journal(&store, debate).await;
        assert_eq!(
            there[..written.len()],
            written,
            "round {round}: what was acknowledged is there"
        );
        match store.append(append.clone()).await {
            Ok(()) => assert_eq!(there.len(), written.len(), "round {round}"),
            Err(StoreError::Conflict { .. }) => assert_eq!(
                there[written.len()..],
                append.records,
                "round {round}: it had happened"
            ),
            Err(error) => panic!("round {round}: {error}"),
        }
        written.extend(append.records);
    }
    drop(store);
    assert_eq!(journal(&open(&path), debate).await, written);
}

/// However many syncs fail one after the other, also those of attempts to go on: it works again,
/// and what an attempt that failed took away is not missed.
#[test]
fn it_works_again_wherever_the_disk_begins_to_work() {
    run_on_failing_disk("disk::child_whose_disk_fails_for_a_while");
}

/// Not a test by itself: what the child above does.
#[tokio::test]
async fn child_whose_disk_fails_for_a_while() {
    let Some((path, switch)) = in_child() else {
        return;
    };
    let store = open(&path);
    let debate = DebateId::new();
    let mut written = Vec::new();
    for times in 1..=8 {
        fs::write(&switch, vec![0; times]).expect("the switch");
        let append = Append {
            durability: Durability::Power,
            ..next(debate, &written, usize::from(times > 1))
        };
        // Whether it happened is known only afterwards, as for whoever runs a debate.
        let answer = store.append(append.clone()).await;
        assert!(
            answer.as_ref().is_err_and(StoreError::is_passing),
            "{times}: {answer:?}"
        );
        until_writable(&store).await;
        match store.append(append.clone()).await {
            Ok(()) | Err(StoreError::Conflict { .. }) => written.extend(append.records),
            Err(error) => panic!("{times}: {error}"),
        }
        assert_eq!(journal(&store, debate).await, written, "{times}");
    }
}

/// A quota that is used up is a disk that is full: nothing of what was asked for happened.
#[test]
fn a_quota_that_is_used_up_refuses_and_is_waited_for() {
    run_on_failing_disk("disk::child_over_quota");
}

/// Not a test by itself: what the child above does.
#[tokio::test]
async fn child_over_quota() {
    let Some((path, switch)) = in_child() else {
        return;
    };
    let quota = PathBuf::from(format!("{}.quota", switch.display()));
    let store = open(&path);
    let (debate, other) = (DebateId::new(), DebateId::new());
    let mut written = Vec::new();
    for round in 0..4 {
        if round == 2 {
            // Until now nobody has read before the disk was full: whoever does then finds the files
            // closed.
            drop(tokio::time::timeout(Duration::ZERO, store.changed_elsewhere()).await);
        }
        let append = next(debate, &written, round);
        written.extend(append.records.clone());
        store.append(append).await.expect("there is room");
        File::create_new(&quota).expect("the switch");
        for refused in [
            store.append(next(debate, &written, 1 + round)).await,
            store.append(next(other, &[], 0)).await,
        ] {
            assert!(
                matches!(refused, Err(StoreError::Unwritable(_))),
                "round {round}: {refused:?}"
            );
        }
        assert!(store.check_writable().await.is_err(), "round {round}");
        assert_eq!(
            journal(&store, debate).await,
            written,
            "round {round}: what was acknowledged can be read"
        );
        fs::remove_file(&quota).expect("the switch");
        until_writable(&store).await;
        assert_eq!(
            journal(&store, other).await,
            [],
            "round {round}: nothing is left of a start that was refused"
        );
    }
}
