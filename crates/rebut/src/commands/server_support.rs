//! Where each command does its work when a server was named: there, here, or nowhere, with the
//! reason.

use crate::{
    cli::{AskArgs, AuditCommand, BudgetArgs, Command, GlobalArgs, PolicyCommand, RunArgs},
    error::CliError,
};

/// Where a command does its work when a server was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    There,
    /// On this machine, whatever was named: it is about the machine itself.
    Here,
    /// It would have to be done there and cannot be, for this reason.
    Nowhere(&'static str),
}

/// Every command by its name, so that a new one has to be decided on. Without a command, what was
/// typed is a question, or nothing.
fn place_of(command: Option<&Command>, ask: &AskArgs) -> Place {
    let Some(command) = command else {
        return if *ask == AskArgs::default() {
            Place::Here
        } else {
            Place::There
        };
    };
    match command {
        Command::Decide(_)
        | Command::Challenge(_)
        | Command::Evaluate(_)
        | Command::Review(_)
        | Command::Solve(_)
        | Command::Single(_)
        | Command::Poll(_)
        | Command::Society(_)
        | Command::Ls(_)
        | Command::Show(_)
        | Command::Code(_)
        | Command::Watch(_)
        | Command::Resume(_)
        | Command::Replay(_)
        | Command::Fork(_)
        | Command::Cancel(_)
        | Command::Gates(_)
        | Command::Approve(_)
        | Command::Reject(_)
        | Command::Answer(_)
        | Command::Turns(_)
        | Command::Mark(_)
        | Command::Voters(_)
        | Command::Note(_)
        | Command::Export(_)
        | Command::Rm(_)
        | Command::Webhooks(_)
        | Command::Audit(AuditCommand::Verify(_) | AuditCommand::Redact(_))
        | Command::Topology(_)
        | Command::Retally(_)
        | Command::Policy(PolicyCommand::Insights(_)) => Place::There,
        Command::Bench(_)
        | Command::Vote(_)
        | Command::Sandbox(_)
        | Command::Triage(_)
        | Command::Demo(_)
        | Command::Init(_)
        | Command::Doctor(_)
        | Command::Models(_)
        | Command::Config(_)
        | Command::Trust(_)
        | Command::Schema(_)
        | Command::Roles(_)
        | Command::Serve(_)
        | Command::Keys(_)
        | Command::Hook(_)
        | Command::Completions(_)
        | Command::Man => Place::Here,
        Command::Import(_) => Place::Nowhere(
            "a journal keeps its owner and its seals, and only whoever runs the server can say \
             whose seals count there: they run \
             `rebut import FILE` on its machine",
        ),
        Command::Policy(PolicyCommand::Propose(_)) => Place::Nowhere(
            "it words a role file of this machine, with a model of this machine, by what is kept \
             here; \
             `rebut policy insights` shows what judges said there",
        ),
    }
}

/// The flags of every command as this command takes them: what is about this machine knows of no
/// server. Refuses what cannot be done at a server: done here it would be about other debates than
/// was meant.
pub fn settle(
    global: GlobalArgs,
    command: Option<&Command>,
    ask: &AskArgs,
) -> Result<GlobalArgs, CliError> {
    match (&global.server, place_of(command, ask)) {
        (None, _) | (_, Place::There) => Ok(global),
        (Some(_), Place::Here) => Ok(GlobalArgs {
            server: None,
            ..global
        }),
        (Some(_), Place::Nowhere(why)) => Err(CliError::usage(format!(
            "this cannot be done at a server: {why}"
        ))
        .hint("without --server and REBUT_SERVER it is done here")),
    }
}

/// A flag, whether it was given, and why it makes no sense at a server.
pub type Flag = (&'static str, bool, &'static str);

/// Refuses flags that need something of this machine where the debate is held by another, before
/// anything is read or sent.
pub fn refuse(global: &GlobalArgs, flags: &[Flag]) -> Result<(), CliError> {
    match flags
        .iter()
        .find(|(_, given, _)| *given && global.server.is_some())
    {
        None => Ok(()),
        Some((flag, _, why)) => Err(CliError::usage(format!(
            "{flag} cannot be used with a server: {why}"
        ))
        .hint("leave it out, or leave out --server")),
    }
}

/// Such flags among those that every format has.
pub fn of_run(run: &RunArgs) -> [Flag; 2] {
    let dry = (
        "--dry-run",
        run.dry_run,
        "what is sent to models is made there; --estimate says what it would take",
    );
    [dry, of_budget(&run.budget)]
}

