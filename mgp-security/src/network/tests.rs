use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::doubles::cases;

fn rule(url: &str) -> Option<&'static str> {
    check_url(url, &NetworkPolicy::default()).err().map(|finding| finding.rule)
}

fn rule_of(judged: Result<(), Finding>) -> &'static str {
    judged.err().map_or("passes", |finding| finding.rule)
}

/// Returns the rows of the table for one test.
fn rows(test: &str) -> impl Iterator<Item = (&'static str, String)> {
    let rows = cases(include_str!("policies.txt"));
    rows.filter_map(move |(key, text)| Some((key.strip_prefix(test)?.strip_prefix(' ')?, text)))
}

// covers: MGP-4.5-03
#[test]
fn every_row_of_the_table_has_its_class() {
    for (class, url) in cases(include_str!("urls.txt")) {
        assert_eq!(rule(&url).unwrap_or("passes"), class, "{url:?}");
    }
    assert_eq!(rule(&format!("https://example.com/?q={}", "x".repeat(10_000))), None);
}

#[test]
fn lists_decide_denied_first() {
    let pattern = |text: &str| text.parse::<HostPattern>().unwrap();
    let policy = NetworkPolicy::default()
        .allow_host(pattern("*.corp.internal"))
        .allow_host(pattern("10.0.0.7"))
        .allow_host(pattern("www.example.net"))
        .deny_host(pattern("secret.corp.internal"))
        .deny_host(pattern("*.example.net"))
        .deny_host(pattern("8.8.8.8"));
    for (expected, host) in rows("lists") {
        assert_eq!(rule_of(check_host(&host, &policy)), expected, "{host}");
    }
    let only = policy.only_allowed_hosts();
    assert_eq!(check_host("example.com", &only).unwrap_err().rule, "host-not-allowed");
    assert_eq!(check_host("build.corp.internal", &only), Ok(()));
    assert_eq!(only.judge_address(IpAddr::from([1, 1, 1, 1]), None).unwrap_err().rule, "host-not-allowed");
}

#[test]
fn a_pattern_lets_its_port_through_and_no_other() {
    let pattern = |text: &str| text.parse::<HostPattern>().unwrap();
    let policy = NetworkPolicy::default()
        .allow_host(pattern("localhost:3000"))
        .allow_host(pattern("*.internal:8443"))
        .allow_host(pattern("10.0.0.0/8"))
        .allow_host(pattern("[fd00::7]:80"))
        .deny_host(pattern("10.0.0.9:22"));
    for (expected, url) in rows("ports") {
        assert_eq!(rule_of(check_url(&url, &policy)), expected, "{url}");
    }
    assert_eq!(check_text("curl localhost:3000/a", &policy), Ok(()));
    assert!(check_text("curl localhost:3001/a", &policy).is_err());
    assert_eq!(check_host("localhost:3000", &policy), Ok(()));
    // A port that nobody knows is let through by no pattern that names one, and is denied by each.
    assert!(check_host("localhost", &policy).is_err());
    assert_eq!(check_host("10.0.0.9", &policy).unwrap_err().rule, "denied-host");
}

#[test]
fn a_network_and_a_wildcard_do_not_open_metadata_and_the_address_itself_does() {
    let policy = |allowed: &str| NetworkPolicy::default().allow_host(allowed.parse().unwrap());
    for allowed in ["169.254.0.0/16", "168.0.0.0/8", "fd00::/8", "*.internal"] {
        for url in [
            "http://169.254.169.254/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://168.63.129.16/",
            "http://[fd00:ec2::254]/",
            "http://metadata.google.internal./",
        ] {
            assert_eq!(
                check_url(url, &policy(allowed)).unwrap_err().rule,
                "metadata-endpoint",
                "{allowed} {url}"
            );
        }
    }
    assert_eq!(check_url("http://169.254.169.254/", &policy("169.254.169.254")), Ok(()));
}

#[test]
fn a_refusal_names_the_line_that_lets_the_host_through_and_the_line_does() {
    for (url, allowed) in [
        ("http://localhost:3000/x", "localhost:3000"),
        ("https://Wiki.Corp/x", "wiki.corp:443"),
        ("http://[::ffff:7f00:1]:81/", "127.0.0.1:81"),
        ("http://10.0.0.7/", "10.0.0.7:80"),
    ] {
        let policy = NetworkPolicy::default().for_server("web");
        let finding = check_url(url, &policy).unwrap_err();
        let line = format!("`[servers.network] allow = [\"{allowed}\"]` in the table of the server `web`");
        assert!(finding.message.contains(&line), "{finding}");
        assert_eq!(check_url(url, &policy.allow_host(allowed.parse().unwrap())), Ok(()), "{url}");
    }
    for url in ["http://169.254.169.254/", "http://7f000001.rbndr.us/", "http://a\"`$(x).internal/"] {
        let finding = check_url(url, &NetworkPolicy::default()).unwrap_err();
        assert!(!finding.message.contains("allow ="), "{finding}");
    }
}

#[test]
fn loopback_is_let_through_in_all_spellings_and_nothing_else_is() {
    let policy = NetworkPolicy::default().allow_loopback();
    for (expected, url) in rows("loopback") {
        assert_eq!(rule_of(check_url(&url, &policy)), expected, "{url}");
    }
    let denied = policy.deny_host("localhost:1".parse().unwrap());
    assert_eq!(check_url("http://localhost:1/", &denied).unwrap_err().rule, "denied-host");
}

