//! Effects of calls that happen once and can be taken back: idempotency keys, transactions, and the record of both.

mod bound_id;
mod effect_ids;
mod record;
mod replay;

pub(crate) use self::effect_ids::{EffectIdsGate, unsupported};
pub(crate) use self::record::EffectRecord;
pub(crate) use self::replay::ReplayGate;
