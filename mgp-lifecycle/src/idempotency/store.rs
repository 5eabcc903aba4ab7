//! The port to what of keys outlives the process.

use std::fmt;

use mgp_types::canonical::Digest;
use mgp_types::ext::IdempotencyTtl;
use mgp_types::mgp::Timestamp;
use mgp_types::{BoxFuture, RawJson};

#[cfg(feature = "store")]
use super::call_table::KeptState;
use crate::store::StoreError;

/// The first call with a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstCall {
    pub(super) id: Digest,
    pub(super) caller: Digest,
    pub(super) arguments: Digest,
    pub(super) begun_at: Timestamp,
    pub(super) ttl: IdempotencyTtl,
}

/// The store of the keys that outlive the process. Writes are asked for when a method is called, in that order, whatever
/// becomes of the futures.
pub(super) trait CallStore: fmt::Debug + Send + Sync {
    /// Returns all calls, but for those that expired before `now`, which are removed.
    #[cfg(feature = "store")]
    fn load(&self, now: Timestamp) -> Result<Vec<(FirstCall, KeptState)>, StoreError>;

    /// Stores that a call begins, and removes expired ones.
    fn begin(&self, call: FirstCall, expired: Vec<Digest>) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Stores the outcome of a call.
    fn finish(&self, id: Digest, outcome: Option<RawJson>) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Removes a call that may be carried out again.
    fn remove(&self, id: Digest) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Returns the outcome of a call.
    fn outcome(&self, id: Digest) -> BoxFuture<'static, Result<Option<RawJson>, StoreError>>;
}

#[cfg(feature = "store")]
mod sqlite {
    use mgp_types::canonical::Digest;
    use mgp_types::ext::IdempotencyTtl;
    use mgp_types::mgp::Timestamp;
    use mgp_types::{BoxFuture, RawJson};
    use rusqlite::{Connection, Row, params};

    use super::super::call_table::KeptOutcome;
    use super::{CallStore, FirstCall, KeptState};
    use crate::store::{EffectStore, StoreError};

    impl CallStore for EffectStore {
        fn load(&self, now: Timestamp) -> Result<Vec<(FirstCall, KeptState)>, StoreError> {
            self.read_now(|connection| {
                connection.execute(
                    "DELETE FROM idempotent_calls WHERE begun_at + ttl_seconds * 1000 <= ?1",
                    [now.as_millis()],
                )?;
                let mut query = connection.prepare(
                    "SELECT id, caller, arguments, begun_at, ttl_seconds, state, length(outcome)
                     FROM idempotent_calls",
                )?;
                query.query_and_then([], read)?.collect()
            })
        }

        fn begin(&self, call: FirstCall, expired: Vec<Digest>) -> BoxFuture<'static, Result<(), StoreError>> {
            self.write(move |connection| {
                expired.iter().try_for_each(|id| delete(connection, id))?;
                connection.prepare_cached(BEGIN)?.execute(params![
                    call.id.as_bytes(),
                    call.caller.as_bytes(),
                    call.arguments.as_bytes(),
                    call.begun_at.as_millis(),
                    call.ttl.seconds(),
                ])?;
                Ok(())
            })
        }

        fn finish(&self, id: Digest, outcome: Option<RawJson>) -> BoxFuture<'static, Result<(), StoreError>> {
            self.write(move |connection| {
                let text = outcome.as_ref().map(|raw| std::str::from_utf8(raw.as_bytes())).transpose();
                let text = text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                connection.prepare_cached(FINISH)?.execute(params![id.as_bytes(), text])?;
                Ok(())
            })
        }

        fn remove(&self, id: Digest) -> BoxFuture<'static, Result<(), StoreError>> {
            self.write(move |connection| delete(connection, &id))
        }

        fn outcome(&self, id: Digest) -> BoxFuture<'static, Result<Option<RawJson>, StoreError>> {
            self.read(move |connection| {
                let text: Option<String> = connection
                    .prepare_cached("SELECT outcome FROM idempotent_calls WHERE id = ?1")?
                    .query_row([id.as_bytes()], |row| row.get(0))?;
                text.map(RawJson::parse).transpose().map_err(|_| damaged("an outcome that is no JSON"))
            })
        }
    }

    fn read(row: &Row<'_>) -> Result<(FirstCall, KeptState), StoreError> {
        let digest = |column| Ok::<_, StoreError>(Digest::from(row.get::<_, [u8; 32]>(column)?));
        let begun_at = Timestamp::from_millis(row.get(3)?).ok_or_else(|| damaged("a time that is none"))?;
        let state = match row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)? {
            // The process that ran it has ended.
            "running" => KeptState::Unknown,
            _ => match row.get::<_, Option<u32>>(6)? {
                Some(bytes) => KeptState::Done { outcome: KeptOutcome::Stored, bytes: bytes.into() },
                None => KeptState::Done { outcome: KeptOutcome::TooLarge, bytes: 0 },
            },
        };
        let [id, caller, arguments] = [digest(0)?, digest(1)?, digest(2)?];
        let ttl = IdempotencyTtl::nearest(row.get(4)?);
        Ok((FirstCall { id, caller, arguments, begun_at, ttl }, state))
    }

    fn delete(connection: &Connection, id: &Digest) -> rusqlite::Result<()> {
        let mut delete = connection.prepare_cached("DELETE FROM idempotent_calls WHERE id = ?1")?;
        delete.execute([id.as_bytes()]).map(drop)
    }

    fn damaged(what: &str) -> StoreError {
        StoreError::Damaged(format!("a call has {what}").into())
    }

    const BEGIN: &str = "INSERT OR REPLACE INTO idempotent_calls
        (id, caller, arguments, begun_at, ttl_seconds, state) VALUES (?1, ?2, ?3, ?4, ?5, 'running')";

    const FINISH: &str = "UPDATE idempotent_calls SET state = 'done', outcome = ?2 WHERE id = ?1";
}
