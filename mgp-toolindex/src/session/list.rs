use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::Tool;
use crate::budget::Definition;

/// What goes to the model behind the kernel's own tools.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolList {
    /// The pinned ones as they are configured, then those that were used, in the order of their first use.
    pub tools: Vec<ListedTool>,
    /// What they take, the kernel's own among them.
    pub tokens: u32,
    /// The ids of pinned tools that `pinned_reserve` has no room for: what is configured does not fit.
    pub pins_left_out: Vec<String>,
}

/// A tool in the list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ListedTool {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The name that the model calls it by.
    pub name: String,
    /// What the model sees of it.
    pub definition: Definition,
    /// Whether it is always there.
    pub pinned: bool,
}

/// A number for what the model sees, the same if and only if that is the same, as good as certainly.
pub(super) fn fingerprint<'a>(definitions: impl Iterator<Item = &'a Definition>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for definition in definitions {
        definition.json().as_bytes().hash(&mut hasher);
    }
    hasher.finish()
}
