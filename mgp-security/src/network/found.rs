//! URLs and addresses found in free text.

#[cfg(feature = "permission")]
use std::net::IpAddr;
use std::net::Ipv6Addr;

use crate::Finding;

#[cfg(feature = "permission")]
use super::target::host_of;
use super::target::{bare_host, is_of_scheme};
use super::{NetworkPolicy, check_url, is_network_scheme, target};
use crate::percent::percent_decoded;

/// Checks a text that consists of URLs and addresses, as it stands and with one layer of percent-encoding decoded. A
/// text that only mentions one is for people, and passes. URLs of schemes that lead to no host pass, too.
///
/// Returns whether a URL leads to a service of this machine that only a client of its own scheme reaches, as in
/// `mongodb://localhost`: whether a call may go there is for a person to say.
pub(crate) fn check_addresses(text: &str, policy: &NetworkPolicy) -> Result<bool, Finding> {
    let is_decoded_local = match percent_decoded(text) {
        Some(decoded) => check_all_addresses(&decoded, policy)?,
        None => false,
    };
    Ok(check_all_addresses(text, policy)? || is_decoded_local)
}

fn check_all_addresses(text: &str, policy: &NetworkPolicy) -> Result<bool, Finding> {
    let mut words = text.split(is_delimiter).filter(|word| !word.is_empty());
    if !words.all(|word| target::is_metadata(word) || find_urls(word).next().is_some()) {
        return Ok(false);
    }
    let mut words = text.split(is_delimiter).filter(|word| target::is_metadata(word));
    words.try_for_each(|word| check_bare(word, policy))?;
    let mut has_local_service = false;
    for found in find_urls(text) {
        match found.split_once("://") {
            None => check_bare(found, policy)?,
            Some((scheme, _)) if is_network_scheme(scheme) => check_url(found, policy)?,
            Some((_, rest)) => {
                let host = target::host_of(rest);
                if target::is_metadata(host) || is_address(&format!("{host}/")) {
                    match check_bare(host, policy) {
                        Err(finding) if finding.rule == LOOPBACK => has_local_service = true,
                        judged => judged?,
                    }
                }
            }
        }
    }
    Ok(has_local_service)
}

/// The rule that refuses the addresses of this machine.
const LOOPBACK: &str = "loopback";

/// Checks every URL and address in free text, such as the arguments of a command.
pub(crate) fn check_text(text: &str, policy: &NetworkPolicy) -> Result<(), Finding> {
    find_urls(text).try_for_each(|found| {
        if found.contains("://") { check_url(found, policy) } else { check_bare(found, policy) }
    })
}

fn check_bare(word: &str, policy: &NetworkPolicy) -> Result<(), Finding> {
    if let Ok(ip) = word.parse::<Ipv6Addr>() {
        return policy.judge_address(ip.into(), None);
    }
    let authority = word.split(['/', '?', '#']).next().unwrap_or(word);
    let (_, port) = split_port(authority);
    target::parse_host(bare_host(word), port, policy).map(drop)
}

/// Splits a word into its host and its port. A word whose port is missing or invalid is returned as a whole.
pub(super) fn split_port(word: &str) -> (&str, Option<u16>) {
    let host = bare_host(word);
    let port = word.strip_prefix(host).and_then(|rest| rest.strip_prefix(':'));
    let port = port.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    port.and_then(|port| port.parse().ok()).map_or((word, None), |port| (host, Some(port)))
}

