use std::time::Duration;

use mgp_types::ext::DataReference;
use mgp_types::mgp::Timestamp;

use super::answer::{AskedRange, asked};
use super::{ReferenceAnswer, ReferenceData, ReferenceRequest, ReferenceStore};

const TTL: Duration = Duration::from_mins(5);

fn store() -> ReferenceStore {
    ReferenceStore::new("amplitude", "https://amplitude.example/data/").unwrap()
}

/// Returns the query of an address.
fn query(address: &str) -> &str {
    address.split_once('?').unwrap().1
}

fn body(answer: ReferenceAnswer) -> Vec<u8> {
    let mut all = Vec::new();
    let Some(mut body) = answer.body else { return all };
    while let Some(piece) = body.next_piece().unwrap() {
        assert!(!piece.is_empty() && piece.len() <= 64 << 10);
        all.extend_from_slice(&piece);
    }
    all
}

fn header<'a>(answer: &'a ReferenceAnswer, name: &str) -> &'a str {
    answer.headers.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}

fn address(reference: &DataReference) -> String {
    reference.access_url.as_deref().unwrap().to_owned()
}

#[test]
fn data_comes_whole_or_in_parts_that_make_the_whole() {
    let data: Vec<u8> = (0..200_000_u32).map(|byte| byte.to_le_bytes()[0]).collect();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &data).unwrap();
    let store = store();
    for source in [ReferenceData::from(data.clone()), ReferenceData::file(file.path()).unwrap()] {
        let reference = store.hold(source, "application/octet-stream", TTL).unwrap();
        let address = address(&reference);
        let mut request = ReferenceRequest::get(&reference.ref_id, query(&address));
        let all = store.answer(&request, Timestamp::now());
        let checksum = reference.checksum.as_ref().unwrap();
        assert_eq!((all.status, header(&all, "ETag")), (200, &*format!("\"sha256-{}\"", checksum.value)));
        assert_eq!(body(all), data);
        request.range = Some("bytes=0-99999");
        let first = store.answer(&request, Timestamp::now());
        assert_eq!((first.status, header(&first, "Content-Range")), (206, "bytes 0-99999/200000"));
        let tag = header(&first, "ETag").to_owned();
        (request.range, request.if_range) = (Some("bytes=100000-"), Some(&*tag));
        let rest = store.answer(&request, Timestamp::now());
        assert_eq!((rest.status, header(&rest, "Content-Length")), (206, "100000"));
        assert_eq!([body(first), body(rest)].concat(), data);
        request.if_range = Some("\"another\"");
        assert_eq!(store.answer(&request, Timestamp::now()).status, 200, "other data comes whole");
        (request.range, request.if_range) = (Some("bytes=200000-"), None);
        let outside = store.answer(&request, Timestamp::now());
        assert_eq!((outside.status, header(&outside, "Content-Range")), (416, "bytes */200000"));
        (request.method, request.range) = ("HEAD", None);
        let head = store.answer(&request, Timestamp::now());
        assert_eq!(
            (head.status, header(&head, "Content-Length"), head.body.is_none()),
            (200, "200000", true)
        );
    }
}

#[test]
fn nobody_gets_data_without_a_signature_that_holds_now() {
    let store = store();
    let reference = store.hold("secret", "text/plain", TTL).unwrap();
    let address = address(&reference);
    let query = query(&address);
    let status = |ref_id: &str, query: &str, late: u64| {
        let now = Timestamp::now().saturating_add(Duration::from_secs(late));
        store.answer(&ReferenceRequest::get(ref_id, query), now).status
    };
    let own = &*reference.ref_id;
    assert_eq!(status(own, query, 0), 200);
    assert_eq!(status(own, query, 301), 403, "it is over");
    let other = store.hold("other", "text/plain", TTL).unwrap();
    assert_eq!(status(&other.ref_id, query, 0), 403, "it is another reference's");
    assert_eq!(status("ref-unknown", query, 0), 404);
    let exp = query.split('&').find(|member| member.starts_with("exp=")).unwrap();
    let sig = query.split('&').find(|member| member.starts_with("sig=")).unwrap();
    for forged in [
        String::new(),
        sig.to_owned(),
        query.replace(exp, "exp=99999999999"),
        query.replace(exp, "exp=-1"),
        query.replace(sig, "sig=00"),
        query.replace(&sig[..6], if sig.starts_with("sig=00") { "sig=11" } else { "sig=00" }),
        query.to_uppercase(),
        format!("{query}&aud=mail"),
        format!("{query}&more=1"),
        format!("{query}&{exp}"),
    ] {
        assert_eq!(status(own, &forged, 0), 403, "{forged}");
    }
    let elsewhere = ReferenceStore::new("amplitude", "https://amplitude.example/data").unwrap();
    assert_eq!(elsewhere.answer(&ReferenceRequest::get(own, query), Timestamp::now()).status, 404);
    let mut post = ReferenceRequest::get(own, query);
    post.method = "POST";
    assert_eq!(store.answer(&post, Timestamp::now()).status, 405);
}

