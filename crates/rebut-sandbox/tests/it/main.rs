//! The crate's integration tests.

use rebut_sandbox::{Inner, Jail, Spec};

#[tokio::test]
async fn first() {
    let inner = Inner { program: env!("CARGO_BIN_EXE_rebut-sandbox-inner").into(), args: Vec::new() };
    let jail = Jail::prove(inner).await.expect("proves");
    println!("{} {}", jail.tier(), jail.memory_bound());
    for script in ["id; ls -la / /box /in /dev /etc /proc/1; cat /proc/self/status; mount; env; ulimit -a; cat /proc/self/mountinfo", "kill -9 $$", "sleep 100 & echo hi; exit 3"] {
        let spec = Spec { argv: vec!["sh".into(), "-c".into(), script.into()], ..Spec::default() };
        let ended = jail.spawn(spec).await.expect("runs").end().await;
        println!("{:?} {}ms\n{}\n{}", ended.end, ended.ms, String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    }
}
