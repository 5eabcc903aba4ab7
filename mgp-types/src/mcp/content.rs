//! Content blocks: the pieces that tools return, prompts hold and models read and write.

use super::body::body;
use super::union::{open_enum, union};
use super::{Icon, Number, ResourceContents};
use crate::{RawJson, Revision};

open_enum! {
    /// The speaker in a conversation.
    pub enum Role {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

body! {
    /// Hints about the use and display of a content.
    pub struct Annotations {
        /// The audience of the content.
        optional audience: Vec<Role> = "audience" => with_audience;
        /// The importance of the content, from 0 to 1.
        optional priority: Number = "priority" => with_priority;
        /// The time of the last change, in ISO 8601.
        optional last_modified: String = "lastModified" [since V2025_06_18] => with_last_modified;
    }

    /// Text.
    pub struct TextContent and meta [since V2025_06_18] => with_meta ("type": "text") {
        /// The text.
        required text: String = "text";
        /// Hints about the use of the content.
        optional annotations: Box<Annotations> = "annotations" => with_annotations;
    }

    /// An image.
    pub struct ImageContent and meta [since V2025_06_18] => with_meta ("type": "image") {
        /// The image in base64.
        required data: String = "data";
        /// The media type of the image.
        required mime_type: String = "mimeType";
        /// Hints about the use of the content.
        optional annotations: Box<Annotations> = "annotations" => with_annotations;
    }

    /// Sound.
    pub struct AudioContent and meta [since V2025_06_18] => with_meta ("type": "audio") {
        /// The sound in base64.
        required data: String = "data";
        /// The media type of the sound.
        required mime_type: String = "mimeType";
        /// Hints about the use of the content.
        optional annotations: Box<Annotations> = "annotations" => with_annotations;
    }

    /// A link to a resource that can be read, not necessarily one of the server's list.
    pub struct ResourceLink and meta ("type": "resource_link") {
        /// The URI of the resource.
        required uri: String = "uri";
        /// The name for programs.
        required name: String = "name";
        /// The name for people.
        optional title: String = "title" => with_title;
        /// The description of the resource.
        optional description: String = "description" => with_description;
        /// The media type.
        optional mime_type: String = "mimeType" => with_mime_type;
        /// The size in bytes, before any encoding.
        optional size: i64 = "size" => with_size;
        /// Images for a user interface.
        optional icons: Vec<Icon> = "icons" [since V2025_11_25];
        /// Hints about the use of the content.
        optional annotations: Box<Annotations> = "annotations";
    }

    /// The contents of a resource inside a message.
    pub struct EmbeddedResource and meta [since V2025_06_18] => with_meta ("type": "resource") {
        /// The contents.
        required resource: ResourceContents = "resource";
        /// Hints about the use of the content.
        optional annotations: Box<Annotations> = "annotations" => with_annotations;
    }

    /// The model's wish to call a tool.
    pub struct ToolUseContent and meta ("type": "tool_use") {
        /// The id that the matching result carries.
        required id: String = "id";
        /// The name of the tool.
        required name: String = "name";
        /// The arguments: an object.
        required input: RawJson = "input";
    }

    /// The result of a tool, for the model.
    pub struct ToolResultContent and meta => with_meta ("type": "tool_result") {
        /// The id of the matching use.
        required tool_use_id: String = "toolUseId";
        /// The unstructured result.
        required content: Vec<ContentBlock> = "content";
        /// The structured result.
        nullable structured_content: RawJson = "structuredContent"
            [since V2025_06_18, before V2026_07_28 only RawJson::is_object] => with_structured_content;
        /// True if the tool failed.
        optional is_error: bool = "isError" => with_is_error;
    }
}

union! {
    /// A piece of content.
    pub enum ContentBlock by "type" {
        /// Text.
        Text(TextContent) = "text",
        /// An image.
        Image(ImageContent) = "image",
        /// Sound.
        Audio(AudioContent) = "audio" [since V2025_03_26],
        /// A resource that the client can read.
        ResourceLink(Box<ResourceLink>) = "resource_link" [since V2025_06_18],
        /// A resource with its contents.
        Resource(Box<EmbeddedResource>) = "resource",
    }
}

impl ContentBlock {
    /// Creates a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text of a block of text.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(content) = self { Some(&content.text) } else { None }
    }

    /// Returns the text that replaces content that the peer's revision lacks.
    fn left_out(&self, revision: Revision) -> Self {
        Self::text(match self {
            Self::ResourceLink(link) => {
                format!("[resource link left out, MCP {revision} has none: {} <{}>]", link.name, link.uri)
            }
            Self::Audio(audio) => format!("[audio left out, MCP {revision} has none: {}]", audio.mime_type),
            _ => format!("[content left out, MCP {revision} has no such kind]"),
        })
    }
}

union! {
    /// A piece of content in a conversation with a model.
    pub enum SamplingContent by "type" {
        /// Text.
        Text(TextContent) = "text",
        /// An image.
        Image(ImageContent) = "image",
        /// Sound.
        Audio(AudioContent) = "audio" [since V2025_03_26],
        /// The model's wish to call a tool.
        ToolUse(ToolUseContent) = "tool_use" [since V2025_11_25],
        /// The result of a tool.
        ToolResult(ToolResultContent) = "tool_result" [since V2025_11_25],
    }
}

impl SamplingContent {
    /// Creates a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text of a block of text.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(content) = self { Some(&content.text) } else { None }
    }

    /// Returns the text that replaces content that the peer's revision lacks.
    pub(super) fn left_out(&self, revision: Revision) -> Self {
        Self::text(match self {
            Self::Audio(audio) => format!("[audio left out, MCP {revision} has none: {}]", audio.mime_type),
            Self::Image(image) => format!("[image left out: {}]", image.mime_type),
            Self::ToolUse(tool) => {
                format!("[tool call left out, MCP {revision} has none: {}]", tool.name)
            }
            Self::ToolResult(_) => format!("[tool result left out, MCP {revision} has none]"),
            _ => format!("[content left out, MCP {revision} has no such kind]"),
        })
    }
}

crate::convert!(&str => ContentBlock, text => Self::text(text));

crate::convert!(String => ContentBlock, text => Self::text(text));

crate::convert!(ResourceLink => ContentBlock, link => Self::ResourceLink(Box::new(link)));

crate::convert!(EmbeddedResource => ContentBlock, resource => Self::Resource(Box::new(resource)));
