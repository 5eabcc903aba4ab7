//! What agents may still spend, by the budgets of the configuration.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::config::model::AgentBudget;
use mgp_security::limit::{Limiter, SharedUse};
use mgp_types::ext::{Quota, ToolDeclaration};
use mgp_types::mgp::{Recovery, RetryStrategy, Timestamp};
use mgp_types::{AgentGroups, Error, Principal, code};
use parking_lot::Mutex;

/// The amounts that agents have spent of their budgets, in the present span of each. They are forgotten when the kernel
/// ends, unless it counts together with others.
///
/// Only agents that have a budget of their own, or of a group, are counted. Members of a group beyond [`MAX_SPENDERS`] spend
/// one budget together, so the number of those that are counted is bounded.
#[derive(Debug, Default)]
pub(crate) struct AgentBudgets {
    groups: AgentGroups,
    /// The source of the ids of budgets among all kernels.
    limiter: Arc<Limiter>,
    spent: Mutex<HashMap<Box<str>, Spent>>,
}

/// The units that were spent in one span.
#[derive(Debug, Clone, Copy)]
struct Spent {
    /// The id of the budget and the span among all kernels.
    id: i64,
    span: i64,
    units: f64,
    /// The part of `units` of which other kernels know.
    reported: f64,
    /// The part of `units` of which they will know once they have been told what was sent.
    sent: f64,
}

/// The amount that a call takes of a budget before it is made, settled later with the real cost.
#[derive(Debug, Clone)]
pub(super) struct ReservedUnits {
    agent: Box<str>,
    budget: AgentBudget,
    span: i64,
    /// The estimate of the call.
    pub(super) units: f64,
}

impl AgentBudgets {
    /// Creates budgets of which nothing is spent, for agents in these groups.
    pub(crate) fn new(groups: AgentGroups, limiter: Arc<Limiter>) -> Self {
        Self { groups, limiter, ..Self::default() }
    }

    /// Returns what was spent here and other kernels do not know, to be added to what they spent, until
    /// [`AgentBudgets::learn`] says that it was.
    pub(crate) fn unreported(&self) -> Vec<SharedUse> {
        let mut spent = self.spent.lock();
        let unreported = spent.values_mut().map(|spent| {
            spent.sent = spent.units;
            (spent.id, spent.sent - spent.reported, 0.0)
        });
        unreported.filter(|(_, units, _)| *units != 0.0).collect()
    }

    /// Notes how much all kernels have spent by now, by the ids of what was [`unreported`](Self::unreported).
    pub(crate) fn learn(&self, used: &BTreeMap<i64, f64>) {
        for spent in self.spent.lock().values_mut() {
            if let Some(used) = used.get(&spent.id) {
                spent.units = used + (spent.units - spent.sent);
                spent.reported = *used;
            }
        }
    }

    /// Takes the estimate of a call from the budget of its caller; `None` if the caller has no budget.
    ///
    /// # Errors
    /// 3002: the estimate is more than what is left, or the tool has costs that nobody knows and nothing is left.
    pub(super) fn reserve(
        &self,
        config: &Config,
        caller: Option<&Principal>,
        tool: Option<&ToolDeclaration>,
        now: Timestamp,
    ) -> Result<Option<ReservedUnits>, Error> {
        let has_budget = || config.agents.iter().any(|agent| agent.budget.is_some());
        let Some(caller) = caller.and_then(Principal::agent_name).filter(|_| has_budget()) else {
            return Ok(None);
        };
        let of = |id: &str| {
            let settings = config.agents.iter().find(|agent| agent.id == id)?;
            Some((settings.id.as_str(), settings.budget?))
        };
        let Some((id, budget)) = self.groups.find(caller, of) else { return Ok(None) };
        let (span, ends_in) = span_at(budget, now);
        let cost = tool.and_then(|tool| tool.cost.as_ref());
        let units = cost.and_then(|cost| cost.estimated_units).filter(|units| *units >= 0.0).unwrap_or(0.0);
        let most = as_units(budget.units);
        let mut spent = self.spent.lock();
        // The clients of one family spend its budget together, and members of a group each for itself.
        let is_counted = || spent.len() < MAX_SPENDERS || spent.contains_key(caller);
        let agent = if id.starts_with('@') && is_counted() { caller } else { id };
        let known = spent.get(agent).filter(|spent| spent.span == span).copied();
        let known = known.unwrap_or_else(|| {
            let id = self.limiter.key((agent, span, length(budget))).cast_signed();
            Spent { id, span, units: 0.0, reported: 0.0, sent: 0.0 }
        });
        let is_free = cost.is_none_or(|cost| cost.category == Some(mgp_types::ext::CostCategory::Free));
        if !is_free && (known.units + units > most || known.units >= most) {
            return Err(exhausted(agent, budget, (most - known.units).max(0.0), units, ends_in));
        }
        spent.insert(agent.into(), Spent { units: known.units + units, ..known });
        Ok(Some(ReservedUnits { agent: agent.into(), budget, span, units }))
    }

