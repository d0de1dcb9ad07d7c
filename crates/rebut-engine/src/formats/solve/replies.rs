//! What agents reply in a solve debate: one flat form per turn, each with a check that says what is wrong.

use crate::{
    clean::{on_one_line, shortened},
    event::ClaimId,
    formats::{decide::replies::sentences, question::number},
    moves::{
        clarify::{Category, Priority},
        objections::named,
    },
    planning::{Plan, Task},
    reply,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! form {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $name { $($(#[$field_doc])* pub $field: $kind),* }
    };
    ($(#[$doc:meta])* $name:ident = $reply:literal { $($(#[$field_doc:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        form!($(#[$doc])* $name { $($(#[$field_doc])* $field: $kind),* });
        reply!($name, $reply);
    };
}

form!(
    /// What is open about the task.
    Questions = "solve_questions" {
        /// How sure the asker is that it knows what is wanted, 0 to 1.
        #[serde(deserialize_with = "number")]
        confidence: f64,
        /// What it asks; empty when nothing is open.
        questions: Vec<Question>,
    }
);

form!(
    /// One question.
    Question {
        /// The question.
        question: String,
        /// What it is about.
        category: Category,
        /// How much depends on the answer.
        priority: Priority,
    }
);

form!(
    /// Answers to questions about the task.
    Instruction = "solve_answers" {
        /// One for each question that can be answered from the task.
        answers: Vec<Instructed>,
        /// How sure the instructor is of the answers, 0 to 1.
        #[serde(deserialize_with = "number")]
        confidence: f64,
        /// What stays open.
        #[serde(deserialize_with = "sentences")]
        remaining: Vec<String>,
    }
);

form!(
    /// One answer.
    Instructed {
        /// The question by its name, `Q1`.
        question: String,
        /// The answer.
        answer: String,
    }
);

form!(
    /// A plan.
    Planned = "solve_plan" {
        /// What is to be done.
        tasks: Vec<PlannedTask>,
    }
);

form!(
    /// One task of a plan.
    PlannedTask {
        /// Its name, unique in the plan.
        name: String,
        /// The names of tasks that must be done before.
        needs: Vec<String>,
        /// Among those that can be done together, the higher comes first.
        priority: i32,
    }
);

form!(
    /// Code with its author's own tests.
    Draft = "solve_draft" {
        /// How it works, in one to three sentences.
        approach: String,
        /// The whole code.
        code: String,
        /// Tests of its own.
        tests: String,
        /// How sure the author is, 0 to 1.
        #[serde(deserialize_with = "number")]
        confidence: f64,
    }
);

form!(
    /// Code.
    Proposal = "solve_code" {
        /// How it works, in one to three sentences.
        approach: String,
        /// The whole code.
        code: String,
        /// How sure the author is, 0 to 1.
        #[serde(deserialize_with = "number")]
        confidence: f64,
    }
);

form!(
    /// What an author makes of a failed attempt.
    Reflection = "solve_reflection" {
        /// The cause behind it.
        root_cause: String,
        /// What went wrong.
        what_went_wrong: String,
        /// What to do differently.
        what_to_change: String,
        /// How sure it is that this mends it, 0 to 1.
        #[serde(deserialize_with = "number")]
        confidence: f64,
    }
);

form!(
    /// A lesson that holds beyond the task.
    Lesson = "solve_lesson" {
        /// The lesson, in one or two sentences.
        lesson: String,
        /// When it applies.
        applies_to: String,
    }
);

form!(
    /// What somebody holds against candidates.
    Critique = "solve_critique" {
        /// Each of them; empty when nothing is wrong.
        claims: Vec<Criticism>,
    }
);

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The code does what the task asks for, but could be better.
    Minor,
    /// It is wrong in cases that matter less.
    Major,
    /// It does not do what the task asks for, or does harm.
    #[serde(alias = "critical")]
    Severe,
}

impl Severity {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Severe => "severe",
        }
    }
}

form!(
    /// One claim against a candidate.
    Criticism {
        /// The candidate by its name, `C1`.
        candidate: String,
        /// How bad it is.
        severity: Severity,
        /// What is wrong.
        claim: String,
        /// What would mend it.
        fix: String,
    }
);

form!(
    /// An owner's answers to the claims against its candidate.
    Answers = "solve_review" {
        /// One for each claim.
        answers: Vec<Answered>,
    }
);

/// What an owner makes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Taken {
    /// It holds, and the code should change.
    Accept,
    /// It does not hold.
    Reject,
}

