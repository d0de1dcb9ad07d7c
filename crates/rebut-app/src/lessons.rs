//! Lessons for a new task: found among this machine's debates, by meaning where a model for that is
//! configured, and pinned with the input.

use crate::{
    app::{App, user},
    data_dir::Place,
    error::AppError,
    read_file,
};
use rebut_engine::{
    Desk,
    embedding::{Embedder, KeptVectors},
    formats::solve::{Config, Input},
    lessons::{Bounds, Found, Given, Near, batches},
    model::FaultKind,
};
use rebut_models::Registry;
use std::sync::Arc;

/// Gives a task the lessons of this person's earlier debates that fit it. Later lessons change
/// nothing about it.
pub async fn give(
    app: &App,
    registry: &Arc<Registry>,
    config: &Config,
    input: &mut Input,
) -> Result<(), AppError> {
    let Some(looking) = Looking::begin(app, registry, config).await? else {
        return Ok(());
    };
    let found = looking.find(app, config, &input.task).await?;
    if let Some(why) = found
        .search
        .fell_back
        .as_ref()
        .filter(|_| !app.global.quiet)
    {
        notice!("lessons are looked for by words, not by meaning: {why}");
    }
    enter(input, found);
    Ok(())
}

/// The same without sending anything: words decide. Gives what would be sent, for people.
pub async fn foresee(
    app: &App,
    registry: &Arc<Registry>,
    config: &Config,
    input: &mut Input,
) -> Result<Vec<String>, AppError> {
    let Some(looking) = Looking::begin(app, registry, config).await? else {
        return Ok(Vec::new());
    };
    let bounds = Bounds::of(user());
    enter(
        input,
        looking.desk.lessons_for(&input.task, &bounds, None).await?,
    );
    let Model::There(embedder) = &looking.model else {
        return Ok(Vec::new());
    };
    let lessons = looking.desk.known_lessons(&bounds).await?;
    let unsent = batches(&input.task, &lessons, embedder.name(), &read(app)?);
    let shown = |texts: &Vec<String>| {
        format!(
            "=== lessons to {} ===\n{}",
            embedder.name(),
            embedder.wire(texts)
        )
    };
    Ok(unsent.iter().map(shown).collect())
}

/// The same for whoever asks a server, from their own debates and by words: nothing is sent to
/// anybody.
pub async fn give_by_words(
    desk: &Desk,
    by: &str,
    config: &Config,
    input: &mut Input,
) -> Result<(), AppError> {
    if config.lessons {
        enter(
            input,
            desk.lessons_for(&input.task, &Bounds::of(by), None).await?,
        );
    }
    Ok(())
}

fn enter(input: &mut Input, found: Found) {
    input
        .lessons
        .extend(found.lessons.into_iter().map(Given::Found));
    input.lessons_search =
        Some(found.search).filter(|search| search.model.is_some() || !input.lessons.is_empty());
}

/// Where lessons are, and who compares them.
struct Looking {
    desk: Desk,
    model: Model,
}

enum Model {
    None,
    There(Box<dyn Embedder>),
    /// One is configured, but cannot be asked now.
    Missing {
        name: String,
        why: String,
    },
}

impl Looking {
    /// Nothing when lessons are switched off, or nobody ever debated here. A name that can never be
    /// a model's is refused.
    async fn begin(
        app: &App,
        registry: &Arc<Registry>,
        config: &Config,
    ) -> Result<Option<Self>, AppError> {
        if !config.lessons {
            return Ok(None);
        }
        let name = config.embeddings.trim();
        let model = match registry.embedder(name) {
            _ if name.is_empty() => Model::None,
            Ok(embedder) => Model::There(Box::new(embedder)),
            Err(fault) if fault.kind == FaultKind::Auth => Model::Missing {
                name: name.to_owned(),
                why: fault.message,
            },
            Err(fault) => {
                let hint = "embeddings is written PROVIDER:MODEL, for a provider that speaks \
                    OpenAI's embeddings; leave it empty for none";
                return Err(
                    AppError::usage(format!("[solve] embeddings: {}", fault.message)).hint(hint),
                );
            }
        };
        if app.place.as_ref().is_none_or(Place::is_new) {
            return Ok(None);
        }
        Ok(Some(Self {
            desk: Desk::new(app.store().await?, registry.clone()),
            model,
        }))
    }

    async fn find(&self, app: &App, config: &Config, task: &str) -> Result<Found, AppError> {
        let bounds = Bounds::of(user());
        let embedder = match &self.model {
            Model::There(embedder) => &**embedder,
            other => {
                let mut found = self.desk.lessons_for(task, &bounds, None).await?;
                if let Model::Missing { name, why } = other {
                    (found.search.model, found.search.fell_back) =
                        (Some(name.clone()), Some(why.clone()));
                }
                return Ok(found);
            }
        };
        let before = read(app)?;
        let mut kept = before.clone();
        let mut near = Near {
            embedder,
            kept: &mut kept,
            at_least: config.similarity,
        };
        let found = self
            .desk
            .lessons_for(task, &bounds, Some(&mut near))
            .await?;
        if kept != before {
            keep(app, &kept);
        }
        Ok(found)
    }
}

/// Vectors of earlier calls. A file that cannot be read is only a loss of some calls.
fn read(app: &App) -> Result<KeptVectors, AppError> {
    let file = app.place()?.vectors();
    let text = match read_file::text_if_there(&file) {
        Ok(None) => return Ok(KeptVectors::default()),
        text => text.map(Option::unwrap_or_default),
    };
    let kept = text
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    Ok(kept.unwrap_or_else(|why| {
        notice!("{} cannot be read and is made anew: {why}", file.display());
        KeptVectors::default()
    }))
}

/// Keeps them. What cannot be written is asked for again.
fn keep(app: &App, kept: &KeptVectors) {
    let text = serde_json::to_string(kept).map_err(|error| AppError::failed(error.to_string()));
    if let Err(error) = text.and_then(|text| app.place()?.keep_vectors(&text)) {
        notice!("{error}");
    }
}
