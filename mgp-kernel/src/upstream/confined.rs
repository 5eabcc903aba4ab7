//! A server that is started within a confinement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mgp_discovery::config::Secret;
use mgp_security::permission::Terms;
use mgp_transport::child::ChildCommand;
use mgp_types::Error;
use mgp_types::mgp::{Permission, ServerId};
use tempfile::TempDir;

use super::environment;
use super::shared::Shared;
use crate::confine::{Confined, Launch, launch, opened};
use crate::parts::Parts;
use crate::settings;

/// What a server is started with, with every reference resolved.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) command: Secret,
    pub(super) args: Vec<Secret>,
    pub(super) cwd: Option<Secret>,
    pub(super) env: BTreeMap<String, Secret>,
    /// The folder of its code, if it runs from the copy that was inspected.
    pub(super) code: Option<PathBuf>,
}

/// How a server is started within its confinement.
pub(super) struct Confinement {
    launch: Launch,
    /// The folder that is its own to write to. It goes with the last start that had it.
    _scratch: TempDir,
}

impl Program {
    /// The command that starts the server: itself, or the launcher in its place.
    pub(super) fn command(&self, confinement: Option<&Confinement>) -> ChildCommand {
        let args = self.args.iter().map(Secret::expose);
        let Some(Confinement { launch, .. }) = confinement else {
            let program = ChildCommand::new(self.command.expose()).args(args);
            return self.place(environment::limited(program, &self.env));
        };
        let program = ChildCommand::new(&launch.launcher).args(&launch.args).args(args);
        let program = environment::limited(program, &self.env).env_remove("XDG_RUNTIME_DIR");
        let of_server = |name: &str| self.env.contains_key(name);
        let variables = launch.variables.iter().filter(|(name, _)| !of_server(name));
        self.place(variables.fold(program, |program, (name, value)| program.env(name, value)))
    }

    fn place(&self, program: ChildCommand) -> ChildCommand {
        match &self.cwd {
            Some(folder) => program.current_dir(folder.expose()),
            None => program,
        }
    }
}

/// Returns how the server is started within its confinement, if it is to be confined.
///
/// # Errors
/// It is to be confined and cannot be.
pub(super) async fn confinement(
    shared: &Arc<Shared>,
    program: &Program,
) -> Result<Option<Confinement>, Error> {
    if !shared.config.is_confined() {
        return Ok(None);
    }
    let (shared, program) = (Arc::clone(shared), program.clone());
    let server = shared.server.clone();
    // Folders are looked at, which may take a while.
    let made = tokio::task::spawn_blocking(move || make(&shared, &program)).await;
    let made = made.unwrap_or_else(|panic| Err(panic.to_string()));
    let made = made.map_err(|why| {
        Error::invalid_params(format!("the server `{server}` is to be confined and is not started: {why}"))
    });
    made.map(Some)
}

fn make(shared: &Shared, program: &Program) -> Result<Confinement, String> {
    let unusable = |error: std::io::Error| format!("it has no folder of its own: {error}");
    let folder = scratch(&shared.parts.state);
    std::fs::create_dir_all(&folder).map_err(unusable)?;
    let scratch = tempfile::Builder::new().prefix("server-").tempdir_in(&folder).map_err(unusable)?;
    let here = std::env::current_dir().map_err(unusable)?;
    let variable = |name: &str| std::env::var(name).ok();
    let path = program.env.get("PATH").map(|path| path.expose().to_owned()).or_else(|| variable("PATH"));
    let home = std::env::home_dir();
    let args: Vec<&str> = program.args.iter().map(Secret::expose).collect();
    let confined = Confined {
        config: &shared.config,
        command: program.command.expose(),
        args: &args,
        folder: &program.cwd.as_ref().map_or_else(|| here.clone(), |folder| here.join(folder.expose())),
        path: path.as_deref().unwrap_or_default(),
        granted: &granted(&shared.parts, &shared.server, shared)?,
        scratch: scratch.path(),
        code: program.code.as_deref(),
        state: &shared.parts.state,
        home: home.as_deref(),
    };
    let (file, confinement) = opened(&confined)?;
    Ok(Confinement { launch: launch(&file, &confinement, scratch.path())?, _scratch: scratch })
}

/// What the server is permitted now of what a confinement can hold. A policy that approves everything approves what the
/// server asked for, not all there is.
fn granted(parts: &Parts, server: &ServerId, shared: &Shared) -> Result<Vec<(Permission, Terms)>, String> {
    let config = parts.config.load();
    let settings = settings::permissions(&config, server.as_str()).map_err(|error| error.to_string())?;
    let declared = shared.config.mgp.as_ref().map(|mgp| mgp.permissions_required.as_slice());
    let mut named: Vec<Permission> =
        declared.unwrap_or_default().iter().map(|name| Permission::read(name)).collect();
    named.extend(shared.config.security.permissions.iter().cloned());
    named.extend(parts.grants.records(server).into_iter().map(|record| record.permission));
    let rules = config.permissions.grants.iter();
    let of_server = rules.filter(|rule| rule.server.as_deref().is_none_or(|of| of == server.as_str()));
    named.extend(of_server.map(|rule| rule.permission.clone()));
    let held = HELD.into_iter().filter(|permission| named.contains(permission));
    Ok(held
        .filter_map(|permission| {
            let terms = parts.grants.terms(&settings, server, &permission)?;
            Some((permission, terms))
        })
        .collect())
}

/// Removes what servers of the last kernel left behind.
pub(crate) async fn clear_scratch(state: &Path) {
    let folder = scratch(state);
    match tokio::fs::remove_dir_all(&folder).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(folder = %folder.display(), %error, "temporary files of confined servers stay");
        }
        _ => {}
    }
}

fn scratch(state: &Path) -> PathBuf {
    state.join("scratch")
}

/// The permissions that open something of a confinement.
const HELD: [Permission; 4] = [
    Permission::FilesystemRead,
    Permission::FilesystemWrite,
    Permission::NetworkOutbound,
    Permission::NetworkListen,
];
