//! Tools of every kind of result, and of every kind of argument.

use mgp_server_sdk::mcp::{AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceContents};
use mgp_server_sdk::types::RawJson;
use mgp_server_sdk::{Server, Tool, ToolError, schemars};

/// A red dot, in base64.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// Nothing to hear, in base64.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(
            Tool::new("test_simple_text", "Returns a text."),
            async || "This is a simple text response for testing.",
        )
        .tool(Tool::new("test_image_content", "Returns an image."), async || image())
        .tool(Tool::new("test_audio_content", "Returns a sound."), async || {
            ContentBlock::from(AudioContent::new(WAV, "audio/wav"))
        })
        .tool(Tool::new("test_embedded_resource", "Returns a resource."), async || {
            embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        })
        .tool(
            Tool::new("test_multiple_content_types", "Returns a text, an image and a resource."),
            async || {
                let resource = embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                );
                [ContentBlock::text("Multiple content types test:"), image(), resource]
            },
        )
        .tool(Tool::new("test_error_handling", "Fails."), async || {
            Err::<(), _>(ToolError::new("This tool intentionally returns an error for testing"))
        })
        .tool(
            Tool::with_schema(
                "json_schema_2020_12_tool",
                "Takes what a large schema describes.",
                contact_schema(),
            ),
            async |contact: RawJson| format!("received {} bytes", contact.as_bytes().len()),
        )
        .tool(
            Tool::new("test_custom_header", "Takes a text that HTTP clients repeat in a header."),
            async |Mirrored { value }: Mirrored| value,
        )
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Mirrored {
    /// The text.
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

pub(crate) fn image() -> ContentBlock {
    ImageContent::new(PNG, "image/png").into()
}

pub(crate) fn embedded(uri: &str, media_type: &str, text: &str) -> ContentBlock {
    EmbeddedResource::new(ResourceContents::text(uri, text).with_mime_type(media_type)).into()
}

fn contact_schema() -> RawJson {
    RawJson::parse(
        r##"{
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
                }
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" }
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false
        }"##,
    )
    .expect("the schema is JSON")
}
