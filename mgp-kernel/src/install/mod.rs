//! Servers by name: what a registry says of a server, and the entry of the configuration that follows from it.
//!
//! A registry takes what strangers write. So a plan is made first, which shows a person all of what would be started, and
//! nothing is written before the person agrees.

mod bundle;
mod image;
mod registry;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::time::Duration;

use mgp_discovery::config::model::{ServerConfig, ServerConfinement};
use mgp_discovery::config::{ConfigFile, looks_like};
use mgp_discovery::launch::{
    LaunchError, PreparedLaunch, RequiredInput, ServerJson, command_line, launch, launch_bundle,
};
use mgp_security::network::{Fetcher, NetworkPolicy};
use serde::{Deserialize, Serialize};

use self::bundle::Bundle;
use self::registry::{RegistryEntry, ServerRegistry, is_name};
use crate::servers::confine::support;
use crate::terminal::{Failure, Result, TextForm, TextWriter, printable};

/// The server that is wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct InstallRequest {
    /// The name in the registry, or a part of it.
    pub(crate) name: String,
    /// The version; the newest if left out.
    pub(crate) version: Option<String>,
    /// The id in the configuration; the last part of the name if left out.
    pub(crate) server_id: Option<String>,
    /// The number, from 1, of one of the packages and remotes; the first that works if left out.
    pub(crate) way: Option<usize>,
    /// True if the program is not to be confined.
    pub(crate) unconfined: bool,
    /// The values that the server asks for, by their names; a name may come several times.
    pub(crate) answers: Vec<(String, String)>,
    /// The variables that the server has now, which are answers where none is given.
    #[serde(skip)]
    pub(crate) variables: BTreeMap<String, String>,
}

/// The servers that a request may mean, and what would be written if it means one.
#[derive(Serialize, Deserialize)]
pub(crate) struct InstallLookup {
    pub(crate) found: Vec<FoundServer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<InstallPlan>,
    /// The values that have to be given first.
    pub(crate) needed: Vec<NeededAnswer>,
}

/// A server of a registry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FoundServer {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
}

/// A value that a server asks for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NeededAnswer {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) choices: Vec<String>,
}

/// The entry of a server that would be written, in the words that a person judges it by.
#[derive(Serialize, Deserialize)]
pub(crate) struct InstallPlan {
    pub(crate) server_id: String,
    /// The name and version in the registry.
    pub(crate) package: String,
    /// The command that is started, or the address that is reached.
    pub(crate) command: String,
    /// The demands of the package beyond being started.
    pub(crate) permissions: Vec<String>,
    /// The secrets that have to be set before the server starts.
    pub(crate) secrets: Vec<String>,
    /// The reasons to think again.
    pub(crate) warnings: Vec<String>,
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    pub(crate) config: ServerConfig,
    #[serde(skip)]
    bundle: Option<Bundle>,
}

/// The installer of servers from one registry.
pub(crate) struct Installer {
    registry: ServerRegistry,
    fetcher: Fetcher,
}

/// The reason why there is no plan for a server.
enum NoPlan {
    Launch(LaunchError),
    Failed(Failure),
}

mgp_types::convert!(LaunchError => NoPlan, error => Self::Launch(error));
mgp_types::convert!(Failure => NoPlan, failure => Self::Failed(failure));

impl Installer {
    /// Creates an installer that asks the registry of this name, or the official one.
    ///
    /// # Errors
    /// The name is no URL, or TLS is not available.
    pub(crate) fn new(registry: Option<&str>) -> Result<Self> {
        let policy = NetworkPolicy::default().allow_host_of(registry.unwrap_or_default());
        let fetcher = Fetcher::new(policy)?.max_bytes(MAX_ANSWER);
        Ok(Self { registry: ServerRegistry::of(registry)?, fetcher })
    }

    /// Returns the servers that are meant, and the plan to install it if that is one.
    ///
    /// # Errors
    /// The registry gives no answer, or the one server cannot be installed, with the reason.
    pub(crate) async fn look_up(
        &self,
        request: &InstallRequest,
        configured: &[ServerConfig],
    ) -> Result<InstallLookup> {
        let entries = self.registry.search(&self.fetcher, &request.name, request.version.as_deref()).await?;
        let found = entries.iter().map(FoundServer::of).collect();
        let mut lookup = InstallLookup { found, plan: None, needed: Vec::new() };
        if let [entry] = &entries[..] {
            match Box::pin(self.plan(entry, request, configured)).await {
                Ok(plan) => lookup.plan = Some(plan),
                Err(NoPlan::Launch(LaunchError::Missing { needed })) => {
                    lookup.needed = needed.into_iter().map(NeededAnswer::of).collect();
                }
                Err(NoPlan::Launch(error)) => {
                    let message = format!("{} cannot be installed: {error}", request.name);
                    return Err(Failure::usage(printable(&message)));
                }
                Err(NoPlan::Failed(failure)) => return Err(failure),
            }
        }
        Ok(lookup)
    }

