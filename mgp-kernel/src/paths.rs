//! The files of this machine that servers may touch: never the kernel's own, and within what the operator named.

use std::path::{Path, PathBuf};

use mgp_discovery::Config;
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::{Endpoint, ProcessEnvironment};
use mgp_discovery::secrets::SecretFile;
use mgp_security::validator::PathsValidator;
use mgp_security::validator::path::{ProtectedPaths, Roots};

use crate::StartError;
use crate::models::ModelStore;

/// Files and directories that belong to the kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnFiles(Vec<PathBuf>);

impl OwnFiles {
    /// Returns the files that follow from the configuration and the state, the user's secrets and models, and `others`.
    pub(crate) fn new(config: &Config, state: &Path, others: impl IntoIterator<Item = PathBuf>) -> Self {
        let named = [&config.audit.path, &config.kernel.socket].into_iter().flatten().map(PathBuf::from);
        // A database has files beside it.
        let audit = config
            .audit
            .path
            .iter()
            .flat_map(|path| ["-wal", "-shm", "-journal"].map(|end| format!("{path}{end}").into()));
        let secrets = SecretFile::user_path(&ProcessEnvironment);
        let models = ModelStore::of_user().map(|models| models.root().to_owned());
        let own = std::iter::once(state.to_owned()).chain(named).chain(audit).chain(secrets).chain(models);
        Self(own.chain(others).collect())
    }
}

/// Returns the files that neither the paths nor the commands that `server` gets may touch.
pub(crate) fn protected(config: &Config, server: &ServerConfig, own: &OwnFiles) -> ProtectedPaths {
    let mut protected = own.0.iter().fold(ProtectedPaths::default(), ProtectedPaths::with_own);
    let released = &config.validators.allow_paths;
    protected = released.iter().fold(protected, |protected, path| protected.releasing(path));
    if let Some(home) = std::env::home_dir() {
        protected = protected.with_home(home);
    }
    if let Some(place) = LocalServerFiles::of(server) {
        protected = protected.on_this_machine(&place.directory);
    }
    protected
}

/// Returns the validator of the paths that `server` gets, none of which may be `protected`.
pub(crate) fn validator(
    config: &Config,
    server: &ServerConfig,
    protected: ProtectedPaths,
) -> Result<PathsValidator, StartError> {
    let settings = &config.validators;
    let home = std::env::home_dir();
    let place = LocalServerFiles::of(server);
    let paths = PathsValidator::new(protected);
    let unusable = |error| StartError::Config(format!("`validators.roots`: {error}"));
    if let Some((first, others)) = settings.roots.split_first() {
        let first = Roots::new(first).map_err(unusable)?;
        let roots = others.iter().try_fold(first, Roots::and).map_err(unusable)?;
        return Ok(paths.within(roots));
    }
    let named = place.and_then(|place| place.roots(home.as_deref()));
    Ok(match named {
        Some(roots) => paths.within(roots),
        None => paths,
    })
}

/// A server that runs on this machine, as far as its configuration tells where its files are.
struct LocalServerFiles {
    /// The directory at which its relative paths begin.
    directory: PathBuf,
    /// True if the configuration names the directory.
    is_configured: bool,
    arguments: Vec<String>,
}

impl LocalServerFiles {
    fn of(server: &ServerConfig) -> Option<Self> {
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        match server.expanded(&ProcessEnvironment).ok()?.endpoint {
            Endpoint::Child { args, cwd, .. } => Some(Self {
                directory: cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd.expose())),
                is_configured: cwd.is_some(),
                arguments: args.iter().map(|arg| arg.expose().to_owned()).collect(),
            }),
            Endpoint::Unix { .. } => {
                Some(Self { directory: here, is_configured: false, arguments: Vec::new() })
            }
            _ => None,
        }
    }

    /// Returns the directories that the operator named for the server: those in its arguments, and its working
    /// directory. Returns `None` if there is none, so that nothing says where files may be.
    fn roots(&self, home: Option<&Path>) -> Option<Roots> {
        let mut open: Vec<PathBuf> = Vec::new();
        let mut before = "";
        for argument in &self.arguments {
            let value = argument.split_once('=').map_or(argument.as_str(), |(_, value)| value);
            let directory = self.directory.join(value);
            // A directory that a program is started from says nothing of the files that it is for.
            let is_of_program = STARTS_FROM.contains(&before)
                || STARTS_FROM.iter().any(|option| argument.starts_with(&format!("{option}=")));
            if !value.is_empty() && !is_of_program && directory.is_dir() {
                open.push(directory);
            }
            before = argument;
        }
        let is_told = self.is_configured || !is_anywhere(&self.directory, home);
        if is_told {
            open.push(self.directory.clone());
        }
        Roots::named(&self.directory, open)
    }
}

/// Returns whether `directory` says nothing about the user's choice: the root, the home, or a directory above the home.
fn is_anywhere(directory: &Path, home: Option<&Path>) -> bool {
    directory.parent().is_none() || home.is_some_and(|home| home.starts_with(directory))
}

/// The options behind which the directory of the program stands, not that of its data.
const STARTS_FROM: [&str; 7] = ["--directory", "--project", "--prefix", "--cwd", "--from", "-C", "--package"];
