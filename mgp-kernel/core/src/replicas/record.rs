//! The record of all kernels. Each copies its own events to the shared database, and vouches for them to the others by an order
//! of changes that only kernels can write: so all of them find out what somebody changed there.

use std::time::Duration;

use mgp_security::audit::{AuditLog, LogEntry, LogFlaw, LogHead};
use mgp_store::{StoreError, off_the_runtime};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{interval, sleep, timeout};

use super::{ClusterLink, VerifiedChain};
use crate::record::positions::holds;
use crate::record::{AuditTrail, FORGET_EVERY};
use crate::settings::running::RunningConfig;

/// The events for which a kernel vouches: those behind `begin`, up to `end`.
#[derive(Deserialize)]
struct VouchedChain {
    kernel: String,
    begin: LogHead,
    end: LogHead,
}

impl ClusterLink {
    /// Copies what this kernel records to the shared database, for as long as it is polled. What cannot be copied now is
    /// copied later.
    pub(super) async fn keep_copying(&self, audit: &AuditTrail) {
        while let Err(error) = self.copy_record(audit).await {
            tracing::warn!(%error, "events of this kernel are copied to the shared database later");
            sleep(VOUCH_EVERY).await;
        }
    }

    /// Copies all events from where the database stands, until the log is closed.
    async fn copy_record(&self, audit: &AuditTrail) -> Result<(), StoreError> {
        let last: Option<LogHead> =
            self.ask(include_str!("record/last.sql"), &json!({ "kernel": self.id })).await?;
        // What retention removed is not copied again.
        let own = self.chains().await?.into_iter().find(|chain| chain.kernel == self.id);
        let last = last.or_else(|| own.map(|chain| chain.begin));
        let position = last.map_or(0, |last| last.seq);
        if let Some(last) = last
            && !is_held(&audit.log, last).await?
        {
            tracing::error!(kernel = %self.id, event = position, "{REPLACED}");
            audit.copied.send_replace(u64::MAX);
            return Ok(());
        }
        let (mut events, mut ticks) = (audit.log.subscribe(position), interval(VOUCH_EVERY));
        let (mut copied, mut vouched) = (last, None);
        audit.copied.send_replace(position);
        loop {
            tokio::select! {
                next = events.next() => {
                    let Some(entries) = next? else { return Ok(()) };
                    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { continue };
                    if vouched.is_none() {
                        // Events of a kernel that vouches for none are of somebody else.
                        let begin = LogHead::new(first.seq.saturating_sub(1), first.prev);
                        self.vouch(begin).await?;
                        vouched = Some(begin);
                    }
                    self.add(&entries).await?;
                    copied = Some(last.head());
                    audit.copied.send_replace(last.seq);
                    if audit.log.head().seq == last.seq {
                        sleep(BATCH_PAUSE).await;
                    }
                }
                _ = ticks.tick() => if let Some(end) = copied.filter(|_| copied != vouched) {
                    self.vouch(end).await?;
                    vouched = copied;
                }
            }
        }
    }

    async fn add(&self, entries: &[LogEntry]) -> Result<(), StoreError> {
        let mut events = Vec::with_capacity(entries.len());
        for LogEntry { seq, event, hash, .. } in entries {
            let body = str::from_utf8(event.as_bytes());
            let body = body.map_err(|error| StoreError::Damaged(format!("event {seq}: {error}")))?;
            events.push((seq.cast_signed(), body, &hash.as_bytes()[..]));
        }
        self.postgres.add_events(&self.id, &events).await
    }

    /// Vouches for the events of this kernel up to `end`.
    pub(super) async fn vouch(&self, end: LogHead) -> Result<(), StoreError> {
        self.change_chain(include_str!("record/vouch.sql"), self.id.clone(), end).await
    }

    async fn change_chain(&self, how: &'static str, kernel: String, at: LogHead) -> Result<(), StoreError> {
        let (database, seq, hash) = (self.vouched.clone(), at.seq.cast_signed(), at.hash.to_string());
        off_the_runtime(move || database.execute(how, &[&kernel, &seq, &hash])).await
    }

    async fn chains(&self) -> Result<Vec<VouchedChain>, StoreError> {
        let database = self.vouched.clone();
        let read = move || {
            database.catch_up()?;
            database.read_all(include_str!("record/chains.sql"), [], |row| Ok(row.get::<_, String>(0)?))
        };
        parsed(&off_the_runtime(read).await?.concat())
    }

    /// Removes the events of all kernels from the shared database that the configuration does not keep, at once, every hour and
    /// when the configuration changes, for as long as it is polled.
    pub(super) async fn keep_removing(&self, config: &RunningConfig) {
        let mut changes = config.changes.subscribe();
        loop {
            let days = config.load_full().audit.keep_days;
            if let Some(days) = days {
                // What cannot be removed now is removed the next time.
                let _ = self.remove_old(days).await;
            }
            let _ = timeout(FORGET_EVERY, changes.changed()).await;
        }
    }

