//! The port to what of keys outlives the process.

use std::fmt;

use mgp_types::canonical::Digest;
use mgp_types::ext::IdempotencyTtl;
use mgp_types::mgp::Timestamp;
use mgp_types::{BoxFuture, RawJson};

use super::call_table::KeptCall;
use super::outcome::Verdict;
use crate::store::{StoreError, Written};

/// The first call with a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstCall {
    pub(super) id: Digest,
    pub(super) caller: Digest,
    pub(super) arguments: Digest,
    pub(super) begun_at: Timestamp,
    pub(super) ttl: IdempotencyTtl,
}

/// The search for what another kernel made of a key.
pub(super) type Search = BoxFuture<'static, Result<Option<KeptCall>, StoreError>>;

/// The store of the keys that outlive the process. Writes are asked for when a method is called, in that order, whatever
/// becomes of the futures.
pub(super) trait CallStore: fmt::Debug + Send + Sync {
    /// Returns all calls of this kernel, but for those that ended and expired before `now`, which are removed.
    #[cfg(feature = "store")]
    fn load(&self, now: Timestamp) -> Result<Vec<KeptCall>, StoreError>;

    /// Stores that a call begins, and removes expired ones of this kernel. Nothing is stored if another kernel has the key.
    fn begin(&self, call: FirstCall, expired: Vec<Digest>) -> Written;

    /// Stores how a call of this kernel ended, with its outcome if it is kept.
    fn end(&self, call: FirstCall, verdict: Verdict, outcome: Option<RawJson>) -> Written;

    /// Returns the outcome of a call.
    fn outcome(&self, id: Digest) -> BoxFuture<'static, Result<Option<RawJson>, StoreError>>;

    /// Returns what another kernel made of a key, if that holds at `now`. `None` if no other kernels share the store.
    fn elsewhere(&self, _: Digest, _: Timestamp) -> Option<Search> {
        None
    }
}

#[cfg(feature = "store")]
mod sqlite {
    use std::future::ready;
    use std::time::Duration;

    use mgp_store::{off_the_runtime, text, time};
    use mgp_types::canonical::Digest;
    use mgp_types::ext::IdempotencyTtl;
    use mgp_types::mgp::Timestamp;
    use mgp_types::{BoxFuture, RawJson};
    use rusqlite::{Connection, Row, params};
    use tokio::runtime::Handle;
    use tokio::time::sleep;

    use super::super::call_table::{KeptOutcome, KeptState};
    use super::{CallStore, FirstCall, KeptCall, Search, Verdict, Written};
    use crate::store::{EffectStore, StoreError};

    impl CallStore for EffectStore {
        fn load(&self, now: Timestamp) -> Result<Vec<KeptCall>, StoreError> {
            let calls = own_calls(self, now)?;
            let is_lost = |call: &KeptCall| matches!(call.state, KeptState::Unknown);
            if self.kernel().is_some() && calls.iter().any(is_lost) {
                // Other kernels would take the calls of the process before for ones that run, since this kernel lives.
                let (store, until) = (self.clone(), now.as_millis());
                let lose = move |store: &Self| {
                    store.write(move |store, change| change.execute(LOSE_ALL, params![store.kernel(), until]))
                };
                let mut written = lose(self);
                if let Ok(runtime) = Handle::try_current() {
                    drop(runtime.spawn(async move {
                        while let Err(error) = written.await {
                            tracing::warn!(%error, "other kernels take calls from before the start for ones that run");
                            sleep(Duration::from_secs(1)).await;
                            written = lose(&store);
                        }
                    }));
                }
            }
            Ok(calls)
        }

        fn begin(&self, call: FirstCall, expired: Vec<Digest>) -> Written {
            self.write(move |store, change| {
                for id in &expired {
                    change.execute(REMOVE, params![id.as_bytes(), store.kernel()])?;
                }
                if held_elsewhere(store, change.reading(), &call.id, call.begun_at)?.is_some() {
                    return Ok(0);
                }
                change.execute(
                    BEGIN,
                    params![
                        call.id.as_bytes(),
                        call.caller.as_bytes(),
                        call.arguments.as_bytes(),
                        call.begun_at.as_millis(),
                        call.ttl.seconds(),
                        store.kernel(),
                    ],
                )
            })
        }

        fn end(&self, call: FirstCall, verdict: Verdict, outcome: Option<RawJson>) -> Written {
            if verdict == Verdict::Unknown && self.kernel().is_none() {
                // The next process learns that from the call, which runs no more.
                return Box::pin(ready(Ok(0)));
            }
            self.write(move |store, change| {
                let begun_at = call.begun_at.as_millis();
                let text = outcome.as_ref().map(|raw| std::str::from_utf8(raw.as_bytes())).transpose();
                let text = text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                let (id, kernel) = (call.id.as_bytes(), store.kernel());
                match verdict {
                    Verdict::Keep => change.execute(FINISH, params![id, kernel, begun_at, text]),
                    Verdict::Release => change.execute(RELEASE, params![id, kernel, begun_at]),
                    Verdict::Unknown => change.execute(LOSE, params![id, kernel, begun_at]),
                }
            })
        }

