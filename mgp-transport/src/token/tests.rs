//! One table of attacks, which runs for tokens of every purpose.

use std::time::Duration;

use mgp_types::{Method, Params, Principal};

use super::{SealingKey, SingleUseTokens, TokenBinding, TokenError, TokenPurpose};

const ALL: [TokenPurpose; 5] = [
    TokenPurpose::RequestState,
    TokenPurpose::ParkedCall,
    TokenPurpose::Confirmation,
    TokenPurpose::Checkpoint,
    TokenPurpose::SessionState,
];
const MINUTE: Duration = Duration::from_mins(1);
const KEY: [u8; 32] = [1; 32];

fn key() -> SealingKey {
    SealingKey::new(KEY).for_server("docs")
}

fn ada() -> Principal {
    Principal::new("ada")
}

fn bound(purpose: TokenPurpose, principal: &Principal, tool: &str, arguments: &str) -> TokenBinding {
    TokenBinding::new(purpose, Some(principal)).and(tool.as_bytes()).and(arguments.as_bytes())
}

fn own(purpose: TokenPurpose) -> TokenBinding {
    bound(purpose, &ada(), "delete", r#"{"id":1}"#)
}

/// Returns `token` with its characters changed by `change`.
fn changed(token: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = token.as_bytes().to_vec();
    change(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

type Attack = fn(TokenPurpose, &str) -> (SealingKey, String, TokenBinding);

/// The attacks, and how each is answered: the attacker has a token of `ada` for one call, and tries this.
const ATTACKS: &[(&str, TokenError, Attack)] = &[
    ("an empty text", TokenError::Forged, |purpose, _| (key(), String::new(), own(purpose))),
    ("a text that is no base64url", TokenError::Forged, |purpose, token| {
        (key(), changed(token, |bytes| bytes[9] = b'+'), own(purpose))
    }),
    ("a made-up token", TokenError::Forged, |purpose, token| (key(), "A".repeat(token.len()), own(purpose))),
    ("a truncated token", TokenError::Forged, |purpose, token| {
        (key(), token[..token.len() - 4].into(), own(purpose))
    }),
    ("a token cut within its nonce", TokenError::Forged, |purpose, token| {
        (key(), token[..20].into(), own(purpose))
    }),
    ("a longer token", TokenError::Forged, |purpose, token| (key(), format!("{token}AAAA"), own(purpose))),
    ("two tokens in one", TokenError::Forged, |purpose, token| (key(), token.repeat(2), own(purpose))),
    ("another id of the key", TokenError::Forged, |purpose, token| {
        (key(), changed(token, |bytes| bytes[0] ^= 1), own(purpose))
    }),
    ("another principal", TokenError::Forged, |purpose, token| {
        (key(), token.into(), bound(purpose, &Principal::new("bob"), "delete", r#"{"id":1}"#))
    }),
    ("an operator of the same name", TokenError::Forged, |purpose, token| {
        (key(), token.into(), bound(purpose, &Principal::operator("ada"), "delete", r#"{"id":1}"#))
    }),
    ("nobody known", TokenError::Forged, |purpose, token| {
        (key(), token.into(), TokenBinding::new(purpose, None).and(b"delete").and(br#"{"id":1}"#))
    }),
    ("another tool", TokenError::Forged, |purpose, token| {
        (key(), token.into(), bound(purpose, &ada(), "drop", r#"{"id":1}"#))
    }),
    ("other arguments", TokenError::Forged, |purpose, token| {
        (key(), token.into(), bound(purpose, &ada(), "delete", r#"{"id":2}"#))
    }),
    ("another server with the same key", TokenError::Forged, |purpose, token| {
        (SealingKey::new(KEY).for_server("mail"), token.into(), own(purpose))
    }),
    ("another key", TokenError::Forged, |purpose, token| {
        (SealingKey::new([2; 32]).for_server("docs"), token.into(), own(purpose))
    }),
    ("a text of a byte too many", TokenError::TooLarge, |purpose, _| {
        (key(), "A".repeat(purpose.max_bytes() + 1), own(purpose))
    }),
    ("a token whose time is over", TokenError::Expired, |purpose, _| {
        let old = key();
        let token = old.seal(b"content", &own(purpose), Duration::ZERO).unwrap();
        let began = old.now();
        while old.now() <= began {
            std::thread::yield_now();
        }
        (old, token, own(purpose))
    }),
];

#[test]
fn no_attack_opens_a_token_of_any_purpose() {
    for purpose in ALL {
        let token = key().seal(b"content", &own(purpose), MINUTE).unwrap();
        assert_eq!(key().open(&token, &own(purpose)).unwrap(), b"content", "{purpose:?}");
        for (attack, expected, make) in ATTACKS {
            let (key, token, binding) = make(purpose, &token);
            assert_eq!(key.open(&token, &binding), Err(*expected), "{purpose:?}: {attack}");
            let proven = key.open_expired(&token, &binding).err();
            assert_eq!(
                proven,
                Some(*expected).filter(|why| *why != TokenError::Expired),
                "{purpose:?}: {attack}"
            );
        }
        for other in ALL.into_iter().filter(|other| *other != purpose) {
            let refused = key().open(&token, &own(other)).unwrap_err();
            let too_long = token.len() > other.max_bytes();
            assert_eq!(
                refused,
                if too_long { TokenError::TooLarge } else { TokenError::Forged },
                "a token of {purpose:?} for {other:?}"
            );
        }
    }
}

#[test]
fn a_token_of_any_purpose_is_taken_once_and_by_the_process_that_sealed_it() {
    for purpose in ALL {
        let (tokens, elsewhere) = (SingleUseTokens::new(key()), SingleUseTokens::new(key()));
        let token = tokens.seal(b"content", &own(purpose), MINUTE).unwrap();
        let other = bound(purpose, &ada(), "delete", r#"{"id":2}"#);
        assert_eq!(tokens.take(&token, &other), Err(TokenError::Forged), "{purpose:?}");
        assert_eq!(elsewhere.take(&token, &own(purpose)), Err(TokenError::Forged), "{purpose:?}");
        assert_eq!(key().open(&token, &own(purpose)), Err(TokenError::Forged), "{purpose:?}");
        // An attempt that failed uses nothing up.
        assert_eq!(tokens.take(&token, &own(purpose)).unwrap(), b"content", "{purpose:?}");
        assert_eq!(tokens.take(&token, &own(purpose)), Err(TokenError::Spent), "{purpose:?}");
    }
}

#[test]
fn of_many_simultaneous_uses_one_succeeds() {
    let tokens = SingleUseTokens::new(key());
    let binding = own(TokenPurpose::Confirmation);
    let token = tokens.seal(b"", &binding, MINUTE).unwrap();
    let successes = std::thread::scope(|scope| {
        let uses: Vec<_> = (0..8).map(|_| scope.spawn(|| tokens.take(&token, &binding).is_ok())).collect();
        uses.into_iter().map(|used| used.join().unwrap()).filter(|taken| *taken).count()
    });
    assert_eq!(successes, 1);
}

#[test]
fn a_change_of_any_character_is_noticed() {
    let binding = own(TokenPurpose::SessionState);
    let token = key().seal(b"content", &binding, MINUTE).unwrap();
    for place in 0..token.len() {
        let changed = changed(&token, |bytes| bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' });
        assert_eq!(key().open(&changed, &binding), Err(TokenError::Forged), "character {place}");
    }
}

#[test]
fn keys_before_the_present_one_open_and_others_do_not() {
    let binding = own(TokenPurpose::RequestState);
    let old = key().seal(b"x", &binding, MINUTE).unwrap();
    let newer = || SealingKey::new([3; 32]).for_server("docs");
    assert_eq!(newer().open(&old, &binding), Err(TokenError::Forged));
    let rotated = newer().with_previous([2; 32]).with_previous(KEY);
    assert_eq!(rotated.open(&old, &binding).unwrap(), b"x");
    let new = rotated.seal(b"y", &binding, MINUTE).unwrap();
    assert_eq!(newer().open(&new, &binding).unwrap(), b"y", "the present key seals");
}

#[test]
fn a_token_has_as_many_bytes_as_its_purpose_allows_and_no_more() {
    for purpose in ALL {
        let content = vec![7; purpose.max_bytes() / 4 * 3 - super::OVERHEAD];
        let token = key().seal(&content, &own(purpose), MINUTE).unwrap();
        assert_eq!(token.len(), purpose.max_bytes(), "{purpose:?}");
        assert_eq!(key().open(&token, &own(purpose)).unwrap(), content, "{purpose:?}");
        let more = key().seal(&[&content[..], b"x"].concat(), &own(purpose), MINUTE);
        assert_eq!(more, Err(TokenError::TooLarge), "{purpose:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_lasts_for_its_time_and_says_afterwards_whose_it_was() {
    let key = key();
    let binding = own(TokenPurpose::SessionState);
    let token = key.seal(b"ada's", &binding, MINUTE).unwrap();
    tokio::time::advance(Duration::from_secs(50)).await;
    assert_eq!(key.open(&token, &binding).unwrap(), b"ada's");
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(key.open(&token, &binding), Err(TokenError::Expired));
    assert_eq!(key.open_expired(&token, &binding).unwrap(), b"ada's");
    let forever = key.seal(b"x", &binding, Duration::MAX).unwrap();
    assert_eq!(key.open(&forever, &binding).unwrap(), b"x");
}

fn of_request(principal: &'static str, method: &Method, params: &'static str) -> TokenBinding {
    let params = Params::parse(params).unwrap();
    TokenBinding::of_request(TokenPurpose::RequestState, Some(&Principal::new(principal)), method, &params)
}

#[test]
fn rounds_of_one_request_have_one_binding_and_others_have_others() {
    let first = of_request("a", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":1}}"#);
    let next = of_request(
        "a",
        &Method::TOOLS_CALL,
        r#"{"name":"t","arguments":{"x":1},"_meta":{},"_mgp":{"deadline_ms":1},"trace_id":"t","inputResponses":{},"requestState":"s"}"#,
    );
    assert_eq!(first, next);
    let nobody =
        TokenBinding::of_request(TokenPurpose::RequestState, None, &Method::TOOLS_CALL, &Params::new());
    for other in [
        of_request("b", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":1}}"#),
        of_request("a", &Method::PROMPTS_GET, r#"{"name":"t","arguments":{"x":1}}"#),
        of_request("a", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":2}}"#),
        of_request("a", &Method::TOOLS_CALL, r#"{"name":"t"}"#),
        nobody,
    ] {
        assert_ne!(first, other);
    }
}

#[test]
fn a_fact_that_is_cut_elsewhere_is_another_one() {
    let none = TokenBinding::new(TokenPurpose::Checkpoint, None);
    let all = [
        none,
        none.and(b""),
        none.and(b"ab"),
        none.and(b"a").and(b"b"),
        none.and(b"b").and(b"a"),
        none.and(b"ab").and(b""),
        TokenBinding::new(TokenPurpose::Checkpoint, Some(&Principal::new("ab"))),
        TokenBinding::new(TokenPurpose::Checkpoint, Some(&Principal::operator("ab"))),
    ];
    for (place, one) in all.iter().enumerate() {
        assert!(all[..place].iter().all(|other| other != one), "{place}");
    }
}
