//! The ids of the optional extensions, and sets of them.

use crate::Object;

/// The prefix of the extensions' ids, which are legal vendor ids of MCP.
pub const PREFIX: &str = "io.github.mcp-extension-proposals/";

macro_rules! extension_ids {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)+) => {
        /// An optional extension of MCP that a peer may offer beside those of MGP.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ExtensionId {
            $($(#[$doc])* $variant,)+
        }

        impl ExtensionId {
            /// All extensions.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the id among the extensions of a peer's capabilities.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("io.github.mcp-extension-proposals/", $name),)+
                }
            }
        }
    };
}

extension_ids! {
    /// A document about all tools of a server, with limits, costs and scopes.
    ServiceManifest = "service_manifest";
    /// The purpose of a call, and the server's suggestion of a better tool.
    IntentHints = "intent_hints";
    /// Costs, latency and quotas of tools.
    CostTransparency = "cost_transparency";
    /// Scopes of tools, their check before a call, and their negotiation.
    ScopedAuth = "scoped_auth";
    /// Keys that make a repeated call have no further effect.
    Idempotency = "idempotency";
    /// Calls that are taken back together.
    Transactions = "transactions";
    /// Confirmation of a call by a person.
    HumanInTheLoop = "human_in_the_loop";
    /// The sources of a result.
    Provenance = "provenance";
    /// Chunks of results, and tokens to go on from.
    Streaming = "streaming";
    /// Progress with a message and an estimate of the time left.
    ProgressNotifications = "progress_notifications";
    /// References to data that go from server to server.
    DataReferences = "data_references";
    /// Media types and sizes of what tools take and give.
    MultimodalSignatures = "multimodal_signatures";
    /// Errors with a category, a suggestion and a time to wait.
    StructuredErrors = "structured_errors";
    /// Results of a conformance suite.
    Conformance = "conformance";
    /// Recommendations of other servers.
    ServerRecommendations = "server_recommendations";
    /// State that the client carries from call to call.
    SessionState = "session_state";
    /// Subscriptions to events of any name.
    SubscribeNotify = "subscribe_notify";
    /// Envelopes around calls and results of tools.
    Envelopes = "env";
    /// The tool registry's validation, catalog and error data.
    ToolRegistry = "ggen";
}

impl ExtensionId {
    /// Returns the name without the prefix, as a service manifest lists it.
    pub const fn name(self) -> &'static str {
        self.id().split_at(PREFIX.len()).1
    }

    /// Returns whether a service manifest may list the extension; the list there is closed.
    pub const fn is_listed(self) -> bool {
        use ExtensionId::{CostTransparency, Envelopes, ScopedAuth, ServiceManifest, ToolRegistry};
        !matches!(self, ServiceManifest | CostTransparency | ScopedAuth | Envelopes | ToolRegistry)
    }

    /// Reads a name, with the prefix or without.
    pub fn read(id: &str) -> Option<Self> {
        let name = id.strip_prefix(PREFIX).unwrap_or(id);
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A set of optional extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExtensionIds(u32);

impl ExtensionIds {
    /// Creates a set of these extensions.
    pub fn new(ids: impl IntoIterator<Item = ExtensionId>) -> Self {
        Self(ids.into_iter().fold(0, |bits, id| bits | id.bit()))
    }

    /// Reads the extensions that a peer declares in its capabilities.
    ///
    /// The member `extensions` is an object of ids and settings; some peers write a list of names instead, which counts as
    /// ids without settings. Unknown ids are no error.
    pub fn read(capabilities: &Object) -> Self {
        let Some(declared) = capabilities.get("extensions") else { return Self::default() };
        if let Ok(object) = Object::from_raw(&declared) {
            return Self::new(object.iter().filter_map(|(id, _)| ExtensionId::read(&id)));
        }
        let names: Vec<String> = declared.to().unwrap_or_default();
        Self::new(names.iter().filter_map(|name| ExtensionId::read(name)))
    }

    /// Returns whether the set has `id`.
    pub const fn has(self, id: ExtensionId) -> bool {
        self.0 & id.bit() != 0
    }

    /// Returns the extensions that both sets have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Iterates over the extensions of the set.
    pub fn iter(self) -> impl Iterator<Item = ExtensionId> {
        ExtensionId::ALL.iter().copied().filter(move |id| self.has(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(extensions: &str) -> ExtensionIds {
        ExtensionIds::read(&Object::parse(format!(r#"{{"extensions":{extensions}}}"#)).unwrap())
    }

    // covers: EXT-00-06
    #[test]
    fn a_manifest_may_list_fourteen_extensions() {
        let listed: Vec<_> =
            ExtensionId::ALL.iter().filter(|id| id.is_listed()).map(|id| id.name()).collect();
        assert_eq!(
            listed,
            [
                "intent_hints", "idempotency", "transactions", "human_in_the_loop", "provenance",
                "streaming", "progress_notifications", "data_references", "multimodal_signatures",
                "structured_errors", "conformance", "server_recommendations", "session_state",
                "subscribe_notify",
            ]
        );
    }

    // covers: EXT-00-01
    #[test]
    fn every_id_has_the_prefix_of_a_vendor_and_its_name() {
        for id in ExtensionId::ALL {
            assert_eq!(id.id(), format!("{PREFIX}{}", id.name()));
            assert_eq!(ExtensionId::read(id.id()), Some(*id));
        }
        assert_eq!(ExtensionId::read("dev.cloto/mgp"), None);
    }

    // covers: EXT-00-02
    #[test]
    fn extensions_are_declared_as_an_object_or_a_list_and_others_are_no_error() {
        let both = ExtensionIds::new([ExtensionId::Idempotency, ExtensionId::Provenance]);
        assert_eq!(
            declared(&format!(r#"{{"{PREFIX}idempotency":{{}},"{PREFIX}provenance":{{}},"x/y":{{}}}}"#)),
            both
        );
        assert_eq!(declared(r#"["idempotency","provenance","new"]"#), both);
        for none in ["7", "null", "[1]", "{}"] {
            assert_eq!(declared(none), ExtensionIds::default(), "{none}");
        }
        assert_eq!(ExtensionIds::read(&Object::new()), ExtensionIds::default());
        assert_eq!(
            both.and(declared(r#"["provenance"]"#)).iter().collect::<Vec<_>>(),
            [ExtensionId::Provenance]
        );
    }
}
