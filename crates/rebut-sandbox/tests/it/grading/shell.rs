//! Shell: a script that calls the code as a program is held apart from it, one that takes it in is
//! not, and says so.

use super::{Run, cases, sandbox, verdicts};

/// Calls the code twice and compares what it says; what it leaves behind is looked at in between.
const JUDGE: &str = r#"out=$(./solution.sh 2)
[ "$out" = 4 ] || { echo "got $out"; ls; exit 1; }
out=$(./solution.sh 5)
[ "$out" = 10 ] || exit 1
"#;
/// Lets the code do what it wants first, and compares only then.
const LATER: &str = r#"./solution.sh 2 > first.txt 2> words.txt
ls > names.txt
[ -e out.txt ] && cat out.txt
grep -q right first.txt && exit 1
[ "$(./solution.sh 5)" = 10 ] || exit 1
exit 0
"#;

#[tokio::test]
async fn honest_scripts_hold_and_say_whether_they_were_held_apart() {
    let sandbox = sandbox();
    let mut wrong = Vec::new();
    for case in cases(include_str!("data/shell_honest.txt")) {
        let ran = Run::of("shell", case.code, case.tests).on(&sandbox).await;
        let is_apart = case.title.starts_with("apart: ");
        if !ran.all_passed() || ran.shared_process == is_apart {
            wrong.push(format!(
                "{}: shared {}, {:?} {}",
                case.title,
                ran.shared_process,
                verdicts(&ran),
                ran.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn no_script_that_is_called_forges() {
    let sandbox = sandbox();
    for tests in [JUDGE, LATER] {
        let ran = Run::of("shell", "echo $(($1 * 2))", tests)
            .on(&sandbox)
            .await;
        assert!(ran.all_passed() && !ran.shared_process, "{tests}: {ran:#?}");
        for forgery in cases(include_str!("data/shell_forgeries.txt")) {
            let ran = Run::of("shell", forgery.code, tests)
                .seconds(6)
                .on(&sandbox)
                .await;
            assert!(
                ran.passed() == 0 && ran.tests.len() == 1 && !ran.shared_process,
                "{}, {tests}: {ran:#?}",
                forgery.title
            );
        }
    }
}

/// Here the code could forge, and some of it does: every pass says that it could.
#[tokio::test]
async fn what_takes_the_code_in_is_marked() {
    let sandbox = sandbox();
    for case in cases(include_str!("data/shell_taken_in.txt")) {
        let ran = Run::of("shell", case.code, case.tests).on(&sandbox).await;
        assert!(
            ran.shared_process && ran.tests.len() == 1,
            "{}: {ran:#?}",
            case.title
        );
    }
}

/// Code that has a look at what is expected, or whose words are more than words where the tests
/// compare. `apart`: it is no pass. `marked`: it may be one, which says that the code had a say in
/// it.
#[tokio::test]
async fn what_is_expected_is_out_of_reach() {
    let sandbox = sandbox();
    let mut wrong = Vec::new();
    for case in cases(include_str!("data/shell_judged.txt")) {
        let ran = Run::of("shell", case.code, case.tests).on(&sandbox).await;
        let is_apart = case.title.starts_with("apart: ");
        if ran.shared_process == is_apart || ran.tests.len() != 1 || is_apart && ran.passed() > 0 {
            wrong.push(format!(
                "{}: shared {}, {:?} {}",
                case.title,
                ran.shared_process,
                verdicts(&ran),
                ran.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