#[test]
fn urls_and_addresses_are_found_in_other_text() {
    let found = |text| found::find_urls(text).collect::<Vec<_>>();
    assert_eq!(
        found("curl -s http://127.0.0.1:80/x; echo 'https://a.example/?b=c'."),
        ["http://127.0.0.1:80/x", "https://a.example/?b=c"]
    );
    assert_eq!(
        found("--proxy=socks5://h:1,http://i/ ping 10.0.0.1 root@10.0.0.2:/x host=[::1]:80 ::1"),
        ["socks5://h:1", "http://i/", "10.0.0.1", "10.0.0.2:/x", "[::1]:80", "::1"]
    );
    assert_eq!(
        found("nc 0x7f000001:80 2130706433/ 127.1:80 localhost:3000/x 0251.0376.0251.0376"),
        ["0x7f000001:80", "2130706433/", "127.1:80", "localhost:3000/x", "0251.0376.0251.0376"]
    );
    assert!(found("version 1.2.3, at 12:30, localhost is a word, a::b, 1/2, file.rs:10:5 x://").len() <= 1);
    let policy = NetworkPolicy::default();
    assert_eq!(check_text("see https://example.com/ and 1.1.1.1, v1.2.3 at 12:30", &policy), Ok(()));
    for text in
        ["curl http://127.0.0.1", "x=10.0.0.1", "wget -O- [::1]:80/x", "get ::1", "\"url\":\"http://[::]\""]
    {
        assert!(check_text(text, &policy).is_err(), "{text}");
    }
}

#[cfg(feature = "network")]
fn redirected(from: &str, location: &str, policy: &NetworkPolicy) -> Result<String, Finding> {
    target::redirected(&target::parse(from, policy)?, location, policy).map(String::from)
}

#[cfg(feature = "network")]
#[test]
fn a_redirect_is_a_new_url() {
    let policy = NetworkPolicy::default();
    let from = "https://example.com/a/b";
    for (expected, location) in rows("redirects") {
        let to = redirected(from, &location, &policy).unwrap_or_else(|finding| finding.rule.to_owned());
        assert_eq!(to, expected, "{location:?}");
    }
    assert!(redirected("http://example.com/", "https://example.com/", &policy).is_ok());
}

/// One number in each base that parsers of addresses read.
fn spelled(number: u32, base: u8, zeros: usize) -> String {
    let zeros = "0".repeat(zeros);
    match base % 4 {
        0 => format!("{number}"),
        1 => format!("0{zeros}{number:o}"),
        2 => format!("0x{zeros}{number:x}"),
        _ => format!("0X{zeros}{number:X}"),
    }
}

prop_compose! {
    fn blocked_address()(
        (net, bits) in prop::sample::select(vec![
            ([0, 0, 0, 0], 8), ([10, 0, 0, 0], 8), ([100, 64, 0, 0], 10), ([127, 0, 0, 0], 8), ([169, 254, 0, 0], 16),
            ([172, 16, 0, 0], 12), ([192, 0, 0, 0], 24), ([192, 0, 2, 0], 24), ([192, 168, 0, 0], 16),
            ([198, 18, 0, 0], 15), ([198, 51, 100, 0], 24), ([203, 0, 113, 0], 24), ([224, 0, 0, 0], 4),
            ([240, 0, 0, 0], 4),
        ]),
        host in any::<u32>(),
    ) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(Ipv4Addr::from(net)) | (host & (u32::MAX >> bits)))
    }
}

proptest! {
    #[test]
    fn every_spelling_of_every_forbidden_address_is_refused(
        ip in blocked_address(), parts in 1_usize..=4, bases in any::<[u8; 4]>(), zeros in 0_usize..4,
        dot in prop::sample::select(vec![".", "。", "．", "%2e"]), end in prop::sample::select(vec!["", "."]),
        user in prop::sample::select(vec!["", "a:b@"]), port in prop::sample::select(vec!["", ":8080"]),
    ) {
        let octets = ip.octets();
        let mut numbers: Vec<String> =
            (0..parts - 1).map(|at| spelled(octets[at].into(), bases[at], zeros)).collect();
        let last = u32::from(ip) & (u32::MAX.checked_shr(8 * (u32::try_from(parts).unwrap() - 1)).unwrap());
        numbers.push(spelled(last, bases[3], zeros));
        let host = numbers.join(dot);
        let url = format!("http://{user}{host}{end}{port}/x");
        let found = check_url(&url, &NetworkPolicy::default());
        prop_assert!(found.is_err(), "{url}");
        prop_assert!(check_host(&host, &NetworkPolicy::default()).is_err(), "{host}");
    }

    #[test]
    fn every_address_that_leads_to_a_forbidden_one_is_refused(ip in blocked_address()) {
        let policy = NetworkPolicy::default();
        let [a, b, c, d] = ip.octets().map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        prop_assert!(policy.judge_address(IpAddr::V4(ip), None).is_err());
        for v6 in [
            ip.to_ipv6_mapped(),
            ip.to_ipv6_compatible(),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0x5efe, high, low),
        ] {
            prop_assert!(policy.judge_address(IpAddr::V6(v6), None).is_err(), "{v6}");
            let url = format!("http://[{v6}]/");
            prop_assert!(check_url(&url, &policy).is_err(), "{url}");
        }
    }

    #[test]
    fn no_text_panics(any in ".*", like in "(https?://)?[a-z0-9@:/\\\\?#.%\\[\\]=, ]*") {
        let policy = NetworkPolicy::default();
        for text in [&any, &like] {
            let _ = check_url(text, &policy);
            let _ = check_host(text, &policy);
            let _ = check_text(text, &policy);
            let _ = redirected("https://example.com/", text, &policy);
        }
    }
}

#[cfg(feature = "code-safety")]
#[test]
fn a_metadata_service_is_known_in_every_spelling() {
    for (what, text) in rows("named") {
        assert_eq!(is_metadata_url(&text), what == "metadata", "{text}");
    }
}