form!(
    /// One answer.
    Answered {
        /// The claim by its name.
        claim: String,
        /// Whether it holds.
        verdict: Taken,
        /// Why.
        why: String,
    }
);

form!(
    /// A candidate's next version.
    Improvement = "solve_improvement" {
        /// Whether the code changes at all.
        changed: bool,
        /// The whole code; the old one when nothing changes.
        code: String,
        /// The claims it mends, by name.
        #[serde(deserialize_with = "sentences")]
        fixed: Vec<String>,
        /// What changed and why.
        why: String,
    }
);

form!(
    /// Attacks on candidates.
    Attacks = "solve_attacks" {
        /// Each of them; empty when red finds nothing.
        attacks: Vec<Attacked>,
    }
);

form!(
    /// One attack.
    Attacked {
        /// The candidate by its name, `C1`.
        candidate: String,
        /// What breaks, in one sentence.
        claim: String,
        /// Tests that show it.
        test: String,
    }
);

form!(
    /// Blue's answer to attacks that were shown.
    Defence = "solve_defence" {
        /// One for each attack.
        answers: Vec<Defended>,
        /// The whole patched code; the old one when nothing changes.
        code: String,
    }
);

/// What blue does about an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stand {
    /// It is mended.
    Patch,
    /// It demands what the task or the given tests forbid.
    Contest,
}

form!(
    /// One answer to an attack.
    Defended {
        /// The attack by its name, `A1`.
        attack: String,
        /// What is done about it.
        verdict: Stand,
        /// When contested: the words of the task or the given tests that the attack contradicts, literally.
        quote: String,
        /// Why.
        why: String,
    }
);

form!(
    /// What a judge says of contested attacks.
    Rulings = "solve_ruling" {
        /// One for each.
        rulings: Vec<Ruled>,
    }
);

form!(
    /// One ruling.
    Ruled {
        /// The attack by its name.
        attack: String,
        /// Whether what it demands contradicts the task or the given tests.
        contradicts: bool,
        /// Why.
        why: String,
    }
);

form!(
    /// Tests on which candidates should differ.
    Contrast = "solve_contrast" {
        /// The tests.
        tests: String,
        /// Where the candidates should differ.
        why: String,
    }
);

form!(
    /// A voter's ranking.
    Ranking = "solve_ballot" {
        /// The candidates by name, best first.
        ranking: Vec<String>,
        /// How sure the voter is, 0 to 1.
        #[serde(deserialize_with = "number")]
        confidence: f64,
        /// Why.
        reason: String,
    }
);

form!(
    /// A judge's rubric.
    Rubric = "solve_rubric" {
        /// One for each candidate.
        scores: Vec<Rated>,
    }
);

form!(
    /// One candidate's points, each 0 to 1.
    Rated {
        /// The candidate by its name.
        candidate: String,
        /// Whether it does what the task asks for.
        #[serde(deserialize_with = "number")]
        correctness: f64,
        /// How well others can change it.
        #[serde(deserialize_with = "number")]
        maintainability: f64,
        /// How fast and sparing it is.
        #[serde(deserialize_with = "number")]
        performance: f64,
        /// How little can be done with it that should not be.
        #[serde(deserialize_with = "number")]
        security: f64,
        /// How much of it tests have met.
        #[serde(deserialize_with = "number")]
        test_coverage: f64,
        /// Why.
        reason: String,
    }
);

impl Rated {
    /// The points with their names.
    pub fn points(&self) -> [(&'static str, f64); 5] {
        [
            ("correctness", self.correctness),
            ("maintainability", self.maintainability),
            ("performance", self.performance),
            ("security", self.security),
            ("test_coverage", self.test_coverage),
        ]
    }
}

/// More claims, attacks or questions than these are nobody's to answer.
const MOST: usize = 12;

fn share(field: &str, value: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(format!("\"{field}\" must be from 0 to 1, not {value}")) }
}

fn filled(field: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err(format!("\"{field}\" is empty")) } else { Ok(()) }
}

fn few<T>(field: &str, list: &mut Vec<T>) -> Result<(), String> {
    if list.len() > MOST { Err(format!("\"{field}\" has {} entries; give the {MOST} that matter most", list.len())) } else { Ok(()) }
}

/// Code without the fence that models like to put around it.
fn unfenced(code: &mut String) {
    let trimmed = code.trim();
    let inner = trimmed.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")).and_then(|rest| rest.split_once('\n'));
    if let Some((_, body)) = inner {
        *code = body.to_owned();
    }
    code.truncate(code.trim_end().len());
    code.push('\n');
}

