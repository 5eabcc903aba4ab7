//! The confirmations that operators give in advance.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::{Actor, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, ResolvedTool, code};
use mgp_types::{Error, Principal, RawJson};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::ConfirmationBinding;
use crate::permission::check_operator;
use crate::{Clock, random};

/// The confirmations that operators gave in advance, each for one call. Clones share them.
///
/// They end by a clock that cannot go back, and with the process.
#[derive(Clone)]
pub struct ConfirmationTickets(Arc<ConfirmationTicketsInner>);

struct ConfirmationTicketsInner {
    open: Mutex<HashMap<ConfirmationBinding, Vec<ConfirmationTicket>, RandomState>>,
    given: watch::Sender<u64>,
    giving: tokio::sync::Mutex<()>,
    audit: Arc<dyn AuditPort>,
    clock: Clock,
}

struct ConfirmationTicket {
    id: TicketId,
    approver: Principal,
    end: Instant,
}

/// The id by which a ticket is withdrawn; it cannot be guessed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TicketId(Arc<str>);

impl ConfirmationTickets {
    /// Returns an empty set of tickets; those that are given are recorded in `audit`.
    pub fn new(audit: Arc<dyn AuditPort>, clock: Clock) -> Self {
        let given = watch::Sender::new(0);
        Self(Arc::new(ConfirmationTicketsInner {
            open: Mutex::default(),
            given,
            giving: tokio::sync::Mutex::default(),
            audit,
            clock,
        }))
    }

    /// Gives a ticket by which `operator` confirms one call of `tool` by `caller` with these arguments, made within
    /// `valid_for`.
    ///
    /// # Errors
    /// Fails and gives no ticket if the principal is not an operator (1000), too many tickets are open (3001), or the
    /// ticket cannot be recorded.
    ///
    /// # Cancel safety
    /// Dropping the future either gives the ticket or does not; it may have been recorded and not given.
    pub async fn give(
        &self,
        operator: &Principal,
        caller: &Principal,
        tool: &ResolvedTool,
        arguments: Option<&RawJson>,
        valid_for: Duration,
    ) -> Result<TicketId, Error> {
        check_operator(operator)?;
        let binding = ConfirmationBinding::new(caller, tool, arguments)?;
        let end = Instant::now() + valid_for.min(MAX_VALIDITY);
        let now = self.0.clock.now();
        let event = AuditEvent::new(
            now,
            random::trace_id(),
            EventType::PermissionGranted,
            Actor::of(operator),
            AuditTarget::new(Some(tool.server.clone()), Some(tool.name.clone())),
            Outcome::Success,
        )
        .with_detail("confirmation", &binding.to_string())
        .with_detail("agent_id", &caller.access_id())
        .with_detail("expires_at", &now.saturating_add(valid_for.min(MAX_VALIDITY)));
        let id = TicketId(random::name()?.into());
        // Only one ticket is given at a time, so that the room found is still there after the record is made.
        let _alone = self.0.giving.lock().await;
        self.0.make_room()?;
        self.0.audit.record(event).await?;
        let ticket = ConfirmationTicket { id: id.clone(), approver: operator.clone(), end };
        self.0.open.lock().entry(binding).or_default().push(ticket);
        self.0.given.send_modify(|given| *given += 1);
        Ok(id)
    }

    /// Withdraws a ticket in the name of `operator`, and returns whether it was still there.
    ///
    /// # Errors
    /// Fails if the principal is not an operator (1000).
    pub fn withdraw(&self, operator: &Principal, id: &TicketId) -> Result<bool, Error> {
        check_operator(operator)?;
        let mut found = false;
        self.0.open.lock().retain(|_, tickets| {
            let before = tickets.len();
            tickets.retain(|ticket| ticket.id != *id);
            found |= tickets.len() < before;
            !tickets.is_empty()
        });
        Ok(found)
    }

    /// Uses up a ticket for the call, and returns who gave it. A ticket serves only one of several simultaneous
    /// calls.
    pub(super) fn take(&self, binding: &ConfirmationBinding) -> Option<Principal> {
        let mut open = self.0.open.lock();
        let tickets = open.get_mut(binding)?;
        let now = Instant::now();
        tickets.retain(|ticket| now < ticket.end);
        // The ticket that ends first is used first.
        let first = tickets.iter().enumerate().min_by_key(|(_, ticket)| ticket.end).map(|(place, _)| place);
        let taken = first.map(|place| tickets.swap_remove(place).approver);
        if tickets.is_empty() {
            open.remove(binding);
        }
        taken
    }

    /// Returns a receiver that counts the given tickets, to wait for the next one.
    pub(super) fn given(&self) -> watch::Receiver<u64> {
        self.0.given.subscribe()
    }
}

impl ConfirmationTicketsInner {
    /// Removes tickets that have ended, and fails if there is still no room.
    fn make_room(&self) -> Result<(), Error> {
        let mut open = self.open.lock();
        let now = Instant::now();
        open.retain(|_, tickets| {
            tickets.retain(|ticket| now < ticket.end);
            !tickets.is_empty()
        });
        if open.values().map(Vec::len).sum::<usize>() < MAX_TICKETS {
            return Ok(());
        }
        Err(Error::new(code::RESOURCE_EXHAUSTED, "too many confirmations wait for their calls"))
    }
}

impl TicketId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for TicketId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for TicketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketId(***)")
    }
}

mgp_types::partial_debug!(ConfirmationTickets, self => calls: self.0.open.lock().len());

/// The largest number of open tickets.
pub(super) const MAX_TICKETS: usize = 4096;
/// The longest time for which a ticket is valid.
const MAX_VALIDITY: Duration = Duration::from_hours(24);
