//! Differences between two configurations, and what of a change takes effect before a person has accepted it: what
//! tightens.

use std::collections::BTreeSet;

use mgp_types::mgp::{AccessPermission, ApprovalPolicy, AskRule, Asking, DefaultPolicy};
use serde_json::Value;

use super::effective::is_loopback;
use super::merge::strictness;
use super::model::Config;

impl Config {
    /// Returns the names of the sections that differ in `other`, without `servers`.
    pub fn settings_changed_in(&self, other: &Self) -> Vec<String> {
        let mut keys = differences(self, other);
        // The kind of file in which an access rule stands is in no file.
        keys.extend((self.access != other.access).then(|| "access".to_owned()));
        let sections: BTreeSet<_> = keys.iter().filter_map(|key| key.split('.').next()).collect();
        sections.into_iter().filter(|section| *section != "servers").map(str::to_owned).collect()
    }

    /// Returns the `accepted` configuration with what tightens in this one, and the keys of this one that wait until
    /// somebody accepts them, such as `servers.files` and `confirmation.dangerous`.
    ///
    /// Servers, grants, rules that allow and agents that were taken out are gone at once; denials, demands for
    /// confirmation and a stricter policy hold at once. Everything else waits.
    #[must_use]
    pub fn held_to(&self, accepted: &Self) -> (Self, Vec<String>) {
        let mut held = accepted.clone();
        held.key_places.clone_from(&self.key_places);
        held.servers.retain(|server| self.server(&server.id).is_some());
        for server in &mut held.servers {
            if let Some(now) = self.server(&server.id) {
                server.enabled &= now.enabled;
                server.security.confirmation |= now.security.confirmation;
            }
        }
        held.pass_env.retain(|name| self.pass_env.contains(name));
        held.folders.retain(|rule| self.folders.contains(rule));
        held.agents.retain(|agent| self.agents.iter().any(|now| now.id == agent.id));
        held.permissions.grants.retain(|grant| self.permissions.grants.contains(grant));
        let strict =
            |config: &Self| strictness(config.permissions.policy.unwrap_or(ApprovalPolicy::Interactive));
        if strict(self) > strict(&held) {
            held.permissions.policy = self.permissions.policy;
        }
        let is_denial = |permission| permission == AccessPermission::Deny;
        held.access.rules.retain(|rule| is_denial(rule.permission) || self.access.rules.contains(rule));
        let denials = self.access.rules.iter().filter(|rule| is_denial(rule.permission));
        let denials: Vec<_> = denials.filter(|rule| !held.access.rules.contains(rule)).cloned().collect();
        held.access.rules.extend(denials);
        if self.access.default == Some(DefaultPolicy::OptIn) {
            held.access.default = self.access.default;
        }
        held.kernel.confine |= self.kernel.confine;
        held.confirmation.dangerous |= self.confirmation.dangerous;
        held.confirmation.moderate |= self.confirmation.moderate;
        held.confirmation.flows |= self.confirmation.flows;
        let asks = |rule: &AskRule| rule.ask != Asking::Never;
        held.ask.retain(|rule| asks(rule) || self.ask.contains(rule));
        let refuses = |rule: &&AskRule| rule.ask == Asking::Refuse && !accepted.ask.contains(rule);
        held.ask.extend(self.ask.iter().filter(refuses).cloned());
        held.validators.allowed_hosts.retain(|host| self.validators.allowed_hosts.contains(host));
        held.validators.allow_paths.retain(|path| self.validators.allow_paths.contains(path));
        held.listen.require_keys |= self.listen.require_keys;
        // Whoever types the command could listen there without it. A listener that was accepted may stop, or move to
        // this machine; a new one opens the tools to every account of it.
        let is_near = self.listen.address().is_ok_and(|address| address.is_none_or(is_loopback));
        if self.listen.is_on_command_line || (held.listen.http.is_some() && is_near) {
            held.listen.http.clone_from(&self.listen.http);
        }
        let waiting = differences(&held, self);
        (held, waiting)
    }
}

