use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::ResolvedTool;
use parking_lot::Mutex;

/// What the connections to one server list: agents that have one of their own may find other tools than others. Clones
/// are the same.
#[derive(Clone, Default)]
pub(super) struct Offered(Arc<Mutex<BTreeMap<Box<str>, Tools>>>);

type Tools = Vec<Arc<ResolvedTool>>;

impl Offered {
    /// Takes `tools` to be all that this connection lists, and returns what all of them do. Of two tools of one name
    /// that of the first connection counts.
    pub(super) fn put(&self, instance: Option<&str>, tools: Tools) -> Tools {
        let mut offered = self.0.lock();
        offered.insert(instance.unwrap_or_default().into(), tools);
        let mut seen = HashSet::with_hasher(RandomState::default());
        offered.values().flatten().filter(|tool| seen.insert(tool.name.clone())).cloned().collect()
    }
}
