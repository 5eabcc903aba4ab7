//! Elicitation: a server asks the user of its client.

use super::body::body;
use super::task::TaskMetadata;
use super::union::{open_enum, union};
use super::{FormSchema, Map, Meta};
use crate::RawJson;

union! {
    /// The params of `elicitation/create`.
    pub enum ElicitParams by "mode" else "form" {
        /// A question by a form.
        Form(ElicitFormParams) = "form",
        /// A question by a page that the user visits.
        Url(ElicitUrlParams) = "url",
    }
}

open_enum! {
    /// The way in which the user is asked; absent means by a form.
    pub enum ElicitMode {
        /// The user fills in a form.
        Form = "form",
        /// The user visits a page.
        Url = "url",
    }

    /// The action of a user who was asked a question.
    pub enum ElicitAction {
        /// The user filled in the form, or agreed to visit the page.
        Accept = "accept",
        /// The user said no.
        Decline = "decline",
        /// The user closed the question without an answer.
        Cancel = "cancel",
    }
}

body! {
    /// The params of `elicitation/create` that ask by a form.
    pub struct ElicitFormParams {
        /// Metadata.
        optional meta: Meta = "_meta" [until V2025_11_25];
        /// The wish to run the request as a task.
        optional task: TaskMetadata = "task" [only V2025_11_25];
        /// The way in which the user is asked.
        optional mode: ElicitMode = "mode" [since V2025_11_25] => with_mode;
        /// The message to the user.
        required message: String = "message";
        /// The form.
        required requested_schema: FormSchema = "requestedSchema";
    }

    /// The params of `elicitation/create` that ask by a page that the user visits.
    pub struct ElicitUrlParams("mode": "url") {
        /// Metadata.
        optional meta: Meta = "_meta" [until V2025_11_25];
        /// The wish to run the request as a task.
        optional task: TaskMetadata = "task" [only V2025_11_25];
        /// The message to the user.
        required message: String = "message";
        /// The id by which the server reports that the user is done; required in 2025-11-25.
        optional elicitation_id: String = "elicitationId" [only V2025_11_25] => with_elicitation_id;
        /// The URL of the page.
        required url: String = "url";
    }

    /// The result of `elicitation/create`.
    pub struct ElicitResult and meta [until V2025_11_25] {
        /// The action of the user.
        required action: ElicitAction = "action";
        /// The fields of the form: texts, numbers, booleans and arrays of texts.
        optional content: Map<RawJson> = "content" => with_content;
    }

    /// The params of `notifications/elicitation/complete`.
    pub struct ElicitationCompleteParams with meta {
        /// The id of the elicitation.
        required elicitation_id: String = "elicitationId";
    }

    /// The `data` of an error: the user must visit pages before the request can be answered.
    pub struct UrlElicitationRequired {
        /// The pages.
        required elicitations: Vec<ElicitUrlParams> = "elicitations";
    }
}

impl ElicitResult {
    /// Creates the result of a user who filled in the form with `content`.
    pub fn accept(content: Map<RawJson>) -> Self {
        Self::new(ElicitAction::Accept).with_content(content)
    }

    /// Creates the result of a user who said no.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Creates the result of a user who closed the question without an answer.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }
}
