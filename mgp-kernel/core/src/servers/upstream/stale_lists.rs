//! The kinds of lists that servers have, the lists of a server that changed and have to be listed again, and the pauses
//! between the times that a server is asked for what it did not give.

use std::collections::BTreeSet;
use std::time::Duration;

use mgp_types::Method;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

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

/// The pauses of one request that is made again and again: each is longer than the one before, until the request lasts.
#[derive(Default)]
pub(super) struct Pauses(u32);

impl Pauses {
    /// Returns the pause after a request that began at this time and has ended.
    pub(super) fn after(&mut self, began: Instant) -> Duration {
        self.0 = if began.elapsed() < LASTING { self.0 + 1 } else { 1 };
        pause(self.0)
    }
}

/// Returns the pause after the given number of failures in a row.
pub(super) fn pause(times: u32) -> Duration {
    PAUSE * 2_u32.pow(times.saturating_sub(1).min(MAX_DOUBLED))
}

/// The pause before a server is asked again for what could not be fetched.
const PAUSE: Duration = Duration::from_secs(5);
/// The time after which a listening request counts as accepted; that it ended may be due to an intermediary.
const LASTING: Duration = Duration::from_secs(30);
/// The largest number of times that the pause is doubled.
const MAX_DOUBLED: u32 = 6;
