//! Ballots as CSV: a header, then one ballot a line. The ranking stands in one column (`B>A=C`), or
//! in one column per place.

use super::Reading;
use csv::{ReaderBuilder, StringRecord, Trim};
use rebut_engine::{suggest::suggest, voting::Ballot};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Voter,
    Weight,
    Confidence,
    Ranking,
    Approves,
    /// Who stands in this place; several equals with `=`.
    Place(u32),
    Score(String),
}

pub fn read(text: &str, reading: &mut Reading) -> Result<(), String> {
    let mut rows = ReaderBuilder::new()
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let header = rows.headers().map_err(|error| told(&error))?.clone();
    if header.iter().all(str::is_empty) {
        return Err("it is empty".to_owned());
    }
    if let Some(mark) = other_separator(&header) {
        return Err(format!(
            "line 1: the columns are separated by {mark}; separate them by commas, and quote names \
             that hold a comma"
        ));
    }
    let columns = header.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let mut known = columns.clone();
    known.sort();
    if let Some(twice) = known.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("line 1: two columns are {:?}", twice[0]).to_lowercase());
    }
    let says =
        |column: &Column| !matches!(column, Column::Voter | Column::Weight | Column::Confidence);
    if !columns.iter().any(says) {
        return Err(
            "line 1: no column says what was voted; add `ranking`, or a column for each \
            place: 1, 2, 3"
                .to_owned(),
        );
    }
    if columns.contains(&Column::Ranking)
        && columns
            .iter()
            .any(|column| matches!(column, Column::Place(_)))
    {
        return Err(
            "line 1: the ranking stands in `ranking` or in one column per place, not in both"
                .to_owned(),
        );
    }
    let mut row = StringRecord::new();
    while rows.read_record(&mut row).map_err(|error| told(&error))? {
        reading
            .lines
            .push(row.position().map_or(0, csv::Position::line));
        let ballot = ballot(&columns, &row, reading);
        reading.add(ballot);
    }
    Ok(())
}

/// What separates the columns of a header that is one column to us: spreadsheets of many countries
/// write semicolons.
fn other_separator(header: &StringRecord) -> Option<&'static str> {
    let all = header.get(0).filter(|_| header.len() == 1)?;
    let marks = [(';', "`;`"), ('\t', "tabs"), ('|', "`|`")];
    marks
        .iter()
        .find(|(mark, _)| {
            all.split(*mark).count() > 1 && all.split(*mark).all(|name| column(name).is_ok())
        })
        .map(|(_, said)| *said)
}

fn column(name: &str) -> Result<Column, String> {
    let name = name.trim();
    if let Some(candidate) = name.strip_prefix("score:") {
        return Ok(Column::Score(candidate.trim().to_owned()));
    }
    Ok(match name.to_lowercase().as_str() {
        "voter" => Column::Voter,
        "weight" => Column::Weight,
        "confidence" => Column::Confidence,
        "ranking" => Column::Ranking,
        "approves" => Column::Approves,
        other => match other.parse() {
            Ok(place) if place > 0 => Column::Place(place),
            _ => {
                let known = ["voter", "weight", "confidence", "ranking", "approves"];
                let meant = suggest(other, known)
                    .map_or(".".to_owned(), |near| format!("; did you mean `{near}`?"));
                return Err(format!(
                    "line 1: unknown column `{name}`{meant} Columns are voter, weight, confidence, \
                     ranking (or places: 1, 2, 3), approves, score:NAME."
                ));
            }
        },
    })
}

fn ballot(columns: &[Column], row: &StringRecord, reading: &mut Reading) -> Ballot {
    let cells = || columns.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
    let voter = match columns.iter().position(|column| *column == Column::Voter) {
        Some(at) => row.get(at).unwrap_or_default().to_owned(),
        None => format!("#{}", reading.next()),
    };
    let mut ballot = Ballot {
        voter,
        ..Ballot::default()
    };
    let mut places: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (column, cell) in cells() {
        let number = |what: &str, reading: &mut Reading| {
            let read = cell.parse::<f64>();
            if read.is_err() {
                reading.problem(
                    &ballot.voter,
                    format!("{what} `{cell}` is not a number"),
                    "counted as if none was stated",
                );
            }
            read.ok()
        };
        match column {
            Column::Voter => {}
            Column::Weight => match cell.parse() {
                Ok(weight) => ballot.weight = weight,
                Err(wrong) => reading.problem(&ballot.voter, wrong, "counted with weight 1"),
            },
            Column::Confidence => ballot.confidence = number("the confidence", reading),
            Column::Ranking => ballot.ranking = cell.split('>').map(equals).collect(),
            Column::Approves => ballot.approves = Some(equals(cell)),
            Column::Place(place) => drop(places.insert(*place, equals(cell))),
            Column::Score(candidate) => {
                if let Some(score) = number(&format!("the score for `{candidate}`"), reading) {
                    ballot
                        .scores
                        .get_or_insert_default()
                        .insert(candidate.clone(), score);
                }
            }
        }
    }
    if !places.is_empty() {
        ballot.ranking = places.into_values().collect();
    }
    ballot
}

fn equals(cell: &str) -> Vec<String> {
    cell.split('=').map(|name| name.trim().to_owned()).collect()
}

/// An error in the words of a person who looks at the file.
fn told(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!(
                "line {line} has {len} columns, the header has {expected_len}; quote names that \
                 hold a comma"
            )
        }
        _ => error.to_string(),
    }
}
