//! The layer of the guard: what a server lists is examined, and only what was admitted is shown and called.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures_util::future::Either;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, Recovery, Refusal, Timestamp, TraceId,
    code,
};
use mgp_types::{BoxFuture, Error, Kind, Method, Object, RawJson, Request, Response, RpcService, Shape};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

use super::{Admission, DefinitionGuard, QuarantineReason, ServerId, ToolName, pinned_for};
use crate::tool::{MAX_PAGES, MAX_TOOLS};
use crate::{Clock, GateFuture, Target, random};

/// Keeps the tools of one server back whose definitions nobody has approved. Makes [`Guarded`] services, which share
/// what they have seen.
#[derive(Clone)]
pub struct GuardLayer(Arc<Shared>);

struct Shared {
    server: ServerId,
    /// Under which its definitions are pinned.
    holder: ServerId,
    guard: Arc<DefinitionGuard>,
    audit: Arc<dyn AuditPort>,
    clock: Clock,
    /// How often the server's list is known to have changed, and at which count it was examined last.
    changes: AtomicU64,
    examined: AtomicU64,
    /// Lists are examined one after the other, or an older one could undo what a newer one said.
    listing: tokio::sync::Mutex<()>,
    /// What was recorded last of each tool that is kept back.
    kept_back: Mutex<HashMap<ToolName, Box<str>, foldhash::fast::RandomState>>,
}

impl GuardLayer {
    /// Has `guard` examine what `server` lists, and records in `audit` what is kept back.
    pub fn new(
        server: ServerId,
        guard: Arc<DefinitionGuard>,
        audit: Arc<dyn AuditPort>,
        clock: Clock,
    ) -> Self {
        Self::held_by(server.clone(), server, guard, audit, clock)
    }

    /// The same for the connection of `agent` to a server to which agents have connections of their own: what is approved
    /// on one does not hold on another.
    pub fn of_agent(
        server: ServerId,
        agent: &str,
        guard: Arc<DefinitionGuard>,
        audit: Arc<dyn AuditPort>,
        clock: Clock,
    ) -> Self {
        Self::held_by(pinned_for(&server, agent), server, guard, audit, clock)
    }

    fn held_by(
        holder: ServerId,
        server: ServerId,
        guard: Arc<DefinitionGuard>,
        audit: Arc<dyn AuditPort>,
        clock: Clock,
    ) -> Self {
        Self(Arc::new(Shared {
            holder,
            server,
            guard,
            audit,
            clock,
            changes: AtomicU64::new(1),
            examined: AtomicU64::new(0),
            listing: tokio::sync::Mutex::default(),
            kept_back: Mutex::default(),
        }))
    }

    /// Has the list examined again before the next call: to be called when the server says
    /// `notifications/tools/list_changed`.
    pub fn list_changed(&self) {
        self.0.changes.fetch_add(1, Ordering::AcqRel);
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, shared: self.0.clone() }
    }
}

impl fmt::Debug for GuardLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardLayer").field("server", &self.0.server).finish_non_exhaustive()
    }
}

/// Lists only tools whose definitions are approved, and refuses calls of all others with 1010.
///
/// Sits behind access, so that nobody learns here what he may not see, and in front of whatever checks arguments or asks
/// a human. Reads `context.tool`, or else the tool that the body names; writes `context.trail`. A call is held to the
/// list as it is now: the first one, and the first after the list has changed, has the list fetched.
///
/// All pages are fetched and examined together and given as one, because a tool of one page may pass for one of
/// another; a list is therefore asked for without a cursor. What is newly kept back is recorded, and without the record
/// there is no list. A call of an admitted tool takes no lock and allocates nothing.
#[derive(Clone)]
pub struct Guarded<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S: RpcService> Service<Request> for Guarded<S> {
    type Response = Response;
    type Error = Error;
    type Future = Either<GateFuture<S::Future>, BoxFuture<'static, Result<Response, Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method == Method::TOOLS_LIST {
            if request.kind == Kind::Notify || request.params.contains("cursor") {
                // Nothing comes back of a notification, and no cursor was given.
                let error =
                    Error::invalid_params("the list of tools has one page, and is asked for by a call");
                return Either::Left(GateFuture::refused(error));
            }
            let (shared, mut inner) = (self.shared.clone(), self.inner.clone());
            return Either::Right(Box::pin(async move {
                let _turn = shared.listing.lock().await;
                shared.list(&mut inner, request).await
            }));
        }
        if request.method != Method::TOOLS_CALL {
            return Either::Left(GateFuture::passed(self.inner.call(request)));
        }
        if self.shared.is_current() {
            return Either::Left(match self.shared.admit(&request) {
                Ok(()) => GateFuture::passed(self.inner.call(request)),
                Err(error) => GateFuture::refused(error),
            });
        }
        let (shared, mut inner) = (self.shared.clone(), self.inner.clone());
        Either::Right(Box::pin(async move {
            shared.look(&mut inner, &request).await?;
            shared.admit(&request)?;
            poll_fn(|cx| inner.poll_ready(cx)).await?;
            inner.call(request).await
        }))
    }
}

