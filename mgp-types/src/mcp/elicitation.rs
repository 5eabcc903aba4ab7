//! Elicitation: a server asks the user of its client.

use super::body::{body, builders};
use super::open_enum::open_enum;
use super::task::TaskMetadata;
use super::union::union;
use super::{FormSchema, Map, Meta};
use crate::RawJson;

union! {
    /// The params of `elicitation/create`.
    pub enum ElicitParams by "mode" else "form" {
        /// By a form.
        Form(ElicitFormParams) = "form",
        /// By a page that the user visits.
        Url(ElicitUrlParams) = "url",
    }
}

open_enum! {
    /// How the user is asked; absent means by a form.
    pub enum ElicitMode {
        /// By a form.
        Form = "form",
        /// By a page that the user visits.
        Url = "url",
    }
}

body! {
    /// The params of `elicitation/create` that ask by a form.
    pub struct ElicitFormParams {
        /// Metadata.
        optional meta: Meta = "_meta" [until V2025_11_25];
        /// The wish to run the request as a task.
        optional task: TaskMetadata = "task" [only V2025_11_25];
        /// How the user is asked.
        optional mode: ElicitMode = "mode" [since V2025_11_25];
        /// What the user is told.
        required message: String = "message";
        /// The form.
        required requested_schema: FormSchema = "requestedSchema";
    }
}

body! {
    /// The params of `elicitation/create` that ask by a page that the user visits.
    pub struct ElicitUrlParams("mode": "url") {
        /// Metadata.
        optional meta: Meta = "_meta" [until V2025_11_25];
        /// The wish to run the request as a task.
        optional task: TaskMetadata = "task" [only V2025_11_25];
        /// What the user is told.
        required message: String = "message";
        /// The id by which the server tells that the user is done; required in 2025-11-25.
        optional elicitation_id: String = "elicitationId" [only V2025_11_25];
        /// The page.
        required url: String = "url";
    }
}

builders! {
    ElicitUrlParams {
        with_elicitation_id: elicitation_id: String,
    }
}

open_enum! {
    /// What the user did.
    pub enum ElicitAction {
        /// Filled in the form, or agreed to visit the page.
        Accept = "accept",
        /// Said no.
        Decline = "decline",
        /// Closed the question without an answer.
        Cancel = "cancel",
    }
}

body! {
    /// The result of `elicitation/create`.
    pub struct ElicitResult {
        /// What the user did.
        required action: ElicitAction = "action";
        /// The fields of the form: texts, numbers, booleans and arrays of texts.
        optional content: Map<RawJson> = "content";
        /// Metadata.
        optional meta: Meta = "_meta" [until V2025_11_25];
    }
}

builders! {
    ElicitResult {
        with_content: content: Map<RawJson>,
    }
}

body! {
    /// The params of `notifications/elicitation/complete`.
    pub struct ElicitationCompleteParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The id of the elicitation.
        required elicitation_id: String = "elicitationId";
    }
}

body! {
    /// The `data` of the error that a request needs the user to visit pages first.
    pub struct UrlElicitationRequired {
        /// The pages.
        required elicitations: Vec<ElicitUrlParams> = "elicitations";
    }
}
