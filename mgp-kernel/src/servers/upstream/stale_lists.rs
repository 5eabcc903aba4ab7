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
    marks: Mutex<StaleMarks>,
    news: Notify,
}

#[derive(Default)]
struct StaleMarks {
    lists: ListsToRefresh,
    /// True while the lists that were taken last are listed again.
    are_being_listed: bool,
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
        let mut marks = self.0.marks.lock();
        match what {
            ListKind::Tools => marks.lists.tools = true,
            ListKind::Prompts => marks.lists.prompts = true,
            ListKind::Resources => marks.lists.resources = true,
        }
        drop(marks);
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

    /// Takes the marked lists, which then are not marked any more. They are stale until they are [`listed`](Self::listed).
    pub(super) fn take(&self) -> ListsToRefresh {
        let mut marks = self.0.marks.lock();
        marks.are_being_listed = true;
        std::mem::take(&mut marks.lists)
    }

    /// Notes that an attempt to list what was taken is over.
    pub(super) fn listed(&self) {
        self.0.marks.lock().are_being_listed = false;
    }

    /// Returns whether something that changed has not been listed again yet.
    pub(super) fn are_stale(&self) -> bool {
        let marks = self.0.marks.lock();
        marks.are_being_listed || marks.lists != ListsToRefresh::NONE
    }
}
