//! An arm asked for a program. Two right programs are hardly ever the same text, so a poll counts
//! them by what they do: all run on the same calls, and those that give equal results stand for the
//! same answer.

use super::{
    ArmResult,
    poll::{self, Helping},
    question::{self, Question},
};
use crate::{
    agent::Agent,
    debate::{Ask, Debate, Step},
    error::Stop,
    event::{Event, Position},
    formats::{
        consensus::{Ballot, Bar},
        question::{context_of, number},
    },
    outcome::{Absence, Ending, Outcome},
    prompt,
    prompt::{Template, Word},
    reply,
    reply::Schema,
    sandbox::{End, Job, LANGUAGES, Ran, Work},
};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// The program that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Its language.
    pub language: String,
    /// The function it must define.
    pub entry: String,
    /// Calls of that function which everybody may see: a poll compares programs on them, and on
    /// those its agents think of.
    #[serde(default)]
    pub examples: Vec<String>,
}

/// One agent's program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// The whole program.
    pub code: String,
    /// Up to five calls that would show a wrong program to be wrong, each one expression.
    pub calls: Vec<String>,
    /// How sure the agent is, from 0 to 1.
    #[serde(deserialize_with = "number")]
    pub confidence: f64,
    /// How it works, in one sentence.
    pub summary: String,
}

reply!(Program, "arm_program");

/// The program an arm ends with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// Its text.
    pub code: String,
    /// Its language.
    pub language: String,
    /// Why this one.
    pub why: String,
    /// Calls on which programs were compared.
    pub compared_on: u32,
    /// Why nothing could be run, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

prompt!(
    /// What an agent reads when it writes a program on its own.
    Write, "arms/program.md" {
        /// The agent's attitude.
        stance: Word,
        /// The agent's role text.
        brief: Part,
        /// The language.
        language: Word,
        /// The function to define.
        entry: Word,
        /// What the program has to do.
        task: Data,
        /// What is known.
        context: Data,
        /// Notes of people.
        notes: Notes,
    }
);

/// The longest name of a function: prompts say it without a fence.
const LONGEST_NAME: usize = 80;
const MOST_CALLS: usize = 8;
const MOST_CALL_CHARS: usize = 500;
const MOST_CODE_BYTES: usize = 200_000;
/// The most calls programs are compared on, however many agents thought of some.
const MOST_COMPARED: usize = 40;
/// Seconds one program has for all its calls.
const SECONDS: u32 = 60;
/// Runs a program on calls; only Python's values can be compared so far.
const BEHAVIOUR: &str = include_str!("behaviour.py");

impl Wanted {
    /// What is wrong with it, if something is.
    pub fn check(&self) -> Result<(), String> {
        let Self {
            language, entry, ..
        } = self;
        if !LANGUAGES.contains(&language.as_str()) {
            return Err(format!(
                "program.language is `{language}`, not one of {}",
                LANGUAGES.join(", ")
            ));
        }
        if entry.is_empty() || !entry.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!(
                "program.entry must be the name of a function, not `{entry}`"
            ));
        }
        if entry.chars().count() > LONGEST_NAME {
            return Err(format!(
                "program.entry is longer than {LONGEST_NAME} characters"
            ));
        }
        Ok(())
    }
}

impl Program {
    /// Takes a fence off the code, leaves out calls that are none, and checks the rest.
    pub fn check(&mut self, entry: &str) -> Result<(), String> {
        self.code = without_fence(&self.code);
        if self.code.trim().is_empty() {
            return Err("\"code\" is empty".to_owned());
        }
        if self.code.len() > MOST_CODE_BYTES {
            return Err(format!("\"code\" is longer than {MOST_CODE_BYTES} bytes"));
        }
        if !self.code.contains(entry) {
            return Err(format!("\"code\" nowhere defines `{entry}`"));
        }
        let is_call = |call: &String| {
            call.contains(entry) && call.chars().count() <= MOST_CALL_CHARS && !call.contains('\n')
        };
        self.calls.retain(is_call);
        self.calls.truncate(MOST_CALLS);
        if !(0.0..=1.0).contains(&self.confidence) {
            return Err(format!(
                "\"confidence\" must be from 0 to 1, not {}",
                self.confidence
            ));
        }
        if self.summary.trim().is_empty() {
            Err("\"summary\" is empty".to_owned())
        } else {
            Ok(())
        }
    }
}

