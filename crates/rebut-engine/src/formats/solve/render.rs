//! How a solve debate is read: the code and a short table of evidence for the terminal, and
//! everything in full as Markdown.

use super::{
    Config, Phase,
    candidates::{Attack, Candidate},
    evidence::held_words,
    prompts::Setup,
    result::{CandidateResult, Proof, SolveResult, given_words},
    state::{HookRun, Ledger, many},
};
use crate::{
    clean::{as_code, for_markdown, for_people, on_one_line, shortened},
    event::Started,
    facts::TestCount,
    formats::{Reading, Shortfall, ending_word},
    gate::Shown,
    lessons::Search,
    outcome::Outcome,
    report::write_panel,
    view::{TurnState, View},
};
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;

pub const READING: Reading = Reading {
    shortfall,
    ..Reading::of(heading, lines, transcript)
};

fn heading(started: &Started) -> String {
    let Ok(config) = Config::parse(&started.config) else {
        return String::new();
    };
    let language = started
        .input
        .get("language")
        .and_then(|language| language.as_str())
        .unwrap_or_default();
    format!(
        "{} · {} of 8 phases · {}",
        on_one_line(language),
        config.phases.len(),
        config.topology
    )
}

fn shortfall(outcome: &Outcome) -> Option<Shortfall> {
    let result = SolveResult::deserialize(&outcome.result).ok()?;
    match result.proof() {
        Proof::TestsFail => Some(Shortfall::TestsFail),
        Proof::NotRun => Some(Shortfall::NotShown),
        Proof::Held | Proof::NoTests => None,
    }
}

fn result_of(view: &View) -> Option<SolveResult> {
    SolveResult::deserialize(&view.outcome.as_ref()?.result).ok()
}

/// Where the candidates stand, for a person at a gate: in words, and the code of each.
pub(super) fn so_far(setup: &Setup, ledger: &Ledger) -> Shown {
    let code = |one: &Candidate| json!({"label": one.label, "version": one.version, "approach": one.approach, "code": one.code});
    let pending = json!({
        "candidates": ledger.candidates.iter().map(code).collect::<Vec<_>>(),
        "chosen": ledger.choice.as_ref().and_then(|choice| ledger.of(&choice.owner)).map(|one| &one.label),
    });
    Shown {
        summary: words_so_far(setup, ledger),
        pending,
    }
}

fn words_so_far(setup: &Setup, ledger: &Ledger) -> String {
    let mut text = ledger
        .phases
        .last()
        .map(|phase| format!("{}: {}", phase.phase, phase.happened))
        .unwrap_or_default();
    for one in &ledger.candidates {
        let open = one.open_attacks().count();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n{} version {}: given tests {}, own tests {}, {open} attacks stand",
            one.label,
            one.version,
            given_words(setup, one),
            one.own.words()
        );
    }
    if let Some(choice) = &ledger.choice
        && let Some(one) = ledger.of(&choice.owner)
    {
        let _ = write!(
            text,
            "\nchosen: {} {}\n{}",
            one.label,
            choice.by,
            one.code.trim_end()
        );
    }
    text
}

fn lines(view: &View) -> Vec<String> {
    let Some(result) = result_of(view) else {
        return lines_so_far(view);
    };
    let mut lines: Vec<String> = for_people(&result.code)
        .lines()
        .map(str::to_owned)
        .collect();
    lines.push(String::new());
    lines.extend(evidence_lines(&result));
    lines
}

/// The table of evidence and what a reader should know besides.
pub fn evidence_lines(result: &SolveResult) -> Vec<String> {
    let row = |cells: [&str; 5]| {
        let [mark, name, tests, attacks, claims] = cells;
        format!("{mark:<2}{name:<22} {tests:<24} {attacks:<24} {claims}")
            .trim_end()
            .to_owned()
    };
    let mut lines = vec![row(["", "candidate", "given tests", "attacks", "claims"])];
    for one in &result.candidates {
        let mark = if result.winner.as_deref() == Some(one.owner.as_str()) {
            "▸"
        } else {
            ""
        };
        let name = format!("{} {}", one.label, on_one_line(&one.owner));
        let claims = match one.blocked_by.len() {
            0 => one.claims.len().to_string(),
            blocked => format!("{}, {blocked} severe and unsettled", one.claims.len()),
        };
        lines.push(row([
            mark,
            &shortened(&name, 22),
            &shortened(&brief(one), 24),
            &attack_words(one),
            &claims,
        ]));
    }
    if result
        .candidates
        .iter()
        .any(|one| one.tests.is_some_and(|count| count.is_shared()))
    {
        lines.push(
            "(shared): code and tests ran in the same process, so these passes could be forged"
                .to_owned(),
        );
    }
    lines.push(format!("chosen {}", on_one_line(&result.chosen)));
    if result.hidden_words != "no tests" {
        lines.push(format!(
            "hidden tests: {}",
            on_one_line(&result.hidden_words)
        ));
    }
    if result.proof() == Proof::NoTests {
        lines.push("no tests: nothing shows that it works".to_owned());
    }
    for hook in &result.hooks {
        let said = match (hook.passed, result.without_evidence.as_deref()) {
            (None, Some(why)) if why == hook.said => String::new(),
            _ => format!(": {}", shortened(&on_one_line(hook.said.trim()), 160)),
        };
        lines.push(format!(
            "hook after {} on {}: {}{said}",
            hook.after,
            on_one_line(&hook.candidate),
            hook_words(hook)
        ));
    }
    for refusal in &result.refusals {
        lines.push(format!(
            "refused: {}",
            shortened(&on_one_line(refusal), 160)
        ));
    }
    for lesson in &result.lessons_given {
        lines.push(format!(
            "given: {}",
            shortened(&on_one_line(&lesson.shown()), 240)
        ));
    }
    lines.extend(result.lessons_search.as_ref().and_then(Search::words));
    for lesson in &result.lessons_drawn {
        lines.push(format!(
            "learned: {}{}",
            shortened(&on_one_line(&lesson.lesson), 160),
            lesson.shared_note()
        ));
    }
    lines
}

