//! The merge of a trusted folder's `mgp.toml` into its user's configuration: the folder adds servers and grants for
//! them, and otherwise only tightens.
//!
//! Each key has one rule, and [`folder_keys`] names it for `docs/configuration.md`.
//! A key for which nothing is done here is the user's alone. A test lists the keys of servers that a folder may set.

use std::collections::BTreeSet;
use std::fs;
use std::mem::take;
use std::path::{Path, PathBuf};

use mgp_types::mgp::{AccessPermission, ApprovalPolicy, DefaultPolicy, TrustLevel};

use super::model::{
    AccessRule, AccessSettings, Config, PermissionSettings, RuleSource, ServerConfig, ServerDefinitions,
    ServerNetwork, usual,
};
use super::semantics::mistakable;
use super::shape::{self, KeyShape, Shape, TableShape};
use super::source::{ConfigSource, ValuePath};
use crate::document::{DocumentNode, DocumentValue};

/// Merges the configuration of a user with the `folder` configuration, which was read from the trusted file `source`.
pub(super) fn merge(user: Config, folder: Config, source: &ConfigSource) -> Merge<'_> {
    let mut merge =
        Merge { source, own: BTreeSet::new(), config: user, applied: Vec::new(), ignored: Vec::new() };
    merge.settings(&folder);
    merge.servers(folder.servers);
    merge.access(folder.access);
    merge.permissions(folder.permissions);
    merge.roots(&folder.validators.roots);
    merge.users_only();
    merge
}

/// The configuration of a user and a folder, and the treatment of the folder's keys.
pub(super) struct Merge<'a> {
    source: &'a ConfigSource,
    /// The servers that the folder declares and that were accepted.
    own: BTreeSet<String>,
    pub(super) config: Config,
    /// The keys of the folder's file that are used.
    pub(super) applied: Vec<ValuePath>,
    pub(super) ignored: Vec<(ValuePath, IgnoredReason)>,
}

fn root() -> ValuePath {
    ValuePath::default()
}

