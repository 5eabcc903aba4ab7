//! No service manager: that of Windows starts only programs that are made for it.

use std::convert::Infallible;
use std::future::pending;

/// The service manager of this process: nobody.
#[derive(Debug)]
pub struct ServiceManager;

#[expect(clippy::unused_self, clippy::unused_async, reason = "on other systems there is a manager")]
impl ServiceManager {
    /// Returns nobody.
    pub const fn from_environment() -> Self {
        Self
    }

    /// Tells nobody that the kernel reads its configuration anew.
    pub const fn reloading(&self) {}

    /// Never returns: nobody waits for a sign of life.
    pub async fn reassure(&self) -> Infallible {
        pending().await
    }

    /// Tells nobody anything.
    pub const fn tell(&self, _: &str) {}
}

/// The message that clients can connect, or that a reload is done.
pub(crate) const READY: &str = "READY=1";
