//! What agents are told in a solve debate: the prompts, and the setup they are made from. The hidden
//! tests are not part of it.

use super::{
    candidates::{Attack, Candidate},
    config::{Config, Phase},
    evidence::{Evidence, tail},
    input::Input,
    replies::{
        Answers, Attacks, Contrast, Critique, Defence, Draft, Improvement, Instruction, Lesson,
        Planned, Proposal, Question, Questions, Ranking, Reflection, Rubric, Rulings,
    },
    roles::Roles,
};
use crate::{
    agent::Agent,
    clean::on_one_line,
    debate::{Ask, Debate},
    error::Stop,
    event::ClaimId,
    moves::{clarify::Clarification, contrast::Difference, reflect},
    prompt,
    prompt::{Template, Word},
    reply::Schema,
};
use std::fmt::Write;

macro_rules! solve_prompt {
    ($(#[$doc:meta])* $name:ident, $file:literal { $($(#[$hole_doc:meta])* $hole:ident: $kind:ident),* $(,)? }) => {
        prompt!(
            $(#[$doc])*
            $name, $file {
                /// The task.
                question: Data,
                /// Its language and how tests are written.
                form: Word,
                /// Given tests, context, clarifications, lessons.
                context: Data,
                /// The agent's role.
                brief: Part,
                /// Notes of people.
                notes: Notes,
                /// How the phases before went.
                so_far: Data,
                $($(#[$hole_doc])* $hole: $kind),*
            }
        );
    };
}

solve_prompt!(
    /// Asks what is open.
    Clarify, "solve/clarify.md" { /// What was asked and answered.
    asked: Data }
);
solve_prompt!(
    /// Asks for answers about the task.
    Instruct, "solve/instruct.md" { /// What is asked.
    questions: Data }
);
solve_prompt!(
    /// Asks for a plan.
    MakePlan, "solve/plan.md" { /// For whom.
    scope: Word }
);
solve_prompt!(
    /// Asks for code and tests.
    Evolve, "solve/evolve.md" { /// The plan.
    plan: Data, /// The last version and what it showed.
    previous: Data }
);
solve_prompt!(
    /// Asks for code.
    Propose, "solve/propose.md" { /// The plan.
    plan: Data, /// The last attempt and what it showed.
    previous: Data, /// All reflections.
    reflections: Data }
);
solve_prompt!(
    /// Asks what was learned from a failure.
    Reflect, "solve/reflect.md" { /// The attempt and what it showed.
    previous: Data, /// Earlier reflections.
    reflections: Data }
);
solve_prompt!(
    /// Asks for a general lesson.
    Learn, "solve/lesson.md" { /// How it went.
    course: Data }
);
solve_prompt!(
    /// Asks what is wrong.
    Criticise, "solve/critique.md" { /// What is seen.
    candidates: Data }
);
solve_prompt!(
    /// Asks an owner for answers.
    Review, "solve/review.md" { /// Its candidate.
    candidate: Data, /// What is held against it.
    claims: Data }
);
solve_prompt!(
    /// Asks an owner for a better version.
    Optimize, "solve/optimize.md" { /// Its candidate with everything known.
    candidate: Data }
);
solve_prompt!(
    /// Asks red for attacks.
    Strike, "solve/attack.md" { /// What is seen.
    candidates: Data, /// Attacks so far.
    earlier: Data }
);
solve_prompt!(
    /// Asks blue for a patch.
    Defend, "solve/defend.md" { /// The candidate.
    candidate: Data, /// What was shown.
    attacks: Data }
);
solve_prompt!(
    /// Asks a judge about contested attacks.
    Rule, "solve/rule.md" { /// What is contested, and by which words.
    attacks: Data }
);
solve_prompt!(
    /// Asks for tests that tell candidates apart.
    Tell, "solve/contrast.md" { /// The candidates.
    candidates: Data }
);
solve_prompt!(
    /// Asks a voter.
    Rank, "solve/rank.md" { /// Where candidates differ.
    differences: Data, /// The candidates.
    candidates: Data }
);
solve_prompt!(
    /// Asks a judge for its rubric.
    Rate, "solve/rubric.md" { /// The candidates.
    candidates: Data }
);

/// How an agent should write tests in a language, so that the sandbox finds them.
const TEST_HINTS: &[(&str, &str)] = &[
    (
        "python",
        "pytest functions (`def test_…`) in a file that begins with `from solution import *`",
    ),
    (
        "javascript",
        "node:test tests that load the code with `require(\"./solution\")`; the code exports what \
         they call with `module.exports`",
    ),
    (
        "rust",
        "`#[test]` functions in a file that begins with `use solution::*;`; what they call is \
         `pub` in the code",
    ),
    (
        "go",
        "`func Test…(t *testing.T)` in `package solution`; the code is in `package solution` too",
    ),
    (
        "c",
        "functions `void test_…(void)` that call `assert`, in a file that includes \"solution.c\" \
         and <assert.h>; no `main`",
    ),
    (
        "cpp",
        "functions `void test_…()` that call `assert`, in a file that includes \"solution.cpp\" \
         and <cassert>; no `main`",
    ),
    (
        "shell",
        "a script that calls `./solution.sh`, quotes what it compares (`[ \"$(./solution.sh 2)\" = \
         4 ]`), and exits with 1 when something is wrong",
    ),
];

/// The setup of a debate: its input and settings, checked, and what prompts need of them.
pub struct Setup {
    pub input: Input,
    pub config: Config,
    pub roles: Roles,
    pub plan: String,
    /// How the phases before went, for the next.
    pub so_far: String,
    question: String,
    form: Word,
    known: String,
}

macro_rules! ask {
    ($setup:ident, $debate:ident, $agent:ident, $notes:expr, $template:ident { $($hole:ident: $value:expr),* $(,)? }, $reply:ty, $check:expr) => {{
        let prompt = $template {
            question: &$setup.question,
            form: $setup.form.clone(),
            context: &$setup.known,
            brief: &$agent.brief,
            notes: $notes,
            so_far: or_none(&$setup.so_far),
            $($hole: $value),*
        };
        Ask { prompt: prompt.render($debate.fence()), schema: Schema::of::<$reply>(), check: Box::new($check) }
    }};
}

impl Setup {
    /// The setup of a started debate.
    pub fn of(debate: &Debate, input: Input, config: Config) -> Result<Self, Stop> {
        let roles = Roles::of(debate.agents())
            .ok_or_else(|| Stop::Broken("nobody takes part".to_owned()))?;
        let (question, form) = (question(&input), form(&input));
        let known = known(&input, &[]);
        Ok(Self {
            input,
            config,
            roles,
            plan: NONE.to_owned(),
            so_far: String::new(),
            question,
            form,
            known,
        })
    }

    /// From now on everybody knows what was clarified.
    pub fn clarified(&mut self, clarified: &[Clarification]) {
        self.known = known(&self.input, clarified);
    }

    pub fn clarify(
        &self,
        debate: &Debate,
        agent: &Agent,
        clarified: &[Clarification],
    ) -> Ask<Questions> {
        let asked = clarified_text(clarified);
        ask!(
            self,
            debate,
            agent,
            "",
            Clarify {
                asked: or_none(&asked)
            },
            Questions,
            Questions::check
        )
    }

    pub fn instruct(
        &self,
        debate: &Debate,
        agent: &Agent,
        questions: &[(String, Question)],
    ) -> Ask<Instruction> {
        let line = |(name, asked): &(String, Question)| {
            format!(
                "{name} ({}): {}",
                asked.category.as_str(),
                on_one_line(&asked.question)
            )
        };
        let text = questions.iter().map(line).collect::<Vec<_>>().join("\n");
        let names: Vec<String> = questions.iter().map(|(name, _)| name.clone()).collect();
        let check = move |reply: &mut Instruction| reply.check(&names);
        ask!(
            self,
            debate,
            agent,
            "",
            Instruct { questions: &text },
            Instruction,
            check
        )
    }

    /// A plan; for everybody, or for the agent itself.
    pub fn make_plan(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        for_all: bool,
    ) -> Ask<Planned> {
        let scope = if for_all {
            "Plan for everybody who writes code."
        } else {
            "Plan how you yourself would write the code."
        };
        ask!(
            self,
            debate,
            agent,
            notes,
            MakePlan {
                scope: scope.into()
            },
            Planned,
            Planned::check
        )
    }

    /// Code with tests of its own; `before` is the last version.
    pub fn evolve(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        before: Option<&Candidate>,
    ) -> Ask<Draft> {
        let previous = before.map(|candidate| {
            let (code, tests) = (candidate.code.trim_end(), candidate.own_tests.trim_end());
            format!(
                "code:\n{code}\n\nyour tests:\n{tests}\n\nwhat they showed: {}",
                candidate.own.failures()
            )
        });
        let previous = previous.as_deref().unwrap_or(NONE);
        ask!(
            self,
            debate,
            agent,
            notes,
            Evolve {
                plan: &self.plan,
                previous: previous
            },
            Draft,
            Draft::check
        )
    }

    /// Code; `before` is the last attempt.
    pub fn propose(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        before: Option<&Candidate>,
    ) -> Ask<Proposal> {
        let previous = before.map_or_else(|| NONE.to_owned(), attempt_text);
        let reflections = reflect::in_words(before.map_or(&[], |candidate| &candidate.reflections));
        let holes = (&self.plan, &previous, &reflections);
        ask!(
            self,
            debate,
            agent,
            notes,
            Propose {
                plan: holes.0,
                previous: holes.1,
                reflections: holes.2
            },
            Proposal,
            Proposal::check
        )
    }

    /// What was learned from a failed attempt?
    pub fn reflect(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        failed: &Candidate,
    ) -> Ask<Reflection> {
        let (previous, earlier) = (attempt_text(failed), reflect::in_words(&failed.reflections));
        ask!(
            self,
            debate,
            agent,
            notes,
            Reflect {
                previous: &previous,
                reflections: &earlier
            },
            Reflection,
            Reflection::check
        )
    }

    pub fn learn(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        candidate: &Candidate,
    ) -> Ask<Lesson> {
        let course = format!(
            "{}\n\nthe code that passed:\n{}",
            reflect::in_words(&candidate.reflections),
            candidate.code.trim_end()
        );
        ask!(
            self,
            debate,
            agent,
            notes,
            Learn { course: &course },
            Lesson,
            Lesson::check
        )
    }

    pub fn critique(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        seen: &[&Candidate],
    ) -> Ask<Critique> {
        let (text, names) = (candidates_text(seen, self.owners_answer()), labels(seen));
        let check = move |reply: &mut Critique| reply.check(&names);
        ask!(
            self,
            debate,
            agent,
            notes,
            Criticise { candidates: &text },
            Critique,
            check
        )
    }

    /// What does the owner make of the claims?
    pub fn review(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        own: &Candidate,
    ) -> Ask<Answers> {
        let mut claims = String::new();
        for claim in &own.claims {
            let (severity, text, fix) = (
                claim.severity.as_str(),
                on_one_line(&claim.claim),
                on_one_line(&claim.fix),
            );
            // Writing to a String cannot fail.
            let _ = writeln!(
                claims,
                "{} ({severity}): {text}\n  would be mended by: {fix}",
                claim.id
            );
        }
        let known: Vec<ClaimId> = own.claims.iter().map(|claim| claim.id.clone()).collect();
        let bare = Candidate {
            claims: Vec::new(),
            ..own.clone()
        };
        let check = move |reply: &mut Answers| reply.check(&known);
        ask!(
            self,
            debate,
            agent,
            notes,
            Review {
                candidate: &bare.text(true),
                claims: &claims
            },
            Answers,
            check
        )
    }

    pub fn optimize(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        own: &Candidate,
    ) -> Ask<Improvement> {
        let text = own.text(self.owners_answer());
        ask!(
            self,
            debate,
            agent,
            notes,
            Optimize { candidate: &text },
            Improvement,
            Improvement::check
        )
    }

    pub fn strike(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        seen: &[&Candidate],
    ) -> Ask<Attacks> {
        let (text, names) = (candidates_text(seen, self.owners_answer()), labels(seen));
        let earlier: Vec<&Attack> = seen
            .iter()
            .flat_map(|candidate| &candidate.attacks)
            .collect();
        let earlier: String = earlier
            .iter()
            .map(|attack| {
                format!(
                    "{} ({}): {}\n",
                    attack.id,
                    attack.state.as_str(),
                    on_one_line(&attack.claim)
                )
            })
            .collect();
        let check = move |reply: &mut Attacks| reply.check(&names);
        ask!(
            self,
            debate,
            agent,
            notes,
            Strike {
                candidates: &text,
                earlier: or_none(earlier.trim_end())
            },
            Attacks,
            check
        )
    }

    pub fn defend(
        &self,
        debate: &Debate,
        agent: &Agent,
        own: &Candidate,
        shown: &[&Attack],
    ) -> Ask<Defence> {
        let text: String = shown
            .iter()
            .map(|attack| attack_text(attack))
            .collect::<Vec<_>>()
            .join("\n\n");
        let names: Vec<String> = shown.iter().map(|attack| attack.id.clone()).collect();
        let candidate = own.text(self.owners_answer());
        let check = move |reply: &mut Defence| reply.check(&names);
        ask!(
            self,
            debate,
            agent,
            "",
            Defend {
                candidate: &candidate,
                attacks: &text
            },
            Defence,
            check
        )
    }

    /// Are contested attacks fair? Each with the words that are quoted against it.
    pub fn rule(
        &self,
        debate: &Debate,
        agent: &Agent,
        contested: &[(&Attack, &str)],
    ) -> Ask<Rulings> {
        let line = |(attack, quote): &(&Attack, &str)| {
            format!(
                "{}\nthe defence quotes: “{}”",
                attack_text(attack),
                on_one_line(quote)
            )
        };
        let text = contested.iter().map(line).collect::<Vec<_>>().join("\n\n");
        let names: Vec<String> = contested
            .iter()
            .map(|(attack, _)| attack.id.clone())
            .collect();
        let check = move |reply: &mut Rulings| reply.check(&names);
        ask!(
            self,
            debate,
            agent,
            "",
            Rule { attacks: &text },
            Rulings,
            check
        )
    }

    /// Tests that tell these apart, please.
    pub fn tell_apart(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        candidates: &[&Candidate],
    ) -> Ask<Contrast> {
        let text = candidates_text(candidates, self.owners_answer());
        ask!(
            self,
            debate,
            agent,
            notes,
            Tell { candidates: &text },
            Contrast,
            Contrast::check
        )
    }

    pub fn rank(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        shown: &[&Candidate],
        differences: &[Difference],
    ) -> Ask<Ranking> {
        let line = |one: &Difference| format!("- {}: {}", on_one_line(&one.test), one.words());
        let differences = differences.iter().map(line).collect::<Vec<_>>().join("\n");
        let asked = self.owners_answer();
        let (text, names) = (candidates_text(shown, asked), labels(shown));
        let check = move |reply: &mut Ranking| reply.check(&names);
        ask!(
            self,
            debate,
            agent,
            notes,
            Rank {
                differences: or_none(&differences),
                candidates: &text
            },
            Ranking,
            check
        )
    }

    /// How good is each by itself?
    pub fn rate(
        &self,
        debate: &Debate,
        agent: &Agent,
        notes: &str,
        shown: &[&Candidate],
    ) -> Ask<Rubric> {
        let asked = self.owners_answer();
        let (text, names) = (candidates_text(shown, asked), labels(shown));
        let check = move |reply: &mut Rubric| reply.check(&names);
        ask!(
            self,
            debate,
            agent,
            notes,
            Rate { candidates: &text },
            Rubric,
            check
        )
    }

    /// Whether owners are asked about claims at all.
    pub fn owners_answer(&self) -> bool {
        self.config.holds(Phase::Review)
    }

    /// What quotations of the task are looked up in.
    pub fn source(&self) -> String {
        format!("{}\n{}\n{}", self.input.task, self.input.tests, self.known)
    }
}

const NONE: &str = "(none)";

fn or_none(text: &str) -> &str {
    if text.trim().is_empty() { NONE } else { text }
}

fn labels(candidates: &[&Candidate]) -> Vec<String> {
    candidates
        .iter()
        .map(|candidate| candidate.label.clone())
        .collect()
}

fn candidates_text(candidates: &[&Candidate], owners_were_asked: bool) -> String {
    let texts = candidates
        .iter()
        .map(|candidate| candidate.text(owners_were_asked));
    let is_shared = |one: &&Candidate| one.given.is_shared() || one.own.is_shared();
    let note = candidates
        .iter()
        .any(is_shared)
        .then(|| SHARED_NOTE.to_owned());
    texts.chain(note).collect::<Vec<_>>().join("\n\n")
}

/// What whoever compares candidates has to know where code and tests shared a process.
const SHARED_NOTE: &str = "Passes marked (same process: could be forged) were judged in the \
    process of the code itself: they prove less than \
    passes without that mark.";

fn attempt_text(candidate: &Candidate) -> String {
    format!(
        "code:\n{}\n\nthe given tests: {}",
        candidate.code.trim_end(),
        candidate.given.failures()
    )
}

fn attack_text(attack: &Attack) -> String {
    let shown = match &attack.evidence {
        Evidence::Ran(_) => attack.evidence.failures(),
        other => other.words(),
    };
    format!(
        "{}: {}\n{}\nwhat the run showed: {}",
        attack.id,
        on_one_line(&attack.claim),
        attack.test.trim_end(),
        tail(&shown)
    )
}

/// The task in the words of a prompt.
fn question(input: &Input) -> String {
    let mut text = input.task.trim().to_owned();
    if !input.entry_point.trim().is_empty() {
        let _ = write!(
            text,
            "\n\nTests call `{}`.",
            on_one_line(&input.entry_point)
        );
    }
    text
}

/// The form of the code and of tests, in the engine's own words.
fn form(input: &Input) -> Word {
    let mut words = vec![
        "Language: ".into(),
        Word::name(&input.language, 32),
        ". The code is one file.".into(),
    ];
    if let Some((_, hint)) = TEST_HINTS
        .iter()
        .find(|(language, _)| *language == input.language)
    {
        words.extend(["\nWhere you write tests: ", hint, "."].map(Word::from));
    }
    Word::all(words)
}

/// What is known besides the task. Of the hidden tests not a word.
fn known(input: &Input, clarified: &[Clarification]) -> String {
    let mut text = String::new();
    let mut part = |title: &str, body: &str| {
        if !body.trim().is_empty() {
            let _ = write!(text, "{title}:\n{}\n\n", body.trim_end());
        }
    };
    part("Tests that are given", &input.tests);
    part("Context", &input.context);
    part("Clarified before the work", &clarified_text(clarified));
    part(
        "Lessons of earlier debates that may help",
        &input
            .lessons
            .iter()
            .map(|lesson| format!("- {}\n", on_one_line(&lesson.told())))
            .collect::<String>(),
    );
    text.truncate(text.trim_end().len());
    if text.is_empty() {
        "(no tests are given, and nothing else is known)".to_owned()
    } else {
        text
    }
}

fn clarified_text(clarified: &[Clarification]) -> String {
    let line = |one: &Clarification| {
        let answer = one
            .answer
            .as_deref()
            .map_or_else(|| "(nobody could say)".to_owned(), on_one_line);
        format!("- {} — {answer}\n", on_one_line(&one.question))
    };
    clarified.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{prompt::mismatches, sandbox::LANGUAGES};

    #[test]
    fn prompts_and_their_structs_agree() {
        let all = [
            mismatches::<Clarify>(),
            mismatches::<Instruct>(),
            mismatches::<MakePlan>(),
            mismatches::<Evolve>(),
            mismatches::<Propose>(),
            mismatches::<Reflect>(),
            mismatches::<Learn>(),
            mismatches::<Criticise>(),
            mismatches::<Review>(),
            mismatches::<Optimize>(),
            mismatches::<Strike>(),
            mismatches::<Defend>(),
            mismatches::<Rule>(),
            mismatches::<Tell>(),
            mismatches::<Rank>(),
            mismatches::<Rate>(),
        ];
        assert_eq!(all.concat(), Vec::<String>::new());
        assert!(
            LANGUAGES
                .iter()
                .all(|language| TEST_HINTS.iter().any(|(known, _)| known == language)),
            "every language has a hint"
        );
    }
}
