//! Perf placeholder.
/// x
pub const SERVER: &str = "perf-server";
/// x
pub const SCENARIO: &str = "perf-scenario";
/// x
pub fn run(_: &[String]) -> Result<(), String> {
    Ok(())
}
/// x
pub fn serve(_: &[String]) -> Result<(), String> {
    Ok(())
}
/// x
pub fn run_scenario(_: &[String]) -> Result<(), String> {
    Ok(())
}