pub fn of_budget(budget: &BudgetArgs) -> Flag {
    (
        "--allow-unknown-price",
        budget.allow_unknown_price,
        "whoever runs it says what may cost an unknown price",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{CommandFactory, Parser};
    use std::collections::{BTreeMap, BTreeSet};

    /// What has to stand behind some commands to be read at all.
    const NEEDED: &[(&str, &[&str])] = &[
        ("challenge", &["x"]),
        ("evaluate", &["x"]),
        ("solve", &["x"]),
        ("show", &["x"]),
        ("code", &["x"]),
        ("watch", &["x"]),
        ("resume", &["x"]),
        ("replay", &["x"]),
        ("fork", &["x", "--at", "end"]),
        ("cancel", &["x"]),
        ("approve", &["x"]),
        ("reject", &["x", "--reason", "r"]),
        ("answer", &["x", "A"]),
        ("turns", &["x"]),
        ("mark", &["x", "A"]),
        ("note", &["x", "text"]),
        ("export", &["x"]),
        ("import", &["x"]),
        ("rm", &["x"]),
        ("audit verify", &["x"]),
        ("audit redact", &["x", "1", "--reason", "r"]),
        ("retally", &["x"]),
        ("vote", &["x"]),
        ("policy propose", &["x"]),
        ("sandbox run", &["--lang", "python", "x"]),
        ("sandbox test", &["--lang", "python", "x", "--tests", "y"]),
        ("triage", &["x"]),
        ("schema", &["config"]),
        ("webhooks add", &["x"]),
        ("webhooks rm", &["x"]),
        ("webhooks test", &["x"]),
        ("webhooks deliveries", &["x"]),
        ("keys add", &["x", "--owner", "y"]),
        ("keys rm", &["x"]),
        ("hook", &["claude", "stop"]),
        ("completions", &["bash"]),
        ("bench human_eval", &["x", "--arm", "single"]),
        ("bench mbpp", &["x", "--arm", "single"]),
        ("bench custom", &["x", "--arm", "single"]),
        ("bench recorded", &["x"]),
    ];

    /// The names of all commands, `audit verify` for those below another.
    fn names(command: &clap::Command, above: &str) -> Vec<String> {
        let below = command
            .get_subcommands()
            .filter(|below| below.get_name() != "help");
        below
            .flat_map(|below| {
                let name = format!("{above}{}", below.get_name());
                if below.has_subcommands() {
                    names(below, &format!("{name} "))
                } else {
                    vec![name]
                }
            })
            .collect()
    }

    fn place(name: &str) -> Place {
        let more = NEEDED
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(&[][..], |(_, more)| more);
        let typed = std::iter::once("rebut")
            .chain(name.split(' '))
            .chain(more.iter().copied());
        let cli = Cli::try_parse_from(typed).unwrap_or_else(|error| panic!("{name}: {error}"));
        place_of(cli.command.as_ref(), &cli.ask)
    }

    /// The rows of the table in the book: the words in backticks of each.
    fn told() -> BTreeMap<&'static str, BTreeSet<String>> {
        let page = include_str!("../../../../docs/src/server.md");
        let section = page
            .split("## The command line at a server")
            .nth(1)
            .expect("a section of the book");
        let rows = section
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
        rows.map(|(place, commands)| {
            (
                place,
                commands
                    .split('`')
                    .skip(1)
                    .step_by(2)
                    .map(str::to_owned)
                    .collect(),
            )
        })
        .collect()
    }

    #[test]
    fn the_book_tells_of_each_command_where_it_works() {
        let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for name in names(&Cli::command(), "") {
            let place = match place(&name) {
                Place::There => "at the server",
                Place::Here => "on this machine",
                Place::Nowhere(_) => "refused",
            };
            // What is below a command that is all in one place is told by its first word.
            let top = name.split(' ').next().unwrap_or_default().to_owned();
            let is_split = ["audit", "policy"].contains(&top.as_str());
            known
                .entry(place)
                .or_default()
                .insert(if is_split { name } else { top });
        }
        let mut told = told();
        told.retain(|place, _| known.contains_key(place));
        assert_eq!(told, known);
    }

    #[test]
    fn a_question_goes_there_and_what_is_about_this_machine_knows_of_no_server() {
        let rows: [(&[&str], Result<bool, &str>); 6] = [
            (&["Redis or Memcached?"], Ok(true)),
            (&[], Ok(false)),
            (&["ls"], Ok(true)),
            (&["doctor"], Ok(false)),
            (&["import", "x"], Err("whose seals count")),
            (
                &["policy", "propose", "risk"],
                Err("a role file of this machine"),
            ),
        ];
        for (typed, expected) in rows {
            let typed = ["rebut", "--server", "http://127.0.0.1:1"]
                .iter()
                .chain(typed);
            let Cli {
                global,
                command,
                ask,
            } = Cli::try_parse_from(typed.clone()).expect("a command");
            match (settle(global, command.as_ref(), &ask), expected) {
                (Ok(global), Ok(there)) => assert_eq!(global.server.is_some(), there, "{typed:?}"),
                (Err(error), Err(why)) => {
                    assert!(error.is_usage() && error.message().contains(why), "{error}")
                }
                (settled, _) => panic!("{typed:?}: {settled:?}"),
            }
        }
    }
}
