//! Another tool is called where a server names one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::{fmt, mem};

use futures_util::future::Either;
use mgp_types::mgp::{AuditEvent, AuditPort, CallOptions, Recovery, ToolName};
use mgp_types::{
    BoxFuture, Error, Method, Object, RawJson, Request, RequestKind, Response, RpcService, call_once,
};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower_service::Service;

use super::deadline::CallMonitor;
use super::{Deadline, event};
use crate::span::millis;

/// Calls the tool that an error names, where all else has failed (§14.6). Makes [`Fallback`] services.
#[derive(Clone, Default)]
#[must_use]
pub struct FallbackLayer {
    audit: Option<Arc<dyn AuditPort>>,
    known_as: Option<Arc<KnownAs>>,
}

type KnownAs = dyn Fn(&Request, &ToolName) -> Option<ToolName> + Send + Sync;

impl FallbackLayer {
    /// Calls the tool under the name that the error gives it.
    pub fn new() -> Self {
        Self::default()
    }

    mgp_types::setters! { self =>
        /// Records that another tool is called. What cannot be recorded is not done.
        pub fn with_audit(port: Arc<dyn AuditPort>) => self.audit = Some(port);

        /// Sets the names of tools where those of several servers stand side by side: `known_as` gives the name under
        /// which a tool of the server that the request was for is known here. A server names its own tools; one that it
        /// does not have is none of its business, and the answer is `None`.
        pub fn known_as(known_as: impl Fn(&Request, &ToolName) -> Option<ToolName> + Send + Sync + 'static) =>
            self.known_as = Some(Arc::new(known_as));
    }
}

mgp_types::layer!(FallbackLayer, self, inner => Fallback { inner, settings: Arc::new(self.clone()) });

mgp_types::partial_debug!(FallbackLayer, self => audit: self.audit);

/// The service of [`FallbackLayer`].
///
/// Sits outside of access control, validators and confirmation, for the other tool is subject to them as if the caller
/// had named it, and so outside of retries, too. Reads the error's recovery and the [`Deadline`]; wraps
/// `context.outbox` where it is open. The other tool gets the same arguments, and none of what the layers further in
/// know of the first.
///
/// The error has to be `retryable`: of others the specification says that they are to be reported. It does not matter
/// whether the first tool was carried out: only a server that has answered names another tool, and it knows what it has
/// done. No other tool is called
///
/// * if the name is the same, or not that of a tool, or one of the kernel's own, which begin with the word `mgp`;
/// * in place of one that is called in place of another;
/// * once the caller has seen a part of a result or was asked something;
/// * when the time of the call is over.
///
/// If it fails as well, the first error is given back; its details say so in `fallback`, and it names no tool any more,
/// so that nobody on the way to the caller tries again. Allocates for a call with an open outbox. Dropping the future
/// drops the call that runs.
#[derive(Clone)]
pub struct Fallback<S> {
    inner: S,
    settings: Arc<FallbackLayer>,
}

impl<S: RpcService> Service<Request> for Fallback<S> {
    type Future = FallbackFuture<S>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, mut request: Request) -> Self::Future {
        if request.kind == RequestKind::Notify || request.method != Method::TOOLS_CALL {
            return FallbackFuture { state: Either::Left(self.inner.call(request)), call: None };
        }
        let began = Instant::now();
        let monitor = CallMonitor::of_caller(&mut request);
        let clone = self.inner.clone();
        let mut service = mem::replace(&mut self.inner, clone);
        let future = service.call(request.clone());
        let call = Call { service, request, monitor, settings: Arc::clone(&self.settings), began };
        FallbackFuture { state: Either::Left(future), call: Some(call) }
    }
}

mgp_types::partial_debug!([S: fmt::Debug] Fallback<S>, self => inner: self.inner);

pin_project! {
    /// The future of [`Fallback`].
    ///
    /// # Cancel safety
    /// Dropping it drops the call that runs; no other is made.
    #[must_use = "futures do nothing unless polled"]
    pub struct FallbackFuture<S>
    where
        S: Service<Request>,
    {
        #[pin]
        state: Either<S::Future, BoxFuture<'static, Result<Response, Error>>>,
        call: Option<Call<S>>,
    }
}

/// The facts that are needed to call another tool in the place of the first.
struct Call<S> {
    service: S,
    request: Request,
    monitor: Option<Arc<CallMonitor>>,
    settings: Arc<FallbackLayer>,
    began: Instant,
}

/// The cause of the call of another tool.
struct Failed {
    error: Error,
    recovery: Recovery,
    tool: ToolName,
}

impl<S: RpcService> Future for FallbackFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().as_pin_mut() {
                Either::Left(future) => {
                    let (error, call) = match (ready!(future.poll(cx)), this.call.take()) {
                        (Err(error), Some(call)) => (error, call),
                        (answer, _) => return Poll::Ready(answer),
                    };
                    match call.other(error) {
                        Ok((other, failed)) => {
                            this.state.set(Either::Right(Box::pin(call.second(other, failed))));
                        }
                        Err(error) => return Poll::Ready(Err(error)),
                    }
                }
                Either::Right(future) => return future.poll(cx),
            }
        }
    }
}

