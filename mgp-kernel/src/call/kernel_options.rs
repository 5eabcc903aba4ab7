//! The options of a call that are for the kernel alone.

use std::sync::Arc;

use mgp_types::mgp::{CallOptions, MEMBER};
use mgp_types::{Flow, Gate, Request};

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
    use mgp_types::{Method, Params};

    use super::*;

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
