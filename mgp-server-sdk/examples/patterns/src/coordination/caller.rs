//! The caller of a tool, and what it calls the agents that it knows.

use mgp_server_sdk::Cx;

/// The key in `_meta` under which a kernel says for which agent it calls.
const AGENT_META: &str = "dev.cloto/mgp/agent";

/// The agent for whom a kernel calls; nobody where there is no kernel that says so.
///
/// Each agent of a kernel has names of its own for those who work for it, so that nobody takes the name of another: what
/// `agent.a` registers as `worker` is `agent.a:worker` for all others. Its own name belongs to it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Caller(Option<String>);

impl Caller {
    /// Returns the caller of the tool whose context this is.
    pub(super) fn of(cx: &Cx) -> Self {
        Self(cx.meta(AGENT_META).and_then(|name| name.to().ok()))
    }

    /// Returns the name for everybody of what the caller registers by this name.
    pub(super) fn registers(&self, name: &str) -> String {
        match &self.0 {
            Some(caller) if caller != name => format!("{caller}:{name}"),
            _ => name.to_owned(),
        }
    }

    /// Returns the caller's own name of an agent.
    pub(super) fn shown<'a>(&self, full: &'a str) -> &'a str {
        let own = self.0.as_deref().and_then(|caller| full.strip_prefix(caller)?.strip_prefix(':'));
        own.unwrap_or(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_names_of_its_own_and_the_whole_name_is_one_for_all() {
        let (ada, bob, alone) = (Caller(Some("ada".into())), Caller(Some("bob".into())), Caller(None));
        assert_eq!(ada.registers("worker"), "ada:worker");
        assert_eq!((ada.shown("ada:worker"), bob.shown("ada:worker")), ("worker", "ada:worker"));
        assert_eq!((bob.registers("ada"), ada.registers("ada")), ("bob:ada".into(), "ada".into()));
        assert_eq!((alone.registers("worker"), alone.shown("worker")), ("worker".into(), "worker"));
    }
}
