//! The forms of functions that read a resource.

use std::future::Future;
use std::sync::Arc;

use mgp_types::mcp::ResourceContents;
use mgp_types::{BoxFuture, Error};
use serde::de::DeserializeOwned;

use super::IntoContents;
use crate::cx::Cx;
use crate::strings;
use crate::tool::{CallInput, form};

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
