//! `doctor`, and bare `rebut`: what this machine has, whether it answers, and what would fix what
//! is missing.

mod deep;
mod findings;
mod fix;
mod report;

use crate::{
    app::App,
    cli::{DoctorArgs, GlobalArgs},
    error::CliError,
    output,
    paint::Paint,
};
pub use findings::Findings;
use rebut_engine::outcome::Ending;

pub async fn run(global: &GlobalArgs, args: DoctorArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    app.clear_left();
    let registry = app.registry()?;
    let mut findings = Findings::gather(&app, &registry).await?;
    findings.store.check(&app).await;
    if args.deep {
        findings.probes =
            Some(deep::probe(&registry, &findings.to_probe(), &app.scrubber(&registry)).await);
    }
    if args.fix {
        findings.fixes = Some(fix::commands(&findings));
    }
    if args.json {
        output::print_json(&findings)?;
    } else {
        output::print(&report::text(&findings, Paint::stdout()))?;
    }
    Ok(if findings.is_usable() {
        0
    } else {
        Ending::NoModel.exit_code()
    })
}

/// Bare `rebut`: what is here and what to try.
pub async fn first_run(global: &GlobalArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let findings = Findings::gather(&app, &app.registry()?).await?;
    let mut text = report::text(&findings, Paint::stdout());
    text.push_str(
        "\nTry:   rebut demo                                   no key, no cost, 20 seconds\n",
    );
    text.push_str(
        "       rebut \"Redis or Memcached for sessions?\"     a debate on your question\n",
    );
    text.push_str(
        "       rebut init                                   write rebut.toml\n       \
        rebut --help\n",
    );
    output::print(&text)?;
    Ok(0)
}