impl Shared {
    fn is_current(&self) -> bool {
        self.examined.load(Ordering::Acquire) == self.changes.load(Ordering::Acquire)
    }

    fn admit(&self, request: &Request) -> Result<(), Error> {
        let Target { server, tool } = Target::of(request, Some(&self.server))?;
        let tool = tool.ok_or_else(|| Error::invalid_params("`name` is missing"))?;
        if server == self.server && self.guard.is_admitted(&self.holder, &tool) {
            return Ok(());
        }
        let state = self.guard.pins().state(&self.holder, &tool);
        let (rule, message) = match state.as_ref().and_then(|state| state.pending()) {
            Some(_) => ("quarantined", "the tool waits until an operator has approved its definition"),
            None => ("not-admitted", "the tool is not offered here, or its definition is refused"),
        };
        if let Some(trail) = &request.context.trail {
            trail.note_refusal(Refusal::new("definition", rule));
        }
        let mut details = Object::new();
        details.set("rule", text(rule));
        details.set("advice", text("use another tool, or have an operator look at this one"));
        let recovery =
            Recovery::for_code(code::VALIDATION_BLOCKED).unwrap_or_default().with_details(&details);
        Err(Error::new(code::VALIDATION_BLOCKED, message).with_recovery(recovery))
    }

    /// Has the list examined before `call` is decided about.
    async fn look<S: RpcService>(&self, inner: &mut S, call: &Request) -> Result<(), Error> {
        let _turn = self.listing.lock().await;
        if self.is_current() {
            return Ok(());
        }
        let mut list = Request::call(Method::TOOLS_LIST, Object::new());
        list.context = call.context.clone();
        list.context.tool = None;
        self.list(inner, list).await.map(drop)
    }

    /// Fetches the list, has it examined, and leaves of it what was admitted.
    async fn list<S: RpcService>(&self, inner: &mut S, request: Request) -> Result<Response, Error> {
        let changes = self.changes.load(Ordering::Acquire);
        let trace = request.context.trace;
        let (first, tools) = all_pages(inner, request).await?;
        let (guard, holder) = (self.guard.clone(), self.holder.clone());
        // The pins may be on a disk, and long texts take a while to scan.
        let examining = tokio::task::spawn_blocking(move || (guard.examine(&holder, &tools), tools));
        let (examined, tools) = examining
            .await
            .map_err(|panic| Error::internal("the list could not be examined").with_source(panic))?;
        let admissions = examined?.admissions;
        self.record(&tools, &admissions, trace).await?;
        self.examined.store(changes, Ordering::Release);
        let admitted =
            tools.iter().zip(&admissions).filter(|(_, admission)| **admission == Admission::Admitted);
        Ok(with_tools(first, admitted.map(|(tool, _)| tool)))
    }

