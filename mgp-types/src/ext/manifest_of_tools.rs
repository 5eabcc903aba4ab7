//! The manifest of tools, made of their definitions.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::manifest::{ManifestAuth, ManifestServer, ManifestTool, ScopeDefinition, ServiceManifest};
use super::{ProjectedNames, ToolDeclaration};
use crate::{Object, RawJson};

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
