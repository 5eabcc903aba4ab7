//! The access rules that stand in `mgp.toml`, as entries of the policy like those that operators make.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::config::model::RuleSource;
use mgp_security::access::{AccessEntry, AccessError, AccessPolicy, StoredEntry};
use mgp_security::{Clock, StoreError};
use mgp_types::mgp::{
    AccessGrant, AccessPermission, AccessRevoke, AgentId, DefaultPolicy, EntryType, Glob, ServerId,
    Timestamp, ToolName,
};
use mgp_types::{Principal, PrincipalKind};

use crate::StartError;
use crate::changes::ChangeListeners;

/// The rules that can become entries, and the default where there is no entry.
pub(crate) struct AccessRules {
    default: DefaultPolicy,
    /// The permission of each rule, and whose file has it.
    entries: BTreeMap<AccessRuleKey, (AccessPermission, RuleSource)>,
}

/// The agent, server and tool that a rule is about; no two entries have the same.
type AccessRuleKey = (AgentId, ServerId, Option<ToolName>);

impl AccessRules {
    /// Reads the rules of a configuration.
    ///
    /// # Errors
    /// Fails if a rule names nobody or nothing, or if two rules contradict each other.
    pub(crate) fn of(config: &Config, now: Timestamp) -> Result<Self, StartError> {
        let mut rules = BTreeMap::new();
        for (index, rule) in config.access.rules.iter().enumerate() {
            let wrong = |what: String| StartError::Config(format!("`access.rules`, {}: {what}", index + 1));
            let key = (
                AgentId::from(rule.agent.as_str()),
                ServerId::from(rule.server.as_str()),
                rule.tool.as_deref().map(ToolName::from),
            );
            let entry = AccessEntry::new(&by(), grant(&key, rule.permission), now)
                .map_err(|error| wrong(error.to_string()))?;
            let key = (entry.agent_id, entry.server_id, entry.tool_name);
            let before = rules.insert(key, (rule.permission, rule.source));
            if before.is_some_and(|(before, _)| before != rule.permission) {
                return Err(wrong("another rule says the opposite; remove one of them".into()));
            }
        }
        Ok(Self { default: config.default_policy(), entries: rules })
    }

    /// Makes the policy follow these rules, whatever was decided about the same agents, servers and tools before, and
    /// takes back entries of former rules. Rules that hold already are left alone, so that doing it again does nothing.
    /// Meanwhile nobody may do what neither the old rules nor these allow: denying by default comes before all else,
    /// allowing after it.
    ///
    /// # Errors
    /// Fails if a change could not be recorded or stored; those before it are made.
    pub(crate) async fn hold(
        &self,
        access: &AccessPolicy,
        changes: &ChangeListeners,
        clock: &Clock,
    ) -> Result<(), StartError> {
        if self.default == DefaultPolicy::OptIn {
            self.hold_default(access, changes).await?;
        }
        let entries = access.entries();
        let made_here = entries.iter().filter(|stored| stored.entry.granted_by == CONFIGURATION);
        for stored in made_here {
            let key = key(stored);
            if !self.entries.contains_key(&key) {
                access.revoke(&by(), None, revoke(key.clone())).await.map_err(unmade)?;
                changes.may_use_others(Some(&key.0), EntryType::ServerGrant);
            }
        }
        let entries: BTreeMap<AccessRuleKey, _> =
            entries.iter().map(|stored| (key(stored), stored)).collect();
        for (key, (permission, source)) in &self.entries {
            let before = entries.get(key).map(|stored| &stored.entry);
            if *source == RuleSource::Folder && yields(key, *permission, entries.values(), clock.now()) {
                let (agent, server) = (&key.0, &key.1);
                tracing::warn!(%agent, %server, "an operator's entry goes before a rule of this folder's `mgp.toml`");
                continue;
            }
            let is_held = |entry: &AccessEntry| {
                entry.granted_by == CONFIGURATION
                    && entry.permission == *permission
                    && entry.expires_at.is_none()
            };
            if before.is_some_and(is_held) {
                continue;
            }
            if let Some(other) = before.filter(|entry| entry.granted_by != CONFIGURATION) {
                let (agent, server, by) = (&other.agent_id, &other.server_id, &other.granted_by);
                tracing::warn!(%agent, %server, by, "a rule of `mgp.toml` takes the place of an operator's entry");
            }
            access.grant(&by(), None, grant(key, *permission)).await.map_err(unmade)?;
            changes.may_use_others(Some(&key.0), EntryType::ServerGrant);
        }
        self.hold_default(access, changes).await
    }

