//! The book of keys: who carries a call out, who waits for it, and what is told of it later.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::ext::{IdempotentCall, IdempotentResult};
use mgp_types::{BoxFuture, CallEnding, Error, RawJson, Request, Response, RpcService, call_once};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::call_table::{CallTable, KeptCall, KeptOutcome, KeptState, KeyLimits, NewCall, RunningCall};
use super::layer::KeyedCall;
use super::outcome::{CallOutcome, Verdict, restored, shared, stored};
use super::refusal;
use super::store::{CallStore, FirstCall, Search};
use crate::call::{Deadline, is_harmless};
use crate::detached::detached;
use crate::refusal::not_stored;
#[cfg(feature = "store")]
use crate::store::StoreError;
use crate::store::Written;
use crate::wall_clock::WallClock;

/// The keys of calls that hold, and the outcomes of the calls. Clones are one book.
///
/// The book remembers 10,000 keys of a caller and 100,000 in all, and 64 MiB of outcomes of a caller and 512 MiB in all.
#[derive(Debug, Clone)]
pub struct IdempotencyBook(Arc<BookShared>);

#[derive(Debug)]
struct BookShared {
    calls: Mutex<CallTable>,
    store: Option<Arc<dyn CallStore>>,
    clock: WallClock,
}

impl IdempotencyBook {
    /// Creates a book that is forgotten with the process.
    pub fn in_memory() -> Self {
        Self::with_parts(CallTable::new(KeyLimits::default()), None, WallClock::system())
    }

    /// Opens the book in `store`. Nobody knows how the calls ended that ran when the last process did.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    #[cfg(feature = "store")]
    pub fn open(store: crate::store::EffectStore) -> Result<Self, StoreError> {
        Self::restored(Arc::new(store), KeyLimits::default(), WallClock::system())
    }

    /// Returns whether the book outlives the process.
    pub fn is_stored(&self) -> bool {
        self.0.store.is_some()
    }

    #[cfg(feature = "store")]
    pub(super) fn restored(
        store: Arc<dyn CallStore>,
        limits: KeyLimits,
        clock: WallClock,
    ) -> Result<Self, StoreError> {
        let mut calls = CallTable::new(limits);
        store.load(clock.now())?.into_iter().for_each(|call| calls.restore(call));
        Ok(Self::with_parts(calls, Some(store), clock))
    }

    pub(super) fn with_parts(calls: CallTable, store: Option<Arc<dyn CallStore>>, clock: WallClock) -> Self {
        Self(Arc::new(BookShared { calls: Mutex::new(calls), store, clock }))
    }

