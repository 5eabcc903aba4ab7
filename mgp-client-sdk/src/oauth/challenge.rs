//! The challenges by which a server demands authorization.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// A challenge: a scheme, and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    scheme: String,
    params: Vec<(String, String)>,
}

impl Challenge {
    /// Returns the challenges that tokens can meet, in order.
    pub(super) fn read(headers: &HeaderMap) -> Vec<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().take(MAX_HEADERS);
        let texts = values.filter_map(|value| value.to_str().ok());
        let mut challenges: Vec<Self> = texts.flat_map(|text| Parser { rest: text }.challenges()).collect();
        challenges.retain(|challenge| challenge.is("bearer") || challenge.is("dpop"));
        challenges
    }

    fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Returns the parameter of this name.
    pub(super) fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Returns the first parameter of this name among all challenges.
pub(super) fn param<'c>(challenges: &'c [Challenge], name: &str) -> Option<&'c str> {
    challenges.iter().find_map(|challenge| challenge.param(name))
}

/// A reader of `WWW-Authenticate`, which skips what it does not understand.
struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn challenges(mut self) -> Vec<Challenge> {
        let mut challenges: Vec<Challenge> = Vec::new();
        while challenges.len() < MAX_CHALLENGES {
            self.rest = self.rest.trim_start_matches([' ', '\t', ',']);
            let word = self.word();
            if word.is_empty() {
                match self.rest.chars().next() {
                    // Something that is no word, such as the end of a token68.
                    Some(other) => self.rest = &self.rest[other.len_utf8()..],
                    None => break,
                }
                continue;
            }
            let behind = self.rest.trim_start_matches([' ', '\t']);
            let value = behind.strip_prefix('=').filter(|_| !challenges.is_empty());
            if let Some(value) = value {
                self.rest = value.trim_start_matches([' ', '\t']);
                let value = self.value();
                if let Some(challenge) = challenges.last_mut()
                    && challenge.params.len() < MAX_PARAMS
                {
                    challenge.params.push((word.to_owned(), value));
                }
            } else {
                challenges.push(Challenge { scheme: word.to_owned(), params: Vec::new() });
            }
        }
        challenges
    }

    fn word(&mut self) -> &'t str {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let end = self.rest.bytes().position(|byte| !is_token(byte)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn value(&mut self) -> String {
        let Some(quoted) = self.rest.strip_prefix('"') else { return self.word().to_owned() };
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.rest = &quoted[at + 1..];
                    return value;
                }
                '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
                other => value.push(other),
            }
        }
        // The quotation has no end.
        self.rest = "";
        String::new()
    }
}

const MAX_HEADERS: usize = 8;
const MAX_CHALLENGES: usize = 16;
const MAX_PARAMS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Vec<Challenge> {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(WWW_AUTHENTICATE, text.parse().unwrap());
        }
        Challenge::read(&headers)
    }

    #[test]
    fn parameters_are_read_with_and_without_quotation_marks() {
        let found = read(&[
            r#"Bearer resource_metadata="https://a.example/x, y", scope="a b" , error=invalid_token"#,
        ]);
        assert_eq!(param(&found, "resource_metadata"), Some("https://a.example/x, y"));
        assert_eq!((param(&found, "SCOPE"), param(&found, "error")), (Some("a b"), Some("invalid_token")));
        assert_eq!(param(&found, "realm"), None);
        assert_eq!(param(&read(&[r#"bearer x="a \"b\" \\""#]), "x"), Some(r#"a "b" \"#));
    }

    #[test]
    fn several_challenges_are_told_apart() {
        let found = read(&[
            r#"Basic realm="x", Bearer scope="a", DPoP algs="ES256", error="use_dpop_nonce""#,
            "Negotiate YII==",
        ]);
        let schemes: Vec<_> = found.iter().map(|challenge| challenge.scheme.as_str()).collect();
        assert_eq!(schemes, ["Bearer", "DPoP"]);
        assert_eq!(found[0].param("error"), None);
        assert_eq!(found[1].param("error"), Some("use_dpop_nonce"));
    }

    #[test]
    fn malformed_headers_are_read_as_far_as_they_go() {
        for text in ["", ",,,", "=", "Bearer", "Bearer a=", "Bearer a=", r#"Bearer a="b"#, "Bearer =x", "é"]
        {
            let mut headers = HeaderMap::new();
            headers.append(WWW_AUTHENTICATE, http::HeaderValue::from_bytes(text.as_bytes()).unwrap());
            assert!(Challenge::read(&headers).len() <= 1, "{text}");
        }
        assert!(read(&[&"Bearer a=b, ".repeat(100)]).len() <= 16);
    }
}
