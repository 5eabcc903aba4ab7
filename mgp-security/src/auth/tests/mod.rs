mod http;
mod layer;
mod ring;
mod stored;

use std::num::NonZeroU32;
use std::sync::Arc;

use mgp_types::Principal;

use super::{ApiPermission, ApiPermissions, KeyInfo, KeyRing, KeyTerms, SecretKey};
use crate::Clock;
use crate::doubles::{ManualClock, TestServer, database, moment as at};

fn n(calls: u32) -> NonZeroU32 {
    NonZeroU32::new(calls).unwrap()
}

fn ring() -> KeyRing {
    KeyRing::open(database(), Clock::system()).unwrap()
}

async fn issue(ring: &KeyRing, permissions: &[ApiPermission]) -> (KeyInfo, SecretKey) {
    let (owner, permissions) = (Principal::new("agent.one"), ApiPermissions::new(permissions.to_vec()));
    ring.issue(KeyTerms { permissions, ..KeyTerms::new(owner) }).await.unwrap()
}
