use mgp_types::Session;
use mgp_types::mgp::Extension;
use tokio::sync::watch;

use super::chain::LogHead;
use super::entry::LogEntry;
use super::filter::{Filter, Query};
use super::reader::LogReader;
use crate::StoreError;
use crate::blocking::off_the_runtime;

/// The events of a log from some number on, each when it is durable: what others are told of the log comes from here.
///
/// It is a place in the log and no queue: a subscriber that is slow falls behind, loses nothing, and holds up nobody.
/// Only what retention removes before the subscriber came by is missing, and the numbers show it.
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

    /// Waits for the next events, and returns some of them in order; `None` when the log is closed and all were given.
    ///
    /// # Errors
    /// The store cannot be read now; the next call tries the same events again.
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
    /// Events go out in order and none is left out. `after` of a new subscription can be the number that the last one
    /// [got to](Self::position).
    ///
    /// # Errors
    /// The peer has not negotiated `audit`, the connection is gone, or the log cannot be read.
    pub async fn forward(&mut self, session: &Session) -> Result<(), mgp_types::Error> {
        if !session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Audit)) {
            return Err(mgp_types::Error::invalid_request("the peer has not negotiated `audit`"));
        }
        let mut got_to = self.after;
        while let Some(entries) = self.next().await? {
            for entry in entries {
                // What could not be sent is still to come.
                self.after = got_to;
                session.outbox.notify(entry.to_notification()).await?;
                got_to = entry.seq;
                self.after = got_to;
            }
        }
        Ok(())
    }

    /// The number of the last event that was given.
    pub const fn position(&self) -> u64 {
        self.after
    }
}

const PAGE: usize = 256;
