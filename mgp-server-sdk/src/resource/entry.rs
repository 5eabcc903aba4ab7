//! The entries of resources in the catalog.

use std::sync::Arc;

use mgp_types::mcp::{self, ForRevision, ReadResourceResult};
use mgp_types::{BoxFuture, CacheHint, Error, Object, RawJson, Response, Revision, code};

#[cfg(feature = "ext")]
use super::cache::{Lookup, ResourceCache};
use super::handler::{ErasedReader, ReadFuture, ReadRequest, ResourceHandler};
use super::template::ParsedTemplate;
use super::{Resource, ResourceTemplate};
use crate::catalog::{Catalog, ListDialect, ListEntry};
use crate::error::Fault;
use crate::tool::CallInput;

/// A resource with its handler.
#[derive(Debug)]
pub(crate) struct ResourceEntry {
    uri: Arc<str>,
    wire: mcp::Resource,
    reader: ErasedReader,
    cache: Option<CacheHint>,
    #[cfg(feature = "ext")]
    cached_in: Option<ResourceCache>,
}

/// A family of resources with its handler.
#[derive(Debug)]
pub(crate) struct TemplateEntry {
    text: Arc<str>,
    template: ParsedTemplate,
    variables: Vec<Arc<str>>,
    wire: mcp::ResourceTemplate,
    reader: ErasedReader,
    cache: Option<CacheHint>,
    #[cfg(feature = "ext")]
    cached_in: Option<ResourceCache>,
}

impl ResourceEntry {
    pub(crate) fn new<H: ResourceHandler<M>, M>(resource: Resource, handler: H) -> Result<Self, Fault> {
        let Resource {
            wire,
            cache,
            #[cfg(feature = "ext")]
            cached_in,
        } = resource;
        let fault = |reason: &str| Fault::new(format!("resource `{}`", wire.uri), reason);
        if !wire.uri.contains(':') {
            return Err(fault("the URI has no scheme"));
        }
        #[cfg(feature = "ext")]
        if cached_in.is_some() && cache.is_none() {
            return Err(fault(NO_LIFETIME));
        }
        Ok(Self {
            uri: wire.uri.as_str().into(),
            wire,
            reader: ErasedReader::new(move |asked| handler.read(asked)),
            cache,
            #[cfg(feature = "ext")]
            cached_in,
        })
    }

    #[cfg(feature = "ext")]
    pub(crate) const fn cached_in(&self) -> Option<&ResourceCache> {
        self.cached_in.as_ref()
    }
}

impl TemplateEntry {
    pub(crate) fn new<H: ResourceHandler<M>, M>(
        template: ResourceTemplate,
        handler: H,
    ) -> Result<Self, Fault> {
        let ResourceTemplate {
            wire,
            cache,
            #[cfg(feature = "ext")]
            cached_in,
        } = template;
        let fault = |reason: String| Fault::new(format!("resource template `{}`", wire.uri_template), reason);
        let template = ParsedTemplate::parse(&wire.uri_template).map_err(fault)?;
        #[cfg(feature = "ext")]
        if cached_in.is_some() && cache.is_none() {
            return Err(fault(NO_LIFETIME.into()));
        }
        let text = wire.uri_template.as_str().into();
        let variables = template.variables().map(Into::into).collect();
        Ok(Self {
            text,
            template,
            variables,
            wire,
            reader: ErasedReader::new(move |asked| handler.read(asked)),
            cache,
            #[cfg(feature = "ext")]
            cached_in,
        })
    }

    #[cfg(feature = "ext")]
    pub(crate) const fn cached_in(&self) -> Option<&ResourceCache> {
        self.cached_in.as_ref()
    }

    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.variables.iter().any(|variable| &**variable == name)
    }
}

impl ListEntry for ResourceEntry {
    const MEMBER: &'static str = "resources";
    type Wire = mcp::Resource;

    fn key(&self) -> &Arc<str> {
        &self.uri
    }

