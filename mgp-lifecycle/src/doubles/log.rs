use mgp_types::mgp::{AuditEvent, AuditPort};
use mgp_types::{BoxFuture, Error};
use parking_lot::Mutex;

/// A log that is read back, and can be made to fail.
#[derive(Debug, Default)]
pub(crate) struct Log {
    events: Mutex<Vec<AuditEvent>>,
    fault: Mutex<Option<Error>>,
}

impl Log {
    pub(crate) fn events(&self) -> Vec<AuditEvent> {
        self.events.lock().clone()
    }

    /// What of an event is of interest here, as JSON.
    pub(crate) fn details(&self, name: &str) -> Vec<String> {
        let detail = |event: &AuditEvent| event.details.get(name).map(|raw| raw.to_bytes());
        let events = self.events();
        events.iter().filter_map(detail).map(|raw| String::from_utf8(raw.to_vec()).unwrap()).collect()
    }

    pub(crate) fn fail(&self) {
        *self.fault.lock() = Some(Error::internal("the log is full"));
    }

    /// The events so far, which are then forgotten.
    pub(crate) fn taken(&self) -> Vec<AuditEvent> {
        std::mem::take(&mut self.events.lock())
    }
}

impl AuditPort for Log {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if let Some(error) = self.fault.lock().clone() {
                return Err(error);
            }
            self.events.lock().push(event);
            Ok(())
        })
    }
}
