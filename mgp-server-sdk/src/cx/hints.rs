//! The hints about the result of a call: what it cost, where it comes from, and which tool fits better.

use mgp_types::RawJson;
use mgp_types::ext::{ExtensionId, MAX_SOURCES, Provenance, Quota, Suggestion};
use mgp_types::mcp::Meta;
use serde::Serialize;

/// The hints that a handler gave for the result of its call.
#[derive(Debug, Default)]
pub(super) struct ResultHints {
    cost: Option<RawJson>,
    pub(super) quota: Option<Quota>,
    sources: Vec<Provenance>,
    pub(super) suggestion: Option<Suggestion>,
}

impl ResultHints {
    pub(super) fn cost(&mut self, units: f64, unit_label: &str) {
        #[derive(Serialize)]
        struct ActualCost<'a> {
            units: f64,
            unit_label: &'a str,
        }
        self.cost = RawJson::from_value(&ActualCost { units, unit_label }).ok();
    }

    pub(super) fn source(&mut self, source: Provenance) {
        if self.sources.len() < MAX_SOURCES {
            self.sources.push(source);
        }
    }

    /// Returns the hints of the extensions that both sides have, as metadata.
    pub(super) fn for_caller(self, both: impl Fn(ExtensionId) -> bool) -> Meta {
        let mut meta = Meta::new();
        if both(ExtensionId::CostTransparency) {
            let quota = self.quota.and_then(|quota| RawJson::from_value(&quota).ok());
            for (name, value) in [("cost", self.cost), ("quota", quota)] {
                if let Some(value) = value {
                    meta.insert(name, value);
                }
            }
        }
        if both(ExtensionId::Provenance) && !self.sources.is_empty() {
            meta.insert("provenance", Provenance::to_raw(&self.sources));
        }
        if let Some(suggestion) = self.suggestion.filter(|_| both(ExtensionId::IntentHints)) {
            meta.insert("suggestion", suggestion.to_raw());
        }
        meta
    }
}

/// The extensions of hints.
pub(crate) const HINTS: [ExtensionId; 4] = [
    ExtensionId::IntentHints,
    ExtensionId::CostTransparency,
    ExtensionId::Provenance,
    ExtensionId::MultimodalSignatures,
];