/// What tests showed, without the reasons: those are told once, below.
fn brief(one: &CandidateResult) -> String {
    match one.tests.filter(TestCount::is_shared) {
        Some(count) => format!("{} of {} hold (shared)", count.passed, count.total),
        None => one
            .tests_words
            .split_once(": ")
            .map_or(one.tests_words.as_str(), |(brief, _)| brief)
            .to_owned(),
    }
}

fn hook_words(hook: &HookRun) -> &'static str {
    hook.passed.map_or(
        "did not run",
        |passed| if passed { "passed" } else { "failed" },
    )
}

fn attack_words(one: &CandidateResult) -> String {
    let count = |word: &str| {
        one.attacks
            .iter()
            .filter(|attack| attack.state.as_str() == word)
            .count()
    };
    match (count("confirmed"), count("patched")) {
        (0, 0) => "none confirmed".to_owned(),
        (open, patched) => format!("{} confirmed, {patched} patched", open + patched),
    }
}

/// A debate that has no result: versions as they came.
fn lines_so_far(view: &View) -> Vec<String> {
    let given = view
        .started
        .as_ref()
        .and_then(|started| started.input.get("tests")?.as_str())
        .unwrap_or_default();
    let version = |(at, code): (usize, &std::sync::Arc<crate::facts::CodeRecorded>)| {
        // Code that its author tried is recorded once more when it has met the given tests.
        let is_tried = code.turn.starts_with(Phase::SelfEvolvement.name())
            && !view.code[..at].iter().any(|known| known.turn == code.turn);
        let is_own = given.trim().is_empty() || is_tried;
        let whose = if is_own { "own" } else { "given" };
        let held = |count: TestCount| format!("{whose} tests: {}", held_words(count));
        let tests = code.tests.map_or_else(|| "nothing ran".to_owned(), held);
        format!(
            "version {} by {}: {tests}; {}",
            code.version,
            on_one_line(&code.candidate),
            code.metrics.words()
        )
    };
    view.code.iter().enumerate().map(version).collect()
}

fn transcript(view: &View) -> String {
    let mut text = String::new();
    let Some(started) = &view.started else {
        return text;
    };
    write_panel(&mut text, &started.agents, |agent| {
        for_markdown(&agent.stance)
    });
    let Some(result) = result_of(view) else {
        write_so_far(&mut text, view);
        return text;
    };
    write_phases(&mut text, &result);
    let owners_were_asked = result
        .phases
        .iter()
        .any(|phase| phase.held && phase.phase == "review");
    for one in &result.candidates {
        write_candidate(&mut text, one, owners_were_asked);
    }
    write_tools(&mut text, view);
    write_vote(&mut text, &result);
    let Some(outcome) = &view.outcome else {
        return text;
    };
    let _ = writeln!(
        text,
        "\n## {}\n\n{}",
        ending_word(&started.format, outcome),
        for_markdown(&outcome.summary)
    );
    if !result.code.is_empty() {
        let _ = writeln!(
            text,
            "\n{}",
            as_code(&result.language, &for_people(&result.code))
        );
    }
    text
}

/// What was said in a debate that has no result.
fn write_so_far(text: &mut String, view: &View) {
    for turn in view
        .turns
        .iter()
        .filter(|turn| turn.state == TurnState::Done)
    {
        let _ = writeln!(
            text,
            "\n### {}\n\n{}",
            for_markdown(&turn.turn),
            for_markdown(&turn.text)
        );
    }
    for line in lines_so_far(view) {
        let _ = writeln!(text, "\n- {}", for_markdown(&line));
    }
    if let Some(outcome) = &view.outcome {
        let _ = writeln!(
            text,
            "\n## {}\n\n{}",
            outcome.outcome.as_str().to_uppercase().replace('_', " "),
            for_markdown(&outcome.summary)
        );
    }
}

