//! The commands that start packages, and the demands of packages beyond being started.

use std::path::Path;

use mgp_types::hex;
use sha2::{Digest as _, Sha256};

use super::document::{Argument, ArgumentKind, Input, Package};
use super::fill::{Filler, authored};
use super::{LaunchError, LaunchResult, PreparedLaunch, left_out, steers_programs};
use crate::config::model::ServerConfig;
use crate::names::is_variable;
use crate::registry::{table, visible};

pub(super) fn launch(package: &Package, filler: &mut Filler<'_>) -> LaunchResult<PreparedLaunch> {
    let registry = PackageRegistry::of(package)?;
    if let Some(transport) = package.transport.as_ref().filter(|transport| transport.kind != "stdio") {
        return Err(LaunchError::Refused(format!(
            "the package is reached by {} once it runs: start the server yourself and add its url",
            visible(&transport.kind)
        )));
    }
    let program = program(package, registry)?;
    let name = registry.package_name(package, program)?;
    let is_container = registry == PackageRegistry::Oci;
    let runtime = arguments(&package.runtime_arguments, "runtime_argument", filler)?;
    check_options((!is_container).then_some([&name, &package.identifier]), &runtime)?;
    let arguments = arguments(&package.arguments, "argument", filler)?;
    let mut config = ServerConfig { command: Some(program.to_owned()), ..ServerConfig::default() };
    let mut notes = Vec::new();
    for variable in &package.environment_variables {
        if !is_variable(&variable.name) {
            return Err(LaunchError::malformed("name of a variable", &variable.name));
        }
        if steers_programs(&variable.name) {
            notes.push(left_out(&variable.name));
        } else if let Some(value) = filler.one(&variable.name, &variable.input)? {
            config.env.insert(variable.name.clone(), value);
        }
    }
    if package.version.as_deref().is_none_or(|version| version == "latest")
        && !registry.is_versioned(&package.identifier)
    {
        notes.push("no version is named: the newest version is started".to_owned());
    }
    let permissions = if is_container { requests(&runtime) } else { Vec::new() };
    let image = (is_container && !name.contains('@')).then(|| name.clone());
    let host = name.split_once('/').map(|(host, _)| host).filter(|host| is_container && is_host(host));
    let address = host.map(|host| format!("https://{host}"));
    let index = index(package, registry)?;
    let foreign_registry = index.get(1).cloned();
    config.args = match registry {
        PackageRegistry::Npm | PackageRegistry::PyPi => {
            let is_answered = runtime.iter().any(|word| word == "-y" || word == "--yes");
            let yes = (program == "npx" && !is_answered).then_some("-y");
            let run = (program == "pipx").then_some("run");
            let own = [yes, run].into_iter().flatten().map(str::to_owned).chain(index);
            // Some documents name the package among the runtime arguments as well.
            let named = runtime.iter().any(|word| *word == name || *word == package.identifier);
            own.chain(runtime).chain((!named).then_some(name)).chain(arguments).collect()
        }
        PackageRegistry::NuGet => {
            let separator = (!arguments.is_empty()).then(|| "--".to_owned());
            let yes = "--yes".to_owned();
            [name, yes].into_iter().chain(index).chain(runtime).chain(separator).chain(arguments).collect()
        }
        PackageRegistry::Oci => {
            let own = ["run", "-i", "--rm"].map(str::to_owned).into_iter();
            // Some documents have the word `run` as well.
            let said = usize::from(runtime.first().is_some_and(|word| word == "run"));
            let runtime = runtime.into_iter().skip(said);
            let passed = config.env.keys().flat_map(|name| ["-e".to_owned(), name.clone()]);
            own.chain(passed).chain(runtime).chain([name]).chain(arguments).collect()
        }
    };
    Ok(PreparedLaunch { config, permissions, secrets: Vec::new(), image, address, foreign_registry, notes })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PackageRegistry {
    Npm,
    PyPi,
    NuGet,
    Oci,
}

impl PackageRegistry {
    fn of(package: &Package) -> LaunchResult<Self> {
        match package.registry_type.to_ascii_lowercase().as_str() {
            "npm" => Ok(Self::Npm),
            "pypi" => Ok(Self::PyPi),
            "nuget" => Ok(Self::NuGet),
            "oci" | "docker" => Ok(Self::Oci),
            "mcpb" => Err(LaunchError::Refused(
                "a bundle is unpacked before its server is started: `mgp install` does that".to_owned(),
            )),
            other => Err(LaunchError::Refused(format!(
                "packages from `{}` are not supported: the registry is one of npm, pypi, nuget, oci, mcpb",
                visible(other)
            ))),
        }
    }

    /// Returns the name of the registry, the programs that start packages of it, the usual one first, and the option for
    /// its index, with the path of the index below the front page, and the digest of the front page of the public one: its
    /// name is for package managers to know.
    const fn facts(self) -> (&'static str, &'static [&'static str], Option<[&'static str; 3]>) {
        match self {
            Self::Npm => (
                "npm",
                &["npx", "bunx"],
                Some(["--registry", "", "036b43b16792c643378e95923ed2f4cc78e800de141b764aeea70d47580396df"]),
            ),
            Self::PyPi => (
                "pypi",
                &["uvx", "pipx"],
                Some([
                    "--index-url",
                    "/simple",
                    "b4c93a4591f5e6ddfc66b8a35a37ab125d5d352002bffbc5e9293a87fe06a8ca",
                ]),
            ),
            Self::NuGet => (
                "nuget",
                &["dnx"],
                Some([
                    "--source",
                    "/v3/index.json",
                    "d63b5c53b226459c28f82c9210351684e8b2ddd4f7e7c6066180c73e6c81458f",
                ]),
            ),
            Self::Oci => ("oci", &["docker", "podman"], None),
        }
    }

    /// Returns whether the name has a version in it.
    fn is_versioned(self, name: &str) -> bool {
        let tagged = self == Self::Oci && name.rsplit('/').next().is_some_and(|last| last.contains(':'));
        // An `@` at the start belongs to the name.
        tagged || name.rfind('@').is_some_and(|at| at > 0)
    }

    /// Returns whether the registry has names of this form. Others mean files, addresses and repositories to programs.
    fn has_name(self, name: &str) -> bool {
        match (self, name.strip_prefix('@').map(|scoped| scoped.split_once('/'))) {
            (Self::Npm, Some(Some((scope, name)))) => is_word(scope, "._-~") && is_word(name, "._-~"),
            (Self::Npm, None) => is_word(name, "._-~"),
            (Self::PyPi | Self::NuGet, None) => is_word(name, "._-"),
            // The host may have a port, and the last part a tag.
            (Self::Oci, None) => name.split('/').all(|part| is_word(part, "._-:")),
            _ => false,
        }
    }

    /// Returns the package with its version, in the form of the program.
    fn package_name(self, package: &Package, program: &str) -> LaunchResult<String> {
        let whole = package.identifier.as_str();
        // An `@` at the start belongs to the name.
        let own = whole.rfind('@').filter(|at| *at > 0).map(|at| (&whole[..at], &whole[at + 1..]));
        let (name, version) = own.unwrap_or_else(|| (whole, package.version.as_deref().unwrap_or_default()));
        if !self.has_name(name) {
            return Err(LaunchError::malformed("name of a package", whole));
        }
        if !version.is_empty() && !is_word(version, if self == Self::Oci { "._-:" } else { "._-+!" }) {
            return Err(LaunchError::malformed("version", version));
        }
        Ok(match self {
            _ if version.is_empty() || self.is_versioned(whole) => whole.to_owned(),
            Self::Oci => image(package, name, version)?,
            Self::PyPi if program == "pipx" => format!("{name}=={version}"),
            _ => format!("{name}@{version}"),
        })
    }
}

fn program(package: &Package, registry: PackageRegistry) -> LaunchResult<&'static str> {
    let (name, allowed, _) = registry.facts();
    let Some(hint) = package.runtime_hint.as_deref().filter(|hint| !hint.is_empty()) else {
        return Ok(allowed[0]);
    };
    let program = allowed.iter().find(|program| **program == hint);
    program.copied().ok_or_else(|| {
        let (hint, allowed) = (visible(hint), allowed.join(", "));
        LaunchError::Refused(format!("`{hint}` is not used for packages from {name}: use one of {allowed}"))
    })
}

