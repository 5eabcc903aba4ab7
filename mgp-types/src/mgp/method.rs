//! The names of MGP's methods and notifications; [`Method::new`](crate::Method::new) makes one of them.
//!
//! A client of plain MCP calls a method as a tool: [`of_tool`] returns the method behind such a name.

/// Defines constants with these names, and the list of all names.
macro_rules! names {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)+) => {
        $($(#[$doc])* pub const $constant: &str = $name;)+

        /// The names of all methods and notifications.
        pub(crate) const NAMES: &[&str] = &[$($name),+];
    };
}

names! {
    /// Asks a server to wait for a decision about permissions (§3.5).
    PERMISSION_REQUEST = "mgp/permission/request";
    /// Tells a server the decision (§3.6).
    PERMISSION_RESPONSE = "mgp/permission/response";
    /// Has the role of [`PERMISSION_REQUEST`] in later drafts.
    PERMISSION_AWAIT = "mgp/permission/await";
    /// Has the role of [`PERMISSION_RESPONSE`] in later drafts.
    PERMISSION_GRANT = "mgp/permission/grant";
    /// Asks whether an agent may use a tool (§5.4).
    ACCESS_QUERY = "mgp/access/query";
    /// Gives an agent access (§5.4).
    ACCESS_GRANT = "mgp/access/grant";
    /// Takes an agent's access back (§5.4).
    ACCESS_REVOKE = "mgp/access/revoke";
    /// Carries an audit event (§6.3).
    AUDIT = "notifications/mgp.audit";
    /// Asks whether a server is alive (§11.3).
    HEALTH_PING = "mgp/health/ping";
    /// Asks for the health of a server (§11.3).
    HEALTH_STATUS = "mgp/health/status";
    /// Asks a server to stop (§11.4).
    LIFECYCLE_SHUTDOWN = "mgp/lifecycle/shutdown";
    /// Tells that a server went from one state to another (§11.4).
    LIFECYCLE = "notifications/mgp.lifecycle";
    /// Carries a part of a result (§12.4).
    STREAM_CHUNK = "notifications/mgp.stream.chunk";
    /// Tells how far a call is (§12.6).
    STREAM_PROGRESS = "notifications/mgp.stream.progress";
    /// Stops a call (§12.7).
    STREAM_CANCEL = "mgp/stream/cancel";
    /// Tells a server how fast a caller takes chunks (later drafts).
    STREAM_PACE = "notifications/mgp.stream.pace";
    /// Tells a server which chunks did not arrive (later drafts).
    STREAM_GAP = "notifications/mgp.stream.gap";
    /// Tells a caller which chunks cannot be sent again (later drafts).
    STREAM_GAP_UNRECOVERABLE = "notifications/mgp.stream.gap_unrecoverable";
    /// Asks for events (§13.2).
    EVENTS_SUBSCRIBE = "mgp/events/subscribe";
    /// Ends [`EVENTS_SUBSCRIBE`] (§13.2).
    EVENTS_UNSUBSCRIBE = "mgp/events/unsubscribe";
    /// Asks for events again, or for those since the last time (later drafts).
    EVENTS_REPLAY = "mgp/events/replay";
    /// Carries an event of a subscription (§13.3).
    EVENT = "notifications/mgp.event";
    /// Asks the client for something during a call (§13.4).
    CALLBACK_REQUEST = "notifications/mgp.callback.request";
    /// Answers [`CALLBACK_REQUEST`] (§13.4).
    CALLBACK_RESPOND = "mgp/callback/respond";
    /// Lists the servers (§15.2).
    DISCOVERY_LIST = "mgp/discovery/list";
    /// Adds a server at run time (§15.4).
    DISCOVERY_REGISTER = "mgp/discovery/register";
    /// Removes a server (§15.5).
    DISCOVERY_DEREGISTER = "mgp/discovery/deregister";
    /// Searches the tools (§16.5).
    TOOLS_DISCOVER = "mgp/tools/discover";
    /// Asks for tools that can do something (§16.6).
    TOOLS_REQUEST = "mgp/tools/request";
    /// Asks which tools the session has (§16.7).
    TOOLS_SESSION = "mgp/tools/session";
    /// Takes tools from the session (§16.7).
    TOOLS_SESSION_EVICT = "mgp/tools/session/evict";
    /// Asks for the service manifest (extension `service_manifest`).
    MANIFEST_GET = "mgp/manifest/get";
    /// Asks for the catalog of all tools that the caller may call (extension `ggen`).
    DISCOVERY_CATALOG = "mgp/discovery/catalog";
    /// Asks for servers that have a capability (extension `server_recommendations`).
    DISCOVERY_RECOMMEND = "mgp/discovery/recommend";
    /// Asks whether a tool may be called (extension `scoped_auth`).
    PERMISSION_CHECK = "mgp/permission/check";
    /// Asks for scopes (extension `scoped_auth`).
    PERMISSION_NEGOTIATE = "mgp/permission/negotiate";
    /// Asks for a new session with the scopes of an old one (extension `scoped_auth`).
    PERMISSION_REFRESH = "mgp/permission/refresh";
    /// Asks whether arguments fit a tool, without a call (extension `ggen`).
    TOOLS_VALIDATE = "mgp/tools/validate";
}

/// The name of the tool by which clients call a tool that they did not list, in the form of a method. There is no such
/// method: a program calls the tool.
pub const TOOLS_CALL: &str = "mgp/tools/call";
/// The name of [`TOOLS_VALIDATE`] in the tool registry.
pub const REGISTRY_VALIDATE: &str = "tools/validate";

/// The key of `_meta` under which grants travel with a stateless request (§3, stateless form).
pub const GRANTS_META: &str = "dev.cloto/mgp/grants";
/// The key of a tool's `_meta` under which a server gives hints for searches (§16.4).
pub const INDEX_META: &str = "dev.cloto/mgp/index";
/// The key of a result's `_meta` under which a kernel tells the arguments that an operator set in place of the caller's.
pub const EDITED_META: &str = "dev.cloto/mgp/edited_arguments";

/// The spellings of the name of a tool that stands for a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Spelling {
    /// `mgp/tools/discover`, as the specification has it; many models accept no `/` in a name.
    Slashes,
    /// `mgp.tools.discover`.
    Dots,
    /// `mgp_tools_discover`, which every model accepts.
    Underscores,
    /// `mgp__tools__discover`, with the border that clients write between a server and its tools.
    DoubleUnderscores,
}