    async fn hold_default(&self, access: &AccessPolicy, changes: &ChangeListeners) -> Result<(), StartError> {
        if access.default_policy() == self.default {
            return Ok(());
        }
        access.set_default_policy(&by(), None, self.default).await.map_err(unmade)?;
        changes.may_use_others(None, EntryType::ServerGrant);
        Ok(())
    }
}

/// Returns whether a folder's rule gives way to what operators decided: about the same, or against what it allows.
///
/// An entry that the rule replaced would be gone when another folder is left for this one, and a denial with it.
fn yields<'a>(
    (agent, server, tool): &AccessRuleKey,
    permission: AccessPermission,
    mut entries: impl Iterator<Item = &'a &'a Arc<StoredEntry>>,
    now: Timestamp,
) -> bool {
    entries.any(|stored| {
        let entry = &stored.entry;
        let is_operators = entry.granted_by != CONFIGURATION && entry.expires_at.is_none_or(|end| now < end);
        let is_same = entry.tool_name == *tool;
        let denies = entry.permission == AccessPermission::Deny && permission == AccessPermission::Allow;
        let reaches = |server: &ServerId| {
            entry.server_id == *server || Glob::new(entry.server_id.as_str()).matches(server.as_str())
        };
        is_operators && entry.agent_id == *agent && reaches(server) && (is_same || denies)
    })
}

fn by() -> Principal {
    Principal::of(PrincipalKind::Configuration, CONFIGURATION)
}

fn key(stored: &StoredEntry) -> AccessRuleKey {
    let AccessEntry { agent_id, server_id, tool_name, .. } = &stored.entry;
    (agent_id.clone(), server_id.clone(), tool_name.clone())
}

fn grant((agent, server, tool): &AccessRuleKey, permission: AccessPermission) -> AccessGrant {
    let grant = AccessGrant::new(agent.clone(), server.clone(), permission);
    tool.iter().cloned().fold(grant, AccessGrant::for_tool)
}

fn revoke((agent, server, tool): AccessRuleKey) -> AccessRevoke {
    tool.into_iter().fold(AccessRevoke::new(agent, server), AccessRevoke::for_tool)
}

fn unmade(error: AccessError) -> StartError {
    match error {
        AccessError::Store(error) => StartError::Store(error),
        AccessError::Unrecorded(error) => StartError::Store(StoreError::Unavailable(error.into())),
        error => StartError::Config(format!("`access.rules`: {error}")),
    }
}

