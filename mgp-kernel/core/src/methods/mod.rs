//! The MGP methods that the kernel answers itself: a file for each family that is the kernel's own.

mod as_tools;
pub(crate) mod of_servers;
mod permissions;
pub(crate) mod scopes;
pub(crate) mod tool_documents;
mod validate;

pub(crate) use self::as_tools::MethodsAsToolsGate;
pub(crate) use self::permissions::PermissionMethods;
pub(crate) use self::validate::{ArgumentFaultsGate, validate_arguments};