    /// Records what is kept back now and was not, or for another reason.
    async fn record(
        &self,
        tools: &[Object],
        admissions: &[Admission],
        trace: Option<TraceId>,
    ) -> Result<(), Error> {
        let news: Vec<_> = {
            let mut known = self.kept_back.lock();
            if known.len() > MAX_TOOLS {
                known.clear();
            }
            tools
                .iter()
                .zip(admissions)
                .filter_map(|(tool, admission)| news(&mut known, tool, admission))
                .collect()
        };
        if news.is_empty() {
            return Ok(());
        }
        let trace = trace.unwrap_or_else(random::trace_id);
        let events = news.iter().map(|(tool, kind, why)| {
            let target = AuditTarget::new(Some(self.server.clone()), Some(tool.clone()));
            let kind = EventType::Custom((*kind).into());
            let event = AuditEvent::new(self.now(), trace, kind, Actor::kernel(), target, Outcome::Blocked)
                .with_detail("section", "definition")
                .with_detail("rule", &**why);
            if self.holder == self.server { event } else { event.with_detail("pinned_for", &self.holder) }
        });
        let recorded = self.audit.record_all(events.collect()).await;
        if recorded.is_err() {
            // What could not be recorded is still news.
            let mut known = self.kept_back.lock();
            for (tool, ..) in &news {
                known.remove(tool);
            }
        }
        recorded
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// What is to be recorded of a tool: its name, the event, and why it is kept back.
type News = (ToolName, &'static str, Box<str>);

fn news(
    known: &mut HashMap<ToolName, Box<str>, foldhash::fast::RandomState>,
    tool: &Object,
    admission: &Admission,
) -> Option<News> {
    let name = tool.text("name").unwrap_or_default();
    let name = ToolName::new(name.chars().take(MAX_NAME_CHARS).collect::<String>());
    let (kind, why) = match admission {
        Admission::Admitted => {
            known.remove(&name);
            return None;
        }
        Admission::Quarantined { reason: QuarantineReason::New, digest } => {
            (QUARANTINED, format!("new-definition {digest}"))
        }
        Admission::Quarantined { digest, .. } => (QUARANTINED, format!("changed-definition {digest}")),
        Admission::Refused { finding } => (REFUSED, finding.rule.to_owned()),
    };
    let why: Box<str> = why.into();
    let before = known.insert(name.clone(), why.clone());
    (before.as_deref() != Some(&*why)).then_some((name, kind, why))
}

/// The first page, and the tools of all.
async fn all_pages<S: RpcService>(
    inner: &mut S,
    mut request: Request,
) -> Result<(Response, Vec<Object>), Error> {
    let malformed = || Error::misbehaved("the list of tools is none");
    let mut tools = Vec::new();
    let mut first = None;
    for _ in 0..MAX_PAGES {
        poll_fn(|cx| inner.poll_ready(cx)).await?;
        let mut response = inner.call(request.clone()).await?;
        if response.context.stamp.is_some() {
            response.result = response.to_raw();
            response.context.stamp = None;
            response.context.shape = Shape::Opaque;
        }
        let page = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let listed = page.get("tools").ok_or_else(malformed)?;
        let listed: Vec<RawJson> = listed.to().map_err(|_| malformed())?;
        // What is no object cannot be called, so it is not shown.
        tools.extend(listed.iter().filter_map(|tool| Object::from_raw(tool).ok()));
        if tools.len() > MAX_TOOLS {
            break;
        }
        let first = first.get_or_insert(response);
        match page.get("nextCursor").filter(|cursor| !cursor.is_null()) {
            None => return Ok((first.clone(), tools)),
            Some(cursor) => request.params.set("cursor", cursor),
        }
    }
    Err(Error::misbehaved("the server lists more tools than anybody can look at"))
}

fn with_tools<'a>(mut response: Response, tools: impl Iterator<Item = &'a Object>) -> Response {
    let mut list = vec![b'['];
    for tool in tools {
        if list.len() > 1 {
            list.push(b',');
        }
        tool.write(&mut list);
    }
    list.push(b']');
    let mut result = Object::from_raw(&response.result).unwrap_or_default();
    result.set("tools", RawJson::from_written(list));
    result.remove("nextCursor");
    response.result = result.to_raw();
    response
}

fn text(word: &str) -> RawJson {
    RawJson::from_value(word).unwrap_or_else(|_| RawJson::null())
}

impl<S> fmt::Debug for Guarded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("server", &self.shared.server).finish_non_exhaustive()
    }
}

const QUARANTINED: &str = "dev.cloto.mgp.tool_quarantined";
const REFUSED: &str = "dev.cloto.mgp.tool_refused";
const MAX_NAME_CHARS: usize = 128;

#[cfg(test)]
mod tests;
