//! Reports of progress in the words of the extension `progress_notifications`.

use mgp_types::ext::ExtensionId;
use mgp_types::mgp::{StreamProgress, written};
use mgp_types::{Error, Object, RawJson};

use super::Cx;

impl Cx {
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
                params.set("estimated_remaining_seconds", written(&millis.div_ceil(1000))?);
            }
        }
        Ok(params)
    }
}
