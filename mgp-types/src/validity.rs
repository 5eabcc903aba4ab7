//! The validity of a caller's credential, for sessions, streams and calls that outlive one request.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// The validity of the credential that proved a caller, for anything that lasts longer than the request that brought
/// it: sessions, streams, calls in work. The value is a handle: clones share everything.
///
/// The verifier of the credential [ends](Self::end) the validity, and every [registered](Self::on_end) callback runs at
/// once.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use mgp_types::{RunningCalls, Validity};
///
/// let validity = Validity::new();
/// let closed = Arc::new(AtomicBool::new(false));
/// let stream = Arc::clone(&closed);
/// let _watch = validity.on_end(move |_| stream.store(true, Ordering::Relaxed));
/// validity.end(RunningCalls::Cancel);
/// assert!(closed.load(Ordering::Relaxed) && validity.ended() == Some(RunningCalls::Cancel));
/// ```
#[derive(Clone, Default)]
pub struct Validity(Arc<Mutex<Watches>>);

/// The treatment of calls in work of a caller whose credential no longer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a call goes on or it does not")]
pub enum RunningCalls {
    /// Calls in work are cancelled.
    Cancel,
    /// Calls in work may finish.
    Finish,
}

#[derive(Default)]
struct Watches {
    ended: Option<RunningCalls>,
    last: u64,
    waiting: BTreeMap<u64, Callback>,
}

type Callback = Box<dyn FnOnce(RunningCalls) + Send>;

/// The registration of a callback for the end of a credential. Dropping it removes the callback.
#[must_use]
pub struct ValidityWatch(Option<(Validity, u64)>);

impl Validity {
    /// Creates the validity of a credential that holds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the validity and runs all callbacks in this thread. Only the first time counts.
    pub fn end(&self, calls: RunningCalls) {
        let mut watches = self.0.lock();
        if watches.ended.is_some() {
            return;
        }
        watches.ended = Some(calls);
        let waiting = std::mem::take(&mut watches.waiting);
        drop(watches);
        for tell in waiting.into_values() {
            tell(calls);
        }
    }

    /// Returns the treatment of calls in work, if the credential no longer holds.
    pub fn ended(&self) -> Option<RunningCalls> {
        self.0.lock().ended
    }

    /// Returns whether something ends with the validity: a session, a stream or a call in work.
    pub fn is_watched(&self) -> bool {
        !self.0.lock().waiting.is_empty()
    }

    /// Calls `tell` when the credential no longer holds: at once, if that is so already.
    pub fn on_end(&self, tell: impl FnOnce(RunningCalls) + Send + 'static) -> ValidityWatch {
        let mut watches = self.0.lock();
        if let Some(calls) = watches.ended {
            drop(watches);
            tell(calls);
            return ValidityWatch(None);
        }
        watches.last += 1;
        let number = watches.last;
        watches.waiting.insert(number, Box::new(tell));
        ValidityWatch(Some((self.clone(), number)))
    }
}

impl Drop for ValidityWatch {
    fn drop(&mut self) {
        let Some((validity, number)) = self.0.take() else { return };
        let forgotten = validity.0.lock().waiting.remove(&number);
        // The callbacks are dropped outside the lock, because they may own a registration of their own.
        drop(forgotten);
    }
}

crate::partial_debug!(Validity, self => ended: self.ended());
crate::partial_debug!(ValidityWatch);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn who_waits_is_told_once_and_who_left_is_not() {
        let validity = Validity::new();
        let counter = Arc::new(AtomicU32::new(0));
        let count = |by: u32| {
            let counter = Arc::clone(&counter);
            move |_| {
                counter.fetch_add(by, Ordering::Relaxed);
            }
        };
        let stays = validity.on_end(count(1));
        drop(validity.on_end(count(10)));
        validity.end(RunningCalls::Finish);
        validity.end(RunningCalls::Cancel);
        let late = validity.on_end(count(100));
        assert_eq!((counter.load(Ordering::Relaxed), validity.ended()), (101, Some(RunningCalls::Finish)));
        drop((stays, late));
    }
}
