//! The parts of the kernel that answer over HTTP in front of the protocol.

use mgp_security::oauth::ResourceServer;
use mgp_transport::http::HttpConfig;

use super::failed_logins::FailedLogins;
use crate::Kernel;

/// The kernel as requests over HTTP meet it, in front of the server of the protocol.
pub(super) struct HttpFront {
    pub(super) kernel: Kernel,
    pub(super) http: HttpConfig,
    pub(super) tokens: Option<ResourceServer>,
    pub(super) logins: FailedLogins,
}
