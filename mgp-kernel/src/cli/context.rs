//! The context of a command: the kernel that it is about, by its configuration, state directory and socket, and the output.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use mgp_discovery::config::model::{ClusterSettings, StoreSettings, TelemetrySettings};
use mgp_discovery::config::{
    ConfigFile, FolderFile, FolderTrust, LoadedConfig, Locations, ProcessEnvironment, ServerFault,
};
use mgp_discovery::{Config, FileReaders};
use mgp_kernel_core::Telemetry;
use mgp_kernel_core::listen::socket;
use mgp_kernel_core::settings::paths::expanded;
use mgp_kernel_core::settings::running::AcceptedConfig;
use mgp_kernel_core::state::folder::{folder_state, users_folder};
use mgp_kernel_core::terminal::{Failure, Result};

use super::output::{Global, Output};

/// The context of a command: the options that every command has, which say what kernel it is about, and its output.
#[derive(Debug, Clone)]
pub(super) struct CommandContext {
    global: Global,
    pub(super) output: Output,
    /// True if the file of the folder does not count, whether it is trusted or not.
    without_folder: bool,
}

/// The options that name the configuration a command changes.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct ConfigScope {
    /// Write to mgp.toml in this folder
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Write to the user's configuration
    #[arg(long)]
    user: bool,
}

/// A configuration, with the state directory and the socket that follow from it.
pub(super) struct EffectiveConfig {
    pub(super) config: Config,
    /// The files from which the configuration was read. Without any, it is a configuration without servers.
    pub(super) files: Vec<PathBuf>,
    /// Warnings about values that are probably mistakes.
    pub(super) warnings: Vec<String>,
    /// The servers that cannot be started, by id, with the reason. The other servers can be started.
    pub(super) faulty: BTreeMap<String, ServerFault>,
    /// The message that the folder's `mgp.toml` is not trusted and therefore not used.
    pub(super) untrusted: Option<String>,
    pub(super) state: PathBuf,
    pub(super) socket: PathBuf,
    /// True if the command is for the kernel at the socket, and for no other: somebody has named it, or the configuration
    /// has errors.
    pub(super) is_socket_named: bool,
}

impl EffectiveConfig {
    /// Warns of keys and values that have no effect, each in one line. Servers that cannot be started are told otherwise.
    pub(super) fn tell_warnings(&self, output: &Output) {
        for warning in self.warnings.iter().filter(|warning| !warning.contains("is not started")) {
            let mut lines = warning.lines();
            let (what, place) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
            let help = lines.last().and_then(|line| line.split_once("= help: "));
            let help = help.map(|(_, help)| format!("; {help}")).unwrap_or_default();
            output.warning(&format!("{what}{help} ({})", place.trim_start_matches([' ', '-', '>'])));
        }
    }

    /// Returns the files of the kernel that lie outside of its state directory.
    pub(super) fn own_files(&self) -> Vec<PathBuf> {
        self.files.iter().chain([&self.socket]).cloned().collect()
    }
}

impl CommandContext {
    pub(super) fn new(global: &Global) -> Self {
        Self { global: global.clone(), output: Output::new(global), without_folder: false }
    }

    /// Reads the configuration as it is in effect: what waits until an operator accepts it is not in it.
    pub(super) fn read(&self) -> Result<EffectiveConfig> {
        let mut read = self.read_written()?;
        read.config = AcceptedConfig::new(&read.state).in_effect(&read.config);
        Ok(read)
    }

    /// Reads the configuration as it is written, for what accepts it, checks it, or says what of it waits.
    pub(super) fn read_written(&self) -> Result<EffectiveConfig> {
        self.placed(Config::load(&self.locations(), &ProcessEnvironment)?)
    }

    /// Reads the configuration for a command to the running kernel. If it has errors, the kernel goes on with its last good one,
    /// and the command is for that kernel and no other.
    ///
    /// # Errors
    /// The configuration has errors, and no kernel answers; or only it can tell where the kernel keeps its state.
    pub(super) async fn read_to_reach(&self) -> Result<EffectiveConfig> {
        let read = self.read_written();
        let Err(failure) = &read else { return read };
        let place = self.placed(LoadedConfig::default())?;
        let is_found = place.is_socket_named || self.global.state.is_some() || !self.locations().required();
        if !is_found || socket::connect(&place.socket).await.is_err() {
            return read;
        }
        BROKEN_TOLD.call_once(|| self.output.warning(failure.message()));
        Ok(EffectiveConfig { is_socket_named: true, ..place })
    }

