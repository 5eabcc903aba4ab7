//! Reading the configuration, from all files together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::endpoint::ServerFault;
use super::locations::Locations;
use super::merge::{Merge, merge};
use super::model::Config;
use super::problem::{ConfigError, Problem, Severity};
use super::semantics;
use super::shape_check;
use super::source::{ConfigSource, ValuePath};
use super::trust::{FolderFile, UntrustedFile, read_bounded};
use crate::atomic_file::if_found;
use crate::secrets::Environment;

/// A configuration, and the files that it was read from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoadedConfig {
    /// The configuration, of all files together, with references as they are written.
    pub config: Config,
    /// Values and keys that are probably not meant.
    pub warnings: Vec<Problem>,
    /// The files that exist and are used, the folder's file first. Empty if there was none, which is not an error.
    pub files: Vec<PathBuf>,
    /// The file in which each server is declared, by the server's id.
    pub sources: BTreeMap<String, PathBuf>,
    /// The servers that cannot be started, with the reason, by id. Other servers start. Disabled servers are not
    /// checked.
    pub faulty: BTreeMap<String, ServerFault>,
    /// The folder's file, if it exists and is not used.
    pub untrusted: Option<UntrustedFile>,
    /// The keys of a trusted folder's file that are used, and those that are ignored.
    pub folder: Option<FolderKeys>,
}

/// The keys of a folder's file that are used, and those that are ignored, such as `access.rules[0]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderKeys {
    /// The keys that are used.
    pub applied: Vec<String>,
    /// The keys that are ignored, with the reason.
    pub ignored: Vec<(String, &'static str)>,
}

impl Config {
    /// Reads the configuration files: the file that the user named, or the user's file with the keys that a trusted
    /// folder's file may add. `docs/configuration.md` lists these keys. The file of an untrusted folder is not
    /// parsed.
    ///
    /// # Errors
    /// A file that is used has errors. Then no part of any file is used.
    pub fn load(locations: &Locations, environment: &dyn Environment) -> Result<LoadedConfig, ConfigError> {
        let (folder, untrusted) = match locations.trusted_file() {
            Ok(folder) => (folder, None),
            Err(untrusted) => (None, Some(untrusted)),
        };
        let loaded = Self::load_with(locations, folder.as_ref(), environment)?;
        Ok(LoadedConfig { untrusted, ..loaded })
    }

    /// Reads the user's file, with the keys that `folder` adds to it once the user trusts it.
    ///
    /// # Errors
    /// Fails where [`load`](Self::load) fails.
    pub fn load_with(
        locations: &Locations,
        folder: Option<&FolderFile>,
        environment: &dyn Environment,
    ) -> Result<LoadedConfig, ConfigError> {
        let mut problems = Vec::new();
        let mut read_or_noted = |read: Result<Option<ReadFile>, ConfigError>| {
            read.unwrap_or_else(|error| {
                problems.extend_from_slice(error.problems());
                None
            })
        };
        let own = locations.own_file().map_or(Ok(None), |path| {
            read(path, locations.required())?.map(|text| ReadFile::parse(path, &text)).transpose()
        });
        let folder = folder.map(|file| ReadFile::parse(&file.path, &utf8(&file.path, &file.bytes)?));
        let (own, folder) = (read_or_noted(own), read_or_noted(folder.transpose()));
        let groups = own.iter().flat_map(|own| own.config.group_names()).collect();
        let files = [&own, &folder].into_iter().flatten();
        problems.extend(files.flat_map(|read| semantics::check_groups(&read.config, &read.source, &groups)));
        if !problems.is_empty() {
            return Err(ConfigError::new(problems));
        }
        let mut loaded = joined(own, folder, environment);
        loaded.warnings.extend(locations.misnamed().map(|file| {
            let what =
                "this file is not read: the configuration of a user is `servers.toml` in the same folder";
            Problem::of_file(Severity::Warning, &file, what)
        }));
        Ok(loaded)
    }

    /// Reads a text as the contents of `file`, and returns the configuration with its warnings.
    pub fn parse(file: &Path, text: &str) -> Result<(Self, Vec<Problem>), ConfigError> {
        let mut read = ReadFile::parse(file, text)?;
        let groups = read.config.group_names().collect();
        let unknown = semantics::check_groups(&read.config, &read.source, &groups);
        if !unknown.is_empty() {
            return Err(ConfigError::new(unknown));
        }
        let ids: BTreeSet<&str> = read.config.servers.iter().map(|server| server.id.as_str()).collect();
        let names = semantics::check_names(&read.config, &read.source, &ids);
        read.warnings.extend(names);
        Ok((read.config, read.warnings))
    }
}

struct ReadFile {
    config: Config,
    warnings: Vec<Problem>,
    source: ConfigSource,
}

