//! Reading an idea to evaluate: its text, the scores and challenges that lie beside it, and where
//! the result goes.

use crate::{context, error::AppError};
use rebut_engine::{
    clean::on_one_line,
    formats::evaluate::{Input, Prior, RedTeam, Topic},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What was said about an idea: where it is, and what belongs to it.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// A file, a folder, or `-`.
    pub path: PathBuf,
    /// By default its first heading, or the file's name.
    pub title: Option<String>,
    /// By default `scores.*` in the idea's folder.
    pub scores: Option<PathBuf>,
    /// By default `challenges.*` in the idea's folder.
    pub challenges: Option<PathBuf>,
    pub topics: Option<PathBuf>,
    /// Where the result goes; by default a folder beside the idea or in it.
    pub analysis: Option<PathBuf>,
    pub no_files: bool,
}

/// An idea as it was found.
#[derive(Debug)]
pub struct Idea {
    pub input: Input,
    /// Where the result is written; `None` if nowhere.
    pub analysis: Option<PathBuf>,
    /// What people should know: which files were used or left out.
    pub remarks: Vec<String>,
}

/// The folder in which results are kept, which is no part of the idea.
const ANALYSIS: &str = "analysis";
const ENDINGS: [&str; 4] = ["json", "toml", "yaml", "yml"];

/// Reads the idea that was named. `deny` are files never to be sent.
pub fn read(args: &Named, deny: &[String]) -> Result<Idea, AppError> {
    if args.path.as_os_str().is_empty() {
        return Err(AppError::usage("which idea?").hint("rebut evaluate ideas/my-idea.md"));
    }
    let folder = if args.path.is_dir() {
        args.path.clone()
    } else {
        args.path.parent().map(Path::to_owned).unwrap_or_default()
    };
    let mut remarks = Vec::new();
    let mut beside = |name: &str, given: &Option<PathBuf>| {
        let found = ENDINGS
            .iter()
            .map(|ending| folder.join(format!("{name}.{ending}")))
            .find(|file| args.path.is_dir() && file.is_file());
        if let (Some(file), None) = (&found, given) {
            remarks.push(format!("{name} from {}", file.display()));
        }
        given.clone().or(found)
    };
    let (scores, challenges) = (
        beside("scores", &args.scores),
        beside("challenges", &args.challenges),
    );
    let analysis = args
        .analysis
        .clone()
        .unwrap_or_else(|| folder.join(ANALYSIS));
    let not_the_idea: Vec<PathBuf> = [
        Some(folder.join(ANALYSIS)),
        Some(analysis.clone()),
        scores.clone(),
        challenges.clone(),
        args.topics.clone(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let gathered = context::gather_without(std::slice::from_ref(&args.path), deny, &not_the_idea)?;
    remarks.extend(gathered.left_out.iter().map(|(path, why)| {
        format!(
            "left out {}: {why}",
            on_one_line(&path.display().to_string())
        )
    }));
    if gathered.text.trim().is_empty() {
        return Err(
            AppError::usage(format!("there is no text in {}", args.path.display()))
                .hint("write the idea into a Markdown file"),
        );
    }
    let input = Input {
        title: title(args.title.as_deref(), &args.path, &gathered.text),
        scores: scores
            .map(|file| data::<BTreeMap<String, Prior>>(&file, "scores"))
            .transpose()?
            .unwrap_or_default(),
        challenges: challenges
            .map(|file| data::<Vec<RedTeam>>(&file, "challenges"))
            .transpose()?
            .unwrap_or_default(),
        topics: args
            .topics
            .as_ref()
            .map(|file| data::<Vec<Topic>>(file, "topics"))
            .transpose()?,
        idea: gathered.text,
    };
    Ok(Idea {
        input,
        analysis: (!args.no_files).then_some(analysis),
        remarks,
    })
}

/// What the idea is called: as typed, its first heading, or its name on disk.
fn title(typed: Option<&str>, path: &Path, text: &str) -> String {
    let heading = || {
        text.lines()
            .find_map(|line| line.strip_prefix("# "))
            .map(on_one_line)
            .filter(|title| !title.is_empty())
    };
    let name = || {
        let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // What comes through standard input has no name.
        full.file_stem()
            .map(|name| on_one_line(&name.to_string_lossy()))
            .filter(|name| !name.is_empty() && name != "-")
    };
    typed
        .map(on_one_line)
        .filter(|title| !title.is_empty())
        .or_else(heading)
        .or_else(name)
        .unwrap_or_else(|| "idea".to_owned())
}

/// What a data file holds, bare or under its own name.
fn data<T: DeserializeOwned>(file: &Path, name: &str) -> Result<T, AppError> {
    let text = crate::read_file::text(file)?;
    let wrong = |problem: String| {
        AppError::usage(format!(
            "{}: {}",
            file.display(),
            problem.trim_start_matches("error: ")
        ))
    };
    let ending = file
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let mut value: Value = match ending.as_str() {
        "json" => serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?,
        "toml" => toml::from_str(&text).map_err(|error| wrong(error.to_string()))?,
        "yaml" | "yml" => {
            serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))?
        }
        _ => {
            return Err(
                wrong("cannot tell its form".to_owned()).hint("use a .json, .toml or .yaml file")
            );
        }
    };
    if let Some(inner) = value
        .as_object_mut()
        .filter(|object| object.len() == 1)
        .and_then(|object| object.remove(name))
    {
        value = inner;
    }
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()).hint(form_of(name)))
}

