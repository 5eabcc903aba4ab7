//! Operators: the gate that lets them in, and the proof that a person is there. What they can do is in [`admin`](crate::admin).

mod gate;
pub(crate) mod proof;

pub(crate) use self::gate::{OperatorGate, is_for_agents};

/// The operations that the demo shows.
#[cfg(unix)]
pub(crate) use crate::admin::{audit, questions as permissions, tools};

/// The names of the operations that the demo shows.
#[cfg(unix)]
pub(crate) mod method {
    use crate::admin::audit::{QueryEvents, VerifyLog};
    use crate::admin::operation::Operation;
    use crate::admin::questions::{ApproveQuestion, DenyQuestion, ListPending};
    use crate::admin::tools::ListTools;

    pub(crate) const AUDIT_QUERY: &str = QueryEvents::NAME;
    pub(crate) const AUDIT_VERIFY: &str = VerifyLog::NAME;
    pub(crate) const PERMISSIONS_APPROVE: &str = ApproveQuestion::NAME;
    pub(crate) const PERMISSIONS_DENY: &str = DenyQuestion::NAME;
    pub(crate) const PERMISSIONS_PENDING: &str = ListPending::NAME;
    pub(crate) const TOOLS: &str = ListTools::NAME;
}
