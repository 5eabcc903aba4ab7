//! The parser of URLs and hosts that only accepts text that all programs read alike, and the targets of redirects, each
//! judged like the first URL of a request.

use std::borrow::Cow;

use url::{Host, Url};

use super::NetworkPolicy;
use super::host::{self, NonPublicReason};
use crate::percent::percent_decoded;
use crate::{Finding, characters};

/// Parses a URL, checks that all readers read it alike, and checks it against the policy.
pub(super) fn parse(written: &str, policy: &NetworkPolicy) -> Result<Url, Finding> {
    check_spelling(written)?;
    let (scheme, rest) = split_scheme(written)?;
    if !NetworkPolicy::has_scheme(scheme) {
        let why = "may not be used: use https, or the tool that is made for it";
        return Err(Finding::new("scheme", format!("URLs of the scheme `{scheme}:` {why}")));
    }
    let rest = rest
        .strip_prefix("//")
        .filter(|rest| !rest.starts_with(['/', '\\']))
        .ok_or_else(|| ambiguous("write exactly two slashes between scheme and host"))?;
    let (host, rest) = split_authority(rest)?;
    let url =
        Url::parse(written).map_err(|_| ambiguous("it is no valid URL: check the host and the port"))?;
    refuse_if(!host.is_empty() && url.host().is_none(), "it names no host")?;
    let host = parse_host(host, url.port_or_known_default(), policy)?;
    // Both parsers must find the same host; for schemes that the URL parser does not know, it keeps the host as text.
    let is_other = url.host_str().is_none_or(|read| Host::parse(read).ok().as_ref() != Some(&host));
    refuse_if(is_other, "its host can be read in more than one way")?;
    check_nested(rest)?;
    Ok(url)
}

/// Parses a host, and checks it at a port, if that is known: first its meaning against the policy, then its notation.
pub(super) fn parse_host(
    written: &str,
    port: Option<u16>,
    policy: &NetworkPolicy,
) -> Result<Host<String>, Finding> {
    characters::check(written)?;
    let host = Host::parse(written).map_err(|_| ambiguous("its host is neither a name nor an address"))?;
    policy.judge_host(&host, port)?;
    match &host {
        Host::Ipv4(ip) => {
            // Readers disagree on the base of numbers such as `010` in `010.8.8.8`, so only the usual notation means
            // one address.
            let is_usual = written.strip_suffix('.').unwrap_or(written) == ip.to_string();
            refuse_if(!is_usual, "write the address as four decimal numbers")?;
        }
        Host::Ipv6(_) => {}
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            let is_label = |label: &str| !label.is_empty() && label.len() < 64 && label.bytes().all(plain);
            let is_odd = !name.split('.').all(is_label);
            refuse_if(is_odd, "a host consists of letters, digits, hyphens and dots")?;
            refuse_if(written.contains('%'), "write its host without percent signs")?;
            // Non-ASCII letters whose host normalizes to plain ASCII serve no other purpose than to look different.
            let is_encoded = name.split('.').any(|label| label.starts_with("xn--"));
            refuse_if(!written.is_ascii() && !is_encoded, "write its host in plain letters")?;
        }
    }
    Ok(host)
}

/// Refuses text that no URL contains in any part: white space, control and hidden characters, and excessive length.
fn check_spelling(written: &str) -> Result<(), Finding> {
    if written.len() > MAX_BYTES {
        return Err(Finding::new("ambiguous-url", "the URL is too long: send the data in the body"));
    }
    let is_odd = written.contains(|character: char| character.is_whitespace() || character.is_control());
    refuse_if(is_odd, "it contains white space or control characters: percent-encode them")?;
    characters::check(written)
}

fn split_scheme(written: &str) -> Result<(&str, &str), Finding> {
    let missing = || ambiguous("write the whole URL, beginning with https://");
    let (scheme, rest) = written.split_once(':').ok_or_else(missing)?;
    let starts = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    if starts && scheme.chars().all(is_of_scheme) { Ok((scheme, rest)) } else { Err(missing()) }
}

/// Returns whether the character may stand in the name of a scheme.
pub(crate) fn is_of_scheme(character: char) -> bool {
    character.is_ascii_alphanumeric() || "+-.".contains(character)
}

/// Splits the text behind the two slashes of a URL into the host, and the path, query and fragment. Credentials, if
/// present, must be such that they cannot be taken for the host.
fn split_authority(text: &str) -> Result<(&str, &str), Finding> {
    // Readers disagree on whether `?`, `#` and `\` end the authority. Up to the first slash, these characters must not
    // hide an `@` that could begin another authority.
    let until_slash = &text[..text.find('/').unwrap_or(text.len())];
    let end = until_slash.find(['?', '#']).unwrap_or(until_slash.len());
    let (authority, behind) = until_slash.split_at(end);
    let hidden = behind.find('@').is_some_and(|at| !behind.starts_with('?') || !behind[..at].contains('='));
    refuse_if(hidden, "write a slash behind the host, and `@` as %40")?;
    let path_end = text.find(['?', '#']).unwrap_or(text.len());
    let is_backward = text[..path_end].contains('\\') || behind.contains('\\');
    refuse_if(is_backward, "write slashes, not backslashes")?;
    let (user, address) =
        authority.rsplit_once('@').map_or((None, authority), |(user, address)| (Some(user), address));
    let host = if let Some(inside) = address.strip_prefix('[') {
        let close = inside.find(']').ok_or_else(|| ambiguous("a bracket is not closed"))?;
        check_port(&inside[close + 1..])?;
        &address[..close + 2]
    } else {
        let (host, port) = address.find(':').map_or((address, ""), |colon| address.split_at(colon));
        check_port(port)?;
        host
    };
    let is_unclear = user.is_some_and(|user| !is_plain_user(user));
    let why = "what stands before `@` could be taken for the host: send credentials in a header";
    refuse_if(is_unclear, why)?;
    Ok((host, &text[end..]))
}