/// The name of `known` that is meant, by its letters and digits; an error lists those that are.
fn known_name(field: &str, said: &mut String, known: &[String]) -> Result<(), String> {
    let bare = |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let wanted = bare(said);
    let wanted = wanted.strip_prefix("candidate").filter(|rest| !rest.is_empty()).unwrap_or(&wanted);
    match known.iter().find(|name| bare(name) == wanted) {
        Some(name) => {
            said.clone_from(name);
            Ok(())
        }
        None => Err(format!("\"{field}\" must be one of {}, not \"{}\"", known.join(", "), shortened(&on_one_line(said), 40))),
    }
}

/// Every one of `known` is answered exactly once.
fn each_once<'a>(field: &str, said: impl Iterator<Item = &'a String>, known: &[String]) -> Result<(), String> {
    let said: Vec<&String> = said.collect();
    for name in known {
        match said.iter().filter(|said| **said == name).count() {
            1 => {}
            0 => return Err(format!("\"{field}\" says nothing about {name}")),
            _ => return Err(format!("\"{field}\" names {name} twice")),
        }
    }
    Ok(())
}

impl Questions {
    /// Checks and normalises.
    pub fn check(&mut self) -> Result<(), String> {
        share("confidence", self.confidence)?;
        few("questions", &mut self.questions)?;
        self.questions.iter().try_for_each(|question| filled("question", &question.question))?;
        self.questions.sort_by_key(|question| question.priority);
        Ok(())
    }
}

impl Instruction {
    /// Checks and normalises; `known` are the names of the questions.
    pub fn check(&mut self, known: &[String]) -> Result<(), String> {
        share("confidence", self.confidence)?;
        for answer in &mut self.answers {
            known_name("question", &mut answer.question, known)?;
            filled("answer", &answer.answer)?;
        }
        Ok(())
    }
}

impl Planned {
    /// The plan in stages; a cycle is an error.
    pub fn plan(&self) -> Result<Plan, String> {
        if self.tasks.is_empty() {
            return Err("\"tasks\" is empty".to_owned());
        }
        let task = |task: &PlannedTask| Task { name: task.name.clone(), needs: task.needs.clone(), priority: task.priority };
        Plan::new(self.tasks.iter().map(task).collect()).map_err(|error| error.to_string())
    }

    /// Checks.
    pub fn check(&mut self) -> Result<(), String> {
        few("tasks", &mut self.tasks)?;
        self.tasks.iter().try_for_each(|task| filled("name", &task.name))?;
        self.plan().map(drop)
    }
}

impl Draft {
    /// Checks and normalises.
    pub fn check(&mut self) -> Result<(), String> {
        filled("code", &self.code)?;
        filled("tests", &self.tests)?;
        unfenced(&mut self.code);
        unfenced(&mut self.tests);
        share("confidence", self.confidence)
    }
}

impl Proposal {
    /// Checks and normalises.
    pub fn check(&mut self) -> Result<(), String> {
        filled("code", &self.code)?;
        unfenced(&mut self.code);
        share("confidence", self.confidence)
    }
}

impl Reflection {
    /// Checks.
    pub fn check(&mut self) -> Result<(), String> {
        filled("root_cause", &self.root_cause)?;
        filled("what_to_change", &self.what_to_change)?;
        share("confidence", self.confidence)
    }
}

impl Lesson {
    /// Checks.
    pub fn check(&mut self) -> Result<(), String> {
        filled("lesson", &self.lesson)?;
        filled("applies_to", &self.applies_to)
    }
}

impl Critique {
    /// Checks and normalises; `known` are the candidates that were shown.
    pub fn check(&mut self, known: &[String]) -> Result<(), String> {
        few("claims", &mut self.claims)?;
        for claim in &mut self.claims {
            known_name("candidate", &mut claim.candidate, known)?;
            filled("claim", &claim.claim)?;
        }
        Ok(())
    }
}

impl Answers {
    /// Checks and normalises; `known` are the claims. One that is left out stays unanswered, which is not for a check to mend.
    pub fn check(&mut self, known: &[ClaimId]) -> Result<(), String> {
        for answer in &mut self.answers {
            let Some(id) = named(&answer.claim, known) else {
                let listed = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                return Err(format!("\"claim\": there is no `{}`; there are: {listed}", shortened(&on_one_line(&answer.claim), 40)));
            };
            answer.claim.clone_from(&id.0);
            filled("why", &answer.why)?;
        }
        Ok(())
    }
}

