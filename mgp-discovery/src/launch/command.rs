//! The commands that start packages, and the demands of packages beyond being started.

use std::path::Path;

use super::document::{Argument, ArgumentKind, Input, Package};
use super::fill::{Filler, authored};
use super::{LaunchError, LaunchResult, PreparedLaunch};
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
    let runtime = arguments(&package.runtime_arguments, "runtime_argument", filler)?;
    check_options(registry == PackageRegistry::Oci, &runtime)?;
    let arguments = arguments(&package.arguments, "argument", filler)?;
    let mut config = ServerConfig { command: Some(program.to_owned()), ..ServerConfig::default() };
    for variable in &package.environment_variables {
        if !is_variable(&variable.name) {
            return Err(LaunchError::malformed("name of a variable", &variable.name));
        }
        if let Some(value) = filler.one(&variable.name, &variable.input)? {
            config.env.insert(variable.name.clone(), value);
        }
    }
    let mut notes = Vec::new();
    if package.version.as_deref().is_none_or(|version| version == "latest")
        && !registry.is_versioned(&package.identifier)
    {
        notes.push("no version is named: the newest version is started".to_owned());
    }
    let permissions = requests(registry == PackageRegistry::Oci, &runtime);
    let name = registry.package_name(package, program)?;
    let image = (registry == PackageRegistry::Oci && !name.contains('@')).then(|| name.clone());
    let index = index(package, registry)?;
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
    Ok(PreparedLaunch { config, permissions, image, notes, ..PreparedLaunch::default() })
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
    /// its index, with the path of the index below the front page.
    const fn facts(self) -> (&'static str, &'static [&'static str], Option<[&'static str; 2]>) {
        match self {
            Self::Npm => ("npm", &["npx", "bunx"], Some(["--registry", ""])),
            Self::PyPi => ("pypi", &["uvx", "pipx"], Some(["--index-url", "/simple"])),
            Self::NuGet => ("nuget", &["dnx"], Some(["--source", "/v3/index.json"])),
            Self::Oci => ("oci", &["docker", "podman"], None),
        }
    }

    /// Returns whether the name has a version in it.
    fn is_versioned(self, name: &str) -> bool {
        let tagged = self == Self::Oci && name.rsplit('/').next().is_some_and(|last| last.contains(':'));
        // An `@` at the start belongs to the name.
        tagged || name.rfind('@').is_some_and(|at| at > 0)
    }

    /// Returns the package with its version, in the form of the program.
    fn package_name(self, package: &Package, program: &str) -> LaunchResult<String> {
        let name = checked("name of a package", &package.identifier, "@/._-:+")?;
        let version = match package.version.as_deref().filter(|version| !version.is_empty()) {
            Some(version) => checked("version", version, "._-+:")?,
            None => return Ok(name.to_owned()),
        };
        Ok(match self {
            _ if self.is_versioned(name) => name.to_owned(),
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
    let with_host = name.split_once('/').is_some_and(|(first, _)| first.contains(['.', ':']));
    let name = if host.is_empty() || with_host || host == "docker.io" {
        name.to_owned()
    } else {
        format!("{}/{name}", checked("registry", host, ".-:")?)
    };
    Ok(if version.contains(':') { format!("{name}@{version}") } else { format!("{name}:{version}") })
}

/// Returns the options for the index of the package, if the author names one.
fn index(package: &Package, registry: PackageRegistry) -> LaunchResult<Vec<String>> {
    // Registries are named by their front page, and programs want the index below it.
    let Some([option, below]) = registry.facts().2 else { return Ok(Vec::new()) };
    let url = package.registry_base_url.as_deref().map(|url| url.trim_end_matches('/'));
    let Some(url) = url.filter(|url| !url.is_empty()) else { return Ok(Vec::new()) };
    authored("registryBaseUrl", url)?;
    if !url.starts_with("https://") {
        return Err(LaunchError::malformed("https address of a registry", url));
    }
    let is_page = url.matches('/').count() == 2;
    Ok(vec![option.to_owned(), if is_page { format!("{url}{below}") } else { url.to_owned() }])
}

/// Returns a word that no program takes for an option, and no shell for syntax.
fn checked<'a>(what: &'static str, text: &'a str, others: &str) -> LaunchResult<&'a str> {
    let fit = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
        && text.len() <= 512
        && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c));
    if fit { Ok(text) } else { Err(LaunchError::malformed(what, text)) }
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

/// Checks that no option opens the machine to a container, or has a program run other code than its package.
fn check_options(container: bool, words: &[String]) -> LaunchResult<()> {
    let is_refused = |(at, word): &(usize, &String)| {
        let next = || (word.as_str(), words.get(at + 1).map_or("", String::as_str));
        let (option, value) = word.split_once('=').unwrap_or_else(next);
        if !container {
            return RUNNER_REFUSED.contains(&option);
        }
        let is_listed = |[listed]: [&'static str; 1]| {
            listed.split(' ').any(|refused| refused == "*" || refused.eq_ignore_ascii_case(value))
        };
        table(include_str!("refused_options.txt"), option).is_some_and(is_listed) || mounts_machine(word)
    };
    let Some((_, word)) = words.iter().enumerate().find(is_refused) else { return Ok(()) };
    let why =
        if container { "opens the machine to the container" } else { "runs other code than the package" };
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

/// The options with which programs that start packages run other code.
const RUNNER_REFUSED: &[&str] =
    &["-c", "--call", "--node-options", "--script-shell", "-e", "--eval", "--node-arg"];

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

/// Returns the demands of runtime arguments. Words that are not known to be harmless are reported.
fn requests(container: bool, words: &[String]) -> Vec<PackagePermission> {
    let mut requests = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let split = word.split_once('=');
        let (option, mut value) =
            split.map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
        // `-v/:/host` means the same as `-v /:/host`.
        let attached = !option.starts_with("--") && option.len() > 2 && option.is_char_boundary(2);
        let attached = container && attached && option.starts_with('-');
        let option = if attached { &option[..2] } else { option };
        let known = if container {
            table(include_str!("container_options.txt"), option)
        } else {
            RUNNER_HARMLESS.contains(&option).then_some(["harmless", "alone"])
        };
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
