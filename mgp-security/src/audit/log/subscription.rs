//! A subscription to the audit log, which delivers events once they are durable.

use mgp_types::Session;
use mgp_types::mgp::Extension;
use tokio::sync::watch;

use super::chain::LogHead;
use super::entry::LogEntry;
use super::filter::{Filter, Query};
use super::reader::LogReader;
use crate::StoreError;
use crate::sqlite::off_the_runtime;

/// A subscription to the events of a log from a given number on, each delivered when it is durable. All forwarding of
/// the log to others starts here.
///
/// The subscription is a position in the log and not a queue: a slow subscriber falls behind, but loses nothing and
/// holds up nobody. Only events that retention removes before the subscriber has read them are missing, and the
/// numbers show it.
#[derive(Debug)]
pub struct LogSubscription {
    reader: LogReader,
    head: watch::Receiver<LogHead>,
    after: u64,
}

impl LogSubscription {
    pub(super) const fn new(reader: LogReader, head: watch::Receiver<LogHead>, after: u64) -> Self {
        Self { reader, head, after }
    }

    /// Waits for the next events, and returns some of them in order; returns `None` when the log is closed and all
    /// events were returned.
    ///
    /// # Errors
    /// Fails if the store cannot be read now; the next call tries the same events again.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Result<Option<Vec<LogEntry>>, StoreError> {
        loop {
            let after = self.after;
            if self.head.wait_for(|head| head.seq > after).await.is_err() && self.head.borrow().seq <= after {
                return Ok(None);
            }
            let reader = self.reader.clone();
            let query = Query::after(Filter::default(), after, PAGE);
            let entries = off_the_runtime(move || reader.query(&query)).await?;
            if let Some(last) = entries.last() {
                self.after = last.seq;
                return Ok(Some(entries));
            }
        }
    }

    /// Sends each event to the peer of `session` as `notifications/mgp.audit` (§6.3), until the log is closed.
    ///
    /// Events are sent in order, and none is left out. A new subscription can begin `after` the
    /// [position](Self::position) that the last one reached.
    ///
    /// # Errors
    /// Fails if the peer has not negotiated `audit`, the connection is gone, or the log cannot be read.
    pub async fn forward(&mut self, session: &Session) -> Result<(), mgp_types::Error> {
        if !session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Audit)) {
            return Err(mgp_types::Error::invalid_request("the peer has not negotiated `audit`"));
        }
        let mut got_to = self.after;
        while let Some(entries) = self.next().await? {
            for entry in entries {
                // An event that could not be sent is still to come.
                self.after = got_to;
                session.outbox.notify(entry.to_notification()).await?;
                got_to = entry.seq;
                self.after = got_to;
            }
        }
        Ok(())
    }

    /// Returns the number of the last event that was returned.
    pub const fn position(&self) -> u64 {
        self.after
    }
}

/// The number of events that are read at a time.
const PAGE: usize = 256;
