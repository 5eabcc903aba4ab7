//! The hints about a call (cost, source, better tools, what takes it back), and data held instead of sent.

use std::time::Duration;

use mgp_stream::call::Progress;
use mgp_types::ext::{DataReference, ExtensionId, Intent, MAX_SOURCES, Provenance, Quota, Suggestion};
use mgp_types::mcp::{ContentBlock, Meta, ResourceLink};
use mgp_types::mgp::StreamProgress;
use mgp_types::{Error, Method, Object, RawJson};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Cx;
use crate::reference::ReferenceData;
use crate::tokens::{CallCheckpoints, CallSession, invalid_session};

/// The time for which data is held.
const TTL: Duration = Duration::from_mins(5);

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

    /// Returns the one of these media types of a result that the caller accepts most (`_meta.accept`, in the caller's order;
    /// `image/*` accepts all images), and the first one if the caller does not say. `None` if it accepts none of them: a
    /// wish, which a tool need not fulfil.
    pub fn accepted_type<'t>(&self, offered: &[&'t str]) -> Option<&'t str> {
        let accepted: Option<Vec<String>> = self.meta("accept").and_then(|accepted| accepted.to().ok());
        let Some(accepted) = accepted else { return offered.first().copied() };
        let fits = |pattern: &str, media_type: &str| {
            pattern == "*/*"
                || pattern == media_type
                || pattern
                    .strip_suffix('*')
                    .is_some_and(|family| family.ends_with('/') && media_type.starts_with(family))
        };
        let best = |pattern: &String| offered.iter().copied().find(|media_type| fits(pattern, media_type));
        accepted.iter().find_map(best)
    }

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

    /// Returns the state that the last call of the conversation left; `None` in the first call, and for a client that
    /// carries no state ([`Server::session_state`](crate::Server::session_state)).
    ///
    /// ```
    /// use mgp_server_sdk::{Cx, ToolError};
    ///
    /// async fn next_page(cx: Cx) -> Result<String, ToolError> {
    ///     let page = cx.session_state::<u32>()?.map_or(1, |last| last + 1);
    ///     cx.set_session_state(&page)?;
    ///     Ok(format!("page {page}"))
    /// }
    /// ```
    ///
    /// # Errors
    /// 2031: the state has another form, for instance that of an older version of the server. The client begins anew then.
    pub fn session_state<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let Some(state) = self.call_session().and_then(CallSession::state) else { return Ok(None) };
        state.to().map(Some).map_err(|error| invalid_session().with_source(error))
    }

    /// Sets the state that the next call of the conversation finds. The client carries it, sealed: nothing of it stays
    /// here, and the client can neither read nor change it.
    ///
    /// State that takes more than 64 KiB as a token is dropped when the call ends, and the client is told so; the state
    /// before it stays.
    ///
    /// # Errors
    /// -32603: the state is not JSON.
    pub fn set_session_state<T: Serialize>(&self, state: &T) -> Result<(), Error> {
        let state = RawJson::from_value(state)
            .map_err(|error| Error::internal("the session state is not JSON").with_source(error))?;
        if let Some(session) = self.call_session() {
            session.set(state);
        }
        Ok(())
    }

    /// Ends the conversation: the client forgets the state, and the next call finds none.
    pub fn end_session(&self) {
        if let Some(session) = self.call_session() {
            session.end();
        }
    }

    /// Returns the checkpoint from which the call goes on; `None` if it begins anew.
    ///
    /// ```
    /// use mgp_server_sdk::{Cx, ToolError};
    ///
    /// async fn export(cx: Cx) -> Result<(), ToolError> {
    ///     let first = cx.resumed_from::<u32>()?.unwrap_or(0);
    ///     for row in first..10_000 {
    ///         cx.stream(format!("row {row}\n")).await?;
    ///         cx.checkpoint(&(row + 1)).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// 4021: the checkpoint has another form, for instance that of an older version of the server.
    pub fn resumed_from<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let Some(cursor) = self.checkpoints().and_then(|kept| kept.resumed.as_ref()) else { return Ok(None) };
        cursor.to().map(Some).map_err(|error| {
            let message = "the checkpoint has another form; make the call again without `_meta.resume`";
            Error::new(mgp_types::code::CHECKPOINT_INVALID, message).with_source(error)
        })
    }

    /// Tells the caller that a call with the same arguments can go on from here, should this one be interrupted:
    /// [`resumed_from`](Self::resumed_from) returns `cursor` then. The tool declares `supports_checkpoint`.
    ///
    /// For a caller that does not know checkpoints it does nothing.
    ///
    /// # Errors
    /// -32603: the cursor is not JSON, or takes more than 8 KiB as a token. Other errors: the connection is gone.
    pub async fn checkpoint<T: Serialize + Sync>(&self, cursor: &T) -> Result<(), Error> {
        let Some(checkpoints) = self.announced_checkpoints() else { return Ok(()) };
        let mut params = self.progress_params(&StreamProgress::new(self.last_fraction()))?;
        params.set_all(&checkpoints.members(written(cursor)?, 0)?);
        self.notify(Method::STREAM_PROGRESS, params).await
    }

    /// Sends a part of the result as [`stream`](Self::stream) does, and tells with it that a call can go on behind it, as
    /// [`checkpoint`](Self::checkpoint) does.
    ///
    /// # Errors
    /// The errors of both.
    pub async fn stream_with_checkpoint<T: Serialize + Sync>(
        &self,
        part: impl Into<ContentBlock> + Send,
        cursor: &T,
    ) -> Result<(), Error> {
        let part = part.into();
        let members = match self.announced_checkpoints() {
            Some(checkpoints) => checkpoints.members(written(cursor)?, 1)?,
            None => Object::new(),
        };
        self.stream_with(part, members).await
    }

    /// Reports the progress of the call as [`progress`](Self::progress) does, with a part of the result that can be shown
    /// before the call is done. The part goes to callers that speak MGP; the result itself has to be complete all the same.
    ///
    /// ```
    /// use mgp_server_sdk::{Cx, Object};
    ///
    /// async fn count(cx: Cx) -> u32 {
    ///     let (mut rows, total) = (0, 10_000);
    ///     while rows < total {
    ///         rows += 1000;
    ///         let so_far = Object::from_value(&serde_json::json!({"rows": rows})).unwrap_or_default();
    ///         cx.progress_with_result(rows.into(), Some(total.into()), None, &so_far).await;
    ///     }
    ///     rows
    /// }
    /// ```
    pub async fn progress_with_result(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
        result: &Object,
    ) {
        self.report(progress, total, message, Some(result.to_raw())).await;
    }

    /// Returns the params of a report of progress, in the words of the extension too if the caller knows them.
    pub(super) fn progress_params(&self, progress: &StreamProgress) -> Result<Object, Error> {
        let mut params = Object::from_value(progress)
            .map_err(|error| Error::internal("the progress is not JSON").with_source(error))?;
        if self.shares(ExtensionId::ProgressNotifications) {
            params.set("type", RawJson::from_text("progress"));
            // A call that goes on with another one has the id of that.
            let own = || &**self.0.operation.get_or_init(|| mgp_types::random_name().into());
            let operation = self.checkpoints().map_or_else(own, |checkpoints| &checkpoints.operation);
            params.set("operation_id", RawJson::from_text(operation));
            if let Some(millis) = progress.estimated_remaining_ms {
                params.set("estimated_remaining_seconds", mgp_types::mgp::written(&millis.div_ceil(1000))?);
            }
        }
        Ok(params)
    }

    fn call_session(&self) -> Option<&CallSession> {
        self.extras().tokens.as_ref()?.session.as_ref()
    }

    pub(super) fn checkpoints(&self) -> Option<&CallCheckpoints> {
        self.extras().tokens.as_ref()?.checkpoints.as_ref()
    }

    /// Returns the share of the call that was reported as done.
    fn last_fraction(&self) -> f64 {
        let last = *self.0.progress.lock();
        last.and_then(|(progress, total)| Progress::of(progress, total)).map_or(0.0, Progress::fraction)
    }

    /// Returns the checkpoints of the call, if there is a message to tell of them.
    fn announced_checkpoints(&self) -> Option<&CallCheckpoints> {
        let hears_progress = Progress::is_known_to(self.session()) && self.task().is_none();
        self.checkpoints().filter(|_| hears_progress)
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

/// Returns the link to a reference, with the reference itself for a client that knows what to do with it.
fn link(reference: &DataReference, knows_references: bool) -> ResourceLink {
    let mut link =
        ResourceLink::new(reference.uri(), &*reference.ref_id).with_mime_type(&*reference.mime_type);
    link.size = reference.size_bytes.and_then(|size| i64::try_from(size).ok());
    if knows_references {
        link.meta = Some(Meta::new().with(DataReference::MEMBER, reference.to_raw()));
    }
    link
}

fn written<T: Serialize>(cursor: &T) -> Result<RawJson, Error> {
    RawJson::from_value(cursor)
        .map_err(|error| Error::internal("the checkpoint is not JSON").with_source(error))
}
