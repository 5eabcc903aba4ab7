//! The messages of a handler to its caller during the call: progress, parts of the result, logs.

use mgp_stream::call::Progress;
use mgp_types::mcp::{
    ContentBlock, ForRevision, LogLevel, LoggingMessageParams, NotificationBody, Number, ProgressParams,
    ProgressToken,
};
use mgp_types::mgp::{CallOptions, Extension, written};
use mgp_types::{Method, Object, RawJson, Request, Severity};
use serde::Serialize;

use super::Cx;

impl Cx {
    /// Reports the progress of the call, if the caller wants reports: `progress` of `total`, in any unit.
    ///
    /// Progress only grows; a value that does not exceed the last one is not sent. The report goes out as far as the
    /// connection allows, and never fails the call. A caller that speaks MGP gets the finished part of the whole, if
    /// that is known, and the time that the rest will take.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.report(progress, total, message, None).await;
    }

    /// Reports progress, with a part of the result where the form of the report has a place for it.
    pub(super) async fn report(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
        partial_result: Option<RawJson>,
    ) {
        if let (Some(task), Some(message)) = (self.task(), message) {
            task.say(message);
        }
        let token: Option<ProgressToken> = self.meta("progressToken").and_then(|token| token.to().ok());
        let knows_shares = Progress::is_known_to(self.session());
        if token.is_none() && !knows_shares {
            return;
        }
        {
            let mut last = self.0.progress.lock();
            if last.is_some_and(|(last, _)| progress <= last) || !progress.is_finite() {
                return;
            }
            *last = Some((progress, total));
        }
        if let Some(token) = token {
            let mut params = ProgressParams::new(token, number(progress));
            params.total = total.map(number);
            params.message = message.map(Into::into);
            self.tell(&mut params).await;
        }
        if knows_shares
            && self.task().is_none()
            && let Some(part) = Progress::of(progress, total)
        {
            let mut report = part.report(message, self.0.began.elapsed());
            report.partial_result = partial_result;
            #[cfg(feature = "ext")]
            let params = self.progress_params(&report);
            #[cfg(not(feature = "ext"))]
            let params = Object::from_value(&report);
            if let Ok(params) = params {
                self.pass(Method::STREAM_PROGRESS, params).await;
            }
        }
    }

    /// Returns whether the caller wants parts of the result as they come, and this server can send them
    /// ([`Server::streaming`](crate::Server::streaming)).
    pub fn streams(&self) -> bool {
        *self.0.streams.get_or_init(|| {
            self.extras().server.as_ref().is_some_and(|server| server.about.streams)
                && self.session().has(&Extension::Streaming)
                && self.task().is_none()
                && CallOptions::of(&self.request().params).stream
        })
    }

    /// Sends a part of the result; for a caller that does not want parts, keeps it.
    ///
    /// A caller that reads slowly slows the handler down here. The result itself has to be complete all the same; a
    /// handler that returns nothing, as `()`, has its parts for a result.
    ///
    /// # Errors
    /// 3001: the caller does not read. Other errors: the connection is gone, or the handler has returned. The handler
    /// should end in each case.
    pub async fn stream(&self, part: impl Into<ContentBlock> + Send) -> Result<(), mgp_types::Error> {
        self.stream_with(part.into(), Object::new()).await
    }

    /// Sends a part of the result with further members of its message.
    pub(super) async fn stream_with(
        &self,
        part: ContentBlock,
        members: Object,
    ) -> Result<(), mgp_types::Error> {
        let content = part.for_revision(self.session().revision);
        if !self.streams() {
            self.0.parts.lock().push(content);
            return Ok(());
        }
        let mut params = Object::from([("content", written(&content)?)]);
        params.set_all(&members);
        #[cfg(feature = "ext")]
        if let Some(checkpoints) = self.checkpoints() {
            checkpoints.number(&mut params);
            self.context().outbox.notify(Request::notify(Method::STREAM_CHUNK, params)).await?;
            checkpoints.sent();
            return Ok(());
        }
        self.context().outbox.notify(Request::notify(Method::STREAM_CHUNK, params)).await
    }

    /// Removes the parts that were kept and returns them.
    pub(crate) fn take_parts(&self) -> Vec<ContentBlock> {
        std::mem::take(&mut self.0.parts.lock().0)
    }

    /// Sends a log message, if the caller wants messages of this level.
    pub async fn log(&self, level: LogLevel, logger: Option<&str>, data: impl Serialize + Send) {
        let Some(severity) = Severity::named(level.as_str()) else { return };
        if !self.session().wants_log(severity) {
            return;
        }
        let Ok(data) = RawJson::from_value(&data) else { return };
        let mut params = LoggingMessageParams::new(level, data);
        params.logger = logger.map(Into::into);
        self.tell(&mut params).await;
    }

    /// Sends any notification along with the call.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn notify(&self, method: impl Into<Method>, params: Object) -> Result<(), mgp_types::Error> {
        let mut request = Request::notify(method, params);
        if let Some(task) = self.task() {
            task.relate(&mut request.params);
        }
        self.context().outbox.notify(request).await
    }

    async fn tell<N: NotificationBody>(&self, params: &mut N) {
        params.fit(self.session().revision);
        let Ok(params) = Object::from_value(params) else { return };
        self.pass(Method::from_static(N::METHOD), params).await;
    }

    async fn pass(&self, method: Method, params: Object) {
        if let Err(error) = self.notify(method.clone(), params).await {
            tracing::debug!(%error, %method, "a notification was lost");
        }
    }
}

/// Returns the number, as an integer if it is one.
fn number(value: f64) -> Number {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it has no fraction and fits")]
        return Number::from(value as i64);
    }
    Number::from(value)
}

/// The parts of a result whose caller does not want parts: they become the result if the handler returns none.
#[derive(Debug, Default)]
pub(super) struct ResultParts(Vec<ContentBlock>);

impl ResultParts {
    /// Adds a part; a text continues the text before it.
    pub(super) fn push(&mut self, part: ContentBlock) {
        match (self.0.last_mut(), part) {
            (Some(ContentBlock::Text(last)), ContentBlock::Text(next))
                if last.annotations.is_none() && next.annotations.is_none() =>
            {
                last.text.push_str(&next.text);
            }
            (_, part) => self.0.push(part),
        }
    }
}