fn form_of(name: &str) -> &'static str {
    match name {
        "scores" => r#"{"problem": 7, "solution": {"score": 6.5, "confidence": 0.6}}"#,
        "challenges" => {
            r#"["Nobody has paid yet", {"text": "Clinics may not share data", "category": "solution"}]"#
        }
        _ => {
            r#"[{"name": "…", "category": "…", "advocate_position": "…", "challenger_position": "…"}]"#
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idea_is_called_as_typed_by_its_heading_or_by_its_name() {
        let rows = [
            ((Some("Mine"), "ward.md", "# Ward handover\n"), "Mine"),
            (
                (Some(" "), "ward.md", "text\n# Ward handover\n"),
                "Ward handover",
            ),
            ((None, "ideas/ward.md", "text"), "ward"),
            ((None, "-", "# Ward handover\n"), "Ward handover"),
            ((None, "-", "text"), "idea"),
        ];
        for ((typed, path, text), expected) in rows {
            assert_eq!(
                title(typed, Path::new(path), text),
                expected,
                "{typed:?} {path} {text}"
            );
        }
    }

    #[test]
    fn data_files_are_read_in_three_forms_bare_or_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let scores = BTreeMap::from([
            (
                "problem".to_owned(),
                Prior {
                    score: 7.0,
                    confidence: None,
                },
            ),
            (
                "market".to_owned(),
                Prior {
                    score: 5.5,
                    confidence: Some(0.4),
                },
            ),
        ]);
        for (name, text) in [
            (
                "a.json",
                r#"{"problem": 7, "market": {"score": 5.5, "confidence": 0.4}}"#,
            ),
            (
                "b.json",
                r#"{"scores": {"problem": {"score": 7}, "market": {"score": 5.5, "confidence": 0.4}}}"#,
            ),
            (
                "c.toml",
                "[scores]\nproblem = 7\nmarket = { score = 5.5, confidence = 0.4 }\n",
            ),
            (
                "d.yaml",
                "problem: 7\nmarket:\n  score: 5.5\n  confidence: 0.4\n",
            ),
        ] {
            let file = dir.path().join(name);
            std::fs::write(&file, text).expect("a file");
            assert_eq!(
                data::<BTreeMap<String, Prior>>(&file, "scores").expect(name),
                scores,
                "{name}"
            );
        }
        for (name, text, says) in [
            ("e.json", "{", "e.json"),
            ("f.txt", "7", "cannot tell its form"),
            ("g.json", r#"{"problem": "high"}"#, "hint: {\"problem\": 7"),
            (
                "h.json",
                r#"{"problem": {"score": 7, "confidnce": 0.4}}"#,
                "unknown key `confidnce`; did you mean `confidence`?",
            ),
            (
                "i.json",
                r#"{"problem": {"confidence": 0.4}}"#,
                "missing field `score`",
            ),
            (
                "j.toml",
                "problem = nan\n",
                "a score is a number from 1 to 10, or has `score` and `confidence`, not null or \
                 nan",
            ),
            (
                "k.yaml",
                "problem: [7]\n",
                "or has `score` and `confidence`, not [7]",
            ),
        ] {
            let file = dir.path().join(name);
            std::fs::write(&file, text).expect("a file");
            let error = data::<BTreeMap<String, Prior>>(&file, "scores")
                .expect_err(name)
                .to_string();
            assert!(error.contains(says), "{name}: {error}");
        }
    }
}
