//! The hints about a call (cost, source, better tools, what takes it back), and data held instead of sent.

use std::time::Duration;

use mgp_types::ext::{DataReference, ExtensionId, Intent, MAX_SOURCES, Provenance, Quota, Suggestion};
use mgp_types::mcp::{ContentBlock, Meta, ResourceLink};
use mgp_types::{Error, Object, RawJson};
use parking_lot::Mutex;
use serde_json::json;

use super::Cx;
use crate::reference::ReferenceData;

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

/// The time for which data is held.
const TTL: Duration = Duration::from_mins(5);

impl Cx {
    /// Returns whether the caller asks for a reference to the result, instead of the result: `_meta.return_reference`.
    pub fn wants_reference(&self) -> bool {
        self.meta("return_reference").is_some_and(|wish| wish.as_bytes() == b"true")
    }

    /// Holds data for other servers for five minutes, and returns the link to it, for the result of the call
    /// ([`Server::references`](crate::Server::references)).
    ///
    /// A client that knows data references finds the reference in the link's `_meta`, and passes it to another server. Any
    /// other client can read the link as a resource.
    ///
    /// ```
    /// use mgp_server_sdk::{Cx, ReferenceData, ToolError, mcp::ContentBlock};
    ///
    /// async fn export(cx: Cx) -> Result<ContentBlock, ToolError> {
    ///     if cx.wants_reference() {
    ///         return Ok(cx.refer_to("a,b\n1,2\n", "text/csv").await?);
    ///     }
    ///     Ok(ContentBlock::text("a,b\n1,2\n"))
    /// }
    /// ```
    ///
    /// # Errors
    /// 3001: too much data is held; -32603: the data cannot be read, or the server holds no data.
    pub async fn refer_to(
        &self,
        data: impl Into<ReferenceData> + Send,
        mime_type: &str,
    ) -> Result<ContentBlock, Error> {
        let (data, media_type) = (data.into(), mime_type.to_owned());
        let store = self.extras().server.as_ref().and_then(|server| server.about.references.clone());
        let store =
            store.ok_or_else(|| Error::internal("the server holds no data: add `Server::references`"))?;
        let held = tokio::task::spawn_blocking(move || store.hold(data, &media_type, TTL)).await;
        let reference =
            held.map_err(|error| Error::internal("the data cannot be held").with_source(error))??;
        Ok(link(&reference, self.shares(ExtensionId::DataReferences)).into())
    }
}

/// Returns the link to a reference, with the reference itself for a client that knows what to do with it.
fn link(reference: &DataReference, knows_references: bool) -> ResourceLink {
    let mut link =
        ResourceLink::new(reference.uri(), &*reference.ref_id).with_mime_type(&*reference.mime_type);
    link.size = reference.size_bytes.and_then(|size| i64::try_from(size).ok());
    if knows_references {
        let raw: RawJson = reference.to_raw();
        link.meta = Some(Meta::new().with(DataReference::MEMBER, raw));
    }
    link
}
