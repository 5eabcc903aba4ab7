//! The hierarchy of all categories, with the tools in each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{CategoryPath, find};
use crate::slot::Slot;

/// All categories of the tools of a snapshot. Copies share common parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hierarchy {
    pub(super) root: Arc<CategoryNode>,
}

/// A level of the hierarchy.
#[derive(Debug, Clone, Default)]
pub(super) struct CategoryNode {
    /// The number of tools here or below.
    pub(super) count: usize,
    /// The tools of this level, in their order.
    pub(super) tools: Vec<Slot>,
    pub(super) below: BTreeMap<Arc<str>, Arc<Self>>,
}

impl Hierarchy {
    /// Adds a tool.
    pub(crate) fn add(&mut self, slot: Slot, categories: &[CategoryPath]) {
        Arc::make_mut(&mut self.root).change(slot, &levels(categories), CategoryNode::put);
    }

    /// Removes a tool that was added with these categories.
    pub(crate) fn remove(&mut self, slot: Slot, categories: &[CategoryPath]) {
        Arc::make_mut(&mut self.root).change(slot, &levels(categories), CategoryNode::take);
    }

    /// Returns the tools of the categories that a text names, with their closeness: tools of the closest category
    /// first, those directly in it before those below it, and among equals in the order of their names.
    pub(crate) fn browse<'a>(
        &self,
        text: &str,
        limit: usize,
        mut fits: impl FnMut(Slot) -> bool,
        name: impl Fn(Slot) -> &'a str,
    ) -> Vec<(Slot, f32)> {
        let mut closeness: BTreeMap<Slot, f32> = BTreeMap::new();
        for found in find::find(&self.root, text) {
            found.node.each(found.closeness, &mut |slot, close| {
                if fits(slot) {
                    closeness.entry(slot).and_modify(|known| *known = known.max(close)).or_insert(close);
                }
            });
        }
        let order = |a: &(Slot, f32), b: &(Slot, f32)| {
            b.1.total_cmp(&a.1).then_with(|| name(a.0).cmp(name(b.0))).then(a.0.cmp(&b.0))
        };
        let mut tools: Vec<_> = closeness.into_iter().collect();
        if tools.len() > limit {
            // Sorting all tools of a wide category would take longer than finding it.
            tools.select_nth_unstable_by(limit, order);
            tools.truncate(limit);
        }
        tools.sort_unstable_by(order);
        tools
    }
}

/// The closeness of a tool one level below, as a factor.
const A_LEVEL_BELOW: f32 = 0.95;

impl CategoryNode {
    /// Changes the tools at the ends of these paths. Each level on the way counts the tool once, however many of the
    /// paths lead through it.
    fn change(&mut self, slot: Slot, paths: &[Vec<&str>], change: fn(&mut Self, Slot, bool)) {
        change(self, slot, paths.iter().any(Vec::is_empty));
        let mut firsts: Vec<&str> = paths.iter().filter_map(|path| path.first().copied()).collect();
        firsts.sort_unstable();
        firsts.dedup();
        for first in firsts {
            let rests = paths.iter().filter(|path| path.first() == Some(&first));
            let rests: Vec<_> = rests.map(|path| path[1..].to_vec()).collect();
            let below = self.below.entry(first.into()).or_default();
            Arc::make_mut(below).change(slot, &rests, change);
            if below.count == 0 {
                self.below.remove(first);
            }
        }
    }

    fn put(&mut self, slot: Slot, here: bool) {
        self.count += 1;
        if here && let Err(place) = self.tools.binary_search(&slot) {
            self.tools.insert(place, slot);
        }
    }

    fn take(&mut self, slot: Slot, here: bool) {
        self.count = self.count.saturating_sub(1);
        if here && let Ok(place) = self.tools.binary_search(&slot) {
            self.tools.remove(place);
        }
    }

    fn each(&self, closeness: f32, call: &mut dyn FnMut(Slot, f32)) {
        for slot in &self.tools {
            call(*slot, closeness);
        }
        for below in self.below.values() {
            below.each(closeness * A_LEVEL_BELOW, call);
        }
    }
}

fn levels(categories: &[CategoryPath]) -> Vec<Vec<&str>> {
    categories.iter().map(|path| path.levels().collect()).collect()
}
