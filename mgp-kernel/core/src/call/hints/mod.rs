//! Hints of calls: budgets and sizes that tools declare, costs and origins of results, and suggestions of better tools.

mod budget;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use memchr::memmem::Finder;
use mgp_types::ext::{ExtensionId, IdempotentResult, Intent, PREFIX, Quota, ToolDeclaration, max_units};
use mgp_types::mcp::ForRevision as _;
use mgp_types::mgp::{Refusal, ResolvedTool, ServerId, Timestamp, ToolName};
use mgp_types::{
    AskedRule, CallEnding, Error, Flow, Gate, Method, Object, Origin, RawJson, Request, RequestKind,
    Response, Revision, code,
};

pub(crate) use self::budget::AgentBudgets;
use self::budget::ReservedUnits;
use crate::call::{may_name, mentioning};
use crate::settings::running::RunningConfig;

/// A gate that holds calls to what their tool declares and to what their caller pays, and completes what results tell of
/// costs and origin.
///
/// Before a call: arguments beyond the declared size are refused with 4000, estimates beyond `_meta.budget` or beyond
/// the agent's budget with 3002. After it: the agent's budget is settled with `_meta.cost`, and its rest stands in
/// `_meta.quota` for clients that declared `cost_transparency`; the server's id stands in `_meta` for clients that
/// declared `provenance`, whatever the server wrote there. A result with more bytes than its tool declares is replaced by
/// a failure that says so. Calls of tools that declare nothing, by agents without a
/// budget and clients without these extensions, pass untouched; `_meta` is parsed for tools that declare something, and
/// only if its bytes have the name `budget`. Takes a lock for agents with a budget alone.
#[derive(Clone)]
pub(crate) struct CallHintsGate {
    server: ServerId,
    config: Arc<RunningConfig>,
    budgets: Arc<AgentBudgets>,
    declared: Arc<DeclaredTools>,
}

impl CallHintsGate {
    pub(crate) fn new(server: ServerId, config: Arc<RunningConfig>, budgets: Arc<AgentBudgets>) -> Self {
        Self { server, config, budgets, declared: Arc::default() }
    }
}

/// The work that remains to be done with the result of a call.
pub(crate) struct HintedCall {
    reserved: Option<ReservedUnits>,
    /// True if the client is told what is left of the budget.
    tells_quota: bool,
    /// True if the client is told which server the result is from.
    tells_origin: bool,
    /// The most bytes of the result that the tool declares, and the revision of the client.
    most_output: Option<(u64, Revision)>,
}

impl Gate for CallHintsGate {
    type Pass = Option<HintedCall>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        if request.kind != RequestKind::Call || request.method != Method::TOOLS_CALL {
            return Flow::Pass(None);
        }
        let call = self.admit(request).inspect_err(|error| {
            let rule = if error.code() == code::QUOTA_EXCEEDED { "budget" } else { "input-size" };
            request.context.note_refusal(Refusal::new("hints", rule));
        });
        call.into()
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        let admitted = self.admit(request);
        if let Ok(Some(HintedCall { reserved: Some(reserved), .. })) = &admitted {
            self.budgets.settle(reserved, 0.0);
        }
        answers.push(AskedRule::judged("budget", admitted.map(|_| "")));
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        let Some(call) = call else { return };
        let quota = call.reserved.as_ref().map(|reserved| self.settle(reserved, outcome));
        let Ok(response) = outcome else { return };
        if response.result.ending() == CallEnding::Asking {
            return;
        }
        if let Some((most, revision)) = call.most_output
            && let Some(refused) = ToolDeclaration::too_large(&response.result, most)
            && let Ok(refused) = Response::with_body(&refused.for_revision(revision))
        {
            *response = refused;
        }
        let quota = quota.filter(|_| call.tells_quota);
        if quota.is_some() || call.tells_origin {
            response.change_meta(|meta| self.complete(meta, quota, call.tells_origin));
        }
    }
}

impl CallHintsGate {
    fn admit(&self, request: &Request) -> Result<Option<HintedCall>, Error> {
        let declared = request.context.tool.as_ref().and_then(|tool| self.declared.of(tool));
        if let Some(declared) = &declared {
            let most = mentioning(request, &BUDGET).map_or(Ok(None), |meta| max_units(&meta))?;
            declared.check_call(request.params.bytes("arguments").unwrap_or(b"{}"), most)?;
        }
        let caller = request.context.principal.as_ref();
        let reserved =
            self.budgets.reserve(&self.config.load(), caller, declared.as_deref(), Timestamp::now())?;
        let extensions = request.context.session.as_ref().map(|session| session.extensions());
        let has = |id| extensions.is_some_and(|extensions| extensions.has(id));
        let most = declared.as_ref().and_then(|declared| declared.max_output_size_bytes);
        let revision = request.context.session.as_ref().map(|session| session.revision);
        let call = HintedCall {
            most_output: most.zip(revision),
            tells_quota: reserved.is_some() && has(ExtensionId::CostTransparency),
            tells_origin: has(ExtensionId::Provenance),
            reserved,
        };
        let is_followed = call.reserved.is_some() || call.tells_origin || call.most_output.is_some();
        Ok(is_followed.then_some(call))
    }

