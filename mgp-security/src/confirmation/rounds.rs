//! The confirmed calls that continue in another round.

use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::{Object, Principal, Request, Response, ResultKind};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::ConfirmationBinding;

/// The confirmed calls whose servers asked for input before they went on. The round that brings the input belongs to
/// the same call, and goes on under the same confirmation, once.
#[derive(Debug, Default)]
pub(super) struct ConfirmedRounds(Mutex<HashMap<RoundKey, GivenConfirmation, RandomState>>);

/// The key of the next round of a call, with the state that its server gave, if it gave one.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundKey {
    call: ConfirmationBinding,
    state: Option<[u8; 32]>,
}

#[derive(Debug)]
struct GivenConfirmation {
    approver: Principal,
    end: Instant,
}

impl ConfirmedRounds {
    /// Returns who confirmed the call that `request` continues.
    pub(super) fn take(&self, call: ConfirmationBinding, request: &Request) -> Option<Principal> {
        let state = request.params.text("requestState");
        if state.is_none() && request.params.get("inputResponses").is_none() {
            return None;
        }
        let yes = self.0.lock().remove(&RoundKey::new(call, state.as_deref()))?;
        (Instant::now() < yes.end).then_some(yes.approver)
    }

    /// Notes that `call`, which `approver` confirmed, has another round if `response` asks for one.
    pub(super) fn note(&self, call: ConfirmationBinding, approver: Principal, response: &Response) {
        if response.result.kind() != ResultKind::InputRequired {
            return;
        }
        let Ok(result) = Object::from_raw(&response.result) else { return };
        let mut open = self.0.lock();
        let now = Instant::now();
        open.retain(|_, yes| now < yes.end);
        if open.len() < MAX_ROUNDS {
            let round = RoundKey::new(call, result.text("requestState").as_deref());
            open.insert(round, GivenConfirmation { approver, end: now + TTL });
        }
    }
}

impl RoundKey {
    fn new(call: ConfirmationBinding, state: Option<&str>) -> Self {
        Self { call, state: state.map(|state| Sha256::digest(state).into()) }
    }
}

/// The time a client has to bring the input.
const TTL: Duration = Duration::from_mins(10);
/// The largest number of open rounds; beyond it, a round is confirmed like a new call.
const MAX_ROUNDS: usize = 4096;
