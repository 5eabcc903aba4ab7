//! The part of a server that a request uses, for which its caller needs access.

use mgp_types::mgp::{AccessPermission, AccessSource, ServerId, ToolName};
use mgp_types::{Error, MethodRule, Request, RequestConcern};

use super::{AccessPolicy, AccessVerdict};

/// The part of a server that a request uses.
#[derive(Debug, Clone)]
pub(super) struct ServerUse {
    pub(super) server: ServerId,
    part: ServerPart,
}

#[derive(Debug, Clone)]
enum ServerPart {
    Tool(ToolName),
    Whole,
    /// Whatever the caller may use of the server.
    Anything,
}

impl ServerUse {
    /// Returns what `request` uses of `server`.
    ///
    /// # Errors
    /// -32602 if the request calls a tool without a name.
    pub(super) fn of(request: &Request, server: &ServerId) -> Result<Self, Error> {
        let part = match MethodRule::of(request).map(|rule| rule.concern) {
            Some(RequestConcern::Tool) => ServerPart::Tool(if let Some(resolved) = &request.context.tool {
                resolved.name.clone()
            } else {
                // The body is what the server will read.
                let name = request.params.text("name").filter(|name| !name.is_empty());
                ToolName::new(&*name.ok_or_else(|| Error::invalid_params("`name` is missing"))?)
            }),
            Some(RequestConcern::Running | RequestConcern::Logging) => ServerPart::Anything,
            // An unknown request needs the most: access to the server as a whole.
            _ => ServerPart::Whole,
        };
        Ok(Self { server: server.clone(), part })
    }

    pub(super) const fn tool(&self) -> Option<&ToolName> {
        match &self.part {
            ServerPart::Tool(tool) => Some(tool),
            ServerPart::Whole | ServerPart::Anything => None,
        }
    }

    /// Returns the decision of `policy` on this use by `agent`.
    pub(super) fn verdict(&self, policy: &AccessPolicy, agent: &str) -> AccessVerdict {
        let server = self.server.as_str();
        if matches!(self.part, ServerPart::Anything) && policy.reaches(agent, server) {
            let (permission, source) = (AccessPermission::Allow, AccessSource::ServerGrant);
            return AccessVerdict { permission, source, group: None };
        }
        policy.decide(agent, server, self.tool().map(ToolName::as_str))
    }
}
