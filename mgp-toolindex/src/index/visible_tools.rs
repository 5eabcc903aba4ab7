//! The tools that an agent may see, as a bit set.

use std::sync::Arc;

use super::Snapshot;
use super::table::{CHUNK, ChunkedVec};
use crate::Tool;
use crate::slot::Slot;

/// The tools of a [`Snapshot`] that an agent may see.
#[derive(Debug, Clone)]
pub struct VisibleTools {
    /// The tools for which the set was made, which share chunks with those of later snapshots.
    tools: ChunkedVec<Arc<Tool>>,
    /// A bit for each slot, in the chunks of the table.
    chunks: Vec<Bits>,
    count: usize,
    generation: u64,
}

type Bits = [u64; CHUNK / 64];

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
        let chunks: Vec<Bits> = (0..tools.chunks())
            .map(|chunk| {
                let same = before.filter(|before| before.tools.shares(chunk, &tools));
                if let Some(bits) = same.and_then(|before| before.chunks.get(chunk)) {
                    return *bits;
                }
                let mut bits = Bits::default();
                for (place, _) in tools.chunk(chunk).filter(|(_, tool)| sees(tool)) {
                    bits[place / 64] |= 1 << (place % 64);
                }
                bits
            })
            .collect();
        let count = chunks.iter().flatten().map(|word| word.count_ones() as usize).sum();
        Self { tools, chunks, count, generation: snapshot.generation }
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
        let (chunk, place) = (slot.index() / CHUNK, slot.index() % CHUNK);
        self.chunks.get(chunk).is_some_and(|bits| bits[place / 64] >> (place % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;
    use crate::embed::hashed_words::HashedWords;
    use crate::{Index, ServerTools, ToolListing};

    fn listing(name: &str) -> ToolListing {
        let definition = mgp_types::RawJson::from_value(&json!({ "name": name })).unwrap();
        ToolListing::read(&definition).unwrap()
    }

    #[tokio::test]
    async fn a_sight_that_follows_asks_only_where_tools_changed() {
        let index = Index::new(Arc::new(HashedWords::new(8)));
        let tools = (0..3000).map(|n| listing(&format!("tool_{n}"))).collect();
        index.put_server(ServerTools::new("many", tools)).await;
        index.settled().await;
        let asked = AtomicUsize::new(0);
        let sees = |tool: &Tool| {
            asked.fetch_add(1, Ordering::Relaxed);
            tool.name.as_str().ends_with('7')
        };
        let first = VisibleTools::of(&index.snapshot(), sees);
        assert_eq!((first.count(), asked.swap(0, Ordering::Relaxed)), (300, 3000));

        index.put_tool("few".into(), listing("tool_07")).await;
        index.remove_tool("many".into(), "tool_1007".into()).await;
        index.remove_tool("many".into(), "tool_1008".into()).await;
        index.settled().await;
        let snapshot = index.snapshot();
        let followed = first.follow(&snapshot, sees);
        assert!(asked.load(Ordering::Relaxed) <= 3 * CHUNK, "{asked:?}");
        let anew = VisibleTools::of(&snapshot, sees);
        assert_eq!((followed.count(), &followed.chunks), (300, &anew.chunks));
        assert!(followed.is_of(&snapshot) && !first.is_of(&snapshot));
    }
}