    /// Carries the call out with `inner`, or answers as the first call with its key was answered.
    pub(super) fn call<S: RpcService>(
        self,
        call: KeyedCall,
        request: Request,
        inner: S,
    ) -> BoxFuture<'static, Result<Response, Error>> {
        Box::pin(async move {
            loop {
                if let Some(answer) = self.answer(&call, patience(&request)).await {
                    return answer;
                }
                if let Some((begun, written)) = self.admit(&call).map_err(refusal::no_room)? {
                    return begun.carry_out(written, call, request, inner).await;
                }
            }
        })
    }

    /// Returns whether the key of a call may be known, here or to another kernel.
    pub(super) fn may_know(&self, call: &KeyedCall) -> bool {
        self.known(call).is_some() || self.search(call).is_some()
    }

    /// Returns the answer to a call whose key is known, which waits no longer than `patience` for the first one; `None` if
    /// the key is new.
    pub(super) async fn answer(
        &self,
        call: &KeyedCall,
        patience: Duration,
    ) -> Option<Result<Response, Error>> {
        let KeptCall { first, state } = match self.known(call) {
            Some(known) => known,
            None => match self.settled_elsewhere(call, patience).await {
                Ok(known) => known?,
                Err(error) => return Some(Err(error)),
            },
        };
        match state {
            _ if first.arguments != call.arguments => Some(Err(refusal::other_arguments(first.begun_at))),
            KeptState::Running(running) => self.wait(call, first, running, patience).await,
            KeptState::Elsewhere => Some(Err(refusal::still_running())),
            KeptState::Done { outcome, .. } => Some(self.replay(call, first, outcome).await),
            KeptState::Unknown => Some(Err(refusal::unknown_outcome(first.begun_at))),
        }
    }

    fn known(&self, call: &KeyedCall) -> Option<KeptCall> {
        let now = self.0.clock.now();
        self.0.calls.lock().known(call, now)
    }

    fn search(&self, call: &KeyedCall) -> Option<Search> {
        self.0.store.as_ref()?.elsewhere(call.id, self.0.clock.now())
    }

    /// Returns what another kernel made of a key, once the call runs no more there or `patience` is over.
    async fn settled_elsewhere(
        &self,
        call: &KeyedCall,
        patience: Duration,
    ) -> Result<Option<KeptCall>, Error> {
        let until = Instant::now() + patience;
        while let Some(search) = self.search(call) {
            let known = search.await.map_err(|error| refusal::not_read(&error))?;
            let runs = known.as_ref().is_some_and(|known| {
                matches!(known.state, KeptState::Elsewhere) && known.first.arguments == call.arguments
            });
            if !runs || Instant::now() >= until {
                return Ok(known);
            }
            sleep(BETWEEN_SEARCHES).await;
        }
        Ok(None)
    }

    /// Begins a call whose key is new, and asks for the write of the key; `None` if the key is known.
    fn admit(&self, call: &KeyedCall) -> Result<Option<(EndingCall, Option<Written>)>, Duration> {
        let now = self.0.clock.now();
        let mut calls = self.0.calls.lock();
        if calls.known(call, now).is_some() {
            return Ok(None);
        }
        let NewCall { first, outcome, expired } = calls.begin(call, now)?;
        // The write is asked for under the lock, so that the store sees the calls in the order of the table.
        let written = self.0.store.as_ref().map(|store| store.begin(first, expired));
        Ok(Some((EndingCall { book: self.clone(), first, outcome: Some(outcome) }, written)))
    }

    /// Waits for the first call with this key; `None` if another kernel came first, so that the key has to be looked up again.
    async fn wait(
        &self,
        call: &KeyedCall,
        first: FirstCall,
        mut running: RunningCall,
        patience: Duration,
    ) -> Option<Result<Response, Error>> {
        let Ok(ended) = timeout(patience, running.wait_for(Option::is_some)).await else {
            return Some(Err(refusal::still_running()));
        };
        if let Some(outcome) = ended.ok().and_then(|outcome| outcome.clone()) {
            return Some(retold(call, first, outcome));
        }
        let is_lost = |known: &KeptCall| matches!(known.state, KeptState::Unknown);
        self.known(call).filter(is_lost).map(|_| Err(refusal::unknown_outcome(first.begun_at)))
    }

    /// Answers with the outcome that is kept.
    async fn replay(&self, call: &KeyedCall, first: FirstCall, kept: KeptOutcome) -> Result<Response, Error> {
        let raw = match (kept, &self.0.store) {
            (KeptOutcome::Here(raw), _) => Some(raw),
            (KeptOutcome::Stored, Some(store)) => {
                store.outcome(call.id).await.map_err(|error| refusal::not_read(&error))?
            }
            _ => None,
        };
        match raw.as_ref().and_then(restored) {
            Some(outcome) => retold(call, first, outcome),
            None => Err(refusal::result_not_kept(first.begun_at)),
        }
    }

    /// Asks for the write of how a call ended, and returns whether it was made. Where it cannot be made now, it is tried
    /// again until it can: others take the call for one that runs until then.
    fn store_end(
        &self,
        first: FirstCall,
        verdict: Verdict,
        outcome: Option<RawJson>,
    ) -> BoxFuture<'static, bool> {
        let Some(store) = self.0.store.clone() else { return Box::pin(ready(false)) };
        let written = store.end(first, verdict, outcome.clone());
        Box::pin(async move {
            let Err(error) = written.await else { return true };
            tracing::error!(%error, "how a call ended is kept in memory alone, until the store takes it");
            tokio::spawn(async move {
                loop {
                    sleep(BETWEEN_ATTEMPTS).await;
                    if store.end(first, verdict, outcome.clone()).await.is_ok() {
                        break;
                    }
                }
            });
            false
        })
    }
}

/// A call that runs. Where it is dropped, nobody knows how the call ended.
struct EndingCall {
    book: IdempotencyBook,
    first: FirstCall,
    outcome: Option<watch::Sender<Option<CallOutcome>>>,
}

