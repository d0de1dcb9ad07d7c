//! What coding agents call: `rebut hook HOST EVENT`.

use crate::commands::hook::HOSTS;
use clap::{Args, builder::PossibleValuesParser};

/// Arguments of `hook`.
#[derive(Args, Debug)]
pub struct HookArgs {
    /// Which program calls
    #[arg(value_parser = hosts())]
    pub host: String,
    /// What happens there, in its own words or as `session-start`, `user-prompt-submit`, `stop`;
    /// `skill` when a skill asks
    pub event: String,
}

fn hosts() -> PossibleValuesParser {
    HOSTS
        .iter()
        .map(|host| host.name)
        .collect::<Vec<_>>()
        .into()
}

/// Whether the words of a command line ask for a hook, also when they cannot be parsed: then
/// nothing may look like a wish to block.
pub fn asks_for_a_hook(words: impl IntoIterator<Item = String>) -> bool {
    let mut words = words.into_iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // Flags of every command that have a value.
            "--data" | "--config" | "--server" | "--token-file" | "--color" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            command => return command == "hook",
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_known_however_wrong_the_rest_is() {
        let rows = [
            ("rebut hook claude stop", true),
            ("rebut hook", true),
            ("rebut --bogus hook nobody", true),
            ("rebut --data hook ls", false),
            (
                "rebut --data x -q --config=y hook claude stop --bogus",
                true,
            ),
            ("rebut show hook", false),
            ("rebut", false),
        ];
        for (line, asked) in rows {
            assert_eq!(
                asks_for_a_hook(line.split(' ').map(str::to_owned)),
                asked,
                "{line}"
            );
        }
    }
}