/// One agent writes; nothing is compared, and nothing is run.
pub(super) async fn one(
    debate: &Debate,
    question: &Question,
    wanted: &Wanted,
    agent: &Agent,
) -> Result<Outcome, Stop> {
    let step = Step::once("answer", 1);
    let round = debate
        .round(&step, [agent], |agent, notes| {
            ask(debate, question, wanted, agent, notes)
        })
        .await?
        .quorum(1)?;
    let said = round
        .said
        .into_iter()
        .next()
        .ok_or_else(|| Stop::Broken("a quorum of one is nobody".to_owned()))?;
    let voter = said.agent.clone();
    let held = held(1);
    debate
        .note(
            step.place(Some(&voter)),
            Event::PositionRecorded(Arc::new(position(&said.turn, &said.reply, &held, true))),
        )
        .await?;
    let chosen = Chosen {
        code: said.reply.code,
        language: wanted.language.clone(),
        why: "it is the only one".to_owned(),
        compared_on: 0,
        refused: None,
    };
    let result = result(
        question,
        Some(held.clone()),
        BTreeMap::from([(held, vec![voter])]),
        1,
        chosen,
    );
    Outcome::with_result(
        Ending::Completed,
        "one program was written",
        &result,
        None,
        debate.absences(),
    )
}

/// One program, and who wrote it at which turn.
struct Written {
    step: Step,
    agent: Arc<str>,
    voter: Arc<str>,
    turn: Arc<str>,
    program: Program,
}

/// Several agents write; the behaviour most programs share wins.
pub(super) async fn several(
    debate: &Debate,
    question: &Question,
    wanted: &Wanted,
    config: &poll::Config,
) -> Result<Outcome, Stop> {
    let planned = config.planned(debate.agents().len());
    let (written, absent) = write_all(debate, question, wanted, planned).await?;
    let needed = question::quorum(config.min_answers, planned);
    if written.len() < needed {
        return Err(Stop::NoQuorum {
            step: "answer".to_owned(),
            answered: written.len(),
            needed,
            absent,
        });
    }
    let calls = pooled(&wanted.examples, &written);
    let (behaviours, refused) = run_all(debate, wanted, &written, &calls).await?;
    let groups = grouped(&behaviours);
    for (at, one) in written.iter().enumerate() {
        let held = held(groups[at].unwrap_or(at) + 1);
        let position = position(&one.turn, &one.program, &held, groups[at].is_some());
        debate
            .note(
                one.step.place(Some(&one.agent)),
                Event::PositionRecorded(Arc::new(position)),
            )
            .await?;
    }
    let names: Vec<Option<String>> = groups
        .iter()
        .map(|group| group.map(|at| held(at + 1)))
        .collect();
    let cast = written.iter().zip(&names);
    let ballots: Vec<_> = cast
        .map(|(one, name)| {
            (
                &one.voter,
                name.as_deref().map_or(Ballot::Missing, Ballot::For),
            )
        })
        .collect();
    let bar = Bar::new(0.0).map_err(Stop::Broken)?;
    let last = Step::numbered(
        "answer",
        written.iter().map(|one| one.step.round).max().unwrap_or(1),
    );
    let tally = Arc::new(bar.count(&last.name, &ballots));
    debate
        .note(last.place(None), Event::VoteTallied(tally.clone()))
        .await?;
    let (at, why) = choice(&groups, refused.is_some());
    let chosen = Chosen {
        code: written[at].program.code.clone(),
        language: wanted.language.clone(),
        why: why.clone(),
        compared_on: u32::try_from(calls.len()).unwrap_or(u32::MAX),
        refused,
    };
    let ending = bar.ending(&tally, written.len() < planned);
    let winner = tally.leader.clone().filter(|_| tally.reached);
    let result = result(
        question,
        winner,
        tally.distribution.clone(),
        u32::try_from(planned).unwrap_or(u32::MAX),
        chosen,
    );
    let outcome = Outcome::with_result(
        ending,
        &format!("{} is taken: {why}", held(at + 1)),
        &result,
        None,
        debate.absences(),
    )?;
    Ok(Outcome {
        consensus_score: Some(tally.share),
        ..outcome
    })
}

async fn write_all(
    debate: &Debate,
    question: &Question,
    wanted: &Wanted,
    planned: usize,
) -> Result<(Vec<Written>, Vec<Absence>), Stop> {
    let agents = debate.agents();
    let repeats = planned > agents.len();
    let helpings: Vec<Helping> = poll::batches(planned, agents.len(), 0)
        .into_iter()
        .flatten()
        .collect();
    let rounds = helpings.iter().map(|helping| {
        debate.round(
            &helping.step,
            &agents[helping.first..helping.first + helping.count],
            |agent, notes| ask(debate, question, wanted, agent, notes),
        )
    });
    let (mut written, mut absent) = (Vec::new(), Vec::new());
    for (helping, round) in helpings.iter().zip(join_all(rounds).await) {
        let round = round?;
        absent.extend(round.absent);
        written.extend(round.said.into_iter().map(|said| Written {
            step: helping.step.clone(),
            voter: if repeats {
                format!("{}·{}", said.agent, helping.step.round).into()
            } else {
                said.agent.clone()
            },
            agent: said.agent,
            turn: said.turn,
            program: said.reply,
        }));
    }
    Ok((written, absent))
}

