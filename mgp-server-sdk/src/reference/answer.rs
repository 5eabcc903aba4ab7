//! The answers to HTTP requests for data, as a function of what a request says.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use mgp_types::hex;
use mgp_types::mgp::Timestamp;

use super::signature::SignedMembers;
use super::store::HeldData;
use super::{ReferenceData, ReferenceStore};

/// The parts of an HTTP request for data that its answer depends on.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ReferenceRequest<'a> {
    /// The method: `GET` or `HEAD`.
    pub method: &'a str,
    /// The id of the reference, the last segment of the path.
    pub ref_id: &'a str,
    /// The query, without the question mark.
    pub query: &'a str,
    /// The header `Range`.
    pub range: Option<&'a str>,
    /// The header `If-Range`.
    pub if_range: Option<&'a str>,
    /// The server that asks, as it was authenticated; `None` for anybody.
    pub audience: Option<&'a str>,
}

impl<'a> ReferenceRequest<'a> {
    /// Creates a request for all of the data, by anybody.
    pub const fn get(ref_id: &'a str, query: &'a str) -> Self {
        Self { method: "GET", ref_id, query, range: None, if_range: None, audience: None }
    }
}

mgp_types::partial_debug!([] ReferenceRequest<'_>, self => method: self.method, ref_id: self.ref_id);

/// The answer to an HTTP request for data.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReferenceAnswer {
    /// The status: 200, 206, 403, 404, 405, 410 or 416.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body; `None` if it is empty.
    pub body: Option<ReferenceBody>,
}

/// The body of an answer, read piece by piece.
#[derive(Debug)]
pub struct ReferenceBody {
    data: ReferenceData,
    left: Range<u64>,
}

impl ReferenceBody {
    /// Returns whether the piece that was read last is the end of all data, and not only of the part that was asked for.
    pub fn is_at_end(&self) -> bool {
        self.left.start == self.data.size()
    }

    /// Returns the next piece, of 64 KiB at most; `None` at the end. Reading a file blocks, so a server reads on a thread
    /// that may.
    ///
    /// # Errors
    /// The file cannot be read any more. The answer has to end there, incomplete.
    pub fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let piece = self.data.piece(self.left.start, self.left.end - self.left.start)?;
        self.left.start += piece.len() as u64;
        Ok(Some(piece))
    }
}

/// The part of the data that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AskedRange {
    All,
    Part(Range<u64>),
    /// The part begins behind the end.
    Outside,
}

impl ReferenceStore {
    /// Returns the answer to a request for data at `now`.
    ///
    /// 404: there is no such reference. 403: the signature is missing, forged or over, or is for another server. 405: the
    /// request wants something else than the data. 410: the data was released. 416: the part lies behind the end. The
    /// query of a request is a secret and never belongs into a log.
    pub fn answer(&self, request: &ReferenceRequest<'_>, now: Timestamp) -> ReferenceAnswer {
        if request.method != "GET" && request.method != "HEAD" {
            return refused(405, vec![("Allow", "GET, HEAD".into())]);
        }
        let Some(held) = self.find(request.ref_id) else { return refused(404, Vec::new()) };
        if !self.admits(request, &held, now) {
            return refused(403, Vec::new());
        }
        if held.released {
            return refused(410, Vec::new());
        }
        let etag = etag(&held);
        let is_same = request.if_range.is_none_or(|known| known == etag);
        let size = held.data.size();
        let (status, part) =
            match request.range.filter(|_| is_same).map_or(AskedRange::All, |range| asked(range, size)) {
                AskedRange::All => (200, 0..size),
                AskedRange::Part(part) => (206, part),
                AskedRange::Outside => {
                    return refused(416, vec![("Content-Range", format!("bytes */{size}"))]);
                }
            };
        let mut headers = vec![
            ("Content-Type", held.mime_type.to_string()),
            ("Content-Length", (part.end - part.start).to_string()),
            ("Accept-Ranges", "bytes".into()),
            ("ETag", etag),
            ("Cache-Control", "private, no-store".into()),
            ("Content-Disposition", "attachment".into()),
            ("X-Content-Type-Options", "nosniff".into()),
        ];
        if status == 206 {
            headers.push(("Content-Range", format!("bytes {}-{}/{size}", part.start, part.end - 1)));
        }
        let has_body = request.method == "GET" && !part.is_empty();
        let body = has_body.then_some(ReferenceBody { data: held.data, left: part });
        ReferenceAnswer { status, headers, body }
    }

    fn admits(&self, request: &ReferenceRequest<'_>, held: &HeldData, now: Timestamp) -> bool {
        let Some((members, signature)) = signed(request) else { return false };
        let seconds = u64::try_from(now.as_millis() / 1000).unwrap_or(u64::MAX);
        let is_for_reader = members.aud.is_empty() || request.audience == Some(members.aud);
        self.0.signer.verifies(members, signature)
            && seconds <= members.exp
            && now < held.expires_at
            && is_for_reader
    }
}

/// Reads the members of a signed address. Each stands in the query once, and nothing else does.
fn signed<'a>(request: &ReferenceRequest<'a>) -> Option<(SignedMembers<'a>, &'a str)> {
    let (mut sig, mut exp, mut aud, mut nonce) = (None, None, None, None);
    for member in request.query.split('&') {
        let (name, value) = member.split_once('=')?;
        let place = match name {
            "sig" => &mut sig,
            "exp" => &mut exp,
            "aud" => &mut aud,
            "nonce" => &mut nonce,
            _ => return None,
        };
        if place.replace(value).is_some() {
            return None;
        }
    }
    let exp = exp.filter(|exp: &&str| exp.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()?;
    let (aud, nonce) = (aud.unwrap_or_default(), nonce.unwrap_or_default());
    Some((SignedMembers { ref_id: request.ref_id, exp, aud, nonce }, sig?))
}

/// Reads the header `Range` of a request for `size` bytes. A header that is malformed, or asks for several parts, asks for
/// all.
pub(super) fn asked(header: &str, size: u64) -> AskedRange {
    let number = |text: &str| -> Option<u64> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let part = header.strip_prefix("bytes=").and_then(|part| part.trim().split_once('-'));
    let Some((first, last)) = part else { return AskedRange::All };
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Some(first), None) if last.is_empty() => first..size,
        (None, Some(last)) if first.is_empty() => size.saturating_sub(last)..size,
        _ => return AskedRange::All,
    };
    if range.is_empty() { AskedRange::Outside } else { AskedRange::Part(range) }
}

fn etag(held: &HeldData) -> String {
    let digits: [u8; 64] = hex(&held.digest);
    format!("\"sha256-{}\"", String::from_utf8_lossy(&digits))
}

fn refused(status: u16, mut headers: Vec<(&'static str, String)>) -> ReferenceAnswer {
    headers.push(("Content-Length", "0".into()));
    headers.push(("Cache-Control", "no-store".into()));
    ReferenceAnswer { status, headers, body: None }
}
