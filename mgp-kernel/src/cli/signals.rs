//! The signals of Unix: SIGTERM and SIGINT to stop, SIGUSR2 to restart, SIGHUP to reload.

use std::io;

use mgp_kernel_core::lifecycle::KernelEnd;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that a kernel handles.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    restart: Signal,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            restart: signal(SignalKind::user_defined2())?,
        })
    }

    /// Waits for the next order to end, or to reload the configuration (`None`).
    ///
    /// # Cancel safety
    /// Dropping the future loses no signal.
    pub(super) async fn next(&mut self) -> Option<KernelEnd> {
        tokio::select! {
            _ = self.interrupt.recv() => Some(KernelEnd::Stop),
            _ = self.terminate.recv() => Some(KernelEnd::Stop),
            _ = self.restart.recv() => Some(KernelEnd::Restart),
            _ = self.hang_up.recv() => None,
        }
    }
}
