//! Random bytes, names and trace ids from the operating system.

use mgp_types::Error;
#[cfg(any(feature = "access", feature = "audit", feature = "permission", feature = "validate"))]
use mgp_types::mgp::TraceId;

use crate::StoreError;

/// The error that the system has no random numbers, so that nothing unguessable can be made.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the system has no random numbers")]
pub(crate) struct RandomUnavailable;

/// Returns random bytes that nobody can guess.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], RandomUnavailable> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system has no random numbers");
        RandomUnavailable
    })?;
    Ok(bytes)
}

/// Returns a name that nobody can guess: 32 hexadecimal digits.
#[cfg(feature = "permission")]
pub(crate) fn name() -> Result<String, RandomUnavailable> {
    Ok(format!("{:032x}", u128::from_be_bytes(bytes()?)))
}

/// Returns a trace id for a request that came without one. The id is no secret, and nothing may fail for want of one:
/// on a system without random numbers the ids repeat.
#[cfg(any(feature = "access", feature = "audit", feature = "permission", feature = "validate"))]
pub(crate) fn trace_id() -> TraceId {
    TraceId::from_random(bytes().unwrap_or_default())
}

impl From<RandomUnavailable> for Error {
    fn from(error: RandomUnavailable) -> Self {
        Self::internal("the system has no random numbers").with_source(error)
    }
}

impl From<RandomUnavailable> for StoreError {
    fn from(error: RandomUnavailable) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_differs_each_time() {
        assert_ne!(bytes::<16>().unwrap(), bytes::<16>().unwrap());
    }

    #[cfg(feature = "permission")]
    #[test]
    fn a_name_has_all_its_digits() {
        let (one, other) = (name().unwrap(), name().unwrap());
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()) && one != other);
    }

    #[cfg(any(feature = "access", feature = "audit", feature = "permission", feature = "validate"))]
    #[test]
    fn trace_ids_differ() {
        assert_ne!(trace_id(), trace_id());
    }
}
