//! The context of a call: the facts that a handler knows, and its way to the caller.

mod ask;
#[cfg(feature = "ext")]
mod hints;
mod tell;

use std::any::type_name;
use std::sync::{Arc, OnceLock};

use mgp_types::mcp::MetaValue;
use mgp_types::{Context, Error, Extensions, Principal, RawJson, Request, Revision, Session};
use parking_lot::Mutex;
use tokio::time::Instant;

pub use self::ask::{Ask, AskAll};
#[cfg(feature = "ext")]
use self::hints::ResultHints;
#[cfg(feature = "ext")]
pub(crate) use self::hints::{HINTS, StepUndo};
use self::tell::ResultParts;
use crate::server_context::ServerContext;
use crate::task::TaskRun;
#[cfg(feature = "ext")]
use crate::tokens::CallTokens;

/// The context of one call: the caller, the caller's capabilities, and the way back.
///
/// Clones are of the same call. A handler gets the context by taking it as its last argument.
#[derive(Clone)]
pub struct Cx(Arc<CxInner>);

struct CxInner {
    session: Arc<Session>,
    request: Request,
    extras: CallExtras,
    /// The last reported progress, which may only grow, and its total.
    progress: Mutex<Option<(f64, Option<f64>)>>,
    /// True if the caller wants parts of the result; set when that is first asked for.
    streams: OnceLock<bool>,
    /// The parts of a result whose caller does not want parts.
    parts: Mutex<ResultParts>,
    #[cfg(feature = "ext")]
    hints: Mutex<ResultHints>,
    /// The id of the call in reports of progress; made when it is first told.
    #[cfg(feature = "ext")]
    operation: OnceLock<Box<str>>,
    began: Instant,
}

/// The values that the server adds to the request for handlers that take a [`Cx`].
#[derive(Clone, Default)]
pub(crate) struct CallExtras {
    /// The task that the call runs as.
    pub(crate) task: Option<TaskRun>,
    /// True if the call may become a task.
    pub(crate) may_become_task: bool,
    /// The server that runs the call.
    pub(crate) server: Option<Arc<ServerContext>>,
    /// The tokens that the caller carries for the server.
    #[cfg(feature = "ext")]
    pub(crate) tokens: Option<Arc<CallTokens>>,
}

impl Cx {
    pub(crate) fn new(request: Request, extras: CallExtras) -> Self {
        // Where no layer knows the caller, the session is an empty one.
        let unknown = || Arc::new(Session::new(Revision::LATEST));
        let session = request.context.session.clone().unwrap_or_else(unknown);
        Self(Arc::new(CxInner {
            session,
            request,
            extras,
            progress: Mutex::new(None),
            streams: OnceLock::new(),
            parts: Mutex::default(),
            #[cfg(feature = "ext")]
            hints: Mutex::default(),
            #[cfg(feature = "ext")]
            operation: OnceLock::new(),
            began: Instant::now(),
        }))
    }

    /// Returns the session: the agreement with the caller, or the caller's description in its request.
    pub fn session(&self) -> &Arc<Session> {
        &self.0.session
    }

    /// Returns the principal of the call, if it was proved.
    pub fn principal(&self) -> Option<&Principal> {
        self.0.request.context.principal.as_ref()
    }

    /// Returns the value of the type `T` in the call's `_meta`; `None` if there is none.
    ///
    /// ```
    /// use mgp_server_sdk::mcp::MetaValue;
    /// use mgp_server_sdk::{Cx, ToolError};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Tenant {
    ///     name: String,
    /// }
    ///
    /// impl MetaValue for Tenant {
    ///     const KEY: &'static str = "com.example/tenant";
    /// }
    ///
    /// async fn search(cx: Cx) -> Result<String, ToolError> {
    ///     let tenant: Tenant = cx.meta_value()?.ok_or_else(|| ToolError::new("say for which tenant"))?;
    ///     Ok(format!("nothing is known about {}", tenant.name))
    /// }
    /// ```
    ///
    /// # Errors
    /// -32602: the value under the key has another shape.
    pub fn meta_value<T: MetaValue>(&self) -> Result<Option<T>, Error> {
        self.0.request.meta_value()
    }

    /// Returns the member of the call's `_meta` called `key`; [`meta_value`](Self::meta_value) is for types with a key.
    pub fn meta(&self, key: &str) -> Option<RawJson> {
        self.0.request.meta(key)
    }

    /// Returns the request as it came, with the values that layers attached to it.
    pub fn request(&self) -> &Request {
        &self.0.request
    }

    /// Returns the slots that the layers of MGP exchange.
    pub fn context(&self) -> &Context {
        &self.0.request.context
    }

    /// Returns the values that layers of third parties attached.
    pub fn extensions(&self) -> &Extensions {
        &self.0.request.extensions
    }

    /// Returns the head of the HTTP request that the call came in.
    #[cfg(feature = "http")]
    pub fn http_parts(&self) -> Option<&http::request::Parts> {
        self.extensions().get()
    }

    /// Returns the value of the type `T` that all handlers share; see [`Server::state`](crate::Server::state).
    ///
    /// # Errors
    /// -32603 if the server has no value of the type.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<&T, Error> {
        let server = self.0.extras.server.as_ref();
        server.and_then(|server| server.about.state.get()).ok_or_else(|| {
            let missing = type_name::<T>();
            Error::internal(format!(
                "the server has no state of the type `{missing}`: add it with `Server::state`"
            ))
        })
    }

    /// Returns the task that the call runs as.
    pub(crate) fn task(&self) -> Option<&TaskRun> {
        self.0.extras.task.as_ref()
    }

    pub(crate) fn extras(&self) -> &CallExtras {
        &self.0.extras
    }
}

mgp_types::partial_debug!(Cx, self => request: self.0.request);

impl CallExtras {
    /// Returns the values for a call that is no task.
    pub(crate) fn of(server: &Arc<ServerContext>) -> Self {
        Self { server: Some(server.clone()), ..Self::default() }
    }
}

mgp_types::partial_debug!(CallExtras, self => task: self.task.is_some());
