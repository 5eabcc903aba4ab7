//! The form of an operation: its name, the proof that it takes, its params, its reply, and what it does.

use std::sync::Arc;

use mgp_types::mgp::{Actor, AuditEvent, AuditPort as _, AuditTarget, EventType, Outcome, TraceId};
use mgp_types::{Error, Principal};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::command::KernelNeed;
use crate::proof::OperatorConnection;
use crate::sections::Sections;
use crate::terminal::{Exit, Failure};

/// An operation of operators. Its fields are the params of the method.
pub(crate) trait Operation: Serialize + DeserializeOwned + Send + 'static {
    /// The name of the method.
    const NAME: &'static str;
    /// The proof that the operation takes: that of one that decides something, unless the operation says otherwise.
    const PROOF: ProofNeed = ProofNeed::All;
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
        match Self::HINT {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Returns how a command with this operation ends.
    ///
    /// # Errors
    /// Fails if the reply says that there was nothing to do.
    fn exit(&self, _reply: &Self::Reply) -> Result<Exit, Failure> {
        Ok(Exit::Done)
    }
}

/// The connections that have to prove that a person is there, before they may do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProofNeed {
    /// No connection has to prove anything: the operation only reads, ends what nobody uses, or brings the proof itself.
    None,
    /// Connections of other accounts than the kernel's have to: the operation only takes something away, or ends what the kernel's own
    /// account could end anyway.
    Others,
    /// All connections have to: the operation decides something, or may.
    All,
}

/// A call of an operation: the operator and the chain of requests, for the record, and the kernel.
pub(crate) struct OperatorCall {
    pub(crate) kernel: Arc<Sections>,
    pub(crate) by: Principal,
    pub(crate) trace: Option<TraceId>,
    /// The connection, if it may have to prove that a person is there.
    pub(crate) connection: Option<Arc<OperatorConnection>>,
}

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
