use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::endpoint::ServerFault;
use super::environment::Environment;
use super::locations::Locations;
use super::model::Config;
use super::problem::{ConfigError, Problem, Severity};
use super::semantics;
use super::shape_check;
use super::source::{Place, Source};

/// A configuration, and what is to be known about where it came from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// The configuration, of all files together, with references as they are written.
    pub config: Config,
    /// What is probably not meant.
    pub warnings: Vec<Problem>,
    /// The files that were there, the one that wins first. Empty if there was none, which is no error.
    pub files: Vec<PathBuf>,
    /// Which file a server comes from, by id.
    pub sources: BTreeMap<String, PathBuf>,
    /// Servers that cannot be started, and why; the others can. Those that are switched off are not looked at.
    pub faulty: BTreeMap<String, ServerFault>,
}

impl Config {
    /// Reads the files that there are.
    ///
    /// Servers are merged by id: where both files have one, that of the project's file holds, whole. So with every other
    /// section.
    ///
    /// # Errors
    ///
    /// If any file is broken: then nothing of either is used.
    pub fn load(locations: &Locations, environment: &dyn Environment) -> Result<Loaded, ConfigError> {
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        for file in locations.files() {
            match read(file, locations.required()) {
                Ok(Some(text)) => match ReadFile::parse(file, &text) {
                    Ok(read) => files.push(read),
                    Err(error) => problems.extend_from_slice(error.problems()),
                },
                Ok(None) => {}
                Err(error) => problems.extend_from_slice(error.problems()),
            }
        }
        if problems.is_empty() { Ok(merge(files, environment)) } else { Err(ConfigError::new(problems)) }
    }

    /// Reads a text as one would find in `file`, and tells what is probably not meant.
    pub fn parse(file: &Path, text: &str) -> Result<(Self, Vec<Problem>), ConfigError> {
        ReadFile::parse(file, text).map(|mut read| {
            let ids: BTreeSet<&str> = read.config.servers.iter().map(|server| server.id.as_str()).collect();
            let names = semantics::check_names(&read.config, &read.source, &ids);
            read.warnings.extend(names);
            (read.config, read.warnings)
        })
    }
}

/// Configuration is written by people, who do not write this much.
const LONGEST_FILE: u64 = 4 << 20;

struct ReadFile {
    config: Config,
    warnings: Vec<Problem>,
    source: Source,
}

impl ReadFile {
    fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let source = Source::parse(file, text)?;
        let (errors, mut warnings): (Vec<_>, Vec<_>) =
            shape_check::check(&source).into_iter().partition(|problem| problem.severity == Severity::Error);
        if !errors.is_empty() {
            return Err(ConfigError::new(errors));
        }
        let config: Config = toml_edit::de::from_document(source.document().clone()).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            Problem::at(Severity::Error, file, text, span, error.message().to_owned())
        })?;
        let (errors, more): (Vec<_>, Vec<_>) = semantics::check(&config, &source)
            .into_iter()
            .partition(|problem| problem.severity == Severity::Error);
        if !errors.is_empty() {
            return Err(ConfigError::new(errors));
        }
        warnings.extend(more);
        Ok(Self { config, warnings, source })
    }
}

fn merge(files: Vec<ReadFile>, environment: &dyn Environment) -> Loaded {
    let mut loaded = Loaded::default();
    let known: Vec<String> =
        files.iter().flat_map(|read| read.config.servers.iter().map(|server| server.id.clone())).collect();
    let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
    let mut said: BTreeSet<String> = BTreeSet::new();
    for ReadFile { config, warnings, source } in files {
        loaded.warnings.extend(warnings);
        loaded.warnings.extend(semantics::check_names(&config, &source, &known));
        for (section, _) in source.document().iter().filter(|(name, _)| *name != "servers") {
            if said.contains(section) {
                let what = format!("the project has a section `{section}`, which holds instead of this");
                loaded.warnings.push(source.key(Severity::Warning, &Place::default().key(section), what));
            }
        }
        for (index, server) in config.servers.iter().enumerate() {
            if loaded.sources.contains_key(&server.id) {
                continue;
            }
            loaded.sources.insert(server.id.clone(), source.file().into());
            if let Some(fault) = server.enabled.then(|| server.expanded(environment).err()).flatten() {
                loaded.warnings.push(unusable(&source, index, &server.id, &fault));
                loaded.faulty.insert(server.id.clone(), fault);
            }
        }
        let own: Vec<String> = source.document().iter().map(|(section, _)| section.to_owned()).collect();
        loaded.config.fill(config, |section| said.contains(section));
        said.extend(own);
        loaded.files.push(source.file().into());
    }
    if let Err(fault) = loaded.config.telemetry.expanded_otlp_headers(environment) {
        let file = loaded.files.first().cloned().unwrap_or_default();
        loaded.warnings.push(Problem::of_file(
            Severity::Warning,
            &file,
            format!("nothing is sent by OTLP: {fault}"),
        ));
    }
    loaded
}

/// That a server cannot be started, with the place of the reason.
fn unusable(source: &Source, index: usize, id: &str, fault: &ServerFault) -> Problem {
    let place = Place::default().key("servers").index(index);
    let (key, what) = match fault {
        ServerFault::UndefinedVariable(undefined) => {
            (undefined.key.as_str(), format!("the variable {} is not set", undefined.variable))
        }
        ServerFault::BadReference { key, error } => (key.as_str(), error.to_string()),
        ServerFault::Address { key } => (key.as_str(), "the variables in this make no address".into()),
        ServerFault::Endpoint(error) => ("id", error.to_string()),
    };
    let problem = source.value(Severity::Warning, &place.path(key), format!("`{id}` is not started: {what}"));
    match fault {
        ServerFault::UndefinedVariable(undefined) => {
            let variable = &undefined.variable;
            problem.instead(format!("set {variable}, or write `${{{variable}:-otherwise}}`"))
        }
        _ => problem,
    }
}

fn read(file: &Path, required: bool) -> Result<Option<String>, ConfigError> {
    let refuse = |what: String| Problem::of_file(Severity::Error, file, what);
    match read_bounded(file) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes());
                Err(Problem::at(Severity::Error, file, &text, good..good + 1, "this is not UTF-8")
                    .instead("save the file as UTF-8")
                    .into())
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound && !required => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(refuse("there is no such file".into())
            .instead("make it, or unset MGP_CONFIG_PATH if that names it")
            .into()),
        Err(error) => Err(refuse(format!("it cannot be read: {error}")).into()),
    }
}

fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for somebody to write into it.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(LONGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(io::Error::other("it is longer than 4 MiB"));
    }
    Ok(bytes)
}
