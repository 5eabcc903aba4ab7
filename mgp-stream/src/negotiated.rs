use mgp_types::Session;
use mgp_types::mgp::Extension;

/// Whether both sides of the session have the extension; nobody does without a session.
pub(crate) fn have(session: Option<&Session>, extension: &Extension) -> bool {
    session.and_then(|session| session.mgp.as_ref()).is_some_and(|mgp| mgp.has(extension))
}
