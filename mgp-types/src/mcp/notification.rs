//! Notifications about requests under way.

use super::body::{body, builders};
use super::{Meta, Number, ProgressToken};
use crate::Id;

body! {
    /// The params of `notifications/cancelled`.
    pub struct CancelledParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The id of the request; absent only in 2025-11-25, which cancels tasks by `tasks/cancel`.
        optional request_id: Id = "requestId";
        /// The reason of the cancellation, for people.
        optional reason: String = "reason";
    }
}

builders! {
    CancelledParams {
        with_request_id: request_id: Id,
        with_reason: reason: String,
    }
}

body! {
    /// The params of `notifications/progress`.
    pub struct ProgressParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The token of the request.
        required progress_token: ProgressToken = "progressToken";
        /// The amount of work done; it increases with every notification.
        required progress: Number = "progress";
        /// The amount of work in all, if known.
        optional total: Number = "total";
        /// The current step of the work, for people.
        optional message: String = "message" [since V2025_03_26];
    }
}

builders! {
    ProgressParams {
        with_meta: meta: Meta,
        with_total: total: Number,
        with_message: message: String,
    }
}
