//! The service manifest: one document about all tools of a server, with its limits, costs and scopes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ExtensionId, ProjectedNames, ServerRecommendation, ToolDeclaration};
use crate::macros::record;
use crate::macros::words::words;
use crate::mgp::Timestamp;
use crate::{Object, RawJson};

/// The time in seconds for which a manifest stays fresh if it does not say otherwise.
pub const DEFAULT_MANIFEST_TTL_SECONDS: u64 = 300;

/// The longest time in seconds for which a manifest may say to stay fresh.
pub const MAX_MANIFEST_TTL_SECONDS: u64 = 86_400;

record! {
    /// The server that a manifest is about.
    pub struct ManifestServer: Default, Eq {
        /// The name.
        plain name: Box<str>;
        /// The version of the server, like `1.4.2`.
        plain version: Box<str>;
        /// The revision of MCP that the server speaks.
        plain mcp_spec_version: Box<str>;
        /// The description.
        optional description: Box<str>;
        /// The address of its page.
        optional homepage: Box<str>;
    }
}

impl ManifestServer {
    /// Creates a server. A version that does not begin with three numbers gets `0.0.0+` in front.
    pub fn new(name: impl Into<Box<str>>, version: &str, mcp_spec_version: impl Into<Box<str>>) -> Self {
        let version = if begins_with_three_numbers(version) {
            version.into()
        } else {
            format!("0.0.0+{version}").into()
        };
        let (name, mcp_spec_version) = (name.into(), mcp_spec_version.into());
        Self { name, version, mcp_spec_version, ..Self::default() }
    }
}

