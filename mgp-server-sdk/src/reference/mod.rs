//! References to data that other servers fetch directly, so that it does not pass through the client.

mod answer;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mgp_types::ext::{Checksum, DataReference};
use mgp_types::mgp::Timestamp;
use mgp_types::{Error, code};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use self::answer::{AddressSigner, SignedMembers};
pub use self::answer::{ReferenceAnswer, ReferenceBody, ReferenceRequest};

/// The data that a server holds for other servers to fetch, for minutes each. Clones share it.
///
/// An address is signed for a time, and for one server if it is [granted](Self::grant) to one. Who serves HTTP answers
/// requests with [`answer`](Self::answer), and has authenticated whoever asks, if addresses are for one server.
///
/// ```
/// use mgp_server_sdk::{ReferenceRequest, ReferenceStore};
/// use mgp_types::mgp::Timestamp;
/// use std::time::Duration;
///
/// let store = ReferenceStore::new("amplitude", "https://amplitude.example/data")?;
/// let reference = store.hold("a,b\n1,2\n", "text/csv", Duration::from_mins(5))?;
/// let address = reference.access_url.expect("a held reference has an address");
/// let (path, query) = address.split_once('?').expect("the address is signed");
/// let ref_id = path.rsplit('/').next().expect("the id comes last");
/// let answer = store.answer(&ReferenceRequest::get(ref_id, query), Timestamp::now());
/// assert_eq!(answer.status, 200);
/// # Ok::<(), mgp_types::Error>(())
/// ```
#[derive(Clone)]
pub struct ReferenceStore(Arc<StoreShared>);

struct StoreShared {
    origin: Box<str>,
    base_url: Box<str>,
    signer: AddressSigner,
    /// The bytes in memory that are held at most.
    max_memory: u64,
    held: Mutex<HashMap<Box<str>, HeldData>>,
}

#[derive(Clone)]
struct HeldData {
    data: ReferenceData,
    mime_type: Box<str>,
    digest: [u8; 32],
    expires_at: Timestamp,
    /// True once the data was given up; the reference is remembered until it ends.
    released: bool,
}

/// The signed address of data, for one server.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceAccess {
    /// The address. Whoever has it gets the data, so it is no text for logs or models.
    pub access_url: Box<str>,
    /// The moment at which the address ends.
    pub expires_at: Timestamp,
}

mgp_types::partial_debug!(ReferenceAccess, self => expires_at: self.expires_at);

/// The number of references that are held at most.
const MAX_REFERENCES: usize = 1024;
/// The bytes in memory that are held at most.
const MAX_MEMORY: u64 = 256 << 20;
/// The longest time of a reference, without that for its transfer.
const MAX_TTL: Duration = Duration::from_hours(1);
/// The rate of a slow transfer in bytes per second; the longest time of a reference grows with it.
const SLOW: u64 = 1 << 20;

impl ReferenceStore {
    /// Creates a store of the server `origin`, whose data is served below `base_url`. It signs with a key of its own, so
    /// that its references end with it.
    ///
    /// # Errors
    /// -32603: the name of the server is empty or has other characters than letters, digits, `.`, `_` and `-`, or the
    /// address is not one of HTTP.
    ///
    /// # Panics
    /// The operating system gives no random bytes, so nothing secure can be done.
    pub fn new(origin: &str, base_url: &str) -> Result<Self, Error> {
        if !is_name(origin) {
            return Err(Error::internal("the name of a server has letters, digits, `.`, `_` and `-`"));
        }
        let is_http = base_url.starts_with("https://") || base_url.starts_with("http://");
        if !is_http || base_url.contains(['?', '#', ' ']) {
            return Err(Error::internal("data is served below an address of HTTP without a query"));
        }
        let (origin, base_url) = (origin.into(), base_url.trim_end_matches('/').into());
        let (signer, held) = (AddressSigner::new(mgp_types::random_bytes()), Mutex::default());
        Ok(Self(Arc::new(StoreShared { origin, base_url, signer, max_memory: MAX_MEMORY, held })))
    }

    #[cfg(test)]
    fn with_max_memory(mut self, bytes: u64) -> Self {
        Arc::get_mut(&mut self.0).expect("nobody shares the store yet").max_memory = bytes;
        self
    }

    /// Returns the name of the server whose data this is.
    pub fn origin(&self) -> &str {
        &self.0.origin
    }

