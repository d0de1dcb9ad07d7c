//! The inner stage as a program of its own, for this crate's tests. The shipped program is `rebut`
//! itself.

fn main() -> std::process::ExitCode {
    rebut_sandbox::inner_main(std::env::args().skip(1))
}