/// What each program did on every call; `None` for one that did not load or gave no value at all.
/// With it, why nothing could be compared.
async fn run_all(
    debate: &Debate,
    wanted: &Wanted,
    written: &[Written],
    calls: &[String],
) -> Result<(Vec<Option<Vec<String>>>, Option<String>), Stop> {
    if wanted.language != "python" {
        // Every program stands for itself.
        return Ok((
            (0..written.len())
                .map(|at| Some(vec![at.to_string()]))
                .collect(),
            None,
        ));
    }
    let (mut behaviours, mut refused) = (Vec::new(), None);
    for one in written {
        let completed = debate
            .run(
                &Step::once("behaviour", one.step.round),
                &one.voter,
                &job(&one.program.code, calls),
            )
            .await?;
        behaviours.push(match completed.result() {
            Ok(ran) => behaviour(ran),
            Err(why) => {
                refused = Some(why.to_string());
                None
            }
        });
    }
    Ok((behaviours, refused))
}

fn job(code: &str, calls: &[String]) -> Job {
    let stdin = serde_json::json!({"code": code, "calls": calls}).to_string();
    Job {
        language: "python".to_owned(),
        code: BEHAVIOUR.to_owned(),
        work: Work::Program {
            stdin,
            args: Vec::new(),
        },
        seconds: SECONDS,
    }
}

/// What a run says of a program's behaviour.
fn behaviour(ran: &Ran) -> Option<Vec<String>> {
    if ran.end != End::Exited(0) {
        return None;
    }
    let results: Vec<String> = serde_json::from_str(ran.stdout.lines().next_back()?).ok()?;
    let (loaded, of_calls) = results.split_first()?;
    let is_value = |result: &String| result.starts_with('=');
    let works = is_value(loaded) && (of_calls.is_empty() || of_calls.iter().any(is_value));
    works.then(|| of_calls.to_vec())
}

/// The calls programs are compared on: those everybody may see, then those the agents thought of,
/// each once, taken in turn.
fn pooled(examples: &[String], written: &[Written]) -> Vec<String> {
    let most = written
        .iter()
        .map(|one| one.program.calls.len())
        .max()
        .unwrap_or(0);
    let thought_of = (0..most).flat_map(|at| {
        written
            .iter()
            .filter_map(move |one| one.program.calls.get(at))
    });
    let mut calls: Vec<String> = Vec::new();
    for call in examples.iter().chain(thought_of).map(|call| call.trim()) {
        if !calls.iter().any(|known| known == call) && calls.len() < MOST_COMPARED {
            calls.push(call.to_owned());
        }
    }
    calls
}

/// For each program the first that behaves the same; `None` where nothing is known of it. Nothing
/// to compare on makes nobody the same.
fn grouped(behaviours: &[Option<Vec<String>>]) -> Vec<Option<usize>> {
    let first = |at: usize, known: &Vec<String>| {
        let same = |other: &Option<Vec<String>>| !known.is_empty() && other.as_ref() == Some(known);
        behaviours.iter().position(same).unwrap_or(at)
    };
    behaviours
        .iter()
        .enumerate()
        .map(|(at, known)| known.as_ref().map(|known| first(at, known)))
        .collect()
}

/// Which program is taken, and why: the first of the largest group, of several equally large groups
/// the one that came first.
fn choice(groups: &[Option<usize>], refused: bool) -> (usize, String) {
    let size = |at: usize| groups.iter().filter(|group| **group == Some(at)).count();
    let most = (0..groups.len()).map(size).max().unwrap_or(0);
    let leaders: Vec<usize> = (0..groups.len())
        .filter(|at| most > 0 && size(*at) == most)
        .collect();
    match leaders.as_slice() {
        [] if refused => (0, "the first; nothing could be run".to_owned()),
        [] => (0, "the first; no program gave a value".to_owned()),
        [one] => (*one, format!("{most} of {} behave the same", groups.len())),
        [first, ..] => (
            *first,
            format!("the first of {} groups of {most}", leaders.len()),
        ),
    }
}

fn ask(
    debate: &Debate,
    question: &Question,
    wanted: &Wanted,
    agent: &Agent,
    notes: &str,
) -> Ask<Program> {
    let prompt = Write {
        stance: agent.stance_word(),
        brief: &agent.brief,
        language: Word::name(&wanted.language, LONGEST_NAME),
        entry: Word::name(&wanted.entry, LONGEST_NAME),
        task: &question.input.question,
        context: context_of(debate),
        notes,
    };
    let entry = wanted.entry.clone();
    Ask {
        prompt: prompt.render(debate.fence()),
        schema: Schema::of::<Program>(),
        check: Box::new(move |reply: &mut Program| reply.check(&entry)),
    }
}