    /// Replaces the estimate of a call by what it cost, and returns what is left. A span that is over stays as it was.
    pub(super) fn settle(&self, reserved: &ReservedUnits, actual: f64) -> Quota {
        let mut all = self.spent.lock();
        let spent = all.get_mut(&reserved.agent).filter(|spent| spent.span == reserved.span);
        let units = spent.map_or(0.0, |spent| {
            spent.units = (spent.units - reserved.units + actual).max(0.0);
            spent.units
        });
        drop(all);
        let left = (as_units(reserved.budget.units) - units).max(0.0).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, from 0 up")]
        let left = left as u64;
        let end = reserved.span.saturating_add(1).saturating_mul(length(reserved.budget));
        Quota::new(left, Timestamp::from_millis(end))
    }
}

/// The number of agents whose spending is counted apart.
const MAX_SPENDERS: usize = 65_536;

/// Returns the number of the span that `now` lies in, and the time until its end.
fn span_at(budget: AgentBudget, now: Timestamp) -> (i64, Duration) {
    let length = length(budget);
    let left = length - now.as_millis().rem_euclid(length);
    (now.as_millis().div_euclid(length), Duration::from_millis(left.unsigned_abs()))
}

fn length(budget: AgentBudget) -> i64 {
    i64::try_from(budget.per.duration().as_millis()).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "budgets are far below 2^53")]
const fn as_units(units: u64) -> f64 {
    units as f64
}

fn exhausted(agent: &str, budget: AgentBudget, left: f64, estimate: f64, ends_in: Duration) -> Error {
    let message = format!(
        "the agent `{agent}` has {left} of {} units left, and the call is estimated at {estimate}; nothing was done: call \
         a cheaper tool, wait until the budget begins anew, or have `budget` of the agent raised in mgp.toml",
        budget.units
    );
    let millis = u64::try_from(ends_in.as_millis()).unwrap_or(u64::MAX);
    let recovery = Recovery::for_code(code::QUOTA_EXCEEDED).unwrap_or_default();
    Error::new(code::QUOTA_EXCEEDED, message).with_recovery(
        recovery.with_retry_after_ms(millis).with_retry_strategy(RetryStrategy::ExponentialBackoff),
    )
}

#[cfg(test)]
mod tests {
    use mgp_types::AgentGroup;
    use mgp_types::ext::{Cost, CostCategory};

    use super::*;

