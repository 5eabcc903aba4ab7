//! Checks of values against each other and against their meaning, after the [shape](super::shape_check) of the file.

mod authorization;
mod groups;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use mgp_types::MethodPattern;
use mgp_types::ext::scope::{MAX_SCOPES, Scopes};
use mgp_types::mgp::{Glob, ToolPattern};

pub(super) use self::groups::check_groups;
use super::endpoint::{ServerFault, is_http_url, is_receiver};
use super::model::{ClusterSettings, Config, ServerConfig};
use super::problem::{Problem, Severity};
use super::source::{ConfigSource, FileProblems, ValuePath};
use super::template::Template;
use crate::catalog::{LONGEST_ID, is_reserved_server, is_written_as_id};
use crate::nearest::nearest;

/// Returns the problems within one file.
pub(super) fn check(config: &Config, source: &ConfigSource) -> Vec<Problem> {
    let mut checks = FileProblems::of(source);
    let servers = ValuePath::default().key("servers");
    let mut seen = HashMap::new();
    for (index, server) in config.servers.iter().enumerate() {
        let place = servers.index(index);
        checks.id(&server.id, &place);
        if let Some(first) = seen.insert(server.id.as_str(), index).filter(|_| !server.id.is_empty()) {
            let what = format!("`servers[{first}]` is called `{}` too", server.id);
            checks.error(&place.key("id"), what, "give one of the two servers another id, or remove it");
        }
        checks.server(server, &place);
    }
    checks.agents(config);
    checks.groups(config);
    checks.folders(config);
    checks.rules(config);
    checks.settings(config);
    checks.shared_store(config);
    checks.authorization(config);
    checks.found
}

/// Returns a warning for each name of a server that no file declares.
pub(super) fn check_names(config: &Config, source: &ConfigSource, known: &BTreeSet<&str>) -> Vec<Problem> {
    let mut checks = FileProblems::of(source);
    let root = ValuePath::default();
    for (index, rule) in config.access.rules.iter().enumerate() {
        let glob = Glob::new(rule.server.as_str());
        if !known.iter().any(|id| glob.matches(id)) {
            let place = root.key("access").key("rules").index(index).key("server");
            checks.unknown(&rule.server, &place, known);
        }
    }
    for (index, grant) in config.permissions.grants.iter().enumerate() {
        if let Some(server) = grant.server.as_deref().filter(|server| !known.contains(server)) {
            checks.unknown(server, &root.key("permissions").key("grants").index(index).key("server"), known);
        }
    }
    for (index, server) in config.servers.iter().enumerate() {
        for (name, rule) in &server.tools {
            let place = root.key("servers").index(index).key("tools").key(name);
            let fallback = rule.fallback.as_deref().map_or("", |name| ToolPattern::split(name).0);
            // Clients' other spellings of a tool's name have no server in front of a dot.
            if !fallback.is_empty() && !known.contains(fallback) {
                checks.unknown(fallback, &place.key("fallback"), known);
            }
            let one_tools = [
                ("calls_per_minute", rule.calls_per_minute.is_some()),
                ("fallback", rule.fallback.is_some()),
                ("required_scopes", !rule.required_scopes.is_empty()),
            ];
            for (key, _) in one_tools.into_iter().filter(|(_, is_set)| *is_set && name.contains('*')) {
                let what = format!("`{key}` has no effect here: no tool is called `{name}`");
                let instead = format!("write `{key}` for each tool by its full name");
                checks.value(Severity::Warning, &place.key(key), what, instead);
            }
        }
    }
    checks.found
}

