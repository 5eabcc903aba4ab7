//! The gate of the guard, in front of one server: it examines the lists of the server, and only admitted definitions
//! are shown and used.

mod list;
mod used_definitions;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, CallSource, EventType, Outcome, ToolName, TraceId, code,
};
use mgp_types::{
    AskedRule, Error, Flow, Gate, Gated, Object, RawJson, Request, RequestKind, Response, RpcService,
};
use parking_lot::Mutex;
use tower_layer::Layer;

use self::used_definitions::UsedDefinitions;
use super::{
    ConfiguredServer, DefinitionAdmission, DefinitionGuard, DefinitionKind, DefinitionName, DefinitionStatus,
    ServerId, pinned_for,
};
use crate::Clock;
use crate::tool::MAX_TOOLS;
use crate::tool::pages::{FetchedList, fetch};

/// A tower layer that keeps back what one server lists and nobody has approved. It makes [`DefinitionGate`]s, which
/// share what they have seen.
#[derive(Clone)]
#[must_use]
pub struct DefinitionGuardLayer(Arc<DefinitionGuardShared>);

struct DefinitionGuardShared {
    server: ServerId,
    /// The id under which the server's definitions are pinned.
    holder: ServerId,
    guard: Arc<DefinitionGuard>,
    configured: ConfiguredServer,
    audit: Arc<dyn AuditPort>,
    clock: Clock,
    /// The state of each list, by the number of its kind.
    lists: [ListState; DefinitionKind::ALL.len()],
}

/// The state of one of the server's lists.
#[derive(Default)]
struct ListState {
    /// The number of times that the list is known to have changed.
    changes: AtomicU64,
    /// The number of changes that the list had when it was examined last, plus one; 0 if it never was.
    examined: AtomicU64,
    /// A lock that lets lists be examined one after the other, or an older one could undo what a newer one decided.
    listing: tokio::sync::Mutex<()>,
    /// The last recorded reason for each definition that is kept back.
    kept_back: Mutex<KeptBack>,
}

type KeptBack = HashMap<DefinitionName, Box<str>, foldhash::fast::RandomState>;

impl DefinitionGuardLayer {
    /// Returns a layer that has `guard` examine the lists of `server` by the given configuration of it, and records in
    /// `audit` what is kept back.
    ///
    /// With an `agent`, the layer is for the connection of this agent to a server to which agents have connections of
    /// their own: an approval on one connection does not hold on another.
    pub fn new(
        server: ServerId,
        agent: Option<&str>,
        guard: Arc<DefinitionGuard>,
        configured: ConfiguredServer,
        audit: Arc<dyn AuditPort>,
        clock: Clock,
    ) -> Self {
        let holder = agent.map_or_else(|| server.clone(), |agent| pinned_for(&server, agent));
        let lists = Default::default();
        Self(Arc::new(DefinitionGuardShared { server, holder, guard, configured, audit, clock, lists }))
    }

    /// Returns the gate, which gets the lists of the server from `lists`: as a rule, the service that it is put in front of.
    pub fn gate<S>(&self, lists: S) -> DefinitionGate<S> {
        DefinitionGate { lists, shared: self.0.clone() }
    }

    /// Has the list of `kind` examined again before it is next relied on. Call it when the server reports that the list
    /// has changed.
    pub fn list_changed(&self, kind: DefinitionKind) {
        self.0.of(kind).changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns those of the texts that the server tells a model about itself which may reach one; `None` for each other.
    /// Each has a name: `instructions`, `description`. A refusal is recorded.
    ///
    /// # Errors
    /// Fails if a refusal cannot be recorded, or a text cannot be examined.
    pub async fn admitted_texts<const N: usize>(
        &self,
        texts: [(&str, Option<Arc<str>>); N],
    ) -> Result<[Option<Arc<str>>; N], Error> {
        let listed = texts.iter().filter_map(|(name, text)| {
            let text = RawJson::from_text(text.as_ref()?);
            Some(Object::from([("name", RawJson::from_text(name)), ("text", text)]))
        });
        // No list has these definitions.
        let fetched = FetchedList { listed: listed.collect(), ..FetchedList::default() };
        let (_, admissions) = self.0.examine(fetched, DefinitionKind::Text, None).await?;
        let mut admissions = admissions.iter();
        Ok(texts.map(|(_, text)| text.filter(|_| admissions.next().is_some_and(|it| it.status.is_none()))))
    }
}

impl<S: RpcService + Sync> Layer<S> for DefinitionGuardLayer {
    type Service = Gated<DefinitionGate<S>, S>;

