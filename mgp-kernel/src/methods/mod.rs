//! The MGP methods that the kernel itself serves.

mod as_tools;
mod of_servers;
mod permissions;

pub(crate) use self::as_tools::MethodsAsToolsGate;
pub(crate) use self::of_servers::ServerHealthGate;
pub(crate) use self::permissions::OwnPermissionsGate;
