//! What happens to a transaction, and the port to the log of that.

use std::fmt;

use mgp_types::canonical::Digest;
use mgp_types::ext::{StepId, StructuredError, TransactionId};
use mgp_types::mgp::Timestamp;
use mgp_types::{BoxFuture, Principal, PrincipalKind};
use serde::{Deserialize, Serialize};

use super::step::{StepCall, StepOutcome};
use crate::store::StoreError;

/// An event of the transaction that has the digest as its id.
pub(super) type LoggedEvent = (Digest, Timestamp, TransactionEvent);

/// A log of transactions. Writes are asked for when a method is called, in that order, whatever becomes of the futures.
pub(super) trait TransactionLog: fmt::Debug + Send + Sync {
    /// Returns all events, in order.
    #[cfg(feature = "store")]
    fn load(&self) -> Result<Vec<LoggedEvent>, StoreError>;

    /// Appends an event.
    fn append(&self, event: LoggedEvent) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Removes transactions.
    fn forget(&self, ids: Vec<Digest>) -> BoxFuture<'static, Result<(), StoreError>>;
}

#[cfg(feature = "store")]
mod sqlite {
    use mgp_types::canonical::Digest;
    use mgp_types::mgp::Timestamp;
    use mgp_types::{BoxFuture, RawJson};
    use rusqlite::{Row, params};

    use super::{LoggedEvent, TransactionLog};
    use crate::store::{EffectStore, StoreError};

    impl TransactionLog for EffectStore {
        fn load(&self) -> Result<Vec<LoggedEvent>, StoreError> {
            self.read_now(|connection| {
                let mut query =
                    connection.prepare("SELECT id, happened_at, event FROM transaction_log ORDER BY seq")?;
                query.query_and_then([], read)?.collect()
            })
        }

        fn append(&self, (id, at, event): LoggedEvent) -> BoxFuture<'static, Result<(), StoreError>> {
            let json = RawJson::from_value(&event).map(|raw| raw.to_string());
            self.write(move |connection| {
                let json = json
                    .as_ref()
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.to_string().into()))?;
                connection.prepare_cached(APPEND)?.execute(params![id.as_bytes(), at.as_millis(), json])?;
                Ok(())
            })
        }

        fn forget(&self, ids: Vec<Digest>) -> BoxFuture<'static, Result<(), StoreError>> {
            self.write(move |connection| {
                let mut delete = connection.prepare_cached("DELETE FROM transaction_log WHERE id = ?1")?;
                ids.iter().try_for_each(|id| delete.execute([id.as_bytes()]).map(drop))
            })
        }
    }

    fn read(row: &Row<'_>) -> Result<LoggedEvent, StoreError> {
        let at = Timestamp::from_millis(row.get(1)?).ok_or_else(|| damaged("a time that is none"))?;
        let event: String = row.get(2)?;
        let event = RawJson::parse(event).map_err(|_| damaged("an event that is no JSON"))?;
        let event = event.to().map_err(|_| damaged("an event that nobody knows"))?;
        Ok((Digest::from(row.get::<_, [u8; 32]>(0)?), at, event))
    }

    fn damaged(what: &str) -> StoreError {
        StoreError::Damaged(format!("a transaction has {what}").into())
    }

    const APPEND: &str = "INSERT INTO transaction_log (id, happened_at, event) VALUES (?1, ?2, ?3)";
}

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