fn begins_with_three_numbers(version: &str) -> bool {
    let mut parts = version.splitn(3, '.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let begins = |part: &str| part.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    parts.next().is_some_and(is_number)
        && parts.next().is_some_and(is_number)
        && parts.next().is_some_and(begins)
}

words! {
    /// A way in which a server lets callers prove who they are.
    AuthMethod {
        /// OAuth 2 for devices without a browser.
        Oauth2Device = "oauth2_device",
        /// OAuth 2 with a browser.
        Oauth2Code = "oauth2_code",
        /// A key of the server's own.
        ApiKey = "api_key",
        /// A token.
        BearerToken = "bearer_token",
        /// No proof is asked for.
        None = "none",
    }

    /// The version of the form of a manifest; there is one.
    ManifestVersion {
        /// The only version.
        V0_1_0 = "0.1.0",
    }
}

record! {
    /// A scope that a server knows.
    pub struct ScopeDefinition: Eq {
        /// The scope.
        required name: into Box<str>;
        /// The description.
        required description: into Box<str>;
        /// The tools that need the scope.
        list grants: Box<str>;
    }

    /// The ways to prove who one is, and the scopes.
    pub struct ManifestAuth: Default, Eq {
        /// The ways.
        list methods: AuthMethod;
        /// The scopes.
        list scopes: ScopeDefinition;
        /// The time in seconds without a call after which a session ends.
        optional session_ttl_seconds: u64;
        /// The scopes that the caller who reads the manifest has now.
        optional current_scopes: Vec<Box<str>>;
    }

    /// The limits of a server or of a tool, and what is left of them for the caller.
    pub struct RateLimits: Copy, Default, Eq {
        /// The most requests a minute.
        optional requests_per_minute: u32;
        /// The most requests an hour.
        optional requests_per_hour: u32;
        /// The most requests a day.
        optional requests_per_day: u32;
        /// The requests that are left.
        optional remaining: u64;
        /// The moment at which more requests are possible.
        optional resets_at: Timestamp;
    }

    /// A tool in a manifest.
    pub struct ManifestTool {
        /// The name in a manifest: small letters, digits and `_`.
        required name: into Box<str>;
        /// The name of MCP, if it is another one.
        optional x_mcp_name: Box<str>;
        /// The description.
        required description: into Box<str>;
        /// The JSON Schema of the arguments.
        required input_schema: RawJson;
        /// The JSON Schema of the structured result.
        optional output_schema: RawJson;
        /// The costs, the scopes and the media of the tool.
        #[serde(flatten)]
        plain declaration: ToolDeclaration;
        /// The limits of this tool alone.
        optional rate_limits: RateLimits;
        /// The times that calls took of late.
        optional latency_ms: LatencyPercentiles;
    }

    /// The time in milliseconds within which half of the calls, and 99 of 100, were done.
    pub struct LatencyPercentiles: Copy, Eq {
        /// The time within which half of the calls were done.
        required p50: u64;
        /// The time within which 99 of 100 calls were done.
        required p99: u64;
    }

    /// The service manifest of a server.
    pub struct ServiceManifest {
        /// The version of the form.
        plain manifest_version: ManifestVersion = ManifestVersion::V0_1_0;
        /// The word that changes whenever the manifest does.
        optional revision: Box<str>;
        /// The time in seconds for which the manifest stays fresh.
        optional manifest_ttl_seconds: u64;
        /// The server.
        required server: ManifestServer;
        /// The ways to prove who one is, and the scopes.
        optional auth: ManifestAuth;
        /// The tools.
        required tools: Vec<ManifestTool>;
        /// The names of the extensions that are on.
        list supported_extensions: ListedExtension;
        /// The limits of the server.
        optional rate_limits: RateLimits;
        /// Other servers for related work.
        list recommendations: ServerRecommendation;
    }

    /// The params of `mgp/manifest/get`.
    pub struct GetManifest: Default, Eq {
        /// The names of the wanted tools, of MCP or of a manifest; all if absent.
        optional tools: Vec<Box<str>>;
        /// The revision that the caller has.
        optional if_revision: Box<str>;
    }

    /// The result of `mgp/manifest/get` for a caller who has the manifest already.
    pub struct ManifestNotModified: Eq {
        /// Always true.
        plain not_modified: bool = true;
        /// The revision.
        required revision: into Box<str>;
    }
}

impl ManifestTool {
    /// Returns the name by which the tool is called in MCP.
    pub fn mcp_name(&self) -> &str {
        self.x_mcp_name.as_deref().unwrap_or(&self.name)
    }
}

impl ServiceManifest {
    /// Creates the manifest of tools with these definitions, as `tools/list` has them: each with what it declares, and the
    /// scopes that they need, each with the tools that need it.
    pub fn of_tools<'a>(server: ManifestServer, definitions: impl IntoIterator<Item = &'a Object>) -> Self {
        let definitions: Vec<_> = definitions.into_iter().collect();
        let names: Vec<_> =
            definitions.iter().map(|tool| tool.text("name").unwrap_or_default().into_owned()).collect();
        let projected = ProjectedNames::snake(names.iter().map(|name| (name.as_str(), ())));
        let tools: Vec<_> = std::iter::zip(definitions, projected.names())
            .zip(&names)
            .map(|((definition, name), mcp_name)| entry(definition, name, mcp_name))
            .collect();
        let auth = ManifestAuth { scopes: scopes(&tools), ..ManifestAuth::default() };
        Self { auth: Some(auth), ..Self::new(server, tools) }
    }

    /// Sets the revision to a word that is another one whenever anything in the manifest is.
    #[must_use]
    pub fn with_revision(mut self) -> Self {
        self.revision = None;
        let digest = Sha256::digest(serde_json::to_vec(&self).unwrap_or_default());
        let word = digest.first_chunk().copied().map_or(0, u64::from_be_bytes);
        self.revision = Some(format!("r{word:016x}").into());
        self
    }

    /// Returns the time in seconds for which the manifest stays fresh, within the bounds of the specification.
    pub fn ttl_seconds(&self) -> u64 {
        self.manifest_ttl_seconds.unwrap_or(DEFAULT_MANIFEST_TTL_SECONDS).min(MAX_MANIFEST_TTL_SECONDS)
    }
}