impl Merge<'_> {
    fn says(&self, section: &str, key: &str) -> bool {
        self.source.root.at(&[section, key]).is_some()
    }

    /// Ignores the keys of the folder's file for which nothing was done: only the user may set them.
    fn users_only(&mut self) {
        let source = self.source;
        let is_said =
            |node: &DocumentNode| !matches!(&node.value, DocumentValue::List(all) if all.is_empty());
        for KeyShape { name: section, shape, .. } in &shape::root().keys {
            let Some(said) = source.root.get(section).filter(|_| section != "servers") else { continue };
            let places: Vec<ValuePath> = match shape {
                Shape::Table(TableShape { keys, .. }) => keys
                    .iter()
                    .filter(|key| said.get(&key.name).is_some_and(is_said))
                    .map(|key| root().key(section).key(&key.name))
                    .collect(),
                _ => is_said(said).then(|| root().key(section)).into_iter().collect(),
            };
            for place in places {
                let ignored = self.ignored.iter().map(|(place, _)| place);
                if !self.applied.iter().chain(ignored).any(|known| known.is_within(&place)) {
                    self.ignored.push((place, IgnoredReason::UsersOnly));
                }
            }
        }
    }

    /// Notes whether a key that is set is used.
    fn note(&mut self, section: &str, key: &str, holds: bool) {
        let place = root().key(section).key(key);
        if holds { self.applied.push(place) } else { self.ignored.push((place, IgnoredReason::Looser)) }
    }

    /// Merges the keys whose rule in [`folder_keys`] needs no other key.
    fn settings(&mut self, folder: &Config) {
        let read = |config: &Config| serde_json::to_value(config).unwrap_or_default();
        let (folder, mut merged) = (read(folder), read(&self.config));
        if self.says("permissions", "never_automatic") {
            let before = self.config.permissions.never_automatic();
            merged["permissions"]["never_automatic"] = serde_json::to_value(before).unwrap_or_default();
        }
        for (key, rule) in folder_keys() {
            let Some((section, key)) = key.split_once('.').filter(|(section, key)| self.says(section, key))
            else {
                continue;
            };
            let (wanted, own) = (&folder[section][key], &mut merged[section][key]);
            let holds = match rule {
                FolderKeyRule::Smaller => {
                    let own = own.as_u64().or_else(|| usual::of(key).map(u64::from));
                    own.is_none_or(|own| wanted.as_u64() <= Some(own))
                }
                FolderKeyRule::Strict("true") => *wanted == true || wanted == own,
                FolderKeyRule::Strict(value) => *wanted == value || wanted == own,
                FolderKeyRule::Added => {
                    if let (Some(own), Some(more)) = (own.as_array_mut(), wanted.as_array()) {
                        let new: Vec<_> = more.iter().filter(|one| !own.contains(one)).cloned().collect();
                        own.extend(new);
                    }
                    self.note(section, key, true);
                    continue;
                }
                FolderKeyRule::Ignored | FolderKeyRule::Decided(_) => continue,
            };
            if holds {
                *own = wanted.clone();
            }
            self.note(section, key, holds);
        }
        self.config = serde_json::from_value(merged).expect("the values are of two configurations");
    }

    /// Adds the servers whose ids the user has not given, each without the keys that a folder may not set.
    fn servers(&mut self, servers: Vec<ServerConfig>) {
        let taken: BTreeSet<String> =
            self.config.servers.iter().map(|server| mistakable(&server.id)).collect();
        let all: BTreeSet<String> = servers.iter().map(|server| server.id.clone()).collect();
        self.own = all.into_iter().filter(|id| !taken.contains(&mistakable(id))).collect();
        for (index, server) in servers.into_iter().enumerate() {
            let place = root().key("servers").index(index);
            if self.own.contains(&server.id) {
                self.applied.push(place.clone());
                let server = self.server(server, &place);
                self.config.servers.push(server);
            } else {
                self.ignored.push((place.key("id"), IgnoredReason::TakenId));
            }
        }
    }

    /// Returns a server as a folder may declare it: without the keys that would trust it beyond the usual, open addresses
    /// to it, pass methods on, or switch off rules for its definitions.
    fn server(&mut self, mut server: ServerConfig, place: &ValuePath) -> ServerConfig {
        if server.security.trust_level == Some(TrustLevel::Trusted) {
            server.security.trust_level = None;
            self.ignored.push((place.key("security").key("trust_level"), IgnoredReason::UsersOnly));
        }
        let ServerNetwork { allow, data_origins, preset } = take(&mut server.network);
        let ServerDefinitions { allow: rules, grows } = take(&mut server.definitions);
        for (key, is_said) in [
            ("security.spared_validators", !take(&mut server.security.spared_validators).is_empty()),
            ("network.allow", !allow.is_empty()),
            ("network.data_origins", !data_origins.is_empty()),
            ("network.preset", preset.is_some()),
            ("definitions.allow", !rules.is_empty()),
            ("definitions.grows", grows),
            ("pass_methods", !take(&mut server.pass_methods).is_empty()),
            ("safe_methods", !take(&mut server.safe_methods).is_empty()),
        ] {
            if is_said {
                self.ignored.push((place.path(key), IgnoredReason::UsersOnly));
            }
        }
        for (name, rule) in &mut server.tools {
            // A call of the folder's tool must not become a call of the user's.
            let leaves =
                |tool: &String| tool.rsplit_once('.').is_none_or(|(server, _)| !self.own.contains(server));
            if rule.fallback.as_ref().is_some_and(leaves) {
                rule.fallback = None;
                let place = place.key("tools").key(name).key("fallback");
                self.ignored.push((place, IgnoredReason::AnothersServer));
            }
        }
        server
    }

    fn access(&mut self, folder: AccessSettings) {
        if let Some(wanted) = folder.default {
            let holds = wanted == DefaultPolicy::OptIn || self.config.default_policy() == wanted;
            if wanted == DefaultPolicy::OptIn {
                self.config.access.default = folder.default;
            }
            self.note("access", "default", holds);
        }
        for (index, rule) in folder.rules.into_iter().enumerate() {
            let place = root().key("access").key("rules").index(index);
            let AccessRule { agent, server, tool, permission, source: _ } = rule;
            let is_denied = |rule: &AccessRule| {
                rule.permission == AccessPermission::Deny && rule.agent == agent && rule.may_be_about(&server)
            };
            let is_own = self.own.contains(&server);
            let rules = &mut self.config.access.rules;
            if permission != AccessPermission::Deny && !is_own {
                self.ignored.push((place, IgnoredReason::AnothersServer));
            } else if permission != AccessPermission::Deny && rules.iter().any(is_denied) {
                self.ignored.push((place, IgnoredReason::Denied));
            } else {
                rules.retain(|rule| (&rule.agent, &rule.server, &rule.tool) != (&agent, &server, &tool));
                rules.push(AccessRule { agent, server, tool, permission, source: RuleSource::Folder });
                self.applied.push(place);
            }
        }
    }

    fn permissions(&mut self, folder: PermissionSettings) {
        // The kernel of the user keeps questions and denials, so that their times are the user's.
        if let Some(wanted) = folder.policy {
            let own = self.config.permissions.policy.unwrap_or(ApprovalPolicy::Interactive);
            let holds = strictness(wanted) >= strictness(own);
            if holds {
                self.config.permissions.policy = Some(wanted);
            }
            self.note("permissions", "policy", holds);
        }
        for (index, grant) in folder.grants.into_iter().enumerate() {
            let place = root().key("permissions").key("grants").index(index);
            if grant.server.as_ref().is_some_and(|server| self.own.contains(server)) {
                self.config.permissions.grants.push(grant);
                self.applied.push(place);
            } else {
                self.ignored.push((place, IgnoredReason::AnothersServer));
            }
        }
    }

    /// Merges roots: those of the folder count within the user's, or, where the user names none, within the folder.
    fn roots(&mut self, wanted: &[String]) {
        let folder = self.source.file.parent().unwrap_or_else(|| Path::new("."));
        let real = |root: &String| fs::canonicalize(folder.join(root)).ok();
        let users = &self.config.validators.roots;
        let bounds: Vec<PathBuf> = if users.is_empty() {
            fs::canonicalize(folder).into_iter().collect()
        } else {
            users.iter().filter_map(|root| fs::canonicalize(root).ok()).collect()
        };
        let is_within = |root: &PathBuf| bounds.iter().any(|bound| root.starts_with(bound));
        let mut roots = Vec::new();
        for (index, named) in wanted.iter().enumerate() {
            let place = root().key("validators").key("roots").index(index);
            match real(named).filter(is_within).and_then(|root| root.into_os_string().into_string().ok()) {
                Some(root) => {
                    roots.push(root);
                    self.applied.push(place);
                }
                None => self.ignored.push((place, IgnoredReason::Looser)),
            }
        }
        if !roots.is_empty() {
            self.config.validators.roots = roots;
        }
    }
}

