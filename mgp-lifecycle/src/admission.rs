//! The lock-free gate of a server: its state and the count of its calls in one word.

use std::sync::atomic::{AtomicU64, Ordering};

use mgp_types::mgp::ServerState;
use mgp_types::{Method, WorkRole};
use tokio::sync::Notify;

/// The state of a server and the number of calls inside, in one word, so that no call slips in behind one that shuts,
/// and that entering and leaving need no lock.
#[derive(Debug)]
pub(crate) struct AdmissionCounter {
    word: AtomicU64,
    /// Notified when the last call leaves a server that takes no more. Only one task can wait.
    pub(crate) stirred: Notify,
}

/// The calls inside, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InFlightCount(u64);

/// The kind of a call inside.
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
    /// Creates a turnstile without calls inside.
    pub(crate) fn new(state: ServerState) -> Self {
        Self { word: AtomicU64::new(bits(state)), stirred: Notify::new() }
    }

    /// Lets one more call in, or returns the state that keeps it out: what begins work enters only while the server is
    /// connected, and what helps work to finish until the end.
    pub(crate) fn enter(&self, seat: AdmissionKind, role: WorkRole) -> Result<(), InFlightCount> {
        let before = self.inside();
        if before.admits(role) { self.step_in(seat, role) } else { Err(before) }
    }

    fn step_in(&self, seat: AdmissionKind, role: WorkRole) -> Result<(), InFlightCount> {
        // An addition always succeeds, whereas many threads that compare and swap get in each other's way.
        let inside = InFlightCount(self.word.fetch_add(seat.unit(), Ordering::AcqRel));
        if inside.admits(role) {
            return Ok(());
        }
        // The turnstile shut in this moment. The call was counted, so that it leaves like others: a drain may wait for it.
        self.leave(seat);
        Err(inside)
    }

    /// Lets a call out that had entered, and returns the calls that are left.
    pub(crate) fn leave(&self, seat: AdmissionKind) -> InFlightCount {
        let left = InFlightCount(self.word.fetch_sub(seat.unit(), Ordering::AcqRel) - seat.unit());
        if left.calls() == 0 && left.state() != ServerState::Connected {
            self.stirred.notify_one();
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

    /// Shuts for good, and returns the calls that are still inside.
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

    /// Returns whether the calls that are still inside have to end.
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
            let turnstile = AdmissionCounter::new(ServerState::Connected);
            assert_eq!(turnstile.enter(AdmissionKind::Call, WorkRole::Begins), Ok(()));
            assert_eq!(turnstile.enter(AdmissionKind::Listener, WorkRole::Begins), Ok(()));
            assert_eq!(turnstile.enter(AdmissionKind::Call, WorkRole::Feeds), Ok(()));
            turnstile.set_state(state);
            assert_eq!((turnstile.inside().state(), turnstile.inside().calls()), (state, 2));
            assert_eq!(turnstile.leave(AdmissionKind::Call).calls(), 1);
            assert_eq!(turnstile.leave(AdmissionKind::Call).calls(), 0);
            assert!(!turnstile.inside().is_empty());
            assert!(turnstile.leave(AdmissionKind::Listener).is_empty());
        }
    }

    #[test]
    fn only_a_connected_server_lets_new_ones_in_and_an_ended_one_nobody() {
        for &state in ServerState::ALL {
            let turnstile = AdmissionCounter::new(state);
            let entered = turnstile.enter(AdmissionKind::Call, WorkRole::Begins).is_ok();
            assert_eq!(entered, state == ServerState::Connected, "{state}");
            assert_eq!(turnstile.enter(AdmissionKind::Call, WorkRole::Feeds), Ok(()));
            assert!(!turnstile.end().is_ended());
            let ended = turnstile.inside();
            assert!(ended.is_ended());
            assert_eq!(turnstile.enter(AdmissionKind::Call, WorkRole::Begins), Err(ended));
            assert_eq!(turnstile.enter(AdmissionKind::Listener, WorkRole::Feeds), Err(ended));
            assert_eq!(turnstile.inside().state(), state);
        }
    }

    #[test]
    fn whoever_is_about_to_enter_when_it_shuts_turns_around() {
        let turnstile = AdmissionCounter::new(ServerState::Connected);
        assert!(turnstile.inside().admits(WorkRole::Begins));
        turnstile.set_state(ServerState::Draining);
        assert!(turnstile.step_in(AdmissionKind::Call, WorkRole::Begins).is_err());
        assert!(turnstile.inside().is_empty());
        let woken = turnstile.stirred.notified().now_or_never();
        assert!(woken.is_some(), "whoever waits for the last call looks again, for this one was in the way");
    }
}