    fn layer(&self, inner: S) -> Self::Service {
        self.gate(inner.clone()).layer(inner)
    }
}

mgp_types::partial_debug!(DefinitionGuardLayer, self => server: self.0.server);

/// The gate that lists only tools, prompts, templates and resources whose definitions are admitted, and refuses
/// requests that use others with 1010: calls of tools, getting prompts, reading or subscribing to resources, and
/// completions.
///
/// The gate belongs behind access control, so that no caller learns here about what it may not see, and in front of
/// the gates that check arguments or ask a human. It reads `context.tool`, or else the names in the body, and writes
/// `context.trail`, and `context.source` where the definition of the called tool is flagged. Each request is judged by the current list: the first request, and the first after the list has
/// changed, has the list fetched. A list is answered by the gate, and no gate behind it sees the request.
///
/// All pages of tools, prompts and templates are fetched and examined together and returned as one, because a
/// definition on one page may imitate one on another; such a list is therefore asked for without a cursor. Resources
/// are not pinned, and there may be many: each page is examined by itself and keeps its cursor. A list of which nothing
/// is kept back keeps its bytes. Everything newly kept back is recorded, and without the record there is no list. A
/// call of an admitted tool takes no lock and allocates nothing.
#[derive(Clone)]
pub struct DefinitionGate<S> {
    lists: S,
    shared: Arc<DefinitionGuardShared>,
}

impl<S: RpcService + Sync> Gate for DefinitionGate<S> {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let used = match UsedDefinitions::by(request) {
            Ok(Some(used)) => used,
            Ok(None) => return self.list_or_pass(request),
            Err(error) => return Flow::refuse(error),
        };
        if self.shared.is_current(used.kind()) {
            return self.shared.enter(request, &used).into();
        }
        let (shared, lists, mut request) = (self.shared.clone(), self.lists.clone(), request.take());
        Flow::wait(async move {
            let examined = shared.look(lists, &request, used.kind()).await;
            let flow = examined.and_then(|()| shared.enter(&mut request, &used)).into();
            (request, flow)
        })
    }

    /// Refuses a request whose definitions were held back while it waited.
    fn recheck(&self, (): &mut (), request: &mut Request) -> Result<(), Error> {
        self.shared.admits(request)
    }

    /// Answers by the list that was examined last.
    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        answers.push(AskedRule::judged("definition", self.shared.admits(request).map(|()| "")));
    }
}

impl<S: RpcService> DefinitionGate<S> {
    fn list_or_pass(&self, request: &mut Request) -> Flow {
        let Some(kind) = DefinitionKind::listed_by(request) else { return Flow::Pass(()) };
        if request.kind == RequestKind::Notify || (kind.is_pinned() && request.params.contains("cursor")) {
            // A notification gets no response, and this method has never returned a cursor.
            return Flow::refuse(Error::invalid_params(format!(
                "the list of {kind}s has one page, and is asked for by a call"
            )));
        }
        let (shared, lists, request) = (self.shared.clone(), self.lists.clone(), request.take());
        Flow::answer_later(async move {
            let _turn = shared.of(kind).listing.lock().await;
            shared.list(lists, request, kind).await
        })
    }
}

/// Returns the name of the tool that the body of a call names.
fn named_tool(request: &Request) -> Result<ToolName, Error> {
    let name = request.params.text("name").filter(|name| !name.is_empty());
    name.map(|name| ToolName::new(&*name)).ok_or_else(|| Error::invalid_params("`name` is missing"))
}

impl DefinitionGuardShared {
    const fn of(&self, kind: DefinitionKind) -> &ListState {
        &self.lists[kind as usize]
    }

    fn is_current(&self, kind: DefinitionKind) -> bool {
        let list = self.of(kind);
        list.examined.load(Ordering::Acquire) == list.changes.load(Ordering::Acquire) + 1
    }

    /// Checks that the definitions which a request uses are admitted, by the lists that were examined last.
    ///
    /// # Errors
    /// 1010 if a definition is held back, or the called tool is not listed; -32602 if the request does not say what it uses.
    fn admits(&self, request: &Request) -> Result<(), Error> {
        UsedDefinitions::by(request)?.map_or(Ok(()), |used| self.admit(request, &used))
    }

    /// Admits the request, and notes in it that the called tool is worded like orders to a model.
    fn enter(&self, request: &mut Request, used: &UsedDefinitions) -> Result<(), Error> {
        self.admit(request, used)?;
        let tool = request.context.tool.as_deref();
        if tool
            .is_some_and(|tool| self.guard.is_flagged(&self.holder, DefinitionKind::Tool, tool.name.as_str()))
        {
            request.context.source = Some(CallSource::Orders);
        }
        Ok(())
    }

