//! The cause of errors about the envelope of a stateless request.

use mgp_types::Error;

/// The cause of an error that is about a request's envelope and not about its content: `_meta` lacks a member that
/// every request of its era carries, or names a revision that is not served.
///
/// HTTP answers such a request with 400.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the request's envelope was refused")]
#[non_exhaustive]
pub struct EnvelopeRefused;

/// Returns the error with this cause.
pub(super) fn refused(error: Error) -> Error {
    error.with_source(EnvelopeRefused)
}
