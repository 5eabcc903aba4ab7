//! How recent the decisions are that this kernel knows, and the gate that refuses requests where they are too old.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mgp_store::StoreError;
use mgp_types::mgp::{CallEffect, Recovery, Refusal};
use mgp_types::{
    AskedRule, Error, Flow, Gate, MethodEffect, MethodRule, Request, RequestConcern, WorkRole, code,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::proof::OperatorConnection;
use crate::terminal::with_causes;

/// The time at which this kernel last knew all decisions, by the clock of this machine.
#[derive(Debug)]
pub(crate) struct Freshness {
    began: Instant,
    /// The time since `began` in milliseconds, counted from 1; 0 if the decisions are not known.
    confirmed: AtomicU64,
    /// The reason why the last attempt to learn them failed.
    fault: Mutex<Option<String>>,
}

/// The state of the link to other kernels.
#[derive(Debug, Serialize, Deserialize)]
pub struct LinkStatus {
    /// True if calls are refused, because the decisions of the others are not known.
    pub stale: bool,
    /// The time since the decisions of the others were known, in milliseconds; left out if they are not known at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lag_ms: Option<u64>,
    /// The reason why the last attempt to learn them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<String>,
}

impl LinkStatus {
    /// Returns the state in words.
    pub fn text(&self) -> String {
        let known = self.lag_ms.map_or_else(|| "not known".to_owned(), |lag| format!("known {lag} ms ago"));
        let stale = if self.stale { ", so calls are refused" } else { "" };
        let fault = self.fault.as_ref().map(|fault| format!(": {fault}")).unwrap_or_default();
        format!("{known}{stale}{fault}")
    }
}

impl Freshness {
    #[cfg(any(feature = "cluster", test))]
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), confirmed: AtomicU64::new(0), fault: Mutex::default() }
    }

    /// Notes that all decisions are known that were made before `asked`.
    pub(super) fn confirm(&self, asked: Instant) {
        self.confirmed.store(self.millis(asked), Ordering::Release);
        if self.fault.lock().take().is_some() {
            tracing::info!("the decisions of other kernels are known again");
        }
    }

    /// Notes that the decisions could not be learned. Where the order holds what no kernel appended, or what this version does
    /// not know, nothing is decided from here on.
    pub(super) fn fail(&self, error: &StoreError) {
        if !matches!(error, StoreError::Unavailable(_) | StoreError::InUse | StoreError::Full) {
            self.confirmed.store(0, Ordering::Release);
        }
        let reason = with_causes(&error.to_string(), error);
        let mut fault = self.fault.lock();
        if fault.as_ref() != Some(&reason) {
            tracing::error!(%reason, "the decisions of other kernels cannot be learned");
            *fault = Some(reason);
        }
    }

    /// Returns the time since all decisions were known, in milliseconds; `None` if they are not known at all.
    fn lag_ms(&self) -> Option<u64> {
        let confirmed = self.confirmed.load(Ordering::Acquire);
        (confirmed > 0).then(|| self.millis(Instant::now()).saturating_sub(confirmed))
    }

    /// Returns whether nothing may be decided, because others may have decided otherwise for too long.
    pub(crate) fn is_stale(&self) -> bool {
        self.lag_ms().is_none_or(|lag| lag > LONGEST_LAG_MS)
    }

    /// Returns the state of the link.
    pub(crate) fn status(&self) -> LinkStatus {
        let (stale, lag_ms, fault) = (self.is_stale(), self.lag_ms(), self.fault.lock().clone());
        let unanswered = || stale.then(|| "the shared database does not answer".to_owned());
        LinkStatus { stale, lag_ms, fault: fault.or_else(unanswered) }
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.began).as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }
}

/// A gate that refuses requests with 2000 while it is not known what other kernels decided, as a revocation may be among that.
///
/// Stands behind the tool of a call and in front of what decides. Requests about sessions, health and calls that are to end pass, as do those of
/// operators on this machine and, if the configuration says so, calls that only read. Costs one atomic read, and allocates on
/// refusal only.
#[derive(Clone)]
pub(crate) struct FreshnessGate {
    /// The state of the link; `None` for a kernel that decides alone.
    pub(crate) freshness: Option<Arc<Freshness>>,
    pub(crate) stale_reads: bool,
}

impl FreshnessGate {
    fn admit(&self, request: &Request) -> Result<(), Error> {
        let is_stale = self.freshness.as_deref().is_some_and(Freshness::is_stale);
        if !is_stale || decides_nothing(request) || (self.stale_reads && only_reads(request)) {
            return Ok(());
        }
        request.context.note_refusal(Refusal::new("store", "stale"));
        let recovery = Recovery::for_code(code::SERVER_NOT_READY).unwrap_or_default();
        let recovery = recovery.with_retry_after_ms(RETRY_AFTER_MS);
        Err(Error::new(code::SERVER_NOT_READY, STALE).with_recovery(recovery).unavailable())
    }
}