/// Returns the image of a container: `ghcr.io/someone/it:1.0`.
fn image(package: &Package, name: &str, version: &str) -> LaunchResult<String> {
    let host = package.registry_base_url.as_deref().unwrap_or_default();
    let host = host.trim_start_matches("https://").trim_end_matches('/');
    let with_host = name.split_once('/').is_some_and(|(first, _)| is_host(first));
    let name = if host.is_empty() || with_host || host == "docker.io" {
        name.to_owned()
    } else if is_word(host, ".-:") {
        format!("{host}/{name}")
    } else {
        return Err(LaunchError::malformed("registry", host));
    };
    Ok(if version.contains(':') { format!("{name}@{version}") } else { format!("{name}:{version}") })
}

/// Returns whether the first part of the name of an image is the host of its registry.
fn is_host(first: &str) -> bool {
    first == "localhost" || first.contains(['.', ':'])
}

/// Returns the options for the index of the package, if the author names one that is not the public one.
fn index(package: &Package, registry: PackageRegistry) -> LaunchResult<Vec<String>> {
    // Registries are named by their front page, and programs want the index below it.
    let Some([option, below, public]) = registry.facts().2 else { return Ok(Vec::new()) };
    let url = package.registry_base_url.as_deref().map(|url| url.trim_end_matches('/'));
    let is_public = |url: &str| {
        let front = url.match_indices('/').nth(2).map_or(url, |(end, _)| &url[..end]);
        hex::<64>(&Sha256::digest(front)) == public.as_bytes()
    };
    let Some(url) = url.filter(|url| !url.is_empty() && !is_public(url)) else { return Ok(Vec::new()) };
    authored("registryBaseUrl", url)?;
    if !url.starts_with("https://") {
        return Err(LaunchError::malformed("https address of a registry", url));
    }
    let is_page = url.matches('/').count() == 2;
    Ok(vec![option.to_owned(), if is_page { format!("{url}{below}") } else { url.to_owned() }])
}

