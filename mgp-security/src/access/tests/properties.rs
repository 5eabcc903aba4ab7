use std::collections::BTreeMap;

use mgp_types::mgp::{AccessPermission::Allow, AccessPermission::Deny, AccessSource, DefaultPolicy};
use proptest::prelude::*;

use super::*;

/// What an operator does, or the clock.
#[derive(Debug, Clone)]
enum Step {
    Grant { agent: u8, server: u8, tool: Option<u8>, deny: bool, lasts: Option<i64> },
    Revoke { agent: u8, server: u8, tool: Option<u8> },
    Wait(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let tool = || proptest::option::of(0..3u8);
    prop_oneof![
        4 => (0..3u8, 0..2u8, tool(), any::<bool>(), proptest::option::of(-5..20i64)).prop_map(
            |(agent, server, tool, deny, lasts)| Step::Grant { agent, server, tool, deny, lasts }
        ),
        2 => (0..3u8, 0..2u8, tool()).prop_map(|(agent, server, tool)| Step::Revoke { agent, server, tool }),
        1 => (0..10i64).prop_map(Step::Wait),
    ]
}

type Model = BTreeMap<(u8, u8, Option<u8>), (AccessPermission, Option<i64>)>;

/// The rules as the specification has them, in as many words.
fn expected(
    model: &Model,
    agent: u8,
    server: u8,
    tool: Option<u8>,
    now: i64,
    default: AccessPermission,
) -> (AccessPermission, AccessSource) {
    let live = |tool| {
        let (permission, end): &(_, Option<i64>) = model.get(&(agent, server, tool))?;
        end.is_none_or(|end| now < end).then_some(*permission)
    };
    if let Some(permission) = tool.and_then(|tool| live(Some(tool))) {
        return (permission, AccessSource::ToolGrant);
    }
    match live(None) {
        Some(permission) => (permission, AccessSource::ServerGrant),
        None => (default, AccessSource::DefaultPolicy),
    }
}

fn build(settings: AccessPolicySettings, hands: &ManualClock, default: DefaultPolicy) -> AccessPolicy {
    let (clock, default_policy) = (hands.clock(), default);
    AccessPolicy::open(AccessPolicySettings { default_policy, clock, ..settings }).unwrap()
}

fn check(policy: &AccessPolicy, model: &Model, now: i64) -> Result<(), TestCaseError> {
    for (agent, server) in (0..3).flat_map(|agent| (0..2).map(move |server| (agent, server))) {
        let (agent_name, server_name) = (format!("a{agent}"), format!("s{server}"));
        let mut reaches = false;
        for tool in [None, Some(0), Some(1), Some(2)] {
            let tool_name = tool.map(|tool| format!("t{tool}"));
            let verdict = policy.decide(&agent_name, &server_name, tool_name.as_deref());
            let wanted = expected(model, agent, server, tool, now, policy.default_policy().permission());
            prop_assert_eq!((verdict.permission, verdict.source), wanted);
            reaches |= tool.is_none() && wanted.0 == Allow || wanted == (Allow, AccessSource::ToolGrant);
        }
        prop_assert_eq!(policy.reaches(&agent_name, &server_name), reaches);
    }
    Ok(())
}

fn follow(
    steps: &[Step],
    policies: &[AccessPolicy],
    hands: &ManualClock,
) -> Result<(Model, i64), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut model, mut now) = (Model::new(), 0);
    for step in steps {
        match step {
            Step::Wait(millis) => now += millis,
            Step::Grant { agent, server, tool, deny, lasts } => {
                let (permission, end) = (if *deny { Deny } else { Allow }, lasts.map(|lasts| now + lasts));
                model.insert((*agent, *server, *tool), (permission, end));
                let tool = tool.map(|tool| format!("t{tool}"));
                let (agent, server) = (format!("a{agent}"), format!("s{server}"));
                let wanted = grant(&agent, &server, tool.as_deref(), permission);
                for policy in policies {
                    let wanted = wanted.clone().with_expires_at(end.map(at));
                    runtime.block_on(policy.grant(&admin(), None, wanted)).unwrap();
                }
            }
            Step::Revoke { agent, server, tool } => {
                let had = usize::from(model.remove(&(*agent, *server, *tool)).is_some());
                let tool = tool.map(|tool| format!("t{tool}"));
                let (agent, server) = (format!("a{agent}"), format!("s{server}"));
                for policy in policies {
                    let wanted = revoke(&agent, &server, tool.as_deref());
                    let revoked = runtime.block_on(policy.revoke(&admin(), None, wanted)).unwrap();
                    prop_assert_eq!(usize::from(revoked.is_some()), had);
                }
            }
        }
        hands.set(now);
        for policy in policies {
            check(policy, &model, now)?;
        }
    }
    Ok((model, now))
}

proptest! {
    // covers: MGP-5.2-01..03, MGP-5.3-01, MGP-5.3-02, MGP-5.4-06, MGP-5.5-01, MGP-5.5-02
    #[test]
    fn decisions_are_those_of_the_rules_after_any_changes(steps in proptest::collection::vec(step(), 1..60)) {
        let hands = ManualClock::default();
        let policies = [DefaultPolicy::OptIn, DefaultPolicy::OptOut]
            .map(|default| build(AccessPolicySettings::default(), &hands, default));
        follow(&steps, &policies, &hands)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_policy_is_the_same_when_it_is_opened_again(steps in proptest::collection::vec(step(), 1..20)) {
        let hands = ManualClock::default();
        let database = crate::doubles::database();
        let open = || build(kept_in(&database), &hands, DefaultPolicy::OptOut);
        let policies = [open()];
        let (model, now) = follow(&steps, &policies, &hands)?;
        check(&open(), &model, now)?;
    }
}
