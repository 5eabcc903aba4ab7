//! The lists of a server that changed and have to be listed again.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::server_notifications::ListKind;

/// The lists of one server that changed since they were last asked for. However often a server says so, it is noted
/// once. Clones share them.
#[derive(Clone, Default)]
pub(super) struct StaleLists(Arc<StaleListsInner>);

#[derive(Default)]
struct StaleListsInner {
    lists: Mutex<ListsToRefresh>,
    news: Notify,
}

/// The lists that have to be listed again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ListsToRefresh {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl ListsToRefresh {
    pub(super) const ALL: Self = Self { tools: true, prompts: true, resources: true };
    pub(super) const NONE: Self = Self { tools: false, prompts: false, resources: false };

    pub(super) const fn and(self, more: Self) -> Self {
        Self {
            tools: self.tools || more.tools,
            prompts: self.prompts || more.prompts,
            resources: self.resources || more.resources,
        }
    }
}

impl StaleLists {
    pub(super) fn mark(&self, what: ListKind) {
        let mut lists = self.0.lists.lock();
        match what {
            ListKind::Tools => lists.tools = true,
            ListKind::Prompts => lists.prompts = true,
            ListKind::Resources => lists.resources = true,
        }
        drop(lists);
        self.0.news.notify_one();
    }

    /// Marks all of these lists.
    pub(super) fn mark_all(&self, lists: ListsToRefresh) {
        for (is_marked, what) in [
            (lists.tools, ListKind::Tools),
            (lists.prompts, ListKind::Prompts),
            (lists.resources, ListKind::Resources),
        ] {
            if is_marked {
                self.mark(what);
            }
        }
    }

    /// Waits until something is marked.
    pub(super) async fn marked(&self) {
        self.0.news.notified().await;
    }

    /// Takes the marked lists, which then are not marked any more.
    pub(super) fn take(&self) -> ListsToRefresh {
        std::mem::take(&mut *self.0.lists.lock())
    }
}
