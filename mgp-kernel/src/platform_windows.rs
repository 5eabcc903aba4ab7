//! The differences between systems that are a function each, on Windows: files are private by the folder of the user that they lie
//! in, and terminals tell keys.

use std::env;
use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::future::pending;
use std::io::{self, Write as _};
use std::os::windows::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// Returns the options of a new file, which has the permissions of its folder.
pub(crate) fn private_file_options() -> OpenOptions {
    OpenOptions::new()
}

/// Returns the builder of folders, which have the permissions of those that they lie in.
pub(crate) fn private_folder_builder() -> DirBuilder {
    DirBuilder::new()
}

/// Changes nothing: a file or a folder has the permissions of the folder that it lies in.
pub(crate) fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// Returns whether this is a file, which can be run if its name says so.
pub(crate) fn is_program(file: &Metadata) -> bool {
    file.is_file()
}

/// Returns at once, because no program can wait until the names in a folder are on the disk.
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the folder of this program on this machine for what the user's programs keep of a kind, such as `state`, the last
/// part of `in_home`.
pub(crate) fn usual_folder(in_home: &str) -> Option<PathBuf> {
    let local = env::var_os("LOCALAPPDATA").map(PathBuf::from).filter(|path| path.is_absolute());
    let local = local.or_else(|| Some(env::home_dir()?.join("AppData").join("Local")))?;
    Some(local.join("mgp").join(Path::new(in_home).file_name()?))
}

/// Returns the name of this machine.
pub(crate) fn host_name() -> String {
    env::var("COMPUTERNAME").unwrap_or_default()
}

/// Returns whether every program needs this variable of the environment, whose names have no case.
pub(crate) fn is_needed_variable(name: &str) -> bool {
    NEEDED.split(' ').any(|needed| needed.eq_ignore_ascii_case(name))
}

const NEEDED: &str = "APPDATA COMSPEC HOMEDRIVE HOMEPATH LANG LOCALAPPDATA NUMBER_OF_PROCESSORS OS PATH PATHEXT \
    PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 SYSTEMDRIVE SYSTEMROOT TEMP TMP TZ \
    USERDOMAIN USERNAME USERPROFILE WINDIR";

/// Returns at once: nobody has to take note that a process has ended.
pub(crate) fn collect_child(_: u32) -> io::Result<()> {
    Ok(())
}

/// Runs a program, and ends with its exit code. Returns only if the program cannot be started, with the reason.
pub(crate) fn become_program(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

/// Makes `next` start with a console of its own, which nobody sees and no key of this one's ends.
pub(crate) fn leave_session(next: &mut Command) {
    next.creation_flags(CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP);
}

const CREATE_NO_WINDOW: u32 = 0x0800_0000;
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;

/// Forgets what was typed at the terminal and not read yet.
pub(crate) fn forget_typed() -> io::Result<()> {
    while event::poll(Duration::ZERO)? {
        event::read()?;
    }
    Ok(())
}

/// Reads a line from the terminal, which shows the prompt `what` and not the line.
pub(crate) fn read_hidden(what: &str) -> io::Result<String> {
    let mut shown = io::stderr();
    shown.write_all(what.as_bytes())?;
    enable_raw_mode()?;
    let line = typed_line();
    // The terminal may be gone.
    let _ = disable_raw_mode();
    shown.write_all(b"\n")?;
    line
}

fn typed_line() -> io::Result<String> {
    let mut line = String::new();
    loop {
        let Event::Key(key) = event::read()? else { continue };
        match key.code {
            _ if key.kind == KeyEventKind::Release => {}
            KeyCode::Enter => return Ok(line),
            KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            KeyCode::Char(typed) => line.push(typed),
            KeyCode::Backspace => {
                line.pop();
            }
            _ => {}
        }
    }
}

/// Never returns: Windows does not tell whether anybody reads a pipe.
pub(crate) async fn until_output_is_unread() {
    pending().await
}
