//! Crowding: tools that say nearly the same stand behind one another, not beside one another.
//!
//! A server that lists a tool many times over, or copies that of another one with a few words changed, would take the
//! places of different tools. Among the first places, therefore, a tool gives way to one that was there before it, says
//! nearly the same, and has all the words of the request that it has. A tool with a word of the request that the older
//! one lacks stands behind that one, because it differs; before it only if the request names it or its server. The
//! older one keeps its place in any case, or copying a tool would be a way to hide it.

use super::SearchedPart;
use crate::slot::Slot;

const FIRST_PLACES: usize = 5;

/// Moves the tools that give way to another one behind the first places.
pub(super) fn clear(
    ranked: &mut [Slot],
    request: &SearchedPart<'_>,
    is_of_named_server: &dyn Fn(Slot) -> bool,
    are_twins: &dyn Fn(Slot, Slot) -> bool,
) {
    let words = request.words_of(ranked);
    let tool = |(slot, words): (&Slot, u64)| Placed {
        slot: *slot,
        words,
        is_called: request.is_called(*slot),
        is_of_named_server: is_of_named_server(*slot),
    };
    let tools: Vec<Placed> = ranked.iter().zip(words).map(tool).collect();
    let (mut first, mut behind): (Vec<Slot>, Vec<Slot>) = (Vec::new(), Vec::new());
    for tool in &tools {
        if first.len() == FIRST_PLACES {
            break;
        }
        let older = tools.iter().filter(|other| !tool.is_called && other.slot < tool.slot);
        let twins: Vec<&Placed> = older.filter(|other| are_twins(tool.slot, other.slot)).collect();
        let oldest = |twins: &mut dyn Iterator<Item = &&Placed>| twins.map(|twin| twin.slot).min();
        let mut complete = twins.iter().filter(|twin| tool.words & !twin.words == 0);
        let (before, stands) = match oldest(&mut complete) {
            Some(older) => (Some(older), false),
            None if tool.is_of_named_server => (None, true),
            None => (oldest(&mut twins.iter()), true),
        };
        if let Some(older) = before.filter(|older| !first.contains(older)) {
            first.push(older);
        }
        if !stands {
            behind.push(tool.slot);
        } else if first.len() < FIRST_PLACES && !first.contains(&tool.slot) {
            first.push(tool.slot);
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
    /// The words of the request that the tool has.
    words: u64,
    /// Set if the request names the tool exactly. Then it keeps its place.
    is_called: bool,
    is_of_named_server: bool,
}
