//! The MGP methods that the kernel itself serves: those that the router answers, and gates for those that are answered
//! further out.

mod as_tools;
mod of_servers;
mod permissions;
pub(crate) mod scopes;
mod tool_documents;
mod validate;

pub(crate) use self::as_tools::MethodsAsToolsGate;
pub(crate) use self::of_servers::ServerHealthGate;
pub(crate) use self::permissions::OwnPermissionsGate;
pub(crate) use self::tool_documents::ToolDocuments;
pub(crate) use self::validate::{ArgumentFaultsGate, JudgeCache};