    /// Returns a configuration with the state directory and the socket that follow from it.
    fn placed(&self, loaded: LoadedConfig) -> Result<EffectiveConfig> {
        let LoadedConfig { mut config, warnings, files, faulty, untrusted, .. } = loaded;
        let state = if let Some(state) = &self.global.state {
            state.clone()
        } else {
            let own = config.kernel.state.as_deref().map(|state| expanded(state, env::home_dir().as_deref()));
            let own = own.or_else(|| users_folder("XDG_STATE_HOME", ".local/state")).ok_or_else(|| {
                Failure::usage("there is no home directory").hint("name the folder with `--state DIR`")
            })?;
            // The kernel of a folder with a file of its own runs beside the user's, which has the user's addresses and
            // shares the user's decisions.
            if let Some(file) = self.folder() {
                config.listen.http = None;
                (config.store, config.cluster) = (StoreSettings::default(), ClusterSettings::default());
                folder_state(&own, file.path())
            } else {
                own
            }
        };
        // Each state directory has a socket of its own, or two kernels would use the same one.
        let is_socket_named = self.global.socket.is_some();
        let socket = self.global.socket.clone().unwrap_or_else(|| socket::default_path(&state));
        let warnings = warnings.iter().map(ToString::to_string).collect();
        let untrusted = untrusted.map(|file| file.to_string());
        Ok(EffectiveConfig { config, files, warnings, faulty, untrusted, state, socket, is_socket_named })
    }

    /// Returns the file of this folder if the folder has a kernel of its own: the file was trusted, and may have changed
    /// since.
    fn folder(&self) -> Option<FolderFile> {
        let locations = self.locations();
        let file = FolderFile::read(locations.folder_file()?).ok().flatten();
        file.filter(|file| locations.trust_of(file) != FolderTrust::Never)
    }

    /// Returns the place of the same kernel, whichever files are trusted later: that of the user takes nothing from a
    /// folder.
    pub(super) fn settled(&self) -> Self {
        Self { without_folder: self.folder().is_none(), ..self.clone() }
    }

    /// Returns the configuration file that commands change: the one that `scope` chooses, or else that of this folder if it
    /// is there and trusted, or else the user's.
    pub(super) fn to_change_in(&self, scope: ConfigScope) -> Result<PathBuf> {
        let locations = self.locations();
        let (folder, own) = (locations.folder_file(), locations.own_file());
        if (scope.project || scope.user) && locations.required() {
            let named = own.map(|file| file.display().to_string()).unwrap_or_default();
            let what = format!("`--project` and `--user` do not apply: the configuration is {named}");
            return Err(Failure::usage(what)
                .hint("leave `--project` and `--user` out, or `--config` and MGP_CONFIG_PATH"));
        }
        let file = match scope {
            ConfigScope { project: true, .. } => folder,
            ConfigScope { user: true, .. } => own,
            _ => folder.filter(|file| is_trusted(&locations, file)).or(own),
        };
        file.map(Path::to_path_buf).ok_or_else(|| {
            Failure::usage("there is no home directory for a configuration")
                .hint("name the file with `--config FILE`")
        })
    }

    /// Returns the configuration file to create: the one that is named explicitly, or else the project's or the user's.
    pub(super) fn to_make(&self, project: bool) -> Result<PathBuf> {
        self.to_change_in(ConfigScope { project, user: !project && !self.locations().required() })
    }

    /// Changes the configuration in the file at `path`, which stays trusted if it was.
    pub(super) fn change(&self, path: &Path, edit: impl FnOnce(&mut ConfigFile) -> Result<()>) -> Result<()> {
        let mut file = ConfigFile::open(path)?;
        edit(&mut file)?;
        file.save(FileReaders::Kept)?;
        self.keep_trust(file.path(), file.text_before(), file.text())
    }