    /// Holds data for `ttl`, at most an hour and the time of a slow transfer, and returns the reference to it. A file is
    /// read once, for its checksum, and stays open.
    ///
    /// # Errors
    /// 3001: too much data is held; -32603: the file cannot be read.
    pub fn hold(
        &self,
        data: impl Into<ReferenceData>,
        mime_type: &str,
        ttl: Duration,
    ) -> Result<DataReference, Error> {
        let data = data.into();
        let digest =
            data.digest().map_err(|error| Error::internal("the data cannot be read").with_source(error))?;
        let now = Timestamp::now();
        let expires_at = now.saturating_add(ttl.min(longest(data.size())));
        let mime_type = if is_media_type(mime_type) { mime_type } else { "application/octet-stream" }.into();
        let held = HeldData { data, mime_type, digest, expires_at, released: false };
        let ref_id: Box<str> = format!("ref-{}", mgp_types::random_name()).into();
        let reference = self.describe(&ref_id, &held);
        let mut all = self.0.held.lock();
        all.retain(|_, held| now < held.expires_at);
        let memory: u64 = all.values().filter(|held| !held.released).map(|held| held.data.memory()).sum();
        if all.len() >= MAX_REFERENCES || memory.saturating_add(held.data.memory()) > self.0.max_memory {
            let message = "too much data is held for other servers; try again once some of it has expired";
            return Err(Error::new(code::RESOURCE_EXHAUSTED, message).with_usual_recovery());
        }
        all.insert(ref_id, held);
        Ok(reference)
    }

    /// Returns an address by which the server `audience` gets the data, and nobody else.
    ///
    /// # Errors
    /// 3021: there is no such reference; 3022: it is over, or was released; 3023: the name is none of a server.
    pub fn grant(&self, ref_id: &str, audience: &str) -> Result<ReferenceAccess, Error> {
        if !is_name(audience) {
            let why = "an address is granted to one server, by its name";
            return Err(Error::new(code::REFERENCE_FORBIDDEN, why));
        }
        let held = self.live(ref_id)?;
        let access_url = self.address(ref_id, held.expires_at, audience).into();
        Ok(ReferenceAccess { access_url, expires_at: held.expires_at })
    }

    /// Lets a reference last for another `ttl` from now, for instance while its data is transferred; it never ends earlier
    /// for that. Returns the reference with a new address.
    ///
    /// # Errors
    /// 3021: there is no such reference; 3022: it is over, or was released.
    pub fn renew(&self, ref_id: &str, ttl: Duration) -> Result<DataReference, Error> {
        self.live(ref_id)?;
        let mut all = self.0.held.lock();
        let held = all.get_mut(ref_id).ok_or_else(unknown)?;
        let end = Timestamp::now().saturating_add(ttl.min(longest(held.data.size())));
        held.expires_at = held.expires_at.max(end);
        Ok(self.describe(ref_id, held))
    }

    /// Gives the data up before its time, and returns whether it was held.
    pub fn release(&self, ref_id: &str) -> bool {
        let mut all = self.0.held.lock();
        let Some(held) = all.get_mut(ref_id).filter(|held| !held.released) else { return false };
        held.released = true;
        held.data = Bytes::new().into();
        true
    }

    fn find(&self, ref_id: &str) -> Option<HeldData> {
        self.0.held.lock().get(ref_id).cloned()
    }

    /// Returns the data of a reference and its media type, for clients that read it as a resource.
    ///
    /// # Errors
    /// 3020: the data is longer than `most` bytes. The other errors are those of [`grant`](Self::grant).
    pub(crate) fn read(&self, ref_id: &str, most: u64) -> Result<(Bytes, Box<str>), Error> {
        let held = self.live(ref_id)?;
        let size = held.data.size();
        if size > most {
            let message = format!(
                "the data has {size} bytes, and {most} at most are read as a resource; have a server fetch it"
            );
            return Err(Error::new(code::PAYLOAD_TOO_LARGE, message));
        }
        let mut all = Vec::new();
        while (all.len() as u64) < size {
            let piece = held.data.piece(all.len() as u64, u64::MAX);
            let piece =
                piece.map_err(|error| Error::internal("the data cannot be read").with_source(error))?;
            all.extend_from_slice(&piece);
        }
        Ok((all.into(), held.mime_type))
    }

