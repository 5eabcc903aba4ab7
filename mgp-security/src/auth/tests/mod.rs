mod http;
mod layer;
mod ring;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mgp_types::Principal;
use mgp_types::mgp::Timestamp;

use super::{ApiPermission, KeyInfo, KeyRequest, KeyRing, MemoryKeyStore, SecretKey};
use crate::Clock;

/// A clock that stands where it is put.
#[derive(Clone, Default)]
struct Hands(Arc<AtomicI64>);

impl Hands {
    fn put(&self, millis: i64) {
        self.0.store(millis, Ordering::Relaxed);
    }

    fn clock(&self) -> Clock {
        let hands = self.clone();
        Clock::new(move || at(hands.0.load(Ordering::Relaxed)))
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

fn n(calls: u32) -> NonZeroU32 {
    NonZeroU32::new(calls).unwrap()
}

fn ring() -> KeyRing {
    KeyRing::open(MemoryKeyStore::new()).unwrap()
}

async fn issue(ring: &KeyRing, permissions: &[ApiPermission]) -> (KeyInfo, SecretKey) {
    let wanted = KeyRequest::new(Principal::new("agent.one"));
    let wanted = permissions.iter().cloned().fold(wanted, KeyRequest::allow);
    ring.issue(wanted).await.unwrap()
}