/// Returns the URLs in free text, and the words that are clearly addresses without a scheme: four numbers, an IPv6
/// address, and `localhost` or an address in another notation that is followed by a port or a path.
///
/// Words of prose are not taken for addresses: `1.2.3` is a version, and `localhost` alone is a word.
pub(super) fn find_urls(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_delimiter).flat_map(|word| {
        // One word may hold more than one: `--proxy=http://a/` and `10.0.0.1,10.0.0.2`.
        let mut rest = word.trim_end_matches(['.', ',', ':', '!', '?', '&']);
        std::iter::from_fn(move || {
            while !rest.is_empty() {
                let part = take_part(&mut rest);
                if let Some(colon) = part.find("://") {
                    return Some(&part[part[..colon].trim_end_matches(is_of_scheme).len()..]);
                }
                let value = part.rsplit(['=', '@']).next().unwrap_or(part).trim_start_matches('/');
                if is_address(value) {
                    return Some(value);
                }
            }
            None
        })
    })
}

/// Returns the hosts beyond this machine that the URLs in free text name, each with what stands behind it in its URL.
#[cfg(feature = "permission")]
pub(crate) fn outer_hosts(text: &str) -> impl Iterator<Item = (String, &str)> {
    find_urls(text).filter_map(|url| outer_host(url.split_once("://").map_or(url, |(_, rest)| rest)))
}

/// Returns the host at the beginning of a word without a scheme that is nothing but a host, as in `docs.rs/tokio`.
#[cfg(feature = "permission")]
pub(crate) fn bare_outer_host(word: &str) -> Option<(String, &str)> {
    let word = word.trim_start_matches('/');
    let is_host = |host: &str| {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let last = host.trim_end_matches('.').rsplit_once('.').map_or("", |(_, last)| last);
        host.bytes().all(is_of_name) && last.len() > 1 && last.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    outer_host(word).filter(|(host, _)| is_host(host) && !word.contains(char::is_whitespace))
}

#[cfg(feature = "permission")]
fn outer_host(rest: &str) -> Option<(String, &str)> {
    let host = host_of(rest);
    let behind = rest.split_once(host).map_or("", |(_, behind)| behind);
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    (!host.is_empty() && !is_here).then_some((host, behind))
}

/// Takes the text up to the next comma. A comma inside a URL does not end it, unless another URL follows.
fn take_part<'a>(rest: &mut &'a str) -> &'a str {
    let text = *rest;
    let mut in_url = false;
    let end = text.match_indices([',', ':']).find_map(|(at, mark)| {
        let after = &text[at + 1..];
        in_url |= mark == ":" && after.starts_with("//");
        (mark == "," && (!in_url || begins_url(after))).then_some(at)
    });
    let (part, behind) = end.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
    *rest = behind;
    part
}

fn begins_url(text: &str) -> bool {
    let behind = text.trim_start_matches(is_of_scheme);
    behind.len() < text.len() && behind.starts_with("://")
}

/// Returns whether a word without a scheme is an address.
fn is_address(word: &str) -> bool {
    if word.parse::<Ipv6Addr>().is_ok() {
        // `a::b` is a path in the source code of some languages.
        return word.bytes().any(|byte| byte.is_ascii_digit());
    }
    let host = bare_host(word);
    if let Some(inside) = host.strip_prefix('[') {
        return inside.trim_end_matches(']').parse::<Ipv6Addr>().is_ok();
    }
    let followed = word[host.len()..].starts_with([':', '/']);
    let host = host.trim_end_matches('.');
    if host.split('.').all(is_number) {
        let parts = host.split('.').count();
        // A single decimal number before a colon is a time of day or a line of a file, unless it is as large as an
        // address.
        let large = host.starts_with("0x") || host.starts_with("0X") || host.len() > 7;
        return parts == 4 || (followed && (parts > 1 || large));
    }
    followed && host.rsplit('.').next().unwrap_or(host).eq_ignore_ascii_case("localhost")
}

/// Returns whether a part of an address is a number: decimal, octal or hexadecimal.
fn is_number(part: &str) -> bool {
    let hex = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((part, 10), |hex| (hex, 16));
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
}

/// Returns whether the character ends a URL in prose, code and command lines.
fn is_delimiter(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '"' | '\'' | '`' | '<' | '>' | '|' | ';' | '(' | ')' | '{' | '}')
}