fn entry(definition: &Object, name: &str, mcp_name: &str) -> ManifestTool {
    let schema = definition.get("inputSchema").filter(RawJson::is_object);
    let schema = schema.unwrap_or_else(|| RawJson::from_valid(r#"{"type":"object"}"#));
    let description = definition.text("description").unwrap_or_default();
    let mut entry = ManifestTool::new(name, description, schema);
    entry.x_mcp_name = (name != mcp_name).then(|| mcp_name.into());
    entry.output_schema = definition.get("outputSchema");
    entry.declaration = ToolDeclaration::of_definition(definition);
    entry.rate_limits = definition.get("rate_limits").and_then(|limits| limits.to().ok());
    entry.latency_ms = definition.get("latency_ms").and_then(|times| times.to().ok());
    entry
}

/// Returns the scopes that tools need, each with the tools that need it.
fn scopes(tools: &[ManifestTool]) -> Vec<ScopeDefinition> {
    let mut grants: BTreeMap<&str, Vec<Box<str>>> = BTreeMap::new();
    for tool in tools {
        for scope in &tool.declaration.required_scopes {
            grants.entry(scope).or_default().push(tool.name.clone());
        }
    }
    let definition = |(scope, tools): (&str, Vec<Box<str>>)| {
        let mut definition = ScopeDefinition::new(scope, format!("Needed by {}", tools.join(", ")));
        definition.grants = tools;
        definition
    };
    grants.into_iter().map(definition).collect()
}

/// An extension that a manifest may list; the list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedExtension(ExtensionId);

impl ListedExtension {
    /// Creates the entry for `id`; `None` if manifests do not list it.
    pub fn new(id: ExtensionId) -> Option<Self> {
        id.is_listed().then_some(Self(id))
    }

    /// Returns the extension.
    pub const fn id(self) -> ExtensionId {
        self.0
    }
}

impl Serialize for ListedExtension {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for ListedExtension {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Box::<str>::deserialize(deserializer)?;
        let id = ExtensionId::ALL.iter().copied().find(|id| id.name() == &*name).and_then(Self::new);
        id.ok_or_else(|| serde::de::Error::custom(format!("`{name}` is no extension that a manifest lists")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> ServiceManifest {
        ServiceManifest::new(
            ManifestServer::new("tracker", "1.0.0", "2026-07-28"),
            vec![ManifestTool::new("search", "Searches tickets", RawJson::empty_object())],
        )
    }

    #[test]
    fn the_version_of_a_server_is_a_semantic_one() {
        for (version, written) in [("1.4.2-beta", "1.4.2-beta"), ("v2", "0.0.0+v2"), ("3.1", "0.0.0+3.1")] {
            assert_eq!(&*ManifestServer::new("x", version, "y").version, written);
        }
    }

    // covers: EXT-00-06
    #[test]
    fn only_extensions_of_the_closed_list_are_listed() {
        assert!(ListedExtension::new(ExtensionId::ServiceManifest).is_none());
        let mut with = manifest();
        with.supported_extensions.extend(ListedExtension::new(ExtensionId::Idempotency));
        let json = serde_json::to_string(&with).unwrap();
        assert!(json.contains(r#""supported_extensions":["idempotency"]"#));
        assert_eq!(serde_json::from_str::<ServiceManifest>(&json).unwrap(), with);
        for other in ["env", "service_manifest", "telepathy"] {
            let json = json.replace(r#"["idempotency"]"#, &format!(r#"["{other}"]"#));
            assert!(serde_json::from_str::<ServiceManifest>(&json).is_err(), "{other}");
        }
    }

    #[test]
    fn a_manifest_stays_fresh_for_a_bounded_time() {
        let mut manifest = manifest();
        assert_eq!(manifest.ttl_seconds(), 300);
        manifest.manifest_ttl_seconds = Some(u64::MAX);
        assert_eq!(manifest.ttl_seconds(), 86_400);
        manifest.manifest_ttl_seconds = Some(0);
        assert_eq!(manifest.ttl_seconds(), 0);
    }
}
