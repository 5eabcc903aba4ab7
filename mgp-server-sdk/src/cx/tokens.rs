//! The state that a caller carries for a handler (of a session, of checkpoints), and the progress that tells of checkpoints.

use mgp_stream::call::{Progress, ProgressForms};
use mgp_types::ext::ExtensionId;
use mgp_types::mcp::ContentBlock;
use mgp_types::mgp::StreamProgress;
use mgp_types::{Error, Method, Object, RawJson};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Cx;
use crate::tokens::{CallCheckpoints, CallSession, invalid_session};

impl Cx {
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
        let Some(checkpoints) = self.told_of_checkpoints() else { return Ok(()) };
        let mut params = self.progress_params(&StreamProgress::new(self.last_fraction()))?;
        for (name, value) in checkpoints.members(written(cursor)?, 0)?.iter() {
            params.set(name.into_owned(), value);
        }
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
        let members = match self.told_of_checkpoints() {
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
    fn told_of_checkpoints(&self) -> Option<&CallCheckpoints> {
        let forms = ProgressForms::of(self.session(), false);
        self.checkpoints().filter(|_| forms.mgp && self.task().is_none())
    }
}

fn written<T: Serialize>(cursor: &T) -> Result<RawJson, Error> {
    RawJson::from_value(cursor)
        .map_err(|error| Error::internal("the checkpoint is not JSON").with_source(error))
}