impl Improvement {
    /// Checks and normalises.
    pub fn check(&mut self) -> Result<(), String> {
        if self.changed {
            filled("code", &self.code)?;
            unfenced(&mut self.code);
        }
        Ok(())
    }
}

impl Attacks {
    /// Checks and normalises; `known` are the candidates that were shown.
    pub fn check(&mut self, known: &[String]) -> Result<(), String> {
        few("attacks", &mut self.attacks)?;
        for attack in &mut self.attacks {
            known_name("candidate", &mut attack.candidate, known)?;
            filled("claim", &attack.claim)?;
            filled("test", &attack.test)?;
            unfenced(&mut attack.test);
        }
        Ok(())
    }
}

impl Defence {
    /// Checks and normalises; `known` are the attacks that were shown.
    pub fn check(&mut self, known: &[String]) -> Result<(), String> {
        for answer in &mut self.answers {
            known_name("attack", &mut answer.attack, known)?;
        }
        each_once("answers", self.answers.iter().map(|answer| &answer.attack), known)?;
        if self.answers.iter().any(|answer| answer.verdict == Stand::Patch) {
            filled("code", &self.code)?;
            unfenced(&mut self.code);
        }
        Ok(())
    }
}

impl Rulings {
    /// Checks and normalises; `known` are the contested attacks.
    pub fn check(&mut self, known: &[String]) -> Result<(), String> {
        for ruling in &mut self.rulings {
            known_name("attack", &mut ruling.attack, known)?;
        }
        each_once("rulings", self.rulings.iter().map(|ruling| &ruling.attack), known)
    }
}

impl Contrast {
    /// Checks and normalises.
    pub fn check(&mut self) -> Result<(), String> {
        filled("tests", &self.tests)?;
        unfenced(&mut self.tests);
        Ok(())
    }
}

impl Ranking {
    /// Checks and normalises; `known` are the candidates. All must be ranked.
    pub fn check(&mut self, known: &[String]) -> Result<(), String> {
        for name in &mut self.ranking {
            known_name("ranking", name, known)?;
        }
        each_once("ranking", self.ranking.iter(), known)?;
        share("confidence", self.confidence)
    }
}

impl Rubric {
    /// Checks and normalises; `known` are the candidates.
    pub fn check(&mut self, known: &[String]) -> Result<(), String> {
        for rated in &mut self.scores {
            known_name("candidate", &mut rated.candidate, known)?;
            rated.points().iter().try_for_each(|(name, value)| share(name, *value))?;
        }
        each_once("scores", self.scores.iter().map(|rated| &rated.candidate), known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_leaves_its_fence_and_names_are_found_as_models_write_them() {
        for (given, expected) in [("```python\nx = 1\n```", "x = 1\n"), ("x = 1", "x = 1\n"), ("x = 1\n\n\n", "x = 1\n"), ("`x`", "`x`\n")] {
            let mut code = given.to_owned();
            unfenced(&mut code);
            assert_eq!(code, expected, "{given:?}");
        }
        let known = ["C1".to_owned(), "C2".to_owned()];
        for said in ["C1", "c1", "Candidate C1", "`C1`", "candidate c1"] {
            let mut name = said.to_owned();
            assert_eq!(known_name("candidate", &mut name, &known).map(|()| name), Ok("C1".to_owned()), "{said}");
        }
        for said in ["C3", "", "C", "first", "C11"] {
            assert!(known_name("candidate", &mut said.to_owned(), &known).is_err(), "{said}");
        }
    }

    #[test]
    fn a_ranking_names_everybody_once() {
        let known = ["C1".to_owned(), "C2".to_owned()];
        let check = |ranking: &[&str], confidence: f64| {
            let ranking = ranking.iter().map(|name| (*name).to_owned()).collect();
            Ranking { ranking, confidence, reason: String::new() }.check(&known)
        };
        assert_eq!(check(&["c2", "C1"], 0.5), Ok(()));
        for (ranking, confidence) in [(&["C1"][..], 0.5), (&["C1", "C1"], 0.5), (&["C1", "C2", "C2"], 0.5), (&["C1", "C2"], 1.5), (&["C1", "C2"], f64::NAN)] {
            assert!(check(ranking, confidence).is_err(), "{ranking:?} {confidence}");
        }
    }
}
