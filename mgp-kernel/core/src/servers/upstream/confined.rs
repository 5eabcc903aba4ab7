//! The start of a server's program: from the code that was inspected, with its environment, and within its confinement.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::{Reach, Secret};
use mgp_discovery::registry::{ApprovedCode, InspectedCode};
use mgp_security::permission::GrantTerms;
use mgp_transport::child::ChildCommand;
use mgp_types::Error;
use mgp_types::canonical::Digest;
use mgp_types::mgp::{Permission, ServerId};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Handle;

use super::connection_shared::ConnectionShared;
use crate::platform;
use crate::policies::Policies;
use crate::servers::confine::{
    Confined, ConfinedLaunch, Confinement, KEEP, ProgramSearch, check_confinement, has_views, keeper, launch,
    opened,
};
use crate::settings;
use crate::settings::paths::{expanded, reached};
use crate::settings::pattern_servers;

/// The command line and environment of a server, with every reference resolved.
pub(super) struct ServerProgram {
    pub(super) command: Secret,
    pub(super) args: Vec<Secret>,
    pub(super) cwd: Option<Secret>,
    pub(super) env: BTreeMap<String, Secret>,
}

/// A start of a server, with the folders that it has to itself until the next start.
pub(super) struct ProgramStart {
    program: ServerProgram,
    /// The folder in which it runs if its entry names none.
    folder: PathBuf,
    /// The variables of the kernel's environment that the server gets.
    inherited: Vec<(OsString, OsString)>,
    /// The copy of its code that the server runs, if the code was inspected.
    code: Option<TempDir>,
    /// The confinement of the server, if there is one, and the folder that it writes to.
    confinement: Option<(ConfinedLaunch, TempDir)>,
}

impl ProgramStart {
    /// Returns the command that starts the server: its own, or the launcher in its place.
    pub(super) fn command(&self) -> ChildCommand {
        let ServerProgram { command, args, cwd, env } = &self.program;
        let args = args.iter().map(Secret::expose);
        let started = |program: &OsStr| match keeper() {
            Some(keeper) => ChildCommand::new(keeper).args([KEEP, "--"]).arg(program).kept(),
            None => ChildCommand::new(program),
        };
        let program = match &self.confinement {
            None => limited(started(command.expose().as_ref()).args(args), &self.inherited, env),
            Some((launch, _)) => {
                let program = started(launch.launcher.as_ref()).args(&launch.args).args(args);
                let program = limited(program, &self.inherited, env).env_remove("XDG_RUNTIME_DIR");
                let variables = launch.variables.iter().filter(|(name, _)| !env.contains_key(*name));
                variables.fold(program, |program, (name, value)| program.env(name, value))
            }
        };
        match (cwd, &self.code) {
            (Some(folder), _) => program.current_dir(self.folder.join(folder.expose())),
            // Runtimes read settings from their working directory; only those in the copy were inspected.
            (None, Some(code)) => program.current_dir(code.path()),
            (None, None) => program.current_dir(&self.folder),
        }
    }
}

/// Returns whether a program is there, and the interpreter that its first line names, if it names one.
fn has_interpreter(program: &Path) -> bool {
    // Opening what is no file, such as a pipe, may wait for ever.
    if !program.is_file() {
        return program.exists();
    }
    let Ok(file) = File::open(program) else { return true };
    let mut line = Vec::new();
    // What cannot be read names none.
    let _ = BufReader::new(file.take(LONGEST_FIRST_LINE)).read_until(b'\n', &mut line);
    let named = line.strip_prefix(b"#!").and_then(|named| std::str::from_utf8(named).ok());
    let interpreter = named.and_then(|named| named.split_ascii_whitespace().next());
    interpreter.is_none_or(|interpreter| Path::new(interpreter).exists())
}

impl ServerProgram {
    /// Checks that the program is there, and its interpreter: a keeper starts without them, and only tells of it.
    fn check(&self, folder: &Path) -> std::io::Result<()> {
        let (command, path) = (self.command.expose(), self.path());
        let search = ProgramSearch { path: &path, folder, home: None };
        let is_there = || {
            if command.contains('/') {
                has_interpreter(&folder.join(command))
            } else {
                search.program(command).is_some()
            }
        };
        if keeper().is_none() || is_there() { Ok(()) } else { Err(ErrorKind::NotFound.into()) }
    }

    fn path(&self) -> String {
        let configured = self.env.get("PATH").map(|path| path.expose().to_owned());
        configured.or_else(|| std::env::var("PATH").ok()).unwrap_or_default()
    }
}

