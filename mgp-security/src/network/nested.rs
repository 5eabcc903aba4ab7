//! URLs nested in the path, query or fragment of another URL.

use std::borrow::Cow;

use url::Host;

use crate::Finding;

use super::address::NonPublicReason;
use super::host;
use crate::percent::percent_decoded;

/// Checks the URLs in the path, query and fragment of another URL, of which `rest` consists.
///
/// An inner URL is either fetched by the operator of the outer host, or is the target of a redirect, which is judged by
/// itself. A local address is therefore harmless here, and common: sign-in flows end at one. Metadata services of
/// clouds are refused: there is no honest reason to pass on their address, and the host that fetches it gives away its
/// own credentials.
pub(crate) fn check(rest: &str) -> Result<(), Finding> {
    let mut text = Cow::Borrowed(rest);
    for _ in 0..MAX_LAYERS {
        if leads_to_metadata(&text)? {
            return Err(NonPublicReason::Metadata.finding());
        }
        match percent_decoded(&text) {
            Some(decoded) => text = Cow::Owned(decoded),
            None => break,
        }
    }
    Ok(())
}

/// Returns whether `text` contains a URL, or a parameter that begins with a host and a port or path, that names a
/// metadata service.
fn leads_to_metadata(text: &str) -> Result<bool, Finding> {
    let mut looked_at = 0;
    for (at, byte) in text.bytes().enumerate() {
        let is_url = byte == b'/' && text.as_bytes().get(at + 1) == Some(&b'/');
        if !is_url && byte != b'=' {
            continue;
        }
        looked_at += 1;
        if looked_at > MAX_INNER {
            return Err(Finding::new(
                "ambiguous-url",
                "the URL contains too many others: send the data in the body",
            ));
        }
        let inner = &text[at + if is_url { 2 } else { 1 }..];
        let host = host_of(inner);
        let goes_on = inner.split_once(host).is_some_and(|(_, rest)| rest.starts_with([':', '/']));
        if (is_url || goes_on) && is_metadata(host) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the host at the beginning of `text`, without credentials.
pub(crate) fn host_of(text: &str) -> &str {
    let bounded = text.char_indices().nth(MAX_HOST).map_or(text, |(end, _)| &text[..end]);
    let authority = &bounded
        [..bounded.find(['/', '?', '#', '&', '\\', ' ', '"', '\'', ';', ',']).unwrap_or(bounded.len())];
    let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    if address.starts_with('[') {
        return address.split_inclusive(']').next().unwrap_or(address);
    }
    address.split(':').next().unwrap_or(address)
}

/// Returns whether the host, in any notation, is a metadata service of a cloud.
pub(crate) fn is_metadata(written: &str) -> bool {
    // Every notation of an address has a digit, and every name of such a service a dot.
    if written.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    let is_named = |name: &str| {
        name.contains('.') && host::check(name).is_err_and(|finding| finding.rule == "metadata-endpoint")
    };
    is_one_of(written, &[NonPublicReason::Metadata], is_named)
}

/// Returns whether the text is the URL of a metadata service, or of any address of the link on which such services are.
#[cfg(feature = "code-safety")]
pub(crate) fn is_metadata_url(text: &str) -> bool {
    let Some((_, rest)) = text.trim().split_once("://") else { return false };
    let is_named = |name: &str| host::is_metadata_name(name.trim_end_matches('.'));
    is_one_of(host_of(rest), &[NonPublicReason::Metadata, NonPublicReason::LinkLocal], is_named)
}

/// Returns whether the host, in any notation, is an address that is not public for one of these reasons, or a name that
/// passes the test.
fn is_one_of(written: &str, reasons: &[NonPublicReason], is_named: impl FnOnce(&str) -> bool) -> bool {
    let is_address = |ip| NonPublicReason::of(ip).is_some_and(|reason| reasons.contains(&reason));
    match Host::parse(written) {
        Ok(Host::Ipv4(ip)) => is_address(ip.into()),
        Ok(Host::Ipv6(ip)) => is_address(ip.into()),
        Ok(Host::Domain(name)) => is_named(&name),
        Err(_) => false,
    }
}

/// The largest number of layers of percent-encoding that are decoded. Programs do not decode a nested URL more often.
const MAX_LAYERS: usize = 4;

/// The largest number of nested URLs and parameters that are checked; a URL with more is refused.
const MAX_INNER: usize = 1000;

/// The number of characters at the beginning of a nested URL in which its host is looked for. No host is longer than
/// 253 characters, but credentials may stand before it.
const MAX_HOST: usize = 1024;
