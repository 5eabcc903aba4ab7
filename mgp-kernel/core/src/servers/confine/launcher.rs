//! The launcher: the program that confines itself and becomes a server's program.
//!
//! The launcher confines its own process, because work between fork and exec takes `unsafe`, and a thread of the
//! kernel that confined itself would stay so. The program keeps the process id and the group that its guard ends. A
//! PID namespace is left out: Landlock bounds signals, the filter refuses calls that act on other processes, and a
//! namespace would add a first process with duties of its own.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use tempfile::NamedTempFile;

use super::spec::{Confinement, Ports};
use super::support;
use crate::platform;

/// The name of the command that confines itself and becomes a program.
pub(crate) const COMMAND: &str = "confine";

/// The name of the command that keeps a server.
pub const KEEP: &str = "keep";

static LAUNCHER: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program `mgp` as the launcher of confined servers. The commands of `mgp` set themselves.
///
/// A kernel without a launcher starts no server that has to be confined. The first program that is set stays.
pub fn set_confinement_launcher(mgp: impl Into<PathBuf>) {
    let _first = LAUNCHER.get_or_init(|| mgp.into());
}

/// Checks that servers can be confined here: by this system, and by a launcher that was set.
///
/// # Errors
/// Fails if they cannot, with the reason in words.
pub fn check_confinement() -> Result<(), String> {
    support().confines()?;
    launcher().map(drop)
}

fn launcher() -> Result<&'static PathBuf, String> {
    LAUNCHER
        .get()
        .ok_or_else(|| "no program was set that confines: `set_confinement_launcher` does it".to_owned())
}

/// Returns whether this system makes a view of its own for a confined program. The launcher tries it once.
pub fn has_views() -> bool {
    static HAS_VIEWS: OnceLock<bool> = OnceLock::new();
    let tried = || {
        let launcher = LAUNCHER.get()?;
        let mut command = std::process::Command::new(launcher);
        let quiet = command.args([COMMAND, TRY_VIEW]).stdin(Stdio::null()).stdout(Stdio::null());
        Some(quiet.stderr(Stdio::null()).status().ok()?.success())
    };
    cfg!(target_os = "macos") || *HAS_VIEWS.get_or_init(|| tried().unwrap_or_default())
}

/// Makes a view for this process.
///
/// # Errors
/// Fails if this system makes none.
#[cfg(target_os = "linux")]
pub fn try_view() -> std::io::Result<()> {
    super::view::enter(&Confinement::default())
}

/// The option of the launcher that tries whether views can be made.
const TRY_VIEW: &str = "--try-view";

/// Returns the program that keeps servers, by the command [`KEEP`]: it ends all that descends from one. Only Linux has a way
/// to do that.
pub fn keeper() -> Option<&'static PathBuf> {
    LAUNCHER.get().filter(|_| cfg!(target_os = "linux"))
}

/// Returns the server that the process `pid` keeps, or the process itself if it keeps none.
pub fn kept_by(pid: u32) -> u32 {
    let children = keeper().and_then(|_| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok());
    // Orphans come after the server.
    children.and_then(|pids| pids.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(pid)
}

/// The data for the start of a confined program.
#[derive(Debug)]
pub struct ConfinedLaunch {
    /// The program to start in its place.
    pub(crate) launcher: PathBuf,
    /// The arguments of the launcher in front of the program's own arguments.
    pub(crate) args: Vec<OsString>,
    /// The environment variables that are set in a confinement.
    pub(crate) variables: Vec<(&'static str, OsString)>,
    /// The file that the launcher reads the confinement from: one argument has no room for thousands of paths.
    _rules: NamedTempFile,
}

/// Returns the data for starting `program` within a confinement, which is written to a file in `folder`.
///
/// The folder must be closed to the program: who writes the file decides on the confinement of the next start. The program
/// finds its temporary files in `scratch`, and its settings and caches in `home`.
///
/// # Errors
/// Fails if this system cannot hold the confinement, if no launcher was set, or if the file cannot be written.
pub fn launch(
    program: &Path,
    to: &Confinement,
    folder: &Path,
    scratch: &Path,
    home: &Path,
) -> Result<ConfinedLaunch, String> {
    support().holds(to)?;
    let launcher = launcher()?;
    let rules = serde_json::to_vec(to).map_err(|error| format!("a path cannot be written down: {error}"))?;
    let written = NamedTempFile::with_prefix_in("confinement-", folder).and_then(|mut file| {
        file.write_all(&rules)?;
        Ok(file)
    });
    let file = written.map_err(|error| format!("its confinement cannot be written down: {error}"))?;
    let args = [COMMAND.into(), "--to".into(), file.path().into(), "--".into(), program.into()];
    let own = || scratch.as_os_str().to_owned();
    let mut variables = vec![("HOME", home.into()), ("TMPDIR", own()), ("TMP", own()), ("TEMP", own())];
    // Compiled files beside a script were not inspected, and another process may have put them there.
    variables.push(("PYTHONDONTWRITEBYTECODE", "1".into()));
    variables.push(("PYTHONPYCACHEPREFIX", scratch.join("pycache").into()));
    if matches!(to.connect, Ports::Only(_)) {
        // Names of hosts are then resolved over TCP, the only protocol whose ports the system bounds.
        variables.push(("RES_OPTIONS", "use-vc".into()));
    }
    Ok(ConfinedLaunch { launcher: launcher.clone(), args: args.to_vec(), variables, _rules: file })
}

/// Confines this process as the file `rules` says and becomes `program`. Returns only if that fails, with the reason.
pub fn become_program(rules: &Path, program: &Path, args: &[OsString]) -> Result<Infallible, String> {
    let read = fs::read(rules).and_then(|text| Ok(serde_json::from_slice(&text)?));
    let to: Confinement =
        read.map_err(|error| format!("{} holds no confinement: {error}", rules.display()))?;
    support().holds(&to)?;
    let command = confined(&to, program);
    let mut command = command.map_err(|error| format!("{} is not started: {error}", program.display()))?;
    let error = platform::become_program(command.args(args));
    Err(format!("{} cannot be started: {error}", program.display()))
}

/// Confines this process, and returns the program for it to start.
#[cfg(target_os = "linux")]
fn confined(to: &Confinement, program: &Path) -> std::io::Result<std::process::Command> {
    super::linux::confine(to)?;
    Ok(std::process::Command::new(program))
}

/// Returns the program that confines itself to a profile and then becomes `program`.
#[cfg(target_os = "macos")]
fn confined(to: &Confinement, program: &Path) -> std::io::Result<std::process::Command> {
    use super::seatbelt;

    let mut command = std::process::Command::new(seatbelt::PROGRAM);
    command.arg("-p").arg(seatbelt::profile(to)).arg(program);
    Ok(command)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn confined(_: &Confinement, _: &Path) -> std::io::Result<std::process::Command> {
    Err(std::io::ErrorKind::Unsupported.into())
}
