use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::process::{ChildStdout, Command};

use super::group::Group;
use super::process::{ChildProcess, Patience};
use super::stderr::{self, Stderr};
use super::stdin::{self, ChildStdin};

/// A server to start as a child process.
#[derive(Debug)]
#[must_use]
pub struct ChildCommand {
    command: Command,
    stderr: Stderr,
    guard: Guard,
    patience: Patience,
    id_into: Option<Arc<AtomicU32>>,
}

/// What ends a server when this process dies without saying goodbye.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Guard {
    /// A small process that stands by for each server; see the [module](super).
    #[default]
    Process,
    /// Nothing but the end of its stdin.
    Nothing,
}

impl ChildCommand {
    /// A server that is started as `program`, searched for in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            command: Command::new(program),
            stderr: Stderr::default(),
            guard: Guard::default(),
            patience: Patience::default(),
            id_into: None,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes an environment variable away.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Takes every inherited environment variable away.
    pub fn env_clear(mut self) -> Self {
        self.command.env_clear();
        self
    }

    /// Sets the working directory.
    pub fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sets where stderr goes. Default: where that of this process goes.
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Sets what ends the server when this process dies. Default: [`Guard::Process`].
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// Has the number of the process written to `place` when it starts, for whoever shows it.
    pub fn id_into(mut self, place: Arc<AtomicU32>) -> Self {
        self.id_into = Some(place);
        self
    }

    /// How long a server may take to exit once its stdin is closed. Default: 2 s.
    pub fn exit_timeout(mut self, timeout: Duration) -> Self {
        self.patience.exit = timeout;
        self
    }

    /// How long a server may take to exit once it got SIGTERM. Default: 2 s.
    pub fn terminate_timeout(mut self, timeout: Duration) -> Self {
        self.patience.terminate = timeout;
        self
    }

    /// Starts the server; returns it with what it writes and what it reads.
    ///
    /// # Errors
    /// The program cannot be started.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO.
    pub fn spawn(mut self) -> io::Result<(ChildProcess, ChildStdout, ChildStdin)> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.stderr.to_stdio());
        self.command.kill_on_drop(true);
        let group = Group::new(self.guard);
        group.prepare(&mut self.command);
        let mut child = self.command.spawn()?;
        let group = group.with(&child);
        if let (Some(place), Some(id)) = (&self.id_into, child.id()) {
            place.store(id, Ordering::Relaxed);
        }
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = pipes else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let stderr = child.stderr.take().and_then(|pipe| stderr::read(pipe, self.stderr));
        let (stdin, closer) = stdin::closable(stdin);
        Ok((ChildProcess::new(child, group, closer, stderr, self.patience), stdout, stdin))
    }
}