#[test]
fn an_address_that_is_granted_to_a_server_is_for_no_other() {
    let store = store();
    let reference = store.hold("data", "text/plain", TTL).unwrap();
    let granted = store.grant(&reference.ref_id, "sheets").unwrap();
    assert!(!format!("{granted:?}").contains("sig="));
    let status = |audience: Option<&str>, query: &str| {
        let mut request = ReferenceRequest::get(&reference.ref_id, query);
        request.audience = audience;
        store.answer(&request, Timestamp::now()).status
    };
    let own = query(&granted.access_url);
    assert_eq!(status(Some("sheets"), own), 200);
    for other in [None, Some("mail"), Some("")] {
        assert_eq!(status(other, own), 403, "{other:?}");
    }
    assert_eq!(status(Some("mail"), &own.replace("aud=sheets", "aud=mail")), 403);
    assert_eq!(status(None, &own.replace("&aud=sheets", "")), 403);
    for name in ["", "a|b", "a&b", "a b", "ä"] {
        assert!(store.grant(&reference.ref_id, name).is_err(), "{name}");
        assert!(ReferenceStore::new(name, "https://a.example").is_err(), "{name}");
    }
}

#[test]
fn a_reference_is_renewed_while_it_lasts_and_is_gone_when_it_was_released() {
    let store = store();
    let reference = store.hold("data", "text/plain", Duration::from_mins(1)).unwrap();
    let renewed = store.renew(&reference.ref_id, TTL).unwrap();
    assert!(renewed.expires_at > reference.expires_at);
    assert_eq!(store.renew(&reference.ref_id, Duration::ZERO).unwrap().expires_at, renewed.expires_at);
    let later = Timestamp::now().saturating_add(Duration::from_secs(200));
    let (old, new) = (address(&reference), address(&renewed));
    let status = |query, now| store.answer(&ReferenceRequest::get(&reference.ref_id, query), now).status;
    assert_eq!(status(query(&old), later), 403);
    assert_eq!(status(query(&new), later), 200);
    assert!(store.release(&reference.ref_id) && !store.release(&reference.ref_id));
    assert_eq!(status(query(&new), later), 410);
    assert_eq!(store.renew(&reference.ref_id, TTL).unwrap_err().code(), 3022);
    assert_eq!(store.grant("ref-unknown", "sheets").unwrap_err().code(), 3021);
}

#[test]
fn what_is_held_is_bounded_in_number_time_and_memory() {
    let store = store();
    let long = store.hold("data", "text/plain", Duration::MAX).unwrap();
    let left = long.expires_at.unwrap().since(Timestamp::now());
    assert!(left <= Duration::from_hours(1), "{left:?}");
    let odd = store.hold("data", "text/html\r\nX-Evil: 1", TTL).unwrap();
    assert_eq!(&*odd.mime_type, "application/octet-stream");
    let full = (0..2000).take_while(|_| store.hold("x", "text/plain", TTL).is_ok()).count();
    assert_eq!(full, 1022);
    assert_eq!(store.hold("x", "text/plain", TTL).unwrap_err().code(), 3001);
    let small = self::store().with_max_memory(10);
    let first = small.hold("12345678", "text/plain", TTL).unwrap();
    assert_eq!(small.hold("123", "text/plain", TTL).unwrap_err().code(), 3001);
    assert!(small.release(&first.ref_id));
    assert!(small.hold("123", "text/plain", TTL).is_ok(), "what was released takes no room");
}

#[test]
fn ranges_are_read_as_http_has_them() {
    for (header, expected) in [
        ("bytes=0-4", AskedRange::Part(0..5)),
        ("bytes=5-", AskedRange::Part(5..10)),
        ("bytes=-3", AskedRange::Part(7..10)),
        ("bytes=-30", AskedRange::Part(0..10)),
        ("bytes=5-99999999999999999999999", AskedRange::Part(5..10)),
        ("bytes=10-", AskedRange::Outside),
        ("bytes=-0", AskedRange::Outside),
        ("bytes=99999999999999999999999-", AskedRange::Outside),
        ("bytes=5-4", AskedRange::All),
        ("bytes=0-1,3-4", AskedRange::All),
        ("bytes=-", AskedRange::All),
        ("bytes=+1-2", AskedRange::All),
        ("rows=0-4", AskedRange::All),
        ("", AskedRange::All),
    ] {
        assert_eq!(asked(header, 10), expected, "{header}");
    }
    assert_eq!(asked("bytes=0-", 0), AskedRange::Outside);
}
