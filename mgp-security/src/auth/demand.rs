use std::borrow::Cow;

use mgp_types::mgp::method;
use mgp_types::{Method, Request};

use super::ApiPermissions;
use crate::concern::Concern;

/// What a request demands of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Demand<'a> {
    /// A key, whatever it permits: what keeps a session alive.
    AnyKey,
    /// A key, whatever it permits; the answer holds only what the key may see.
    ListedTools,
    /// To call this tool.
    Invoke(Cow<'a, str>),
    /// To do anything with any tool: what is about a running call, about changes, or about the log.
    SomeTool,
    /// To see all tools.
    AllTools,
    /// To read what is registered.
    Read,
    /// To change what is registered.
    Write,
}

impl<'a> Demand<'a> {
    /// What `request` demands. A method that is not known demands the most.
    ///
    /// There are permissions for tools and for what is registered. Resources and prompts are registered like tools,
    /// and have none of their own, so reading them is reading what is registered.
    pub(super) fn of(request: &'a Request) -> Self {
        match Concern::of(request) {
            Concern::Session => return Self::AnyKey,
            Concern::ToolList => return Self::ListedTools,
            Concern::Tool => return Self::Invoke(request.params.text("name").unwrap_or_default()),
            Concern::Running | Concern::Logging => return Self::SomeTool,
            Concern::Other => {}
        }
        match request.method.as_str() {
            // What is evicted goes from the caller's own session, so it is not a change of what is registered.
            method::TOOLS_DISCOVER
            | method::TOOLS_REQUEST
            | method::TOOLS_SESSION
            | method::TOOLS_SESSION_EVICT => Self::AllTools,
            method::ACCESS_QUERY | method::DISCOVERY_LIST | method::HEALTH_PING | method::HEALTH_STATUS => {
                Self::Read
            }
            _ if READING.contains(&request.method) => Self::Read,
            _ => Self::Write,
        }
    }

    /// Whether `permissions` meet it.
    pub(super) fn is_met(&self, permissions: &ApiPermissions) -> bool {
        use super::ApiPermission::{AdminRead, AdminWrite, ToolsListAll};
        match self {
            Self::AnyKey | Self::ListedTools => true,
            Self::Invoke(tool) => permissions.allow_invoking(tool),
            Self::SomeTool => permissions.allow_some_tool(),
            Self::AllTools => permissions.contains(&ToolsListAll),
            Self::Read => permissions.contains(&AdminRead),
            Self::Write => permissions.contains(&AdminWrite),
        }
    }
}

static READING: [Method; 8] = [
    Method::RESOURCES_LIST,
    Method::RESOURCES_TEMPLATES_LIST,
    Method::RESOURCES_READ,
    Method::RESOURCES_SUBSCRIBE,
    Method::RESOURCES_UNSUBSCRIBE,
    Method::PROMPTS_LIST,
    Method::PROMPTS_GET,
    Method::COMPLETE,
];
