//! Tools that say nearly the same stand behind one another, not beside one another.
//!
//! A server that lists a tool many times over, or that of another one with a few words changed, would take the places of
//! tools that do something else. Among the first places, therefore, a tool gives way to one that was there before it, says
//! nearly the same, and has all the words of the request that it has. A tool that has a word of the request which the
//! older one has not keeps its place: it does say something else. The older one keeps it in any case, or to copy a tool
//! would be a way to hide it.

use super::searched::Searched;
use crate::slot::Slot;

/// Puts the tools behind the first places that give way to another one, which takes their place.
pub(super) fn clear(ranked: &mut [Slot], request: &Searched<'_>, are_twins: &dyn Fn(Slot, Slot) -> bool) {
    let words = request.words_of(ranked);
    let tool =
        |(slot, words): (&Slot, u64)| Placed { slot: *slot, words, is_called: request.is_called(*slot) };
    let tools: Vec<Placed> = ranked.iter().zip(words).map(tool).collect();
    let (mut first, mut behind): (Vec<Slot>, Vec<Slot>) = (Vec::new(), Vec::new());
    for tool in &tools {
        if first.len() == FIRST_PLACES {
            break;
        }
        let older = tools.iter().filter(|other| tool.gives_way_to(other));
        let older = older.filter(|other| are_twins(tool.slot, other.slot)).min_by_key(|other| other.slot);
        if older.is_some() {
            behind.push(tool.slot);
        }
        let stands = older.map_or(tool.slot, |older| older.slot);
        if !first.contains(&stands) {
            first.push(stands);
        }
    }
    let place = |slot: &Slot| match first.iter().position(|first| first == slot) {
        Some(place) => place,
        None if behind.contains(slot) => FIRST_PLACES,
        None => FIRST_PLACES + 1,
    };
    ranked.sort_by_cached_key(place);
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
    /// Whether it does, if it says nearly the same.
    fn gives_way_to(&self, other: &Self) -> bool {
        !self.is_called && other.slot < self.slot && self.words & !other.words == 0
    }
}

const FIRST_PLACES: usize = 5;
