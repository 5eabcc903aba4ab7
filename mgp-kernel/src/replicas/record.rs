//! The record of all kernels. Each copies its own events to the shared database, and vouches for them to the others by an order
//! of changes that only kernels can write: so all of them find out what somebody changed there.

use std::time::Duration;

use mgp_security::audit::{AuditLog, EventFacets, Filter, LogEntry, LogFlaw, LogHead, Order, Query};
use mgp_store::{SharedEvent, SharedEventQuery, StoreError, off_the_runtime};
use mgp_types::canonical::Digest;
use mgp_types::mgp::Timestamp;
use mgp_types::{RawJson, agent_family};
use tokio::time::{interval, sleep};

use super::{ClusterLink, KernelEntry, VerifiedChain};
use crate::log_positions::holds;
use crate::record::AuditTrail;

/// The events of a kernel for which it vouches: those behind `begin`, up to `end`.
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
            if !matches!(error, StoreError::Unavailable(_)) {
                tracing::error!(%error, "events of this kernel are not copied to the shared database");
            }
            sleep(PAUSE).await;
        }
    }

    /// Copies all events from where the database stands, until the log is closed.
    async fn copy_record(&self, audit: &AuditTrail) -> Result<(), StoreError> {
        let mut copied = self.postgres.last_event(&self.id).await?.map(|last| head_of(last.seq, &last.hash));
        let position = copied.map_or(0, |last| last.seq);
        if let Some(last) = copied
            && !is_held(&audit.log, last).await?
        {
            tracing::error!(
                kernel = %self.id, event = position,
                "the shared database has events of this kernel that are not in its record, so no more are copied: if the record was \
                 replaced, remove `replica.json` from the state, and the kernel goes on as another one"
            );
            audit.copied.send_replace(u64::MAX);
            return Ok(());
        }
        let (mut events, mut ticks) = (audit.log.subscribe(position), interval(VOUCH_EVERY));
        let mut vouched = None;
        audit.copied.send_replace(position);
        loop {
            tokio::select! {
                next = events.next() => {
                    let Some(entries) = next? else { return Ok(()) };
                    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { continue };
                    if vouched.is_none() {
                        // Events of a kernel that vouches for none are of somebody else.
                        vouched = Some(LogHead::new(first.seq.saturating_sub(1), first.prev));
                        self.vouch(vouched).await?;
                    }
                    let rows: Vec<_> = entries.iter().map(|entry| shared(&self.id, entry)).collect();
                    self.postgres.add_events(&rows).await?;
                    copied = Some(last.head());
                    audit.copied.send_replace(last.seq);
                    if audit.log.head().seq == last.seq {
                        sleep(BATCH_PAUSE).await;
                    }
                }
                _ = ticks.tick() => if copied != vouched {
                    self.vouch(copied).await?;
                    vouched = copied;
                }
            }
        }
    }

    /// Vouches for the events of this kernel up to `end`.
    pub(super) async fn vouch(&self, end: Option<LogHead>) -> Result<(), StoreError> {
        let (Some(end), database, id) = (end, self.vouched.clone(), self.id.clone()) else { return Ok(()) };
        off_the_runtime(move || {
            database.execute(VOUCH, &[&id, &end.seq.cast_signed(), end.hash.as_bytes()])
        })
        .await
    }

    async fn chains(&self) -> Result<Vec<VouchedChain>, StoreError> {
        let database = self.vouched.clone();
        off_the_runtime(move || {
            database.catch_up()?;
            let all = "SELECT kernel, begin_seq, begin_hash, seq, hash FROM vouched_chains ORDER BY kernel";
            database.read_all(all, [], |row| {
                let (begin, end): ([u8; 32], [u8; 32]) = (row.get(2)?, row.get(4)?);
                let (begin, end) = (head_of(row.get(1)?, &begin), head_of(row.get(3)?, &end));
                Ok(VouchedChain { kernel: row.get(0)?, begin, end })
            })
        })
        .await
    }

    /// Removes the events of all kernels from the shared database that are older than so many days, at once and every hour, for
    /// as long as it is polled.
    pub(super) async fn keep_removing(&self, days: Option<u32>) {
        while let Some(days) = days {
            if let Err(error) = self.remove_old(i32::try_from(days).unwrap_or(i32::MAX)).await {
                tracing::debug!(%error, "old events in the shared database are removed later");
            }
            sleep(REMOVE_EVERY).await;
        }
    }

    async fn remove_old(&self, days: i32) -> Result<(), StoreError> {
        for VouchedChain { kernel, begin, .. } in self.chains().await? {
            let mut through = begin.seq.cast_signed();
            loop {
                // The others know first that the chain begins later.
                self.postgres.remove_events(&kernel, through).await?;
                let Some(old) = self.postgres.last_old_event(&kernel, through, days).await? else { break };
                through = old.seq;
                let database = self.vouched.clone();
                off_the_runtime(move || database.execute(BEGIN_LATER, &[&old.writer, &old.seq, &old.hash]))
                    .await?;
            }
        }
        Ok(())
    }

    /// Returns the events of all kernels that a query asks for, in the order of their times.
    ///
    /// # Errors
    /// Fails if the shared database cannot be reached, or has something that is no event.
    pub(crate) async fn events(&self, query: &Query) -> Result<Vec<KernelEntry>, StoreError> {
        if self.freshness.is_stale() {
            return Err(StoreError::Unavailable("the shared database is not reached".into()));
        }
        let Filter { event_types, agent_id, server_id, result, since, until, trace_id, .. } = &query.filter;
        let at = |time: Option<Timestamp>| time.map(|time| SharedEvent::first_place(time.as_millis()));
        let mut places = (at(*since).unwrap_or(i64::MIN), at(*until).unwrap_or(i64::MAX));
        match (query.behind.map(u64::cast_signed), query.order) {
            (Some(behind), Order::NewestFirst) => places.1 = places.1.min(behind),
            (Some(behind), Order::OldestFirst) => places.0 = places.0.max(behind.saturating_add(1)),
            (None, _) => {}
        }
        let all_of = [
            agent_id.as_ref().map(|agent| tag("agent", agent.as_str())),
            server_id.as_ref().map(|server| tag("server", server.as_str())),
            result.map(|result| tag("result", result.as_str())),
            trace_id.map(|trace| trace_tag(trace.as_u128())),
        ];
        let wanted = SharedEventQuery {
            places,
            all_of: all_of.into_iter().flatten().collect(),
            any_of: event_types.iter().map(|kind| tag("type", kind.as_str())).collect(),
            newest_first: query.order == Order::NewestFirst,
            limit: i64::try_from(query.limit).unwrap_or(i64::MAX),
        };
        let found = self.postgres.events(&wanted).await?.into_iter().map(|event| {
            let entry = entry(&mut head_of(event.seq.saturating_sub(1), &event.prev), &event.body);
            let entry = entry.ok_or_else(|| {
                let SharedEvent { writer, seq, .. } = &event;
                StoreError::Damaged(format!("event {seq} of the kernel {writer} in the shared database is none"))
            })?;
            Ok(KernelEntry { kernel: event.writer, place: event.place.cast_unsigned(), entry })
        });
        found.collect()
    }

    /// Checks the events of all kernels in the shared database, each against the one before, and against that for which its
    /// kernel vouches.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if what the kernels vouch for was changed; other errors if the database cannot be reached.
    pub(crate) async fn verify_record(&self, log: &AuditLog) -> Result<Vec<VerifiedChain>, StoreError> {
        let (order, key) = ((self.orders)(ORDER), self.key.clone());
        off_the_runtime(move || key.check(&*order)).await?;
        let (mut writers, chains, mut verified) =
            (self.postgres.writers().await?, self.chains().await?, Vec::new());
        for chain in chains {
            writers.retain(|writer| *writer != chain.kernel);
            let mut found = self.verify_chain(&chain, log).await?;
            // Retention may have removed what was about to be read.
            let is_moved = |now: &VouchedChain| now.kernel == chain.kernel && now.begin.seq > found.through;
            if found.flaw.is_some()
                && let Some(moved) = self.chains().await?.into_iter().find(is_moved)
            {
                found = self.verify_chain(&moved, log).await?;
            }
            verified.push(found);
        }
        let foreign = || Some("no kernel of this name vouches for its events".to_owned());
        let unknown = |kernel| VerifiedChain { kernel, events: 0, through: 0, flaw: foreign() };
        verified.extend(writers.into_iter().map(unknown));
        Ok(verified)
    }

    async fn verify_chain(&self, chain: &VouchedChain, log: &AuditLog) -> Result<VerifiedChain, StoreError> {
        let (kernel, mut at, mut events) = (&chain.kernel, chain.begin, 0);
        let mut flaw = 'chain: loop {
            let rows = self.postgres.events_behind(kernel, at.seq.cast_signed()).await?;
            if rows.is_empty() {
                break (at.seq < chain.end.seq).then_some((chain.end.seq, LogFlaw::End));
            }
            for row in rows {
                let (seq, mut next) = (row.seq.cast_unsigned(), at);
                if seq != at.seq.saturating_add(1) {
                    break 'chain Some((seq, LogFlaw::Missing));
                }
                if entry(&mut next, &row.body).is_none_or(|entry| shared(kernel, &entry) != row) {
                    break 'chain Some((seq, LogFlaw::Link));
                }
                if seq == chain.end.seq && next != chain.end {
                    break 'chain Some((seq, LogFlaw::End));
                }
                (at, events) = (next, events + 1);
            }
        };
        if flaw.is_none() && *kernel == self.id && !is_held(log, at).await? {
            flaw = Some((at.seq, LogFlaw::End));
        }
        let flaw = flaw.map(|(seq, flaw)| format!("event {seq}: {flaw}"));
        Ok(VerifiedChain { kernel: kernel.clone(), events, through: at.seq, flaw })
    }
}

