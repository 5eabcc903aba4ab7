//! The tools that a session holds in its list, each with its reason.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

use super::ListedTool;

/// The reason why a tool is in the list: one with a lesser reason makes room first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListingReason {
    Found,
    /// The tool was used or asked for.
    Used,
    /// Nobody asked for the tool, and it was listed from the beginning. It stays: many hosts refuse calls of tools that are
    /// not in their list any more.
    Base,
}

/// A tool in the list.
#[derive(Debug)]
pub(super) struct HeldTool {
    pub(super) listed: ListedTool,
    pub(super) used_at: u64,
    pub(super) reason: ListingReason,
}

/// Returns the position of the tool of this name: the one that is shown by it, the one whose id it is, or the only one
/// of that own name.
pub(super) fn position(held: &[HeldTool], name: &str) -> Option<usize> {
    let shown = held.iter().position(|held| held.listed.name == name || held.listed.tool.id() == name);
    shown.or_else(|| {
        let mut bearers = held.iter().enumerate().filter(|(_, held)| held.listed.tool.name.as_str() == name);
        let (at, _) = bearers.next()?;
        bearers.next().is_none().then_some(at)
    })
}

/// Returns a number for the definitions of tools, which is the same for the same definitions, and differs otherwise as good
/// as certainly.
pub(super) fn fingerprint<'h>(held: impl IntoIterator<Item = &'h HeldTool>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for held in held {
        held.listed.definition.json().as_bytes().hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the tokens of the definitions of tools.
pub(super) fn sum<'h>(held: impl IntoIterator<Item = &'h HeldTool>) -> u32 {
    held.into_iter().map(|held| held.listed.definition.tokens()).fold(0, u32::saturating_add)
}
