//! The differences between systems that are a function each, on Unix: permissions, terminals, processes, and names of the machine.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::future::pending;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::fs::OFlags;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use tokio::io::Interest;
use tokio::net::unix::pipe;

/// Returns the options of a new file that only its owner may open.
pub fn private_file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Sets who may use a file or a folder.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Makes a link at `link` to a file or folder.
pub(crate) fn link(to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

/// Opens a regular file for reading. A link is not followed, and a pipe is not waited for.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Returns whether every account of this machine may read a file or folder.
pub(crate) fn is_readable_by_all(file: &Metadata) -> bool {
    file.permissions().mode() & 0o004 != 0
}

/// Returns whether a file can be run.
pub(crate) fn is_program(file: &Metadata) -> bool {
    file.is_file() && file.permissions().mode() & 0o111 != 0
}

/// Returns the name of this machine.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Takes note that the child process `pid` has ended, which frees its number.
pub(crate) fn collect_child(pid: u32) -> io::Result<()> {
    waitpid(i32::try_from(pid).ok().and_then(Pid::from_raw), WaitOptions::NOHANG)?;
    Ok(())
}

/// Becomes a program. Returns only if that fails, with the reason.
pub fn become_program(command: &mut Command) -> io::Error {
    command.exec()
}

/// Becomes this program anew, with the variable of the environment that `named` makes of the number of a pipe from which
/// `secret` is read. Returns only if that fails, with the reason.
pub fn become_self_with(secret: &str, named: impl Fn(RawFd) -> (&'static str, String)) -> io::Result<()> {
    let mut args = std::env::args_os();
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(secret.as_bytes())?;
    drop(writer);
    fcntl_setfd(&reader, FdFlags::empty())?;
    let (variable, value) = named(reader.as_raw_fd());
    let mut program = Command::new(program);
    program.arg0(args.next().unwrap_or_default()).args(args).env(variable, value);
    Err(become_program(&mut program))
}

/// Keeps other programs of the account from reading the environment and the memory of this process, as far as the system can.
pub fn hide_process() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Takes this process out of its session, so that the program that it starts next has no terminal.
pub fn leave_session(_: &mut Command) {
    // This fails only in the leader of a process group, which already has a session that no terminal ends.
    let _ = rustix::process::setsid();
}

/// Forgets what was typed at the terminal and not read yet.
pub fn forget_typed() -> io::Result<()> {
    tcflush(io::stdin(), QueueSelector::IFlush)?;
    Ok(())
}

/// Reads a line from the terminal, which shows the prompt `what` and not the line.
pub fn read_hidden(what: &str) -> io::Result<String> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let before = tcgetattr(&terminal)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let asked = terminal.write_all(what.as_bytes());
    let read = asked.and_then(|()| BufReader::new(&terminal).read_line(&mut line));
    // The terminal may be gone.
    let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
    terminal.write_all(b"\n")?;
    if read? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Waits until the reader of standard output is gone. Never returns if that cannot be seen, as with a file.
pub async fn until_output_is_unread() {
    // The pipe is opened anew, so that it stays as it is for other processes that write to it.
    match pipe::OpenOptions::new().open_sender("/dev/stdout") {
        Ok(pipe) if pipe.ready(Interest::ERROR).await.is_ok() => {}
        _ => pending().await,
    }
}
