//! The secrets in a text that are hidden from people who have to see everything else.
//!
//! A person who decides about a call must not be shown keys, and must see all that the call does. So only text that has
//! the form of a secret is hidden, and nothing that could have an effect: the hidden part is one run of letters, digits
//! and the few signs that keys are written with. It never contains a space, a quote or a sign that a shell acts on.

use std::ops::Range;

use mgp_types::secret::{certain_secrets, is_secret_name, is_secret_setting};
use mgp_types::words;

/// Returns the parts of `text` that look like secrets, in order.
pub(crate) fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = certain_secrets(text);
    found.retain(|part| {
        let hidden = &text[part.clone()];
        could_be_password(hidden)
            || hidden.bytes().all(|byte| byte.is_ascii_alphanumeric() || KEY_SIGNS.contains(&byte))
    });
    found
}

/// Returns whether a member of this name usually holds a password, which has no form of its own.
pub(crate) fn names_password(name: &str) -> bool {
    let words = words(name);
    let whole = words.concat();
    let is_last = |password: &&str| words.last().is_some_and(|last| last == password);
    PASSWORDS.iter().any(|password| is_last(password) || (password.len() > 4 && whole.ends_with(password)))
}

/// Returns whether a member of this name usually holds a key or token.
pub(crate) fn names_key(name: &str) -> bool {
    is_secret_name(name) && is_secret_setting(name)
}

/// Returns whether `text` could be a password or key and nothing else: one short word that is not a path,
/// URL or option.
pub(crate) fn could_be_password(text: &str) -> bool {
    let is_short = text.chars().count() <= LONGEST_PASSWORD && text.chars().any(char::is_alphanumeric);
    is_short
        && text.chars().all(|c| c.is_alphanumeric() || "_-.!#%^+=?@~".contains(c))
        && !text.starts_with('-')
}

/// Returns whether `text` could be a key: it could be a password, has letters and digits, and is at least 8 bytes long.
pub(crate) fn could_be_key(text: &str) -> bool {
    let has = |of: fn(&char) -> bool| text.chars().any(|c| of(&c));
    let is_mixed = has(char::is_ascii_digit) && has(|c| c.is_alphabetic());
    text.len() >= 8 && is_mixed && could_be_password(text)
}

const PASSWORDS: [&str; 7] = ["password", "passwords", "passwd", "passphrase", "passcode", "pwd", "passwort"];

/// The signs in keys, private keys of several lines included.
const KEY_SIGNS: &[u8] = b"_-./+~=:\r\n";

/// The largest length of a password, in characters.
const LONGEST_PASSWORD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        let mut out = text.to_owned();
        for part in secrets(text).into_iter().rev() {
            out.replace_range(part, "*");
        }
        out
    }

    #[test]
    fn keys_are_found_by_their_form_within_any_text() {
        for (text, expected) in [
            ("ghp_0123456789abcdefABCDEF", "*"),
            ("Authorization: Bearer sk-ant-api03-aB3dE5gH7jK9", "Authorization: Bearer *"),
            ("curl 'https://h/?api_key=q7Zp2LmX9vTc4RbN8sWk1YdF&x=1'", "curl 'https://h/?api_key=*&x=1'"),
            ("postgres://ada:hunter2@db/x", "postgres://ada:*@db/x"),
            ("AKIAIOSFODNN7EXAMPLE", "*"),
            ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4", "*"),
        ] {
            assert_eq!(hidden(text), expected);
        }
        let key = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
            "MIIEow12".repeat(12)
        );
        assert_eq!(hidden(&key), "-----BEGIN RSA PRIVATE KEY-----*-----END RSA PRIVATE KEY-----");
    }

    #[test]
    fn nothing_that_could_do_something_is_hidden() {
        for text in [
            "TOKEN=$(rm -rf ~)",
            "--password '; rm -rf /'",
            "-----BEGIN PRIVATE KEY-----; rm -rf / #",
            "echo -----BEGIN PRIVATE KEY-----\nrm -rf /home\n-----END PRIVATE KEY-----",
            "https://a:$(id)@h/",
            "git reset --hard 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "550e8400-e29b-41d4-a716-446655440000",
            "/home/ada/Projects/2026/Invoices/March",
            "@modelcontextprotocol/server-filesystem@2025.11.18",
            "sk-learn-regression-pipeline",
            "ThisIsALongCamelCaseIdentifierInJava2",
            "/home/Ada/Projects2026/Invoices11/MarchReport/Final",
            "git push origin feature-3f786850e387550fdab836",
            "DROP TABLE users_test_backup_of_march_2024",
            "kubectl delete deploy/global-payments-api-v2-prod",
            "transfer to 4111111111111111",
        ] {
            assert_eq!(hidden(text), text);
        }
    }

    #[test]
    fn data_that_is_longer_than_a_key_is_shown() {
        let data = "Qx7Lm2Zr9Tb4Vn8Kp1Ws".repeat(20);
        assert_eq!(hidden(&data), data);
        assert_eq!(hidden(&data[..40]), "*");
    }

    #[test]
    fn a_name_alone_hides_nothing() {
        for name in ["password", "db_password", "dbPassword", "PGPASSWORD"] {
            assert!(names_password(name), "{name}");
        }
        for name in ["secret_path", "token_kind", "password_policy", "compass", "bypass_all", "keyboard"] {
            assert!(!names_password(name) && !names_key(name), "{name}");
        }
        assert!(names_key("apiKey") && names_key("auth_token"));
        assert!(could_be_password("hunter2") && could_be_key("hunter2x9"));
        for text in ["", "/etc/shadow", "rm -rf /", "$(id)", "a;b", "a\nb", "-rf"] {
            assert!(!could_be_password(text), "{text}");
        }
        assert!(!could_be_key("production") && !could_be_key("all"));
    }
}
