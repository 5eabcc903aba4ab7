//! The signals of Windows, all of which stop: the keys Ctrl-C and Ctrl-Break, and the end of the console.

use std::io;

use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close};

use super::serve::SignalOrder;

/// The signals that a kernel handles.
pub(super) struct Signals(CtrlC, CtrlBreak, CtrlClose);

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(ctrl_c()?, ctrl_break()?, ctrl_close()?))
    }

    /// Waits for the next order.
    ///
    /// # Cancel safety
    /// Dropping the future loses no signal.
    pub(super) async fn next(&mut self) -> SignalOrder {
        tokio::select! {
            _ = self.0.recv() => SignalOrder::Stop,
            _ = self.1.recv() => SignalOrder::Stop,
            _ = self.2.recv() => SignalOrder::Stop,
        }
    }
}
