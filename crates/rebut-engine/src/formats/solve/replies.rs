//! What agents reply in a solve debate: one flat form per turn.

use crate::{
    formats::{decide::replies::sentences, question::number},
    moves::clarify::{Category, Priority},
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
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
        /// When contested: the words of the task or the given tests that the attack contradicts,
        /// literally.
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
