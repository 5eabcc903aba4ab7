//! Effects of calls that happen once and can be taken back: idempotency keys, transactions, and the record of both.

mod bound_id;

use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;
use mgp_lifecycle::idempotency::IdempotencyLayer;
use mgp_types::ext::transaction::{
    self, CompensationStatus, StepResult, StepStatus, TransactionReport, TransactionStep,
};
use mgp_types::ext::{
    ExtensionId, ExtensionIds, IdempotencyKey, IdempotentCall, StructuredError, TransactionId,
};
use mgp_types::mgp::{Actor, AuditTarget, EventType, Outcome, Recovery, ServerId, ToolName, TraceId};
use mgp_types::{
    CallEnding, Context, Error, Flow, Gate, Method, Object, Principal, RawJson, Request, RequestKind,
    Response, Session, code,
};

use self::bound_id::BoundId;
use super::may_name;
use super::session_state::CurrentSession;
use crate::record::AuditTrail;
use crate::settings::running::RunningConfig;

/// A gate that tells a server keys and transactions in ids that are bound to the agent, and the agent their outcome in its own.
///
/// The gate stands within the layer that keeps the kernel's own keys. A server that declares `idempotency` gets the key, also
/// one that came in an HTTP header; from any other it is taken away where the kernel keeps it. A step of a transaction
/// passes to a server that declares `transactions`, and is refused with 2020 in front of any other: it would not be taken
/// back. So an id of a transaction means nothing to a second server, or in the name of a second agent. What a step says
/// takes it back is a tool of the same server, by the name that the client knows. The record has an event for each step,
/// for the beginning and end of each transaction, and for each step that was taken back.
///
/// With `effects` off, a call costs two comparisons, unless its server declares one of the extensions.
#[derive(Clone)]
pub(crate) struct EffectIdsGate {
    pub(crate) config: Arc<RunningConfig>,
    /// Returns the session with the connected incarnation of the server.
    pub(crate) session: Arc<CurrentSession>,
    pub(crate) record: EffectRecord,
}

/// A request with bound ids.
pub(crate) struct BoundEffect {
    method: Method,
    key: Option<BoundId>,
    transaction: Option<BoundId>,
    effect: RecordedEffect,
    /// The session of the client, which says how the client knows tools.
    client: Option<Arc<Session>>,
}

impl Gate for EffectIdsGate {
    type Pass = Option<Box<BoundEffect>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        if request.kind != RequestKind::Call {
            return Flow::Pass(None);
        }
        if request.method == Method::TOOLS_CALL {
            return self.bind_call(request).into();
        }
        let methods = [transaction::BEGIN, transaction::COMMIT, transaction::ROLLBACK, transaction::STATUS];
        if methods.contains(&request.method.as_str()) {
            return self.bind_transaction(request).map(Some).into();
        }
        Flow::Pass(None)
    }

    fn leave(&self, bound: Self::Pass, outcome: &mut Result<Response, Error>) {
        let Some(bound) = bound else { return };
        for id in bound.key.iter().chain(&bound.transaction) {
            id.restore(outcome);
        }
        if bound.method == Method::TOOLS_CALL {
            self.name_compensation(&bound, outcome);
        }
        if let Some(id) = &bound.transaction {
            note(&bound, &id.own, outcome);
        }
    }
}

impl EffectIdsGate {
    fn declared(&self) -> ExtensionIds {
        (self.session)().map(|session| session.extensions()).unwrap_or_default()
    }

    fn bound(&self, purpose: &str, request: &Request, id: &str) -> BoundId {
        BoundId::new(purpose, request.context.principal.as_ref(), &self.record.server, id)
    }

    fn bind_call(&self, request: &mut Request) -> Result<Option<Box<BoundEffect>>, Error> {
        let (declared, is_on) = (self.declared(), self.config.load().effects.enabled);
        let [has_keys, has_transactions] =
            [ExtensionId::Idempotency, ExtensionId::Transactions].map(|id| declared.has(id));
        if !(is_on || has_keys || has_transactions) {
            return Ok(None);
        }
        let key = IdempotencyLayer::key_of(request)?;
        let step = TransactionStep::read(&request.params.object("_meta").unwrap_or_default())?;
        let mut bound = self.begin(request);
        if let Some(call) = key {
            if has_keys {
                let id = self.bound("key", request, call.key.as_str());
                IdempotentCall { key: read::<IdempotencyKey>(&id)?, ttl: call.ttl }
                    .write(request.meta_mut_or_new());
                bound.key = Some(id);
            } else if is_on && let Some(meta) = request.meta_mut() {
                meta.remove("idempotency_key");
                meta.remove("idempotency_ttl_seconds");
            }
        }
        if let Some(step) = step {
            if has_transactions {
                let id = self.bound("transaction", request, step.transaction_id.as_str());
                TransactionStep { transaction_id: read(&id)?, step_id: step.step_id }
                    .write(request.meta_mut_or_new());
                bound.transaction = Some(id);
            } else if is_on {
                return Err(self.no_transactions(code::TRANSACTION_NOT_FOUND));
            }
        }
        Ok(Some(bound))
    }

