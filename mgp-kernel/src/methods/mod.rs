//! The MGP methods that the kernel itself serves.

mod as_tools;
mod of_servers;
mod permissions;
mod scopes;
mod tool_documents;
mod validate;

pub(crate) use self::as_tools::MethodsAsToolsGate;
pub(crate) use self::of_servers::ServerHealthGate;
pub(crate) use self::permissions::OwnPermissionsGate;
pub(crate) use self::scopes::ScopeMethodsGate;
pub(crate) use self::tool_documents::ToolDocumentsGate;
pub(crate) use self::validate::{JudgeCache, ValidateToolGate};
