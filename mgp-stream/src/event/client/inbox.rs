use std::fmt;
use std::task::{Context, Waker};

use mgp_types::mgp::{Event, EventSubscribed};
use parking_lot::Mutex;

use super::{EventAssembly, EventItem};

/// An assembly between those who bring events and the one who reads them.
pub(super) struct Inbox(Mutex<State>);

struct State {
    assembly: EventAssembly,
    reader: Option<Waker>,
}

impl Inbox {
    pub(super) fn new(answer: &EventSubscribed) -> Self {
        Self(Mutex::new(State { assembly: EventAssembly::new(answer), reader: None }))
    }

    /// Takes an event. Whom to wake, without a lock: whoever is woken may be anybody, and may read at once.
    #[must_use = "the reader waits"]
    pub(super) fn push(&self, event: Event) -> Option<Waker> {
        let mut state = self.0.lock();
        state.assembly.push(event);
        state.reader.take()
    }

    /// The next item; if there is none the reader is woken when something comes.
    pub(super) fn pop(&self, cx: &Context<'_>) -> Option<EventItem> {
        let mut state = self.0.lock();
        let item = state.assembly.pop();
        if item.is_some() || state.reader.as_ref().is_some_and(|reader| reader.will_wake(cx.waker())) {
            return item;
        }
        let before = state.reader.replace(cx.waker().clone());
        drop(state);
        drop(before);
        None
    }

    /// For the reader itself, which needs no waking.
    pub(super) fn with<R>(&self, use_it: impl FnOnce(&mut EventAssembly) -> R) -> R {
        use_it(&mut self.0.lock().assembly)
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Inbox").field(&self.0.lock().assembly).finish()
    }
}
