//! The settings of a server that holds data for other servers.

use mgp_types::ext::{DataReference, ExtensionId};
use mgp_types::mcp::ResourceContents;
use mgp_types::{Error, RawJson};
use serde::Deserialize;

use super::Server;
use crate::reference::ReferenceStore;
use crate::resource::{ResourceTemplate, base64};

/// The bytes of data that a client reads as a resource at most.
const MAX_READ: u64 = 1 << 20;

/// The variable of the template.
#[derive(Deserialize)]
struct HeldId {
    ref_id: String,
}

impl<L> Server<L> {
    /// Lets handlers refer to data instead of sending it ([`Cx::refer_to`](crate::Cx::refer_to)): `store` holds it for
    /// other servers. Data of 1 MiB at most can also be read as a resource, by its `mgp-ref` address.
    ///
    /// Other servers fetch data over HTTP; [`ReferenceStore::answer`] says what to answer them.
    pub fn references(mut self, store: &ReferenceStore) -> Self {
        let template = format!("{}://{}/{{ref_id}}", DataReference::SCHEME, store.origin());
        let template = ResourceTemplate::new(template, "data-reference")
            .description("Data that a tool of this server refers to, for some minutes.");
        self.parts.about.references = Some(store.clone());
        let store = store.clone();
        let transports = RawJson::from_written(br#"{"transports":["signed_url"]}"#.to_vec());
        self.extension(ExtensionId::DataReferences.id(), transports).resource_template(
            template,
            move |HeldId { ref_id }: HeldId| {
                let store = store.clone();
                async move { read(store, ref_id).await }
            },
        )
    }
}

async fn read(store: ReferenceStore, ref_id: String) -> Result<ResourceContents, Error> {
    let uri = format!("{}://{}/{ref_id}", DataReference::SCHEME, store.origin());
    let read = tokio::task::spawn_blocking(move || store.read(&ref_id, MAX_READ)).await;
    let (data, mime_type) =
        read.map_err(|error| Error::internal("the data cannot be read").with_source(error))??;
    let is_text = mime_type.starts_with("text/") || &*mime_type == "application/json";
    let contents = match std::str::from_utf8(&data) {
        Ok(text) if is_text => ResourceContents::text(uri, text),
        _ => ResourceContents::blob(uri, base64(&data)),
    };
    Ok(contents.with_mime_type(&*mime_type))
}
