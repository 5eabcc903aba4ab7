//! The optional extensions that the kernel offers to its clients.

use mgp_types::ext::ExtensionId;

/// The optional extensions that are on for every client that declares them.
pub(crate) const OFFERED: [ExtensionId; 11] = [
    ExtensionId::ServiceManifest,
    ExtensionId::IntentHints,
    ExtensionId::CostTransparency,
    ExtensionId::ScopedAuth,
    ExtensionId::Provenance,
    ExtensionId::MultimodalSignatures,
    ExtensionId::StructuredErrors,
    ExtensionId::ServerRecommendations,
    ExtensionId::SubscribeNotify,
    ExtensionId::Envelopes,
    ExtensionId::ToolRegistry,
];