/// Returns whether no program takes a text for an option, a path or an address, and no shell for syntax.
fn is_word(text: &str, others: &str) -> bool {
    let is_archive =
        Path::new(text).extension().is_some_and(|ending| ["tgz", "tar", "gz"].iter().any(|it| ending == *it));
    let fits = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    let is_bounded = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 512
        && text.starts_with(is_bounded)
        && text.ends_with(is_bounded)
        && text.chars().all(fits)
        && !is_archive
}

const MAX_ARGUMENTS: usize = 256;

fn arguments(arguments: &[Argument], otherwise: &str, filler: &mut Filler<'_>) -> LaunchResult<Vec<String>> {
    if arguments.len() > MAX_ARGUMENTS {
        return Err(LaunchError::too_large("arguments", MAX_ARGUMENTS));
    }
    let mut words = Vec::new();
    for argument in arguments {
        let option = argument.name.as_deref().filter(|_| argument.kind == ArgumentKind::Named);
        let hint = argument.value_hint.as_deref().or(option).unwrap_or(otherwise);
        let asked = hint.trim_start_matches('-');
        let Some(option) = option else {
            words.extend(filler.many(asked, &argument.input, argument.is_repeated)?);
            continue;
        };
        authored("the name of an argument", option)?;
        let input = &argument.input;
        if is_flag(argument) {
            words.push(option.to_owned());
            continue;
        }
        let asks = input.value.is_none();
        for value in filler.many(asked, input, argument.is_repeated)? {
            // The answer of a boolean decides whether the option is there at all.
            if asks && input.format.as_deref() == Some("boolean") {
                words.extend((value == "true").then(|| option.to_owned()));
            } else {
                words.extend([option.to_owned(), value]);
            }
        }
    }
    Ok(words)
}

/// Returns whether an option stands alone, without a value.
fn is_flag(argument: &Argument) -> bool {
    let said = Input { description: None, ..argument.input.clone() };
    said == Input::default() && argument.value_hint.is_none() && !argument.is_repeated
}

