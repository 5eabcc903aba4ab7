//! What happens to a transaction. The state of a transaction is what its events make of it.

use mgp_types::ext::{StepId, StructuredError, TransactionId};
use mgp_types::{Principal, PrincipalKind};
use serde::{Deserialize, Serialize};

use super::step::{StepCall, StepOutcome};

/// An event of a transaction, as it is logged.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TransactionEvent {
    Begun(Beginning),
    /// The step is about to make its call.
    StepBegun {
        step: StepId,
        call: StepCall,
    },
    StepEnded {
        step: StepId,
        outcome: StepOutcome,
    },
    Committed,
    RollbackBegun {
        cause: RollbackCause,
    },
    /// The step is about to be taken back.
    CompensationBegun {
        step: StepId,
    },
    /// The step was taken back, or, with an error, was not.
    CompensationEnded {
        step: StepId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<StructuredError>,
    },
    RolledBack,
}

/// The first event of a transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Beginning {
    pub(super) id: TransactionId,
    pub(super) owner: Owner,
    pub(super) timeout_seconds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<Box<str>>,
}

/// The reason of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RollbackCause {
    /// The owner asked for it, perhaps with a reason.
    Asked(Option<Box<str>>),
    /// The transaction stood still for too long.
    Expired,
}

impl RollbackCause {
    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::Asked(reason) => reason.as_deref(),
            Self::Expired => Some("timeout"),
        }
    }
}

/// The principal that began a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(PrincipalKind, String)", into = "(PrincipalKind, String)")]
pub(super) struct Owner(pub(super) Principal);

impl From<(PrincipalKind, String)> for Owner {
    fn from((kind, name): (PrincipalKind, String)) -> Self {
        Self(Principal::of(kind, name))
    }
}

impl From<Owner> for (PrincipalKind, String) {
    fn from(Owner(principal): Owner) -> Self {
        (principal.kind(), principal.as_str().to_owned())
    }
}