impl ReadFile {
    fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let source = ConfigSource::parse(file, text)?;
        let (errors, mut warnings): (Vec<_>, Vec<_>) =
            shape_check::check(&source).into_iter().partition(|problem| problem.severity == Severity::Error);
        if !errors.is_empty() {
            return Err(ConfigError::new(errors));
        }
        let config: Config = toml_edit::de::from_document(source.document.clone()).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            Problem::at(Severity::Error, file, text, span, error.message().to_owned())
        })?;
        let (errors, more): (Vec<_>, Vec<_>) = semantics::check(&config, &source)
            .into_iter()
            .partition(|problem| problem.severity == Severity::Error);
        if !errors.is_empty() {
            // A misspelled key is often the reason why another one seems to be missing.
            let misspelled = warnings.into_iter().filter(|warning| warning.instead.is_some());
            return Err(ConfigError::new(errors.into_iter().chain(misspelled).collect()));
        }
        warnings.extend(more);
        Ok(Self { config, warnings, source })
    }
}

fn joined(own: Option<ReadFile>, folder: Option<ReadFile>, environment: &dyn Environment) -> LoadedConfig {
    let mut loaded = LoadedConfig::default();
    let files = || [&folder, &own].into_iter().flatten();
    let servers = files().flat_map(|read| &read.config.servers);
    let known: BTreeSet<&str> = servers.map(|server| server.id.as_str()).collect();
    for read in files() {
        loaded.files.push(read.source.file.clone());
        loaded.warnings.extend(read.warnings.iter().cloned());
        loaded.warnings.extend(semantics::check_names(&read.config, &read.source, &known));
    }
    if let Some(ReadFile { config, source, .. }) = own {
        loaded.config = config.clone();
        loaded.config.key_places.0 = source.key_places(|_| true);
        loaded.add_servers(&config, &source, environment);
    }
    if let Some(ReadFile { config, source, .. }) = folder {
        let declared = config.clone();
        let mut places = std::mem::take(&mut loaded.config.key_places.0);
        let user = std::mem::take(&mut loaded.config);
        let Merge { config, applied, ignored, .. } = merge(user, config, &source);
        loaded.config = config;
        let is_used = |place: &ValuePath| {
            let is_within = |part: &ValuePath| place.is_within(part);
            applied.iter().any(is_within) && !ignored.iter().any(|(part, _)| is_within(part))
        };
        for (key, place) in source.key_places(is_used) {
            let own = places.remove(&key).map(|own| format!("{own} and ")).unwrap_or_default();
            places.insert(key, own + &place);
        }
        loaded.config.key_places.0 = places;
        loaded.add_servers(&declared, &source, environment);
        for (place, reason) in &ignored {
            let problem = source.key(Severity::Warning, place, format!("`{place}` is ignored"));
            loaded.warnings.push(problem.instead(reason.describe()));
        }
        loaded.folder = Some(FolderKeys {
            applied: applied.iter().map(ToString::to_string).collect(),
            ignored: ignored.iter().map(|(place, reason)| (place.to_string(), reason.describe())).collect(),
        });
    }
    let headers = loaded.config.telemetry.expanded_otlp_headers(environment).err();
    let push = loaded.config.audit.push.as_ref().and_then(|push| push.expanded(environment).err());
    for (fault, what) in [(headers, "no traces are sent by OTLP"), (push, "the record is not pushed")] {
        let Some(fault) = fault else { continue };
        let file = loaded.files.last().cloned().unwrap_or_default();
        loaded.warnings.push(Problem::of_file(Severity::Warning, &file, format!("{what}: {fault}")));
    }
    loaded
}

impl LoadedConfig {
    /// Records the file of each server, and the servers that cannot be started.
    fn add_servers(&mut self, config: &Config, source: &ConfigSource, environment: &dyn Environment) {
        for (index, server) in config.servers.iter().enumerate() {
            // Servers that a folder declares and may not have are left out.
            if self.sources.contains_key(&server.id) || self.config.server(&server.id).is_none() {
                continue;
            }
            self.sources.insert(server.id.clone(), source.file.clone());
            if let Some(fault) = server.enabled.then(|| server.expanded(environment).err()).flatten() {
                self.warnings.push(unusable(source, index, &server.id, &fault));
                self.faulty.insert(server.id.clone(), fault);
            }
        }
    }
}

/// Returns the warning that a server cannot be started, with the place of the reason.
fn unusable(source: &ConfigSource, index: usize, id: &str, fault: &ServerFault) -> Problem {
    let place = ValuePath::default().key("servers").index(index).path(&fault.key);
    let what = format!("`{id}` is not started: {}", fault.what);
    fault.instead.iter().fold(source.value(Severity::Warning, &place, what), Problem::instead)
}

fn read(file: &Path, required: bool) -> Result<Option<String>, ConfigError> {
    let refuse = |what: String| Problem::of_file(Severity::Error, file, what);
    match if_found(read_bounded(file)) {
        Ok(Some(bytes)) => utf8(file, &bytes).map(Some),
        Ok(None) if !required => Ok(None),
        Ok(None) => Err(refuse("there is no such file".into())
            .instead("create the file, or unset MGP_CONFIG_PATH if it names this file")
            .into()),
        Err(error) => Err(refuse(format!("the file cannot be read: {error}")).into()),
    }
}

fn utf8(file: &Path, bytes: &[u8]) -> Result<String, ConfigError> {
    str::from_utf8(bytes).map(str::to_owned).map_err(|error| {
        let good = error.valid_up_to();
        let text = String::from_utf8_lossy(bytes);
        Problem::at(Severity::Error, file, &text, good..good + 1, "the file is not UTF-8 from here on")
            .instead("save the file as UTF-8")
            .into()
    })
}