impl Gate for FreshnessGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        self.admit(request).into()
    }

    fn recheck(&self, (): &mut (), request: &mut Request) -> Result<(), Error> {
        self.admit(request)
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        if self.freshness.is_some() {
            answers.push(AskedRule::judged("store", self.admit(request).map(|()| "")));
        }
    }
}

fn decides_nothing(request: &Request) -> bool {
    let rule = request.method.rule();
    if rule.is_some_and(MethodRule::is_of_operators) {
        // Whoever comes over the network has a key, which may be revoked.
        return request.extensions.get_shared::<OperatorConnection>().is_some();
    }
    let asks_health = |rule: &MethodRule| rule.role == WorkRole::Apart && rule.effect == MethodEffect::Reads;
    matches!(request.role(), WorkRole::Tells | WorkRole::Ends)
        || rule.is_some_and(|rule| rule.concern == RequestConcern::Session || asks_health(rule))
}

fn only_reads(request: &Request) -> bool {
    match &request.context.tool {
        Some(tool) => tool.security.effect == Some(CallEffect::Reads),
        None => request.method.rule().is_some_and(|rule| rule.effect == MethodEffect::Reads),
    }
}

const STALE: &str = "this kernel does not reach the database with the latest decisions, and decides nothing without them; \
    `mgp status` says why";

/// The longest time for which decisions hold without being confirmed, in milliseconds.
pub(super) const LONGEST_LAG_MS: u64 = 2_000;

const RETRY_AFTER_MS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use mgp_types::mgp::{EffectiveSecurity, ResolvedTool, RiskLevel};
    use mgp_types::{Method, Object};

    use super::*;

    fn gate(stale_reads: bool) -> FreshnessGate {
        FreshnessGate { freshness: Some(Arc::new(Freshness::new())), stale_reads }
    }

    fn call_of(effect: CallEffect) -> Request {
        let mut security = EffectiveSecurity::new(RiskLevel::Moderate);
        security.effect = Some(effect);
        let mut request = Request::call(Method::TOOLS_CALL, Object::new());
        request.context.tool = Some(ResolvedTool::new("files".into(), "x".into(), Object::new(), security));
        request
    }

    #[test]
    fn calls_are_refused_while_the_decisions_of_others_are_not_known_and_may_be_repeated() {
        let gate = gate(false);
        let error = gate.admit(&call_of(CallEffect::Reads)).unwrap_err();
        assert_eq!(error.code(), code::SERVER_NOT_READY);
        let recovery = error.recovery().unwrap();
        assert!(recovery.may_retry() && recovery.retry_after_ms.is_some(), "{recovery:?}");
        assert!(error.is_unavailable() && error.is_not_executed(), "another kernel may take it");
        let status = gate.freshness.as_ref().unwrap().status();
        assert!(status.stale && status.text().contains("database does not answer"), "{status:?}");
        gate.freshness.as_ref().unwrap().confirm(Instant::now());
        gate.admit(&call_of(CallEffect::Spends)).unwrap();
    }

    #[test]
    fn calls_that_only_read_go_on_if_the_configuration_says_so() {
        let admitted = |effect| gate(true).admit(&call_of(effect)).is_ok();
        assert_eq!(
            [CallEffect::Reads, CallEffect::Writes, CallEffect::Unknown].map(admitted),
            [true, false, false]
        );
        assert!(gate(true).admit(&Request::call("tools/list", Object::new())).is_ok());
        assert!(gate(false).admit(&Request::call("tools/list", Object::new())).is_err());
    }

    #[test]
    fn what_decides_nothing_passes_and_operators_only_on_this_machine() {
        let gate = gate(false);
        for method in ["initialize", "ping", "tasks/cancel", "mgp/health/ping"] {
            assert!(gate.admit(&Request::call(method, Object::new())).is_ok(), "{method}");
        }
        let mut request = Request::call("kernel/keys/list", Object::new());
        assert!(gate.admit(&request).is_err());
        request.extensions.insert(OperatorConnection::of_member());
        assert!(gate.admit(&request).is_ok());
    }

    #[test]
    fn a_kernel_that_decides_alone_asks_nobody() {
        let gate = FreshnessGate { freshness: None, stale_reads: false };
        gate.admit(&call_of(CallEffect::Spends)).unwrap();
    }
}
