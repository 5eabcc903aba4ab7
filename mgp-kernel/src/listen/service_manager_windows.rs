//! No service manager: that of Windows starts only programs that are made for it.

use std::convert::Infallible;
use std::future::pending;

/// The service manager of this process: nobody.
#[derive(Debug)]
pub(crate) struct ServiceManager;

#[expect(clippy::unused_self, clippy::unused_async, reason = "on other systems there is a manager")]
impl ServiceManager {
    /// Returns nobody.
    pub(crate) const fn from_environment() -> Self {
        Self
    }

    /// Tells nobody that the kernel reads its configuration anew.
    pub(crate) const fn reloading(&self) {}

    /// Never returns: nobody waits for a sign of life.
    pub(crate) async fn reassure(&self) -> Infallible {
        pending().await
    }

    /// Tells nobody anything.
    pub(crate) const fn tell(&self, _: &str) {}
}

/// The message that clients can connect, or that a reload is done.
pub(crate) const READY: &str = "READY=1";
