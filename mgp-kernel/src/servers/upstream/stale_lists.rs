//! The kinds of lists that servers have, and the lists of a server that changed and have to be listed again.

use std::collections::BTreeSet;

use mgp_types::Method;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A kind of list that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

impl ListKind {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// Returns the method of the notification that a list of this kind changed.
    pub(crate) const fn changed(self) -> Method {
        match self {
            Self::Tools => Method::TOOLS_CHANGED,
            Self::Prompts => Method::PROMPTS_CHANGED,
            Self::Resources => Method::RESOURCES_CHANGED,
        }
    }
}

/// The lists of one server that changed since they were last asked for. However often a server says so, it is noted
/// once.
#[derive(Default)]
pub(super) struct StaleLists {
    marks: Mutex<StaleMarks>,
    news: Notify,
}

#[derive(Default)]
struct StaleMarks {
    lists: BTreeSet<ListKind>,
    /// True while the lists that were taken last are listed again.
    are_being_listed: bool,
}

impl StaleLists {
    pub(super) fn mark(&self, lists: impl IntoIterator<Item = ListKind>) {
        self.marks.lock().lists.extend(lists);
        self.news.notify_one();
    }

    /// Waits until something is marked.
    pub(super) async fn marked(&self) {
        self.news.notified().await;
    }

    /// Takes the marked lists, which then are not marked any more. They are stale until they are [`listed`](Self::listed).
    pub(super) fn take(&self) -> BTreeSet<ListKind> {
        let mut marks = self.marks.lock();
        marks.are_being_listed = true;
        std::mem::take(&mut marks.lists)
    }

    /// Notes that an attempt to list what was taken is over.
    pub(super) fn listed(&self) {
        self.marks.lock().are_being_listed = false;
    }

    /// Returns whether something that changed has not been listed again yet.
    pub(super) fn are_stale(&self) -> bool {
        let marks = self.marks.lock();
        marks.are_being_listed || !marks.lists.is_empty()
    }
}
