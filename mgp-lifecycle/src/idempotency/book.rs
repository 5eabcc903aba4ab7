//! The book of keys: who carries a call out, who waits for it, and what is told of it later.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::canonical::Digest;
use mgp_types::ext::{IdempotentCall, IdempotentResult};
use mgp_types::{BoxFuture, CallEnding, Error, Request, Response, RpcService, call_once};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

use super::call_table::{
    CallTable, KeptCall, KeptOutcome, KeptState, KeyLimits, NewCall, NoRoom, RunningCall,
};
use super::layer::KeyedCall;
use super::outcome::{CallOutcome, Verdict, restored, stored, told};
use super::refusal;
use super::store::{CallStore, FirstCall};
use crate::call::{Deadline, is_harmless};
use crate::in_any_case::in_any_case;
use crate::refusal::not_stored;
use crate::store::StoreError;
use crate::wall_clock::WallClock;

/// The keys of calls that hold, and the outcomes of the calls. Clones are one book.
///
/// The book remembers 10,000 keys of a caller and 100,000 in all, and 64 MiB of outcomes of a caller and 512 MiB in all.
#[derive(Debug, Clone)]
pub struct IdempotencyBook(Arc<BookShared>);

#[derive(Debug)]
struct BookShared {
    calls: Mutex<CallTable>,
    store: Option<Box<dyn CallStore>>,
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
        Self::restored(Box::new(store), KeyLimits::default(), WallClock::system())
    }

    /// Returns whether the book outlives the process.
    pub fn is_stored(&self) -> bool {
        self.0.store.is_some()
    }

    #[cfg(feature = "store")]
    pub(super) fn restored(
        store: Box<dyn CallStore>,
        limits: KeyLimits,
        clock: WallClock,
    ) -> Result<Self, StoreError> {
        let mut calls = CallTable::new(limits);
        store.load(clock.now())?.into_iter().for_each(|(call, state)| calls.restore(call, state));
        Ok(Self::with_parts(calls, Some(store), clock))
    }

    pub(super) fn with_parts(calls: CallTable, store: Option<Box<dyn CallStore>>, clock: WallClock) -> Self {
        Self(Arc::new(BookShared { calls: Mutex::new(calls), store, clock }))
    }

    /// Carries the call out with `inner`, or answers as the first call with its key was answered.
    pub(super) async fn call<S: RpcService>(
        self,
        call: KeyedCall,
        request: Request,
        inner: S,
    ) -> Result<Response, Error> {
        match self.admit(&call).map_err(|NoRoom(wait)| refusal::no_room(wait))? {
            Ok(begun) => begun.carry_out(call, request, inner).await,
            Err(known) => self.again(call, known, patience(&request)).await,
        }
    }

    /// Returns what is known of a call; `None` if its key is new.
    pub(super) fn known(&self, call: &KeyedCall) -> Option<KeptCall> {
        let now = self.0.clock.now();
        self.0.calls.lock().known(call, now)
    }

    /// Answers a call whose key is known, and waits no longer than `patience` for the first one.
    pub(super) async fn again(
        self,
        call: KeyedCall,
        KeptCall { first, state }: KeptCall,
        patience: Duration,
    ) -> Result<Response, Error> {
        match state {
            _ if first.arguments != call.arguments => Err(refusal::other_arguments(first.begun_at)),
            KeptState::Running(running) => wait(&call, first, running, patience).await,
            KeptState::Done { outcome, .. } => self.replay(&call, first, outcome).await,
            KeptState::Unknown => Err(refusal::unknown_outcome(first.begun_at)),
        }
    }

    /// Begins a call whose key is new; another is returned as what is known of it.
    fn admit(&self, call: &KeyedCall) -> Result<Result<FirstRun, KeptCall>, NoRoom> {
        let now = self.0.clock.now();
        let mut calls = self.0.calls.lock();
        if let Some(known) = calls.known(call, now) {
            return Ok(Err(known));
        }
        let NewCall { first, outcome, expired } = calls.begin(call, now)?;
        // The write is asked for under the lock, so that the store sees the calls in the order of the table.
        let written = self.0.store.as_ref().map(|store| store.begin(first, expired));
        let ending = EndingCall { book: self.clone(), id: call.id, outcome: Some(outcome) };
        Ok(Ok(FirstRun { first, ending, written }))
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
}

