//! The rounds where agents hold options: what each said, claimed, attacked and conceded. Claims can
//! be linked to.

use super::{
    markup::Markup,
    named,
    river::{Move, River},
};
use crate::{
    event::{ClaimId, Position, Verdict},
    view::{RoundView, View},
};

pub fn write(page: &mut Markup, view: &View) {
    let claims = Claims::of(view);
    page.within("section", &[("id", "transcript")], |page| {
        page.element("h2", &[], "Rounds");
        for note in &view.notes {
            page.element("p", &[], &format!("A note by {}: {}", note.by, note.text));
        }
        view.rounds
            .iter()
            .for_each(|round| write_round(page, view, round, &claims));
    });
}

/// A change of mind, with what caused it.
pub fn moved(page: &mut Markup, river: &River, moved: &Move) {
    page.within("li", &[], |page| {
        named(
            page,
            river.tracks[moved.track].place,
            &river.tracks[moved.track].agent,
        );
        let (from, to) = (river.lane(moved.lanes.0), river.lane(moved.lanes.1));
        page.line(&format!(", round {}: ", river.columns[moved.column].round));
        page.element("strong", &[], &format!("{from} → {to}"));
        if !moved.counts {
            page.element(
                "span",
                &[],
                ", without naming a claim that holds: not counted",
            );
        }
        for (at, cause) in moved.causes.iter().enumerate() {
            page.own(if at == 0 { ", because of " } else { " and " });
            page.element("code", &[], &cause.claim.0);
            page.own(" “");
            page.line(&cause.quoted());
            page.own("”");
        }
        if !moved.reason.trim().is_empty() {
            page.own(". In its words: ");
            page.element("span", &[("class", "faint")], &moved.reason);
        }
    });
}

/// Every claim, in order: its number is its anchor, since its name may hold anything.
struct Claims<'a>(Vec<&'a ClaimId>);

impl<'a> Claims<'a> {
    fn of(view: &'a View) -> Self {
        let positions = view.rounds.iter().flat_map(|round| &round.positions);
        Self(
            positions
                .flat_map(|(_, position)| &position.claims)
                .map(|claim| &claim.id)
                .collect(),
        )
    }

    fn anchor(&self, claim: &ClaimId) -> Option<String> {
        self.0
            .iter()
            .position(|known| *known == claim)
            .map(|at| format!("claim-{}", at + 1))
    }

    fn link(&self, page: &mut Markup, claim: &ClaimId) {
        match self.anchor(claim) {
            Some(anchor) => page.element("a", &[("href", &format!("#{anchor}"))], &claim.0),
            None => page.element("code", &[], &claim.0),
        }
    }
}

fn write_round(page: &mut Markup, view: &View, round: &RoundView, claims: &Claims<'_>) {
    let blind = if round.is_blind() { " (blind)" } else { "" };
    page.within("section", &[("class", "round")], |page| {
        page.element(
            "h3",
            &[],
            &format!("Round {}: {}{blind}", round.round, round.phase),
        );
        for (agent, position) in &round.positions {
            page.within("article", &[("class", "turn")], |page| {
                write_position(page, view, agent, position, claims)
            });
        }
        for absence in &round.absent {
            page.within("article", &[("class", "turn")], |page| {
                page.within("h4", &[], |page| {
                    page.line(&absence.agent);
                    page.own(" ");
                    page.element("span", &[("class", "badge bad")], "missing");
                });
                page.element("p", &[], &format!("{}: {}", absence.reason, absence.detail));
            });
        }
    });
}

fn write_position(
    page: &mut Markup,
    view: &View,
    agent: &str,
    position: &Position,
    claims: &Claims<'_>,
) {
    let panel = view
        .started
        .as_ref()
        .map(|started| started.agents.as_slice())
        .unwrap_or_default();
    let place = panel
        .iter()
        .position(|known| &*known.name == agent)
        .unwrap_or(panel.len());
    let held = position.option.as_deref().unwrap_or("nothing");
    let from = position.from.as_deref().filter(|from| *from != held);
    page.within("h4", &[], |page| {
        named(page, place, agent);
        page.line(&match from {
            Some(from) => format!(": {from} → {held}, confidence {:.2}", position.confidence),
            None => format!(": {held}, confidence {:.2}", position.confidence),
        });
        if from.is_some() {
            page.own(" ");
            match position.documented {
                true => page.element(
                    "span",
                    &[("class", "badge attention")],
                    "◆ changed its mind",
                ),
                false => page.element("span", &[("class", "badge bad")], "◇ undocumented change"),
            }
        }
    });
    page.element("p", &[], &position.summary);
    if from.is_some() {
        write_change(page, position, claims);
    }
    page.within("ul", &[], |page| {
        for claim in &position.claims {
            let anchor = claims.anchor(&claim.id).unwrap_or_default();
            page.within("li", &[("id", &anchor)], |page| {
                page.element("code", &[], &claim.id.0);
                page.own(" ");
                page.line(&claim.text);
            });
        }
        for challenge in &position.challenges {
            page.within("li", &[], |page| {
                page.own(if challenge.verdict == Verdict::Attack {
                    "✕ attacks "
                } else {
                    "✓ concedes "
                });
                claims.link(page, &challenge.claim);
                page.own(": ");
                page.line(&challenge.text);
            });
        }
    });
    if !position.flips_if.trim().is_empty() {
        page.element(
            "p",
            &[("class", "faint")],
            &format!("Flips if: {}", position.flips_if),
        );
    }
}

fn write_change(page: &mut Markup, position: &Position, claims: &Claims<'_>) {
    page.within("p", &[], |page| match position.documented {
        true if position.because.is_empty() => page.line("Changed its answer."),
        true => {
            page.own("Convinced by ");
            for (at, claim) in position.because.iter().enumerate() {
                page.own(if at == 0 { "" } else { ", " });
                claims.link(page, claim);
            }
            page.own(": ");
            page.line(&position.reason);
        }
        false => {
            let counted = position.counted.as_deref().unwrap_or("nothing");
            page.line(&format!(
                "No valid claim of another agent is named. Counted: {counted}."
            ));
        }
    });
    for bad in &position.bad_citations {
        page.element("p", &[], &format!("Citation that does not hold: {bad}"));
    }
}
