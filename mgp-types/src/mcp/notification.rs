//! Notifications about requests under way, and the token that ties progress to its request.

use super::body::body;
use super::{Meta, Number};
use crate::Id;

body! {
    /// The params of `notifications/cancelled`.
    pub struct CancelledParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The id of the request; absent only in 2025-11-25, which cancels tasks by `tasks/cancel`.
        optional request_id: Id = "requestId" => with_request_id;
        /// The reason of the cancellation, for people.
        optional reason: String = "reason" => with_reason;
    }

    /// The params of `notifications/progress`.
    pub struct ProgressParams {
        /// Metadata.
        optional meta: Meta = "_meta" => with_meta;
        /// The token of the request.
        required progress_token: ProgressToken = "progressToken";
        /// The amount of work done; it increases with every notification.
        required progress: Number = "progress";
        /// The amount of work in all, if known.
        optional total: Number = "total" => with_total;
        /// The current step of the work, for people.
        optional message: String = "message" [since V2025_03_26] => with_message;
    }
}

/// The token that ties progress notifications to their request: a string or an integer, like the [`Id`] of a request. The
/// sender of the request chooses the token, and the receiver returns it exactly as it came.
pub type ProgressToken = Id;
