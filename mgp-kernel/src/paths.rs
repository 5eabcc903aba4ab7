//! The files of this machine that servers may touch: never the kernel's own, and within what the operator named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::config::model::{FolderRule, ServerConfig};
use mgp_discovery::config::{Endpoint, ProcessEnvironment};
use mgp_discovery::secrets::SecretFile;
use mgp_security::path::{ProtectedPaths, Roots, usable_folder};
use mgp_security::validator::PathsValidator;

use crate::StartError;
use crate::running::RunningConfig;
use crate::state_folder::users_state;

/// Returns the files and folders that belong to the kernel: those of the state, the user's secrets, and `others`.
pub(crate) fn own_files(state: &Path, others: Vec<PathBuf>) -> Vec<PathBuf> {
    let secrets = SecretFile::user_path(&ProcessEnvironment);
    let own = std::iter::once(users_state(state).to_owned()).chain(secrets);
    own.chain(others).collect()
}

/// Returns the files that neither the paths nor the commands that `server` gets may touch.
pub(crate) fn protected(
    config: &Config,
    server: &ServerConfig,
    own: &[PathBuf],
    folder: &Path,
) -> ProtectedPaths {
    let protected = own.iter().fold(ProtectedPaths::default(), ProtectedPaths::with_own);
    let released = &config.validators.allow_paths;
    let protected = released.iter().fold(protected, |protected, path| protected.releasing(path));
    let protected = std::env::home_dir().into_iter().fold(protected, ProtectedPaths::with_home);
    let place = LocalServerFiles::of(server, folder);
    place.iter().fold(protected, |protected, place| protected.on_this_machine(&place.directory))
}

/// Returns the validator of the paths that `server` gets, none of which may be `protected`.
pub(crate) fn validator(
    running: &Arc<RunningConfig>,
    server: &ServerConfig,
    protected: ProtectedPaths,
    folder: &Path,
) -> Result<PathsValidator, StartError> {
    let (configured, paths) = (&running.load().validators.roots, PathsValidator::new(protected));
    let unusable = |error| StartError::Config(format!("`validators.roots`: {error}"));
    let roots = match configured.split_first() {
        Some((first, others)) => {
            let first = Roots::new(first).map_err(unusable)?;
            Some(others.iter().try_fold(first, Roots::and).map_err(unusable)?)
        }
        None => LocalServerFiles::of(server, folder).and_then(|files| files.roots()),
    };
    let running = Arc::clone(running);
    Ok(match roots {
        Some(roots) => paths.within(roots.with_more(move |clients| opened(&running.load(), clients))),
        None => paths,
    })
}

/// Returns the folders that the configuration opens to a client that works in the folders `clients`.
fn opened(config: &Config, clients: &[PathBuf]) -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let real = |path: &String| expanded(path, home.as_deref()).canonicalize().ok();
    let usable = |path: &String| usable_folder(&expanded(path, home.as_deref()));
    let is_for = |rule: &&FolderRule| match &rule.within {
        Some(within) => real(within).is_some_and(|within| clients.iter().any(|own| own.starts_with(&within))),
        None => true,
    };
    config.folders.iter().filter(is_for).flat_map(|rule| rule.open.iter().filter_map(usable)).collect()
}

/// Returns the path with the `home` directory for `~`.
pub(crate) fn expanded(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
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
    fn of(server: &ServerConfig, here: &Path) -> Option<Self> {
        match server.expanded(&ProcessEnvironment).ok()?.endpoint {
            Endpoint::Child { args, cwd, .. } => Some(Self {
                directory: cwd.as_ref().map_or_else(|| here.to_owned(), |cwd| here.join(cwd.expose())),
                is_configured: cwd.is_some(),
                arguments: args.iter().map(|arg| arg.expose().to_owned()).collect(),
            }),
            Endpoint::Unix { .. } => {
                Some(Self { directory: here.to_owned(), is_configured: false, arguments: Vec::new() })
            }
            Endpoint::Http { .. } => None,
        }
    }

    /// Returns the directories that the operator named for the server: those in its arguments, and its configured
    /// working directory. A home, what is above it, and protected places are none.
    fn roots(&self) -> Option<Roots> {
        let mut open: Vec<PathBuf> = Vec::new();
        let mut before = "";
        for argument in &self.arguments {
            let value = argument.split_once('=').map_or(argument.as_str(), |(_, value)| value);
            let directory = self.directory.join(value);
            // A directory that a program is started from says nothing of the files that it is for.
            let is_of_program = STARTS_FROM.contains(&before)
                || STARTS_FROM.iter().any(|option| argument.starts_with(&format!("{option}=")));
            if !value.is_empty() && !is_of_program {
                open.extend(usable_folder(&directory));
            }
            before = argument;
        }
        if self.is_configured {
            open.extend(usable_folder(&self.directory));
        }
        Roots::named(&self.directory, open)
    }
}

/// The options behind which the directory of the program stands, not that of its data.
const STARTS_FROM: [&str; 7] = ["--directory", "--project", "--prefix", "--cwd", "--from", "-C", "--package"];
