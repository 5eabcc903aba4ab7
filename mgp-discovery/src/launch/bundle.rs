//! Bundles: a server with its code in one file (`.mcpb`), which is started as its `manifest.json` says.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;
use serde_json::Value;

use super::document::{Input, Package, unreadable};
use super::fill::{Filler, authored};
use super::{LaunchError, PreparedLaunch, command_line};
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
}

#[derive(Deserialize)]
struct BundledServer {
    #[serde(rename = "type")]
    kind: String,
    entry_point: Option<String>,
    mcp_config: Option<StartCommand>,
}

#[derive(Deserialize)]
struct StartCommand {
    command: Option<String>,
    args: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    platform_overrides: BTreeMap<String, Self>,
}

/// A value that the person who installs the bundle gives.
#[derive(Deserialize)]
struct Setting {
    #[serde(rename = "type", default)]
    kind: String,
    description: Option<String>,
    default: Option<Value>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    multiple: bool,
    #[serde(default)]
    sensitive: bool,
}

/// Returns the address of the bundle and its SHA-256.
pub(super) fn source(package: &Package) -> Result<(&str, String), LaunchError> {
    let url = package.identifier.as_str();
    let sha256 = package.file_sha256.as_deref().unwrap_or_default().to_ascii_lowercase();
    if sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok((url, sha256));
    }
    Err(LaunchError::Refused(format!(
        "the bundle {} comes without `fileSha256`, so nobody can tell whether it is the right one: ask its publisher to add \
         it, or take another package",
        visible(url)
    )))
}

/// Returns the launch of a bundle that lies in `folder`.
pub(super) fn launch(
    manifest: &str,
    folder: &Path,
    filler: &mut Filler<'_>,
) -> Result<PreparedLaunch, LaunchError> {
    let Manifest { server, user_config } = serde_json::from_str(manifest).map_err(|why| unreadable(&why))?;
    let mut start = server.start()?;
    if let Some(own) = start.platform_overrides.remove(PLATFORM) {
        start.command = own.command.or(start.command);
        start.args = own.args.or(start.args);
        start.env.extend(own.env);
    }
    let mut texts = BundleTexts { folder, settings: BTreeMap::new() };
    for (name, setting) in user_config {
        let given = filler.many(&name, &setting.input(), setting.multiple)?;
        texts.settings.insert(name, given);
    }
    let mut config = ServerConfig { cwd: Some(literal(&folder.to_string_lossy())), ..ServerConfig::default() };
    let command = texts.text("the command", start.command.as_deref().unwrap_or_default())?;
    config.command = Some(texts.program(command)?);
    for word in start.args.iter().flatten() {
        config.args.extend(texts.words(word)?);
    }
    for (name, value) in &start.env {
        if !is_variable(name) {
            return Err(LaunchError::malformed("name of a variable", name));
        }
        let value = texts.text(name, value)?;
        // A setting that nobody gave is no variable at all.
        if !value.is_empty() {
            config.env.insert(name.clone(), value);
        }
    }
    let shown = command_line(&config);
    let (permissions, secrets, notes) = (Vec::new(), Vec::new(), Vec::new());
    Ok(PreparedLaunch { config, shown, permissions, secrets, image: None, notes })
}

impl BundledServer {
    fn start(self) -> Result<StartCommand, LaunchError> {
        match (self.mcp_config, self.entry_point) {
            (Some(start), _) if start.command.is_some() => Ok(start),
            (_, Some(file)) if self.kind == "uv" => Ok(StartCommand {
                command: Some("uv".to_owned()),
                args: Some(vec!["run".to_owned(), file]),
                env: BTreeMap::new(),
                platform_overrides: BTreeMap::new(),
            }),
            _ => Err(LaunchError::Refused(
                "the manifest.json of the bundle has no `server.mcp_config.command`: ask its publisher to add it".to_owned(),
            )),
        }
    }
}

impl Setting {
    fn input(&self) -> Input {
        let format = match self.kind.as_str() {
            known @ ("number" | "boolean") => Some(known.to_owned()),
            _ => None,
        };
        let default = match &self.default {
            // A default that refers to a folder of the user is for the person to write out.
            Some(Value::String(text)) if !text.contains("${") => Some(text.clone()),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => Some(value.to_string()),
            _ => None,
        };
        Input {
            description: self.description.clone(),
            is_required: self.required,
            is_secret: self.sensitive,
            format,
            default,
            ..Input::default()
        }
    }
}

/// The texts of a manifest, with the values that stand in the places of names in them.
struct BundleTexts<'b> {
    folder: &'b Path,
    settings: BTreeMap<String, Vec<String>>,
}

impl BundleTexts<'_> {
    /// Returns the words for a word of the command line: several for a setting that has several values.
    fn words(&self, word: &str) -> Result<Vec<String>, LaunchError> {
        let name = word.strip_prefix(SETTING).and_then(|rest| rest.strip_suffix('}'));
        match name.and_then(|name| self.settings.get(name)) {
            Some(given) => Ok(given.clone()),
            None => Ok(vec![self.text("an argument", word)?]),
        }
    }

    fn text(&self, place: &str, text: &str) -> Result<String, LaunchError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("${") {
            out.push_str(before);
            let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
            let setting = name.strip_prefix("user_config.").and_then(|name| self.settings.get(name));
            match (name, setting) {
                ("__dirname", _) => out.push_str(&literal(&self.folder.to_string_lossy())),
                ("HOME", _) => out.push_str("${HOME}"),
                ("/" | "pathSeparator", _) => out.push(std::path::MAIN_SEPARATOR),
                (_, Some(given)) => out.push_str(given.first().map_or("", String::as_str)),
                // No other name stands for anything, least of all a variable of the kernel.
                _ => authored(place, text)?,
            }
            rest = after;
        }
        out.push_str(rest);
        authored(place, &out.replace("${", ""))?;
        Ok(out)
    }

    /// Returns the program: one of few that everybody has, or a file of the bundle.
    fn program(&self, command: String) -> Result<String, LaunchError> {
        if RUNTIMES.contains(&command.as_str()) {
            return Ok(command);
        }
        let folder = literal(&self.folder.to_string_lossy());
        let within = Path::new(&command).strip_prefix(&folder).unwrap_or_else(|_| Path::new(&command));
        let is_within = within.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_within || within.as_os_str().is_empty() {
            let (command, runtimes) = (visible(&command), RUNTIMES.join(", "));
            return Err(LaunchError::Refused(format!(
                "the bundle starts `{command}`, which is none of its files and none of {runtimes}"
            )));
        }
        Ok(format!("{folder}/{}", within.display()))
    }
}

/// The beginning of a place for a setting.
const SETTING: &str = "${user_config.";

/// The programs that a bundle may start besides its own.
const RUNTIMES: &[&str] = &["node", "npx", "python", "python3", "uv", "uvx"];

/// The name of this system in manifests.
const PLATFORM: &str = if cfg!(target_os = "macos") {
    "darwin"
} else if cfg!(windows) {
    "win32"
} else {
    "linux"
};
