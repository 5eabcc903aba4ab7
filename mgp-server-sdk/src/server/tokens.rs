//! The settings of a server for what its clients carry.

use std::time::Duration;

use mgp_types::RawJson;
use mgp_types::ext::{ExtensionId, MAX_SESSION_STATE_BYTES};

use super::Server;

impl<L> Server<L> {
    /// Lets handlers keep state from call to call ([`Cx::session_state`](crate::Cx::session_state)), which the client
    /// carries for the server. A conversation ends when nothing is called for `idle_timeout`; half an hour is usual.
    ///
    /// Instances with the same [`sealing_key`](Self::sealing_key) and name go on with each other's conversations.
    pub fn session_state(mut self, idle_timeout: Duration) -> Self {
        let settings = format!(r#"{{"max_bytes":{MAX_SESSION_STATE_BYTES}}}"#);
        self.parts.about.tokens.session_idle_timeout = Some(idle_timeout);
        self.extension(ExtensionId::SessionState.id(), RawJson::from_written(settings.into_bytes()))
    }
}
