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
use crate::platform::program_files::{is_program_file, words_of};
use crate::settings::running::RunningConfig;
use crate::state::folder::users_state;

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

/// Returns the files and folders that are open to the program of `server`: those that its entry names, the folder of its
/// client, and those that the configuration opens to it.
pub(crate) fn reached(config: &Config, server: &ServerConfig, folder: &Path) -> Vec<PathBuf> {
    let here = usable_folder(folder);
    let mut open = LocalServerFiles::of(server, folder).map(|files| files.named()).unwrap_or_default();
    open.extend(opened(config, here.as_slice()));
    open.extend(config.validators.roots.iter().filter_map(|root| usable_folder(Path::new(root))));
    open.extend(here);
    open
}

/// Returns the path with the `home` directory for `~`.
pub fn expanded(path: &str, home: Option<&Path>) -> PathBuf {
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
    /// The values of its variables.
    values: Vec<String>,
}

impl LocalServerFiles {
    fn of(server: &ServerConfig, here: &Path) -> Option<Self> {
        match server.expanded(&ProcessEnvironment).ok()?.endpoint {
            Endpoint::Child { args, cwd, env, .. } => Some(Self {
                directory: cwd.as_ref().map_or_else(|| here.to_owned(), |cwd| here.join(cwd.expose())),
                is_configured: cwd.is_some(),
                arguments: args.iter().map(|arg| arg.expose().to_owned()).collect(),
                values: env.values().map(|value| value.expose().to_owned()).collect(),
            }),
            Endpoint::Unix { .. } => Some(Self {
                directory: here.to_owned(),
                is_configured: false,
                arguments: Vec::new(),
                values: Vec::new(),
            }),
            Endpoint::Http { .. } => None,
        }
    }

    /// Returns the directories that the operator named for the server: those in its arguments, and its configured
    /// working directory. A home, what is above it, and protected places are none.
    fn roots(&self) -> Option<Roots> {
        let named = self.in_arguments().filter_map(|path| usable_folder(&path));
        let configured = self.is_configured.then(|| usable_folder(&self.directory)).flatten();
        Roots::named(&self.directory, named.chain(configured))
    }

    /// Returns the files and directories that the operator named for the server, also those in its variables. Of a file, it
    /// is the directory, in which programs put further ones beside it.
    fn named(&self) -> Vec<PathBuf> {
        let addressed = |path: PathBuf| match path.to_str().and_then(|path| path.split_once("://")) {
            Some((_, path)) => PathBuf::from(path),
            None => path,
        };
        let lines = self.arguments.iter().filter(|argument| argument.contains(char::is_whitespace));
        let in_lines = lines.flat_map(|line| words_of(line)).map(PathBuf::from);
        let in_values = self.values.iter().map(PathBuf::from);
        let named = self
            .in_arguments()
            .chain(in_lines)
            .chain(in_values)
            .map(addressed)
            .filter(|path| path.is_absolute());
        let beside = |path: PathBuf| {
            if path.is_dir() {
                return usable_folder(&path);
            }
            let is_shared = |folder: &&Path| TEMPORARY.iter().any(|shared| *folder == Path::new(shared));
            let folder = path.parent().filter(|folder| !is_shared(folder)).and_then(usable_folder);
            folder.or_else(|| path.canonicalize().ok())
        };
        let configured = self.is_configured.then(|| usable_folder(&self.directory)).flatten();
        named.filter(|path| !is_program_file(path)).filter_map(beside).chain(configured).collect()
    }

    /// Returns what the arguments are as paths, apart from those of the program itself.
    fn in_arguments(&self) -> impl Iterator<Item = PathBuf> {
        let before = std::iter::once("").chain(self.arguments.iter().map(String::as_str));
        self.arguments.iter().zip(before).filter_map(|(argument, before)| {
            let (option, value) = argument.split_once('=').unwrap_or((before, argument));
            // A directory that a program is started from says nothing of the files that it is for.
            let is_of_program = value.is_empty() || STARTS_FROM.contains(&option);
            (!is_of_program).then(|| self.directory.join(value))
        })
    }
}

/// The options behind which the directory of the program stands, not that of its data.
const STARTS_FROM: [&str; 7] = ["--directory", "--project", "--prefix", "--cwd", "--from", "-C", "--package"];

/// The directories in which all programs of a machine keep temporary files.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/private/tmp"];
