//! The gate that answers calls which were made before.
//!
//! A call that waits for a person holds no key yet, so the end of the kernel meanwhile leaves no key with an unknown
//! outcome. Two calls with one key that wait at once are confirmed one by one, and made once.

use mgp_lifecycle::idempotency::IdempotencyLayer;
use mgp_types::mgp::Outcome;
use mgp_types::{Flow, Gate, Request};

use super::record::EffectRecord;

/// A gate that answers a call whose idempotency key is known with the outcome of the first call, or with 4020.
///
/// The gate stands behind all that decides whether the caller may make the call, so that a call that comes again is judged
/// again; and in front of confirmation, so that nobody is asked about a call that is not made. The call that is made notes
/// its key further in, once it is confirmed: see [`IdempotencyLayer`]. Each answer is noted in the record. Without a book of
/// keys the gate costs a comparison.
#[derive(Clone)]
pub(crate) struct ReplayGate {
    keys: IdempotencyLayer,
    record: EffectRecord,
}

impl ReplayGate {
    pub(crate) const fn new(keys: IdempotencyLayer, record: EffectRecord) -> Self {
        Self { keys, record }
    }
}

impl Gate for ReplayGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let Some(answer) = self.keys.answer_again(request) else { return Flow::Pass(()) };
        let effect = self.record.of(request);
        Flow::answer_later(async move {
            let outcome = answer.await;
            let result = if outcome.is_ok() { Outcome::Success } else { Outcome::Failure };
            effect.note(REPLAY, result, &[]);
            outcome
        })
    }
}

/// The event of a call that was answered with the outcome of an earlier one.
const REPLAY: &str = "CALL_REPLAYED";
