//! The hints about the result of a call: what it cost, where it comes from, and which tool fits better.

use mgp_types::ext::{ExtensionId, Intent, MAX_SOURCES, Provenance, Quota, Suggestion};
use mgp_types::mcp::Meta;
use mgp_types::{Error, Object, RawJson};
use serde::Serialize;

use super::Cx;
use crate::step_undo::StepUndo;

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
    /// The cost goes to clients that declared the extension if the server did so, too, as all hints about results do
    /// ([`Server::hints`](crate::Server::hints)); for others the function does nothing.
    pub fn cost(&self, units: f64, unit_label: &str) {
        self.0.hints.lock().cost(units, unit_label);
    }

    /// Tells what is left of the caller's quota after the call: `_meta.quota` of the result.
    pub fn quota(&self, quota: Quota) {
        self.0.hints.lock().quota = Some(quota);
    }

    /// Adds a source of the result: `_meta.provenance`. Sources beyond the 64th are left out.
    pub fn source(&self, source: Provenance) {
        self.0.hints.lock().source(source);
    }

    /// Suggests a tool that suits the [purpose](Self::intent) better: `_meta.suggestion` of the result. Without a purpose
    /// of the call it does nothing.
    pub fn suggest(&self, suggestion: Suggestion) {
        self.0.hints.lock().suggestion = Some(suggestion);
    }

    /// Tells the arguments with which the tool of [`Tool::undone_by`](crate::Tool::undone_by) takes the effect of this call
    /// back. A handler says so as soon as there is an effect, even if it fails afterwards. Outside of a transaction, and for
    /// a tool that no other takes back, it does nothing.
    pub fn undo_with(&self, arguments: Object) {
        if let Some(undo) = self.extensions().get::<StepUndo>() {
            undo.note(arguments);
        }
    }

    /// Returns the hints of the result that the caller understands.
    pub(crate) fn result_hints(&self) -> Meta {
        let mut hints = std::mem::take(&mut *self.0.hints.lock());
        if !matches!(self.intent(), Ok(Some(_))) {
            hints.suggestion = None;
        }
        hints.for_caller(|id| self.shares(id))
    }

    /// Returns whether caller and server declared the extension.
    pub(super) fn shares(&self, id: ExtensionId) -> bool {
        self.extras().server.as_ref().is_some_and(|server| server.about.tokens.shares(id, self.request()))
    }
}

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
