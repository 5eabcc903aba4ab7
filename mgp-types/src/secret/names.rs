//! The names under which secrets stand.

use std::sync::LazyLock;

use crate::words::{WordLists, word_lists, words};

/// Returns whether the value under a member of this name is a secret, by the usual names of secrets.
pub fn is_secret_name(name: &str) -> bool {
    is_secret(&words(name))
}

/// Returns whether the value of a setting of this name, as of an environment variable, is a secret.
pub fn is_secret_setting(name: &str) -> bool {
    let words = words(name);
    let ends = |list| words.last().is_some_and(|last| is_in(list, last));
    if ends("last word about a secret") || ends("last word about a harmless setting") {
        return false;
    }
    is_secret(&words) || words.iter().any(|word| is_in("word of a secret setting", word))
}

/// Returns whether the whole value behind `name` in a line of text is one secret, including spaces.
pub(super) fn is_header_name(name: &str) -> bool {
    words(name).iter().any(|word| matches!(word.as_str(), "authorization" | "cookie"))
}

/// Returns whether the member holds the name for the value next to it, as in `{"name":"API_KEY","value":"…"}`.
pub fn is_label(name: &str) -> bool {
    is_in("label", &words(name).concat())
}

/// Returns whether the member holds the value that a label next to it names.
pub fn is_labelled(name: &str) -> bool {
    is_in("labelled", &words(name).concat())
}

fn is_secret(words: &[String]) -> bool {
    if words.len() > 1 && words.last().is_some_and(|last| is_in("last word about a secret", last)) {
        return false;
    }
    let alone = words.iter().enumerate().any(|(index, word)| {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let is_page =
            word == "token" && before.is_some_and(|before| is_in("before a token of pages", before));
        !is_page && is_in("word of a secret", word)
    });
    let paired = words.windows(2).any(|pair| is_in("pair of words of a secret", &pair.join(" ")));
    alone || paired || {
        let whole = words.concat().replace("secretar", "");
        LISTS["part of a secret name"].iter().any(|part| whole.contains(part))
    }
}

fn is_in(list: &str, word: &str) -> bool {
    LISTS[list].contains(&word)
}

/// The lists of words by which names are judged, by their headings.
static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("names.txt")));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_any_spelling() {
        for name in [
            "password", "PASSWORD", "userPassword", "user_password", "user-password", "userpassword",
            "PGPASSWORD", "api_key", "apiKey", "APIKey", "API-KEY", "x-api-key", "X_API_KEY", "apikey",
            "myapikey", "token", "accessToken", "ACCESS_TOKEN", "accesstoken", "github_token",
            "GITHUB.TOKEN", "client_secret", "clientSecret", "Authorization", "proxy-authorization",
            "Cookie", "set-cookie", "aws_secret_access_key", "AWSSecretAccessKey", "private_key",
            "privateKeyPem", "connectionString", "session_id", "jwt", "credentials", "db.passwd", "pwd",
            "otp", "cardNumber", "password_hash", "secret_id", "AccountKey",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn names_of_other_things_are_left() {
        for name in [
            "max_tokens", "maxTokens", "tokens", "token_count", "tokenLimit", "nextPageToken", "page_token",
            "path", "author", "authority", "keyboard", "key", "public_key", "monkey", "compass", "passenger",
            "secretary", "token_type", "password_policy", "auth_method", "token_url", "tokenizer",
            "cookbook", "signature", "id", "", "___", "secret_name",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