/// A call that was noted and is to be carried out.
struct FirstRun {
    first: FirstCall,
    ending: EndingCall,
    /// The write of the key; nothing is done before it.
    written: Option<BoxFuture<'static, Result<(), StoreError>>>,
}

impl FirstRun {
    /// Carries the call out. It goes on if the future is dropped, so that whoever makes it again learns how it ended.
    async fn carry_out<S: RpcService>(
        self,
        call: KeyedCall,
        request: Request,
        inner: S,
    ) -> Result<Response, Error> {
        let Self { first, ending, written } = self;
        in_any_case(async move {
            if let Some(written) = written
                && let Err(error) = written.await
            {
                let error = not_stored("the idempotency key cannot be kept", &error);
                ending.release(&Err(error.clone()));
                return Err(error);
            }
            let is_repeatable = request.context.tool.as_deref().is_some_and(is_harmless);
            let mut outcome = call_once(inner, request).await;
            ending.end(&outcome, is_repeatable).await;
            if let Ok(response) = &mut outcome {
                tell(response, &call, first, false);
            }
            outcome
        })
        .await
    }
}

/// A call that runs. Where it is dropped, nobody knows how the call ended.
struct EndingCall {
    book: IdempotencyBook,
    id: Digest,
    outcome: Option<watch::Sender<Option<CallOutcome>>>,
}

impl EndingCall {
    /// Notes how the call ended, and tells those who wait once that is stored.
    async fn end(self, outcome: &Result<Response, Error>, is_repeatable: bool) {
        match Verdict::on(outcome, is_repeatable) {
            Verdict::Keep => self.keep(told(outcome)).await,
            Verdict::Release => self.release(outcome),
            Verdict::Unknown => drop(self),
        }
    }

    async fn keep(mut self, outcome: CallOutcome) {
        let raw = stored(&outcome, MAX_OUTCOME_BYTES);
        let bytes = raw.as_ref().map_or(0, |raw| raw.as_bytes().len());
        let shared = &self.book.0;
        let mut kept = raw.clone().map_or(KeptOutcome::TooLarge, KeptOutcome::Here);
        if let Some(store) = &shared.store {
            match store.finish(self.id, raw).await {
                Ok(()) if bytes > 0 => kept = KeptOutcome::Stored,
                Ok(()) => {}
                // The effect is there, so that its caller is told the truth. The key stays on the disk as that of a call
                // that runs: it holds, whatever happens to this process.
                Err(error) => tracing::error!(%error, "the outcome of a call is kept in memory alone"),
            }
        }
        shared.calls.lock().end(self.id, KeptState::Done { outcome: kept, bytes: bytes as u64 });
        self.tell(outcome);
    }

    /// Gives the key free, since the call may be carried out again.
    fn release(mut self, outcome: &Result<Response, Error>) {
        {
            let mut calls = self.book.0.calls.lock();
            calls.remove(&self.id);
            if let Some(store) = &self.book.0.store {
                drop(store.remove(self.id));
            }
        }
        self.tell(told(outcome));
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
            self.book.0.calls.lock().end(self.id, KeptState::Unknown);
        }
    }
}

/// Returns how long a call waits for the first one with its key: no longer than for the call itself.
pub(super) fn patience(request: &Request) -> Duration {
    Deadline::of(request).map_or(LONGEST_WAIT, |deadline| deadline.left().min(LONGEST_WAIT))
}

/// Waits for the first call with this key.
async fn wait(
    call: &KeyedCall,
    first: FirstCall,
    mut running: RunningCall,
    patience: Duration,
) -> Result<Response, Error> {
    let Ok(ended) = timeout(patience, running.wait_for(Option::is_some)).await else {
        return Err(refusal::still_running());
    };
    match ended.ok().and_then(|outcome| outcome.clone()) {
        Some(outcome) => retold(call, first, outcome),
        None => Err(refusal::unknown_outcome(first.begun_at)),
    }
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
