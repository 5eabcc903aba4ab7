//! Completion of the arguments of prompts and resource templates.

use super::body::body;
use super::union::union;
use super::{Map, ResultType};

body! {
    /// A prompt whose argument is completed.
    pub struct PromptReference("type": "ref/prompt") {
        /// The name of the prompt.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18];
    }

    /// A resource or a template of resources whose argument is completed.
    pub struct ResourceTemplateReference("type": "ref/resource") {
        /// The URI or the template.
        required uri: String = "uri";
    }

    /// The argument that is completed.
    pub struct CompletionArgument {
        /// The name of the argument.
        required name: String = "name";
        /// The text that has been typed so far.
        required value: String = "value";
    }

    /// The values that are known already when an argument is completed.
    pub struct CompletionContext {
        /// The arguments already given.
        optional arguments: Map<String> = "arguments" => with_arguments;
    }

    /// The params of `completion/complete`.
    pub struct CompleteParams with meta => with_meta {
        /// The prompt or resource template whose argument is completed.
        required reference: Reference = "ref";
        /// The argument to complete.
        required argument: CompletionArgument = "argument";
        /// The values that are known already.
        optional context: CompletionContext = "context" [since V2025_06_18] => with_context;
    }

    /// The values that complete an argument.
    pub struct Completion {
        /// The values, at most a hundred.
        required values: Vec<String> = "values";
        /// The number of all values that there are.
        optional total: i64 = "total" => with_total;
        /// True if there are more values than these.
        optional has_more: bool = "hasMore" => with_has_more;
    }

    /// The result of `completion/complete`.
    pub struct CompleteResult and meta {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The values.
        required completion: Completion = "completion";
    }
}

union! {
    /// The prompt or resource template whose argument is completed.
    pub enum Reference by "type" {
        /// A prompt.
        Prompt(PromptReference) = "ref/prompt",
        /// A resource or a template of resources.
        Resource(ResourceTemplateReference) = "ref/resource",
    }
}
