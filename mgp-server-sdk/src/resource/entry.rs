//! The entries of resources in the catalog.

use std::sync::Arc;

use mgp_types::mcp::{self, ForRevision, ReadResourceResult};
use mgp_types::mgp::written;
use mgp_types::{CacheHint, Error, Object, RawJson, Response, Revision, code};

#[cfg(feature = "ext")]
use super::cache::{Lookup, ResourceCache};
use super::handler::{ErasedReader, ReadFuture, ReadRequest, ResourceHandler};
use super::template::ParsedTemplate;
use super::{KeptContents, Resource, ResourceTemplate};
use crate::error::Fault;
use crate::list::{ListDialect, ListEntry};
use crate::method::MethodFuture;
use crate::tool::CallInput;

/// A resource with its handler.
pub(crate) struct ResourceEntry {
    wire: mcp::Resource,
    pub(crate) source: ContentsSource,
}

/// A family of resources with its handler.
pub(crate) struct TemplateEntry {
    pub(crate) template: ParsedTemplate,
    wire: mcp::ResourceTemplate,
    pub(crate) source: ContentsSource,
}

/// The handler that reads contents, and how long they stay cached.
pub(crate) struct ContentsSource {
    reader: ErasedReader,
    media_type: Option<String>,
    kept: KeptContents,
}

impl ResourceEntry {
    pub(crate) fn new<H: ResourceHandler<M>, M>(resource: Resource, handler: H) -> Result<Self, Fault> {
        let Resource { wire, kept } = resource;
        let fault = |reason: String| Fault::new(format!("resource `{}`", wire.uri), reason);
        if !wire.uri.contains(':') {
            return Err(fault("the URI has no scheme".into()));
        }
        let source = ContentsSource::new(handler, wire.mime_type.clone(), kept).map_err(fault)?;
        Ok(Self { wire, source })
    }
}

impl TemplateEntry {
    pub(crate) fn new<H: ResourceHandler<M>, M>(
        template: ResourceTemplate,
        handler: H,
    ) -> Result<Self, Fault> {
        let ResourceTemplate { wire, kept } = template;
        let fault = |reason: String| Fault::new(format!("resource template `{}`", wire.uri_template), reason);
        let template = ParsedTemplate::parse(&wire.uri_template).map_err(fault)?;
        let source = ContentsSource::new(handler, wire.mime_type.clone(), kept).map_err(fault)?;
        Ok(Self { template, wire, source })
    }
}

impl ListEntry for ResourceEntry {
    const MEMBER: &'static str = "resources";
    type Wire = mcp::Resource;

    fn key(&self) -> &str {
        &self.wire.uri
    }

    fn wire(&self, dialect: ListDialect) -> mcp::Resource {
        self.wire.clone().for_revision(dialect.revision)
    }
}

impl ListEntry for TemplateEntry {
    const MEMBER: &'static str = "resourceTemplates";
    type Wire = mcp::ResourceTemplate;

    fn key(&self) -> &str {
        &self.wire.uri_template
    }

    fn wire(&self, dialect: ListDialect) -> mcp::ResourceTemplate {
        self.wire.clone().for_revision(dialect.revision)
    }
}

impl ContentsSource {
    fn new<H: ResourceHandler<M>, M>(
        handler: H,
        media_type: Option<String>,
        kept: KeptContents,
    ) -> Result<Self, String> {
        #[cfg(feature = "ext")]
        if kept.cached_in.is_some() && kept.hint.is_none() {
            return Err("nothing says how long its contents stay cached: say so with `cache`".into());
        }
        Ok(Self { reader: Arc::new(move |asked| handler.read(asked)), media_type, kept })
    }

    #[cfg(feature = "ext")]
    pub(crate) const fn cached_in(&self) -> Option<&ResourceCache> {
        self.kept.cached_in.as_ref()
    }

    pub(crate) fn read(
        &self,
        input: CallInput,
        uri: String,
        variables: Vec<(Arc<str>, String)>,
        revision: Revision,
    ) -> Result<MethodFuture, Error> {
        let asked = ReadRequest { input, uri: uri.clone(), media_type: self.media_type.clone(), variables };
        #[cfg(feature = "ext")]
        if let (Some(cache), Some(hint)) = (&self.kept.cached_in, &self.kept.hint) {
            return through(cache, &self.reader, asked, hint, revision);
        }
        Ok(Box::pin(answer((self.reader)(asked)?, uri, self.kept.hint.clone(), revision)))
    }
}

/// Reads a resource through a cache.
#[cfg(feature = "ext")]
fn through(
    cache: &ResourceCache,
    reader: &ErasedReader,
    asked: ReadRequest,
    hint: &CacheHint,
    revision: Revision,
) -> Result<MethodFuture, Error> {
    let (uri, mut hint) = (asked.uri.clone(), hint.clone());
    let pending = match cache.look_up(&asked.input.request, &uri, &hint, revision) {
        Lookup::Hit(result, left) => {
            // A client may keep the contents for as long as they are still valid here.
            hint.ttl_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            let mut response = Response::plain(result);
            response.context.cache = Some(hint);
            return Ok(Box::pin(std::future::ready(Ok(response))));
        }
        Lookup::Miss(pending) => Some(pending),
        Lookup::Bypass => None,
    };
    let answer = answer(reader(asked)?, uri, Some(hint), revision);
    Ok(Box::pin(async move {
        let response = answer.await?;
        if let Some(pending) = pending {
            pending.store(&response.result);
        }
        Ok(response)
    }))
}

async fn answer(
    contents: ReadFuture,
    uri: String,
    cache: Option<CacheHint>,
    revision: Revision,
) -> Result<Response, Error> {
    let contents = contents.await?.ok_or_else(|| not_found(&uri, revision))?;
    let mut result = ReadResourceResult::new(contents).for_revision(revision);
    (result.result_type, result.ttl_ms, result.cache_scope) = (None, None, None);
    let mut response = Response::plain(written(&result)?);
    response.context.cache = cache;
    Ok(response)
}

/// Returns the error of a resource that does not exist.
pub(crate) fn not_found(uri: &str, revision: Revision) -> Error {
    let code = if revision.is_stateless() { code::INVALID_PARAMS } else { code::MCP_RESOURCE_NOT_FOUND };
    let mut data = Object::new();
    data.set("uri", RawJson::from_text(uri));
    Error::new(code, "resource not found").with_data(data.to_raw())
}