/// The name under which the entries of the configuration are made.
pub const CONFIGURATION: &str = "mgp.toml";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kernel::TestKernel;

    fn config(rules: &str) -> Config {
        serde_json::from_str(&format!(r#"{{"access":{{"default":"opt-in","rules":[{rules}]}}}}"#)).unwrap()
    }

    const WHOLE: &str = r#"{"agent":"one","server":"files","permission":"allow"}"#;
    const NO_WIPE: &str = r#"{"agent":"one","server":"files","tool":"wipe","permission":"deny"}"#;

    async fn take(scene: &TestKernel, config: &Config) {
        let clock = &scene.audit.clock;
        let rules = AccessRules::of(config, clock.now()).unwrap();
        rules.hold(&scene.policies.access, &scene.changes, clock).await.unwrap();
    }

    async fn hold(scene: &TestKernel, rules: &str) {
        take(scene, &config(rules)).await;
    }

    fn may(scene: &TestKernel, tool: &str) -> bool {
        scene.policies.access.decide("one", "files", Some(tool)).allows()
    }

    fn entries(scene: &TestKernel) -> Vec<(u64, String)> {
        let entries = scene.policies.access.entries().into_iter();
        entries.map(|stored| (stored.id, stored.entry.granted_by.clone())).collect()
    }

    #[tokio::test]
    async fn rules_are_entries_of_the_file_and_holding_to_them_again_does_nothing() {
        let scene = TestKernel::with(r#"{"access":{"default":"opt-in"}}"#).await;
        assert!(!may(&scene, "read"));
        hold(&scene, &format!("{WHOLE},{NO_WIPE}")).await;
        assert!(may(&scene, "read") && !may(&scene, "wipe"));
        let (before, revision) = (entries(&scene), scene.policies.access.revision());
        assert!(before.len() == 2 && before.iter().all(|(_, by)| by == "mgp.toml"));
        let recorded = async || {
            scene.audit.log.flush().await.unwrap();
            scene.audit.log.head().seq
        };
        let seq = recorded().await;
        assert!(seq >= 2, "each was recorded");
        hold(&scene, &format!("{NO_WIPE},{WHOLE}")).await;
        assert_eq!((entries(&scene), scene.policies.access.revision()), (before, revision));
        assert_eq!(recorded().await, seq);
    }

    #[tokio::test]
    async fn the_default_is_held_to_as_well() {
        let scene = TestKernel::with(r#"{"access":{"default":"opt-out"}}"#).await;
        assert!(may(&scene, "read"));
        hold(&scene, NO_WIPE).await;
        assert!(!may(&scene, "read") && !scene.policies.access.reaches("two", "files"));
        let open = serde_json::from_str(r#"{"access":{"default":"opt-out"}}"#).unwrap();
        take(&scene, &open).await;
        assert!(may(&scene, "read") && may(&scene, "wipe"));
    }

    #[tokio::test]
    async fn a_rule_that_is_gone_is_taken_back_and_what_operators_said_stays() {
        let scene = TestKernel::with(r#"{"access":{"default":"opt-in"}}"#).await;
        scene.grant("two", "files").await;
        hold(&scene, &format!("{WHOLE},{NO_WIPE}")).await;
        hold(&scene, WHOLE).await;
        assert!(may(&scene, "wipe"));
        hold(&scene, "").await;
        assert!(!may(&scene, "read"));
        assert!(scene.policies.access.decide("two", "files", None).allows());
        assert_eq!(entries(&scene).into_iter().map(|(_, by)| by).collect::<Vec<_>>(), ["root"]);
    }

    #[tokio::test]
    async fn a_rule_takes_the_place_of_an_entry_and_of_a_rule_that_said_otherwise() {
        let scene = TestKernel::with(r#"{"access":{"default":"opt-in"}}"#).await;
        scene.grant("one", "files").await;
        let deny = WHOLE.replace("allow", "deny");
        hold(&scene, &deny).await;
        assert!(!may(&scene, "read"));
        hold(&scene, WHOLE).await;
        assert!(may(&scene, "read"));
        assert_eq!(entries(&scene).len(), 1);
    }

    #[tokio::test]
    async fn a_rule_that_says_nothing_or_the_opposite_of_another_is_refused_and_named() {
        let scene = TestKernel::with(r#"{"access":{"default":"opt-in"}}"#).await;
        let refused = |rules: &str| {
            AccessRules::of(&config(rules), scene.audit.clock.now())
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        let nobody = refused(&format!("{WHOLE},{}", WHOLE.replace("one", "")));
        assert!(nobody.starts_with("`access.rules`, 2: `agent_id`"), "{nobody}");
        let both = refused(&format!("{WHOLE},{}", WHOLE.replace("allow", "deny")));
        assert!(both.contains("2: another rule says the opposite"), "{both}");
        assert_eq!(refused(&format!("{WHOLE},{WHOLE}")), "");
    }
}
