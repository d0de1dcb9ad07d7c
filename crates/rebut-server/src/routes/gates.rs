//! Gates: what waits for a person, and the one decision each gets.

use super::json;
use crate::{middleware::Call, problem::Problem, server::Shared};
use axum::response::Response;
use rebut_engine::{
    DebateId, Desk,
    event::{Event, GateDecided, GateOpened},
    record::Hash,
    store::Pick,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gates of a debate.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Gates {
    /// In the order they came.
    pub gates: Vec<Gate>,
}

/// One gate.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Gate {
    /// Its name.
    pub gate: String,
    /// How it was opened; null where gates are switched off and it was only passed.
    pub opened: Option<GateOpened>,
    /// When.
    pub opened_at: Option<String>,
    /// Its decision; null while it waits.
    pub decision: Option<GateDecided>,
    /// When.
    pub decided_at: Option<String>,
}

/// A decision about the gate that waits.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Verdict {
    /// Which gate, where it is to be that one only.
    pub gate: Option<String>,
    /// Why.
    pub reason: String,
    /// The hash of what was looked at; anything else is not decided.
    pub content: Option<Hash>,
}

/// A refusal, which says why.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    /// Which gate, where it is to be that one only.
    #[serde(default)]
    gate: Option<String>,
    /// Why.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    reason: String,
    /// The hash of what was looked at; anything else is not decided.
    #[serde(default)]
    content: Option<Hash>,
}

/// A decision about a gate that is named in the path.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "if" = { "properties": { "approved": { "const": false } } },
    "then" = { "required": ["reason"], "properties": { "reason": { "pattern": "\\S" } } }
))]
pub struct Decision {
    /// Whether it opens.
    approved: bool,
    /// Why; a refusal must say so.
    #[serde(default)]
    reason: String,
    /// The hash of what was looked at; anything else is not decided.
    #[serde(default)]
    content: Option<Hash>,
}

pub async fn list(call: Call) -> Result<Response, Problem> {
    json(&Gates {
        gates: all(&call.server.desk, call.id()?).await?,
    })
}

pub async fn approve(call: Call) -> Result<Response, Problem> {
    let verdict: Verdict = call.json()?;
    json(&decide(&call.server, call.id()?, &call.key()?.name, true, verdict).await?)
}

pub async fn reject(call: Call) -> Result<Response, Problem> {
    let Rejection {
        gate,
        reason,
        content,
    } = crate::body::parse(&call.body)?;
    json(
        &decide(
            &call.server,
            call.id()?,
            &call.key()?.name,
            false,
            Verdict {
                gate,
                reason,
                content,
            },
        )
        .await?,
    )
}

/// Decides a gate by its name.
pub async fn decide_named(call: Call) -> Result<Response, Problem> {
    let Decision {
        approved,
        reason,
        content,
    } = crate::body::parse(&call.body)?;
    let gate = call.parameter("gate")?.to_owned();
    let known = all(&call.server.desk, call.id()?).await?;
    if !known.iter().any(|known| known.gate == gate) {
        return Err(no_such_gate(&gate, &known));
    }
    json(
        &decide(
            &call.server,
            call.id()?,
            &call.key()?.name,
            approved,
            Verdict {
                gate: Some(gate),
                reason,
                content,
            },
        )
        .await?,
    )
}

fn no_such_gate(name: &str, known: &[Gate]) -> Problem {
    let names: Vec<String> = known
        .iter()
        .map(|known| format!("`{}`", known.gate))
        .collect();
    let hint = if names.is_empty() {
        "it came to no gate yet".to_owned()
    } else {
        format!("it came to: {}", names.join(", "))
    };
    Problem::no_such_part(format!("this debate has no gate `{name}`"), hint)
}

/// Decides the gate that is named, or the only one that waits. Who decides is who asks, never what
/// is said in the request.
pub async fn decide(
    server: &Shared,
    id: DebateId,
    by: &str,
    approved: bool,
    verdict: Verdict,
) -> Result<GateDecided, Problem> {
    if !approved && verdict.reason.trim().is_empty() {
        return Err(Problem::unprocessable("a refusal says why: `reason`"));
    }
    let gate = match verdict.gate {
        Some(gate) => gate,
        None => waiting(&all(&server.desk, id).await?)?,
    };
    let decision = GateDecided {
        gate,
        approved,
        by: by.to_owned(),
        reason: verdict.reason,
    };
    server
        .desk
        .decide(id, decision.clone(), verdict.content)
        .await?;
    Ok(decision)
}

/// The one gate that waits; where none does any more, the last that did, so that whoever is late is
/// told what was decided.
fn waiting(gates: &[Gate]) -> Result<String, Problem> {
    let open: Vec<&Gate> = gates
        .iter()
        .filter(|gate| gate.decision.is_none())
        .collect();
    match (&open[..], gates.last()) {
        ([one], _) => Ok(one.gate.clone()),
        ([], Some(last)) => Ok(last.gate.clone()),
        ([], None) => Err(Problem::conflict("no gate waits for a decision")),
        (several, _) => {
            let names = several
                .iter()
                .map(|gate| gate.gate.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            Err(Problem::conflict(format!(
                "several gates wait; name one in `gate`: {names}"
            )))
        }
    }
}

/// Every gate of a debate. The first decision of each is its decision.
async fn all(desk: &Desk, id: DebateId) -> Result<Vec<Gate>, Problem> {
    let mut gates: Vec<Gate> = Vec::new();
    for record in desk
        .pick(id, &Pick::of(&["gate.opened", "gate.decided"]))
        .await?
        .records
    {
        let at = Some(record.ts.to_string());
        match record.event() {
            Ok(Some(Event::GateOpened(opened))) => {
                let gate = entry(&mut gates, &opened.gate);
                (gate.opened, gate.opened_at) = (Some(*opened), at);
            }
            Ok(Some(Event::GateDecided(decided))) => {
                let gate = entry(&mut gates, &decided.gate);
                if gate.decision.is_none() {
                    (gate.decision, gate.decided_at) = (Some(*decided), at);
                }
            }
            _ => {}
        }
    }
    Ok(gates)
}

fn entry<'a>(gates: &'a mut Vec<Gate>, name: &str) -> &'a mut Gate {
    let at = gates
        .iter()
        .position(|gate| gate.gate == name)
        .unwrap_or_else(|| {
            gates.push(Gate {
                gate: name.to_owned(),
                opened: None,
                opened_at: None,
                decision: None,
                decided_at: None,
            });
            gates.len() - 1
        });
    &mut gates[at]
}
