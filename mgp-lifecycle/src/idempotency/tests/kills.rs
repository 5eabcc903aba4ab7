//! Processes that die between any two things that happen to a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mgp_types::BoxFuture;
use mgp_types::canonical::Digest;
use mgp_types::mgp::Timestamp;

use super::stored::book_at;
use super::*;
use crate::doubles::{KillSwitch, each_seed_alone, is_whole, life};
use crate::idempotency::call_table::KeptCall;
use crate::idempotency::outcome::Verdict;
use crate::idempotency::store::{CallStore, FirstCall};
use crate::store::{EffectStore, StoreError, Written};

/// A store whose process may die before and after each write.
#[derive(Debug)]
struct MortalStore {
    store: EffectStore,
    switch: KillSwitch,
}

impl MortalStore {
    fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(EffectStore) -> BoxFuture<'static, T> + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let (store, switch) = (self.store.clone(), self.switch.clone());
        Box::pin(async move {
            switch.point().await;
            let written = write(store).await;
            switch.point().await;
            written
        })
    }
}

impl CallStore for MortalStore {
    fn load(&self, now: Timestamp) -> Result<Vec<KeptCall>, StoreError> {
        self.store.load(now)
    }

    fn begin(&self, call: FirstCall, expired: Vec<Digest>) -> Written {
        self.write(move |store| store.begin(call, expired))
    }

    fn end(&self, call: FirstCall, verdict: Verdict, outcome: Option<RawJson>) -> Written {
        self.write(move |store| store.end(call, verdict, outcome))
    }

    fn outcome(&self, id: Digest) -> BoxFuture<'static, Result<Option<RawJson>, StoreError>> {
        self.write(move |store| store.outcome(id))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Learned {
    Done,
    Unknown,
}

/// A client that makes its call until it learns how it ended, while its server dies again and again.
fn persistent_call(mut random: crate::doubles::Random) -> Learned {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let effects = Arc::new(AtomicU32::new(0));
    for seconds in 0.. {
        // The points of a life: around the effect, and around two or three writes.
        let switch = KillSwitch::after(if seconds < 8 { random.below(8) } else { u64::MAX });
        let (counted, mortal) = (Arc::clone(&effects), switch.clone());
        let server = Upstream::working(move |_, _| {
            let (counted, mortal) = (Arc::clone(&counted), mortal.clone());
            async move {
                mortal.point().await;
                counted.fetch_add(1, Ordering::SeqCst);
                mortal.point().await;
                Ok(Response::new(RawJson::empty_object()))
            }
        });
        let learned = life(&switch, async {
            let store = EffectStore::open(&path).unwrap();
            let book = book_at(MortalStore { store, switch: switch.clone() }, seconds);
            call(&mut service(&book, &server), pay("k", "{}")).await
        });
        assert!(effects.load(Ordering::SeqCst) <= 1, "the effect came twice");
        match learned {
            None => {}
            Some(Ok(_)) => {
                assert_eq!(effects.load(Ordering::SeqCst), 1);
                return Learned::Done;
            }
            Some(Err(error)) => {
                assert_eq!(reason(&error), "outcome_unknown");
                return Learned::Unknown;
            }
        }
    }
    unreachable!("a life without end learns how the call ended")
}

#[test]
fn no_effect_comes_twice_wherever_the_process_dies() {
    let learned = each_seed_alone(400, persistent_call);
    if is_whole() {
        let done = learned.iter().filter(|learned| **learned == Learned::Done).count();
        assert!((50..350).contains(&done), "{done} of 400 calls were told to be done");
    }
}