fn is_plain_user(user: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~' | b'+');
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    !name.is_empty() && name.bytes().all(plain) && password.bytes().all(plain)
}

fn check_port(text: &str) -> Result<(), Finding> {
    let digits = text.strip_prefix(':').unwrap_or(text);
    let valid = text.is_empty()
        || (text.starts_with(':') && digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    refuse_if(!valid, "a port is a number up to 65535")
}

fn refuse_if(condition: bool, instead: &str) -> Result<(), Finding> {
    if condition { Err(ambiguous(instead)) } else { Ok(()) }
}

fn ambiguous(instead: &str) -> Finding {
    Finding::new("ambiguous-url", format!("programs would read the URL differently: {instead}"))
}

/// Returns the URL that a redirect from `at` to the value of the header `Location` leads to, judged like the first URL of
/// the request.
#[cfg(feature = "network")]
pub(super) fn redirected(at: &Url, location: &str, policy: &NetworkPolicy) -> Result<Url, Finding> {
    check_spelling(location)?;
    // Only a location without a host of its own is joined; joining others would repair text that ought to be refused.
    let begins_path =
        location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\");
    let names_host = location.contains(':') || location.contains('\\') || location.starts_with("//");
    let to: Cow<'_, str> = if begins_path || !names_host {
        let why = "the server redirects to something that is no URL: use another source";
        let joined = at.join(location).map_err(|_| Finding::new("ambiguous-url", why))?;
        String::from(joined).into()
    } else if location.starts_with("//") {
        format!("{}:{location}", at.scheme()).into()
    } else {
        location.into()
    };
    let to = parse(&to, policy)?;
    let is_encrypted = |url: &Url| matches!(url.scheme(), "https" | "wss");
    if is_encrypted(at) && !is_encrypted(&to) {
        let why = "the server redirects from an encrypted connection to one that is not: use another source";
        return Err(Finding::new("downgrade", why));
    }
    Ok(to)
}

/// Checks the URLs in the path, query and fragment of another URL, of which `rest` consists.
///
/// An inner URL is either fetched by the operator of the outer host, or is the target of a redirect, which is judged by
/// itself. A local address is therefore harmless here, and common: sign-in flows end at one. Metadata services of
/// clouds are refused: there is no honest reason to pass on their address, and the host that fetches it gives away its
/// own credentials.
pub(crate) fn check_nested(rest: &str) -> Result<(), Finding> {
    let mut text = Cow::Borrowed(rest);
    for _ in 0..MAX_LAYERS {
        check_layer(&text)?;
        let Some(decoded) = percent_decoded(&text) else { break };
        text = Cow::Owned(decoded);
    }
    Ok(())
}

/// Refuses a text with a URL, or a parameter that begins with a host and a port or path, that names a metadata service.
fn check_layer(text: &str) -> Result<(), Finding> {
    let mut looked_at = 0;
    for (at, byte) in text.bytes().enumerate() {
        let is_url = byte == b'/' && text.as_bytes().get(at + 1) == Some(&b'/');
        if !is_url && byte != b'=' {
            continue;
        }
        looked_at += 1;
        if looked_at > MAX_INNER {
            let why = "the URL contains too many others: send the data in the body";
            return Err(Finding::new("ambiguous-url", why));
        }
        let inner = &text[at + if is_url { 2 } else { 1 }..];
        let host = host_of(inner);
        let goes_on = inner.split_once(host).is_some_and(|(_, rest)| rest.starts_with([':', '/']));
        if (is_url || goes_on) && is_metadata(host) {
            return Err(NonPublicReason::Metadata.finding());
        }
    }
    Ok(())
}

/// Returns the host at the beginning of `text`, without credentials.
pub(crate) fn host_of(text: &str) -> &str {
    let bounded = text.char_indices().nth(MAX_HOST).map_or(text, |(end, _)| &text[..end]);
    let authority = &bounded
        [..bounded.find(['/', '?', '#', '&', '\\', ' ', '"', '\'', ';', ',']).unwrap_or(bounded.len())];
    bare_host(authority.rsplit_once('@').map_or(authority, |(_, address)| address))
}

/// Returns the host in a word without a scheme.
pub(super) fn bare_host(word: &str) -> &str {
    if word.starts_with('[') {
        return word.split_inclusive(']').next().unwrap_or(word);
    }
    word.split(['/', ':', '?', '#']).next().unwrap_or(word)
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

/// The largest length of a URL in bytes: longer than servers accept, and short enough to search.
const MAX_BYTES: usize = 64 * 1024;