    /// Returns the newest version of a server, if the registry has the server.
    ///
    /// # Errors
    /// The registry gives no answer.
    pub(crate) async fn newest(&self, name: &str) -> Result<Option<String>> {
        let mut entries = self.registry.search(&self.fetcher, name, None).await?;
        entries.retain(|entry| entry.server.name == name);
        Ok(entries.first().map(|entry| entry.version().to_owned()))
    }

    async fn plan(
        &self,
        entry: &RegistryEntry,
        request: &InstallRequest,
        configured: &[ServerConfig],
    ) -> Result<InstallPlan, NoPlan> {
        let server = &entry.server;
        if !is_name(&server.name) {
            let why = "is no name of a server, which consists of plain letters, digits, `.`, `_` and `-` around one `/`";
            return Err(Failure::usage(format!("`{}` {why}", printable(&server.name))).into());
        }
        let (launch, bundle) = self.launched(server, request).await?;
        let PreparedLaunch { mut config, shown, permissions, secrets, image, mut notes, .. } = launch;
        if entry.status == "deprecated" {
            notes.push("its publisher no longer cares for it".to_owned());
        }
        if let Some(image) = image {
            match image::digest(&image, &self.fetcher).await {
                Ok(digest) => {
                    let named = config.args.iter_mut().filter(|word| **word == image);
                    named.for_each(|word| *word = format!("{image}@{digest}"));
                }
                Err(why) => notes.push(format!("the image can change, because its digest is not known: {why}")),
            }
        }
        if let Some(id) = &request.server_id {
            config.id.clone_from(id);
        }
        let package = format!("{}@{}", server.name, entry.version());
        config.package = Some(package.clone());
        notes.push(confine(&mut config, request.unconfined));
        Ok(InstallPlan {
            server_id: config.id.clone(),
            package,
            command: if config.url.is_some() { shown } else { command_line(&config) },
            permissions: permissions.iter().map(|asked| format!("{}: {}", asked.kind, asked.words)).collect(),
            secrets,
            warnings: lookalikes(server, configured),
            notes,
            config,
            bundle,
        })
    }

    /// Returns the launch of the way that is wanted, or else of the first that is possible on this machine.
    async fn launched(
        &self,
        server: &ServerJson,
        request: &InstallRequest,
    ) -> Result<(PreparedLaunch, Option<Bundle>), NoPlan> {
        let ways: Vec<usize> = match request.way {
            // Number 0 is none of the ways.
            Some(way) => way.checked_sub(1).into_iter().collect(),
            None => (0..server.ways()).collect(),
        };
        let mut first = None;
        for way in ways {
            match self.launched_as(server, way, request).await {
                Ok((mut launch, bundle)) => {
                    launch.notes.extend(first.map(|why| format!("another way to use it was passed over: {why}")));
                    return Ok((launch, bundle));
                }
                // The launch is possible once the answers are given.
                Err(NoPlan::Launch(error @ (LaunchError::Missing { .. } | LaunchError::BadAnswer { .. }))) => {
                    return Err(error.into());
                }
                Err(NoPlan::Launch(error)) => first = first.or_else(|| Some(error.to_string())),
                Err(NoPlan::Failed(failure)) => first = first.or_else(|| Some(failure.message().to_owned())),
            }
        }
        let none = || LaunchError::NoSuchWay { ways: server.ways() }.to_string();
        let message = format!("{} cannot be installed: {}", server.name, first.unwrap_or_else(none));
        Err(Failure::usage(printable(&message)).into())
    }

    async fn launched_as(
        &self,
        server: &ServerJson,
        way: usize,
        request: &InstallRequest,
    ) -> Result<(PreparedLaunch, Option<Bundle>), NoPlan> {
        let id = server.id();
        let bundle = match server.bundle(way)? {
            Some((url, sha256)) => {
                let patient = self.fetcher.clone().max_bytes(MAX_BUNDLE).timeout(PATIENCE);
                Some(Bundle::bring(url, &sha256, &id, &self.registry, &patient).await?)
            }
            None => None,
        };
        let manifest = bundle.as_ref().map(Bundle::manifest).transpose()?;
        let mut answers = request.answers.clone();
        loop {
            let launch = match (&bundle, &manifest) {
                (Some(bundle), Some(manifest)) => {
                    launch_bundle(server, way, &answers, manifest, &bundle.folder)
                }
                _ => launch(server, way, &answers),
            };
            let missing = match &launch {
                Err(LaunchError::Missing { needed }) => needed.as_slice(),
                _ => &[],
            };
            let known = |needed: &RequiredInput| {
                Some((needed.name.clone(), request.variables.get(&needed.name)?.clone()))
            };
            let given: Vec<_> = missing.iter().filter_map(known).collect();
            if given.is_empty() {
                return Ok((launch?, bundle));
            }
            answers.extend(given);
        }
    }
}

