//! Lists: the entries of one kind that a server offers, and their pages.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use mgp_types::mcp::ForRevision;
use mgp_types::mgp::{Extension, written};
use mgp_types::{Error, Object, RawJson, Revision, Session};
use serde::Serialize;

use crate::error::Fault;

/// An entry that a server registers and lists.
pub(crate) trait ListEntry: Send + Sync + 'static {
    /// The member of the list's result that holds the entries.
    const MEMBER: &'static str;

    /// The written form of an entry.
    type Wire: ForRevision + Serialize + Clone;

    /// Returns the key by which the entry is looked up.
    fn key(&self) -> &str;

    /// Returns the entry as it is listed in `dialect`.
    fn wire(&self, dialect: ListDialect) -> Self::Wire;
}

/// Implements [`ListEntry`] for a type that is listed as its `wire`, whatever the extensions of the peer, by one of its
/// members.
macro_rules! listed_as_is {
    ($entry:ty, $member:literal, $wire:ty, $key:ident) => {
        impl $crate::list::ListEntry for $entry {
            const MEMBER: &'static str = $member;
            type Wire = $wire;

            fn key(&self) -> &str {
                &self.wire.$key
            }

            fn wire(&self, dialect: $crate::list::ListDialect) -> $wire {
                mgp_types::mcp::ForRevision::for_revision(self.wire.clone(), dialect.revision)
            }
        }
    };
}
pub(crate) use listed_as_is;

/// The form of a list, which depends on the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListDialect {
    /// The revision of MCP.
    pub(crate) revision: Revision,
    /// True if the list has the security of tools (MGP §4).
    pub(crate) tool_security: bool,
}

impl ListDialect {
    const COUNT: usize = 2 * Revision::ALL.len();

    /// The form of the latest revision, with the members of MGP.
    pub(crate) const LATEST: Self = Self { revision: Revision::LATEST, tool_security: true };

    /// Returns the dialect for the peer of `session`.
    pub(crate) fn of(session: &Session) -> Self {
        let tool_security = session.has(&Extension::ToolSecurity);
        Self { revision: session.revision, tool_security }
    }

    fn slot(self) -> usize {
        let revision = Revision::ALL.iter().position(|known| *known == self.revision).unwrap_or(0);
        2 * revision + usize::from(self.tool_security)
    }
}

/// The entries of one kind in the order they were registered, with their lists as bytes.
///
/// A published section never changes: a change makes a new section, whose lists are written when they are first asked
/// for.
pub(crate) struct EntryList<T> {
    /// The entries by their numbers, in the order they were registered.
    entries: BTreeMap<u64, Arc<T>>,
    index: HashMap<Arc<str>, Arc<T>, foldhash::fast::RandomState>,
    /// The number of the next entry. Numbers are never used again, so that a cursor keeps its place whatever entries
    /// come and go.
    next: u64,
    pub(crate) page_size: usize,
    pages: [OnceLock<Box<[Page]>>; ListDialect::COUNT],
}

/// A page of a list, for the cursor that asks for entries from `start` on.
struct Page {
    start: u64,
    result: RawJson,
}

/// A section without entries, whose list has no pages.
impl<T> Default for EntryList<T> {
    fn default() -> Self {
        let (entries, index) = (BTreeMap::new(), HashMap::default());
        Self { entries, index, next: 1, page_size: usize::MAX, pages: Default::default() }
    }
}

impl<T: ListEntry> EntryList<T> {
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.index.get(key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.entries.values()
    }

    /// Adds an entry at the end.
    ///
    /// # Errors
    /// An entry with the same key exists.
    pub(crate) fn insert_new(&mut self, entry: T) -> Result<(), Fault> {
        if self.index.contains_key(entry.key()) {
            let kind = T::MEMBER.trim_end_matches('s');
            return Err(Fault::new(format!("{kind} `{}`", entry.key()), "it is registered twice"));
        }
        self.insert(entry);
        Ok(())
    }

    /// Adds an entry at the end, or in the place of the entry with its key.
    pub(crate) fn insert(&mut self, entry: T) {
        let entry = Arc::new(entry);
        self.pages = Default::default();
        if self.index.insert(entry.key().into(), entry.clone()).is_some()
            && let Some(old) = self.entries.values_mut().find(|old| old.key() == entry.key())
        {
            *old = entry;
            return;
        }
        self.entries.insert(self.next, entry);
        self.next += 1;
    }

    /// Removes an entry; returns whether it existed.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        if self.index.remove(key).is_none() {
            return false;
        }
        self.pages = Default::default();
        self.entries.retain(|_, entry| entry.key() != key);
        true
    }

    /// Returns the page of the list that `cursor` asks for, in `dialect`.
    pub(crate) fn page(&self, dialect: ListDialect, cursor: Option<&str>) -> Result<RawJson, Error> {
        let start = match cursor {
            None | Some("") => 0,
            Some(cursor) => read_cursor(cursor)
                .filter(|start| *start < self.next)
                .ok_or_else(|| Error::invalid_params("the cursor is not one of this server"))?,
        };
        let pages = self.pages(dialect)?;
        if let Some(page) = pages.iter().find(|page| page.start == start) {
            return Ok(page.result.clone());
        }
        // A cursor may be older than a change: the list continues where it stopped.
        self.write_page(dialect, start)
    }

    /// Returns all entries, in `dialect`.
    pub(crate) fn all(&self, dialect: ListDialect) -> Result<Vec<RawJson>, Error> {
        self.entries.values().map(|entry| written(&entry.wire(dialect))).collect()
    }

    fn pages(&self, dialect: ListDialect) -> Result<&[Page], Error> {
        let slot = dialect.slot();
        if let Some(pages) = self.pages[slot].get() {
            return Ok(pages);
        }
        let further = self.entries.keys().copied().step_by(self.page_size.max(1)).skip(1);
        let pages = std::iter::once(0)
            .chain(further)
            .map(|start| Ok(Page { start, result: self.write_page(dialect, start)? }))
            .collect::<Result<_, Error>>()?;
        Ok(self.pages[slot].get_or_init(|| pages))
    }

    fn write_page(&self, dialect: ListDialect, start: u64) -> Result<RawJson, Error> {
        let mut rest = self.entries.range(start..);
        let here = rest.by_ref().take(self.page_size.max(1));
        let entries: Vec<T::Wire> = here.map(|(_, entry)| entry.wire(dialect)).collect();
        let mut list = Object::from([(T::MEMBER, written(&entries)?)]);
        if let Some((next, _)) = rest.next() {
            list.set("nextCursor", RawJson::from_text(&write_cursor(*next)));
        }
        Ok(list.to_raw())
    }
}

impl<T> Clone for EntryList<T> {
    /// Copies a section for a change: the copy starts without lists.
    fn clone(&self) -> Self {
        let (entries, index) = (self.entries.clone(), self.index.clone());
        Self { entries, index, pages: Default::default(), ..*self }
    }
}

/// Returns the cursor of a page that starts with the entry of this number.
fn write_cursor(number: u64) -> String {
    format!("c{number:x}")
}

/// Returns the number behind a cursor; `None` if this server did not write the cursor.
fn read_cursor(cursor: &str) -> Option<u64> {
    let digits = cursor.strip_prefix('c')?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    // Each number has one spelling; the server never wrote any other.
    (number > 0 && write_cursor(number) == cursor).then_some(number)
}