/// Returns the keys in which two configurations differ, and the servers by their ids.
fn differences(one: &Config, other: &Config) -> Vec<String> {
    let read = |config: &Config| serde_json::to_value(config).unwrap_or_default();
    let (one, other) = (read(one), read(other));
    let names = |one: &Value, other: &Value| -> BTreeSet<String> {
        let both = one.as_object().into_iter().chain(other.as_object());
        both.flat_map(|members| members.keys().cloned()).collect()
    };
    let mut found = Vec::new();
    for section in names(&one, &other) {
        let (one, other) = (&one[&section], &other[&section]);
        match (one, other) {
            (one, other) if one == other => {}
            (Value::Array(one), Value::Array(other)) if section == "servers" => {
                let id = |server: &Value| server["id"].as_str().unwrap_or_default().to_owned();
                let lacks = |all: &[Value], server: &Value| !all.contains(server);
                let changed = other.iter().filter(|server| lacks(one, server)).map(id);
                let kept = one.iter().filter(|server| lacks(other, server)).map(id);
                let ids: BTreeSet<String> = changed.chain(kept).collect();
                found.extend(ids.into_iter().map(|id| format!("servers.{id}")));
            }
            (one @ Value::Object(_), other @ Value::Object(_)) => {
                let keys = names(one, other).into_iter().filter(|key| one[key] != other[key]);
                found.extend(keys.map(|key| format!("{section}.{key}")));
            }
            _ => found.push(section),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::model::ListLevel;

    fn config(text: &str) -> Config {
        toml_edit::de::from_str(text).unwrap()
    }

    const ACCEPTED: &str = "
        [[servers]]
        id = 'files'
        command = 'files'
        [[servers]]
        id = 'web'
        command = 'web'
        [confirmation]
        dangerous = true
        [permissions]
        policy = 'interactive'
        grants = [{ permission = 'filesystem.read' }]
        [[access.rules]]
        agent = 'ada'
        server = 'files'
        permission = 'deny'
    ";

    #[test]
    fn the_places_of_keys_are_those_of_the_files_as_they_are_now() {
        let mut now = config(ACCEPTED);
        now.key_places.0.insert("confirmation.dangerous".to_owned(), "mgp.toml:7".to_owned());
        // The accepted configuration was stored without places.
        let (held, _) = now.held_to(&config(ACCEPTED));
        assert_eq!(held.key_places.0, now.key_places.0);
    }

    #[test]
    fn what_is_accepted_is_read_back_as_it_was_written_and_nothing_of_it_waits() {
        let accepted = config(ACCEPTED);
        let written = serde_json::to_string(&accepted).unwrap();
        let read: Config = serde_json::from_str(&written).unwrap();
        assert_eq!(read, accepted);
        assert_eq!(accepted.held_to(&read), (accepted, Vec::new()));
    }

    #[test]
    fn what_loosens_waits_and_what_tightens_holds_at_once() {
        let accepted = config(ACCEPTED);
        let now = config(
            "
            [[servers]]
            id = 'files'
            command = 'sh'
            args = ['-c', 'evil']
            [[servers]]
            id = 'evil'
            command = 'evil'
            [confirmation]
            dangerous = false
            moderate = true
            [permissions]
            policy = 'auto_approve'
            grants = [{ permission = 'shell.execute' }]
            [[access.rules]]
            agent = 'bob'
            server = 'files'
            permission = 'deny'
            [[access.rules]]
            agent = 'ada'
            server = 'files'
            permission = 'allow'
            [tools]
            level = 'L0'
            ",
        );
        let (held, waiting) = now.held_to(&accepted);
        let ids: Vec<_> = held.servers.iter().map(|server| &*server.id).collect();
        assert_eq!(ids, ["files"], "what was taken out is gone, what was added waits");
        assert_eq!(held.server("files"), accepted.server("files"));
        assert!(
            held.confirmation.dangerous && held.confirmation.moderate && held.tools.level == ListLevel::Auto
        );
        assert!(held.permissions.grants.is_empty());
        assert_eq!(held.permissions.policy, accepted.permissions.policy);
        assert_eq!(held.access.rules.len(), 2, "denials stay and are added: {:?}", held.access.rules);
        assert_eq!(
            waiting,
            [
                "access.rules", "confirmation.dangerous", "permissions.grants", "permissions.policy",
                "servers.evil", "servers.files", "tools.level",
            ]
        );
    }

    #[test]
    fn rules_that_free_calls_wait_and_rules_that_refuse_hold_at_once() {
        let rule = |tool: &str, ask| AskRule::new(tool.parse().unwrap(), ask);
        let (never, always) = (rule("a.*", Asking::Never), rule("b.*", Asking::Always));
        let refuse = rule("c.*", Asking::Refuse);
        let accepted = Config { ask: vec![never, always.clone()], ..Config::default() };
        let now = Config { ask: vec![rule("*", Asking::Never), refuse.clone()], ..Config::default() };
        let (held, waiting) = now.held_to(&accepted);
        assert_eq!(held.ask, [always, refuse], "what was taken out frees nothing any more");
        assert_eq!(waiting, ["ask"]);
    }

    #[test]
    fn a_new_address_waits_unless_the_command_line_names_it() {
        let listening = |http: Option<&str>| {
            let mut config = Config::default();
            config.listen.http = http.map(str::to_owned);
            config
        };
        let near = listening(Some("127.0.0.1:7332"));
        for (now, accepted, holds) in [
            (Some("0.0.0.0:7332"), &near, false),
            (Some("[::]:7332"), &near, false),
            (Some("192.168.1.5:7332"), &listening(None), false),
            (Some("no address"), &near, false),
            (Some("127.0.0.1:7332"), &listening(None), false),
            (Some("[::1]:7332"), &near, true),
            (Some("127.0.0.1:80"), &listening(Some("0.0.0.0:80")), true),
            (None, &near, true),
        ] {
            let (held, waiting) = listening(now).held_to(accepted);
            assert_eq!(held.listen.http.as_deref() == now, holds, "{now:?}");
            assert_eq!(waiting.is_empty(), holds, "{now:?}: {waiting:?}");
        }
        let mut asked = listening(Some("0.0.0.0:7332"));
        asked.listen.is_on_command_line = true;
        let (held, waiting) = asked.held_to(&near);
        assert!(held.listen.keys_required() && waiting.is_empty(), "{waiting:?}");
    }

    #[test]
    fn a_server_that_is_switched_off_or_to_be_confirmed_is_so_at_once() {
        let accepted = config(ACCEPTED);
        let mut now = accepted.clone();
        now.servers[0].enabled = false;
        now.servers[1].security.confirmation = true;
        now.servers[1].description = Some("other".into());
        let (held, waiting) = now.held_to(&accepted);
        assert!(!held.servers[0].enabled && held.servers[1].security.confirmation);
        assert_eq!(waiting, ["servers.web"]);
    }

    fn parsed(text: &str) -> Config {
        Config::parse("mgp.toml".as_ref(), text).unwrap().0
    }

    #[test]
    fn only_sections_that_are_different_are_told_and_servers_are_none() {
        let old = parsed("[[servers]]\nid='a'\ncommand='x'\n[[servers]]\nid='b'\ncommand='x'\n");
        let new = parsed(
            "[[servers]]\nid='d'\ncommand='x'\n[[servers]]\nid='b'\ncommand='y'\n[tools]\nlevel='L0'\n",
        );
        assert_eq!(old.settings_changed_in(&new), ["tools"]);
        assert!(new.settings_changed_in(&new).is_empty());
    }
}
