//! `rebut bench recorded`: measures votes, stop rules and learned weights on answers that were
//! recorded elsewhere.

use crate::{
    cli::RecordedArgs,
    error::CliError,
    output,
    read_file::{MOST_BYTES_OF_RECORDS, records},
    text::padded,
};
use rebut_engine::{
    clean::on_one_line,
    learning::chance::Measured,
    offline_eval::{self, Recorded, Row, Table},
};
use std::fmt::Write;

pub fn run(args: &RecordedArgs) -> Result<u8, CliError> {
    let mut tables: Vec<Table> = Vec::new();
    for file in &args.files {
        let text = records(file, MOST_BYTES_OF_RECORDS)?;
        let found = offline_eval::read(&text).map_err(|why| {
            CliError::usage(format!("{}: {why}", file.display()))
                .hint("the forms that are read are described in the book, under \"Measured\"")
        })?;
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let measured: Vec<Table> = match &found {
            Recorded::Debates(sets) => sets
                .iter()
                .map(|(set, debates)| {
                    offline_eval::measure_debates(&format!("{name}: {set}"), debates)
                })
                .collect(),
            Recorded::Panel(panel) => vec![offline_eval::measure_panel(
                &format!("{name}: {} models", panel.models.len()),
                panel,
            )],
        };
        if !args.json {
            for table in &measured {
                output::print(&words(table))?;
            }
        }
        tables.extend(measured);
    }
    if args.json {
        output::print_json(&tables)?;
    }
    Ok(0)
}

fn words(table: &Table) -> String {
    let mut text = format!("{}\n", on_one_line(&table.title));
    for note in &table.notes {
        let _ = writeln!(text, "  {}", on_one_line(note));
    }
    let width = table
        .rows
        .iter()
        .map(|row| row.arm.chars().count())
        .max()
        .unwrap_or(0);
    let heads = ["accuracy", "difference", "calls", "tokens", "lost gained p"];
    let head = format!(
        "  {}  {}  {}  {}  {}  {}",
        padded("", width),
        padded(heads[0], 20),
        padded(heads[1], 23),
        padded(heads[2], 11),
        padded(heads[3], 6),
        heads[4]
    );
    let _ = writeln!(text, "{}", head.trim_end());
    for row in &table.rows {
        let _ = writeln!(text, "{}", line(row, width).trim_end());
    }
    text.push('\n');
    text
}

fn line(row: &Row, width: usize) -> String {
    let share = |value: f64| format!("{value:.3}").replacen("0.", ".", 1);
    let signed = |value: f64| {
        format!(
            "{}{}",
            if value < 0.0 { "-" } else { "+" },
            share(value.abs())
        )
    };
    let within = |value: &Measured, write: &dyn Fn(f64) -> String| {
        format!(
            "{} [{} {}]",
            write(value.value),
            write(value.low),
            write(value.high)
        )
    };
    let calls = row.calls.map(|calls| match row.calls_share {
        Some(part) => format!("{calls:.2} {:>3.0} %", part * 100.0),
        None => format!("{calls:.2}"),
    });
    let changed = row
        .lost
        .zip(row.gained)
        .zip(row.p)
        .map(|((lost, gained), p)| format!("{lost} {gained} {}", share(p)));
    format!(
        "  {}  {}  {}  {}  {}  {}",
        padded(&on_one_line(&row.arm), width),
        padded(&within(&row.accuracy, &share), 20),
        padded(
            &row.difference
                .map(|difference| within(&difference, &signed))
                .unwrap_or_default(),
            23
        ),
        padded(&calls.unwrap_or_default(), 11),
        padded(
            &row.tokens
                .map(|tokens| format!("{tokens:.0}"))
                .unwrap_or_default(),
            6
        ),
        changed.unwrap_or_default()
    )
}