/// Prepares a start: copies the `code` that was inspected, and works out the confinement if the server is to be
/// confined.
///
/// # Errors
/// Fails if the code cannot be copied, or if the server is to be confined and cannot be.
pub(super) async fn start(
    shared: &Arc<ConnectionShared>,
    program: ServerProgram,
    code: Option<ApprovedCode>,
) -> Result<ProgramStart, Error> {
    let shared = Arc::clone(shared);
    let server = shared.server.clone();
    // Files are written and folders are read, which may take some time.
    let prepared = tokio::task::spawn_blocking(move || prepare(&shared, program, code)).await;
    prepared.unwrap_or_else(|panic| Err(not_started(&server, &panic.to_string())))
}

fn not_started(server: &ServerId, why: &str) -> Error {
    Error::invalid_params(format!("the server `{server}` is not started: {why}"))
}

fn prepare(
    shared: &ConnectionShared,
    mut program: ServerProgram,
    code: Option<ApprovedCode>,
) -> Result<ProgramStart, Error> {
    let not_started = |why: String| not_started(&shared.server, &why);
    // What runs is the server itself, so that a confinement is about its program and not about this one.
    let first = program.args.first().map_or("", Secret::expose);
    if pattern_servers::is_by_command(program.command.expose(), first)
        && let Some(file) = pattern_servers::program()
    {
        program.command = file.display().to_string().into();
        program.args.remove(0);
    }
    let mut copy = None;
    if let Some(ApprovedCode { code, argument, .. }) = code {
        let made = copy_of(&code, shared.support.config.state());
        let folder = made.map_err(|error| not_started(format!("its code cannot be copied: {error}")))?;
        let script = program.args.get_mut(argument);
        let script = script.ok_or_else(|| not_started("its script is none of its arguments".to_owned()))?;
        *script = folder.path().join(&code.script).display().to_string().into();
        copy = Some(folder);
    }
    let folder = shared.support.folder(&shared.config, &shared.key);
    program
        .check(&folder)
        .map_err(|error| Error::disconnected("the server cannot be started").with_source(error))?;
    let is_bounded = reach_here(&shared.support.config.load(), &shared.config) != Reach::All;
    let confinement = is_bounded.then(|| confinement(shared, &program, copy.as_ref())).transpose();
    let confinement = confinement.map_err(|why| not_started(format!("it is to be confined, and {why}")))?;
    let inherited = inherited(&shared.support.config.load(), shared.server.as_str());
    Ok(ProgramStart { program, folder, inherited, code: copy, confinement })
}

/// Returns what the program of a server reaches on this system. Where nothing can be confined, what nobody asked to be
/// confined runs with all that this account may do.
pub fn reach_here(config: &Config, server: &ServerConfig) -> Reach {
    let is_bounded = || config.kernel.confine && check_confinement().is_ok();
    match server.reach() {
        Reach::Folders if !server.is_confined() && !is_bounded() => Reach::All,
        reach => reach,
    }
}

fn confinement(
    shared: &ConnectionShared,
    program: &ServerProgram,
    code: Option<&TempDir>,
) -> Result<(ConfinedLaunch, TempDir), String> {
    let unusable = |error: std::io::Error| format!("it has no folder of its own: {error}");
    let folder = scratch(shared.support.config.state());
    std::fs::create_dir_all(&folder).map_err(unusable)?;
    let scratch = tempfile::Builder::new().prefix("server-").tempdir_in(&folder).map_err(unusable)?;
    let has_folders = shared.config.reach() == Reach::Folders;
    // What the runner of a package fetches stays for the next start, where no other program starts from it.
    let home_folder = if has_folders || shared.config.package.is_some() {
        home_of(&shared.config, shared.support.config.state())
    } else {
        scratch.path().to_owned()
    };
    let is_fresh = !home_folder.is_dir();
    std::fs::create_dir_all(&home_folder).map_err(unusable)?;
    let here = shared.support.folder(&shared.config, &shared.key);
    let home = std::env::home_dir();
    if has_folders && let Some(home) = &home {
        link_to(home, &home_folder.canonicalize().map_err(unusable)?, &shared.config).map_err(unusable)?;
    }
    let folders = has_folders.then(|| reached(&shared.support.config.load(), &shared.config, &here));
    let args: Vec<&str> = program.args.iter().map(Secret::expose).collect();
    let confined = Confined {
        config: &shared.config,
        command: program.command.expose(),
        args: &args,
        folder: &program.cwd.as_ref().map_or_else(|| here.clone(), |folder| here.join(folder.expose())),
        path: &program.path(),
        granted: &granted(&shared.support.policies, &shared.support.config.load(), &shared.config)?,
        own_folders: [scratch.path(), &home_folder],
        folders: folders.as_deref(),
        has_views: has_folders && has_views(),
        code: code.map(TempDir::path),
        own: &shared.support.policies.own_files,
        home: home.as_deref(),
    };
    let (file, mut confinement) = opened(&confined)?;
    let launched = |to: &Confinement| launch(&file, to, &folder, scratch.path(), &home_folder);
    if let (PACKAGE_RUNNER, [UNASKED, package, ..], true) = (confined.command, &args[..], is_fresh)
        && !package.starts_with('-')
    {
        // `npx` sets the time of its lock while it fetches, and must not be able to once the package runs.
        let own = std::mem::replace(&mut confinement.change_modes, true);
        let launch = launched(&confinement)?;
        confinement.change_modes = own;
        // A package that reaches folders may have parts that its scripts compile or fetch.
        let scripts: &[&str] =
            if has_folders { &[] } else { &["--ignore-scripts", "--script-shell=/bin/sh"] };
        let config = shared.support.config.load();
        let inherited = inherited(&config, shared.server.as_str());
        let limit = settings::startup_timeout(&config, &shared.config);
        if let Err(error) = fetch(package, scripts, &launch, inherited, &home_folder, limit) {
            // The next start begins anew.
            std::fs::remove_dir_all(&home_folder).map_err(unusable)?;
            return Err(format!("its package cannot be fetched: {error}"));
        }
    }
    Ok((launched(&confinement)?, scratch))
}