impl EndingCall {
    /// Carries the call out once its key is `written`. The call goes on if the future is dropped, so that whoever makes it
    /// again learns how it ended.
    async fn carry_out<S: RpcService>(
        self,
        written: Option<Written>,
        call: KeyedCall,
        request: Request,
        inner: S,
    ) -> Result<Response, Error> {
        detached(async move {
            let written = match written {
                Some(written) => written.await,
                None => Ok(1),
            };
            match written {
                Ok(0) => return self.give_up().call(call, request, inner).await,
                Ok(_) => {}
                Err(error) => {
                    let error = not_stored("the idempotency key cannot be kept", &error);
                    self.release(&Err(error.clone()));
                    return Err(error);
                }
            }
            let first = self.first;
            let is_repeatable = request.context.tool.as_deref().is_some_and(is_harmless);
            let mut outcome = call_once(inner, request).await;
            self.end(&outcome, is_repeatable).await;
            if let Ok(response) = &mut outcome {
                tell(response, &call, first, false);
            }
            outcome
        })
        .await
    }

    /// Notes how the call ended, and tells those who wait once that is stored.
    async fn end(self, outcome: &Result<Response, Error>, is_repeatable: bool) {
        match Verdict::on(outcome, is_repeatable) {
            Verdict::Keep => self.keep(shared(outcome)).await,
            Verdict::Release => self.release(outcome),
            Verdict::Unknown => drop(self),
        }
    }

    async fn keep(mut self, outcome: CallOutcome) {
        let raw = stored(&outcome, MAX_OUTCOME_BYTES);
        let bytes = raw.as_ref().map_or(0, |raw| raw.as_bytes().len()) as u64;
        // The effect is there, so the caller learns the truth even if the outcome cannot be stored: the key holds,
        // whatever happens to this process.
        let is_stored = self.book.store_end(self.first, Verdict::Keep, raw.clone()).await;
        let kept = match raw {
            Some(_) if is_stored => KeptOutcome::Stored,
            Some(raw) => KeptOutcome::Here(raw),
            None => KeptOutcome::TooLarge,
        };
        self.book.0.calls.lock().end(self.first.id, KeptState::Done { outcome: kept, bytes });
        self.tell(outcome);
    }

    /// Gives the key free, since the call may be carried out again.
    fn release(mut self, outcome: &Result<Response, Error>) {
        let written = {
            let mut calls = self.book.0.calls.lock();
            calls.remove(&self.first.id);
            self.book.store_end(self.first, Verdict::Release, None)
        };
        in_background(written);
        self.tell(shared(outcome));
    }

    /// Leaves the call to another kernel that came first; those who wait look for it there.
    fn give_up(mut self) -> IdempotencyBook {
        self.book.0.calls.lock().remove(&self.first.id);
        self.outcome = None;
        self.book.clone()
    }

    fn tell(&mut self, outcome: CallOutcome) {
        if let Some(waiting) = self.outcome.take() {
            waiting.send_replace(Some(outcome));
        }
    }
}

impl Drop for EndingCall {
    fn drop(&mut self) {
        if self.outcome.is_some() {
            self.book.0.calls.lock().end(self.first.id, KeptState::Unknown);
            in_background(self.book.store_end(self.first, Verdict::Unknown, None));
        }
    }
}

/// Lets a write that was asked for be tried again, if there is a runtime for that.
fn in_background(written: BoxFuture<'static, bool>) {
    if let Ok(runtime) = Handle::try_current() {
        drop(runtime.spawn(written));
    }
}

/// Returns how long a call waits for the first one with its key: no longer than for the call itself.
pub(super) fn patience(request: &Request) -> Duration {
    Deadline::of(request).map_or(LONGEST_WAIT, |deadline| deadline.left().min(LONGEST_WAIT))
}

/// Returns the outcome of the first call as that of a later one.
fn retold(call: &KeyedCall, first: FirstCall, outcome: CallOutcome) -> Result<Response, Error> {
    let mut response = Response::new(outcome?);
    tell(&mut response, call, first, true);
    Ok(response)
}

/// Writes into a result what it has to do with the key. Questions of a server are no result of the call.
fn tell(response: &mut Response, call: &KeyedCall, first: FirstCall, was_replay: bool) {
    if response.result.ending() == CallEnding::Asking {
        return;
    }
    let key_terms = IdempotentCall { key: call.key_terms.key.clone(), ttl: first.ttl };
    let word = IdempotentResult::new(&key_terms, was_replay, first.begun_at);
    response.change_meta(|meta| word.write(meta));
}

/// The most bytes of an outcome that is kept.
const MAX_OUTCOME_BYTES: usize = 1 << 20;

/// The time for which a call without a deadline waits for the first one with its key.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// The time between two searches for how a call ended that another kernel carries out.
const BETWEEN_SEARCHES: Duration = Duration::from_millis(100);

/// The time between two attempts to store how a call ended.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(1);
