//! `vote`: counts ballots from a file, with all the working.

use crate::{
    ballots,
    cli::{GlobalArgs, VoteArgs},
    error::CliError,
    output,
    paint::Paint,
    text::padded,
};
use rebut_engine::{
    clean::on_one_line,
    voting::{
        self, Cast, Count, Ended, Figure, METHODS, MOST_WORK, Method, Profile, Rules, Threshold,
    },
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};
use unicode_width::UnicodeWidthStr;

type Pairwise = BTreeMap<String, BTreeMap<String, Figure>>;

/// A matrix of more candidates fits no terminal.
const WIDEST_MATRIX: usize = 16;
/// Ballots are part of the JSON up to so many.
const LISTED_BALLOTS: usize = 10_000;

pub fn run(global: &GlobalArgs, args: &VoteArgs) -> Result<u8, CliError> {
    let threshold = args.threshold.map(Threshold::new).transpose();
    let threshold = threshold.map_err(|_| {
        CliError::usage("--threshold is a share above 0 and at most 1, such as 0.67")
    })?;
    let rules = Rules {
        threshold,
        weigh: args.weigh,
        tie_break: args.tie_break.clone(),
    };
    let (profile, mended) = ballots::read(&args.file, &args.candidates, args.lenient)?;
    for line in mended.iter().filter(|_| !global.quiet) {
        warn_line!("mended: {}", on_one_line(line));
    }
    let paint = Paint::stdout();
    bounded(&profile, &rules, args)?;
    if args.all {
        return every_method(&profile, &rules, args.json, paint);
    }
    let auto = voting::auto(profile.ranked());
    let method = voting::method(&args.method).unwrap_or(auto);
    let mut count = method.count(&profile, &rules);
    // Not where nobody would see it: among many candidates it is most of the work.
    if count.pairwise.is_empty() && (args.json || fits(profile.candidates())) {
        count.pairwise = method.pairwise(&profile, &rules);
    }
    if args.json {
        output::print_json(&Printed {
            count: &count,
            ballots: listed(&profile),
        })?;
    } else {
        output::print(&one(&count, &profile, paint))?;
    }
    Ok(exit_code(count.ending))
}

/// Refuses what would take days, before it begins.
fn bounded(profile: &Profile, rules: &Rules, args: &VoteArgs) -> Result<(), CliError> {
    let named = voting::method(&args.method).unwrap_or_else(|| voting::auto(profile.ranked()));
    let methods: Vec<&Method> = if args.all {
        METHODS.iter().collect()
    } else {
        vec![named]
    };
    let within = |method: &&Method| {
        method
            .work(profile.candidates().len(), profile.len(), rules)
            .within(MOST_WORK)
    };
    methods
        .iter()
        .try_for_each(within)
        .map_err(|problem| CliError::usage(format!("nothing was counted: {problem}")))
}

/// A count with the ballots it counted.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    count: &'a Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    ballots: Option<Vec<Cast<'a>>>,
}

#[derive(Serialize)]
struct All<'a> {
    /// Whether every method that names a winner names the same.
    agree: bool,
    counts: BTreeMap<&'a str, &'a Count>,
    pairwise: &'a Pairwise,
    pairwise_are: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ballots: Option<Vec<Cast<'a>>>,
}

fn listed(profile: &Profile) -> Option<Vec<Cast<'_>>> {
    (profile.len() <= LISTED_BALLOTS).then(|| profile.cast().collect())
}

fn exit_code(ended: Ended) -> u8 {
    match ended {
        Ended::Decided => 0,
        Ended::Tie | Ended::None => 3,
        Ended::NoQuorum => 1,
    }
}

fn every_method(
    profile: &Profile,
    rules: &Rules,
    json: bool,
    paint: Paint,
) -> Result<u8, CliError> {
    let counts: Vec<(&Method, Count)> = METHODS
        .iter()
        .map(|method| (method, method.count(profile, rules)))
        .collect();
    let by_pairs = counts
        .iter()
        .find(|(method, _)| method.name == "condorcet")
        .expect("the table has it");
    let (pairwise, pairwise_are) = (&by_pairs.1.pairwise, by_pairs.1.pairwise_are.as_str());
    let winners: BTreeSet<&String> = counts
        .iter()
        .filter_map(|(_, count)| count.winner.as_ref())
        .collect();
    let agree = winners.len() == 1;
    if json {
        let counts = counts
            .iter()
            .map(|(method, count)| (method.name, count))
            .collect();
        output::print_json(&All {
            agree,
            counts,
            pairwise,
            pairwise_are,
            ballots: listed(profile),
        })?;
    } else {
        let mut text = format!("{}\n", paint.faint(&heading(profile, rules)));
        for (method, count) in &counts {
            let _ = writeln!(
                text,
                "{}  {}",
                padded(method.name, 14),
                verdict(count, paint)
            );
        }
        write_matrix(
            &mut text,
            profile.candidates(),
            (pairwise, pairwise_are),
            paint,
        );
        write_where_it_is(&mut text, profile.candidates());
        text.push_str(match winners.len() {
            0 => "No method names one winner.\n",
            1 => "Every method that names one winner names the same.\n",
            _ => "The methods do not agree: the choice of method is part of the result.\n",
        });
        output::print(&text)?;
    }
    let nobody = counts
        .iter()
        .all(|(_, count)| count.ending == Ended::NoQuorum);
    Ok(if nobody {
        exit_code(Ended::NoQuorum)
    } else {
        exit_code(if agree { Ended::Decided } else { Ended::Tie })
    })
}

