//! The answers to HTTP requests for data, and the signature of an address that gives data to whoever has it.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use mgp_types::hex;
use mgp_types::mgp::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{HeldData, ReferenceData, ReferenceStore};

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

/// The members of an address that its signature covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignedMembers<'a> {
    pub(super) ref_id: &'a str,
    /// The end of the address, in seconds since 1970.
    pub(super) exp: u64,
    /// The server that the address is for; empty for anybody who has it.
    pub(super) aud: &'a str,
    pub(super) nonce: &'a str,
}

/// Signs addresses, and checks them, with HMAC-SHA256.
pub(super) struct AddressSigner {
    key: [u8; 32],
}

impl AddressSigner {
    pub(super) const fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// Returns the signature in hexadecimal digits.
    pub(super) fn sign(&self, members: SignedMembers<'_>) -> String {
        let SignedMembers { ref_id, exp, aud, nonce } = members;
        let signed = format!("v1|GET|{ref_id}|{exp}|{aud}|{nonce}");
        let digits: [u8; 64] = hex(&hmac(&self.key, signed.as_bytes()));
        digits.iter().copied().map(char::from).collect()
    }

    /// Returns whether `signature` is that of the members. The time that it takes tells nothing of the right one.
    pub(super) fn verifies(&self, members: SignedMembers<'_>, signature: &str) -> bool {
        self.sign(members).as_bytes().ct_eq(signature.as_bytes()).into()
    }
}

mgp_types::partial_debug!(AddressSigner);

/// Returns HMAC-SHA256 (RFC 2104) for a key that is shorter than a block.
fn hmac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let keyed = |pad: u8| {
        let mut block = [pad; 64];
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        Sha256::new().chain_update(block)
    };
    let inner = keyed(0x36).chain_update(message).finalize();
    keyed(0x5c).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_that_of_the_standard() {
        // RFC 4231, test case 1, whose key is filled up with zeros as the standard does.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let digits: [u8; 64] = hex(&hmac(&key, b"Hi There"));
        assert_eq!(
            std::str::from_utf8(&digits).unwrap(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
    }

    #[test]
    fn every_member_counts_and_so_does_each_digit() {
        let signer = AddressSigner::new([7; 32]);
        let members = SignedMembers { ref_id: "ref-1", exp: 10, aud: "sheets", nonce: "n" };
        let signature = signer.sign(members);
        assert!(signer.verifies(members, &signature));
        for other in [
            SignedMembers { ref_id: "ref-2", ..members },
            SignedMembers { exp: 11, ..members },
            SignedMembers { aud: "mail", ..members },
            SignedMembers { aud: "", ..members },
            SignedMembers { nonce: "m", ..members },
        ] {
            assert!(!signer.verifies(other, &signature), "{other:?}");
        }
        for wrong in
            ["", &signature[1..], &signature.to_uppercase(), &signature.replace(&signature[..1], "x")]
        {
            assert!(!signer.verifies(members, wrong), "{wrong}");
        }
        assert!(!AddressSigner::new([8; 32]).verifies(members, &signature));
        assert_eq!(format!("{signer:?}"), "AddressSigner { .. }");
    }
}