/// Has `npx` fetch a package within `limit`, with these options for its scripts. May block.
fn fetch(
    package: &str,
    scripts: &[&str],
    npx: &ConfinedLaunch,
    inherited: Vec<(OsString, OsString)>,
    home: &Path,
    limit: Duration,
) -> std::io::Result<()> {
    let mut command = tokio::process::Command::new(&npx.launcher);
    command.args(&npx.args).arg(UNASKED).args(scripts).args(["--package", package]);
    command.args(["--call", "exit 0"]).current_dir(home).stdin(Stdio::null()).stdout(Stdio::null());
    command.env_clear().envs(inherited).envs(npx.variables.iter().cloned());
    command.stderr(Stdio::piped()).kill_on_drop(true);
    let run = async {
        let mut running = command.spawn()?;
        let mut said = Vec::new();
        if let Some(stderr) = &mut running.stderr {
            stderr.take(MOST_SAID).read_to_end(&mut said).await?;
            tokio::io::copy(stderr, &mut tokio::io::sink()).await?;
        }
        Ok((running.wait().await?, said))
    };
    let limited = Handle::current().block_on(async { tokio::time::timeout(limit, run).await });
    let (status, said): (ExitStatus, Vec<u8>) = limited.unwrap_or_else(|_| {
        let why = format!("it took longer than {} s: raise `startup_timeout_ms`", limit.as_secs());
        Err(std::io::Error::new(ErrorKind::TimedOut, why))
    })?;
    let said = String::from_utf8_lossy(&said);
    if status.success() { Ok(()) } else { Err(std::io::Error::other(said.trim().to_owned())) }
}

/// Returns the permissions that a server has now and that a confinement can hold. A policy that approves everything
/// approves what the server asked for, not all there is.
pub fn granted(
    policies: &Policies,
    config: &Config,
    of: &ServerConfig,
) -> Result<Vec<(Permission, GrantTerms)>, String> {
    let (server, grants) = (&ServerId::from(of.id.as_str()), &policies.grants);
    let settings = settings::permissions(config, server.as_str()).map_err(|error| error.to_string())?;
    let declared = of.mgp.as_ref().map(|mgp| mgp.permissions_required.as_slice());
    let mut named: Vec<Permission> =
        declared.unwrap_or_default().iter().map(|name| Permission::read(name)).collect();
    named.extend(of.security.permissions.iter().cloned());
    named.extend(grants.records(server).into_iter().map(|record| record.permission));
    let rules = config.permissions.grants.iter();
    let of_server = rules.filter(|rule| rule.server.as_deref().is_none_or(|id| id == server.as_str()));
    named.extend(of_server.map(|rule| rule.permission.clone()));
    let held = HELD.into_iter().filter(|permission| named.contains(permission));
    let with_terms = |held: Permission| grants.terms(&settings, server, &held).map(|terms| (held, terms));
    Ok(held.filter_map(with_terms).collect())
}

