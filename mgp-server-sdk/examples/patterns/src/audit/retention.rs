//! Which events are kept, and where the others go.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use mgp_types::RawJson;
use mgp_types::mgp::Timestamp;

use super::store::{EventStore, OldestEvents};

/// The options that say which events are kept.
#[derive(Debug, Args)]
pub(super) struct RetentionArgs {
    /// Which events are kept
    #[arg(long, value_enum, value_name = "RULE", default_value_t = RetentionRule::KeepAll)]
    retention: RetentionRule,
    /// How many days events are kept, for `time_based` and `tiered`
    #[arg(
        long,
        value_name = "DAYS",
        required_if_eq_any([("retention", "time_based"), ("retention", "tiered")]),
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    keep_days: Option<u32>,
    /// How large the store may become, for `size_based`
    #[arg(
        long,
        value_name = "MB",
        required_if_eq("retention", "size_based"),
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    max_megabytes: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum RetentionRule {
    /// All events are kept
    KeepAll,
    /// Events that are older than `--keep-days` are removed
    TimeBased,
    /// The oldest events are removed while the store is larger than `--max-megabytes`
    SizeBased,
    /// Events that are older than `--keep-days` are moved to files beside the store, one for each month
    Tiered,
}

/// The events that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Retention {
    /// Keeps all events.
    KeepAll,
    /// Keeps events up to this age.
    TimeBased(Duration),
    /// Keeps the newest events, as many as fit into this number of bytes.
    SizeBased(u64),
    /// Keeps events up to this age, and moves older ones to files in this folder.
    Tiered(Duration, PathBuf),
}

impl Retention {
    /// Returns what the options ask for, for the store in the file at `store`.
    pub(super) fn of(args: &RetentionArgs, store: &Path) -> Self {
        let age = Duration::from_hours(24) * args.keep_days.unwrap_or(u32::MAX);
        match args.retention {
            RetentionRule::KeepAll => Self::KeepAll,
            RetentionRule::TimeBased => Self::TimeBased(age),
            RetentionRule::SizeBased => {
                Self::SizeBased(u64::from(args.max_megabytes.unwrap_or(u32::MAX)) << 20)
            }
            RetentionRule::Tiered => Self::Tiered(age, archive(store)),
        }
    }

    /// Removes some of the events that are not kept, the oldest first, and returns whether there may be more.
    ///
    /// # Errors
    /// Fails if the store or the archive cannot be written. No event is removed that is not in the archive then.
    pub(super) fn remove_some(&self, store: &EventStore, now: Timestamp) -> anyhow::Result<bool> {
        let older_than = |age: &Duration| {
            // A clock that is ahead must not empty the store.
            let Some(newest) = store.newest()? else { return Ok(None) };
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            let bound = Timestamp::from_millis(now.min(newest).as_millis().saturating_sub(age));
            bound.map_or(Ok(None), |bound| store.older_than(bound, AT_ONCE))
        };
        let oldest = match self {
            Self::KeepAll => None,
            Self::TimeBased(age) | Self::Tiered(age, _) => older_than(age)?,
            Self::SizeBased(most) => store.beyond_size(*most, AT_ONCE)?,
        };
        let Some(oldest) = oldest else { return Ok(false) };
        if let Self::Tiered(_, folder) = self {
            append(folder, &oldest).with_context(|| format!("the archive {}", folder.display()))?;
        }
        store.remove(&oldest)?;
        Ok(oldest.events.len() == AT_ONCE)
    }
}

/// Returns the folder of the archive beside the store in the file at `store`.
fn archive(store: &Path) -> PathBuf {
    store.with_extension("archive")
}

/// Appends events to the files of their months, a line for each. A crash before the events are removed from the store
/// leaves them in both, and then twice in the archive.
fn append(folder: &Path, oldest: &OldestEvents) -> anyhow::Result<()> {
    let mut months = BTreeMap::<String, Vec<&RawJson>>::new();
    for (time, event) in &oldest.events {
        months.entry(time.to_string().chars().take("2026-02".len()).collect()).or_default().push(event);
    }
    let (mut folders, mut files) = (DirBuilder::new(), OpenOptions::new());
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut files, 0o600);
    }
    folders.recursive(true).create(folder)?;
    files.create(true).append(true);
    for (month, events) in months {
        let path = folder.join(month).with_extension("jsonl");
        let mut file = files.open(path)?;
        let lines: Vec<u8> =
            events.into_iter().flat_map(|event| [event.as_bytes(), b"\n"].concat()).collect();
        file.write_all(&lines)?;
        file.sync_all()?;
    }
    Ok(())
}

/// How many events are removed at once, so that new ones never wait for long.
const AT_ONCE: usize = 1_000;