/// Returns the strictness of a permission policy, higher for stricter ones.
pub(super) const fn strictness(policy: ApprovalPolicy) -> u8 {
    match policy {
        ApprovalPolicy::AutoApprove => 0,
        ApprovalPolicy::Interactive => 1,
        ApprovalPolicy::DenyAll => 2,
        ApprovalPolicy::ConfigOnly => 3,
    }
}

/// The reason for which a key of a folder's file is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoredReason {
    /// Only the user's own file may set the key.
    UsersOnly,
    /// The folder's value is less strict than the value that holds without it.
    Looser,
    /// The key concerns a server that the folder does not declare.
    AnothersServer,
    /// Another server has this id, or an id that could be mistaken for it.
    TakenId,
    /// The user's file denies the agent something at this server.
    Denied,
}

impl IgnoredReason {
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::UsersOnly => "only your own file may set this key",
            Self::Looser => {
                "this value would loosen the current setting; a folder's file can only tighten it"
            }
            Self::AnothersServer => "a folder's file may set this for its own servers only",
            Self::TakenId => "another server has this id, or one that could be mistaken for it",
            Self::Denied => "your own file denies the agent something at this server",
        }
    }
}

/// The rule by which a key of a trusted folder's file is merged.
#[derive(Debug, Clone, Copy)]
pub(super) enum FolderKeyRule {
    /// Only the user's own file sets the key.
    Ignored,
    /// The smaller number holds.
    Smaller,
    /// This value holds if either file sets it.
    Strict(&'static str),
    /// The values are added to the user's.
    Added,
    /// The [`merge`] decides as the text says.
    Decided(&'static str),
}

/// Returns the rule of each key of a trusted folder's file. The rule of a section applies to its keys that have none.
pub(super) fn folder_keys() -> impl Iterator<Item = (&'static str, FolderKeyRule)> {
    let lines = include_str!("folder_keys.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).map(|(key, rule)| match rule {
        "ignored" => (key, FolderKeyRule::Ignored),
        "smaller" => (key, FolderKeyRule::Smaller),
        "added" => (key, FolderKeyRule::Added),
        rule => {
            (key, rule.strip_prefix("strict ").map_or(FolderKeyRule::Decided(rule), FolderKeyRule::Strict))
        }
    })
}

impl FolderKeyRule {
    /// Returns the rule in words, for the reference page.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Ignored => "ignored".into(),
            Self::Smaller => "the smaller value".into(),
            Self::Strict("true") => "on if either file switches it on".into(),
            Self::Strict(value) => format!("`{value}` if either file says so"),
            Self::Added => "added".into(),
            Self::Decided(rule) => rule.into(),
        }
    }
}
