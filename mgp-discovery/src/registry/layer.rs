use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Poll, ready};

use mgp_types::mgp::{AskedAs, Extension, Refusal, method, written};
use mgp_types::{BoxFuture, Error, Kind, RawJson, Request, Response, Revision, RpcService, code};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::{Registry, RegistryError, Terms};

/// Serves `mgp/discovery/list`, `mgp/discovery/register` and `mgp/discovery/deregister` (§15). Makes [`Discovery`]
/// services.
#[derive(Debug, Clone)]
pub struct DiscoveryLayer {
    registry: Registry,
}

impl DiscoveryLayer {
    /// A layer that asks and changes `registry`.
    pub const fn new(registry: Registry) -> Self {
        Self { registry }
    }
}

impl<S> Layer<S> for DiscoveryLayer {
    type Service = Discovery<S>;

    fn layer(&self, inner: S) -> Discovery<S> {
        Discovery { inner, registry: self.registry.clone() }
    }
}

/// The service of [`DiscoveryLayer`].
///
/// Sits behind whatever authenticates and records, and around what reaches servers: what it serves it guards itself.
/// The same three are served as tools under the names `mgp.discovery.list`, `mgp/discovery/list` and
/// `mgp_discovery_list`, and so on. As methods they exist only for a peer with which `discovery` was negotiated.
/// Everything else passes untouched.
///
/// Reads `context.session`, `context.principal`, `context.trace`; notes refusals in `context.trail`. Without a principal
/// all is refused with 1002. Allocates for what it serves only. Dropping the future of a change makes it whole or not at
/// all.
#[derive(Debug, Clone)]
pub struct Discovery<S> {
    inner: S,
    registry: Registry,
}

impl<S: RpcService> Service<Request> for Discovery<S> {
    type Response = Response;
    type Error = Error;
    type Future = DiscoveryFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match Asked::of(&request) {
            None => DiscoveryFuture { state: State::Passed { future: self.inner.call(request) } },
            Some(asked) => {
                let future = Box::pin(asked.answer(self.registry.clone(), request));
                DiscoveryFuture { state: State::Served { future } }
            }
        }
    }
}

pin_project! {
    /// The future of [`Discovery`]: that of the service further in, or an answer of its own. Only the latter is boxed.
    #[must_use = "futures do nothing unless polled"]
    pub struct DiscoveryFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Passed { #[pin] future: F },
        Served { future: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for DiscoveryFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let answer = match self.project().state.project() {
            StateProj::Passed { future } => ready!(future.poll(cx)),
            StateProj::Served { future } => ready!(future.as_mut().poll(cx)),
        };
        Poll::Ready(answer)
    }
}

impl<F> fmt::Debug for DiscoveryFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscoveryFuture").finish_non_exhaustive()
    }
}

/// Which of the three is asked for, and how.
#[derive(Debug, Clone, Copy)]
struct Asked {
    operation: Operation,
    form: AskedAs,
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    List,
    Register,
    Deregister,
}

impl Asked {
    fn of(request: &Request) -> Option<Self> {
        let (form, method) = AskedAs::of(request)?;
        Some(Self { operation: Operation::of(method)?, form })
    }

    async fn answer(self, registry: Registry, request: Request) -> Result<Response, Error> {
        self.form.check(&request, &Extension::Discovery)?;
        if request.kind == Kind::Notify {
            return Err(Error::invalid_request(
                "servers are listed and registered by calls, not by notifications",
            ));
        }
        let outcome = self.result(&registry, &request).await;
        if let (Err(error), Some(trail)) = (&outcome, &request.context.trail)
            && matches!(
                error.code(),
                code::PERMISSION_DENIED | code::AUTH_REQUIRED | code::CODE_SAFETY_VIOLATION
            )
        {
            trail.note_refusal(Refusal::new("discovery", self.operation.rule()));
        }
        let revision = request.context.session.as_ref().map_or(Revision::LATEST, |session| session.revision);
        self.form.answer(outcome, revision)
    }

    async fn result(self, registry: &Registry, request: &Request) -> Result<RawJson, Error> {
        let context = &request.context;
        let by = context.principal.as_ref().ok_or(RegistryError::Unauthenticated)?;
        let form = self.form;
        match self.operation {
            Operation::List => written(&registry.list(context, &form.read(request)?)?),
            Operation::Register => {
                let register = form.read(request)?;
                written(&registry.register(by, context.trace, register, Terms::default()).await?)
            }
            Operation::Deregister => {
                written(&registry.deregister(by, context.trace, &form.read(request)?).await?)
            }
        }
    }
}

impl Operation {
    fn of(method: &str) -> Option<Self> {
        match method {
            method::DISCOVERY_LIST => Some(Self::List),
            method::DISCOVERY_REGISTER => Some(Self::Register),
            method::DISCOVERY_DEREGISTER => Some(Self::Deregister),
            _ => None,
        }
    }

    const fn rule(self) -> &'static str {
        match self {
            Self::List => "discovery-list",
            Self::Register => "discovery-register",
            Self::Deregister => "discovery-deregister",
        }
    }
}
