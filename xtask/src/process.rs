//! Running other programs, and saying clearly when one is missing or fails.

use std::{
    fmt::Write as _,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// Runs a command with the terminal as its output; fails unless it exits with zero.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` ended with {status}", line(command));
    }
    Ok(())
}

/// Runs a command whose output is of interest only if it fails; then the error has it.
pub(crate) fn run_quietly(command: &mut Command) -> Result<()> {
    let ended = command.stdin(Stdio::null()).output().with_context(|| cannot_start(command))?;
    if !ended.status.success() {
        let (out, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        bail!("`{}` ended with {}: {out}{errors}", line(command), ended.status);
    }
    Ok(())
}

/// Runs a command and returns what it wrote to its output; its errors go to the terminal.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let out = command.stderr(Stdio::inherit()).output().with_context(|| cannot_start(command))?;
    if !out.status.success() {
        bail!("`{}` ended with {}", line(command), out.status);
    }
    String::from_utf8(out.stdout)
        .with_context(|| format!("`{}` wrote bytes that are not UTF-8", line(command)))
}

/// Runs a command and returns whether it ended with zero, and in time; a late one is stopped.
pub(crate) fn within(command: &mut Command, limit: Duration) -> Result<bool> {
    Ok(status_within(command, limit)?.is_some_and(|status| status.success()))
}

/// Runs a command and returns how it ended; a late one is stopped, and `None` returned.
pub(crate) fn status_within(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>> {
    let mut child = command.spawn().with_context(|| cannot_start(command))?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Looks again and again until it is so; fails after a while.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    while !is_so()? {
        if Instant::now() > deadline {
            bail!("waited {} s in vain for {what}", START_LIMIT.as_secs());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Returns whether a command, run in silence, exits with zero.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Fails with the way to get the program when it is missing.
pub(crate) fn require(program: &str, install: &str) -> Result<()> {
    if succeeds(Command::new(program).arg("--version")) {
        return Ok(());
    }
    bail!("`{program}` is missing; install it: {install}")
}

/// Fails with the way to get the program when it is in no folder of `PATH`.
pub(crate) fn require_installed(program: &str, install: &str) -> Result<()> {
    if installed(program).is_some() {
        return Ok(());
    }
    bail!("`{program}` is missing; install it: {install}")
}

/// Returns the file of a program that is installed, or nothing.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        let _ = write!(line, " {}", argument.to_string_lossy());
    }
    line
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", line(command))
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0)).context("no free port on 127.0.0.1")?.local_addr()?.port())
}

/// A program in the background, mostly a server, that ends with this value.
#[derive(Debug)]
pub(crate) struct Background {
    child: Child,
}

impl Background {
    /// Starts the program with its output in `log`.
    pub(crate) fn spawn(command: &mut Command, log: &Path) -> Result<Self> {
        let file = std::fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| cannot_start(command))?;
        Ok(Self { child })
    }

    /// Starts the server with its output in `log` and waits until its port accepts a connection.
    pub(crate) fn start(command: &mut Command, port: u16, log: &Path) -> Result<Self> {
        let mut server = Self::spawn(command, log)?;
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!("`{}` ended with {status} before it listened; see {}", line(command), log.display());
            }
            if Instant::now() > deadline {
                bail!("`{}` does not listen on port {port}; see {}", line(command), log.display());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }
}

impl Background {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether it still runs.
    pub(crate) fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Waits until it has ended by itself, and returns whether it ended with zero.
    pub(crate) fn finish(mut self) -> Result<bool> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.success());
            }
            if Instant::now() > deadline {
                bail!("a program does not end");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks the server to end, and waits until it has.
    pub(crate) fn end(self) -> Result<()> {
        run(Command::new("kill").arg(self.child.id().to_string()))?;
        self.finish().map(drop)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const START_LIMIT: Duration = Duration::from_secs(30);
