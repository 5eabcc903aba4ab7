//! How many calls run at once, and how many wait in line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use mgp_types::{BoxFuture, Error, Principal, Request, code};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::unsent;

/// Lets so many calls go to one upstream at once; the others wait in line, but not many and not for long.
///
/// Sits around the attempt's timeout, for the time in line is not the server's. Reads and writes nothing. Calls are let
/// through in the order in which they began to wait. Beyond the line, and after too long in it, they are refused with
/// 3001, marked as [not executed](mgp_types::Error::is_not_executed). Notifications, questions about health, calls that end work or
/// feed it, and those that last as long as a subscription or a task are never held back and take no place. Allocates
/// for calls that wait. Dropping the future gives the place back. A layer, its clones, and the services behind them
/// share the limit.
///
/// A limit may lie [within](Self::within) another one: a call then takes a place of both, and waits in the line of its
/// own limit for both. So calls that wait take no places that others could use. A limit [per agent](Self::per_agent)
/// reads `context.principal`, and allocates for agents that it has not seen lately.
#[derive(Debug, Clone)]
#[must_use]
pub struct ConcurrencyLimit(Arc<Limit>);

#[derive(Debug, Clone)]
struct Limit {
    max_calls: NonZeroUsize,
    max_waiting: usize,
    places: Arc<Semaphore>,
    line: Arc<Semaphore>,
    patience: Duration,
    refusal: Cow<'static, str>,
    within: Option<ConcurrencyLimit>,
    of_agents: Option<Arc<AgentLimits>>,
}

/// The limits of the agents that were seen lately; callers without a principal share one.
type AgentLimits = ArcSwap<HashMap<Option<Principal>, ConcurrencyLimit>>;

/// The places of a call that runs, which are given back when they are dropped.
pub(super) type Place = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

impl ConcurrencyLimit {
    /// Allows `max_calls` at once at most, with a line in which as many wait for at most ten seconds.
    pub fn new(max_calls: NonZeroUsize) -> Self {
        Self::with_line(max_calls, max_calls.get(), USUAL_PATIENCE)
    }

    /// Allows `max_calls` at once at most, with a line in which `max_waiting` wait for at most `patience`.
    pub fn with_line(max_calls: NonZeroUsize, max_waiting: usize, patience: Duration) -> Self {
        let semaphore = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        let (places, line) = (semaphore(max_calls.get()), semaphore(max_waiting));
        let refusal = Cow::Borrowed("too many calls to this server at once");
        let (within, of_agents) = (None, None);
        Self(Arc::new(Limit { max_calls, max_waiting, places, line, patience, refusal, within, of_agents }))
    }

    mgp_types::setters! { self =>
        /// Sets the message of refusals: the limit that is reached, and the setting that raises it. Services that were
        /// made before keep theirs.
        pub fn refusing_with(refusal: impl Into<Cow<'static, str>>) =>
            Arc::make_mut(&mut self.0).refusal = refusal.into();

        /// Has each call take a place of `outer`, too; the line of `outer` only counts those that wait, and its time in
        /// line is not used. Services that were made before are not held to it.
        pub fn within(outer: Self) => Arc::make_mut(&mut self.0).within = Some(outer);

        /// Gives each agent places and a line of its own, so that one takes nobody else's.
        pub fn per_agent() => Arc::make_mut(&mut self.0).of_agents = Some(Arc::default());
    }

    /// Returns how many calls have a place and how many wait for one, of all agents together where each has its own.
    pub fn usage(&self) -> (usize, usize) {
        let Limit { max_calls, max_waiting, places, line, of_agents, .. } = &*self.0;
        let taken = |of: &Semaphore, most: usize| {
            most.min(Semaphore::MAX_PERMITS).saturating_sub(of.available_permits())
        };
        match of_agents {
            None => (taken(places, max_calls.get()), taken(line, *max_waiting)),
            Some(agents) => {
                let each = agents.load();
                each.values().map(Self::usage).fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1))
            }
        }
    }

    /// Returns the limit that holds for the sender of `request`.
    pub(super) fn of(&self, request: &Request) -> Self {
        let Limit { max_calls, max_waiting, patience, refusal, of_agents, .. } = &*self.0;
        let (Some(of_agents), agent) = (of_agents, &request.context.principal) else { return self.clone() };
        if let Some(limit) = of_agents.load().get(agent) {
            return limit.clone();
        }
        let new = Self::with_line(*max_calls, *max_waiting, *patience).refusing_with(refusal.clone());
        of_agents.rcu(|limits| {
            let mut limits = HashMap::clone(limits);
            if limits.len() >= SWEPT_FROM {
                // A limit of which nobody has a place is the same as a new one.
                limits.retain(|_, limit| limit.0.places.available_permits() < max_calls.get());
            }
            limits.entry(agent.clone()).or_insert_with(|| new.clone());
            limits
        });
        of_agents.load().get(agent).cloned().unwrap_or(new)
    }

    /// Takes a place. There is none while somebody waits: places that are given back go to those in line first.
    pub(super) fn try_place(&self) -> Option<Place> {
        let own = Arc::clone(&self.0.places).try_acquire_owned().ok()?;
        let outer = self.0.within.as_ref().map(|outer| Arc::clone(&outer.0.places).try_acquire_owned());
        Some((own, outer.transpose().ok()?))
    }

    /// Takes a place in line, at whose end is a place.
    ///
    /// # Errors
    /// 3001 if the line is full.
    pub(super) fn stand_in_line(&self) -> Result<BoxFuture<'static, Option<Place>>, Error> {
        let in_line = Arc::clone(&self.0.line).try_acquire_owned().map_err(|_| self.exhausted())?;
        let places = Arc::clone(&self.0.places);
        let outer = self.0.within.as_ref().map(|outer| Arc::clone(&outer.0.places));
        let counted = self.0.within.as_ref();
        let counted = counted.and_then(|outer| Arc::clone(&outer.0.line).try_acquire_owned().ok());
        Ok(Box::pin(async move {
            let own = places.acquire_owned().await.ok()?;
            let outer = match outer {
                Some(outer) => Some(outer.acquire_owned().await.ok()?),
                None => None,
            };
            drop((in_line, counted));
            Some((own, outer))
        }))
    }

    /// Returns how long a call waits in line.
    pub(super) fn patience(&self) -> Duration {
        self.0.patience
    }

    /// 3001 for a call that found no place, in the words of the limit that is reached. There is room in a line that
    /// moves long before everybody is gone from it.
    pub(super) fn exhausted(&self) -> Error {
        let reached =
            self.0.within.as_ref().filter(|outer| outer.0.places.available_permits() == 0).unwrap_or(self);
        unsent(code::RESOURCE_EXHAUSTED, reached.0.refusal.clone(), self.0.patience.min(COME_AGAIN))
    }
}

const USUAL_PATIENCE: Duration = Duration::from_secs(10);
/// The number of agents from which on those that call nothing are forgotten.
const SWEPT_FROM: usize = 1024;
const COME_AGAIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
