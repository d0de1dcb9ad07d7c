//! From a request to a debate that can begin: its settings, who takes part, what it may use. Every
//! surface goes through here; asks nobody and writes nothing.

use crate::{
    app::App,
    budget::{Budget, Span},
    casting::{self, Wanted},
    config::{BudgetSection, Member},
    error::AppError,
    format_catalog::Card,
    panel::{JUDGES, Panel, PanelRequest},
    request::{AgentRequest, DebateRequest, LimitsRequest},
    solve_checks,
};
use rebut_engine::{
    Start,
    agent::Agent,
    formats::{Format, decide, solve},
};
use rebut_models::Registry;
use serde::Serialize;
use serde_json::{Map, Value};

const MOST_AGENTS: usize = 32;

/// In whose name a request is resolved.
#[derive(Clone, Copy)]
pub enum Authority<'a> {
    /// Whoever the machine belongs to: what they ask for outranks their configuration.
    Owner,
    /// Whoever may use the owner's machine: never more than its configuration allows.
    Guest(&'a dyn Allowlist),
}

/// The models that guests may use.
pub trait Allowlist: Send + Sync {
    /// Refuses a model that they may not.
    fn check(&self, model: &str) -> Result<(), AppError>;
}

/// A request with everything decided that shapes the debate. Formats whose input is completed by
/// what this machine knows (lessons, weights) change it before it starts.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub format: &'static str,
    pub input: Value,
    pub config: Value,
    pub panel: Panel,
    pub budget: Budget,
    pub seed: Option<u64>,
}

pub async fn resolve(
    app: &App,
    registry: &Registry,
    request: &DebateRequest,
    authority: Authority<'_>,
) -> Result<Resolved, AppError> {
    let card = Card::named(&request.format)?;
    let format = card.format.name;
    if let Authority::Guest(_) = authority {
        card.check(&request.input, &request.config)?;
    }
    let config = settings(app, format, &request.config)?;
    let panel = panel_request(app, registry, format, request, authority).await?;
    let input = checked_input(format, request.input.clone())?;
    let wanted = Wanted {
        format,
        input: &input,
        config: &config,
        panel: &panel,
    };
    let panel = casting::cast(app, registry, wanted).await?;
    if let Authority::Guest(allowed) = authority {
        panel
            .agents
            .iter()
            .try_for_each(|agent| check_models(agent, allowed))?;
    }
    Ok(Resolved {
        format,
        input,
        config,
        panel,
        budget: budget(request.limits, &app.config.budget, authority),
        seed: request.seed,
    })
}

impl Resolved {
    /// The debate, checked by the rules of its format before anybody is asked and paid.
    pub fn start(self, by: String) -> Result<Start, AppError> {
        let format = Format::named(self.format)
            .ok_or_else(|| AppError::usage(format!("there is no format `{}`", self.format)))?;
        let agents = self.panel.agents;
        (format.check)(&self.input, &self.config, &agents).map_err(AppError::usage)?;
        let start = Start {
            format: format.name.to_owned(),
            limits: Some(self.budget.limits(format.name, &self.config)?),
            input: self.input,
            agents,
            config: self.config,
            seed: self.seed,
            initiated_by: by,
        };
        if format.name == solve::FORMAT.name {
            solve_checks::check_calls(&start)?;
        }
        Ok(start)
    }
}

/// Something as a debate holds it.
pub fn value(input: &impl Serialize) -> Result<Value, AppError> {
    serde_json::to_value(input).map_err(|error| AppError::failed(error.to_string()))
}

/// A question as it is debated: checked, and with an id.
pub fn checked_question(input: &Value) -> Result<decide::Input, AppError> {
    let mut input = decide::Input::parse(input).map_err(AppError::usage)?;
    if input.question_id.is_empty() {
        input.question_id = slug(&input.question);
    }
    Ok(input)
}

/// The settings of a format with some of them changed.
fn settings(app: &App, format: &str, changes: &Map<String, Value>) -> Result<Value, AppError> {
    if changes.is_empty() {
        app.config.format(format)
    } else {
        app.config.format_with(format, changes)
    }
}

/// The input in its usual form.
fn checked_input(format: &str, input: Map<String, Value>) -> Result<Value, AppError> {
    let input = Value::Object(input);
    match Card::named(format)?.offer.is_question {
        true => value(&checked_question(&input)?),
        false => Ok(input),
    }
}

