//! The document `server.json` in its two generations: `registry_type` and similar names until 2025-07-09,
//! `registryType` since.

use std::collections::BTreeMap;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::{LaunchError, LaunchResult};

/// The description of a server by a registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ServerJson {
    /// The name, such as `io.github.someone/weather`.
    pub name: String,
    /// The purpose of the server.
    pub description: Option<String>,
    /// The version.
    pub version: Option<String>,
    version_detail: Option<VersionDetail>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) packages: Vec<Package>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) remotes: Vec<Remote>,
}

const MAX_CHOICES: usize = 64;
const MAX_BYTES: usize = 1 << 20;

impl ServerJson {
    /// Reads a document: a file, or the registry's answer about one server.
    pub fn parse(text: &str) -> LaunchResult<Self> {
        if text.len() > MAX_BYTES {
            return Err(LaunchError::too_large("bytes", MAX_BYTES));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // An answer of the registry has the document as a member.
        let probe = serde_json::from_str::<RegistryAnswer<Option<IgnoredAny>>>(text);
        let read = if probe.is_ok_and(|probe| probe.server.is_some()) {
            serde_json::from_str::<RegistryAnswer<Self>>(text).map(|answer| answer.server)
        } else {
            serde_json::from_str(text)
        };
        let mut server = read.map_err(|why| unreadable(&why))?;
        if server.ways() > MAX_CHOICES {
            return Err(LaunchError::too_large("packages and remotes", MAX_CHOICES));
        }
        let detail = server.version_detail.take().and_then(|detail| detail.version);
        server.version = server.version.or(detail);
        Ok(server)
    }
}

/// Returns the error of a text that is not the document it should be.
pub(super) fn unreadable(why: &serde_json::Error) -> LaunchError {
    let text = why.to_string();
    // The position is shown beside the text.
    let what = text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]).to_owned();
    LaunchError::Document { line: why.line().max(1), column: why.column().max(1), what }
}

#[derive(Deserialize)]
struct RegistryAnswer<T> {
    server: T,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct VersionDetail {
    version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Package {
    #[serde(alias = "registry_type", alias = "registry_name")]
    pub(super) registry_type: String,
    #[serde(default, alias = "registry_base_url")]
    pub(super) registry_base_url: Option<String>,
    #[serde(alias = "name")]
    pub(super) identifier: String,
    pub(super) version: Option<String>,
    #[serde(default, alias = "file_sha256", alias = "fileSHA256")]
    pub(super) file_sha256: Option<String>,
    #[serde(default, alias = "runtime_hint")]
    pub(super) runtime_hint: Option<String>,
    pub(super) transport: Option<Transport>,
    #[serde(default, alias = "runtime_arguments", deserialize_with = "nullable")]
    pub(super) runtime_arguments: Vec<Argument>,
    #[serde(
        rename = "packageArguments",
        default,
        alias = "package_arguments",
        deserialize_with = "nullable"
    )]
    pub(super) arguments: Vec<Argument>,
    #[serde(default, alias = "environment_variables", deserialize_with = "nullable")]
    pub(super) environment_variables: Vec<NamedInput>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Transport {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Remote {
    #[serde(rename = "type", alias = "transport_type", alias = "transport")]
    pub(super) kind: String,
    pub(super) url: String,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) headers: Vec<NamedInput>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) variables: BTreeMap<String, Input>,
}

/// A variable of the environment, or a header.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct NamedInput {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) input: Input,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Argument {
    #[serde(rename = "type", default)]
    pub(super) kind: ArgumentKind,
    pub(super) name: Option<String>,
    #[serde(default, alias = "valueHint")]
    pub(super) value_hint: Option<String>,
    #[serde(default, alias = "isRepeated", deserialize_with = "nullable")]
    pub(super) is_repeated: bool,
    #[serde(flatten)]
    pub(super) input: Input,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ArgumentKind {
    #[default]
    Positional,
    Named,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Input {
    pub(super) description: Option<String>,
    #[serde(default, alias = "isRequired", alias = "required", deserialize_with = "nullable")]
    pub(super) is_required: bool,
    pub(super) format: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    pub(super) value: Option<String>,
    #[serde(default, alias = "isSecret", alias = "sensitive", deserialize_with = "nullable")]
    pub(super) is_secret: bool,
    #[serde(default, deserialize_with = "scalar")]
    pub(super) default: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) choices: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) variables: BTreeMap<String, Self>,
}

/// Reads `null` as the default: registries write it for unknown values.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// Reads a number or boolean as text: publishers write `8080` and `true` where texts are asked for. Bundles have lists as
/// defaults, which are for the person to write out.
fn scalar<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    use serde_json::Value;
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Array(_)) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => Ok(Some(value.to_string())),
        Some(_) => Err(D::Error::custom("expected a text")),
    }
}
