//! The order of changes that several kernels share.

use std::fmt;

use mgp_types::random_bytes;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};

use crate::{Result, StoreError};

/// An order of changes to which several kernels append, one at a time.
///
/// The methods wait for a network, so they are called where that is allowed.
pub trait Order: fmt::Debug + Send + Sync {
    /// Returns what was appended behind the entry `version`.
    ///
    /// # Errors
    /// Fails if the order cannot be reached.
    fn since(&self, version: u64) -> Result<News>;

    /// Waits until no other kernel has the turn, takes it, and returns what was appended behind the entry `version`. The
    /// turn ends when it is dropped.
    ///
    /// # Errors
    /// Fails if the order cannot be reached, or another kernel keeps the turn for too long.
    fn take_turn(&self, version: u64) -> Result<(News, Box<dyn Turn + '_>)>;

    /// Stores a copy of all tables, so that entries up to it can be forgotten.
    ///
    /// # Errors
    /// Fails if the order cannot be reached.
    fn store_snapshot(&self, snapshot: Snapshot) -> Result<()>;
}

/// The turn to append to an order, which one kernel has at a time.
pub trait Turn {
    /// Appends an entry, and ends the turn. The entry is stored for good when this returns without an error; with one it
    /// may be stored or not, which [`Order::since`] tells.
    ///
    /// # Errors
    /// Fails if the order could not be reached.
    fn append(self: Box<Self>, entry: &Entry) -> Result<()>;
}

/// An entry of an order: one change, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "closed: implementations of orders build and take it apart")]
pub struct Entry {
    /// The number of the entry; the first is 1.
    pub version: u64,
    /// The sealed statements.
    pub body: Vec<u8>,
}

/// A copy of all tables, sealed, that stands for all entries up to its version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "closed: implementations of orders build and take it apart")]
pub struct Snapshot {
    /// The number of the last entry that the copy contains.
    pub version: u64,
    /// The digest of the entries up to there.
    pub link: [u8; 32],
    /// The sealed tables.
    pub body: Vec<u8>,
}

/// The entries that somebody lacks who knows an order up to one, behind a copy of all tables if older ones are forgotten.
#[derive(Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "closed: implementations of orders build it")]
pub struct News {
    /// The copy of all tables to begin with, where entries before it are forgotten.
    pub snapshot: Option<Snapshot>,
    /// The entries that follow, in their order.
    pub entries: Vec<Entry>,
}

/// The key that seals entries and copies, with its bytes. Who stores them can neither read them nor put others in their place.
#[derive(Clone)]
pub struct OrderKey(LessSafeKey, [u8; 32]);

mgp_types::partial_debug!(OrderKey);

impl OrderKey {
    /// Returns the key that is made of a secret text.
    pub fn new(secret: &str) -> Self {
        let bytes = sha256(&[b"mgp order of changes\0", secret.as_bytes()]);
        let Ok(key) = UnboundKey::new(&CHACHA20_POLY1305, &bytes) else {
            unreachable!("a digest has the length of a key")
        };
        Self(LessSafeKey::new(key), bytes)
    }

    /// Returns a secret for another purpose, which is the same at all kernels with this key.
    pub fn derived(&self, purpose: &str) -> [u8; 32] {
        sha256(&[&self.1, purpose.as_bytes()])
    }

    /// Checks that kernels with this key appended all that an order has, each entry behind the one before.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if something was changed or is missing; other errors if the order cannot be reached.
    pub fn check(&self, order: &dyn Order) -> Result<(), StoreError> {
        let mut at = Position::default();
        loop {
            let (before, news) = (at, order.since(at.version)?);
            if let Some(copy) = news.snapshot {
                at = Position { version: copy.version, link: copy.link };
                self.open(&at, copy.body)?;
            }
            for entry in news.entries {
                self.open_next(&mut at, entry)?;
            }
            if at == before {
                return Ok(());
            }
        }
    }

    /// Returns the content of the entry at `at`, which moves on to behind it.
    pub(crate) fn open_next(&self, at: &mut Position, entry: Entry) -> Result<Vec<u8>, StoreError> {
        let next = at.behind(&entry.body);
        if entry.version != next.version {
            let missing = format!("entry {} of the shared order is missing", next.version);
            return Err(StoreError::Damaged(missing));
        }
        let content = self.open(at, entry.body)?;
        *at = next;
        Ok(content)
    }

    /// Seals the content of a row, so that it can be read under the row's `name` alone.
    pub fn seal_row(&self, name: &[u8; 32], content: &[u8]) -> Vec<u8> {
        self.sealed(name, content)
    }

    /// Returns the content of a row that [`seal_row`](Self::seal_row) sealed.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if it was sealed by another key or under another name.
    pub fn open_row(&self, name: &[u8; 32], sealed: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let foreign = "a sealed row was changed, or `[store] key` is not the one that sealed it";
        self.opened(name, sealed).ok_or_else(|| StoreError::Damaged(foreign.to_owned()))
    }

    /// Returns the content of what was sealed at `at`.
    pub(crate) fn open(&self, at: &Position, sealed: Vec<u8>) -> Result<Vec<u8>> {
        self.opened(&at.bytes(), sealed).ok_or_else(|| {
            let what =
                "is not what a kernel with this key appended there: it was changed, or `[store] key` differs";
            StoreError::Damaged(format!("entry {} of the shared order {what}", at.version))
        })
    }

    /// Seals content for a place: the bytes of a position are 40 and those of a name 32, so neither is taken for the other.
    pub(crate) fn sealed(&self, place: &[u8], content: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] = random_bytes();
        let mut sealed = [&nonce, content].concat();
        let tag = self.0.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(place),
            &mut sealed[NONCE_LEN..],
        );
        let Ok(tag) = tag else { unreachable!("a change is smaller than 256 GiB") };
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    fn opened(&self, place: &[u8], mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let mut content = (sealed.len() >= NONCE_LEN).then(|| sealed.split_off(NONCE_LEN))?;
        let nonce = Nonce::try_assume_unique_for_key(&sealed).ok()?;
        let length = self.0.open_in_place(nonce, Aad::from(place), &mut content).ok()?.len();
        content.truncate(length);
        Some(content)
    }
}

/// A place in an order: the number of an entry, and the digest of all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    pub(crate) version: u64,
    pub(crate) link: [u8; 32],
}

impl Position {
    /// Returns the place behind an entry that stands at this one.
    pub(crate) fn behind(&self, body: &[u8]) -> Self {
        Self { version: self.version + 1, link: sha256(&[&self.bytes(), body]) }
    }

    pub(crate) fn bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&self.version.to_be_bytes());
        bytes[8..].copy_from_slice(&self.link);
        bytes
    }
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, &parts.concat()).as_ref());
    bytes
}
