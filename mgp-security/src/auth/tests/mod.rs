mod http;
mod layer;
mod ring;
mod stored;

use std::num::NonZeroU32;
use std::sync::Arc;

use mgp_types::Principal;

use super::{ApiPermission, KeyInfo, KeyRequest, KeyRing, SecretKey};
use crate::Clock;
use crate::doubles::{ManualClock, TestServer, database, moment as at};

fn n(calls: u32) -> NonZeroU32 {
    NonZeroU32::new(calls).unwrap()
}

fn ring() -> KeyRing {
    KeyRing::open(database(), Clock::system()).unwrap()
}

async fn issue(ring: &KeyRing, permissions: &[ApiPermission]) -> (KeyInfo, SecretKey) {
    let owner = Principal::new("agent.one");
    ring.issue(KeyRequest { permissions: permissions.to_vec(), ..KeyRequest::new(owner) }).await.unwrap()
}
