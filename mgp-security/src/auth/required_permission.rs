use std::borrow::Cow;

use mgp_types::mgp::{ToolPattern, method};
use mgp_types::{MethodRule, Request, RequestConcern};

use super::ApiPermissions;

/// What a request demands of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequiredPermission<'a> {
    /// A key, whatever it permits: what keeps a session alive.
    AnyKey,
    /// A key, whatever it permits; the answer holds only what the key may see.
    ListedTools,
    /// To call this tool.
    Invoke(Cow<'a, str>),
    /// To do what this tool stands for, or to call it by its very name.
    StandIn { method: &'static str },
    /// To do anything with any tool: what is about a running call, about changes, or about the log.
    SomeTool,
    /// To see all tools.
    AllTools,
    /// To read what is registered.
    Read,
    /// To change what is registered.
    Write,
}

/// Whether tools stand for methods of MGP.
#[derive(Debug, Clone, Copy)]
pub(super) enum MethodTools {
    /// A tool is a tool, whatever its name.
    None,
    /// A tool that is called like a method of MGP is that method.
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
    /// What `request` demands. A method that is not known demands the most.
    ///
    /// There are permissions for tools and for what is registered. Resources and prompts are registered like tools,
    /// and have none of their own, so reading them is reading what is registered.
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

    /// What a method of MGP demands, be it called as such or as a tool.
    fn of_method(name: &str) -> Self {
        match name {
            // What is evicted goes from the caller's own session, so it is not a change of what is registered.
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

    /// Whether `permissions` meet it.
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