async fn is_held(log: &AuditLog, known: LogHead) -> Result<bool, StoreError> {
    let (reader, now) = (log.reader(), log.head());
    off_the_runtime(move || Ok(holds(&reader, now, &known))).await
}

/// Returns an event as all kernels read it.
fn shared(writer: &str, entry: &LogEntry) -> SharedEvent {
    let LogEntry { seq, event, prev, hash, facets, .. } = entry;
    // Events of one time keep the order that they have in their record, and those of several kernels seldom have one place.
    let of_writer = i64::from(Digest::of_canonical(writer.as_bytes()).as_bytes()[0] & 0x3f);
    SharedEvent {
        writer: writer.to_owned(),
        seq: seq.cast_signed(),
        place: SharedEvent::first_place(facets.millis) + (seq.cast_signed() & 0x3f) * 0x40 + of_writer,
        tags: tags(facets),
        body: String::from_utf8_lossy(event.as_bytes()).into_owned(),
        prev: prev.as_bytes().to_vec(),
        hash: hash.as_bytes().to_vec(),
    }
}

/// Returns the entry of an event with this JSON behind `before`, which moves on to it; `None` if it is no event.
fn entry(before: &mut LogHead, body: &str) -> Option<LogEntry> {
    let event = RawJson::parse(body.to_owned()).ok()?;
    let facets = EventFacets::of(&event.to().ok()?);
    Some(LogEntry::behind(before, event, facets))
}

