//! The call that a message of a session names.

use mgp_types::{Error, Outbox, Params};

use super::session::Session;
use crate::about::{UNNAMED, take_id};

/// Returns the outbox of the call of the session that a message names in its parameters; `None` if there is no such
/// call in work. Without a session every message stands alone, so there never is one.
///
/// # Errors
/// -32602 if the message names no call.
pub(super) fn named(params: &mut Params, session: Option<&Session>) -> Result<Option<Outbox>, Error> {
    let id = take_id(params).ok_or_else(|| Error::invalid_params(UNNAMED))?;
    Ok(session.and_then(|session| session.calls.outbox(&id)))
}
