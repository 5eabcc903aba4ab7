//! The settings of a server for what its clients carry.

use std::time::Duration;

use mgp_transport::token::SealingKey;
use mgp_types::RawJson;
use mgp_types::ext::{ExtensionId, ExtensionIds, MAX_SESSION_STATE_BYTES, ToolDeclaration};

use super::Server;
use crate::catalog::Catalog;
use crate::server_context::ServerDescription;

/// Declares the extensions of the tokens that the server's tools give, and gives the server the key of its tokens.
pub(super) fn sealed_with(
    mut about: ServerDescription,
    catalog: &Catalog,
    key: &SealingKey,
) -> ServerDescription {
    let any = |wants: fn(&ToolDeclaration) -> bool| {
        catalog.tools.iter().any(|tool| tool.declared().is_some_and(wants))
    };
    if any(|declared| declared.requires_confirmation) {
        about.extensions.insert(ExtensionId::HumanInTheLoop.id(), RawJson::empty_object());
    }
    if any(|declared| declared.supports_checkpoint) {
        let settings = RawJson::from_written(br#"{"checkpoint":true}"#.to_vec());
        about.extensions.insert(ExtensionId::Streaming.id(), settings);
    }
    let offered = about.extensions.iter().filter_map(|(id, _)| ExtensionId::read(id));
    let offered = ExtensionIds::new(offered);
    about.tokens.seal_with(key, offered);
    about
}

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
