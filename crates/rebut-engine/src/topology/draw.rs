//! A topology for people: as text, and as a Mermaid drawing in which arrows go from who speaks to
//! who hears.

use super::Topology;
use crate::clean::on_one_line;
use std::fmt::Write;

/// A complete picture is drawn edge by edge up to so many members, beyond that with one knot in the
/// middle.
const EDGES_UP_TO: usize = 4;

impl Topology {
    /// Who hears whom, a line for each member; one line where everybody hears everybody.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{} of {}: {}\n",
            self.kind,
            self.members.len(),
            self.kind.0.about
        );
        if self.is_complete() {
            let names: Vec<String> = self
                .members
                .iter()
                .map(|member| on_one_line(&member.name))
                .collect();
            let _ = writeln!(text, "{}", names.join(", "));
            return text;
        }
        for number in &self.shape.order {
            let name = &self.members[*number].name;
            let heard: Vec<String> = self
                .hears(name)
                .iter()
                .map(|name| on_one_line(name))
                .collect();
            let heard = if heard.is_empty() {
                "nobody".to_owned()
            } else {
                heard.join(", ")
            };
            let _ = writeln!(
                text,
                "{} ({}) hears {heard}",
                on_one_line(name),
                self.place(name)
            );
        }
        text
    }

    pub fn to_mermaid(&self) -> String {
        let mut text = "flowchart TD\n".to_owned();
        for number in &self.shape.order {
            let member = &self.members[*number];
            let stance = member
                .stance
                .as_deref()
                .map(|stance| format!(" ({})", quoted(stance)))
                .unwrap_or_default();
            let _ = writeln!(text, "    m{number}[\"{}{stance}\"]", quoted(&member.name));
        }
        if self.is_complete() && self.members.len() > EDGES_UP_TO {
            text.push_str("    all((\"everybody\"))\n");
            for number in &self.shape.order {
                let _ = writeln!(text, "    m{number} <--> all");
            }
            return text;
        }
        let mut place = vec![0; self.members.len()];
        self.shape
            .order
            .iter()
            .enumerate()
            .for_each(|(at, number)| place[*number] = at);
        for (speaker, listener) in self.edges() {
            let mutual = self
                .hears(&self.members[speaker].name)
                .contains(&self.members[listener].name);
            if !mutual {
                let _ = writeln!(text, "    m{speaker} --> m{listener}");
            // Whoever is named first is drawn above.
            } else if place[speaker] < place[listener] {
                let _ = writeln!(text, "    m{speaker} <--> m{listener}");
            }
        }
        text
    }

    /// Everybody who is heard, and by whom.
    fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        self.shape.order.iter().flat_map(|listener| {
            let heard = self.heard[self.runs[*listener].clone()].iter();
            heard.map(|name| (self.numbers[name], *listener))
        })
    }

    fn is_complete(&self) -> bool {
        self.runs
            .iter()
            .all(|run| run.len() + 1 == self.members.len())
    }
}

/// A text that can stand between quotes in a drawing, inside a Markdown fence.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in on_one_line(text).chars() {
        match c {
            '"' | '#' | '<' | '>' | '`' | '&' | ';' => {
                let _ = write!(quoted, "#{};", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted
}
