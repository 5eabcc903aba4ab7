use std::borrow::Cow;

use url::Host;

use crate::Finding;

use super::address::NonPublicReason;
use super::host;

/// Decides on the URLs inside of path, query and fragment of another.
///
/// An inner URL is fetched by whoever runs the outer host, or is where it sends the caller back to; then the
/// redirect is judged for itself. So a local address is no harm here, and common: signing in ends at one. The
/// metadata of a cloud is another matter. Nobody has an honest use for handing its address on, and the host that
/// fetches it gives away its own credentials.
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

/// Whether a URL, or a parameter that begins with a host and a port or path, names a host of metadata.
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

/// The host at the beginning of `text`, credentials left out.
fn host_of(text: &str) -> &str {
    let bounded = text.char_indices().nth(MAX_HOST).map_or(text, |(end, _)| &text[..end]);
    let authority = &bounded
        [..bounded.find(['/', '?', '#', '&', '\\', ' ', '"', '\'', ';', ',']).unwrap_or(bounded.len())];
    let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    if address.starts_with('[') {
        return address.split_inclusive(']').next().unwrap_or(address);
    }
    address.split(':').next().unwrap_or(address)
}

fn is_metadata(written: &str) -> bool {
    match Host::parse(written) {
        Ok(Host::Ipv4(ip)) => NonPublicReason::of(ip.into()) == Some(NonPublicReason::Metadata),
        Ok(Host::Ipv6(ip)) => NonPublicReason::of(ip.into()) == Some(NonPublicReason::Metadata),
        Ok(Host::Domain(name)) => {
            name.contains('.') && host::check(&name).is_err_and(|finding| finding.rule == "metadata-endpoint")
        }
        Err(_) => false,
    }
}

/// The text with its percent signs resolved once; `None` if there are none.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    text.contains('%').then(|| {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
            if let (b'%', Some(high), Some(low)) = (first, hex(tail.first()), hex(tail.get(1))) {
                bytes.extend(u8::try_from(high * 16 + low));
                rest = &tail[2..];
            } else {
                bytes.push(first);
                rest = tail;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// How often a nested URL can be encoded before nobody decodes it any more.
const MAX_LAYERS: usize = 4;

/// How many URLs and parameters are looked into.
const MAX_INNER: usize = 1000;

/// No host is longer than 253 characters; credentials before it may be.
const MAX_HOST: usize = 1024;
