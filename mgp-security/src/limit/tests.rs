use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mgp_types::mgp::{CallRecord, Category, RetryStrategy};
use mgp_types::{AgentGroup, AgentGroups, Error, Gate, Object, Principal, Request, Response, code};
use parking_lot::Mutex;
use proptest::prelude::*;
use tokio::time::Instant;
use tower_service::Service;

use super::limiter::{MeterPace, RateMeter};
use super::{LimitGate, Limiter, Limits, Rates, SharedUse};
use crate::doubles::TestServer;

fn n(calls: u32) -> NonZeroU32 {
    NonZeroU32::new(calls).unwrap()
}

fn minute(calls: u32) -> Rates {
    Rates::new().per_minute(n(calls))
}

fn call(agent: &str, tool: &str) -> Request {
    let params = Object::parse(format!(r#"{{"name":"{tool}"}}"#)).unwrap();
    let mut request = Request::call("tools/call", params);
    request.context.principal = Some(Principal::new(agent));
    request
}

async fn ask(layer: &LimitGate, request: Request) -> Result<Response, Error> {
    layer.layer(TestServer::new()).call(request).await
}

/// Limits of single tools of the server `s`.
fn of_tools(tools: &[&str], rates: Rates) -> Limits {
    tools.iter().fold(Limits::new(), |limits, &tool| limits.for_tool("s".into(), tool.into(), rates))
}

/// A gate in front of the server `s`.
fn at_server(limits: Limits) -> LimitGate {
    LimitGate::with(limits, Some("s".into()), Arc::default())
}

/// The counts of eight callers, servers and tools at most.
fn small() -> Arc<Limiter> {
    let mut limiter = Limiter::default();
    limiter.max_keys = 8;
    Arc::new(limiter)
}

/// How many of `calls` pass.
async fn passed(layer: &LimitGate, calls: usize, agent: &str, tool: &str) -> usize {
    let mut passed = 0;
    for _ in 0..calls {
        passed += usize::from(ask(layer, call(agent, tool)).await.is_ok());
    }
    passed
}

#[tokio::test(start_paused = true)]
async fn other_limits_hold_at_once_and_what_was_counted_stays_counted() {
    let layer = LimitGate::new(Limits::new());
    let mut service = layer.layer(TestServer::new());
    assert_eq!(passed(&layer, 20, "a", "t").await, 20);
    layer.set(Limits::new().per_principal(minute(10)));
    assert_eq!(passed(&layer, 12, "a", "t").await, 10);
    assert!(service.call(call("a", "t")).await.is_err());
    layer.set(Limits::new().per_principal(minute(10)).per_server(minute(100)));
    assert_eq!(passed(&layer, 12, "a", "t").await, 0);
    layer.set(Limits::new());
    assert_eq!(passed(&layer, 20, "a", "t").await, 20);
}

#[tokio::test(start_paused = true)]
async fn the_clients_of_the_user_share_one_limit_whatever_they_call_themselves() {
    let layer = LimitGate::new(Limits::new().per_principal(minute(10)));
    assert_eq!(passed(&layer, 8, "local/cursor", "t").await, 8);
    assert_eq!(passed(&layer, 8, "local/other", "t").await, 2);
    assert_eq!(passed(&layer, 8, "ada", "t").await, 8);
}

#[tokio::test(start_paused = true)]
async fn each_member_of_a_group_has_the_rates_of_the_group_for_itself() {
    let groups = AgentGroups::default();
    let team = |agents: &[&str]| AgentGroup {
        name: "team".to_owned(),
        agents: agents.iter().map(|agent| (*agent).to_owned()).collect(),
        ..AgentGroup::default()
    };
    groups.set(vec![team(&["bob", "eve"])]);
    let limits = Limits::new().per_principal(minute(1)).with_groups(groups.clone());
    let layer = LimitGate::new(limits.for_agent("@team", minute(3)).for_agent("eve", minute(2)));
    for (agent, calls) in [("bob", 3), ("eve", 2), ("ada", 1)] {
        assert_eq!(layer.left(Some(&Principal::new(agent))).unwrap().1, calls, "{agent}");
        assert_eq!(passed(&layer, 5, agent, "t").await, usize::try_from(calls).unwrap(), "{agent}");
    }
    groups.set(vec![team(&["zoe"])]);
    tokio::time::advance(Duration::from_mins(1)).await;
    for (agent, calls) in [("bob", 1), ("eve", 2), ("zoe", 3)] {
        assert_eq!(passed(&layer, 5, agent, "t").await, calls, "{agent}");
    }
}

// covers: GGEN-7-05, GGEN-7-15, GGEN-8.4-03
#[tokio::test(start_paused = true)]
async fn each_rate_alone_refuses_and_says_when_to_come_back() {
    for (rates, length) in [
        (minute(10), Duration::from_mins(1)),
        (Rates::new().per_hour(n(10)), Duration::from_hours(1)),
        (Rates::new().per_day(n(10)), Duration::from_hours(24)),
    ] {
        let layer = LimitGate::new(Limits::new().per_principal(rates));
        assert_eq!(passed(&layer, 12, "a", "t").await, 10);
        let error = ask(&layer, call("a", "t")).await.unwrap_err();
        assert_eq!(error.code(), code::RATE_LIMITED);
        let recovery = error.recovery().unwrap();
        assert_eq!((recovery.category, recovery.retryable), (Some(Category::Resource), Some(true)));
        assert_eq!(recovery.retry_strategy, Some(RetryStrategy::ExponentialBackoff));
        let wait = Duration::from_millis(recovery.retry_after_ms.unwrap());
        assert_eq!(wait, length / 10);
        tokio::time::advance(wait.saturating_sub(Duration::from_millis(2))).await;
        assert_eq!(passed(&layer, 1, "a", "t").await, 0);
        tokio::time::advance(Duration::from_millis(2)).await;
        assert_eq!(passed(&layer, 2, "a", "t").await, 1);
        tokio::time::advance(length).await;
        assert_eq!(passed(&layer, 12, "a", "t").await, 10);
    }
}

// covers: ENV-11.2-05, EXT-01-16
#[tokio::test(start_paused = true)]
async fn principals_tools_and_servers_have_limits_of_their_own() {
    let by_principal = LimitGate::new(Limits::new().per_principal(minute(2)));
    assert_eq!(passed(&by_principal, 3, "a", "t").await, 2);
    assert_eq!(passed(&by_principal, 3, "a", "u").await, 0);
    assert_eq!(passed(&by_principal, 3, "b", "t").await, 2);

    let by_tool = at_server(of_tools(&["t", "u"], minute(2)));
    assert_eq!(passed(&by_tool, 3, "a", "t").await, 2);
    assert_eq!(passed(&by_tool, 3, "b", "t").await, 0);
    assert_eq!(passed(&by_tool, 3, "a", "u").await, 2);
    assert_eq!(passed(&by_tool, 3, "a", "v").await, 3);

    let by_server = at_server(Limits::new().per_server(minute(2)));
    assert_eq!(passed(&by_server, 3, "a", "t").await, 2);
    assert_eq!(passed(&by_server, 3, "b", "u").await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_uses_up_nothing() {
    let limits = Limits::new().per_principal(minute(2).per_hour(n(6))).per_server(minute(4));
    let layer = at_server(limits);
    // Refused by the minute, the rest takes nothing from the hour; and nothing from the server.
    assert_eq!(passed(&layer, 50, "a", "t").await, 2);
    assert_eq!(passed(&layer, 50, "b", "t").await, 2);
    let mut in_all = 2;
    for _ in 0..3 {
        tokio::time::advance(Duration::from_mins(1)).await;
        in_all += passed(&layer, 50, "a", "t").await;
    }
    assert_eq!(in_all, 6);
}

#[tokio::test(start_paused = true)]
async fn many_names_neither_fill_the_memory_nor_begin_anew() {
    let layer = LimitGate::with(Limits::new().per_principal(minute(1)), None, small());
    let mut passing = 0;
    for name in 0..1000 {
        passing += passed(&layer, 1, &format!("a{name}"), "t").await;
    }
    assert_eq!(passing, 8 + 1); // Those that came too late share one meter.
    assert_eq!(layer.keys(), 8);
    assert_eq!(passed(&layer, 1, "a0", "t").await, 0);
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(passed(&layer, 1, "late", "t").await, 1);
    assert_eq!(layer.keys(), 1);
}

#[tokio::test(start_paused = true)]
async fn names_of_tools_take_no_room_from_principals() {
    let tools: Vec<_> = (0..12).map(|number| format!("t{number}")).collect();
    let tools: Vec<_> = tools.iter().map(String::as_str).collect();
    let limits = of_tools(&tools, minute(9)).per_principal(minute(2));
    let layer = LimitGate::with(limits, Some("s".into()), small());
    // Twelve tools are more than there is room for; six principals are not, and each keeps a rate of its own.
    for (agent, pair) in ["a", "b", "c", "d", "e", "f"].into_iter().zip(tools.chunks(2)) {
        for tool in pair {
            assert_eq!(passed(&layer, 1, agent, tool).await, 1, "{agent} {tool}");
        }
        assert_eq!(passed(&layer, 1, agent, "x").await, 0, "{agent}");
    }
}

#[tokio::test(start_paused = true)]
async fn everything_counts_but_what_makes_less_work() {
    let layer = LimitGate::new(Limits::new().per_principal(minute(3)));
    for method in ["notifications/cancelled", "notifications/progress", "notifications/initialized"] {
        assert!(ask(&layer, Request::notify(method, Object::new())).await.is_ok(), "{method}");
    }
    assert!(ask(&layer, Request::notify("tools/call", Object::new())).await.is_ok());
    assert!(ask(&layer, Request::call("ping", Object::new())).await.is_ok());
    assert!(ask(&layer, Request::call("mgp/access/query", Object::new())).await.is_ok());
    assert!(ask(&layer, Request::call("vendor/x", Object::new())).await.is_err());
    let disguised = Request::call("notifications/progress", Object::new());
    assert!(ask(&layer, disguised).await.is_err(), "a call by the name of a notification is a call");
    assert!(ask(&layer, Request::notify("notifications/cancelled", Object::new())).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_agent_and_an_operator_of_one_name_are_two() {
    let layer = LimitGate::new(Limits::new().per_principal(minute(1)));
    let mut by_operator = call("a", "t");
    by_operator.context.principal = Some(Principal::operator("a"));
    assert!(ask(&layer, by_operator).await.is_ok());
    assert!(ask(&layer, call("a", "t")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn operators_have_no_limit_of_their_own_and_keep_those_of_servers() {
    let layer = at_server(Limits::new().per_principal(minute(1)).per_server(minute(9)));
    let operator = Principal::operator("root");
    let mut passed = 0;
    for _ in 0..20 {
        let mut request = Request::call("kernel/keys/revoke", Object::new());
        request.context.principal = Some(operator.clone());
        passed += usize::from(ask(&layer, request).await.is_ok());
    }
    assert_eq!((passed, layer.left(Some(&operator))), (9, None));
}

#[tokio::test(start_paused = true)]
async fn the_trail_learns_which_limit_it_was_and_the_caller_does_not() {
    let layer = at_server(of_tools(&["t"], minute(1)));
    ask(&layer, call("a", "t")).await.unwrap();
    let trail = Arc::new(CallRecord::default());
    let mut second = call("b", "t");
    second.context.trail = Some(Arc::clone(&trail));
    let error = ask(&layer, second).await.unwrap_err();
    assert_eq!(trail.refusal().map(|refusal| (refusal.by, refusal.rule)), Some(("limit", "tool")));
    assert!(!error.message().contains("tool"));
}

proptest! {
    /// In any stretch as long as the window at most twice the number passes, and never more than the number at once.
    #[test]
    fn a_meter_lets_through_what_its_rates_say(
        calls in 1..20u32,
        gaps in proptest::collection::vec(0..20_000u64, 1..200),
    ) {
        let pace = MeterPace::new(minute(calls));
        let (mut meter, mut now, mut times) = (RateMeter::default(), 0, Vec::new());
        for gap in gaps {
            now += gap;
            let time = Duration::from_millis(now);
            let wait = meter.wait(&pace, time);
            if wait.is_zero() {
                meter.take(&pace, time);
                times.push(now);
            } else {
                prop_assert!(meter.wait(&pace, time + wait).is_zero());
            }
        }
        for (index, start) in times.iter().enumerate() {
            let within = times[index..].iter().filter(|time| **time < start + 60_000).count();
            prop_assert!(within < 2 * calls as usize);
            let at_once = times[index..].iter().filter(|time| *time == start).count();
            prop_assert!(at_once <= calls as usize);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_limit_falls_with_each_request_and_returns_with_time() {
    let layer = LimitGate::new(Limits::new().per_principal(minute(3).per_day(n(100))));
    let left = |agent: &str| {
        let (rates, calls, renewed_in) = layer.left(Some(&Principal::new(agent))).unwrap();
        assert_eq!(rates, minute(3).per_day(n(100)));
        (calls, renewed_in)
    };
    assert_eq!(left("a"), (3, Duration::ZERO));
    assert_eq!(passed(&layer, 1, "a", "t").await, 1);
    assert_eq!((left("a").0, left("a").1.as_secs()), (2, 20));
    assert_eq!(left("b").0, 3);
    tokio::time::advance(Duration::from_secs(20)).await;
    assert_eq!(left("a").0, 3);
    assert_eq!(LimitGate::new(Limits::new()).left(None), None);
}

/// The uses of limits by all kernels, added up as the database does.
struct AllUses {
    began: Instant,
    /// The amounts, with the times at which they were that, in seconds.
    used: BTreeMap<i64, (f64, f64)>,
}

impl AllUses {
    fn add(&mut self, unreported: &[SharedUse]) -> BTreeMap<i64, f64> {
        let now = self.began.elapsed().as_secs_f64();
        let added = unreported.iter().map(|&(id, amount, returned)| {
            let (used, at) = self.used.get(&id).copied().unwrap_or((0.0, now));
            let used = (used - returned * (now - at)).max(0.0) + amount;
            self.used.insert(id, (used, now));
            (id, used)
        });
        added.collect()
    }
}

/// Kernels that hold each agent to 20 calls a minute, and tell each other of them every 20 ms while `reaches` holds.
struct TestKernels<const N: usize> {
    gates: [LimitGate; N],
    reaches: Arc<Mutex<bool>>,
}

impl<const N: usize> TestKernels<N> {
    fn start() -> Self {
        let all = Arc::new(Mutex::new(AllUses { began: Instant::now(), used: BTreeMap::new() }));
        let reaches = Arc::new(Mutex::new(true));
        let gates = [(); N].map(|()| {
            let (all, reaches) = (Arc::clone(&all), Arc::clone(&reaches));
            let limiter = Arc::new(Limiter::new(Some(7)));
            let counts = Arc::clone(&limiter);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    if *reaches.lock() {
                        counts.learn(&all.lock().add(&counts.unreported()));
                    }
                }
            });
            LimitGate::with(Limits::new().per_principal(minute(20)), None, limiter)
        });
        Self { gates, reaches }
    }

    /// Makes calls at all kernels in turn, and returns how many pass.
    async fn passed(&self, rounds: usize) -> usize {
        let mut all = 0;
        for _ in 0..rounds {
            for gate in &self.gates {
                all += passed(gate, 1, "a", "t").await;
            }
        }
        all
    }
}

#[tokio::test(start_paused = true)]
async fn kernels_together_exceed_a_limit_by_one_share_for_each_but_the_first() {
    let kernels = TestKernels::<3>::start();
    let together = kernels.passed(30).await;
    assert!((20..=22).contains(&together), "{together}");
    assert_eq!(passed(&kernels.gates[0], 9, "b", "t").await, 9, "agents have limits of their own");
    // What was too much is not given back: after half a minute there is room for half of the calls.
    tokio::time::advance(Duration::from_secs(30)).await;
    let later = together + kernels.passed(30).await;
    assert!((30..=33).contains(&later), "{later}");
}

#[tokio::test(start_paused = true)]
async fn one_of_several_kernels_uses_all_of_a_limit_at_once() {
    let kernels = TestKernels::<2>::start();
    let layer = &kernels.gates[0];
    let outcomes = join_all((0..20).map(|_| ask(layer, call("a", "t")))).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let error = ask(layer, call("a", "t")).await.unwrap_err();
    assert!(error.recovery().unwrap().retry_after_ms.is_some_and(|wait| wait > 1_000), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kernel_that_reaches_no_other_lets_one_share_pass_and_goes_on_later() {
    let kernels = TestKernels::<1>::start();
    *kernels.reaches.lock() = false;
    let layer = &kernels.gates[0];
    assert!(ask(layer, call("a", "t")).await.is_ok());
    let began = Instant::now();
    let error = ask(layer, call("a", "t")).await.unwrap_err();
    assert_eq!(began.elapsed().as_secs(), 2);
    assert_eq!((error.code(), error.recovery().unwrap().retry_after_ms), (code::RATE_LIMITED, Some(2_000)));
    *kernels.reaches.lock() = true;
    // The others hear of the call that passed.
    tokio::time::sleep(Duration::from_millis(40)).await;
    assert_eq!(kernels.passed(15).await, 15);
}
