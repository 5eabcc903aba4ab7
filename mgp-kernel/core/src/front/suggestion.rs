//! Suggestions of a tool that suits the purpose of a call better.

use std::sync::Arc;

use memchr::memmem;
use mgp_toolindex::{Search, Tool, VisibleTools};
use mgp_types::ext::{ExtensionId, Suggestion};
use mgp_types::mgp::{Actor, AuditTarget, EventType, Outcome, ResolvedTool, TraceId};
use mgp_types::{
    CallEnding, Context, Error, Flow, Gate, Method, Principal, Request, RequestKind, Response, Session,
};

use crate::call::hints::purpose;
use crate::sections::Sections;
use crate::visibility::CallerView;

/// A gate that tells clients which declared `intent_hints` of a tool that suits the purpose of their call better.
///
/// The call is made all the same. A suggestion of the kernel is the best tool for the purpose among those that the caller
/// may call, if it is clearly better than the called one. A server may suggest its own tools alone; a suggestion of any
/// other tool is taken out of its result, and so is every suggestion of a tool that is unknown, that the caller may not
/// call, or that has a higher risk than the called one. Each suggestion that reaches the client is noted in the record.
/// All other requests pass untouched.
#[derive(Clone)]
pub(crate) struct SuggestionGate(pub(crate) Arc<Sections>);

/// A call whose client takes suggestions.
pub(crate) struct AdvisedCall {
    tool: Arc<ResolvedTool>,
    caller: Principal,
    /// The client's session, which says how the client knows tools.
    session: Arc<Session>,
    trace: Option<TraceId>,
    /// The suggestion of the kernel.
    better: Option<Advice>,
}

/// A suggestion, and the tool that it names.
struct Advice {
    tool: Arc<ResolvedTool>,
    suggestion: Suggestion,
}

impl Gate for SuggestionGate {
    type Pass = Option<Box<AdvisedCall>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let Some(call) = Self::advised(request) else { return Flow::Pass(None) };
        let purpose = match purpose(request) {
            Ok(None) => return Flow::Pass(Some(Box::new(call))),
            Ok(Some(purpose)) => purpose,
            Err(error) => return Flow::refuse(error),
        };
        let (gate, request) = (self.clone(), request.take());
        Flow::wait(async move {
            let better = gate.better(&call, &purpose.text).await;
            (request, Flow::Pass(Some(Box::new(AdvisedCall { better, ..call }))))
        })
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        let (Some(call), Ok(response)) = (call, outcome) else { return };
        if response.result.ending() == CallEnding::Asking {
            return;
        }
        let may_have = memmem::find(response.result.as_bytes(), MEMBER.as_bytes()).is_some();
        if !may_have && call.better.is_none() {
            return;
        }
        response.change_meta(|meta| {
            let theirs = Suggestion::read(meta).and_then(|theirs| self.checked(&call, &theirs));
            meta.remove(MEMBER);
            if let Some(advice) = theirs.as_ref().or(call.better.as_ref()) {
                meta.set(MEMBER, advice.suggestion.to_raw());
                self.note(&call, advice);
            }
        });
    }
}

impl SuggestionGate {
    fn advised(request: &Request) -> Option<AdvisedCall> {
        if request.kind != RequestKind::Call || request.method != Method::TOOLS_CALL {
            return None;
        }
        let context = &request.context;
        let takes_them = |session: &&Arc<Session>| session.extensions().has(ExtensionId::IntentHints);
        let session = context.session.as_ref().filter(takes_them)?;
        Some(AdvisedCall {
            tool: context.tool.clone()?,
            caller: context.principal.clone()?,
            session: Arc::clone(session),
            trace: context.trace,
            better: None,
        })
    }

    /// Searches the tools that the caller may call for one that suits the purpose clearly better than the called one.
    async fn better(&self, call: &AdvisedCall, purpose: &str) -> Option<Advice> {
        let snapshot = self.0.tools.index.snapshot();
        let visible = {
            let view = CallerView::of_agent(&self.0.visibility, &call.caller);
            VisibleTools::of(&snapshot, |tool| view.finds(&tool.server, &tool.name))
        };
        let found = snapshot.search(&Search::new(purpose).visible(&visible)).await;
        let is_called = |tool: &Tool| tool.server == call.tool.server && tool.name == call.tool.name;
        let mut hits = found.hits.iter();
        let best = hits.next().filter(|best| !is_called(&best.tool))?;
        let called = hits.find(|hit| is_called(&hit.tool));
        let lead = best.score - called.map_or(0.0, |called| called.score);
        if best.score < LEAST_FIT || lead < LEAST_LEAD {
            return None;
        }
        let mut advice = self.named(call, best.tool.server.as_str(), best.tool.name.as_str())?;
        advice.suggestion.confidence = Some((f64::from(best.score) * 100.0).round() / 100.0);
        Some(advice)
    }

    /// Returns the suggestion of a server in the names that the client knows, if the server may make it.
    fn checked(&self, call: &AdvisedCall, theirs: &Suggestion) -> Option<Advice> {
        let own = call.tool.server.as_str();
        if theirs.recommended_tool.as_ref() == call.tool.name.as_str() {
            return None;
        }
        let mut advice = self.named(call, own, &theirs.recommended_tool)?;
        let reason: String = theirs.reason.chars().take(MAX_REASON_CHARS).collect();
        advice.suggestion.reason = reason.into();
        advice.suggestion.confidence = theirs.confidence.filter(|share| (0.0..=1.0).contains(share));
        Some(advice)
    }

    /// Returns the suggestion of this tool, if the caller may call it and its risk is no higher than that of the called one.
    fn named(&self, call: &AdvisedCall, server: &str, name: &str) -> Option<Advice> {
        let snapshot = self.0.visibility.catalog.snapshot();
        let tool = snapshot.tool(server, name)?.resolved.clone();
        let view = CallerView::of_agent(&self.0.visibility, &call.caller);
        if !view.finds(&tool.server, &tool.name) || tool.security.risk > call.tool.security.risk {
            return None;
        }
        let mut client = Context::default();
        client.session = Some(Arc::clone(&call.session));
        let known_as = self.0.config.names(&client).write(server, name);
        let mut suggestion = Suggestion::new(&*known_as, "it fits the purpose of the call better");
        suggestion.server_id = Some(server.into());
        Some(Advice { tool, suggestion })
    }

    fn note(&self, call: &AdvisedCall, advice: &Advice) {
        let Some(trace) = call.trace else { return };
        let kind = EventType::Custom(SUGGESTED.into());
        let mut event = self.0.audit.event(kind, Actor::of(&call.caller), Outcome::Success);
        event.trace_id = trace;
        event.target = AuditTarget::new(Some(call.tool.server.clone()), Some(call.tool.name.clone()));
        let tool = format!("{}.{}", advice.tool.server, advice.tool.name);
        self.0.audit.port().record_now(vec![event.with_detail("suggested_tool", &tool)]);
    }
}

const MEMBER: &str = "suggestion";

/// The event of the record that notes a suggestion.
const SUGGESTED: &str = "TOOL_SUGGESTED";

/// The least fit of a tool that is suggested.
const LEAST_FIT: f32 = 0.5;

/// The least by which a suggested tool fits better than the called one.
const LEAST_LEAD: f32 = 0.2;

const MAX_REASON_CHARS: usize = 500;

#[cfg(test)]
mod tests;
