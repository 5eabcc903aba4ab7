//! The metadata with which calls reach a server: without what is for the kernel alone, and for servers that come with the
//! kernel, with who calls.

use std::sync::Arc;

use mgp_discovery::config::model::ServerConfig;
use mgp_types::mgp::{CallOptions, MEMBER};
use mgp_types::{Flow, Gate, RawJson, Request};

use super::AGENT_META;
use crate::settings::pattern_servers;

/// A gate that tells a server that comes with the kernel which agent calls, in `_meta`. No other server learns that from
/// it.
#[derive(Debug, Clone)]
pub(crate) struct CallerMetaGate {
    is_own: bool,
}

impl CallerMetaGate {
    /// Returns the gate in front of `server`.
    pub(crate) fn new(server: &ServerConfig) -> Self {
        let command = server.command.as_deref().unwrap_or_default();
        Self { is_own: pattern_servers::is_one(command, server.args.first().map_or("", |first| first)) }
    }
}

impl Gate for CallerMetaGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let principal = request.context.principal.as_ref().filter(|_| self.is_own);
        if let Some(agent) = principal.and_then(|principal| principal.agent_name()) {
            request.params.object_mut_or_new("_meta").set(AGENT_META, RawJson::from_text(agent));
        }
        Flow::Pass(())
    }
}

/// A gate that takes the time for approvals out of `_mgp` before a call goes to a server that did not negotiate MGP: such
/// a server asks nobody. All other members stay.
///
/// Stands within all that waits for people. A call without `_mgp` costs a look at its parameters.
#[derive(Clone)]
pub(crate) struct KernelOptionsGate(Arc<dyn Fn() -> bool + Send + Sync>);

impl KernelOptionsGate {
    /// Returns the gate in front of a server that speaks MGP while `speaks_mgp` says so.
    pub(crate) fn new(speaks_mgp: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(speaks_mgp))
    }
}

impl Gate for KernelOptionsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.params.contains(MEMBER) && !(self.0)() {
            let mut options = CallOptions::of(&request.params);
            if options.approval_wait_ms.take().is_some() {
                options.write(&mut request.params);
            }
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
            let _ = CallerMetaGate::new(&server).enter(&mut request);
            let meta = request.params.object("_meta").unwrap();
            assert_eq!(
                meta.text(AGENT_META).as_deref(),
                is_told.then_some("agent.ada"),
                "{command} {args:?}"
            );
            assert!(meta.contains("a"));
        }
    }

    #[test]
    fn the_time_for_approvals_reaches_servers_that_speak_mgp_and_no_other() {
        for (speaks, params, left) in [
            (false, r#"{"name":"t","_mgp":{"approval_wait_ms":0}}"#, r#"{"name":"t"}"#),
            (true, r#"{"_mgp":{"approval_wait_ms":0}}"#, r#"{"_mgp":{"approval_wait_ms":0}}"#),
            (false, r#"{"_mgp":{"approval_wait_ms":0,"x":1}}"#, r#"{"_mgp":{"x":1}}"#),
            (false, r#"{"_mgp":{"deadline_ms":5}}"#, r#"{"_mgp":{"deadline_ms":5}}"#),
        ] {
            let mut request = Request::call(Method::TOOLS_CALL, Params::parse(params).unwrap());
            assert!(matches!(KernelOptionsGate::new(move || speaks).enter(&mut request), Flow::Pass(())));
            assert_eq!(request.params.to_raw().as_bytes(), left.as_bytes());
        }
    }
}
