//! How many calls run at once, and how many wait in line.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::{BoxFuture, Error, code};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_layer::Layer;

use super::sending::{Sending, SendingLayer};
use crate::refusal::unsent;

/// Lets so many calls go to one upstream at once; the others wait in line, but not many and not for long.
///
/// Sits around the attempt's timeout, for the time in line is not the server's. Reads and writes nothing. Calls are let
/// through in the order in which they began to wait. Beyond the line, and after too long in it, they are refused with
/// 3001, marked as [`NotExecuted`](super::NotExecuted). Notifications, questions about health, calls that end work or feed it, and
/// those that last as long as a subscription or a task are never held back and take no place. Allocates for calls that wait.
/// Dropping the future gives the place back. A layer, its clones, and the services behind them share the limit.
#[derive(Debug, Clone)]
pub struct ConcurrencyLayer(Arc<Limit>);

#[derive(Debug)]
struct Limit {
    places: Arc<Semaphore>,
    line: Arc<Semaphore>,
    patience: Duration,
    refusal: Cow<'static, str>,
}

/// The place of a call that runs, which is given back when it is dropped.
pub(super) type Place = OwnedSemaphorePermit;

impl ConcurrencyLayer {
    /// At most `max_calls` at once, with a line in which as many wait for at most ten seconds.
    pub fn new(max_calls: NonZeroUsize) -> Self {
        Self::with_line(max_calls, max_calls.get(), USUAL_PATIENCE)
    }

    /// At most `max_calls` at once, with a line in which `max_waiting` wait for at most `patience`.
    pub fn with_line(max_calls: NonZeroUsize, max_waiting: usize, patience: Duration) -> Self {
        let semaphore = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        let (places, line) = (semaphore(max_calls.get()), semaphore(max_waiting));
        let refusal = Cow::Borrowed("too many calls to this server at once");
        Self(Arc::new(Limit { places, line, patience, refusal }))
    }

    /// Sets the message of refusals: the limit that is reached, and the setting that raises it. Services that were made
    /// before keep theirs.
    #[must_use]
    pub fn refusing_with(self, refusal: impl Into<Cow<'static, str>>) -> Self {
        let Limit { places, line, patience, .. } = &*self.0;
        let (places, line) = (Arc::clone(places), Arc::clone(line));
        Self(Arc::new(Limit { places, line, patience: *patience, refusal: refusal.into() }))
    }

    /// Takes a place. There is none while somebody waits: places that are given back go to those in line first.
    pub(super) fn try_place(&self) -> Option<Place> {
        Arc::clone(&self.0.places).try_acquire_owned().ok()
    }

    /// Takes a place in line, at whose end is a place.
    ///
    /// # Errors
    /// 3001 if the line is full.
    pub(super) fn stand_in_line(&self) -> Result<BoxFuture<'static, Option<Place>>, Error> {
        let in_line = Arc::clone(&self.0.line).try_acquire_owned().map_err(|_| self.exhausted())?;
        let places = Arc::clone(&self.0.places);
        Ok(Box::pin(async move {
            let place = places.acquire_owned().await.ok();
            drop(in_line);
            place
        }))
    }

    /// Returns how long a call waits in line.
    pub(super) fn patience(&self) -> Duration {
        self.0.patience
    }

    /// 3001 for a call that found no place. There is room in a line that moves long before everybody is gone from it.
    pub(super) fn exhausted(&self) -> Error {
        unsent(code::RESOURCE_EXHAUSTED, self.0.refusal.clone(), self.0.patience.min(COME_AGAIN))
    }
}

impl From<NonZeroUsize> for ConcurrencyLayer {
    fn from(max_calls: NonZeroUsize) -> Self {
        Self::new(max_calls)
    }
}

impl<S> Layer<S> for ConcurrencyLayer {
    type Service = Sending<S>;

    fn layer(&self, inner: S) -> Sending<S> {
        SendingLayer::new().places(self.clone()).layer(inner)
    }
}

const USUAL_PATIENCE: Duration = Duration::from_secs(10);
const COME_AGAIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
