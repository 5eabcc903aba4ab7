//! Tools that say nearly the same stand behind one another, not beside one another.
//!
//! A server that lists a tool many times over, or that of another one with a few words changed, would take the places of
//! tools that do something else. Among the first places, therefore, of tools that say nearly the same and have the same
//! words of the request, only the one that was there first has a place, and the others stand behind. A tool that has a
//! word of the request which the other has not keeps its place: it does say something else.

use std::ops::Range;

use super::searched::Searched;
use crate::slot::Slot;

/// Puts tools behind the first places that say nearly the same as one there. Returns where those stand then.
pub(super) fn clear(
    ranked: &mut [Slot],
    request: &Searched<'_>,
    are_twins: &dyn Fn(Slot, Slot) -> bool,
) -> Range<usize> {
    let words = request.words_of(ranked);
    let (mut first, mut behind): (Vec<Placed>, Vec<Placed>) = (Vec::new(), Vec::new());
    for (slot, words) in ranked.iter().copied().zip(words) {
        if first.len() == FIRST_PLACES {
            break;
        }
        let tool = Placed { slot, words, is_called: request.is_called(slot) };
        match first.iter_mut().find(|twin| twin.is_in_the_way_of(&tool) && are_twins(twin.slot, slot)) {
            None => first.push(tool),
            Some(twin) if tool.comes_before(twin) => behind.push(std::mem::replace(twin, tool)),
            Some(_) => behind.push(tool),
        }
    }
    let gave_way = first.len()..first.len() + behind.len();
    ranked.iter_mut().zip(first.iter().chain(&behind)).for_each(|(slot, placed)| *slot = placed.slot);
    gave_way
}

/// A tool in the ranking.
#[derive(Debug, Clone, Copy)]
struct Placed {
    slot: Slot,
    /// Which words of the request it has.
    words: u64,
    /// Whether it is called just what the request says. Then it has its place.
    is_called: bool,
}

impl Placed {
    /// Whether all words of the request that one of the two has are words of the other.
    const fn is_in_the_way_of(&self, other: &Self) -> bool {
        let both = self.words & other.words;
        !self.is_called && !other.is_called && (both == self.words || both == other.words)
    }

    /// Whether it stands for both: it has more words of the request, or as many and was there first.
    fn comes_before(&self, other: &Self) -> bool {
        let has_more = self.words & !other.words != 0;
        has_more || (self.words == other.words && self.slot < other.slot)
    }
}

const FIRST_PLACES: usize = 5;
