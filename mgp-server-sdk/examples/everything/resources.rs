//! Resources, fixed ones and a family.

use mgp_server_sdk::mcp::ResourceContents;
use mgp_server_sdk::{CompletionRequest, Resource, ResourceTemplate, Server};

use crate::content::PNG;

pub(crate) fn add(server: Server) -> Server {
    server
        .resource(
            Resource::new("test://static-text", "static-text")
                .description("A text that never changes.")
                .media_type("text/plain"),
            async || "This is the content of the static text resource.",
        )
        .resource(
            Resource::new("test://static-binary", "static-binary")
                .description("An image that never changes.")
                .media_type("image/png"),
            async || ResourceContents::blob("test://static-binary", PNG).with_mime_type("image/png"),
        )
        .resource(
            Resource::new("test://watched-resource", "watched-resource")
                .description("A text to subscribe to.")
                .media_type("text/plain"),
            async || "This resource can be watched.",
        )
        .resource_template(
            ResourceTemplate::new(DATA, "template").description("Data by id.").media_type("application/json"),
            async |Data { id }: Data| {
                format!(r#"{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}"#)
            },
        )
        .complete_resource(DATA, "id", async |typed: CompletionRequest| {
            ["1", "12", "123"].into_iter().filter(|id| id.starts_with(&typed.value)).collect::<Vec<_>>()
        })
}

#[derive(serde::Deserialize)]
struct Data {
    id: u64,
}

const DATA: &str = "test://template/{id}/data";