    fn wire(&self, dialect: ListDialect) -> mcp::Resource {
        self.wire.clone().for_revision(dialect.revision)
    }
}

impl ListEntry for TemplateEntry {
    const MEMBER: &'static str = "resourceTemplates";
    type Wire = mcp::ResourceTemplate;

    fn key(&self) -> &Arc<str> {
        &self.text
    }

    fn wire(&self, dialect: ListDialect) -> mcp::ResourceTemplate {
        self.wire.clone().for_revision(dialect.revision)
    }
}

/// Reads the requested resource: the one with this URI, or else one of the first family whose template fits.
pub(crate) fn read(
    catalog: &Catalog,
    input: CallInput,
    revision: Revision,
) -> Result<BoxFuture<'static, Result<Response, Error>>, Error> {
    let uri = input
        .request
        .params
        .text("uri")
        .ok_or_else(|| Error::invalid_params("`uri` is missing"))?
        .into_owned();
    if let Some(entry) = catalog.resources.get(&uri) {
        let media_type = entry.wire.mime_type.clone();
        let asked = ReadRequest { input, uri: uri.clone(), media_type, variables: Vec::new() };
        #[cfg(feature = "ext")]
        if let (Some(cache), Some(hint)) = (&entry.cached_in, &entry.cache) {
            return through(cache, &entry.reader, asked, hint, revision);
        }
        return Ok(Box::pin(answer(entry.reader.call(asked)?, uri, entry.cache.clone(), revision)));
    }
    for entry in catalog.templates.iter() {
        if let Some(values) = entry.template.matched(&uri) {
            let variables = entry.variables.iter().cloned().zip(values).collect();
            let media_type = entry.wire.mime_type.clone();
            let asked = ReadRequest { input, uri: uri.clone(), media_type, variables };
            #[cfg(feature = "ext")]
            if let (Some(cache), Some(hint)) = (&entry.cached_in, &entry.cache) {
                return through(cache, &entry.reader, asked, hint, revision);
            }
            return Ok(Box::pin(answer(entry.reader.call(asked)?, uri, entry.cache.clone(), revision)));
        }
    }
    Err(not_found(&uri, revision))
}

/// Reads a resource through a cache.
#[cfg(feature = "ext")]
fn through(
    cache: &ResourceCache,
    reader: &ErasedReader,
    asked: ReadRequest,
    hint: &CacheHint,
    revision: Revision,
) -> Result<BoxFuture<'static, Result<Response, Error>>, Error> {
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
    let answer = answer(reader.call(asked)?, uri, Some(hint), revision);
    Ok(Box::pin(async move {
        let response = answer.await?;
        if let Some(pending) = pending {
            pending.store(&response.result);
        }
        Ok(response)
    }))
}

#[cfg(feature = "ext")]
const NO_LIFETIME: &str = "nothing says how long its contents stay cached: say so with `cache`";

async fn answer(
    contents: ReadFuture,
    uri: String,
    cache: Option<CacheHint>,
    revision: Revision,
) -> Result<Response, Error> {
    let contents = contents.await?.ok_or_else(|| not_found(&uri, revision))?;
    let mut result = ReadResourceResult::new(contents).for_revision(revision);
    (result.result_type, result.ttl_ms, result.cache_scope) = (None, None, None);
    let result = RawJson::from_value(&result)
        .map_err(|error| Error::internal("the contents are not JSON").with_source(error))?;
    let mut response = Response::plain(result);
    response.context.cache = cache;
    Ok(response)
}

/// Returns the error of a resource that does not exist.
fn not_found(uri: &str, revision: Revision) -> Error {
    let code = if revision.is_stateless() { code::INVALID_PARAMS } else { code::MCP_RESOURCE_NOT_FOUND };
    let mut data = Object::new();
    data.set("uri", RawJson::from_value(uri).unwrap_or_else(|_| RawJson::null()));
    Error::new(code, "resource not found").with_data(data.to_raw())
}