    fn admit(&self, request: &Request, used: &UsedDefinitions) -> Result<(), Error> {
        let (guard, holder) = (&self.guard, &self.holder);
        let refuse =
            |name: &DefinitionName, hold: DefinitionStatus| Err(hold.refusal(holder, name, &request.context));
        let name = match used {
            UsedDefinitions::Tool => {
                let resolved = request.context.tool.as_deref();
                let is_own = resolved.is_none_or(|tool| tool.server == self.server);
                let tool = match resolved {
                    Some(tool) => tool.name.clone(),
                    // The body counts and never a header, because the server reads the body.
                    None => named_tool(request)?,
                };
                if is_own && guard.is_admitted(holder, DefinitionKind::Tool, tool.as_str()) {
                    return Ok(());
                }
                let name = DefinitionName::new(DefinitionKind::Tool, tool.as_str());
                let hold = if is_own { guard.hold(holder, &name) } else { None };
                return refuse(&name, hold.unwrap_or(DefinitionStatus::Unlisted));
            }
            UsedDefinitions::Resources(uris) => {
                let held = uris.iter().find_map(|uri| guard.hold_of_uri(holder, uri));
                return held.map_or(Ok(()), |(name, hold)| refuse(&name, hold));
            }
            UsedDefinitions::Named(name) => name,
        };
        match guard.hold(holder, name) {
            None => Ok(()),
            // A URI that is not a listed template may be a resource of one.
            Some(DefinitionStatus::Unlisted) if name.kind() == DefinitionKind::Template => {
                guard.hold_of_uri(holder, name.as_str()).map_or(Ok(()), |(name, hold)| refuse(&name, hold))
            }
            Some(hold) => refuse(name, hold),
        }
    }

    /// Has the list of `kind` examined, if it is not up to date, before `request` is decided about.
    async fn look<S: RpcService>(
        &self,
        lists: S,
        request: &Request,
        kind: DefinitionKind,
    ) -> Result<(), Error> {
        let _turn = self.of(kind).listing.lock().await;
        if self.is_current(kind) {
            return Ok(());
        }
        let Some(method) = kind.list_method() else { return Ok(()) };
        let mut list = Request::call(method, Object::new());
        list.context = request.context.clone();
        (list.context.tool, list.context.operation) = (None, None);
        match self.list(lists, list, kind).await {
            // A server without such a list has no definitions of the kind.
            Err(error) if error.code() == code::METHOD_NOT_FOUND && kind != DefinitionKind::Tool => {
                let changes = self.of(kind).changes.load(Ordering::Acquire);
                self.examine(FetchedList::default(), kind, None).await?;
                self.of(kind).examined.store(changes + 1, Ordering::Release);
                Ok(())
            }
            // Resources need no template; those that are known to be held stay held.
            Err(_) if kind == DefinitionKind::Template => Ok(()),
            listed => listed.map(drop),
        }
    }

    /// Fetches the list, has it examined, and returns the admitted definitions of it.
    async fn list<S: RpcService>(
        &self,
        lists: S,
        request: Request,
        kind: DefinitionKind,
    ) -> Result<Response, Error> {
        let list = self.of(kind);
        let changes = list.changes.load(Ordering::Acquire);
        let trace = request.context.trace;
        let (response, fetched) = fetch(lists, request, kind.list_member(), !kind.is_pinned()).await?;
        let (fetched, admissions) = self.examine(fetched, kind, trace).await?;
        list.examined.store(changes + 1, Ordering::Release);
        Ok(list::admitted(response, &fetched, &admissions, kind))
    }

    async fn examine(
        &self,
        fetched: FetchedList,
        kind: DefinitionKind,
        trace: Option<TraceId>,
    ) -> Result<(FetchedList, Vec<DefinitionAdmission>), Error> {
        let (guard, holder, configured) = (self.guard.clone(), self.holder.clone(), self.configured.clone());
        // The pins may be on a disk, and long texts take a while to scan.
        let examining = tokio::task::spawn_blocking(move || {
            let (listed, is_continued) = (&fetched.listed, fetched.is_continued);
            (guard.examine_page(&holder, kind, listed, is_continued, &configured), fetched)
        });
        let (examined, fetched) = examining
            .await
            .map_err(|panic| Error::internal("the list could not be examined").with_source(panic))?;
        let admissions = examined?;
        self.record(&fetched.listed, &admissions, kind, trace).await?;
        Ok((fetched, admissions))
    }