impl Spelling {
    /// All spellings.
    const ALL: [Self; 4] = [Self::Slashes, Self::Dots, Self::DoubleUnderscores, Self::Underscores];

    /// Returns the name of the tool that stands for a method.
    pub(crate) fn spell(self, method: &str) -> String {
        method.replace('/', self.separator())
    }

    /// Returns whether `name` is `method` in this spelling.
    fn spells(self, method: &str, name: &str) -> bool {
        let mut words = method.split('/');
        let first = words.next().and_then(|first| name.strip_prefix(first));
        let left = words.fold(first, |left, word| left?.strip_prefix(self.separator())?.strip_prefix(word));
        left == Some("")
    }

    const fn separator(self) -> &'static str {
        match self {
            Self::Slashes => "/",
            Self::Dots => ".",
            Self::Underscores => "_",
            Self::DoubleUnderscores => "__",
        }
    }
}

/// Returns the method that a tool of this name stands for, in any spelling; `None` for any other tool.
///
/// A name that mixes spellings stands for no method. The function allocates nothing, so it may run for every call.
pub fn of_tool(name: &str) -> Option<&'static str> {
    let after = name.strip_prefix("mgp")?;
    let spelling = Spelling::ALL.into_iter().find(|spelling| after.starts_with(spelling.separator()))?;
    NAMES.iter().copied().chain([TOOLS_CALL]).find(|method| spelling.spells(method, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_stands_for_its_method_in_every_spelling() {
        let of_clients = NAMES.iter().copied().filter(|name| name.starts_with("mgp/"));
        for method in of_clients.chain([TOOLS_CALL]) {
            for spelling in Spelling::ALL {
                assert_eq!(of_tool(&spelling.spell(method)), Some(method));
            }
        }
        assert_eq!(of_tool("mgp_discovery_register"), Some(DISCOVERY_REGISTER));
        assert_eq!(Spelling::Slashes.spell(EVENTS_SUBSCRIBE), EVENTS_SUBSCRIBE);
    }

    #[test]
    fn a_name_that_is_not_quite_a_method_is_a_tool_like_any_other() {
        for name in [
            "mgp.tools/discover", "mgp_tools.session_evict", "mgp-tools-discover", "MGP.tools.discover",
            "mgp.tools.discovery", "mgp.tools.", "mgp.", "mgp", "mgpé", "", "tools.discover",
            "notifications/mgp.event", "notifications.mgp.event",
        ] {
            assert_eq!(of_tool(name), None, "{name}");
        }
    }
}