/// Returns the end of a chain in the database. Bytes that are no link fit none.
fn head_of(seq: i64, link: &[u8]) -> LogHead {
    LogHead::new(seq.cast_unsigned(), <[u8; 32]>::try_from(link).unwrap_or_default().into())
}

fn tags(facets: &EventFacets) -> Vec<String> {
    let kinds = [tag("type", facets.event_type.as_str()), tag("result", facets.result.as_str())];
    let server = facets.server.iter().map(|server| tag("server", server.as_str()));
    // Who asks for an agent asks for all of its family.
    let agents = facets.agent.as_deref().into_iter().flat_map(|agent| [Some(agent), agent_family(agent)]);
    let agents = agents.flatten().map(|agent| tag("agent", agent));
    kinds.into_iter().chain([trace_tag(facets.trace)]).chain(server).chain(agents).collect()
}

/// Returns a text by which events are found. PostgreSQL has no text with a zero byte.
fn tag(kind: &str, value: &str) -> String {
    format!("{kind}:{}", value.replace('\0', "\u{fffd}"))
}

fn trace_tag(trace: u128) -> String {
    tag("trace", &format!("{trace:032x}"))
}

/// The name of the order in which kernels vouch for their events.
pub(super) const ORDER: &str = "record";

const VOUCH: &str = "INSERT INTO vouched_chains (kernel, begin_seq, begin_hash, seq, hash) VALUES (?1, ?2, ?3, ?2, ?3)
    ON CONFLICT (kernel) DO UPDATE SET seq = excluded.seq, hash = excluded.hash WHERE excluded.seq > vouched_chains.seq";

/// The statement that has a chain begin later, for whose last events its kernel may not have come to vouch.
const BEGIN_LATER: &str = "UPDATE vouched_chains SET begin_seq = ?2, begin_hash = ?3, seq = max(seq, ?2),
    hash = CASE WHEN seq < ?2 THEN ?3 ELSE hash END WHERE kernel = ?1 AND begin_seq < ?2";

/// The time between two attempts to copy events.
const PAUSE: Duration = Duration::from_secs(2);

/// The time in which events come together that are copied at once.
const BATCH_PAUSE: Duration = Duration::from_millis(100);

/// The time after which a kernel vouches for its events anew.
const VOUCH_EVERY: Duration = Duration::from_secs(5);

const REMOVE_EVERY: Duration = Duration::from_hours(1);
