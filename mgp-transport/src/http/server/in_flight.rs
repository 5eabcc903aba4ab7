//! The calls of one session that are in work: bounded in number, found and cancelled by their ids.

use std::sync::Arc;

use mgp_types::{Error, Id, Outbox, code};
use parking_lot::Mutex;

use super::session::HttpSession;
use super::shared_stream_port::SharedStreamPort;
use super::stream::ResponseStream;

/// The calls in work, as a slab: entering and leaving cost a few instructions, and only the rare search walks it.
pub(super) struct InFlightCalls {
    max: usize,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    entries: Vec<Option<(Id, Canceller)>>,
    free: Vec<usize>,
}

/// The way to tell a call to stop.
pub(super) enum Canceller {
    /// The reader of the call's stream polls it.
    Stream(Arc<ResponseStream>),
    /// The call runs in a task of its own, and writes to a stream that it shares.
    Task(Arc<SharedStreamPort>),
}

impl Canceller {
    fn cancel(self) {
        match self {
            Self::Stream(stream) => stream.cancel(),
            Self::Task(way) => way.stop(),
        }
    }

    fn outbox(&self) -> Outbox {
        match self {
            Self::Stream(stream) => stream.outbox(),
            Self::Task(way) => way.outbox(),
        }
    }
}

impl InFlightCalls {
    pub(super) fn new(max: usize) -> Self {
        Self { max, slots: Mutex::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        let slots = self.slots.lock();
        slots.entries.len() == slots.free.len()
    }

    /// Cancels the call with this id, if it is in work.
    pub(super) fn cancel(&self, id: &Id) {
        let mut slots = self.slots.lock();
        let entry = slots.entries.iter_mut().flatten().find(|(known, _)| known == id);
        // The entry stays, because it belongs to the call until the call is dropped; a second cancel does no harm.
        let canceller = entry.map(|(_, canceller)| match canceller {
            Canceller::Stream(stream) => Canceller::Stream(Arc::clone(stream)),
            Canceller::Task(way) => Canceller::Task(Arc::clone(way)),
        });
        drop(slots);
        if let Some(canceller) = canceller {
            canceller.cancel();
        }
    }

    /// Returns the outbox of the call with this id, if it is in work.
    pub(super) fn outbox(&self, id: &Id) -> Option<Outbox> {
        let slots = self.slots.lock();
        let mut entries = slots.entries.iter().flatten();
        entries.find(|(known, _)| known == id).map(|(_, canceller)| canceller.outbox())
    }

    pub(super) fn cancel_all(&self) {
        let ids: Vec<Id> = self.slots.lock().entries.iter().flatten().map(|(id, _)| id.clone()).collect();
        for id in &ids {
            self.cancel(id);
        }
    }
}

/// A call in work. Dropping it removes the entry.
pub(super) struct InFlightCall {
    session: Arc<HttpSession>,
    slot: usize,
}

impl InFlightCall {
    /// Enters a call.
    ///
    /// # Errors
    /// The id is in use, or too many calls are in work.
    pub(super) fn enter(session: Arc<HttpSession>, id: &Id, canceller: Canceller) -> Result<Self, Error> {
        let mut slots = session.calls.slots.lock();
        if slots.entries.len() - slots.free.len() >= session.calls.max {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many calls are in work"));
        }
        if slots.entries.iter().flatten().any(|(known, _)| known == id) {
            return Err(Error::invalid_request("the id is that of a call in work"));
        }
        let entry = Some((id.clone(), canceller));
        let slot = if let Some(slot) = slots.free.pop() {
            slots.entries[slot] = entry;
            slot
        } else {
            slots.entries.push(entry);
            slots.entries.len() - 1
        };
        drop(slots);
        Ok(Self { session, slot })
    }
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        let mut slots = self.session.calls.slots.lock();
        let entry = slots.entries[self.slot].take();
        slots.free.push(self.slot);
        drop(slots);
        if let Some((_, Canceller::Task(way))) = &entry {
            way.end();
        }
        drop(entry);
        self.session.touch();
    }
}
