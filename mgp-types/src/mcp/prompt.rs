//! Prompts: messages that a server prepares for its users.

use super::body::{body, pages};
use super::{ContentBlock, Icon, InputResponses, Map, ResultType, Role};

body! {
    /// An argument of a prompt.
    pub struct PromptArgument {
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18] => with_title;
        /// The description of the argument.
        optional description: String = "description" => with_description;
        /// True if the argument must be given.
        optional required: bool = "required" => with_required;
    }

    /// A prompt or a template of prompts.
    pub struct Prompt and meta [since V2025_06_18] => with_meta {
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18] => with_title;
        /// The description of the prompt.
        optional description: String = "description" => with_description;
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25] => with_icons;
        /// The arguments of the template.
        optional arguments: Vec<PromptArgument> = "arguments" => with_arguments;
    }

    /// A message of a prompt.
    pub struct PromptMessage {
        /// The speaker.
        required role: Role = "role";
        /// The content of the message.
        required content: ContentBlock = "content";
    }

    /// The params of `prompts/get`.
    pub struct GetPromptParams with meta => with_meta {
        /// The name of the prompt.
        required name: String = "name";
        /// The arguments of the template.
        optional arguments: Map<String> = "arguments" => with_arguments;
        /// The answers to the input requests of the result before.
        optional input_responses: InputResponses = "inputResponses" [since V2026_07_28]
            => with_input_responses;
        /// The state of the result before, unchanged.
        optional request_state: String = "requestState" [since V2026_07_28] => with_request_state;
    }

    /// The result of `prompts/get`.
    pub struct GetPromptResult and meta => with_meta {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The description of the prompt.
        optional description: String = "description" => with_description;
        /// The messages.
        required messages: Vec<PromptMessage> = "messages";
    }

    /// The params of `notifications/prompts/list_changed`.
    pub struct PromptListChangedParams with meta {}
}

impl PromptMessage {
    /// Creates a message that the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, ContentBlock::text(text))
    }

    /// Creates a message that the model says.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, ContentBlock::text(text))
    }
}

pages! {
    "prompts/list": ListPromptsParams, ListPromptsResult,
    /// The prompts of this page.
    prompts: Vec<Prompt> = "prompts"
}