async fn panel_request(
    app: &App,
    registry: &Registry,
    format: &str,
    request: &DebateRequest,
    authority: Authority<'_>,
) -> Result<PanelRequest, AppError> {
    let DebateRequest {
        panel,
        agents,
        roles,
        models,
        ..
    } = request;
    let most = agents.len().max(roles.len()).max(models.len());
    if most > MOST_AGENTS && matches!(authority, Authority::Guest(_)) {
        return Err(AppError::usage(format!(
            "{most} agents; at most {MOST_AGENTS} can take part"
        )));
    }
    if agents.is_empty() {
        return Ok(PanelRequest {
            panel: panel.clone(),
            models: models.clone(),
            judges: roles.clone(),
            members: Vec::new(),
        });
    }
    let others = [
        ("panel", panel.is_some()),
        ("roles", !roles.is_empty()),
        ("models", !models.is_empty()),
    ];
    if let Some((other, _)) = others.iter().find(|(_, is_given)| *is_given) {
        return Err(
            AppError::usage(format!("`{other}` and `agents` both say who takes part"))
                .hint("give one of them"),
        );
    }
    let own = if agents.iter().all(|agent| agent.model.is_some()) {
        Vec::new()
    } else {
        own_models(app, registry, format).await?
    };
    let mut models = own.iter().cycle();
    let members = agents
        .iter()
        .map(|agent| member(agent, authority, &mut || models.next().cloned()))
        .collect::<Result<_, _>>()?;
    Ok(PanelRequest {
        members,
        ..PanelRequest::default()
    })
}

fn member(
    agent: &AgentRequest,
    authority: Authority<'_>,
    own: &mut dyn FnMut() -> Option<String>,
) -> Result<Member, AppError> {
    if let Authority::Guest(allowed) = authority {
        agent
            .model
            .iter()
            .chain(&agent.fallbacks)
            .try_for_each(|named| allowed.check(named))?;
    }
    let nobody = || match authority {
        Authority::Owner => AppError::no_model("there is no model on this machine"),
        Authority::Guest(_) => AppError::no_model("the server has no model of its own"),
    };
    Ok(Member {
        role: agent.role.clone(),
        name: agent.name.clone(),
        model: agent.model.clone().or_else(own).ok_or_else(nobody)?,
        fallbacks: agent.fallbacks.clone(),
        ..Member::default()
    })
}

/// The models that take part when nobody says otherwise.
async fn own_models(app: &App, registry: &Registry, format: &str) -> Result<Vec<String>, AppError> {
    let usual: &[&str] = if format == solve::FORMAT.name {
        &solve::ROLES
    } else {
        &JUDGES
    };
    let panel = casting::panel(app, registry, &PanelRequest::default(), usual).await?;
    Ok(panel
        .agents
        .iter()
        .map(|agent| agent.model.to_string())
        .collect())
}

fn check_models(agent: &Agent, allowed: &dyn Allowlist) -> Result<(), AppError> {
    std::iter::once(&*agent.model)
        .chain(agent.fallbacks.iter().map(String::as_str))
        .try_for_each(|model| allowed.check(model))
}

/// What a debate may use: the owner's word outranks the configuration, a guest's can only tighten
/// it.
pub fn budget(
    asked: LimitsRequest,
    configured: &BudgetSection,
    authority: Authority<'_>,
) -> Budget {
    let approval = asked.approval_seconds;
    let asked = BudgetSection {
        max_cost: asked.cost_usd,
        max_tokens: asked.tokens,
        max_calls: asked.calls,
        max_time: asked.seconds.map(Span),
        allow_unknown_price: None,
    };
    let budget = match authority {
        Authority::Owner => Budget::new(&asked, configured),
        Authority::Guest(_) => Budget::new(
            &BudgetSection::default(),
            &configured.clone().tightened_by(asked),
        ),
    };
    budget.approved_within(approval)
}

/// A short name made of the question's words.
fn slug(question: &str) -> String {
    let lower = question.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let slug = words.take(6).collect::<Vec<_>>().join("-");
    if slug.is_empty() {
        "question".to_owned()
    } else {
        slug.chars().take(48).collect()
    }
}