/// Makes links in the home of a confined program to what its entry opens in the home of the user, so that it finds that at
/// its usual place.
fn link_to(users: &Path, home: &Path, server: &ServerConfig) -> std::io::Result<()> {
    let opened = server.confinement.iter().flat_map(|opened| opened.read.iter().chain(&opened.write));
    for path in opened.map(|path| expanded(path, Some(users))) {
        let Ok(name) = path.strip_prefix(users) else { continue };
        let link = home.join(name);
        let Some(folder) = link.parent() else { continue };
        // The program may have put links there that lead elsewhere.
        let there = folder.ancestors().find_map(|folder| folder.canonicalize().ok());
        if there.is_some_and(|there| there.starts_with(home)) && link.symlink_metadata().is_err() {
            std::fs::create_dir_all(folder)?;
            platform::link(&path, &link)?;
        }
    }
    Ok(())
}

/// Returns the folder of the files that confined servers write for themselves.
pub fn scratch(state: &Path) -> PathBuf {
    state.join("scratch")
}

/// Returns the home of a server's confined program. Another package, or another command, has another one, and finds
/// nothing that was left there for it.
fn home_of(server: &ServerConfig, state: &Path) -> PathBuf {
    let ServerConfig { id, package, command, args, .. } = server;
    let start = serde_json::to_vec(&(id, package, command, args)).unwrap_or_default();
    homes(state).join(Digest::of_canonical(&start).to_string())
}

fn homes(state: &Path) -> PathBuf {
    state.join("homes")
}

/// Returns the homes of servers that are no longer configured.
pub fn unused_homes(config: &Config, state: &Path) -> Vec<PathBuf> {
    let used: Vec<_> = config.servers.iter().map(|server| home_of(server, state)).collect();
    let there = std::fs::read_dir(homes(state)).into_iter().flatten().flatten();
    there.map(|entry| entry.path()).filter(|home| !used.contains(home)).collect()
}

/// Writes a server's code as it was read for inspection into a new folder of the kernel's own, which is removed when what
/// is returned is dropped. May block.
fn copy_of(code: &InspectedCode, state: &Path) -> std::io::Result<TempDir> {
    let copies = copies(state);
    std::fs::create_dir_all(&copies)?;
    let folder = tempfile::Builder::new().prefix("code-").tempdir_in(copies)?;
    for (file, content) in &code.files {
        let path = folder.path().join(&file.path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, content)?;
    }
    Ok(folder)
}

/// Returns the folder of the copies.
pub fn copies(state: &Path) -> PathBuf {
    state.join("inspected")
}

/// The runner of packages that can fetch one without running it, and its option not to ask before that.
const PACKAGE_RUNNER: &str = "npx";
const UNASKED: &str = "-y";
/// The number of bytes of what the runner says that a refusal quotes.
const MOST_SAID: u64 = 16 * 1024;
/// The number of bytes of a first line that systems look at.
const LONGEST_FIRST_LINE: u64 = 256;
/// The permissions that open something of a confinement.
const HELD: [Permission; 4] = [
    Permission::FilesystemRead,
    Permission::FilesystemWrite,
    Permission::NetworkOutbound,
    Permission::NetworkListen,
];

/// Gives a program the `inherited` variables and those that are configured for it, and none of the others: they may
/// hold the secrets of somebody else.
fn limited(
    command: ChildCommand,
    inherited: &[(OsString, OsString)],
    configured: &BTreeMap<String, Secret>,
) -> ChildCommand {
    let command =
        inherited.iter().fold(command.env_clear(), |command, (name, value)| command.env(name, value));
    configured.iter().fold(command, |command, (name, value)| command.env(name, value.expose()))
}

/// Returns the variables of the kernel's environment that a server gets: those that every program needs and, for a
/// server of the configuration, those that the configuration passes on. An agent that registers a server asks for
/// variables by name.
pub fn inherited(config: &Config, server: &str) -> Vec<(OsString, OsString)> {
    let is_configured = config.server(server).is_some();
    let is_given = |name: &OsStr| {
        name.to_str().is_some_and(|name| is_needed(name) || (is_configured && config.passes_variable(name)))
    };
    std::env::vars_os().filter(|(name, _)| is_given(name)).collect()
}

/// Returns whether every program gets this variable.
pub fn is_needed(name: &str) -> bool {
    let is_it = |needed: &str| needed == name || cfg!(windows) && needed.eq_ignore_ascii_case(name);
    NEEDED.split(' ').any(is_it) || name.starts_with("LC_")
}

const NEEDED: &str = if cfg!(windows) {
    "APPDATA COMSPEC HOMEDRIVE HOMEPATH LANG LOCALAPPDATA NUMBER_OF_PROCESSORS OS PATH PATHEXT PROCESSOR_ARCHITECTURE \
     PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 SYSTEMDRIVE SYSTEMROOT TEMP TMP TZ USERDOMAIN USERNAME \
     USERPROFILE WINDIR"
} else {
    "PATH HOME USER LOGNAME SHELL TERM LANG TZ TMPDIR XDG_RUNTIME_DIR"
};
