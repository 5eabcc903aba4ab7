//! Extensions that both sides of a session have.

use mgp_types::Session;
use mgp_types::mgp::Extension;

/// Returns whether both sides of the session have the extension; without a session they do not.
pub(crate) fn have(session: Option<&Session>, extension: &Extension) -> bool {
    session.and_then(|session| session.mgp.as_ref()).is_some_and(|mgp| mgp.has(extension))
}
