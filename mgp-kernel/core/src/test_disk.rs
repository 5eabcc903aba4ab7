//! A small disk for tests of what is left when one is full.

use std::path::Path;
use std::process::{Command, Stdio};

/// A disk that is mounted in a folder, and unmounted when this is dropped.
#[derive(Debug)]
pub(crate) struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Mounts a disk of a size such as `64k`, which takes root; `None` where that is refused.
    pub(crate) fn mounted(folder: &'a Path, size: &str) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"]).arg(folder);
        let is_mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        is_mounted.then_some(Self(folder))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}