    fn config() -> Config {
        serde_json::from_str(r#"{"agents":[{"id":"ada","budget":{"units":10,"per":"hour"}},{"id":"grace"}]}"#)
            .unwrap()
    }

    fn tool(cost: Cost) -> ToolDeclaration {
        ToolDeclaration { cost: Some(cost), ..ToolDeclaration::default() }
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_millis(minutes * 60_000).unwrap()
    }

    fn reserve(
        budgets: &AgentBudgets,
        agent: &str,
        cost: Cost,
        minutes: i64,
    ) -> Result<Option<ReservedUnits>, Error> {
        budgets.reserve(&config(), Some(&Principal::new(agent)), Some(&tool(cost)), at(minutes))
    }

    // covers: EXT-03-03, EXT-03-06
    #[test]
    fn estimates_are_taken_actual_costs_correct_them_and_each_span_begins_anew() {
        let budgets = AgentBudgets::default();
        let four = || Cost::metered(4.0, "credits");
        let first = reserve(&budgets, "ada", four(), 5).unwrap().unwrap();
        assert_eq!(budgets.settle(&first, 7.0), Quota::new(3, Some(at(60))));
        let error = reserve(&budgets, "ada", four(), 10).unwrap_err();
        assert_eq!(error.code(), code::QUOTA_EXCEEDED);
        assert!(error.message().contains("3 of 10 units left"), "{error}");
        assert_eq!(error.recovery().unwrap().retry_after_ms, Some(50 * 60_000));
        // What cost less than it was estimated gives the rest back.
        let second = reserve(&budgets, "ada", Cost::metered(3.0, "credits"), 20).unwrap().unwrap();
        assert_eq!(budgets.settle(&second, 1.0).remaining, 2);
        let next = reserve(&budgets, "ada", four(), 60).unwrap().unwrap();
        assert_eq!(budgets.settle(&next, next.units), Quota::new(6, Some(at(120))));
    }

    #[test]
    fn agents_without_a_budget_are_not_counted_and_free_tools_always_pass() {
        let budgets = AgentBudgets::default();
        for agent in ["grace", "unknown"] {
            assert!(reserve(&budgets, agent, Cost::metered(1000.0, "x"), 0).unwrap().is_none());
        }
        assert!(reserve(&budgets, "ada", Cost::metered(10.0, "x"), 0).is_ok());
        assert!(reserve(&budgets, "ada", Cost::new(CostCategory::Metered), 0).is_err(), "nothing is left");
        assert!(reserve(&budgets, "ada", Cost::new(CostCategory::Free), 0).is_ok());
        assert_eq!(budgets.spent.lock().len(), 1);
    }

    #[test]
    fn each_member_of_a_group_has_its_budget_for_itself() {
        let groups = AgentGroups::default();
        let (name, agents) = ("team".to_owned(), vec!["bob".to_owned(), "eve".to_owned()]);
        groups.set(vec![AgentGroup { name, agents, ..AgentGroup::default() }]);
        let budgets = AgentBudgets::new(groups, Arc::default());
        let config = r#"{"agents":[{"id":"bob"},{"id":"@team","budget":{"units":5}}]}"#;
        let config: Config = serde_json::from_str(config).unwrap();
        let reserve = |agent: &str| {
            let tool = tool(Cost::metered(4.0, "credits"));
            budgets.reserve(&config, Some(&Principal::new(agent)), Some(&tool), at(5))
        };
        assert!(reserve("bob").unwrap().is_some() && reserve("eve").unwrap().is_some());
        assert!(reserve("bob").is_err());
        assert!(reserve("ada").unwrap().is_none());
    }

    #[test]
    fn kernels_that_know_of_each_other_spend_one_budget() {
        let kernels =
            [(); 2].map(|()| AgentBudgets::new(AgentGroups::default(), Arc::new(Limiter::new(Some(7)))));
        let mut all = BTreeMap::<i64, f64>::new();
        let mut exchange = || {
            for budgets in &kernels {
                let uses = budgets.unreported();
                for (id, amount, returned) in &uses {
                    assert!(*returned <= 0.0, "a budget begins anew only with its span");
                    *all.entry(*id).or_default() += amount;
                }
                budgets.learn(&uses.iter().map(|(id, ..)| (*id, all[id])).collect());
            }
            kernels.each_ref().map(|budgets| budgets.unreported().len())
        };
        let cost = |units| Cost::metered(units, "credits");
        let first = reserve(&kernels[0], "ada", cost(4.0), 5).unwrap().unwrap();
        assert_eq!(exchange(), [0, 0]);
        kernels[0].settle(&first, 6.0);
        reserve(&kernels[1], "ada", cost(1.0), 5).unwrap();
        exchange();
        let error = reserve(&kernels[1], "ada", cost(4.0), 6).unwrap_err();
        assert!(error.message().contains("3 of 10 units left"), "{error}");
        assert!(reserve(&kernels[1], "ada", cost(3.0), 6).is_ok());
        exchange();
        // The one that spent something only before learns with its next call.
        assert!(reserve(&kernels[0], "ada", cost(1.0), 7).is_ok());
        exchange();
        assert!(reserve(&kernels[0], "ada", cost(1.0), 7).is_err());
        assert!(reserve(&kernels[0], "ada", cost(10.0), 60).is_ok(), "the next span");
    }
}
