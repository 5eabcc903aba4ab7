//! The permission that each request demands of a key.

use std::borrow::Cow;

use mgp_types::mgp::{ToolPattern, method};
use mgp_types::{MethodRule, Request, RequestConcern};

use super::ApiPermissions;

/// The permission that a request demands of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequiredPermission<'a> {
    /// Any key will do; the request only keeps a session alive.
    AnyKey,
    /// Any key will do; the answer is cut down to the tools that the key may see.
    ListedTools,
    /// The key must permit calling this tool.
    Invoke(Cow<'a, str>),
    /// The key must permit the method that this tool stands for, or the tool by its full name.
    StandIn { method: &'static str },
    /// The key must permit anything about any tool: for requests about a running call, about changes, or about the
    /// log.
    SomeTool,
    /// The key must permit seeing all tools.
    AllTools,
    /// The key must permit reading the registry.
    Read,
    /// The key must permit changing the registry.
    Write,
}

/// The treatment of tools that are named like MGP methods.
#[derive(Debug, Clone, Copy)]
pub(super) enum MethodTools {
    /// A tool is only a tool, whatever its name.
    None,
    /// A tool with the name of an MGP method stands for that method.
    MethodsOfMgp,
}

impl MethodTools {
    fn method(self, tool: &str) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::MethodsOfMgp => method::of_tool(tool),
        }
    }
}

impl<'a> RequiredPermission<'a> {
    /// Returns the permission that `request` demands. An unknown method demands the most.
    ///
    /// There are permissions for tools and for the registry. Resources and prompts are registered like tools and have
    /// no permissions of their own, so reading them counts as reading the registry.
    pub(super) fn of(request: &'a Request, stand_ins: MethodTools) -> Self {
        match MethodRule::of(request).map(|rule| rule.concern) {
            Some(RequestConcern::Session) => Self::AnyKey,
            Some(RequestConcern::ToolList) => Self::ListedTools,
            Some(RequestConcern::Tool) => {
                let tool = request.params.text("name").unwrap_or_default();
                match stand_ins.method(&tool) {
                    Some(method) => Self::StandIn { method },
                    None => Self::Invoke(tool),
                }
            }
            Some(RequestConcern::Running | RequestConcern::Logging) => Self::SomeTool,
            Some(
                RequestConcern::List
                | RequestConcern::Resource
                | RequestConcern::Prompt
                | RequestConcern::Completion,
            ) => Self::Read,
            _ => Self::of_method(request.method.as_str()),
        }
    }

    /// Returns the permission that an MGP method demands, whether it is called as a method or as a tool.
    fn of_method(name: &str) -> Self {
        match name {
            // Eviction affects only the caller's own session, so it does not change the registry.
            method::TOOLS_DISCOVER
            | method::TOOLS_REQUEST
            | method::TOOLS_SESSION
            | method::TOOLS_SESSION_EVICT => Self::AllTools,
            method::STREAM_CANCEL | method::CALLBACK_RESPOND => Self::SomeTool,
            method::ACCESS_QUERY | method::DISCOVERY_LIST | method::HEALTH_PING | method::HEALTH_STATUS => {
                Self::Read
            }
            _ => Self::Write,
        }
    }

    /// Returns whether `permissions` meet the demand.
    pub(super) fn is_met(&self, permissions: &ApiPermissions) -> bool {
        use super::ApiPermission::{AdminRead, AdminWrite, ToolsListAll};
        match self {
            Self::AnyKey | Self::ListedTools => true,
            Self::Invoke(tool) => {
                let (server, tool) = ToolPattern::split(tool);
                permissions.allow_invoking(server, tool)
            }
            Self::StandIn { method } => {
                permissions.name(method) || Self::of_method(method).is_met(permissions)
            }
            Self::SomeTool => permissions.allow_some_tool(),
            Self::AllTools => permissions.contains(&ToolsListAll),
            Self::Read => permissions.contains(&AdminRead),
            Self::Write => permissions.contains(&AdminWrite),
        }
    }
}
