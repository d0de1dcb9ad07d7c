//! What is refused of a task for code before anybody is asked and paid.

use crate::error::AppError;
use rebut_engine::{
    Start,
    clean::on_one_line,
    formats::solve::{FORMAT, Input, least_calls},
    sandbox::Tests,
};

/// Refuses a cap under which nobody's code can ever come.
pub fn check_calls(start: &Start) -> Result<(), AppError> {
    let least = least_calls(&start.input, &start.config, &start.agents).map_err(AppError::usage)?;
    match start
        .limits
        .and_then(|limits| limits.caps.calls)
        .filter(|cap| *cap < least)
    {
        None => Ok(()),
        Some(cap) => Err(AppError::usage(format!(
            "with {cap} calls there can be no code: the first \
            candidates need at least {least}"
        ))
        .hint(format!(
            "--max-calls {least} or more, of which {} are kept for the vote; or fewer \
                 generators: --judges generator,judge",
            FORMAT.closing_calls
        ))),
    }
}

/// Tests in which there can be none are refused before anybody is asked. Where this machine cannot
/// look, the debate goes on without that.
pub async fn check_tests(input: &Input, quiet: bool) -> Result<(), AppError> {
    let sandbox = crate::app::sandbox()?;
    for (which, text, style) in [
        ("tests", &input.tests, input.style),
        ("hidden tests", &input.hidden_tests, input.hidden_style),
    ] {
        if text.is_empty() {
            continue;
        }
        match sandbox
            .list_tests(
                &input.language,
                &Tests {
                    text: text.clone(),
                    style,
                },
            )
            .await
        {
            Ok(Ok(_)) => {}
            Ok(Err(why)) => {
                let hint = format!(
                    "nobody was asked; `rebut sandbox test --lang {}` tries tests out, --lang and \
                     --style say what they are",
                    input.language
                );
                return Err(
                    AppError::usage(format!("the {which} cannot be used: {why}")).hint(hint),
                );
            }
            Err(refused) => {
                if !quiet {
                    notice!(
                        "the tests were not looked at beforehand: {}",
                        on_one_line(&refused.to_string())
                    );
                }
                return Ok(());
            }
        }
    }
    Ok(())
}