impl FileProblems<'_> {
    fn id(&mut self, id: &str, place: &ValuePath) {
        if id.is_empty() {
            return self.error(place, "this server has no `id`", "write `id = \"name\"`");
        }
        if !is_written_as_id(id) {
            let fits = |c: char| if is_written_as_id(c.encode_utf8(&mut [0; 4])) { c } else { '-' };
            let fitting: String = id.chars().take(LONGEST_ID).map(fits).collect();
            let instead =
                format!("use up to {LONGEST_ID} letters, digits, `.`, `_` and `-`, such as `{fitting}`");
            self.error(&place.key("id"), "this is not a valid id of a server", instead);
        } else if is_reserved_server(id) {
            let what = "this id is, or looks like, one that is reserved: `mgp` or `kernel`, alone or before a `.` or `_`";
            self.error(&place.key("id"), what, "call the server something else");
        }
    }

    fn server(&mut self, server: &ServerConfig, place: &ValuePath) {
        if let Err(fault) = server.transport_kind() {
            self.fault(place, fault);
        }
        let declared = server.mgp.as_ref().and_then(|mgp| mgp.restart_policy);
        if server.restart_policy.zip(declared).is_some_and(|(own, declared)| own != declared) {
            let place = place.key("mgp").key("restart_policy");
            self.error(&place, "this value and the server's own `restart_policy` differ", "keep one of them");
        }
        for (key, text) in [
            ("command", &server.command),
            ("cwd", &server.cwd),
            ("socket", &server.socket),
            ("url", &server.url),
        ] {
            if text.as_ref().is_some_and(String::is_empty) {
                let instead = format!("give `{key}` a value, or remove it");
                self.error(&place.key(key), format!("`{key}` is empty"), instead);
            }
        }
        for (key, text) in server.texts() {
            self.template(text, &place.path(&key));
        }
        for (key, patterns) in
            [("pass_methods", &server.pass_methods), ("safe_methods", &server.safe_methods)]
        {
            for (index, pattern) in patterns.iter().enumerate() {
                if let Err(error) = pattern.parse::<MethodPattern>() {
                    self.fault(&place.key(key).index(index), ServerFault::new("", &error.to_string()));
                }
            }
        }
        for (name, rule) in &server.tools {
            self.scopes(&rule.required_scopes, &place.key("tools").key(name).key("required_scopes"));
        }
        self.server_oauth(server, place);
        self.confinement(server, place);
        if let Some(url) = &server.url {
            self.url(url, &place.key("url"));
        }
        let backoff = server.backoff_base_ms.zip(server.backoff_max_ms);
        if let Some((base, _)) = backoff.filter(|(base, most)| base > most) {
            let what = format!("`backoff_max_ms` is less than `backoff_base_ms`, {base}");
            self.error(&place.key("backoff_max_ms"), what, format!("write {base} or more"));
        }
    }

    fn confinement(&mut self, server: &ServerConfig, place: &ValuePath) {
        let key = if server.confine.is_some() { "confine" } else { "confinement" };
        if server.is_confined() && (server.url.is_some() || server.socket.is_some()) {
            let what = "only servers with a `command` can be confined";
            self.error(&place.key(key), what, format!("remove `{key}`, or start the server by `command`"));
        }
        let Some(confinement) = &server.confinement else { return };
        for (key, paths) in [("read", &confinement.read), ("write", &confinement.write)] {
            let place = place.key("confinement").key(key);
            paths.iter().enumerate().for_each(|(index, path)| self.absolute(path, &place.index(index)));
        }
    }

    fn folders(&mut self, config: &Config) {
        for (index, rule) in config.folders.iter().enumerate() {
            let place = ValuePath::default().key("folders").index(index);
            let open = place.key("open");
            rule.open.iter().enumerate().for_each(|(index, path)| self.absolute(path, &open.index(index)));
            if let Some(within) = &rule.within {
                self.absolute(within, &place.key("in"));
            }
        }
    }

    fn absolute(&mut self, path: &str, place: &ValuePath) {
        if path != "~" && !path.starts_with("~/") && !Path::new(path).is_absolute() {
            self.error(place, "this path is relative", "write a path that begins with `/` or `~/`");
        }
    }

    fn agents(&mut self, config: &Config) {
        let agents = ValuePath::default().key("agents");
        let (mut ids, mut stdio) = (BTreeSet::new(), None);
        for (index, agent) in config.agents.iter().enumerate() {
            let place = agents.index(index);
            if agent.id.is_empty() {
                self.error(&place, "this agent has no `id`", "write `id = \"name\"`");
            } else if !ids.insert(agent.id.as_str()) {
                let what = format!("another agent in this file is called `{}` too", agent.id);
                self.error(&place.key("id"), what, "give one of the two agents another id, or remove it");
            }
            if agent.stdio
                && let Some(other) = stdio.replace(&agent.id)
            {
                let what = format!("the agent `{other}` has `stdio` too, and only one agent can have it");
                self.error(&place.key("stdio"), what, "keep one of them");
            }
            self.scopes(agent.scopes.as_deref().unwrap_or_default(), &place.key("scopes"));
        }
    }

    fn scopes(&mut self, scopes: &[String], place: &ValuePath) {
        if scopes.len() > MAX_SCOPES {
            let instead = format!("write at most {MAX_SCOPES}");
            self.error(place, "these are too many scopes", instead);
        }
        for (index, scope) in scopes.iter().enumerate() {
            if Scopes::read([scope]).is_err() {
                let instead = "write 1 to 128 visible characters without a space, such as `read:tickets`";
                self.error(&place.index(index), "this is not a scope", instead);
            } else if scope.starts_with("temp:") {
                let what =
                    "this is no scope: with `temp:` an agent bounds the time of scopes that it asks for";
                self.error(&place.index(index), what, "remove it");
            }
        }
    }

    fn rules(&mut self, config: &Config) {
        for (index, rule) in config.access.rules.iter().enumerate() {
            if rule.agent.contains('*') {
                let place = ValuePath::default().key("access").key("rules").index(index).key("agent");
                let instead = "write `@name` for the members of a group, or set `access.default`";
                self.error(&place, "an access rule names a single agent: `*` is not a pattern here", instead);
            }
        }
    }

    fn settings(&mut self, config: &Config) {
        let root = ValuePath::default();
        let http = config.listen.address().err().map(|error| ("listen.http", error));
        let page = config.ui.address().err().map(|error| ("ui.listen", error));
        for (key, error) in http.into_iter().chain(page) {
            let instead = format!("write {}", error.instead);
            self.error(&root.path(key), "this is not an address to listen at", instead);
        }
        if config.listen.tls.is_none() && config.ui.address().is_ok_and(|page| !page.ip().is_loopback()) {
            let instead = "write a table `[listen.tls]`, or `127.0.0.1`";
            let page = root.key("ui").key("listen");
            self.error(&page, "browsers on other machines are served by HTTPS alone", instead);
        }
        let telemetry = root.key("telemetry");
        if let Some(url) = &config.telemetry.otlp {
            self.url(url, &telemetry.key("otlp"));
        }
        for (name, text) in &config.telemetry.otlp_headers {
            self.template(text, &telemetry.key("otlp_headers").key(name));
        }
        if let Some(push) = &config.audit.push {
            let place = root.key("audit").key("push");
            let is_literal = Template::parse(&push.url).is_ok_and(|template| template.is_literal());
            if is_literal && !is_receiver(&push.url) {
                let instead =
                    "write `syslog+tls://HOST:PORT`, or an address such as `https://example.com/v1/logs`";
                self.error(&place.key("url"), "this is no receiver of the record", instead);
            }
            for (name, text) in &push.headers {
                self.template(text, &place.key("headers").key(name));
            }
            push.secret.iter().for_each(|secret| self.template(secret, &place.key("secret")));
        }
        for (index, way) in config.approvals.notify.iter().enumerate() {
            let place = root.key("approvals").key("notify").index(index);
            match (&way.command[..], &way.webhook, &way.secret) {
                ([], Some(url), Some(secret)) => {
                    self.url(url, &place.key("webhook"));
                    self.template(secret, &place.key("secret"));
                }
                ([_, ..], None, None) => {}
                _ => {
                    let instead =
                        "write either `command = [\"…\"]`, or `webhook = \"https://…\"` with its `secret`";
                    self.error(&place, "this notifies nobody", instead);
                }
            }
        }
        if let Some(embedder) = &config.tools.embedder
            && !is_embedder(embedder)
        {
            let what = if embedder.starts_with("encoder:") {
                "mgp no longer has a sentence encoder of its own"
            } else {
                "this is not an embedder"
            };
            let instead =
                "write `static`, or `fastembed:DIRECTORY` if `mgp` is built with the feature `fastembed`";
            self.error(&root.key("tools").key("embedder"), what, instead);
        }
    }

    /// Checks `[store]` and `[cluster]`.
    fn shared_store(&mut self, config: &Config) {
        let store = ValuePath::default().key("store");
        let (url, key) = (config.store.url.as_deref(), config.store.key.as_deref().unwrap_or_default());
        self.template(url.unwrap_or_default(), &store.key("url"));
        self.template(key, &store.key("key"));
        if url.is_some() && key.is_empty() {
            let instead =
                "write `key = \"${secret:NAME}\"`, with the same long random secret for all kernels";
            self.error(
                &store,
                "what kernels write to a shared database is sealed, and there is no key",
                instead,
            );
        }
        let cluster = ValuePath::default().key("cluster");
        let ClusterSettings { listen, certificate, key, authority } = &config.cluster;
        for text in [listen, certificate, key, authority].into_iter().flatten() {
            self.template(text, &cluster);
        }
        if listen.is_some() && [certificate, key, authority].contains(&&None) {
            let instead = "write `certificate`, `key` and `authority`, each with the path of a file in PEM";
            let what = "kernels know each other by certificates, and a file of them is missing";
            self.error(&cluster, what, instead);
        }
    }

    fn url(&mut self, written: &str, place: &ValuePath) {
        // An address with variables can only be checked when they are resolved.
        let literal = Template::parse(written).is_ok_and(|template| template.is_literal());
        if literal && !written.is_empty() && !is_http_url(written) {
            let what = "this is not an address of http or https";
            self.error(place, what, "write an address such as `https://example.com/mcp`");
        }
    }

    fn template(&mut self, text: &str, place: &ValuePath) {
        if let Err(error) = Template::parse(text) {
            self.fault(place, ServerFault::new("", &error.to_string()));
        }
    }

    fn fault(&mut self, place: &ValuePath, fault: ServerFault) {
        let instead = fault.instead.unwrap_or_else(|| "leave it out".into());
        self.error(&place.path(&fault.key), fault.what, instead);
    }

    fn unknown(&mut self, server: &str, place: &ValuePath, known: &BTreeSet<&str>) {
        let instead = match nearest(server, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if server.contains('*') => {
                format!("write `server = \"*\"` and `tool = \"{server}\"` for tools of any server")
            }
            None => "the entry has an effect only if a server of this name registers itself".into(),
        };
        self.value(Severity::Warning, place, format!("there is no server `{server}`"), instead);
    }
}

fn is_embedder(words: &str) -> bool {
    match words.split_once(':') {
        None => matches!(words, "auto" | "static"),
        Some(("fastembed", directory)) => !directory.is_empty(),
        Some(_) => false,
    }
}

/// Returns an id in the spelling that is compared: two servers whose ids have the same spelling could be mistaken for
/// each other.
pub(super) fn mistakable(id: &str) -> String {
    id.to_ascii_lowercase().replace(['-', '.'], "_")
}
