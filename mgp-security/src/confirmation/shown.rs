use mgp_types::{Object, RawJson, json};

use crate::permission::plain;

/// The arguments as people are shown them: indented, without secrets, and no longer than [`MAX_CHARS`].
///
/// Texts are shown decoded, numbers with all the digits they were sent with: what is shown is what is forwarded.
pub(super) fn shown(arguments: Option<&RawJson>) -> String {
    let mut out = Vec::new();
    match arguments {
        Some(arguments) => write(&mut out, arguments, 0),
        None => out.extend_from_slice(b"{}"),
    }
    plain(&String::from_utf8_lossy(&out), MAX_CHARS)
}

fn write(out: &mut Vec<u8>, value: &RawJson, depth: usize) {
    match value.as_bytes().first() {
        // Each level is scanned once more, so the depth is bounded; what was not scanned may hold secrets.
        Some(b'{' | b'[') if depth >= MAX_DEPTH => out.extend_from_slice(TOO_DEEP.as_bytes()),
        Some(b'{') => match Object::from_raw(value) {
            Ok(object) if object.is_empty() => out.extend_from_slice(b"{}"),
            Ok(object) => {
                out.push(b'{');
                for (index, (name, value)) in object.iter().enumerate() {
                    next_line(out, index, depth + 1);
                    json::write_string(out, &name);
                    out.extend_from_slice(b": ");
                    if is_secret(&name) {
                        out.extend_from_slice(b"***");
                    } else {
                        write(out, &value, depth + 1);
                    }
                }
                end_line(out, depth);
                out.push(b'}');
            }
            Err(_) => out.extend_from_slice(value.as_bytes()),
        },
        Some(b'[') => match value.to::<Vec<RawJson>>() {
            Ok(items) if items.is_empty() => out.extend_from_slice(b"[]"),
            Ok(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    next_line(out, index, depth + 1);
                    write(out, item, depth + 1);
                }
                end_line(out, depth);
                out.push(b']');
            }
            Err(_) => out.extend_from_slice(value.as_bytes()),
        },
        Some(b'"') => match value.to_text() {
            Some(text) => json::write_string(out, &text),
            None => out.extend_from_slice(value.as_bytes()),
        },
        _ => out.extend_from_slice(value.as_bytes()),
    }
}

fn next_line(out: &mut Vec<u8>, index: usize, depth: usize) {
    if index > 0 {
        out.push(b',');
    }
    end_line(out, depth);
}

fn end_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

/// Whether the name says that the value is secret, in whatever case it is written.
fn is_secret(name: &str) -> bool {
    let folded: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SECRETS.iter().any(|word| folded.contains(word))
}

const SECRETS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
];

const MAX_CHARS: usize = 4000;
const MAX_DEPTH: usize = 16;
const TOO_DEEP: &str = "… (what is nested deeper is not shown)";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &'static str) -> String {
        shown(Some(&RawJson::parse(arguments).unwrap()))
    }

    #[test]
    fn secrets_are_left_out_at_any_depth() {
        let text = of(r#"{"user":"ada","apiKey":"k1","login":[{"Pass-Word":"k2"}],"auth_token":{"x":"k3"}}"#);
        assert!(text.contains("ada"));
        for secret in ["k1", "k2", "k3"] {
            assert!(!text.contains(secret), "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_what_is_meant() {
        assert_eq!(
            of(r#"{"a":"\u0072m","n":12345678901234567890123,"e":[],"o":{}}"#),
            "{\n  \"a\": \"rm\",\n  \"n\": 12345678901234567890123,\n  \"e\": [],\n  \"o\": {}\n}"
        );
        assert_eq!(of(r#"["\u202e\u001b[2K"]"#), "[\n  \"\\u{202e}\\u001b[2K\"\n]");
        assert_eq!(shown(None), "{}");
    }

    #[test]
    fn long_and_deep_arguments_are_bounded() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(shown(Some(&RawJson::parse(deep).unwrap())).contains("nested deeper"));
        let hidden = format!("{}{}{}", r#"{"a":"#.repeat(40), r#"{"password":"k1"}"#, "}".repeat(40));
        assert!(!shown(Some(&RawJson::parse(hidden).unwrap())).contains("k1"));
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(5000));
        assert!(shown(Some(&RawJson::parse(long).unwrap())).ends_with("more characters are not shown)"));
    }
}
