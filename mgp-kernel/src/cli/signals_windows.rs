//! The signals of Windows: the key Ctrl-C to stop.

use std::io;

use mgp_kernel_core::lifecycle::KernelEnd;
use tokio::signal::windows::{CtrlC, ctrl_c};

/// The signal that a kernel handles.
pub(super) struct Signals(CtrlC);

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        ctrl_c().map(Self)
    }

    /// Waits for the next order to end.
    ///
    /// # Cancel safety
    /// Dropping the future loses no signal.
    pub(super) async fn next(&mut self) -> Option<KernelEnd> {
        self.0.recv().await.map(|()| KernelEnd::Stop)
    }
}
