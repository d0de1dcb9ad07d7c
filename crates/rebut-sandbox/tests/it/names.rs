//! Cases 39 and 42: names of files that mean something else, and folders that become something
//! else.

use crate::inner;
use rebut_engine::sandbox::End;
use rebut_sandbox::{Given, Jail, Spec, check_path};

#[tokio::test]
async fn only_plain_names_get_into_a_cell() {
    let long = "a".repeat(4096);
    let wrong = [
        "",
        ".",
        "..",
        "../x",
        "a/../../x",
        "a//b",
        "a/",
        "/etc/passwd",
        ".git/hooks/x",
        "a/.GIT/config",
        "-rf",
        "a/-rf",
        "a\0b",
        "CON",
        "nul.txt",
        "com1",
        "LPT9.log",
        "\u{202e}txt.exe",
        "a\u{200b}b",
        "a\nb",
        "\u{1b}[2J",
        "a\\b",
        "C:x",
        "x.",
        "x ",
        " x",
        &long,
    ];
    let jail = Jail::prove(inner())
        .await
        .expect("this machine holds cells");
    for path in wrong {
        let refused = check_path(path).expect_err(path);
        assert!(
            !refused.reason.contains(|c: char| c.is_control()),
            "{refused:?}"
        );
        let file = || vec![Given::text(path, "x")];
        let argv = || vec!["true".to_owned()];
        for spec in [
            Spec {
                argv: argv(),
                writable: file(),
                ..Spec::default()
            },
            Spec {
                argv: argv(),
                read_only: file(),
                ..Spec::default()
            },
            Spec {
                argv: argv(),
                collect: vec![path.to_owned()],
                ..Spec::default()
            },
        ] {
            assert_eq!(jail.spawn(spec).await.expect_err(path), refused, "{path:?}");
        }
    }
    for path in [
        "a",
        "a.txt",
        "src/lib.rs",
        ".hidden",
        "a b",
        "über.py",
        "gitignore",
        ".gitignore",
        "console",
        "common.c",
    ] {
        check_path(path).unwrap_or_else(|refused| panic!("{path}: {refused}"));
    }
}

#[tokio::test]
async fn files_are_where_they_belong_and_what_is_given_to_read_stays_as_it_is() {
    let jail = Jail::prove(inner())
        .await
        .expect("this machine holds cells");
    let script = "cat /in/a/b.txt c.sh; ./c.sh; echo x > /in/a/b.txt; rm /in/a/b.txt; mv /in/a \
        /in/z; echo new > made.txt; cat /in/a/b.txt";
    let spec = Spec {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        read_only: vec![Given::text("a/b.txt", "given\n")],
        writable: vec![Given {
            path: "c.sh".to_owned(),
            bytes: b"#!/bin/sh\necho ran\n".to_vec(),
            executable: true,
        }],
        collect: vec![
            "made.txt".to_owned(),
            "c.sh".to_owned(),
            "missing".to_owned(),
        ],
        ..Spec::default()
    };
    let ended = jail.spawn(spec).await.expect("a cell").end().await;
    assert_eq!(ended.end, End::Exited(0), "{ended:?}");
    assert_eq!(
        String::from_utf8_lossy(&ended.stdout),
        "given\n#!/bin/sh\necho ran\nran\ngiven\n"
    );
    let files: Vec<(&str, bool)> = ended
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.executable))
        .collect();
    assert_eq!(files, [("made.txt", false), ("c.sh", true)]);
}

#[tokio::test]
async fn a_folder_that_became_a_link_is_not_followed() {
    let jail = Jail::prove(inner())
        .await
        .expect("this machine holds cells");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder
        .path()
        .canonicalize()
        .expect("it exists")
        .join("toolchain");
    std::fs::create_dir(&path).expect("a folder");
    std::fs::write(path.join("tool"), "a tool").expect("a file");
    let script = format!(
        "cat {0}/tool; echo x > {0}/tool || echo fixed",
        path.display()
    );
    let spec = || Spec {
        argv: ["sh", "-c", &script].map(str::to_owned).to_vec(),
        folders: vec![path.clone()],
        ..Spec::default()
    };
    let ended = jail.spawn(spec()).await.expect("a cell").end().await;
    assert_eq!(
        String::from_utf8_lossy(&ended.stdout),
        "a toolfixed\n",
        "{ended:?}"
    );

    std::fs::remove_dir_all(&path).expect("it is ours");
    std::os::unix::fs::symlink("/etc", &path).expect("a link");
    let refused = jail.spawn(spec()).await.expect_err("a link is no folder");
    assert!(
        refused.reason.contains("cannot open the folder"),
        "{refused:?}"
    );
}
