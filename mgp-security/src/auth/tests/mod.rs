mod http;
mod layer;
mod ring;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::num::NonZeroU32;
use std::sync::Arc;

use mgp_types::Principal;

use super::{ApiPermission, KeyInfo, KeyRequest, KeyRing, MemoryKeyStore, SecretKey};
use crate::doubles::{ManualClock, TestServer, moment as at};

fn n(calls: u32) -> NonZeroU32 {
    NonZeroU32::new(calls).unwrap()
}

fn ring() -> KeyRing {
    KeyRing::open(MemoryKeyStore::new()).unwrap()
}

async fn issue(ring: &KeyRing, permissions: &[ApiPermission]) -> (KeyInfo, SecretKey) {
    let wanted = KeyRequest::new(&Principal::new("agent.one"));
    let wanted = permissions.iter().cloned().fold(wanted, KeyRequest::allow);
    ring.issue(wanted).await.unwrap()
}
