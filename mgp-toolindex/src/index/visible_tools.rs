//! The tools that an agent may see, as a bit set.

use std::sync::Arc;

use super::Snapshot;
use super::table::{ChunkedVec, slots_of_chunk};
use crate::Tool;
use crate::slot::{Slot, Slots};

/// The tools of a [`Snapshot`] that an agent may see.
#[derive(Debug, Clone)]
pub struct VisibleTools {
    /// The tools for which the set was made, which share chunks with those of later snapshots.
    tools: ChunkedVec<Arc<Tool>>,
    visible: Slots,
    count: usize,
    generation: u64,
}

impl VisibleTools {
    /// Creates the set by asking for each tool of a snapshot.
    pub fn of(snapshot: &Snapshot, sees: impl FnMut(&Tool) -> bool) -> Self {
        Self::made(snapshot, None, sees)
    }

    /// Returns the set for a later snapshot of the same index. `sees` is asked only where tools came, left or changed,
    /// so that the answers about all others must not have changed.
    pub fn follow(&self, snapshot: &Snapshot, sees: impl FnMut(&Tool) -> bool) -> Self {
        Self::made(snapshot, Some(self), sees)
    }

    fn made(snapshot: &Snapshot, before: Option<&Self>, mut sees: impl FnMut(&Tool) -> bool) -> Self {
        let tools = snapshot.tools.clone();
        let mut visible = before.map_or_else(Slots::default, |before| before.visible.clone());
        let has_changed = |chunk: &usize| before.is_none_or(|before| !before.tools.shares(*chunk, &tools));
        for slot in (0..tools.chunks()).filter(has_changed).flat_map(slots_of_chunk) {
            visible.set(slot, tools.get(slot).is_some_and(|tool| sees(tool)));
        }
        let count = visible.len();
        Self { tools, visible, count, generation: snapshot.generation }
    }

    /// Returns the number of visible tools.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns whether the set was made of this snapshot; for another one it would be wrong.
    pub const fn is_of(&self, snapshot: &Snapshot) -> bool {
        self.generation == snapshot.generation
    }

    pub(crate) fn sees(&self, slot: Slot) -> bool {
        self.visible.contains(slot)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;
    use crate::embed::hashed_words::HashedWords;
    use crate::index::table::CHUNK;
    use crate::{Index, ServerTools, ToolListing};

    fn listing(name: &str) -> ToolListing {
        let definition = mgp_types::RawJson::from_value(&json!({ "name": name })).unwrap();
        ToolListing::read(&definition).unwrap()
    }

    #[tokio::test]
    async fn a_sight_that_follows_asks_only_where_tools_changed() {
        let index = Index::new(Arc::new(HashedWords::new(8)));
        let many = (0..2560).map(|n| listing(&format!("tool_{n}"))).collect();
        let rest = |from: usize| (from..3000).map(|n| listing(&format!("tool_{n}"))).collect();
        index.put_server(ServerTools::new("many", many)).await;
        index.put_server(ServerTools::new("rest", rest(2560))).await;
        index.settled().await;
        let asked = AtomicUsize::new(0);
        let sees = |tool: &Tool| {
            asked.fetch_add(1, Ordering::Relaxed);
            tool.name.as_str().ends_with('7')
        };
        let first = VisibleTools::of(&index.snapshot(), sees);
        assert_eq!((first.count(), asked.swap(0, Ordering::Relaxed)), (300, 3000));

        index.put_server(ServerTools::new("few", vec![listing("tool_07")])).await;
        index.put_server(ServerTools::new("rest", rest(2568))).await;
        index.settled().await;
        let snapshot = index.snapshot();
        let followed = first.follow(&snapshot, sees);
        assert!(asked.load(Ordering::Relaxed) <= CHUNK, "{asked:?}");
        let anew = VisibleTools::of(&snapshot, sees);
        assert_eq!((followed.count(), &followed.visible), (300, &anew.visible));
        assert!(followed.is_of(&snapshot) && !first.is_of(&snapshot));
    }
}
