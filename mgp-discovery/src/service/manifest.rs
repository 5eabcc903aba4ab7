//! The service manifest, made of the tools that its reader may see.

use mgp_types::ext::{
    AuthMethod, ExtensionIds, ListedExtension, ManifestServer, RateLimits, ServiceManifest,
};

use super::ListedTool;

/// The facts about a server as a whole, for its manifest.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "made by whoever has the facts")]
pub struct ManifestFacts {
    /// The server.
    pub server: ManifestServer,
    /// The ways in which callers prove who they are.
    pub methods: Vec<AuthMethod>,
    /// The scopes that the reader of the manifest has; `None` where scopes are not held to.
    pub current_scopes: Option<Vec<Box<str>>>,
    /// The time in seconds without a call after which a session of scopes ends.
    pub session_ttl_seconds: Option<u64>,
    /// The limits that hold for the reader.
    pub rate_limits: Option<RateLimits>,
    /// The extensions that are on.
    pub extensions: ExtensionIds,
    /// The time in seconds for which the manifest stays fresh.
    pub ttl_seconds: u64,
}

/// Returns the manifest of `tools`. Its revision is another one whenever anything in it is.
pub fn manifest(facts: ManifestFacts, tools: &[ListedTool]) -> ServiceManifest {
    let definitions = tools.iter().map(|tool| &tool.definition);
    let mut manifest = ServiceManifest::of_tools(facts.server, definitions);
    let auth = manifest.auth.get_or_insert_default();
    auth.methods = facts.methods;
    auth.session_ttl_seconds = facts.session_ttl_seconds;
    auth.current_scopes = facts.current_scopes;
    manifest.supported_extensions = facts.extensions.iter().filter_map(ListedExtension::new).collect();
    manifest.manifest_ttl_seconds = Some(facts.ttl_seconds);
    // What is left of a limit changes with every call, and is no change of the manifest.
    manifest = manifest.with_revision();
    manifest.rate_limits = facts.rate_limits;
    manifest
}

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use mgp_types::ext::ExtensionId;

    use super::*;

    fn facts() -> ManifestFacts {
        ManifestFacts {
            server: ManifestServer::new("mgp", "1.0.0", "2026-07-28"),
            methods: vec![AuthMethod::ApiKey],
            current_scopes: None,
            session_ttl_seconds: None,
            rate_limits: None,
            extensions: ExtensionIds::new([ExtensionId::IntentHints, ExtensionId::ServiceManifest]),
            ttl_seconds: 300,
        }
    }

    fn tool(definition: &str) -> ListedTool {
        ListedTool {
            server: "s".into(),
            definition: Object::parse(definition.to_owned()).unwrap(),
            tags: vec![],
        }
    }

    // covers: EXT-01-01, EXT-01-04, EXT-01-06, EXT-01-08
    #[test]
    fn a_manifest_lists_each_tool_with_what_it_declares_and_each_scope_with_its_tools() {
        let tools = [
            tool(
                r#"{"name":"git.Log","description":"d","inputSchema":{"type":"object"},"latency":"seconds","supports_streaming":true,"required_scopes":["read"]}"#,
            ),
            tool(r#"{"name":"push","inputSchema":{"type":"object"},"required_scopes":["read","write"]}"#),
        ];
        let manifest = manifest(facts(), &tools);
        let json: serde_json::Value = serde_json::to_value(&manifest).unwrap();
        assert_eq!(json["tools"][0]["name"], "git__log");
        assert_eq!(json["tools"][0]["x_mcp_name"], "git.Log");
        assert_eq!(json["tools"][0]["latency"], "seconds");
        assert_eq!(json["tools"][0]["supports_streaming"], true);
        assert_eq!(json["tools"][1].get("x_mcp_name"), None);
        assert_eq!(json["supported_extensions"], serde_json::json!(["intent_hints"]));
        assert_eq!(json["auth"]["scopes"][0]["grants"], serde_json::json!(["git__log", "push"]));
        assert_eq!(json["auth"]["scopes"][1]["name"], "write");
    }

    #[test]
    fn the_revision_changes_with_the_tools_and_not_with_what_is_left_of_a_limit() {
        let one = tool(r#"{"name":"a","inputSchema":{"type":"object"}}"#);
        let first = manifest(facts(), std::slice::from_ref(&one));
        let mut used = facts();
        let mut limits = RateLimits::default();
        limits.remaining = Some(3);
        used.rate_limits = Some(limits);
        assert_eq!(manifest(used, std::slice::from_ref(&one)).revision, first.revision);
        let changed = tool(r#"{"name":"a","description":"new","inputSchema":{"type":"object"}}"#);
        assert_ne!(manifest(facts(), &[changed]).revision, first.revision);
    }
}
