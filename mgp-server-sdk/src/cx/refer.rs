//! Data that a handler holds for other servers instead of sending it.

use std::time::Duration;

use mgp_types::ext::{DataReference, ExtensionId};
use mgp_types::mcp::{ContentBlock, Meta, ResourceLink};
use mgp_types::{Error, RawJson};

use super::Cx;
use crate::reference::ReferenceData;

/// The time for which data is held.
const TTL: Duration = Duration::from_mins(5);

impl Cx {
    /// Returns whether the caller asks for a reference to the result, instead of the result: `_meta.return_reference`.
    pub fn wants_reference(&self) -> bool {
        self.meta("return_reference").is_some_and(|wish| wish.as_bytes() == b"true")
    }

    /// Holds data for other servers for five minutes, and returns the link to it, for the result of the call
    /// ([`Server::references`](crate::Server::references)).
    ///
    /// A client that knows data references finds the reference in the link's `_meta`, and passes it to another server. Any
    /// other client can read the link as a resource.
    ///
    /// ```
    /// use mgp_server_sdk::{Cx, ReferenceData, ToolError, mcp::ContentBlock};
    ///
    /// async fn export(cx: Cx) -> Result<ContentBlock, ToolError> {
    ///     if cx.wants_reference() {
    ///         return Ok(cx.refer_to("a,b\n1,2\n", "text/csv").await?);
    ///     }
    ///     Ok(ContentBlock::text("a,b\n1,2\n"))
    /// }
    /// ```
    ///
    /// # Errors
    /// 3001: too much data is held; -32603: the data cannot be read, or the server holds no data.
    pub async fn refer_to(
        &self,
        data: impl Into<ReferenceData> + Send,
        mime_type: &str,
    ) -> Result<ContentBlock, Error> {
        let (data, media_type) = (data.into(), mime_type.to_owned());
        let store = self.extras().server.as_ref().and_then(|server| server.about.references.clone());
        let store =
            store.ok_or_else(|| Error::internal("the server holds no data: add `Server::references`"))?;
        let held = tokio::task::spawn_blocking(move || store.hold(data, &media_type, TTL)).await;
        let reference =
            held.map_err(|error| Error::internal("the data cannot be held").with_source(error))??;
        Ok(link(&reference, self.shares(ExtensionId::DataReferences)).into())
    }
}

/// Returns the link to a reference, with the reference itself for a client that knows what to do with it.
fn link(reference: &DataReference, knows_references: bool) -> ResourceLink {
    let mut link =
        ResourceLink::new(reference.uri(), &*reference.ref_id).with_mime_type(&*reference.mime_type);
    link.size = reference.size_bytes.and_then(|size| i64::try_from(size).ok());
    if knows_references {
        let raw: RawJson = reference.to_raw();
        link.meta = Some(Meta::new().with(DataReference::MEMBER, raw));
    }
    link
}
