//! The hints about a call: what it cost, where its result comes from, which tool fits better, and what takes it back.

use mgp_types::ext::{ExtensionId, Intent, MAX_SOURCES, Provenance, Quota, Suggestion};
use mgp_types::mcp::Meta;
use mgp_types::{Error, Object, RawJson};
use parking_lot::Mutex;
use serde_json::json;

use super::Cx;

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
        let cost = json!({"units": units, "unit_label": unit_label});
        self.hint(ExtensionId::CostTransparency, "cost", RawJson::from_value(&cost).ok());
    }

    /// Tells what is left of the caller's quota after the call: `_meta.quota` of the result.
    pub fn quota(&self, quota: Quota) {
        self.hint(ExtensionId::CostTransparency, "quota", RawJson::from_value(&quota).ok());
    }

    /// Adds a source of the result: `_meta.provenance`. Sources beyond the 64th are left out.
    pub fn source(&self, source: Provenance) {
        let sources = &mut self.0.hints.lock().sources;
        if sources.len() < MAX_SOURCES {
            sources.push(source);
        }
    }

    /// Suggests a tool that suits the [purpose](Self::intent) better: `_meta.suggestion` of the result. Without a purpose
    /// of the call it does nothing.
    #[expect(clippy::needless_pass_by_value, reason = "a hint is given away like each other one")]
    pub fn suggest(&self, suggestion: Suggestion) {
        self.hint(ExtensionId::IntentHints, "suggestion", Some(suggestion.to_raw()));
    }

    /// Tells the arguments with which the tool of [`Tool::undone_by`](crate::Tool::undone_by) takes the effect of this call
    /// back. A handler says so as soon as there is an effect, even if it fails afterwards. Outside of a transaction, and for
    /// a tool that no other takes back, it does nothing.
    pub fn undo_with(&self, arguments: Object) {
        if let Some(undo) = self.extensions().get::<StepUndo>() {
            *undo.0.lock() = Some(arguments);
        }
    }

    /// Returns the hints of the result that the caller understands.
    pub(crate) fn result_hints(&self) -> Meta {
        let ResultHints { members, sources } = std::mem::take(&mut *self.0.hints.lock());
        let mut meta = Meta::new();
        for (id, name, value) in members {
            let is_asked = id != ExtensionId::IntentHints || matches!(self.intent(), Ok(Some(_)));
            if is_asked && self.shares(id) {
                meta.insert(name, value);
            }
        }
        if !sources.is_empty() && self.shares(ExtensionId::Provenance) {
            meta.insert("provenance", Provenance::to_raw(&sources));
        }
        meta
    }

    fn hint(&self, id: ExtensionId, name: &'static str, value: Option<RawJson>) {
        let members = &mut self.0.hints.lock().members;
        members.retain(|(_, known, _)| *known != name);
        members.extend(value.map(|value| (id, name, value)));
    }

    /// Returns whether caller and server declared the extension.
    pub(super) fn shares(&self, id: ExtensionId) -> bool {
        self.extras().server.as_ref().is_some_and(|server| server.about.tokens.shares(id, self.request()))
    }
}

/// The hints that a handler gave for the result of its call.
#[derive(Debug, Default)]
pub(super) struct ResultHints {
    /// The members of the result's metadata that one hint sets, each with the extension that it is of.
    members: Vec<(ExtensionId, &'static str, RawJson)>,
    sources: Vec<Provenance>,
}

/// The place where a handler notes the arguments that take its effect back: an extension of the request of a step.
#[derive(Debug, Default)]
pub(crate) struct StepUndo(pub(crate) Mutex<Option<Object>>);

/// The extensions of hints.
pub(crate) const HINTS: [ExtensionId; 4] = [
    ExtensionId::IntentHints,
    ExtensionId::CostTransparency,
    ExtensionId::Provenance,
    ExtensionId::MultimodalSignatures,
];
