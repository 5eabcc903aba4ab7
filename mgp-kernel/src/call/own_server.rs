//! The servers that come with the kernel, which are told who calls.

use mgp_discovery::config::model::ServerConfig;
use mgp_types::{Flow, Gate, RawJson, Request};

use super::AGENT_META;
use crate::pattern_servers;

/// A gate that tells a server that comes with the kernel which agent calls, in `_meta`. No other server learns that from
/// it.
#[derive(Debug, Clone)]
pub(crate) struct OwnServerGate {
    is_own: bool,
}

impl OwnServerGate {
    /// Returns the gate in front of `server`.
    pub(crate) fn new(server: &ServerConfig) -> Self {
        let command = server.command.as_deref().unwrap_or_default();
        Self { is_own: pattern_servers::is_one(command, server.args.first().map_or("", |first| first)) }
    }
}

impl Gate for OwnServerGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let principal = request.context.principal.as_ref().filter(|_| self.is_own);
        if let Some(agent) = principal.and_then(|principal| principal.agent_name()) {
            request.params.object_mut_or_new("_meta").set(AGENT_META, RawJson::from_text(agent));
        }
        Flow::Pass(())
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::{Method, Params, Principal};

    use super::*;

    #[test]
    fn servers_of_the_kernel_and_no_others_are_told_who_calls() {
        let own = std::env::current_exe().unwrap();
        let own = own.to_str().unwrap();
        for (command, args, is_told) in [
            (own, &["server", "coordination"][..], true),
            ("/usr/local/bin/mgp-patterns", &["coordination"], true),
            (own, &["call"], false),
            ("npx", &["server"], false),
        ] {
            let written = serde_json::json!({"id": "s", "command": command, "args": args});
            let server: ServerConfig = serde_json::from_value(written).unwrap();
            let params = Params::parse(r#"{"name":"t","_meta":{"a":1}}"#).unwrap();
            let mut request = Request::call(Method::TOOLS_CALL, params);
            request.context.principal = Some(Principal::new("agent.ada"));
            let _ = OwnServerGate::new(&server).enter(&mut request);
            let meta = request.params.object("_meta").unwrap();
            assert_eq!(
                meta.text(AGENT_META).as_deref(),
                is_told.then_some("agent.ada"),
                "{command} {args:?}"
            );
            assert!(meta.contains("a"));
        }
    }
}
