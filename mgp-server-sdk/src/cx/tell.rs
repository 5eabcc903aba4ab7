//! What a handler tells the caller while it works.

use mgp_types::mcp::{LogLevel, LoggingMessageParams, NotificationBody, Number, ProgressParams};
use mgp_types::{Method, Object, RawJson, Request, Severity};
use serde::Serialize;

use super::Cx;

impl Cx {
    /// Tells how far the call is, if the caller wants to know: `progress` of `total`, in any unit.
    ///
    /// Progress only grows; what does not exceed the last value is not sent. It is told as well as the
    /// connection allows, and never fails the call.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if let (Some(task), Some(message)) = (self.task(), message) {
            task.say(message);
        }
        let Some(token) = self.meta("progressToken").and_then(|token| token.to().ok()) else { return };
        {
            let mut last = self.0.progress.lock();
            if last.is_some_and(|last| progress <= last) || !progress.is_finite() {
                return;
            }
            *last = Some(progress);
        }
        let token: mgp_types::mcp::ProgressToken = token;
        let mut params = ProgressParams::new(token, number(progress));
        params.total = total.map(number);
        params.message = message.map(Into::into);
        self.tell(&mut params).await;
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
        if let Err(error) = self.notify(Method::from_static(N::METHOD), params).await {
            tracing::debug!(%error, method = N::METHOD, "a notification was lost");
        }
    }
}

/// The number, as an integer if it is one.
fn number(value: f64) -> Number {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it has no fraction and fits")]
        return Number::from(value as i64);
    }
    Number::from(value)
}
