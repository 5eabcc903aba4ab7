use std::sync::Arc;

use mgp_discovery::Config;
use mgp_security::permission::{ApprovalAnswer, ApprovalQuestion, Approver, ElicitApprover};
use mgp_types::{BoxFuture, Error, Principal};
use tokio::sync::watch;

use crate::parts::Parts;
use crate::settings;

/// Who asks humans: the one in front of the client that calls, if the configuration says that there is one, else
/// whoever looks at what is pending. Counts in `asked` how often.
pub(super) fn of(parts: &Arc<Parts>, asked: &watch::Sender<u64>) -> Arc<dyn Approver> {
    let known = Arc::downgrade(parts);
    let operator = move |agent: &Principal| {
        let parts = known.upgrade()?;
        has_human(&parts.config.load(), agent.as_str())
            .then(|| Principal::operator(format!("human.{}", agent.as_str())))
    };
    let inner = ElicitApprover::new(Arc::new(operator), Arc::new(parts.pending.clone()), parts.clock.clone());
    Arc::new(Counted { inner, asked: asked.clone() })
}

fn has_human(config: &Config, agent: &str) -> bool {
    match config.agents.iter().find(|known| known.id == agent) {
        Some(known) => known.human,
        // Whoever starts the kernel as a child sits in front of it.
        None => agent == settings::LOCAL_AGENT && !config.agents.iter().any(|known| known.stdio),
    }
}

#[derive(Debug)]
struct Counted {
    inner: ElicitApprover,
    asked: watch::Sender<u64>,
}

impl Approver for Counted {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, Error>> {
        self.asked.send_modify(|asked| *asked += 1);
        self.inner.ask(question)
    }
}
