//! The process group on systems without process groups.

use tokio::process::{Child, Command};

/// An empty stand-in for the process group of Unix; the owner of the child kills the child itself.
#[derive(Debug)]
pub(super) struct ProcessGroup;

impl ProcessGroup {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) fn prepare(&self, _: &mut Command) {}

    pub(super) fn with(self, _: &Child) -> Self {
        self
    }

    pub(super) fn server_exited(&mut self) {}

    pub(super) fn terminate(&self) {}

    pub(super) fn kill(&self) {}

    pub(super) async fn end(self) {}
}
