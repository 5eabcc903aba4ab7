//! The entries of resources in the catalog, and the forms of functions that read a resource.

use std::sync::Arc;

use mgp_types::mcp::{self, ForRevision, ReadResourceResult, ResourceContents};
use mgp_types::mgp::written;
use mgp_types::{BoxFuture, CacheHint, Error, Object, RawJson, Response, Revision, code};
use serde::de::DeserializeOwned;

#[cfg(feature = "ext")]
use super::cache::{ContentsKey, ResourceCache};
use super::{IntoContents, KeptContents, ParsedTemplate, Resource, ResourceTemplate};
use crate::cx::Cx;
use crate::error::Fault;
use crate::list::listed_as_is;
use crate::method::MethodFuture;
use crate::strings;
use crate::tool::{CallInput, form};

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

listed_as_is!(ResourceEntry, "resources", mcp::Resource, uri);
listed_as_is!(TemplateEntry, "resourceTemplates", mcp::ResourceTemplate, uri_template);

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
    let key = ContentsKey::of(&asked.input.request, &uri, &hint, revision);
    if let Some((result, left)) = key.as_ref().and_then(|key| cache.get(key)) {
        // A client may keep the contents for as long as they are still valid here.
        hint.ttl_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let mut response = Response::plain(result);
        response.context.cache = Some(hint);
        return Ok(Box::pin(std::future::ready(Ok(response))));
    }
    let pending = key.map(|key| (cache.pending(key), std::time::Duration::from_millis(hint.ttl_ms)));
    let answer = answer(reader(asked)?, uri, Some(hint), revision);
    Ok(Box::pin(async move {
        let response = answer.await?;
        if let Some((pending, lifetime)) = pending {
            pending.store(&response.result, lifetime);
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
    let data = Object::from([("uri", RawJson::from_text(uri))]);
    Error::new(code, "resource not found").with_data(data.to_raw())
}

/// An async function that reads a resource.
///
/// The function takes nothing, the context ([`Cx`]), the variables of the template, or the variables and then the
/// context; a [`Uri`] stands in for variables where the whole URI is wanted. Variables are a struct that derives
/// `serde::Deserialize`, with a member for each one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot read a resource",
    label = "not an async function that reads a resource",
    note = "a handler is an async function of nothing, the template's variables, `Cx`, or the variables and then `Cx`",
    note = "the variables must derive `serde::Deserialize`; the result must implement `IntoContents`"
)]
pub trait ResourceHandler<M>: Send + Sync + 'static {
    /// Makes the future of one read.
    #[doc(hidden)]
    fn read(&self, asked: ReadRequest) -> Result<ReadFuture, Error>;
}

pub(crate) type ReadFuture = BoxFuture<'static, Result<Option<Vec<ResourceContents>>, Error>>;

/// The requested URI, for handlers that want it whole.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper that names what it holds")]
pub struct Uri(pub String);

/// One read of a resource.
#[doc(hidden)]
#[derive(Debug)]
pub struct ReadRequest {
    pub(crate) input: CallInput,
    pub(crate) uri: String,
    pub(crate) media_type: Option<String>,
    pub(crate) variables: Vec<(Arc<str>, String)>,
}

impl ReadRequest {
    fn variables<V: DeserializeOwned>(&self) -> Result<V, Error> {
        strings::read("resource URI", self.variables.iter().map(|(name, value)| (&**name, &**value)))
    }
}

macro_rules! forms {
    ($($form:ty, [$($generic:ident)?] ($($argument:ty),*), |$handler:ident, $asked:ident| $call:expr;)+) => {
        $(impl<F, Fut, R $(, $generic)?> ResourceHandler<$form> for F
        where
            F: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = R> + Send + 'static,
            R: IntoContents + 'static,
            $($generic: DeserializeOwned + 'static,)?
        {
            fn read(&self, $asked: ReadRequest) -> Result<ReadFuture, Error> {
                let (uri, media_type) = ($asked.uri.clone(), $asked.media_type.clone());
                let $handler = self;
                let future = $call;
                Ok(Box::pin(async move { future.await.into_contents(&uri, media_type.as_deref()) }))
            }
        })+
    };
}

forms! {
    form::Bare, [] (), |handler, asked| handler();
    form::Context, [] (Cx), |handler, asked| handler(asked.input.into_cx());
    form::Raw, [] (Uri), |handler, asked| handler(Uri(asked.uri));
    form::RawContext, [] (Uri, Cx), |handler, asked| handler(Uri(asked.uri), asked.input.into_cx());
    form::Args<V>, [V] (V), |handler, asked| handler(asked.variables()?);
    form::ArgsContext<V>, [V] (V, Cx), |handler, asked| handler(asked.variables()?, asked.input.into_cx());
}

/// A handler with its type erased.
pub(crate) type ErasedReader = Arc<dyn Fn(ReadRequest) -> Result<ReadFuture, Error> + Send + Sync>;