mgp_types::partial_debug!([S: Service<Request>] FallbackFuture<S>);

impl<S> Call<S> {
    /// The call of the tool that the error names, or the error.
    fn other(&self, error: Error) -> Result<(Request, Failed), Error> {
        let Some(recovery) = error.recovery().filter(Recovery::may_retry) else { return Err(error) };
        let Some(tool) = recovery.fallback_tool.as_deref().and_then(|name| self.name_here(name)) else {
            return Err(error);
        };
        let Some(request) = self.request_of(&tool) else { return Err(error) };
        Ok((request, Failed { error, recovery, tool }))
    }

    /// The name under which the tool is called, if it may be.
    fn name_here(&self, named: &str) -> Option<ToolName> {
        let named = Some(named).filter(|name| is_tool_name(name) && !is_reserved(name)).map(ToolName::new)?;
        let tool = match &self.settings.known_as {
            None => named,
            Some(known_as) => known_as(&self.request, &named)?,
        };
        let is_another = self.request.params.text("name").as_deref() != Some(tool.as_str());
        (is_another && !is_reserved(tool.as_str())).then_some(tool)
    }

    fn request_of(&self, tool: &ToolName) -> Option<Request> {
        let is_late = Deadline::of(&self.request).is_some_and(|deadline| deadline.left().is_zero());
        if self.monitor.as_ref().is_some_and(|monitor| monitor.has_shown()) || is_late {
            return None;
        }
        let mut request = self.request.clone();
        let context = &mut request.context;
        (context.tool, context.trail, context.input) = (None, None, None);
        request.params.set("name", RawJson::from_value(tool).ok()?);
        for answer in OF_THE_FIRST_CALL {
            request.params.remove(answer);
        }
        // The time that the caller wishes is shortened to what is left of it since the first call began.
        let mut wishes = CallOptions::of(&request.params);
        if let Some(wished) = wishes.deadline_ms {
            let passed = millis(self.began.elapsed());
            wishes.deadline_ms = Some(wished.checked_sub(passed).filter(|left| *left > 0)?);
            wishes.write(&mut request.params);
        }
        Some(request)
    }
}

impl<S: RpcService> Call<S> {
    /// Calls the other tool, once that is recorded.
    async fn second(self, other: Request, failed: Failed) -> Result<Response, Error> {
        tracing::debug!(tool = %failed.tool, code = failed.error.code(), "another tool is called");
        if let Some(port) = &self.settings.audit
            && let Err(cause) = port.record(failed.event(&self.request)).await
        {
            tracing::warn!(code = cause.code(), "no other tool is called because that could not be recorded");
            return Err(failed.error);
        }
        call_once(self.service, other).await.map_err(|second| failed.with(&second))
    }
}

impl Failed {
    fn event(&self, request: &Request) -> AuditEvent {
        let mut event = event::failed(request, "dev.cloto.mgp.request_retried");
        event.details.set("fallback", self.details(self.error.code()));
        event
    }

    /// The first error, after the second call.
    fn with(self, second: &Error) -> Error {
        let said = self.recovery.details.as_ref().and_then(|details| Object::from_raw(details).ok());
        let mut details = said.unwrap_or_default();
        details.set("fallback", self.details(second.code()));
        let mut recovery = self.recovery.with_details(&details);
        recovery.fallback_tool = None;
        self.error.with_recovery(recovery)
    }

    fn details(&self, code: i64) -> RawJson {
        let mut out = br#"{"tool":"#.to_vec();
        mgp_types::json::write_string(&mut out, &event::clip(self.tool.as_str()));
        out.extend_from_slice(format!(r#","code":{code}}}"#).as_bytes());
        RawJson::from_written(out)
    }
}

/// Returns whether a name has the form that MCP asks of tools.
fn is_tool_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
}

/// Returns whether a name is one of the kernel's own, or could be taken for one: a server must not lead its callers to
/// what only the kernel does.
fn is_reserved(name: &str) -> bool {
    let name = name.trim_start_matches(|first: char| !first.is_ascii_alphanumeric());
    match name.split_at_checked(KERNEL_WORD.len()) {
        Some((word, rest)) => {
            word.eq_ignore_ascii_case(KERNEL_WORD)
                && !rest.starts_with(|next: char| next.is_ascii_lowercase())
        }
        None => name.is_empty(),
    }
}

/// The members of `params` with which a caller answers questions of the first tool.
const OF_THE_FIRST_CALL: [&str; 2] = ["inputResponses", "requestState"];

const KERNEL_WORD: &str = "mgp";
const MAX_NAME_BYTES: usize = 128;

#[cfg(test)]
mod tests;
