//! The rate limits, and the gate that enforces them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use mgp_types::mgp::{Recovery, Refusal, RetryStrategy, ServerId, ToolName};
use mgp_types::{
    AgentGroups, AskedRule, Error, Flow, Gate, Method, Principal, PrincipalKind, PrincipalRole, Request,
    RequestKind, agent_family, code,
};
use tokio::time::sleep;

use super::limiter::{ASK_EVERY, ExceededLimit, Limiter, MeterPace, Rates};

/// The rate limits. A call has to be within all that apply to it.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Limits {
    principal: Option<MeterPace>,
    agents: HashMap<Box<str>, MeterPace>,
    groups: AgentGroups,
    server: Option<MeterPace>,
    tools: HashMap<ServerId, HashMap<ToolName, MeterPace>>,
    /// The settings that set the rates, for the message of refusals.
    setting: Option<Box<str>>,
}

impl Limits {
    /// Returns a set without limits.
    pub fn new() -> Self {
        Self::default()
    }

    mgp_types::setters! { self =>
        /// Limits all requests of each principal but operators, who have to be able to end what uses a limit up.
        /// Callers that have not authenticated share one limit.
        pub fn per_principal(rates: Rates) => self.principal = Some(MeterPace::new(rates));

        /// Limits the requests of the agent of this id, or of each member of the group `@name` that has no limit of its own, in
        /// place of [`per_principal`](Self::per_principal).
        pub fn for_agent(id: &str, rates: Rates) => self.agents.insert(id.into(), MeterPace::new(rates));

        /// Finds the groups of agents in `groups`.
        pub fn with_groups(groups: AgentGroups) => self.groups = groups;

        /// Limits the requests to each server, by all principals together.
        pub fn per_server(rates: Rates) => self.server = Some(MeterPace::new(rates));

        /// Limits the calls of one tool, by all principals together.
        pub fn for_tool(server: ServerId, tool: ToolName, rates: Rates) =>
            self.tools.entry(server).or_default().insert(tool, MeterPace::new(rates));

        /// Names the settings that set the rates, such as ``"`calls_per_minute` in settings.toml"``, in the message of
        /// refusals.
        pub fn set_by(setting: impl Into<Box<str>>) => self.setting = Some(setting.into());
    }

    fn of_principal(&self, principal: Option<&Principal>) -> Option<&MeterPace> {
        if principal.is_some_and(|principal| principal.role() == PrincipalRole::Operator) {
            return None;
        }
        let (_, agent) = payer(principal).filter(|_| !self.agents.is_empty()).unzip();
        let own = agent.and_then(|agent| self.groups.find(agent, |id| self.agents.get(id)));
        own.or(self.principal.as_ref())
    }

    fn of_tool(&self, server: Option<&ServerId>, tool: &str) -> Option<&MeterPace> {
        self.tools.get(server?)?.get(tool)
    }
}

/// A gate that refuses requests that exceed a rate limit. Clones share their counts.
///
/// The gate stands behind the layers that authenticate and record. It reads `context.principal` and `context.tool`,
/// and fills `context.trail`. Calls and notifications count alike, except that cancelling a call, progress, and the
/// end of a session's initialization are free. A request that exceeds a limit is refused with 3000 and told when to
/// come back; it uses up nothing of any limit. The gate allocates on refusal, and for principals and targets that it
/// sees for the first time. It waits only where other kernels have to be told of the calls before; a call that is given up
/// stays counted.
#[derive(Clone)]
pub struct LimitGate(Arc<LimitGateSettings>);

struct LimitGateSettings {
    limits: ArcSwap<Limits>,
    limiter: Arc<Limiter>,
    server: Option<ServerId>,
}

impl LimitGate {
    /// Returns a gate that has counted nothing yet.
    pub fn new(limits: Limits) -> Self {
        Self::with(limits, None, Arc::default())
    }

    /// Sets new limits from now on, also for clones that were made before. The counts are kept.
    pub fn set(&self, limits: Limits) {
        self.0.limits.store(Arc::new(limits));
    }

    /// Returns the rates of a principal, the number of requests that it can make now, and the time until it can make as many
    /// as ever; `None` if it has no limit.
    pub fn left(&self, principal: Option<&Principal>) -> Option<(Rates, u64, Duration)> {
        let (limits, limiter) = (self.0.limits.load(), &self.0.limiter);
        let pace = limits.of_principal(principal)?;
        let (calls, renewed_in) = limiter.left(limiter.key(payer(principal)), pace)?;
        Some((pace.rates, calls, renewed_in))
    }