fn write_phases(text: &mut String, result: &SolveResult) {
    text.push_str("\n## Phases\n\n| phase | expected | happened |\n|---|---|---|\n");
    for phase in &result.phases {
        let mark = if phase.as_expected {
            ""
        } else {
            " **(not as expected)**"
        };
        let _ = writeln!(
            text,
            "| {} | {} | {}{mark} |",
            cell(&phase.phase),
            cell(&phase.expected),
            cell(&phase.happened)
        );
    }
    for one in &result.clarified {
        let answer = one.answer.as_deref().unwrap_or("(nobody could say)");
        let _ = writeln!(
            text,
            "\n- asked ({}): {} — {}: {}",
            one.category.as_str(),
            for_markdown(&one.question),
            for_markdown(&one.by),
            for_markdown(answer)
        );
    }
    for hook in &result.hooks {
        let (candidate, said) = (for_markdown(&hook.candidate), for_markdown(&hook.said));
        let _ = writeln!(
            text,
            "\n- hook after {} on {candidate}: {}: {said}",
            hook.after,
            hook_words(hook)
        );
    }
    for refusal in &result.refusals {
        let _ = writeln!(text, "\n- refused: {}", for_markdown(refusal));
    }
    for lesson in &result.lessons_given {
        let _ = writeln!(text, "\n- lesson given: {}", for_markdown(&lesson.shown()));
    }
    if let Some(words) = result.lessons_search.as_ref().and_then(Search::words) {
        let _ = writeln!(text, "\n- {}", for_markdown(&words));
    }
    for lesson in &result.lessons_drawn {
        let _ = writeln!(
            text,
            "\n- lesson drawn by {}: {} ({}){}",
            for_markdown(&lesson.by),
            for_markdown(&lesson.lesson),
            for_markdown(&lesson.applies_to),
            lesson.shared_note()
        );
    }
}

fn write_candidate(text: &mut String, one: &CandidateResult, owners_were_asked: bool) {
    let _ = writeln!(
        text,
        "\n## {} by {}, version {}\n",
        one.label,
        for_markdown(&one.owner),
        one.version
    );
    let _ = writeln!(text, "{}\n", for_markdown(&one.approach));
    let _ = write!(text, "- given tests: {}", for_markdown(&one.tests_words));
    if one.attempts > 0 {
        let _ = write!(
            text,
            ", after {}: {}",
            many(one.attempts as usize, "attempt"),
            for_markdown(&one.attempts_ended)
        );
    }
    text.push('\n');
    let _ = writeln!(
        text,
        "- tests of its author: {}",
        for_markdown(&one.own_tests_words)
    );
    if let Some(lints) = one.lints {
        let _ = writeln!(text, "- a linter found {}", many(lints as usize, "thing"));
    }
    if let Some(quality) = one.quality {
        let _ = writeln!(text, "- rated {quality:.3} by the judge");
    }
    for reflected in &one.reflections {
        let _ = writeln!(
            text,
            "- after attempt {}: {} → {}",
            reflected.attempt,
            for_markdown(&reflected.root_cause),
            for_markdown(&reflected.what_to_change)
        );
    }
    for claim in &one.claims {
        let blocks = if one.blocked_by.contains(&claim.id.0) {
            ", **blocks it**"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "- `{}` {}{blocks}: {}",
            claim.id,
            claim.severity.as_str(),
            for_markdown(&claim.claim)
        );
        let _ = writeln!(
            text,
            "  - {}",
            for_markdown(&claim.standing(owners_were_asked))
        );
    }
    for Attack {
        id,
        by,
        claim,
        state,
        why,
        ..
    } in &one.attacks
    {
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(" ({})", for_markdown(why))
        };
        let _ = writeln!(
            text,
            "- attack {id} by {}, {}{why}: {}",
            for_markdown(by),
            state.as_str(),
            for_markdown(claim)
        );
    }
}

/// What tools were used for, in the order of the turns: agents use them side by side, and what ends
/// first is chance.
fn write_tools(text: &mut String, view: &View) {
    let mut calls: Vec<_> = view.tool_calls.iter().map(|(_, call)| call).collect();
    calls.sort_by(|one, other| one.turn.cmp(&other.turn));
    if !calls.is_empty() {
        text.push_str("\n## Tools\n\n");
    }
    for call in calls {
        let came = call
            .refused
            .as_ref()
            .map(|why| format!("refused: {why}"))
            .or_else(|| call.result.clone())
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "- `{}` used `{}`: {}",
            on_one_line(&call.turn),
            on_one_line(&call.tool),
            for_markdown(&shortened(&on_one_line(&came), 300))
        );
    }
}

fn write_vote(text: &mut String, result: &SolveResult) {
    if !result.differences.is_empty() {
        text.push_str("\n## Where they differ\n\n");
    }
    for one in &result.differences {
        let _ = writeln!(text, "- {}: {}", for_markdown(&one.test), one.words());
    }
    let Some(count) = &result.vote else { return };
    let _ = writeln!(text, "\n## Vote, {}\n", count.method);
    for line in &count.working {
        let _ = writeln!(text, "- {}", for_markdown(line));
    }
}

/// A text that cannot leave its cell.
fn cell(text: &str) -> String {
    for_markdown(text).replace('|', "\\|")
}
