//! Tools: functions that a server runs for clients.

use serde::Serialize;
use serde_json::value::RawValue;

use super::body::{body, pages};
use super::task::TaskMetadata;
use super::union::open_enum;
use super::{ContentBlock, Icon, InputResponses, Map, ResultType};
use crate::RawJson;

body! {
    /// Hints about the behaviour of a tool. Only the hints of a trusted server are reliable.
    pub struct ToolAnnotations {
        /// The name for people.
        optional title: String = "title" => with_title;
        /// The tool changes nothing.
        optional read_only_hint: bool = "readOnlyHint" => with_read_only_hint;
        /// The tool may destroy something.
        optional destructive_hint: bool = "destructiveHint" => with_destructive_hint;
        /// Calling the tool again with the same arguments changes nothing more.
        optional idempotent_hint: bool = "idempotentHint" => with_idempotent_hint;
        /// The tool deals with a world beyond the server.
        optional open_world_hint: bool = "openWorldHint" => with_open_world_hint;
    }

    /// The way in which a tool runs.
    pub struct ToolExecution {
        /// The support of the tool for tasks.
        optional task_support: TaskSupport = "taskSupport" => with_task_support;
    }

    /// A function that a server runs for clients.
    pub struct Tool and meta [since V2025_06_18] => with_meta {
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" [since V2025_06_18] => with_title;
        /// The description of the tool, for a model.
        optional description: String = "description" => with_description;
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25] => with_icons;
        /// The JSON Schema of the arguments, whose root is an object.
        required input_schema: RawJson = "inputSchema";
        /// The way in which the tool runs.
        optional execution: ToolExecution = "execution" [only V2025_11_25] => with_execution;
        /// The JSON Schema of the structured result.
        optional output_schema: RawJson = "outputSchema"
            [since V2025_06_18, before V2026_07_28 only is_object_schema] => with_output_schema;
        /// Hints about the behaviour of the tool.
        optional annotations: Box<ToolAnnotations> = "annotations" [since V2025_03_26] => with_annotations;
    }

    /// The params of `tools/call`.
    pub struct CallToolParams with meta => with_meta {
        /// The name of the tool.
        required name: String = "name";
        /// The arguments: an object.
        optional arguments: RawJson = "arguments" => with_arguments;
        /// The wish to run the call as a task.
        optional task: TaskMetadata = "task" [only V2025_11_25] => with_task;
        /// The answers to the input requests of the result before.
        optional input_responses: InputResponses = "inputResponses" [since V2026_07_28]
            => with_input_responses;
        /// The state of the result before, unchanged.
        optional request_state: String = "requestState" [since V2026_07_28] => with_request_state;
    }

    /// The result of `tools/call`.
    pub struct CallToolResult and meta => with_meta {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// The unstructured result.
        required content: Vec<ContentBlock> = "content";
        /// The structured result: any JSON, `null` included.
        nullable structured_content: RawJson = "structuredContent"
            [since V2025_06_18, before V2026_07_28 only RawJson::is_object] => with_structured_content;
        /// True if the tool failed.
        optional is_error: bool = "isError";
    }

    /// The params of `notifications/tools/list_changed`.
    pub struct ToolListChangedParams with meta {}
}

open_enum! {
    /// The support of a tool for tasks; absent means forbidden.
    pub enum TaskSupport {
        /// The tool never runs as a task.
        Forbidden = "forbidden",
        /// The tool runs as a task if the client wants it.
        Optional = "optional",
        /// The tool always runs as a task.
        Required = "required",
    }
}

pages! {
    "tools/list": ListToolsParams, ListToolsResult,
    /// The tools of this page.
    tools: Vec<Tool> = "tools"
}

impl CallToolResult {
    /// Creates a result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([ContentBlock::text(text)])
    }

    /// Creates the result of a tool that failed, with a text for the model to read.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: Some(true), ..Self::text(text) }
    }

    /// Creates a structured result. The value is also given as text, for clients that read nothing else.
    ///
    /// # Errors
    /// The value's own `Serialize` refuses, or a map key in it is not a string.
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        let text = serde_json::to_string(value)?;
        let structured = RawJson::from_valid(text.clone());
        Ok(Self::text(text).with_structured_content(structured))
    }

    /// Returns whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }
}

/// Returns whether a schema says that its root is an object, the only root allowed before 2026-07-28.
fn is_object_schema(schema: &RawJson) -> bool {
    let members = schema.to::<Map<&RawValue>>();
    members.is_ok_and(|members| members.get("type").is_some_and(|root| root.get() == "\"object\""))
}