    async fn remove_old(&self, days: u32) -> Result<(), StoreError> {
        for VouchedChain { kernel, begin, .. } in self.chains().await? {
            let mut old = Some(begin);
            while let Some(LogHead { seq, .. }) = old {
                let asked = json!({ "kernel": kernel, "seq": seq, "days": days });
                old = self.ask(include_str!("record/old.sql"), &asked).await?;
                if let Some(end) = old {
                    // The others know that the chain begins later, before its old events go.
                    self.change_chain(include_str!("record/begin_later.sql"), kernel.clone(), end).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns a page of the events of all kernels in the order of their times, as `query` asks for it.
    ///
    /// # Errors
    /// Fails if the shared database cannot be reached.
    pub(crate) async fn events<T: DeserializeOwned>(&self, query: &Value) -> Result<T, StoreError> {
        if self.freshness.is_stale() {
            return Err(StoreError::Unavailable("the shared database is not reached".into()));
        }
        let order = if query["oldest_first"] == true { "ASC" } else { "DESC" };
        self.ask(&include_str!("record/query.sql").replace("@ORDER@", order), query).await
    }

    /// Checks the events of all kernels in the shared database, each against the one before, and against that for which its
    /// kernel vouches.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if what the kernels vouch for was changed; other errors if the database cannot be reached.
    pub(crate) async fn verify_record(&self, log: &AuditLog) -> Result<Vec<VerifiedChain>, StoreError> {
        let (order, key) = ((self.orders)(ORDER), self.key.clone());
        off_the_runtime(move || key.check(&*order)).await?;
        let mut writers: Vec<String> = self.ask(include_str!("record/writers.sql"), &Value::Null).await?;
        let mut verified = Vec::new();
        for chain in self.chains().await? {
            writers.retain(|writer| *writer != chain.kernel);
            let mut found = self.verify_chain(&chain, log).await?;
            // Retention may be removing what was about to be read, or what the chain does not begin with any more.
            let mut rereads = 0..MAX_REREADS;
            while found.flaw.is_some() && rereads.next().is_some() {
                sleep(REREAD_PAUSE).await;
                let now = self.chains().await?.into_iter().find(|now| now.kernel == chain.kernel);
                found = self.verify_chain(now.as_ref().unwrap_or(&chain), log).await?;
            }
            verified.push(found);
        }
        let foreign = || Some("no kernel of this name vouches for its events".to_owned());
        let unknown = |kernel| VerifiedChain { kernel, events: 0, through: 0, flaw: foreign() };
        verified.extend(writers.into_iter().map(unknown));
        Ok(verified)
    }

    async fn verify_chain(&self, chain: &VouchedChain, log: &AuditLog) -> Result<VerifiedChain, StoreError> {
        let (kernel, mut at, mut behind) = (&chain.kernel, chain.begin, i64::MIN);
        let mut flaw = 'chain: loop {
            let asked = json!({ "kernel": kernel, "seq": behind });
            let rows: Vec<(u64, String, String)> =
                self.ask(include_str!("record/behind.sql"), &asked).await?;
            if rows.is_empty() {
                break (at.seq < chain.end.seq).then_some((chain.end.seq, LogFlaw::End));
            }
            for (seq, body, hash) in rows {
                let next = at.link(body.as_bytes());
                let found = [
                    (seq < next.seq, LogFlaw::Order),
                    (seq > next.seq, LogFlaw::Missing),
                    (hash != next.hash.to_string(), LogFlaw::Link),
                    (seq == chain.end.seq && next != chain.end, LogFlaw::End),
                ];
                if let Some((_, flaw)) = found.into_iter().find(|(is_found, _)| *is_found) {
                    break 'chain Some((seq, flaw));
                }
                at = next;
            }
            behind = at.seq.cast_signed();
        };
        if flaw.is_none() && *kernel == self.id && !is_held(log, at).await? {
            flaw = Some((at.seq, LogFlaw::End));
        }
        let flaw = flaw.map(|(seq, flaw)| format!("event {seq}: {flaw}"));
        let events = at.seq.saturating_sub(chain.begin.seq);
        Ok(VerifiedChain { kernel: kernel.clone(), events, through: at.seq, flaw })
    }

    async fn ask<T: DeserializeOwned>(&self, statement: &str, about: &Value) -> Result<T, StoreError> {
        parsed(&self.postgres.ask(statement, &about.to_string()).await?)
    }
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged(error.to_string()))
}

async fn is_held(log: &AuditLog, known: LogHead) -> Result<bool, StoreError> {
    let (reader, now) = (log.reader(), log.head());
    off_the_runtime(move || Ok(holds(&reader, now, &known))).await
}

/// The name of the order in which kernels vouch for their events.
pub(super) const ORDER: &str = "record";

const REPLACED: &str = "the shared database has events of this kernel that are not in its record, so no more are copied: if the \
    record was replaced, remove `replica.json` from the state, and the kernel goes on as another one";

/// The number of times that a record in which a flaw is found is read again.
const MAX_REREADS: u32 = 5;
const REREAD_PAUSE: Duration = Duration::from_millis(200);

/// The time in which events come together that are copied at once.
const BATCH_PAUSE: Duration = Duration::from_millis(100);

/// The time after which a kernel vouches for its events anew, or tries again to copy them.
const VOUCH_EVERY: Duration = Duration::from_secs(5);
