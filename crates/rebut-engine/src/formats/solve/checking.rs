//! What must hold of a reply besides its form: each check normalises, or says what is wrong.

use super::replies::{
    Answers, Attacks, Contrast, Critique, Defence, Draft, Improvement, Instruction, Lesson,
    Planned, PlannedTask, Proposal, Questions, Ranking, Reflection, Rubric, Rulings, Stand,
};
use crate::{
    clean::{on_one_line, shortened},
    event::ClaimId,
    moves::objections::named,
    planning::{Plan, Task},
};

/// More claims, attacks or questions than these are nobody's to answer.
const MOST: usize = 12;

fn share(field: &str, value: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(format!("\"{field}\" must be from 0 to 1, not {value}"))
    }
}

fn filled(field: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        Err(format!("\"{field}\" is empty"))
    } else {
        Ok(())
    }
}

fn few<T>(field: &str, list: &[T]) -> Result<(), String> {
    if list.len() > MOST {
        Err(format!(
            "\"{field}\" has {} entries; give the {MOST} that matter most",
            list.len()
        ))
    } else {
        Ok(())
    }
}

/// Code without the fence that models like to put around it.
fn unfenced(code: &mut String) {
    let trimmed = code.trim();
    let inner = trimmed
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'));
    if let Some((_, body)) = inner {
        *code = body.to_owned();
    }
    code.truncate(code.trim_end().len());
    code.push('\n');
}

/// The name of `known` that is meant, by its letters and digits; an error lists those that are.
fn known_name(field: &str, said: &mut String, known: &[String]) -> Result<(), String> {
    let bare = |name: &str| {
        name.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    let wanted = bare(said);
    let wanted = wanted
        .strip_prefix("candidate")
        .filter(|rest| !rest.is_empty())
        .unwrap_or(&wanted);
    match known.iter().find(|name| bare(name) == wanted) {
        Some(name) => {
            said.clone_from(name);
            Ok(())
        }
        None => Err(format!(
            "\"{field}\" must be one of {}, not \"{}\"",
            known.join(", "),
            shortened(&on_one_line(said), 40)
        )),
    }
}

/// Every one of `known` is answered exactly once.
fn each_once<'a>(
    field: &str,
    said: impl Iterator<Item = &'a String>,
    known: &[String],
) -> Result<(), String> {
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
    pub fn check(&mut self) -> Result<(), String> {
        share("confidence", self.confidence)?;
        few("questions", &self.questions)?;
        self.questions
            .iter()
            .try_for_each(|question| filled("question", &question.question))?;
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
        let task = |task: &PlannedTask| Task {
            name: task.name.clone(),
            needs: task.needs.clone(),
            priority: task.priority,
        };
        Plan::new(self.tasks.iter().map(task).collect()).map_err(|error| error.to_string())
    }

    pub fn check(&mut self) -> Result<(), String> {
        few("tasks", &self.tasks)?;
        self.tasks
            .iter()
            .try_for_each(|task| filled("name", &task.name))?;
        self.plan().map(drop)
    }
}

impl Draft {
    pub fn check(&mut self) -> Result<(), String> {
        filled("code", &self.code)?;
        filled("tests", &self.tests)?;
        unfenced(&mut self.code);
        unfenced(&mut self.tests);
        share("confidence", self.confidence)
    }
}

impl Proposal {
    pub fn check(&mut self) -> Result<(), String> {
        filled("code", &self.code)?;
        unfenced(&mut self.code);
        share("confidence", self.confidence)
    }
}

impl Reflection {
    pub fn check(&mut self) -> Result<(), String> {
        filled("root_cause", &self.root_cause)?;
        filled("what_to_change", &self.what_to_change)?;
        share("confidence", self.confidence)
    }
}

impl Lesson {
    pub fn check(&mut self) -> Result<(), String> {
        filled("lesson", &self.lesson)?;
        filled("applies_to", &self.applies_to)
    }
}

impl Critique {
    /// Checks and normalises; `known` are the candidates that were shown.
    pub fn check(&mut self, known: &[String]) -> Result<(), String> {
        few("claims", &self.claims)?;
        for claim in &mut self.claims {
            known_name("candidate", &mut claim.candidate, known)?;
            filled("claim", &claim.claim)?;
        }
        Ok(())
    }
}

impl Answers {
    /// Checks and normalises; `known` are the claims. One that is left out stays unanswered, which
    /// is not for a check to mend.
    pub fn check(&mut self, known: &[ClaimId]) -> Result<(), String> {
        for answer in &mut self.answers {
            let Some(id) = named(&answer.claim, known) else {
                let listed = known
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                return Err(format!(
                    "\"claim\": there is no `{}`; there are: {listed}",
                    shortened(&on_one_line(&answer.claim), 40)
                ));
            };
            answer.claim.clone_from(&id.0);
            filled("why", &answer.why)?;
        }
        Ok(())
    }
}

impl Improvement {
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
        few("attacks", &self.attacks)?;
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
        each_once(
            "answers",
            self.answers.iter().map(|answer| &answer.attack),
            known,
        )?;
        if self
            .answers
            .iter()
            .any(|answer| answer.verdict == Stand::Patch)
        {
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
        each_once(
            "rulings",
            self.rulings.iter().map(|ruling| &ruling.attack),
            known,
        )
    }
}

impl Contrast {
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
            rated
                .points()
                .iter()
                .try_for_each(|(name, value)| share(name, *value))?;
        }
        each_once(
            "scores",
            self.scores.iter().map(|rated| &rated.candidate),
            known,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_leaves_its_fence_and_names_are_found_as_models_write_them() {
        for (given, expected) in [
            ("```python\nx = 1\n```", "x = 1\n"),
            ("x = 1", "x = 1\n"),
            ("x = 1\n\n\n", "x = 1\n"),
            ("`x`", "`x`\n"),
        ] {
            let mut code = given.to_owned();
            unfenced(&mut code);
            assert_eq!(code, expected, "{given:?}");
        }
        let known = ["C1".to_owned(), "C2".to_owned()];
        for said in ["C1", "c1", "Candidate C1", "`C1`", "candidate c1"] {
            let mut name = said.to_owned();
            assert_eq!(
                known_name("candidate", &mut name, &known).map(|()| name),
                Ok("C1".to_owned()),
                "{said}"
            );
        }
        for said in ["C3", "", "C", "first", "C11"] {
            assert!(
                known_name("candidate", &mut said.to_owned(), &known).is_err(),
                "{said}"
            );
        }
    }

    #[test]
    fn a_ranking_names_everybody_once() {
        let known = ["C1".to_owned(), "C2".to_owned()];
        let check = |ranking: &[&str], confidence: f64| {
            let ranking = ranking.iter().map(|name| (*name).to_owned()).collect();
            Ranking {
                ranking,
                confidence,
                reason: String::new(),
            }
            .check(&known)
        };
        assert_eq!(check(&["c2", "C1"], 0.5), Ok(()));
        for (ranking, confidence) in [
            (&["C1"][..], 0.5),
            (&["C1", "C1"], 0.5),
            (&["C1", "C2", "C2"], 0.5),
            (&["C1", "C2"], 1.5),
            (&["C1", "C2"], f64::NAN),
        ] {
            assert!(
                check(ranking, confidence).is_err(),
                "{ranking:?} {confidence}"
            );
        }
    }
}
