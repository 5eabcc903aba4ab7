//! The names under which secrets stand.

use std::sync::Arc;

/// A set of names under which secrets stand, whatever their case and separators.
#[derive(Debug, Clone, Default)]
pub(super) struct SecretNames {
    /// The names that were added, in lower case and without separators.
    added: Arc<[Box<str>]>,
}

impl SecretNames {
    pub(super) fn add(&mut self, name: &str) {
        let added = squashed(&words(name));
        if !added.is_empty() {
            self.added = self.added.iter().cloned().chain([added.into()]).collect();
        }
    }

    /// Returns whether the value under `name` is a secret.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        let words = words(name);
        self.added.iter().any(|added| **added == squashed(&words)) || is_secret(&words)
    }
}

/// Returns whether the value under a member of this name is a secret, by the usual names of secrets.
pub fn is_secret_name(name: &str) -> bool {
    is_secret(&words(name))
}

/// Returns whether the whole value behind `name` in a line of text is one secret, including spaces.
pub(super) fn is_header(name: &str) -> bool {
    words(name).iter().any(|word| matches!(word.as_str(), "authorization" | "cookie"))
}

/// Returns whether the member holds the name for the value next to it, as in `{"name":"API_KEY","value":"…"}`.
pub(super) fn is_label(name: &str) -> bool {
    LABELS.contains(&squashed(&words(name)).as_str())
}

/// Returns whether the member holds the value that a label next to it names.
pub(super) fn is_labelled(name: &str) -> bool {
    LABELLED.contains(&squashed(&words(name)).as_str())
}

fn is_secret(words: &[String]) -> bool {
    let says_about = words.len() > 1 && words.last().is_some_and(|last| ABOUT.contains(&last.as_str()));
    if says_about {
        return false;
    }
    let alone = words.iter().enumerate().any(|(index, word)| {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let is_page = word == "token" && before.is_some_and(|before| PAGING.contains(&before.as_str()));
        !is_page && WORDS.contains(&word.as_str())
    });
    let paired = words
        .windows(2)
        .any(|pair| PAIRS.iter().any(|(first, second)| pair[0] == *first && pair[1] == *second));
    alone || paired || {
        let whole = squashed(words).replace("secretar", "");
        PARTS.iter().any(|part| whole.contains(part))
    }
}

/// Returns the words of a name in lower case, split at every character that is no letter or digit, and where capitals
/// begin.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    let mut characters = name.chars().take(MAX_NAME_CHARS).peekable();
    let mut was_upper = false;
    while let Some(character) = characters.next() {
        let is_upper = character.is_uppercase();
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let begins = is_upper && (was_lower || (was_upper && next_is_lower));
        if begins || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase() || character.is_numeric();
        was_upper = is_upper;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn squashed(words: &[String]) -> String {
    words.concat()
}

/// Words that mark a name as that of a secret.
const WORDS: &[&str] = &[
    "password", "passwords", "passwd", "pwd", "pass", "passphrase", "passcode", "secret", "secrets", "token",
    "credential", "credentials", "creds", "authorization", "auth", "bearer", "cookie", "cookies", "jwt",
    "apikey", "otp", "totp", "cvv", "cvc", "cvv2", "ssn", "dsn", "mnemonic", "sas", "htpasswd", "netrc",
    "kubeconfig",
];

/// Pairs of adjacent words that mark a name as that of a secret.
const PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("account", "key"),
    ("master", "key"),
    ("shared", "key"),
    ("ssh", "key"),
    ("deploy", "key"),
    ("service", "key"),
    ("host", "key"),
    ("session", "key"),
    ("session", "id"),
    ("connection", "string"),
    ("card", "number"),
    ("credit", "card"),
    ("account", "number"),
    ("security", "code"),
    ("pin", "code"),
    ("recovery", "code"),
    ("recovery", "codes"),
    ("backup", "code"),
    ("backup", "codes"),
    ("verification", "code"),
    ("seed", "phrase"),
    ("recovery", "phrase"),
    ("security", "answer"),
    ("amz", "signature"),
    ("webhook", "url"),
];

/// Parts that mark a name as that of a secret when it is written as one word.
const PARTS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "secret", "apikey", "accesskey", "privatekey",
    "credential", "authorization", "accesstoken", "authtoken", "refreshtoken", "idtoken", "bearertoken",
    "sessiontoken", "sessionid", "connectionstring", "creditcard", "cardnumber", "xsrftoken", "csrftoken",
];

/// Last words of names that describe a secret and do not hold one.
const ABOUT: &[&str] = &[
    "count", "counts", "limit", "length", "len", "size", "type", "kind", "policy", "expiry", "expires",
    "expiration", "ttl", "url", "uri", "endpoint", "budget", "usage", "used", "required", "enabled",
    "strength", "format", "version", "algorithm", "provider", "method", "mode", "scheme", "name", "names",
    "at", "rotation", "status",
];

/// Words before `token` that make it a position in a list or a unit of text, and no secret.
const PAGING: &[&str] =
    &["page", "pagination", "continuation", "next", "max", "stop", "eos", "bos", "pad", "mask"];

/// Names of members that hold the name for the value next to them.
const LABELS: &[&str] = &[
    "name", "key", "header", "headername", "field", "var", "variable", "param", "parameter", "k", "option",
    "type", "kind", "label", "id",
];

/// Names of members that hold the value that a label next to them names.
const LABELLED: &[&str] =
    &["value", "values", "val", "v", "content", "data", "default", "text", "secretvalue"];

/// The number of characters of a name that are read.
const MAX_NAME_CHARS: usize = 128;

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

    #[test]
    fn a_name_that_was_added_is_known_in_any_spelling() {
        let mut names = SecretNames::default();
        names.add("internal-ref");
        names.add("--");
        assert!(names.is_secret("internalRef") && names.is_secret("INTERNAL_REF"));
        assert!(!names.is_secret("internal") && !names.is_secret(""));
        assert!(names.is_secret("password"));
    }
}
