use std::env;
use std::path::{Path, PathBuf};

use mgp_discovery::Config;

use super::args::Global;
use super::exit::Failure;
use super::log::Verbosity;
use crate::operator::socket;

/// Where the configuration, the state and the socket of the kernel are that a command is about.
#[derive(Debug)]
pub(super) struct Place {
    global: Global,
}

/// A configuration, and what follows from it.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) config: Config,
    /// Where it was read; nothing if there is none, which is a configuration without servers.
    pub(super) file: Option<PathBuf>,
    pub(super) state: PathBuf,
    pub(super) socket: PathBuf,
}

impl Place {
    pub(super) fn new(global: &Global) -> Self {
        Self { global: global.clone() }
    }

    /// Reads the configuration.
    pub(super) fn read(&self) -> Result<Configured, Failure> {
        let file = self.found();
        let config = match &file {
            None => Config::default(),
            Some(path) => parse(path)?,
        };
        let state = self.global.state.clone().or_else(|| config.kernel.state.as_deref().map(expanded));
        // A state of one's own has a socket of its own, or two kernels would take each other's.
        let beside = state.as_ref().map(|state| state.join("mgp.sock"));
        let state = match state {
            Some(state) => state,
            None => home("XDG_STATE_HOME", ".local/state")?.join("mgp"),
        };
        let socket = self.global.socket.clone().or_else(|| config.kernel.socket.as_deref().map(expanded));
        let socket = socket.or(beside).unwrap_or_else(|| socket::default_path(&state));
        Ok(Configured { config, file, state, socket })
    }

    pub(super) fn verbosity(&self) -> Verbosity {
        match (self.global.quiet, self.global.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Usual,
            (false, 1) => Verbosity::More,
            (false, _) => Verbosity::All,
        }
    }

    /// The configuration that commands change: the one that is read, or the user's.
    pub(super) fn to_change(&self) -> Result<PathBuf, Failure> {
        match self.found() {
            Some(path) => Ok(path),
            None => Ok(home("XDG_CONFIG_HOME", ".config")?.join("mgp").join(FILE)),
        }
    }

    fn found(&self) -> Option<PathBuf> {
        if let Some(path) = &self.global.config {
            return Some(path.clone());
        }
        let here = env::current_dir().ok();
        let above = here.iter().flat_map(|here| here.ancestors()).map(|folder| folder.join(FILE));
        let of_user = home("XDG_CONFIG_HOME", ".config").ok().map(|folder| folder.join("mgp").join(FILE));
        above.chain(of_user).find(|path| path.is_file())
    }
}

fn parse(path: &Path) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("{} cannot be read: {error}", path.display()))
            .hint("`mgp add NAME -- COMMAND` writes a first one; `--config` names another place")
    })?;
    toml_edit::de::from_str(&text)
        .map_err(|error| Failure::usage(format!("{}: {}", path.display(), error.to_string().trim_end())))
}

fn home(variable: &str, otherwise: &str) -> Result<PathBuf, Failure> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let of = |name: &str| env::var_os(name).map(PathBuf::from).filter(absolute);
    of(variable)
        .or_else(|| of("HOME").or_else(|| of("USERPROFILE")).map(|home| home.join(otherwise)))
        .ok_or_else(|| Failure::usage("there is no home directory").hint("say where: `--config`, `--state`"))
}

/// A path of the configuration, where `~` is the home directory.
fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

const FILE: &str = "mgp.toml";
