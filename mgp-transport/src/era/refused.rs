use mgp_types::Error;

/// The cause of an error that is about a request's envelope, not about what it asks for: `_meta` lacks
/// what every request of its era carries, or names a revision that is not served.
///
/// HTTP answers such a request with 400.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the request's envelope was refused")]
#[non_exhaustive]
pub struct EnvelopeRefused;

/// The error with this cause.
pub(super) fn refused(error: Error) -> Error {
    error.with_source(EnvelopeRefused)
}
