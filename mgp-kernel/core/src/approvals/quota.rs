//! The number of calls that may wait for their clients.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::{Error, Principal, code};
use parking_lot::Mutex;

mgp_types::with_defaults! {
    /// The number of calls that may wait for their clients, and the time for which they may.
    #[derive(Debug, Clone)]
    pub(crate) struct ParkedCallLimits {
        /// The largest number of calls of all principals that have asked and are not over.
        pub(crate) max_parked: usize = 256,
        /// The largest number of such calls of one principal.
        pub(crate) max_parked_per_principal: usize = 16,
        /// The largest number of one call's questions that wait for their answers.
        pub(crate) max_questions: usize = 16,
        /// The time that a client may take for its answers.
        pub(crate) ttl: Duration = Duration::from_mins(10),
    }
}

/// A quota of calls that have asked their clients and are not over.
pub(super) struct Quota {
    pub(super) limits: ParkedCallLimits,
    taken: Mutex<QuotaUsage>,
}

#[derive(Default)]
struct QuotaUsage {
    is_closed: bool,
    by: HashMap<Option<Principal>, usize>,
}

/// The place of one call in the quota, given back when it is dropped.
pub(super) struct QuotaSlot {
    quota: Arc<Quota>,
    principal: Option<Principal>,
}

impl Quota {
    pub(super) fn new(limits: ParkedCallLimits) -> Self {
        Self { limits, taken: Mutex::default() }
    }

    /// Closes the quota, so that there are no places from now on: nobody will be there to hear the answers.
    pub(super) fn close(&self) {
        self.taken.lock().is_closed = true;
    }

    /// Checks that there are places at all.
    ///
    /// # Errors
    /// 2001 if there are no places any more.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.taken.lock().check()
    }

    /// Takes a place for a call of `principal`.
    ///
    /// # Errors
    /// 3001 if all places are taken, or all that one principal can have; 2001 if there are no places any more.
    pub(super) fn take(self: &Arc<Self>, principal: Option<&Principal>) -> Result<QuotaSlot, Error> {
        let mut taken = self.taken.lock();
        taken.check()?;
        let principal = principal.cloned();
        let own = taken.by.get(&principal).copied().unwrap_or_default();
        let all: usize = taken.by.values().sum();
        if all >= self.limits.max_parked || own >= self.limits.max_parked_per_principal {
            let message = "the client cannot be asked: too many calls wait for answers already; answer those, or ask later";
            return Err(Error::new(code::RESOURCE_EXHAUSTED, message));
        }
        taken.by.insert(principal.clone(), own + 1);
        drop(taken);
        Ok(QuotaSlot { quota: Arc::clone(self), principal })
    }
}

impl QuotaUsage {
    fn check(&self) -> Result<(), Error> {
        if self.is_closed {
            let message = "the client cannot be asked: the gateway is shutting down; make the call again when it is back";
            return Err(Error::new(code::SERVER_DRAINING, message));
        }
        Ok(())
    }
}

impl Drop for QuotaSlot {
    fn drop(&mut self) {
        let mut taken = self.quota.taken.lock();
        if let Some(own) = taken.by.get_mut(&self.principal) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.by.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_few_in_all_and_for_each_and_come_back() {
        let limits =
            ParkedCallLimits { max_parked: 3, max_parked_per_principal: 2, ..ParkedCallLimits::default() };
        let quota = Arc::new(Quota::new(limits));
        let (a, b) = (Principal::new("a"), Principal::new("b"));
        let first = quota.take(Some(&a)).unwrap();
        let _second = quota.take(Some(&a)).unwrap();
        assert_eq!(quota.take(Some(&a)).err().unwrap().code(), code::RESOURCE_EXHAUSTED);
        let _third = quota.take(Some(&b)).unwrap();
        assert!(quota.take(Some(&b)).is_err() && quota.take(None).is_err());
        drop(first);
        let _fourth = quota.take(None).unwrap();
        assert_eq!(quota.taken.lock().by.values().sum::<usize>(), 3);
    }
}
