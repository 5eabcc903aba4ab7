//! The descendants of a server on Windows, where processes have no groups.

use std::env;
use std::ffi::OsStr;
use std::os::windows::process::CommandExt as _;
use std::path::Path;

use tokio::process::{Child, Command};

/// Returns the command of a program, which is searched for in `PATH` with the endings of programs. The system itself knows only one
/// of them, and so no runner of packages, which are scripts.
pub(super) fn command(program: &OsStr) -> Command {
    let name = Path::new(program);
    // A name that leads to a folder is searched for in that one alone, and no other name in the working directory.
    let is_led = name.components().count() > 1;
    let path = env::var_os("PATH").filter(|_| !is_led).unwrap_or_default();
    let mut files = env::split_paths(&path)
        .filter(|folder| is_led || folder.is_absolute())
        .flat_map(|folder| ENDINGS.map(|ending| folder.join(name).with_added_extension(ending)));
    files.find(|file| file.is_file()).map_or_else(|| Command::new(program), Command::new)
}

const ENDINGS: [&str; 3] = ["exe", "cmd", "bat"];

/// The process of one server, with its descendants. Dropping it kills them all.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// The number of the process; `None` before it starts, and once it was waited for.
    id: Option<u32>,
}

impl ProcessGroup {
    pub(super) const fn guarded() -> Self {
        Self { id: None }
    }

    pub(super) const fn kept() -> Self {
        Self::guarded()
    }

    /// Makes `command` start with a console of its own, which nobody sees and no key of this process' console reaches.
    pub(super) fn prepare(&self, command: &mut Command) {
        command.creation_flags(CREATE_NO_WINDOW);
    }

    /// Returns the group of `child`.
    pub(super) fn with(mut self, child: &Child) -> Self {
        self.id = child.id();
        self
    }

    /// Forgets the server, which was waited for: its number may be reused.
    pub(super) const fn server_exited(&mut self) {
        self.id = None;
    }

    /// Asks nobody to end: the system has no signal for that.
    pub(super) const fn terminate(&self) {}

    /// Kills the server and its descendants. Blocks for a moment.
    pub(super) fn kill(&self) {
        let Some(id) = self.id else { return };
        // The descendants are found by the number of the server, which therefore has to run until all are known.
        let mut kill = std::process::Command::new("taskkill");
        kill.args(["/T", "/F", "/PID", &id.to_string()]).creation_flags(CREATE_NO_WINDOW);
        if let Err(error) = kill.output() {
            tracing::warn!(%error, "the descendants of a server were not killed");
        }
    }

    /// Kills the server and its descendants.
    pub(super) async fn end(self) {
        drop(self);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

const CREATE_NO_WINDOW: u32 = 0x0800_0000;