    fn bind_transaction(&self, request: &mut Request) -> Result<Box<BoundEffect>, Error> {
        if !self.declared().has(ExtensionId::Transactions) {
            return Err(self.no_transactions(code::METHOD_NOT_FOUND));
        }
        let named = request.params.text("transaction_id").and_then(|id| id.parse::<TransactionId>().ok());
        let form = "`transaction_id` must have 1 to 128 letters, digits or characters of `_-:.`";
        let named = named.ok_or_else(|| Error::invalid_params(form))?;
        let id = self.bound("transaction", request, named.as_str());
        request.params.set("transaction_id", RawJson::from_text(&id.bound));
        let mut bound = self.begin(request);
        bound.transaction = Some(id);
        Ok(bound)
    }

    fn begin(&self, request: &Request) -> Box<BoundEffect> {
        Box::new(BoundEffect {
            method: request.method.clone(),
            key: None,
            transaction: None,
            effect: self.record.of(request),
            client: request.context.session.clone(),
        })
    }

    /// Has a compensation in a result name a tool of this server, as the client knows it.
    fn name_compensation(&self, bound: &BoundEffect, outcome: &mut Result<Response, Error>) {
        let Ok(response) = outcome else { return };
        if !may_name(response.result.as_bytes(), &MEMBER) {
            return;
        }
        let Some((mut step, mut compensation)) = compensation(response) else { return };
        let tool = compensation.text("tool").map(|tool| {
            let mut client = Context::default();
            client.session.clone_from(&bound.client);
            self.config.names(&client).write(self.record.server.as_str(), &tool)
        });
        match tool {
            Some(tool) => {
                compensation.set("tool", RawJson::from_text(&tool));
                step.set("compensation", compensation.to_raw());
            }
            None => drop(step.remove("compensation")),
        }
        response.change_meta(|meta| meta.set("transaction", step.to_raw()));
    }

    fn no_transactions(&self, code: i64) -> Error {
        let message = format!(
            "the server `{}` has no transactions: nothing was done, and nothing of it could be taken back",
            self.record.server
        );
        unsupported(code, message)
    }
}

/// Returns the error of a request for a transaction that nobody can have, with the word of the specification in its data.
pub(crate) fn unsupported(code: i64, message: String) -> Error {
    let error = Error::new(code, message).with_recovery(Recovery::for_code(code).unwrap_or_default());
    let data = StructuredError::of(&error).to_object().to_raw();
    error.with_data(data)
}

/// Returns what a result says of its step, and the call that takes it back.
fn compensation(response: &Response) -> Option<(Object, Object)> {
    let step = Object::from_raw(&response.to_raw()).ok()?.object("_meta")?.object("transaction")?;
    let compensation = step.object("compensation")?;
    Some((step, compensation))
}

fn read<T: std::str::FromStr>(id: &BoundId) -> Result<T, Error> {
    id.bound.parse().map_err(|_| Error::internal("an id that is bound to an agent is none"))
}

/// Records what became of a transaction.
fn note(bound: &BoundEffect, transaction: &str, outcome: &Result<Response, Error>) {
    let id = ("transaction_id", transaction);
    let answer = outcome.as_ref().ok();
    match bound.method.as_str() {
        transaction::BEGIN => bound.effect.note(BEGIN, ended(answer.is_some()), &[id]),
        transaction::COMMIT => bound.effect.note(COMMIT, ended(answer.is_some()), &[id]),
        transaction::ROLLBACK => note_rollback(bound, id, answer.and_then(|answer| answer.body().ok())),
        transaction::STATUS => {}
        _ => note_step(bound, id, answer),
    }
}

