//! `rebut turns`: turns of a debate at a server that wait for a person, and their answers.

use crate::{
    app::App,
    cli::{GlobalArgs, TurnsArgs},
    debates::Debates,
    error::CliError,
    hint_command::command,
    human, output,
    paint::Paint,
    read_file,
    remote::Remote,
};
use rebut_engine::{
    DebateId,
    clean::{for_people, on_one_line},
};
use rebut_server::resolver::TurnRequest;

pub async fn run(global: &GlobalArgs, args: TurnsArgs) -> Result<u8, CliError> {
    let app = App::open(global, &[])?;
    let Some(remote) = &Remote::named(&app)? else {
        return Err(CliError::usage(
            "turns wait for people at a server; here a person is asked at the terminal of the \
             command that debates",
        )
        .hint("name the server: rebut --server URL turns ID"));
    };
    let id = Debates::There(remote.clone()).find(&args.id.id).await?;
    let Some(turn) = &args.turn else {
        return list(remote, id, &args, global).await;
    };
    match &args.reply {
        Some(file) => {
            remote
                .answer_turn(id, turn, &read_file::text_or_stdin(file)?)
                .await?;
            taken(turn)
        }
        None if args.json => {
            output::print_json(&remote.turn(id, turn).await?)?;
            Ok(0)
        }
        None if human::is_there() && !global.no_input => {
            ask_here(remote, id, remote.turn(id, turn).await?).await
        }
        None => show(&remote.turn(id, turn).await?, id),
    }
}

async fn list(
    remote: &Remote,
    id: DebateId,
    args: &TurnsArgs,
    global: &GlobalArgs,
) -> Result<u8, CliError> {
    let turns = remote.turns(id).await?;
    if args.json {
        output::print_json(&turns)?;
        return Ok(0);
    }
    if turns.is_empty() {
        warn_line!("no turn of {} waits for a person", id.short());
    }
    let paint = Paint::stdout();
    for waiting in &turns {
        let (turn, agent) = (on_one_line(&waiting.turn), on_one_line(&waiting.agent));
        output::print(&format!(
            "{}  {agent}, until {}\n",
            paint.strong(&turn),
            on_one_line(&waiting.until)
        ))?;
    }
    if let (Some(first), false) = (turns.first(), global.quiet) {
        warn_line!(
            "answer with: {}",
            command(format_args!(
                "turns {} {:?}",
                id.short(),
                on_one_line(&first.turn)
            ))
        );
    }
    Ok(0)
}

/// Everything whoever answers has to know, where nobody can be asked field by field.
fn show(waiting: &TurnRequest, id: DebateId) -> Result<u8, CliError> {
    let schema = serde_json::to_string_pretty(&waiting.schema)
        .map_err(|error| CliError::failed(error.to_string()))?;
    output::print(&for_people(&format!(
        "{}\n\n{}\n\nThe form of the reply:\n{schema}\n",
        waiting.system,
        human::for_a_person(&waiting.user)
    )))?;
    warn_line!(
        "answer with: {}",
        command(format_args!(
            "turns {} {:?} --reply FILE",
            id.short(),
            on_one_line(&waiting.turn)
        ))
    );
    Ok(0)
}

/// Asks at this terminal until an answer is taken, or the turn waits no more.
async fn ask_here(remote: &Remote, id: DebateId, mut waiting: TurnRequest) -> Result<u8, CliError> {
    loop {
        let heading = format!(
            "{}: your turn, {}, until {}",
            waiting.agent, waiting.turn, waiting.until
        );
        let text = human::fill_in(
            on_one_line(&heading),
            waiting.user.clone(),
            waiting.schema.clone(),
        )
        .await;
        let text = text.map_err(|fault| CliError::failed(fault.message))?;
        match remote.answer_turn(id, &waiting.turn, &text).await {
            Ok(()) => return taken(&waiting.turn),
            Err(error) => {
                warn_line!("{error}");
                // Whatever was wrong with the answer: the turn can be asked again only while it
                // waits.
                waiting = remote.turn(id, &waiting.turn).await?;
            }
        }
    }
}

fn taken(turn: &str) -> Result<u8, CliError> {
    warn_line!("taken: {}", on_one_line(turn));
    Ok(0)
}
