//! What a format shows of its own result: in the verdict card, and in a section of reasons.

use super::markup::Markup;
use crate::{formats::Format, view::View};

/// A result that has its own parts of the page.
pub trait ResultCard {
    /// Writes the result into the verdict card.
    fn card(&self, page: &mut Markup, view: &View);

    /// Whether there is something to give reasons for.
    fn has_reasons(&self) -> bool;

    fn reasons(&self, page: &mut Markup);
}

/// The card of a debate, if its format has one and it has ended with a result.
pub fn card_of(view: &View) -> Option<Box<dyn ResultCard>> {
    (Format::of(view)?.reading?.card)(view)
}