/// Checks that no option opens the machine to a container, or has a program do anything but start its `package`, by one of
/// its names.
fn check_options(package: Option<[&String; 2]>, words: &[String]) -> LaunchResult<()> {
    let is_refused = |(at, word): &(usize, &String)| {
        let next = || (word.as_str(), words.get(at + 1).map_or("", String::as_str));
        let (option, value) = word.split_once('=').unwrap_or_else(next);
        if let Some(names) = package {
            let names_it = names.iter().any(|name| *name == value) && NAMES_PACKAGE.contains(&option);
            return !names_it && !names.contains(word) && !RUNNER_HARMLESS.contains(&word.as_str());
        }
        let is_listed = |[listed]: [&'static str; 1]| {
            listed.split(' ').any(|refused| refused == "*" || refused.eq_ignore_ascii_case(value))
        };
        table(include_str!("refused_options.txt"), option).is_some_and(is_listed) || mounts_machine(word)
    };
    let Some((_, word)) = words.iter().enumerate().find(is_refused) else { return Ok(()) };
    let why =
        if package.is_some() { "can have other code run" } else { "opens the machine to the container" };
    let why = format!("`{}` {why}: start the server yourself, and add that with `mgp add`", visible(word));
    Err(LaunchError::Refused(why))
}

/// Returns whether a word of an option mounts the whole machine, files of the system, or a socket: that of the program that
/// runs containers is a way to everything.
fn mounts_machine(word: &str) -> bool {
    // Names are read in either case, and fields in quotes; `device` is the source of a volume that is made for it.
    let pairs: Vec<&str> = word.split([',', '=', '"']).filter(|part| !part.is_empty()).collect();
    let is_source = |name: &str| ["src", "source", "device"].iter().any(|it| it.eq_ignore_ascii_case(name));
    let named = pairs.windows(2).filter(|pair| is_source(pair[0])).map(|pair| pair[1]);
    // Of `-v SOURCE:/TARGET`, with or without the option in front.
    let volume = word.find('/').filter(|at| word.contains(":/") && !word[..*at].ends_with(':'));
    named.chain(volume.and_then(|at| word[at..].split(':').next())).any(|source| {
        let mut folders = source.split('/').filter(|part| !part.is_empty() && *part != ".");
        let is_of_system = folders.next().is_none_or(|first| OF_THE_SYSTEM.contains(&first));
        let is_aside = source.contains("/..") || source.contains("/var/run");
        source.starts_with('/') && (is_of_system || is_aside)
            || Path::new(source).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("sock"))
    })
}

/// The options that name the package to programs that start packages.
const NAMES_PACKAGE: &[&str] = &["--from", "--package", "-p"];

/// The folders at the root that belong to the system.
const OF_THE_SYSTEM: &[&str] = &["boot", "dev", "etc", "proc", "run", "sys"];

/// A demand of a package beyond being started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackagePermission {
    /// The kind of the demand, in words: `network` for networks of the machine or ports to it, `files` for its files,
    /// `privileges` for powers that a container does not have otherwise, and `an option` for any other option of the
    /// program that starts the package.
    pub kind: &'static str,
    /// The words that make the demand, with invisible characters as escapes.
    pub words: String,
}

/// The harmless options of programs that start packages without a container.
const RUNNER_HARMLESS: &[&str] = &["-y", "--yes"];

/// Returns the demands of a container. Words that are not known to be harmless are reported.
fn requests(words: &[String]) -> Vec<PackagePermission> {
    let mut requests = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let split = word.split_once('=');
        let (option, mut value) =
            split.map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
        // `-v/:/host` means the same as `-v /:/host`.
        let attached = !option.starts_with("--") && option.len() > 2 && option.is_char_boundary(2);
        let attached = attached && option.starts_with('-');
        let option = if attached { &option[..2] } else { option };
        let known = table(include_str!("container_options.txt"), option);
        let [kind, follows] = known.unwrap_or(["an option", "alone"]);
        if follows == "value" && value.is_none() && option == word {
            value = words.next_if(|next| !next.starts_with('-')).map(String::as_str);
        }
        // Options of one letter can stand together: `-iv /:/host` is `-i -v /:/host`.
        let together = attached && option != "-e" && !["-it", "-ti"].contains(&word.as_str());
        if kind == "harmless" && !together {
            continue;
        }
        let kind = if kind == "harmless" { "an option" } else { kind };
        let shown = match value {
            Some(value) if !word.contains('=') => format!("{word} {value}"),
            _ => word.clone(),
        };
        requests.push(PackagePermission { kind, words: visible(&shown) });
    }
    requests
}
