//! The hints that travel with a call: its purpose, and what its result cost and comes from.

use mgp_types::ext::{ExtensionId, Intent, MAX_SOURCES, Provenance, Quota, Suggestion};
use mgp_types::mcp::Meta;
use mgp_types::{Error, Object, RawJson};
use serde::Serialize;

use super::Cx;

/// The hints that a handler gave for the result of its call.
#[derive(Debug, Default)]
pub(super) struct ResultHints {
    cost: Option<RawJson>,
    quota: Option<Quota>,
    sources: Vec<Provenance>,
    suggestion: Option<Suggestion>,
}

impl Cx {
    /// Returns the purpose of the call, if the caller told it. It is a claim: what the caller may do never depends on it.
    ///
    /// # Errors
    /// -32602: the purpose is no text, or has more than 1024 bytes.
    pub fn intent(&self) -> Result<Option<Intent>, Error> {
        let meta = self.request().params.object("_meta").unwrap_or_default();
        Intent::read(&meta)
    }

    /// Tells what the call has cost: `_meta.cost` of the result. The last value counts.
    ///
    /// As all hints about results, it goes to clients that declared the extension if the server did so, too
    /// ([`Server::hints`](crate::Server::hints)); for others it does nothing.
    pub fn cost(&self, units: f64, unit_label: &str) {
        #[derive(Serialize)]
        struct ActualCost<'a> {
            units: f64,
            unit_label: &'a str,
        }
        self.0.hints.lock().cost = RawJson::from_value(&ActualCost { units, unit_label }).ok();
    }

    /// Tells what is left of the caller's quota after the call: `_meta.quota` of the result.
    pub fn quota(&self, quota: Quota) {
        self.0.hints.lock().quota = Some(quota);
    }

    /// Adds a source of the result: `_meta.provenance`. Sources beyond the 64th are left out.
    pub fn source(&self, source: Provenance) {
        let mut hints = self.0.hints.lock();
        if hints.sources.len() < MAX_SOURCES {
            hints.sources.push(source);
        }
    }

    /// Suggests a tool that suits the [purpose](Self::intent) better: `_meta.suggestion` of the result. Without a purpose
    /// of the call it does nothing.
    pub fn suggest(&self, suggestion: Suggestion) {
        self.0.hints.lock().suggestion = Some(suggestion);
    }

    /// Returns the hints of the result that the caller understands.
    pub(crate) fn result_hints(&self) -> Meta {
        let hints = std::mem::take(&mut *self.0.hints.lock());
        let declared = self.session().extensions();
        let offered = self.extras().shared.as_ref().map(|shared| &shared.about.extensions);
        let both = |id: ExtensionId| {
            declared.has(id) && offered.is_some_and(|offered| offered.get(id.id()).is_some())
        };
        let mut meta = Meta::new();
        if both(ExtensionId::CostTransparency) {
            let quota = hints.quota.and_then(|quota| RawJson::from_value(&quota).ok());
            for (name, value) in [("cost", hints.cost), ("quota", quota)] {
                if let Some(value) = value {
                    meta.insert(name, value);
                }
            }
        }
        if both(ExtensionId::Provenance) && !hints.sources.is_empty() {
            meta.insert("provenance", Provenance::to_raw(&hints.sources));
        }
        let has_purpose = || matches!(self.intent(), Ok(Some(_)));
        if let Some(suggestion) = hints.suggestion.filter(|_| both(ExtensionId::IntentHints) && has_purpose())
        {
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

/// Returns the most units that the caller pays for the call.
pub(crate) fn budget(params: &Object) -> Result<Option<f64>, Error> {
    params.object("_meta").map_or(Ok(None), |meta| mgp_types::ext::max_units(&meta))
}
