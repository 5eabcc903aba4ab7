//! The gate that takes audit events out of what the kernel sends.

use mgp_types::mgp::method;
use mgp_types::{Flow, Gate, Request, Response};

use super::event::AuditRecord;
use super::writer::EventQueue;

/// A gate that queues each audit event where it is read.
///
/// The handler of a notification runs in a task of its own, beside those of others. Here events stay in their order, and
/// while the queue is full, the connection is read no further: the kernel waits, and no event is dropped.
#[derive(Debug, Clone)]
pub(super) struct AuditInbox(pub(super) EventQueue);

impl Gate for AuditInbox {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.method.as_str() != method::AUDIT {
            return Flow::Pass(());
        }
        match AuditRecord::read(std::mem::take(&mut request.params)) {
            Ok(record) => self.0.store(record),
            Err(error) => tracing::warn!(%error, "a notification is no audit event, and is not stored"),
        }
        Flow::answer(Response::empty())
    }
}