fn held(number: usize) -> String {
    format!("program {number}")
}

fn position(turn: &Arc<str>, program: &Program, held: &str, counts: bool) -> Position {
    Position {
        turn: turn.clone(),
        counted: counts.then(|| held.to_owned()),
        option: Some(held.to_owned()),
        ranking: Vec::new(),
        from: None,
        confidence: program.confidence,
        reason: String::new(),
        summary: program.summary.clone(),
        claims: Vec::new(),
        challenges: Vec::new(),
        because: Vec::new(),
        documented: true,
        flips_if: String::new(),
        bad_citations: Vec::new(),
    }
}

fn result(
    question: &Question,
    winner: Option<String>,
    distribution: BTreeMap<String, Vec<Arc<str>>>,
    calls: u32,
    chosen: Chosen,
) -> ArmResult {
    ArmResult {
        question_id: question.input.question_id.clone(),
        winner,
        label: String::new(),
        answers: u32::try_from(distribution.values().map(Vec::len).sum::<usize>())
            .unwrap_or(u32::MAX),
        distribution,
        calls,
        saved: None,
        rounds: Vec::new(),
        changes: Vec::new(),
        program: Some(chosen),
    }
}

/// The text inside a code fence, where one is around the whole.
fn without_fence(code: &str) -> String {
    let trimmed = code.trim();
    let inside = trimmed
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'));
    inside.map_or(code, |(_, inside)| inside).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::mismatches;

    #[test]
    fn the_prompt_and_its_struct_agree() {
        assert_eq!(mismatches::<Write>(), Vec::<String>::new());
    }

    #[test]
    fn programs_are_counted_by_what_they_do_and_silence_is_no_behaviour() {
        // A letter is a behaviour, `-` one without any call, `.` a program of which nothing is
        // known: which is taken, and why.
        let rows = [
            ("A", 0, "1 of 1 behave the same"),
            ("ABB", 1, "2 of 3 behave the same"),
            ("AB", 0, "the first of 2 groups of 1"),
            ("CBBAA", 1, "the first of 2 groups of 2"),
            ("..A", 2, "1 of 3 behave the same"),
            ("..AA.", 2, "2 of 5 behave the same"),
            ("---", 0, "the first of 3 groups of 1"),
            ("...", 0, "the first; no program gave a value"),
        ];
        for (programs, at, why) in rows {
            let behaviours: Vec<Option<Vec<String>>> = programs
                .chars()
                .map(|c| match c {
                    '.' => None,
                    '-' => Some(Vec::new()),
                    letter => Some(vec![letter.to_string()]),
                })
                .collect();
            assert_eq!(
                choice(&grouped(&behaviours), false),
                (at, why.to_owned()),
                "{programs}"
            );
        }
        assert_eq!(
            choice(&[None], true),
            (0, "the first; nothing could be run".to_owned())
        );
    }

    #[test]
    fn a_run_says_what_a_program_does_or_nothing() {
        let ran = |end: End, stdout: &str| Ran {
            stdout: stdout.to_owned(),
            ..Ran::plain(end, [])
        };
        let rows = [
            (
                End::Exited(0),
                "[\"=00\", \"=a\", \"!Late\"]\n",
                Some(vec!["=a", "!Late"]),
            ),
            (End::Exited(0), "[\"=00\"]\n", Some(vec![])),
            (End::Exited(0), "[\"=00\", \"!TypeError\"]\n", None),
            (End::Exited(0), "[\"!SyntaxError\"]\n", None),
            (End::Exited(0), "", None),
            (End::Exited(1), "[\"=00\", \"=a\"]\n", None),
            (End::TimedOut, "[\"=00\", \"=a\"]\n", None),
        ];
        for (end, stdout, expected) in rows {
            let expected =
                expected.map(|list| list.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(behaviour(&ran(end, stdout)), expected, "{stdout}");
        }
    }

    #[test]
    fn replies_are_checked_and_calls_that_are_none_are_left_out() {
        let said = |code: &str, calls: &[&str]| Program {
            code: code.to_owned(),
            calls: calls.iter().map(|call| (*call).to_owned()).collect(),
            confidence: 0.5,
            summary: "s".to_owned(),
        };
        let mut good = said("```python\ndef f(): pass\n```", &["f()", "g()", "f(\n)"]);
        assert_eq!(good.check("f"), Ok(()));
        assert_eq!(
            (good.code.as_str(), good.calls),
            ("def f(): pass\n", vec!["f()".to_owned()])
        );
        for (code, problem) in [(" ", "is empty"), ("def g(): pass", "nowhere defines `h`")] {
            assert!(
                said(code, &[])
                    .check("h")
                    .is_err_and(|why| why.contains(problem)),
                "{code}"
            );
        }
    }
}
