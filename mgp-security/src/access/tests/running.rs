use mgp_types::mgp::AccessPermission::{Allow, Deny};
use mgp_types::mgp::CallRecord;
use mgp_types::{AgentGroup, AgentGroups, Object, RunningCalls, Validity, code};
use tokio::task::JoinHandle;
use tower_layer::Layer as _;

use super::*;
use crate::access::RunningAccessLayer;
use crate::doubles::shared_databases;

/// A server that never answers.
#[derive(Clone)]
struct Silent;

impl Service<Request> for Silent {
    type Future = std::future::Pending<Result<Response, Error>>;

    mgp_types::always_ready!();

    fn call(&mut self, _: Request) -> Self::Future {
        std::future::pending()
    }
}

/// A call of `tool` at the server `s`, and its record.
fn call(agent: &str, tool: &str) -> (Request, Arc<CallRecord>) {
    let params = Object::parse(format!(r#"{{"name":"{tool}","arguments":{{}}}}"#)).unwrap();
    let mut request = Request::call("tools/call", params);
    let record = Arc::new(CallRecord::default());
    request.context.principal = Some(Principal::new(agent));
    request.context.trail = Some(Arc::clone(&record));
    (request, record)
}

/// A call that runs.
struct Running {
    outcome: JoinHandle<Result<Response, Error>>,
    record: Arc<CallRecord>,
}

impl Running {
    async fn begin(policy: &AccessPolicy, agent: &str, tool: &str) -> Self {
        let (request, record) = call(agent, tool);
        Self::of(policy, request, record).await
    }

    async fn of(policy: &AccessPolicy, request: Request, record: Arc<CallRecord>) -> Self {
        let mut server = RunningAccessLayer::new(policy.clone(), "s".into()).layer(Silent);
        let running = Self { outcome: tokio::spawn(server.call(request)), record };
        assert!(running.goes_on().await);
        running
    }

    /// Returns whether the call still runs once everything has had its turn.
    async fn goes_on(&self) -> bool {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        !self.outcome.is_finished()
    }

    async fn expect_refusal(self) {
        let error = self.outcome.await.unwrap().unwrap_err();
        assert_eq!(error.code(), code::ACCESS_DENIED);
        assert!(error.message().contains("removed while the call was running"), "{error}");
        let refusal = self.record.refusal().map(|refusal| (refusal.by, refusal.rule));
        assert_eq!(refusal, Some(("access", "withdrawn")));
    }
}

#[tokio::test]
async fn a_denial_ends_the_running_calls_of_the_agent_at_the_server_or_tool_and_no_others() {
    let policy = policy();
    for agent in ["a", "b"] {
        policy.grant(&admin(), None, grant(agent, "s", None, Allow)).await.unwrap();
    }
    let [read, write] =
        [Running::begin(&policy, "a", "read").await, Running::begin(&policy, "a", "write").await];
    let other = Running::begin(&policy, "b", "write").await;
    policy.grant(&admin(), None, grant("a", "s", Some("write"), Deny)).await.unwrap();
    write.expect_refusal().await;
    assert!(read.goes_on().await);
    policy.grant(&admin(), None, grant("a", "s", None, Deny)).await.unwrap();
    read.expect_refusal().await;
    assert!(other.goes_on().await);
}

#[tokio::test]
async fn the_removal_and_the_end_of_a_grant_end_running_calls() {
    let hands = ManualClock::at(0);
    let policy = timed(&hands);
    policy.grant(&admin(), None, grant("a", "s", Some("read"), Allow)).await.unwrap();
    let read = Running::begin(&policy, "a", "read").await;
    policy.revoke(&admin(), None, revoke("a", "s", Some("read"))).await.unwrap();
    read.expect_refusal().await;

    let mut endings = policy.endings();
    let until = grant("a", "s", Some("read"), Allow).with_expires_at(Some(at(2_000)));
    policy.grant(&admin(), None, until).await.unwrap();
    let read = Running::begin(&policy, "a", "read").await;
    hands.set(3_000);
    assert_eq!(endings.next().await.len(), 1);
    read.expect_refusal().await;
}

#[tokio::test]
async fn a_change_of_groups_ends_the_running_calls_of_those_who_lose_access() {
    let group = |agents: &[&str]| {
        let agents = agents.iter().map(ToString::to_string).collect();
        vec![AgentGroup { name: "team".into(), agents, ..AgentGroup::default() }]
    };
    let groups = AgentGroups::default();
    groups.set(group(&["ada", "bob"]));
    let settings = AccessPolicySettings { groups: groups.clone(), ..AccessPolicySettings::default() };
    let policy = AccessPolicy::open(settings).unwrap();
    policy.grant(&admin(), None, grant("@team", "s", None, Allow)).await.unwrap();
    let [ada, bob] =
        [Running::begin(&policy, "ada", "read").await, Running::begin(&policy, "bob", "read").await];
    groups.set(group(&["ada"]));
    bob.expect_refusal().await;
    assert!(ada.goes_on().await);
}

#[tokio::test]
async fn a_denial_at_another_kernel_ends_running_calls_here() {
    let databases = shared_databases::<2>();
    let [here, there] = databases.each_ref().map(|database| AccessPolicy::open(kept_in(database)).unwrap());
    here.grant(&admin(), None, grant("a", "s", None, Allow)).await.unwrap();
    let read = Running::begin(&here, "a", "read").await;
    there.grant(&admin(), None, grant("a", "s", None, Deny)).await.unwrap();
    databases[0].catch_up().unwrap();
    here.reload().await.unwrap();
    read.expect_refusal().await;
}

#[tokio::test]
async fn a_call_that_may_finish_without_its_key_also_keeps_what_the_groups_of_the_key_allowed() {
    let team = AgentGroup { name: "team".into(), ..AgentGroup::default() };
    let keys = |groups: &[&str]| {
        let groups = groups.iter().map(|name| Box::from(*name)).collect();
        std::collections::HashMap::from([("ada".into(), groups)])
    };
    let groups = AgentGroups::default();
    groups.set(vec![team]);
    groups.set_keys(keys(&["team"]));
    let settings = AccessPolicySettings { groups: groups.clone(), ..AccessPolicySettings::default() };
    let policy = AccessPolicy::open(settings).unwrap();
    policy.grant(&admin(), None, grant("@team", "s", None, Allow)).await.unwrap();
    let (mut request, record) = call("ada", "read");
    let validity = Validity::new();
    request.extensions.insert(validity.clone());
    let read = Running::of(&policy, request, record).await;
    validity.end(RunningCalls::Finish);
    groups.set_keys(keys(&[]));
    assert!(!policy.decide("ada", "s", None).allows() && read.goes_on().await);
    policy.grant(&admin(), None, grant("ada", "s", None, Deny)).await.unwrap();
    read.expect_refusal().await;
}
