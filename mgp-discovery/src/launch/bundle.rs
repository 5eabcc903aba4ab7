//! Bundles: a server with its code in one file (`.mcpb`), which is started as its `manifest.json` says.

use std::collections::BTreeMap;
use std::env::consts::OS;
use std::path::{Component, MAIN_SEPARATOR, Path};

use serde::Deserialize;

use super::document::{Input, Package, unreadable};
use super::fill::{Filler, authored};
use super::{LaunchError, LaunchResult, PreparedLaunch, left_out, steers_programs};
use crate::config::literal;
use crate::config::model::ServerConfig;
use crate::names::is_variable;
use crate::registry::visible;

/// The members of a `manifest.json` that say how its server is started.
#[derive(Deserialize)]
struct Manifest {
    server: BundledServer,
    #[serde(default)]
    user_config: BTreeMap<String, Setting>,
    #[serde(default)]
    compatibility: Compatibility,
}

/// The systems that a bundle is made for; empty if it runs on all of them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Compatibility {
    platforms: Vec<String>,
}

#[derive(Deserialize)]
struct BundledServer {
    mcp_config: StartCommand,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StartCommand {
    command: Option<String>,
    args: Option<Vec<String>>,
    env: BTreeMap<String, String>,
    platform_overrides: BTreeMap<String, Self>,
}

/// A value that the person who installs the bundle gives.
#[derive(Deserialize)]
struct Setting {
    #[serde(flatten)]
    input: Input,
    #[serde(default)]
    multiple: bool,
}

/// Returns the address of the bundle and its SHA-256.
pub(super) fn source(package: &Package) -> LaunchResult<(&str, String)> {
    let url = package.identifier.as_str();
    let sha256 = package.file_sha256.as_deref().unwrap_or_default().to_ascii_lowercase();
    if sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok((url, sha256));
    }
    let why = "comes without `fileSha256`, so nobody can tell whether it is the right one: ask its publisher to add it";
    Err(LaunchError::Refused(format!("the bundle {} {why}", visible(url))))
}

/// Returns the launch of a bundle that lies in `folder`.
pub(super) fn launch(manifest: &str, folder: &Path, filler: &mut Filler<'_>) -> LaunchResult<PreparedLaunch> {
    let Manifest { server, user_config, compatibility: Compatibility { platforms } } =
        serde_json::from_str(manifest).map_err(|why| unreadable(&why))?;
    let mut start = server.mcp_config;
    let platform = match OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    if !platforms.is_empty() && platforms.iter().all(|other| other != platform) {
        let platforms = visible(&platforms.join(", "));
        return Err(LaunchError::Refused(format!("the bundle is for {platforms}, and not for {platform}")));
    }
    let own = start.platform_overrides.remove(platform).unwrap_or_default();
    start.env.extend(own.env);
    let mut texts = BundleTexts { folder: literal(&folder.to_string_lossy()), settings: BTreeMap::new() };
    for (name, mut setting) in user_config {
        // A default that refers to a folder of the user is for the person to write out.
        setting.input.default = setting.input.default.filter(|text| !text.contains("${"));
        let given = filler.many(&name, &setting.input, setting.multiple)?;
        texts.settings.insert(name, given);
    }
    let mut config = ServerConfig { cwd: Some(texts.folder.clone()), ..ServerConfig::default() };
    let command = own.command.or(start.command).unwrap_or_default();
    config.command = Some(texts.program(&texts.text("the command", &command)?)?);
    for word in own.args.or(start.args).iter().flatten() {
        config.args.extend(texts.words(word)?);
    }
    let mut notes = Vec::new();
    for (name, value) in &start.env {
        if !is_variable(name) {
            return Err(LaunchError::malformed("name of a variable", name));
        }
        // A setting that nobody gave is no variable at all.
        let value = Some(texts.text(name, value)?).filter(|value| !value.is_empty());
        let is_own = |value: &String| LIBRARIES.contains(&name.as_str()) && texts.has_file(value);
        if steers_programs(name) && !value.as_ref().is_some_and(is_own) {
            notes.push(left_out(name));
        } else {
            config.env.extend(value.map(|value| (name.clone(), value)));
        }
    }
    Ok(PreparedLaunch { config, notes, ..PreparedLaunch::default() })
}

/// The texts of a manifest, with the values that stand in the places of names in them.
struct BundleTexts {
    folder: String,
    settings: BTreeMap<String, Vec<String>>,
}

impl BundleTexts {
    /// Returns the words for a word of the command line: several for a setting that has several values.
    fn words(&self, word: &str) -> LaunchResult<Vec<String>> {
        let name = word.strip_prefix("${user_config.").and_then(|rest| rest.strip_suffix('}'));
        match name.and_then(|name| self.settings.get(name)) {
            Some(given) => Ok(given.clone()),
            None => Ok(vec![self.text("an argument", word)?]),
        }
    }

    fn text(&self, place: &str, text: &str) -> LaunchResult<String> {
        let mut parts = text.split("${");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, after) = part.split_once('}').unwrap_or((part, ""));
            let setting = name.strip_prefix("user_config.").and_then(|name| self.settings.get(name));
            match (name, setting) {
                ("__dirname", _) => out.push_str(&self.folder),
                ("HOME", _) => out.push_str("${HOME}"),
                ("/" | "pathSeparator", _) => out.push(MAIN_SEPARATOR),
                (_, Some(given)) => out.push_str(given.first().map_or("", String::as_str)),
                // No other name stands for anything, least of all a variable of the kernel.
                _ => authored(place, text)?,
            }
            out.push_str(after);
        }
        authored(place, &out.replace("${", ""))?;
        Ok(out)
    }

    /// Returns whether a path is that of a file or folder of the bundle.
    fn has_file(&self, path: &str) -> bool {
        let is_inner = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        Path::new(path).strip_prefix(&self.folder).is_ok_and(|within| within.components().all(is_inner))
    }

    /// Returns the program: one of few that everybody has, or a file of the bundle.
    fn program(&self, command: &str) -> LaunchResult<String> {
        if RUNTIMES.contains(&command) {
            return Ok(command.to_owned());
        }
        let is_whole = Path::new(command).is_absolute();
        let file = if is_whole { command.to_owned() } else { format!("{}/{command}", self.folder) };
        if Path::new(&file) != Path::new(&self.folder) && self.has_file(&file) {
            return Ok(file);
        }
        let (command, runtimes) = (visible(command), RUNTIMES.join(", "));
        let why = format!("the bundle starts `{command}`, which is none of its files and none of {runtimes}");
        Err(LaunchError::Refused(why))
    }
}

/// The programs that a bundle may start besides its own.
const RUNTIMES: &[&str] = &["node", "npx", "python", "python3", "uv", "uvx"];

/// The variables that may lead runtimes to the libraries of a bundle.
const LIBRARIES: &[&str] = &["PYTHONPATH", "NODE_PATH"];
