//! The lock-free admission counter of a server: its state and the number of its calls in one word.

use std::sync::atomic::{AtomicU64, Ordering};

use mgp_types::mgp::ServerState;
use mgp_types::{Method, WorkRole};
use tokio::sync::Notify;

/// The state of a server and the number of its calls, in one word: no call enters after the state has changed, and
/// entering and leaving need no lock.
#[derive(Debug)]
pub(crate) struct AdmissionCounter {
    word: AtomicU64,
    /// Notified when the last call leaves a server that admits no more calls. Only one task can wait.
    pub(crate) last_left: Notify,
}

/// The state of a server and the number of its calls at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InFlightCount(u64);

/// The kind of a call in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionKind {
    /// A call; a server that drains waits until it is done.
    Call,
    /// A subscription, which is done when the server is.
    Listener,
}

const ENDED: u64 = 1 << 63;
const STATE_SHIFT: u32 = 56;
const STATE: u64 = 0x7f << STATE_SHIFT;

impl AdmissionCounter {
    /// Creates a counter without calls.
    pub(crate) fn new(state: ServerState) -> Self {
        Self { word: AtomicU64::new(bits(state)), last_left: Notify::new() }
    }

    /// Admits one more call, or returns the state that refuses it. Calls that begin work are admitted only while the
    /// server is connected; calls that help work to finish are admitted until the end.
    pub(crate) fn enter(&self, kind: AdmissionKind, role: WorkRole) -> Result<(), InFlightCount> {
        let before = self.inside();
        if before.admits(role) { self.step_in(kind, role) } else { Err(before) }
    }

    fn step_in(&self, kind: AdmissionKind, role: WorkRole) -> Result<(), InFlightCount> {
        // An addition always succeeds, whereas many threads that compare and swap get in each other's way.
        let inside = InFlightCount(self.word.fetch_add(kind.unit(), Ordering::AcqRel));
        if inside.admits(role) {
            return Ok(());
        }
        // The state changed in this moment. The call was counted, so it leaves like any other: a drain may wait for it.
        self.leave(kind);
        Err(inside)
    }

    /// Ends an admitted call, and returns the calls that are left.
    pub(crate) fn leave(&self, kind: AdmissionKind) -> InFlightCount {
        let left = InFlightCount(self.word.fetch_sub(kind.unit(), Ordering::AcqRel) - kind.unit());
        if left.calls() == 0 && left.state() != ServerState::Connected {
            self.last_left.notify_one();
        }
        left
    }

    pub(crate) fn inside(&self) -> InFlightCount {
        InFlightCount(self.word.load(Ordering::Acquire))
    }

    /// Sets the state of the server. Only the owner of its lifecycle may do so.
    pub(crate) fn set_state(&self, state: ServerState) {
        self.set(STATE, bits(state));
    }

    /// Admits nothing from now on, and returns the calls that were in flight.
    pub(crate) fn end(&self) -> InFlightCount {
        self.set(0, ENDED)
    }

    fn set(&self, cleared: u64, set: u64) -> InFlightCount {
        let changed =
            self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| Some(word & !cleared | set));
        InFlightCount(changed.unwrap_or_else(|word| word))
    }
}

/// The mask of the count of calls. Both counts are bounded by the requests that one process can hold in flight, far
/// below where they would meet the next field.
const CALLS: u64 = (1 << LISTENERS_SHIFT) - 1;

const LISTENERS: u64 = (1 << STATE_SHIFT) - 1 - CALLS;

impl InFlightCount {
    pub(crate) fn state(self) -> ServerState {
        // No other number has ever been written.
        let number = usize::try_from((self.0 & STATE) >> STATE_SHIFT).unwrap_or_default();
        ServerState::ALL.get(number).copied().unwrap_or(ServerState::Error)
    }

    /// Returns the number of calls.
    pub(crate) const fn calls(self) -> u64 {
        self.0 & CALLS
    }

    /// Returns whether neither calls nor subscriptions are left.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 & (CALLS | LISTENERS) == 0
    }

    /// Returns whether the calls that are still in flight must end.
    pub(crate) const fn is_ended(self) -> bool {
        self.0 & ENDED != 0
    }

    fn admits(self, role: WorkRole) -> bool {
        !self.is_ended() && (role != WorkRole::Begins || self.state() == ServerState::Connected)
    }
}

const LISTENERS_SHIFT: u32 = 32;

impl AdmissionKind {
    /// Returns the kind of a call of this method.
    pub(crate) fn of(method: &Method) -> Self {
        if *method == Method::LISTEN { Self::Listener } else { Self::Call }
    }

    const fn unit(self) -> u64 {
        match self {
            Self::Call => 1,
            Self::Listener => 1 << LISTENERS_SHIFT,
        }
    }
}

const fn bits(state: ServerState) -> u64 {
    (state as u64) << STATE_SHIFT
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn the_word_holds_every_state_beside_both_counts() {
        for &state in ServerState::ALL {
            let counter = AdmissionCounter::new(ServerState::Connected);
            assert_eq!(counter.enter(AdmissionKind::Call, WorkRole::Begins), Ok(()));
            assert_eq!(counter.enter(AdmissionKind::Listener, WorkRole::Begins), Ok(()));
            assert_eq!(counter.enter(AdmissionKind::Call, WorkRole::Feeds), Ok(()));
            counter.set_state(state);
            assert_eq!((counter.inside().state(), counter.inside().calls()), (state, 2));
            assert_eq!(counter.leave(AdmissionKind::Call).calls(), 1);
            assert_eq!(counter.leave(AdmissionKind::Call).calls(), 0);
            assert!(!counter.inside().is_empty());
            assert!(counter.leave(AdmissionKind::Listener).is_empty());
        }
    }

    #[test]
    fn only_a_connected_server_admits_new_calls_and_an_ended_one_admits_none() {
        for &state in ServerState::ALL {
            let counter = AdmissionCounter::new(state);
            let entered = counter.enter(AdmissionKind::Call, WorkRole::Begins).is_ok();
            assert_eq!(entered, state == ServerState::Connected, "{state}");
            assert_eq!(counter.enter(AdmissionKind::Call, WorkRole::Feeds), Ok(()));
            assert!(!counter.end().is_ended());
            let ended = counter.inside();
            assert!(ended.is_ended());
            assert_eq!(counter.enter(AdmissionKind::Call, WorkRole::Begins), Err(ended));
            assert_eq!(counter.enter(AdmissionKind::Listener, WorkRole::Feeds), Err(ended));
            assert_eq!(counter.inside().state(), state);
        }
    }

    #[test]
    fn a_call_that_enters_while_the_state_changes_is_refused() {
        let counter = AdmissionCounter::new(ServerState::Connected);
        assert!(counter.inside().admits(WorkRole::Begins));
        counter.set_state(ServerState::Draining);
        assert!(counter.step_in(AdmissionKind::Call, WorkRole::Begins).is_err());
        assert!(counter.inside().is_empty());
        let woken = counter.last_left.notified().now_or_never();
        assert!(
            woken.is_some(),
            "the task that waits for the last call looks again, because this call was counted"
        );
    }
}