    fn live(&self, ref_id: &str) -> Result<HeldData, Error> {
        let held = self.find(ref_id).ok_or_else(unknown)?;
        if held.released || held.expires_at <= Timestamp::now() {
            return Err(Error::new(code::REFERENCE_EXPIRED, "the reference is over; export the data again"));
        }
        Ok(held)
    }

    fn describe(&self, ref_id: &str, held: &HeldData) -> DataReference {
        let mut reference = DataReference::new(ref_id, &*self.0.origin, &*held.mime_type);
        reference.size_bytes = Some(held.data.size());
        reference.expires_at = Some(held.expires_at);
        reference.checksum = Some(Checksum::sha256(&held.digest));
        reference.access_url = Some(self.address(ref_id, held.expires_at, "").into());
        reference
    }

    fn address(&self, ref_id: &str, expires_at: Timestamp, aud: &str) -> String {
        let exp = u64::try_from(expires_at.as_millis() / 1000).unwrap_or(0);
        let nonce = mgp_types::random_name();
        let sig = self.0.signer.sign(SignedMembers { ref_id, exp, aud, nonce: &nonce });
        let audience = if aud.is_empty() { String::new() } else { format!("&aud={aud}") };
        format!("{}/{ref_id}?sig={sig}&exp={exp}{audience}&nonce={nonce}", self.0.base_url)
    }
}

mgp_types::partial_debug!(ReferenceStore, self => origin: self.0.origin, held: self.0.held.lock().len());

fn unknown() -> Error {
    Error::new(code::REFERENCE_NOT_FOUND, "there is no such reference; it may be over: export the data again")
}

fn longest(size: u64) -> Duration {
    MAX_TTL + Duration::from_secs(size / SLOW)
}

/// Returns whether `name` is one of a server, which can stand in an address and in what is signed as it is.
fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn is_media_type(text: &str) -> bool {
    text.len() <= 127 && text.contains('/') && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// Data for other servers to fetch: bytes, or a file that stays as it is while it is referred to.
#[derive(Debug, Clone)]
pub struct ReferenceData(DataSource);

#[derive(Debug, Clone)]
enum DataSource {
    Bytes(Bytes),
    File { file: Arc<File>, size: u64 },
}

/// The bytes that are read of a file at once.
const PIECE: usize = 64 << 10;

impl ReferenceData {
    /// Opens a file. What is read is the file that was opened, whatever takes its place.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_file(File::open(path)?)
    }

    /// Returns the data in a file that is open, and may have no name any more.
    ///
    /// # Errors
    /// The size of the file is not known.
    pub fn open_file(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self(DataSource::File { file: Arc::new(file), size }))
    }

    /// Returns the number of bytes.
    pub fn size(&self) -> u64 {
        match &self.0 {
            DataSource::Bytes(bytes) => bytes.len() as u64,
            DataSource::File { size, .. } => *size,
        }
    }

    /// Returns the bytes that the data holds in memory.
    fn memory(&self) -> u64 {
        if matches!(self.0, DataSource::Bytes(_)) { self.size() } else { 0 }
    }

    /// Returns up to 64 KiB from `offset` on, and nothing behind the end. Reading a file blocks.
    fn piece(&self, offset: u64, most: u64) -> io::Result<Bytes> {
        let length = self.size().saturating_sub(offset).min(most);
        let length = usize::try_from(length).unwrap_or(PIECE).min(PIECE);
        match &self.0 {
            DataSource::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(bytes.len()).min(bytes.len());
                Ok(bytes.slice(start..start + length))
            }
            DataSource::File { file, .. } => {
                let mut piece = vec![0; length];
                let read = read_at(file, &mut piece, offset)?;
                if read == 0 && length > 0 {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
                }
                piece.truncate(read);
                Ok(piece.into())
            }
        }
    }

    /// Returns the SHA-256 of the data, for which a file is read as a whole.
    fn digest(&self) -> io::Result<[u8; 32]> {
        let mut hash = Sha256::new();
        let mut offset = 0;
        while offset < self.size() {
            let piece = self.piece(offset, u64::MAX)?;
            hash.update(&piece);
            offset += piece.len() as u64;
        }
        Ok(hash.finalize().into())
    }
}

impl<T: Into<Bytes>> From<T> for ReferenceData {
    fn from(bytes: T) -> Self {
        Self(DataSource::Bytes(bytes.into()))
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(test)]
mod tests;