    /// Records and logs the definitions that are newly kept back or flagged, or for another reason than before.
    async fn record(
        &self,
        listed: &[Object],
        admissions: &[DefinitionAdmission],
        kind: DefinitionKind,
        trace: Option<TraceId>,
    ) -> Result<(), Error> {
        let mut news: Vec<_> = {
            let mut known = self.of(kind).kept_back.lock();
            if known.len() > MAX_TOOLS {
                known.clear();
            }
            listed
                .iter()
                .zip(admissions)
                .enumerate()
                .filter_map(|(place, (listed, admission))| {
                    news(&mut known, kind, &kind.name_at(place, listed), admission)
                })
                .collect()
        };
        if news.is_empty() {
            return Ok(());
        }
        // Resources come and go with the data of a server: nobody reads a record of each.
        let more = if kind.is_pinned() { 0 } else { news.len().saturating_sub(MAX_RESOURCES_RECORDED) };
        news.truncate(news.len() - more);
        let events = news.iter().map(|(name, what, why)| {
            let target = AuditTarget::new(Some(self.server.clone()), Some(ToolName::new(name.to_string())));
            self.log(name, what, why);
            let outcome = if *what == FLAGGED { Outcome::Success } else { Outcome::Blocked };
            let trace = trace.unwrap_or_else(TraceId::random);
            let what = EventType::Custom(format!("dev.cloto.mgp.{kind}_{what}").into());
            let event = AuditEvent::new(self.clock.now(), trace, what, Actor::kernel(), target, outcome)
                .with_detail("section", "definition")
                .with_detail("rule", &**why);
            let fault = self.guard.found_in(&self.holder, name).filter(|found| found.definition.is_none());
            let event =
                fault.iter().fold(event, |event, fault| event.with_detail("reason", &fault.describe()));
            let of_agent = self.holder != self.server;
            let event = if of_agent { event.with_detail("pinned_for", &self.holder) } else { event };
            if more > 0 { event.with_detail("more", &more) } else { event }
        });
        let recorded = self.audit.record_all(events.collect()).await;
        if recorded.is_err() {
            // Definitions that could not be recorded are still news next time.
            let mut known = self.of(kind).kept_back.lock();
            for (name, ..) in &news {
                known.remove(name);
            }
        }
        recorded
    }

    /// Logs for operators that a definition is held or flagged, and the command that changes it.
    fn log(&self, name: &DefinitionName, what: &str, why: &str) {
        let status = self.guard.status(&self.holder, name);
        let command = status.and_then(|status| status.command(&self.holder, name)).unwrap_or_default();
        let name = name.as_argument();
        if what == FLAGGED {
            tracing::warn!(server = %self.holder, name, rule = why, command, "a definition is flagged, and is offered");
        } else {
            tracing::warn!(server = %self.holder, name, why, command, "a definition is held back");
        }
    }
}

/// A definition to be recorded: its name, its status, and the reason.
type DefinitionEvent = (DefinitionName, &'static str, Box<str>);

fn news(
    known: &mut KeptBack,
    kind: DefinitionKind,
    name: &str,
    admission: &DefinitionAdmission,
) -> Option<DefinitionEvent> {
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let name = DefinitionName::new(kind, name);
    let Some(status) = admission.status else {
        known.remove(&name);
        return None;
    };
    let digest = admission.digest.map(|digest| digest.to_string()).unwrap_or_default();
    let (what, why) = match status {
        DefinitionStatus::Flagged(rule) => (FLAGGED, rule.to_owned()),
        DefinitionStatus::Found(rule) | DefinitionStatus::Refused(rule) => (REFUSED, rule.to_owned()),
        DefinitionStatus::New => (QUARANTINED, format!("new-definition {digest}")),
        _ => (QUARANTINED, format!("changed-definition {digest}")),
    };
    let why: Box<str> = why.into();
    let before = known.insert(name.clone(), why.clone());
    (before.as_deref() != Some(&*why)).then_some((name, what, why))
}

mgp_types::partial_debug!([S] DefinitionGate<S>, self => server: self.shared.server);

const QUARANTINED: &str = "quarantined";
const REFUSED: &str = "refused";
const FLAGGED: &str = "flagged";
/// The largest number of resources of one list that are recorded one by one.
const MAX_RESOURCES_RECORDED: usize = 64;
/// The largest number of characters of a name that are recorded.
const MAX_NAME_CHARS: usize = 128;

#[cfg(test)]
mod tests;