    /// Trusts a folder's file whose text a command changed from `before` to `after`, if the file was trusted or empty
    /// before. Other files need no trust.
    pub(super) fn keep_trust(&self, path: &Path, before: &str, after: &str) -> Result<()> {
        let locations = self.locations();
        let Some(trusted) = locations.trusted().filter(|_| locations.folder_file() == Some(path)) else {
            return Ok(());
        };
        let noted = FolderFile::written(path, before).and_then(|file| {
            if !before.trim().is_empty() && trusted.trust_of(&file) != FolderTrust::Trusted {
                return Ok(());
            }
            trusted.trust(&FolderFile::written(path, after)?)
        });
        noted.map_err(|error| {
            Failure::usage(format!("{} was written, and could not be trusted: {error}", path.display()))
                .hint("`mgp trust` trusts the file")
        })
    }

    /// Warns if the file of this folder exists but is not trusted and therefore not used.
    pub(super) fn tell_untrusted(&self) {
        if let Some(file) = self.locations().untrusted() {
            self.output.warning(&file.to_string());
        }
    }

    /// Returns the options that let a kernel in another folder use the same places, as far as somebody has named them.
    pub(super) fn named(&self) -> Vec<(&'static str, PathBuf)> {
        let locations = self.locations();
        let config = locations.own_file().filter(|_| locations.required()).map(Path::to_path_buf);
        let (state, socket) = (self.global.state.clone(), self.global.socket.clone());
        let options = [("--config", config), ("--state", state), ("--socket", socket)];
        options.into_iter().filter_map(|(option, path)| Some((option, path?))).collect()
    }

    /// Returns the options that let a process in the same folder use the same places and write the same amount of log.
    pub(super) fn options(&self) -> Vec<OsString> {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let named = self.named().into_iter();
        let mut options: Vec<OsString> =
            named.flat_map(|(option, path)| [option.into(), absolute(path).into_os_string()]).collect();
        options.extend((0..self.global.verbose).map(|_| "-v".into()));
        options.extend(self.global.quiet.then(|| "-q".into()));
        options
    }

    /// Returns whether a kernel that is started in another folder has the same configuration.
    pub(super) fn is_found_anywhere(&self) -> bool {
        let locations = self.locations();
        !locations.folder_file().is_some_and(|file| is_trusted(&locations, file))
    }

    /// Starts the log on standard error, at the level of the command line or else at the configured level.
    pub(super) fn start_log(&self, settings: &TelemetrySettings) -> Result<Telemetry> {
        let chosen = match (self.global.quiet, self.global.verbose) {
            (true, _) => Some("error"),
            (false, 0) => None,
            (false, 1) => Some("info"),
            (false, _) => Some("info,mgp=trace"),
        };
        Ok(Telemetry::start(settings, chosen)?)
    }

    /// Starts the log of a command that runs no kernel for clients, if the options or `MGP_LOG` ask for it. Otherwise such
    /// a command logs nothing, because it prints what it has to say.
    pub(super) fn start_log_if_asked(&self) -> Result<Option<Telemetry>> {
        let is_asked = self.global.verbose > 0 || env::var_os("MGP_LOG").is_some();
        is_asked.then(|| self.start_log(&TelemetrySettings::default())).transpose()
    }

    /// Returns the files that decide the configuration, including files that do not exist yet.
    pub(super) fn watched(&self) -> Vec<PathBuf> {
        let locations = self.locations();
        let folder = locations.folder_file().and_then(|file| FolderFile::written(file, "").ok());
        let note = folder.and_then(|file| Some(locations.trusted()?.note_of(file.path())));
        locations.files().map(Path::to_path_buf).chain(note).collect()
    }

    /// Returns the places where the configuration may lie.
    pub(super) fn locations(&self) -> Locations {
        if let Some(file) = &self.global.config {
            return Locations::only(file);
        }
        let here = env::current_dir().unwrap_or_else(|_| Path::new(".").to_owned());
        let found = Locations::from_env(&ProcessEnvironment, &here);
        if self.without_folder && !found.required() {
            return Locations::of(None, found.own_file().map(Path::to_path_buf));
        }
        found
    }
}

/// The warning of a configuration with errors, which a command that reads it again does not repeat.
static BROKEN_TOLD: std::sync::Once = std::sync::Once::new();

/// Returns whether a folder's file exists and is trusted.
fn is_trusted(locations: &Locations, file: &Path) -> bool {
    let file = FolderFile::read(file).ok().flatten();
    file.is_some_and(|file| locations.trust_of(&file) == FolderTrust::Trusted)
}
