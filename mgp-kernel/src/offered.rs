//! The optional extensions that the kernel offers to its clients.

use mgp_discovery::Config;
use mgp_types::ext::{ExtensionId, ExtensionIds};

/// Returns the optional extensions that are on for every client that declares them.
pub(crate) fn offered(config: &Config) -> ExtensionIds {
    let effects = config.effects.enabled.then_some(EFFECTS);
    ExtensionIds::new(OFFERED.into_iter().chain(effects.into_iter().flatten()))
}

/// The optional extensions of effects that happen once and can be taken back, where the configuration has them.
pub(crate) const EFFECTS: [ExtensionId; 2] = [ExtensionId::Idempotency, ExtensionId::Transactions];

const OFFERED: [ExtensionId; 11] = [
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