fn one(count: &Count, profile: &Profile, paint: Paint) -> String {
    let counted = format!("{} of {} ballots", count.voters, profile.len());
    let mut text = format!(
        "{}  {}\n",
        verdict(count, paint),
        paint.faint(&format!("{} · {counted}", count.method))
    );
    write_working(&mut text, count, profile.candidates(), paint);
    write_where_it_is(&mut text, profile.candidates());
    text
}

/// Where the matrix is when it does not fit.
fn write_where_it_is(text: &mut String, candidates: &[String]) {
    if !fits(candidates) {
        let _ = writeln!(
            text,
            "pairwise: {0} × {0} numbers, see --json",
            candidates.len()
        );
    }
}

/// Whether a matrix of so many fits a terminal.
fn fits(candidates: &[String]) -> bool {
    candidates.len() <= WIDEST_MATRIX
}

/// What each candidate got, the pairwise numbers where there are any, and the working in words.
pub fn write_working(text: &mut String, count: &Count, candidates: &[String], paint: Paint) {
    write_scores(text, count, paint);
    write_matrix(
        text,
        candidates,
        (&count.pairwise, &count.pairwise_are),
        paint,
    );
    let _ = writeln!(text, "{}", paint.strong("how it was counted"));
    for line in &count.working {
        let _ = writeln!(text, "  {}", on_one_line(line));
    }
}

fn heading(profile: &Profile, rules: &Rules) -> String {
    let votes = if rules.weigh {
        "weights count"
    } else {
        "one vote each"
    };
    format!(
        "{} candidates · {} ballots · {votes} · tie-break {}",
        profile.candidates().len(),
        profile.len(),
        rules.tie_break
    )
}

fn verdict(count: &Count, paint: Paint) -> String {
    let names = || voting::list(count.winners.iter().map(|name| on_one_line(name)));
    match (count.ending, &count.winner, &count.tie_break) {
        (Ended::NoQuorum, ..) => format!("{}  no ballot counts", paint.bad("NO QUORUM")),
        (Ended::None, ..) => format!("{}  nobody wins", paint.attention("NONE")),
        (_, Some(winner), None) => format!(
            "{}  {}",
            paint.good("WINNER"),
            paint.strong(&on_one_line(winner))
        ),
        (_, Some(winner), Some(rule)) => {
            format!(
                "{}  {} by tie-break `{rule}` among {}",
                paint.good("WINNER"),
                paint.strong(&on_one_line(winner)),
                names()
            )
        }
        (_, None, _) => format!("{}  {}", paint.attention("TIE"), paint.strong(&names())),
    }
}

fn write_scores(text: &mut String, count: &Count, paint: Paint) {
    let rows: Vec<(String, String)> = count
        .scores
        .iter()
        .map(|(name, score)| (on_one_line(name), score.to_string()))
        .collect();
    let width = rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let digits = rows
        .iter()
        .map(|(_, score)| score.width())
        .max()
        .unwrap_or(0);
    let of = count
        .total
        .as_ref()
        .map(|total| format!(" of {total}"))
        .unwrap_or_default();
    let _ = writeln!(
        text,
        "{}",
        paint.strong(&format!("{}{of}", count.scores_are))
    );
    for (name, score) in rows {
        let mark = if count
            .winners
            .iter()
            .any(|winner| on_one_line(winner) == name)
        {
            "  ←"
        } else {
            ""
        };
        let _ = writeln!(text, "  {}  {score:>digits$}{mark}", padded(&name, width));
    }
}

fn write_matrix(
    text: &mut String,
    candidates: &[String],
    (pairwise, pairwise_are): (&Pairwise, &str),
    paint: Paint,
) {
    if candidates.len() < 2 || pairwise.is_empty() || !fits(candidates) {
        return;
    }
    let cell = |a: &String, b: &String| {
        pairwise
            .get(a)
            .and_then(|row| row.get(b))
            .map_or("·".to_owned(), ToString::to_string)
    };
    let names: Vec<String> = candidates.iter().map(|name| on_one_line(name)).collect();
    let first = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let widths = candidates.iter().zip(&names).map(|(b, name)| {
        candidates
            .iter()
            .map(|a| cell(a, b).width())
            .max()
            .unwrap_or(0)
            .max(name.width())
    });
    let widths: Vec<usize> = widths.collect();
    let right = |text: &str, width: usize| {
        format!("  {}{text}", " ".repeat(width.saturating_sub(text.width())))
    };
    let _ = writeln!(
        text,
        "{}",
        paint.strong(&format!("{pairwise_are} that put the row above the column"))
    );
    let header: String = names
        .iter()
        .zip(&widths)
        .map(|(name, width)| right(name, *width))
        .collect();
    let _ = writeln!(text, "  {}{header}", " ".repeat(first));
    for (a, name) in candidates.iter().zip(&names) {
        let cells: String = candidates
            .iter()
            .zip(&widths)
            .map(|(b, width)| right(&cell(a, b), *width))
            .collect();
        let _ = writeln!(text, "  {}{cells}", padded(name, first));
    }
}
