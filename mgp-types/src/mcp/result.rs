//! What all results share.

use super::Meta;
use super::body::body;
use super::open_enum::open_enum;

open_enum! {
    /// How to read a result; absent means complete.
    pub enum ResultType {
        /// The request is done.
        Complete = "complete",
        /// The client has to provide input and ask again.
        InputRequired = "input_required",
        /// The request goes on as a task of the tasks extension.
        Task = "task",
    }
}

open_enum! {
    /// Who may share a cached result.
    pub enum CacheScope {
        /// Anybody.
        Public = "public",
        /// Requests under the same authorization only.
        Private = "private",
    }
}

body! {
    /// A result that says only that the request was carried out.
    pub struct EmptyResult {
        /// How to read the result.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}
