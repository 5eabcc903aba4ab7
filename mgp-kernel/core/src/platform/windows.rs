//! The differences between systems that are a function each, on Windows: files are private by the folder of the user that they lie
//! in, and terminals tell keys.

use std::fs::{File, Metadata, OpenOptions};
use std::future::pending;
use std::io::{self, Write as _};
use std::os::windows::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crossterm::event::{self, KeyCode, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// Returns the options of a new file, which has the permissions of its folder.
pub fn private_file_options() -> OpenOptions {
    OpenOptions::new()
}

/// Changes nothing: a file or a folder has the permissions of the folder that it lies in.
pub fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// Returns whether every account of this machine may read a file or folder, which its metadata do not tell.
pub(crate) const fn is_readable_by_all(_: &Metadata) -> bool {
    false
}

/// Makes a link at `link` to a file.
pub(crate) fn link(to: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(to, link)
}

/// Opens a regular file for reading. A link is not followed.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if path.symlink_metadata()?.is_file() {
        return File::open(path);
    }
    Err(io::Error::other("it is not a regular file"))
}

/// Returns whether this is a file, which can be run if its name says so.
pub(crate) fn is_program(file: &Metadata) -> bool {
    file.is_file()
}

/// Returns the name of this machine.
pub(crate) fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Returns at once: nobody has to take note that a process has ended.
pub(crate) fn collect_child(_: u32) -> io::Result<()> {
    Ok(())
}

/// Runs a program, and ends with its exit code. Returns only if the program cannot be started, with the reason.
pub fn become_program(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

/// Leaves the secret where it is: no other program reads the environment of a process there, as it does not reach its memory.
pub fn become_self_with(_: &str, _: impl Fn(i32) -> (&'static str, String)) -> io::Result<()> {
    Ok(())
}

/// Does nothing: what reads a process there may also debug it.
pub const fn hide_process() {}

/// Makes `next` start with a console of its own, which nobody sees and no key of this one's ends.
pub fn leave_session(next: &mut Command) {
    next.creation_flags(NO_WINDOW_AND_NEW_GROUP);
}

/// The flags `CREATE_NO_WINDOW` and `CREATE_NEW_PROCESS_GROUP`.
const NO_WINDOW_AND_NEW_GROUP: u32 = 0x0800_0200;

/// Forgets what was typed at the terminal and not read yet.
pub fn forget_typed() -> io::Result<()> {
    while event::poll(Duration::ZERO)? {
        event::read()?;
    }
    Ok(())
}

/// Reads a line from the terminal, which shows the prompt `what` and not the line.
pub fn read_hidden(what: &str) -> io::Result<String> {
    io::stderr().write_all(what.as_bytes())?;
    enable_raw_mode()?;
    let mut line = String::new();
    let mut read = || -> io::Result<()> {
        loop {
            let Some(key) = event::read()?.as_key_press_event() else { continue };
            match (key.code, key.modifiers) {
                (KeyCode::Enter, _) => return Ok(()),
                (KeyCode::Char('c'), KeyModifiers::CONTROL) => return Err(io::ErrorKind::Interrupted.into()),
                (KeyCode::Char(typed), _) => line.push(typed),
                (KeyCode::Backspace, _) => drop(line.pop()),
                _ => {}
            }
        }
    };
    let read = read();
    // The terminal may be gone.
    let _ = disable_raw_mode();
    io::stderr().write_all(b"\n")?;
    read.map(|()| line)
}

/// Never returns: Windows does not tell whether anybody reads a pipe.
pub async fn until_output_is_unread() {
    pending().await
}