        fn outcome(&self, id: Digest) -> BoxFuture<'static, Result<Option<RawJson>, StoreError>> {
            let store = self.clone();
            Box::pin(off_the_runtime(move || {
                let connection = store.database().connection();
                let mut query =
                    connection.prepare_cached("SELECT outcome FROM idempotent_calls WHERE id = ?1")?;
                let text: Option<String> = query.query_row([id.as_bytes()], |row| row.get(0))?;
                let damaged = |_| StoreError::Damaged("the outcome of a call is no JSON".to_owned());
                text.map(RawJson::parse).transpose().map_err(damaged)
            }))
        }

        fn elsewhere(&self, id: Digest, now: Timestamp) -> Option<Search> {
            self.kernel()?;
            let store = self.clone();
            let search = move || held_elsewhere(&store, &store.database().connection(), &id, now);
            Some(Box::pin(off_the_runtime(search)))
        }
    }

    fn own_calls(store: &EffectStore, now: Timestamp) -> Result<Vec<KeptCall>, StoreError> {
        let connection = store.database().connection();
        // What has expired counts nowhere, so each kernel removes it for itself.
        connection.execute(EXPIRE, params![now.as_millis(), store.kernel()])?;
        let mut query = connection.prepare(&format!("{SELECT} WHERE ?1 IS NULL OR kernel = ?1"))?;
        query.query_and_then([store.kernel()], |row| read(store, row))?.collect()
    }

    fn held_elsewhere(
        store: &EffectStore,
        connection: &Connection,
        id: &Digest,
        now: Timestamp,
    ) -> Result<Option<KeptCall>, StoreError> {
        let Some(own) = store.kernel() else { return Ok(None) };
        let mut query = connection.prepare_cached(&format!("{SELECT} WHERE id = ?1 AND kernel IS NOT ?2"))?;
        let mut found = query.query_and_then(params![id.as_bytes(), own], |row| read(store, row))?;
        Ok(found.next().transpose()?.filter(|call| call.holds(now)))
    }

    fn read(store: &EffectStore, row: &Row<'_>) -> Result<KeptCall, StoreError> {
        let digest = |column| Ok::<_, StoreError>(Digest::from(row.get::<_, [u8; 32]>(column)?));
        let state = match text(row, 5)? {
            "running" if store.is_of_another(row.get::<_, Option<String>>(7)?.as_deref()) => {
                KeptState::Elsewhere
            }
            // The process that ran it has ended.
            "running" => KeptState::Unknown,
            _ => match row.get::<_, Option<u32>>(6)? {
                Some(bytes) => KeptState::Done { outcome: KeptOutcome::Stored, bytes: bytes.into() },
                None => KeptState::Done { outcome: KeptOutcome::TooLarge, bytes: 0 },
            },
        };
        let [id, caller, arguments] = [digest(0)?, digest(1)?, digest(2)?];
        let (begun_at, ttl) = (time(row, 3)?, IdempotencyTtl::nearest(row.get(4)?));
        Ok(KeptCall { first: FirstCall { id, caller, arguments, begun_at, ttl }, state })
    }

    const SELECT: &str = "SELECT id, caller, arguments, begun_at, ttl_seconds, state, length(outcome), kernel
        FROM idempotent_calls";

    const BEGIN: &str = "INSERT OR REPLACE INTO idempotent_calls
        (id, caller, arguments, begun_at, ttl_seconds, state, kernel) VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6)";

    // A call that ended is told apart from a later one with its key by when it began.
    const FINISH: &str = "UPDATE idempotent_calls SET state = 'done', outcome = ?4
        WHERE id = ?1 AND (?2 IS NULL OR kernel = ?2) AND begun_at = ?3";

    const RELEASE: &str =
        "DELETE FROM idempotent_calls WHERE id = ?1 AND (?2 IS NULL OR kernel = ?2) AND begun_at = ?3";

    const LOSE: &str = "UPDATE idempotent_calls SET kernel = NULL
        WHERE id = ?1 AND kernel = ?2 AND begun_at = ?3 AND state = 'running'";

    const LOSE_ALL: &str = "UPDATE idempotent_calls SET kernel = NULL WHERE kernel = ?1 AND state = 'running' AND begun_at <= ?2";

    const REMOVE: &str = "DELETE FROM idempotent_calls WHERE id = ?1 AND (?2 IS NULL OR kernel = ?2)";

    const EXPIRE: &str = "DELETE FROM idempotent_calls WHERE begun_at + ttl_seconds * 1000 <= ?1
        AND (state = 'done' OR ?2 IS NULL OR kernel IS NULL)";
}
