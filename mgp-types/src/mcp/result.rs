//! The members that all results share.

use super::Meta;
use super::body::body;
use super::open_enum::open_enum;

open_enum! {
    /// The kind of a result; absent means complete.
    pub enum ResultType {
        /// The request is done.
        Complete = "complete",
        /// The client has to provide input and repeat the request.
        InputRequired = "input_required",
        /// The request goes on as a task of the tasks extension.
        Task = "task",
    }
}

open_enum! {
    /// The audience that may share a cached result.
    pub enum CacheScope {
        /// Any requester may share the result.
        Public = "public",
        /// Only requests under the same authorization may share the result.
        Private = "private",
    }
}

body! {
    /// A result without content: the request was carried out.
    pub struct EmptyResult {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}
