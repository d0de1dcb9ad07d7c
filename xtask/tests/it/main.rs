//! Runs tidy over this repository, so that a broken house rule is a failing test.

#[test]
fn the_repository_is_tidy() {
    let complaints = xtask::tidy::check(&xtask::root()).expect("the repository can be read");
    let list: String = complaints
        .iter()
        .map(|complaint| format!("{complaint}\n"))
        .collect();
    assert!(complaints.is_empty(), "{list}");
}
