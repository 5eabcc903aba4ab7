//! The form of an operation: its name, the proof that it takes, its params, its reply, and what it does; the kernel that a
//! command with it needs, and the part of a list that it prints.

use std::sync::Arc;

use clap::Args;
use mgp_types::mgp::{Actor, AuditEvent, AuditPort as _, AuditTarget, EventType, Outcome, ServerId, TraceId};
use mgp_types::{Error, Principal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::proof::OperatorConnection;
use crate::sections::Sections;
use crate::servers::upstream::WaitingCall;
use crate::terminal::{Exit, Failure};

/// An operation of operators. Its fields are the params of the method.
pub trait Operation: Serialize + DeserializeOwned + Send + 'static {
    /// The kernel that a command with this operation needs, where its options change nothing about that.
    const NEED: KernelNeed = KernelNeed::State;
    /// The hint on a failure of a command with this operation.
    const HINT: Option<&'static str> = None;
    /// The result of the method.
    type Reply: Serialize + DeserializeOwned + Send;

    /// Does what is asked for. What changes something is recorded before.
    fn run(self, call: &OperatorCall) -> impl Future<Output = Result<Self::Reply, Error>> + Send;

    /// Returns the kernel that a command with this operation needs.
    fn need(&self) -> KernelNeed {
        Self::NEED
    }

    /// Returns the failure of a command with this operation, with a hint on what may be meant.
    fn refused(&self, failure: Failure) -> Failure {
        Self::HINT.into_iter().fold(failure, Failure::hint)
    }

    /// Returns how a command with this operation ends.
    ///
    /// # Errors
    /// Fails if the reply says that there was nothing to do.
    fn exit(&self, _reply: &Self::Reply) -> Result<Exit, Failure> {
        Ok(Exit::Done)
    }
}

/// The connections that need the operator passphrase for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofNeed {
    /// None: the operation only reads, ends what nobody uses, or brings the passphrase itself.
    None,
    /// Connections of other accounts than the kernel's: the operation only takes something away, or ends or copies what the
    /// kernel's own account could end or copy anyway.
    Others,
    /// All connections: the operation decides something, or may.
    All,
}

/// A call of an operation: the operator and the chain of requests, for the record, and the kernel.
#[derive(Clone)]
pub struct OperatorCall {
    pub(crate) kernel: Arc<Sections>,
    pub(crate) by: Principal,
    pub(crate) trace: Option<TraceId>,
    /// The connection, if it may have to give the operator passphrase.
    pub(crate) connection: Option<Arc<OperatorConnection>>,
    /// The way to tell the operator how far the call is.
    pub(crate) waiting: WaitingCall,
}

mgp_types::partial_debug!(OperatorCall, self => by: self.by);

impl OperatorCall {
    /// Records an act before it is done, where the section that does it records nothing itself.
    pub(super) async fn record(
        &self,
        what: &str,
        target: AuditTarget,
        details: &[(&'static str, &str)],
    ) -> Result<(), Error> {
        let audit = &self.kernel.audit;
        let trace = self.trace.unwrap_or_else(TraceId::random);
        let (now, kind) = (audit.clock.now(), EventType::read(what));
        let event = AuditEvent::new(now, trace, kind, Actor::of(&self.by), target, Outcome::Success);
        let event = details.iter().fold(event, |event, (name, value)| event.with_detail(*name, *value));
        audit.log.record(event).await
    }

    /// Records an act that is about no server, as [`record`](Self::record) does.
    pub(super) async fn record_act(&self, what: &str, details: &[(&'static str, &str)]) -> Result<(), Error> {
        self.record(what, AuditTarget::new(None, None), details).await
    }
}

/// The kernel that a command needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelNeed {
    /// The stored data: keys, rules, grants, pins and the audit log; and the configuration.
    State,
    /// A kernel that runs already.
    Running,
    /// A kernel with servers. Those that are named are connected, or have failed once, before the work begins.
    Servers(ServersToBegin),
}

impl KernelNeed {
    /// The need for a kernel with servers, none of which has to be connected.
    pub const ANY_SERVERS: Self = Self::Servers(ServersToBegin::None);

    /// Returns the need for a server, or for all if none is named.
    pub fn of_server(id: Option<&ServerId>) -> Self {
        Self::Servers(id.map_or(ServersToBegin::All, |id| ServersToBegin::Only(vec![id.clone()])))
    }
}

/// A choice of servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServersToBegin {
    /// No server.
    #[default]
    None,
    /// Every server.
    All,
    /// The servers of these ids.
    Only(Vec<ServerId>),
}

impl ServersToBegin {
    /// Returns whether the server with this id is one of them.
    pub fn has(&self, id: &ServerId) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(ids) => ids.contains(id),
        }
    }
}

/// The part of a list that is asked for. Lists are never sent whole: there is no bound on how long they grow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct PageRequest {
    /// Skip the first N rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: u64,
    /// List at most N rows
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
}

impl PageRequest {
    /// The largest number of items in a page.
    pub const MAX_ITEMS: u32 = 1_000;

    /// Returns the items of this page, and the offset of the next page if there is one.
    pub(crate) fn of<T>(&self, all: impl IntoIterator<Item = T>) -> (Vec<T>, Option<u64>) {
        let limit = self.limit.unwrap_or(Self::MAX_ITEMS).clamp(1, Self::MAX_ITEMS);
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let mut rest = all.into_iter().skip(offset);
        let items: Vec<T> = rest.by_ref().take(limit as usize).collect();
        let next = rest.next().map(|_| self.offset.saturating_add(u64::from(limit)));
        (items, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_in_pages_that_say_where_to_go_on() {
        let page = |offset, limit| PageRequest { offset, limit: Some(limit) }.of(0..5);
        assert_eq!(page(0, 2), (vec![0, 1], Some(2)));
        assert_eq!(page(2, 2), (vec![2, 3], Some(4)));
        assert_eq!(page(4, 2), (vec![4], None));
        assert_eq!(page(9, 2), (vec![], None));
        assert_eq!(page(0, 5), (vec![0, 1, 2, 3, 4], None));
        assert_eq!(PageRequest { offset: u64::MAX, limit: Some(0) }.of(0..5), (vec![], None));
    }
}