    /// Returns a gate that counts with the meters of `limiter`, and takes unresolved requests to be for `server`.
    pub fn with(limits: Limits, server: Option<ServerId>, limiter: Arc<Limiter>) -> Self {
        let limits = ArcSwap::from_pointee(limits);
        Self(Arc::new(LimitGateSettings { limits, limiter, server }))
    }

    #[cfg(test)]
    pub(super) fn keys(&self) -> usize {
        self.0.limiter.keys()
    }
}

impl Gate for LimitGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        match self.0.ask(request, true) {
            Err((_, wait)) if wait.is_zero() => {
                let (gate, mut request) = (self.clone(), request.take());
                Flow::wait(async move {
                    sleep(ASK_EVERY).await;
                    let flow = gate.enter(&mut request);
                    (request, flow)
                })
            }
            asked => self.0.judged(request, asked).into(),
        }
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        let judged = self.0.judged(request, self.0.ask(request, false));
        answers.push(AskedRule::judged("limits", judged.map(|()| "")));
    }
}

mgp_types::partial_debug!(LimitGate, self => limits: self.0.limits.load());

impl LimitGateSettings {
    /// Finds out whether the meters that a request concerns have room for it and, if it `counts`, counts it.
    fn ask(&self, request: &Request, counts: bool) -> Result<(), ExceededLimit> {
        if is_free(request) {
            return Ok(());
        }
        let (limits, limiter) = (self.limits.load(), &self.limiter);
        let principal = payer(request.context.principal.as_ref());
        let resolved = request.context.tool.as_deref();
        let server = resolved.map(|tool| &tool.server).or(self.server.as_ref());
        let tool = match resolved {
            Some(resolved) => Some(Cow::Borrowed(resolved.name.as_str())),
            None if request.method == Method::TOOLS_CALL => request.params.text("name"),
            None => None,
        };
        let tool = tool.as_deref();
        let of_principal = limits.of_principal(request.context.principal.as_ref());
        let of_tool = tool.and_then(|tool| limits.of_tool(server, tool));
        let of_server = server.and_then(|_| limits.server.as_ref());
        let wanted = [
            of_principal.map(|pace| (limiter.key(principal), pace)),
            of_tool.map(|pace| (limiter.key((server, tool)), pace)),
            of_server.map(|pace| (limiter.key(server), pace)),
            None,
        ];
        limiter.ask(wanted, counts)
    }

    /// Returns the answer to a request for which the meters were asked.
    fn judged(&self, request: &Request, asked: Result<(), ExceededLimit>) -> Result<(), Error> {
        asked.map_err(|(rule, wait)| {
            request.context.note_refusal(Refusal::new("limit", rule));
            tracing::debug!(method = %request.method, rule, "rate limit exceeded");
            limited(wait, self.limits.load().setting.as_deref())
        })
    }
}

/// Returns the error 3000, to be retried after `wait`; `setting` sets how many calls there may be. It does not tell whose
/// limit was reached: that may be one that others used up.
pub(crate) fn limited(wait: Duration, setting: Option<&str>) -> Error {
    let millis = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    let recovery = Recovery::for_code(code::RATE_LIMITED).unwrap_or_default();
    let raise = setting.map(|setting| format!("; {setting} set how many there may be")).unwrap_or_default();
    let secs = millis.div_ceil(1_000);
    let message = format!("too many calls; wait, then try again: the next one passes in {secs} s{raise}");
    Error::new(code::RATE_LIMITED, message).with_recovery(
        recovery.with_retry_after_ms(millis).with_retry_strategy(RetryStrategy::ExponentialBackoff),
    )
}

/// Returns the one whose limit a principal uses up. The clients of the user share one: each could take other names.
fn payer(principal: Option<&Principal>) -> Option<(PrincipalKind, &str)> {
    let family = |principal: &Principal| agent_family(principal.as_str());
    principal.map(|principal| (principal.kind(), family(principal).unwrap_or(principal.as_str())))
}

/// Returns whether a request is free because it makes less work and not more. Refusing it would keep calls running.
fn is_free(request: &Request) -> bool {
    request.kind == RequestKind::Notify
        && [Method::CANCELLED, Method::PROGRESS, Method::INITIALIZED].contains(&request.method)
}