    /// Settles the budget with what the call cost: its own word for that, nothing if it was not made, else the estimate.
    fn settle(&self, reserved: &ReservedUnits, outcome: &Result<Response, Error>) -> Quota {
        let actual = match outcome {
            Ok(response) if response.result.ending() == CallEnding::Asking => 0.0,
            Ok(response) => actual_units(response).unwrap_or(reserved.units),
            Err(error) if matches!(error.origin(), Origin::Local | Origin::Changed) => 0.0,
            Err(_) => reserved.units,
        };
        self.budgets.settle(reserved, actual)
    }

    fn complete(&self, meta: &mut Object, quota: Option<Quota>, tells_origin: bool) {
        // A server that has a quota of its own knows best if less of it is left.
        let theirs = meta.get("quota").and_then(|quota| quota.to::<Quota>().ok());
        let ours = quota.filter(|quota| theirs.is_none_or(|theirs| theirs.remaining > quota.remaining));
        if let Some(quota) = ours.and_then(|quota| RawJson::from_value(&quota).ok()) {
            meta.set("quota", quota);
        }
        if tells_origin {
            let origin = Object::from([("server_id", RawJson::from_text(self.server.as_str()))]);
            meta.set(format!("{PREFIX}origin"), origin.to_raw());
        }
    }
}

/// The declarations of one server's tools, read once for each definition.
#[derive(Debug, Default)]
struct DeclaredTools(ArcSwap<HashMap<ToolName, DeclaredTool, RandomState>>);

#[derive(Debug, Clone)]
struct DeclaredTool {
    tool: Arc<ResolvedTool>,
    /// `None` if the tool declares nothing that decides about its calls.
    declaration: Option<Arc<ToolDeclaration>>,
}

impl DeclaredTools {
    /// Returns what the tool declares about costs and sizes; `None` if it declares neither.
    fn of(&self, tool: &Arc<ResolvedTool>) -> Option<Arc<ToolDeclaration>> {
        if let Some(known) = self.0.load().get(&tool.name).filter(|known| Arc::ptr_eq(&known.tool, tool)) {
            return known.declaration.clone();
        }
        let declaration = ToolDeclaration::of_definition(&tool.definition);
        let sizes = [declaration.max_input_size_bytes, declaration.max_output_size_bytes];
        let decides = declaration.cost.is_some() || sizes.iter().any(Option::is_some);
        let known = DeclaredTool { tool: tool.clone(), declaration: decides.then(|| Arc::new(declaration)) };
        let declaration = known.declaration.clone();
        // A tool that was never listed is resolved anew with each call; noting it would let callers fill the memory.
        if tool.definition.contains("inputSchema") {
            self.0.rcu(|all| {
                let mut all = HashMap::clone(all);
                all.insert(tool.name.clone(), known.clone());
                all
            });
        }
        declaration
    }
}

/// The extensions of hints about calls and their results.
pub(crate) const HINTS: [ExtensionId; 4] = [
    ExtensionId::IntentHints,
    ExtensionId::CostTransparency,
    ExtensionId::Provenance,
    ExtensionId::MultimodalSignatures,
];

/// Returns the units that a result says its call cost: nothing if it is the result of an earlier call.
fn actual_units(response: &Response) -> Option<f64> {
    let result = response.result.as_bytes();
    if !may_name(result, &COST) && !may_name(result, &WAS_REPLAY) {
        return None;
    }
    let meta = Object::from_raw(&response.result).ok()?.object("_meta")?;
    if IdempotentResult::read(&meta).is_some_and(|idempotency| idempotency.was_replay) {
        return Some(0.0);
    }
    meta.object("cost")?.get("units")?.to().ok().filter(|units: &f64| *units >= 0.0)
}

/// The names of the members of `_meta` that are looked for in results.
static COST: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""cost""#));
static WAS_REPLAY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""was_replay""#));

/// The names of the members of `_meta` that are looked for in calls.
static BUDGET: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""budget""#));
static INTENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""intent""#));

/// Returns the purpose of a call.
pub(crate) fn purpose(request: &Request) -> Result<Option<Intent>, Error> {
    mentioning(request, &INTENT).map_or(Ok(None), |meta| Intent::read(&meta))
}

#[cfg(test)]
mod tests;