/// Records a step that has ended. One whose server asks for input first goes on in another call.
fn note_step(bound: &BoundEffect, id: (&'static str, &str), answer: Option<&Response>) {
    if answer.is_some_and(|answer| answer.result.ending() == CallEnding::Asking) {
        return;
    }
    let meta = answer.and_then(|answer| Object::from_raw(&answer.to_raw()).ok()?.object("_meta"));
    let step = meta.and_then(|meta| StepResult::read(&meta).ok().flatten());
    let is_done = answer.is_some_and(|answer| answer.result.ending() == CallEnding::Done)
        && step.as_ref().is_some_and(|step| step.status == StepStatus::Ok);
    let step = step.as_ref().map(|step| ("step_id", step.step_id.as_str()));
    let details: Vec<_> = [id].into_iter().chain(step).collect();
    bound.effect.note(STEP, ended(is_done), &details);
}

/// Records a rollback, and each step that was to be taken back. Without a report nobody knows what became of the steps.
fn note_rollback(bound: &BoundEffect, id: (&'static str, &str), report: Option<TransactionReport>) {
    let Some(report) = report else { return bound.effect.note(ROLLBACK, Outcome::Failure, &[id]) };
    for step in report.steps_compensated.iter().take(MAX_STEPS) {
        let is_done = step.status == CompensationStatus::Compensated;
        bound.effect.note(COMPENSATION, ended(is_done), &[id, ("step_id", step.step_id.as_str())]);
    }
    let is_whole = report.failures().next().is_none();
    bound.effect.note(ROLLBACK, ended(is_whole), &[id]);
}

fn ended(is_done: bool) -> Outcome {
    if is_done { Outcome::Success } else { Outcome::Failure }
}

/// A gate that answers a call whose idempotency key is known with the outcome of the first call, or with 4020.
///
/// A call that waits for a person holds no key yet, so the end of the kernel meanwhile leaves no key with an unknown
/// outcome. Two calls with one key that wait at once are confirmed one by one, and made once.
///
/// The gate stands behind all that decides whether the caller may make the call, so that a call that comes again is judged
/// again; and in front of confirmation, so that nobody is asked about a call that is not made. The call that is made notes
/// its key further in, once it is confirmed: see [`IdempotencyLayer`]. Each answer is noted in the record. Without a book of
/// keys the gate costs a comparison.
#[derive(Clone)]
pub(crate) struct ReplayGate {
    pub(crate) keys: IdempotencyLayer,
    pub(crate) record: EffectRecord,
}

impl Gate for ReplayGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let Some(answer) = self.keys.answer_again(request) else { return Flow::Pass(()) };
        let (effect, request) = (self.record.of(request), request.take());
        Flow::wait(async move {
            let Some(outcome) = answer.await else { return (request, Flow::Pass(())) };
            effect.note(REPLAY, ended(outcome.is_ok()), &[]);
            (request, Flow::Answer(outcome))
        })
    }
}

/// The record, for the gates in front of one server.
#[derive(Clone)]
pub(crate) struct EffectRecord {
    pub(crate) audit: Arc<AuditTrail>,
    pub(crate) server: ServerId,
}

/// The request that events are about.
struct RecordedEffect {
    record: EffectRecord,
    trace: Option<TraceId>,
    caller: Option<Principal>,
    tool: Option<ToolName>,
}

impl EffectRecord {
    fn of(&self, request: &Request) -> RecordedEffect {
        let context = &request.context;
        RecordedEffect {
            record: self.clone(),
            trace: context.trace,
            caller: context.principal.clone(),
            tool: context.tool.as_ref().map(|tool| tool.name.clone()),
        }
    }
}

impl RecordedEffect {
    /// Records an event with these details. Each of them is an id or a word of a known form: no text of a server is kept.
    fn note(&self, event: &str, outcome: Outcome, details: &[(&'static str, &str)]) {
        let (Some(trace), Some(caller)) = (self.trace, &self.caller) else { return };
        let audit = &self.record.audit;
        let mut event = audit.event(EventType::Custom(event.into()), Actor::of(caller), outcome);
        event.trace_id = trace;
        event.target = AuditTarget::new(Some(self.record.server.clone()), self.tool.clone());
        let event = details.iter().fold(event, |event, (name, value)| event.with_detail(*name, value));
        audit.port().record_now(vec![event]);
    }
}

/// The events of the record that tell of transactions.
const BEGIN: &str = "TRANSACTION_BEGIN";
const STEP: &str = "TRANSACTION_STEP";
const COMMIT: &str = "TRANSACTION_COMMIT";
const ROLLBACK: &str = "TRANSACTION_ROLLBACK";
const COMPENSATION: &str = "TRANSACTION_COMPENSATION";

/// The event of a call that was answered with the outcome of an earlier one.
const REPLAY: &str = "CALL_REPLAYED";

/// The most steps of a transaction.
const MAX_STEPS: usize = 100;

static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""compensation""#));