impl InstallPlan {
    /// Adds the server to a configuration, and unpacks its bundle.
    pub(crate) fn add_to(&self, file: &mut ConfigFile) -> Result<()> {
        file.add(&self.config)?;
        self.bundle.as_ref().map_or(Ok(()), Bundle::unpack)
    }

    /// Makes this the plan for an entry that is there: it keeps its id and the values of its variables and headers.
    pub(crate) fn upgrade(&mut self, old: &ServerConfig) {
        self.server_id.clone_from(&old.id);
        self.config.id.clone_from(&old.id);
        self.config.env.extend(old.env.clone());
        self.config.headers.extend(old.headers.clone());
        self.secrets.retain(|secret| {
            let reference = format!("${{secret:{secret}}}");
            let mut values = self.config.env.values().chain(self.config.headers.values());
            values.any(|value| value.contains(&reference))
        });
        // Whether the program is confined, and to what, stays as a person left it.
        self.notes.retain(|note| !note.contains("confine"));
    }

    /// Replaces the server's package in a configuration. What a person wrote beside it stays.
    pub(crate) fn replace_in(&self, file: &mut ConfigFile) -> Result<()> {
        file.update(&self.config, &["command", "args", "cwd", "env", "url", "headers", "transport", "package"])?;
        self.bundle.as_ref().map_or(Ok(()), Bundle::unpack)
    }
}

impl TextForm for InstallPlan {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "{} as {}", printable(&self.package), printable(&self.server_id))?;
        writeln!(out, "starts, or reaches: {}", printable(&self.command))?;
        for asked in &self.permissions {
            writeln!(out, "asks for {}", printable(asked))?;
        }
        for secret in &self.secrets {
            writeln!(out, "needs the secret {secret}: `mgp secrets set {secret}` sets it")?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {}", printable(warning)))?;
        self.notes.iter().try_for_each(|note| writeln!(out, "{}", printable(note)))
    }
}

impl FoundServer {
    fn of(entry: &RegistryEntry) -> Self {
        let description = entry.server.description.clone();
        Self { name: entry.server.name.clone(), version: entry.version().to_owned(), description }
    }
}

impl NeededAnswer {
    fn of(needed: RequiredInput) -> Self {
        let RequiredInput { name, description, choices, .. } = needed;
        Self { name, description, choices }
    }
}

/// Confines the program of a server to its package and HTTPS where this system can, and returns what a person should know
/// of it.
fn confine(config: &mut ServerConfig, unconfined: bool) -> String {
    let Some(command) = config.command.as_deref() else {
        return format!("`mgp login {}` signs in, if the server demands that", config.id);
    };
    let mut caches = include_str!("caches.txt").lines().filter_map(|line| line.split_once(": "));
    let cache = caches.find(|(program, _)| *program == command).map(|(_, folders)| folders);
    if cache == Some("container") {
        return "the container confines it".to_owned();
    }
    if unconfined {
        return UNCONFINED.to_owned();
    }
    if let Err(why) = support().confines_by_port() {
        return format!("{UNCONFINED}: {why}");
    }
    let mut confinement = ServerConfinement::default();
    confinement.connect = vec![HTTPS];
    confinement.write = cache.into_iter().flat_map(|folders| folders.split(' ')).map(str::to_owned).collect();
    config.confinement = Some(confinement);
    "it is confined to its package and HTTPS; permissions, and the table `confinement` of its entry, open more".to_owned()
}

/// Returns warnings of names that look like those of other servers.
fn lookalikes(server: &ServerJson, configured: &[ServerConfig]) -> Vec<String> {
    let last = server.id();
    let named = server.identifiers().chain([server.name.as_str(), last.as_str()]);
    let names: Vec<&str> = named.collect();
    let known = include_str!("well_known.txt").lines().filter(|line| !line.starts_with('#'));
    let ids = configured.iter().map(|server| server.id.as_str());
    let packages = configured.iter().filter_map(|server| server.package.as_deref()?.rsplit_once('@'));
    let others = known.chain(ids).chain(packages.map(|(name, _)| name));
    let alike = others.filter_map(|other| {
        let name = names.iter().find(|name| looks_like(name, other))?;
        Some(format!("`{name}` looks like `{other}`, and is another one: compare the names letter by letter"))
    });
    alike.collect()
}

/// The note on a server that is not confined.
const UNCONFINED: &str = "it runs unconfined, with all that you may do";

/// The port of HTTPS.
const HTTPS: u16 = 443;

/// The largest length of an answer of a registry.
const MAX_ANSWER: usize = 16 << 20;

/// The largest length of a bundle, and the time in which it has to come.
const MAX_BUNDLE: usize = 256 << 20;
const PATIENCE: Duration = Duration::from_mins(10);

#[cfg(test)]
mod tests;
